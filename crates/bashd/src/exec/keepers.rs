//! The engine's keepers: where a call gets one, and who forks them.

use super::connection::KeeperConnection;
use super::stock::{ForkMoment, Stock};
use crate::config::Lease;
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Plan;
use bashd_keeper::confinement::SharedConfinement;
use bashd_keeper::keeper::protocol::{self, HelloMessage};
use bashd_keeper::keeper::{ForkedKeeper, KeeperSource, start_server};
use bashd_keeper::spool::Storage;
use rustix::process::Pid;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long a keeper may take to say something before its server is replaced.
const ANSWER_BOUND: Duration = Duration::from_secs(2);

/// How long it takes the kernel to close what a killed server had not read.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Pause before a busy fork server is asked again.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// What calls will be like, unless they say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedCalls {
    /// They may do what their user may.
    Free,
    /// They are confined: their keepers inherit what they have in common.
    Confined,
}

/// Where the engine's calls get their keepers.
pub(crate) struct Keepers {
    /// The program that forks them; `None` if there is only one, forked by this process.
    source: Option<Arc<KeeperSource>>,
    /// The keeper that this process forked itself.
    forked: Option<Pid>,
    hello: HelloMessage,
    stock: Arc<Mutex<Stock>>,
    /// One call at a time starts a server.
    starting: tokio::sync::Mutex<()>,
    /// Whether a server had to be replaced, until somebody was told.
    untold: AtomicBool,
}

impl Keepers {
    /// Gets ready: when this returns, the server runs and a spare is on its way.
    pub(crate) fn new(
        source: KeeperSource,
        storage: Storage,
        expected: ExpectedCalls,
        lease: Lease,
    ) -> Result<Self> {
        let (major, minor) = (protocol::MAJOR, protocol::MINOR);
        let hello = HelloMessage {
            major,
            minor,
            storage,
            leased: lease == Lease::OfEngine,
        };
        if let KeeperSource::Forked(ForkedKeeper { link, pid }) = source {
            // If it is gone already, the call says so: in its reply, where its caller looks.
            let _ = protocol::send(&link, &hello, &[]);
            return Ok(Self {
                source: None,
                forked: Some(pid),
                hello,
                stock: Stock::of_one(link),
                starting: tokio::sync::Mutex::default(),
                untold: AtomicBool::new(false),
            });
        }
        let is_promised = !matches!(source, KeeperSource::Unavailable(_));
        let keepers = Self {
            source: Some(Arc::new(source)),
            forked: None,
            hello,
            stock: Stock::with_alarm(),
            starting: tokio::sync::Mutex::default(),
            untold: AtomicBool::new(false),
        };
        if let Some(source) = keepers.source.as_ref().filter(|_| is_promised) {
            let server = start_server(source, &keepers.hello)?;
            let mut stock = keepers.stock();
            stock.server = Some(server);
            stock.confines = expected == ExpectedCalls::Confined;
            stock.ask_for_spare();
            drop(stock);
        }
        Ok(keepers)
    }

    /// Whether there is only one keeper, for a process that exits after its call.
    pub(crate) fn is_for_one_call(&self) -> bool {
        self.source.is_none()
    }

    /// Like `new`, with this many started shells at hand if more than one call is made.
    pub(crate) fn with_started_shells(self, size: usize) -> Self {
        if !self.is_for_one_call() {
            self.stock().keep_started_shells(size);
        }
        self
    }

    /// Takes the keeper of a started shell that suits a plan, if there is one.
    pub(super) fn take_started_shell(&self, plan: &Plan) -> Option<KeeperConnection> {
        let mut stock = self.stock();
        let socket = stock.take_started_shell(plan, Instant::now())?;
        let is_retentive = stock.has_retentive_keepers();
        drop(stock);
        let connection = KeeperConnection::new(socket).ok()?;
        let confinement = plan.restraint.as_ref();
        let confinement = confinement.and_then(|held| held.confinement.clone());
        Some(connection.told(confinement.filter(|_| is_retentive)))
    }

    /// Has shells started, a little later, for calls like this one.
    pub(super) fn refill_started_shells(&self, plan: &Plan) {
        self.stock().want_started_shell(plan, Instant::now());
    }

    /// Has a view built ahead for the first call, which will probably have this confinement.
    pub(crate) fn expect(&self, confinement: &SharedConfinement) {
        if self.is_for_one_call() {
            self.stock().prepare_only_one(confinement);
        } else {
            self.stock().want_confined(confinement, Instant::now());
        }
    }

    /// Has what waits for a confined call get ready, since one has come.
    pub(crate) fn alert(&self, id: &str) {
        self.stock().alert(id, Instant::now());
    }

    /// Takes the spare that suits a plan best, or has a keeper forked. Its socket already listens.
    pub(super) async fn take(&self, plan: &Plan) -> Result<KeeperConnection> {
        let confinement = confinement_of(plan);
        let (spare, is_retentive) = {
            let mut stock = self.stock();
            let spare = stock.take_confined(confinement, Instant::now());
            (spare, stock.has_retentive_keepers())
        };
        let Some(spare) = spare else {
            return self.take_plain().await;
        };
        let connection = KeeperConnection::new(spare).map_err(failed)?;
        Ok(connection.told(confinement.filter(|_| is_retentive).cloned()))
    }

    /// Takes the spare, or has a keeper forked.
    pub(super) async fn take_plain(&self) -> Result<KeeperConnection> {
        let spare = self.stock().take_spare(Instant::now());
        let socket = match spare {
            Some(spare) => spare,
            None => self.fork().await?,
        };
        KeeperConnection::new(socket).map_err(failed)
    }

    /// Has the next spares forked, a little later, unless they are there: one, and one with a view
    /// that is built ahead if this plan is confined. A failure shows up at the next call.
    pub(super) fn refill(&self, plan: &Plan) {
        self.refill_plain();
        if self.source.is_some()
            && let Some(confinement) = confinement_of(plan)
        {
            self.stock().want_confined(confinement, Instant::now());
        }
    }

    /// Has the next spare forked, a little later, unless there is one.
    pub(super) fn refill_plain(&self) {
        if self.source.is_some() {
            self.stock().want_spare(Instant::now());
        }
    }

    /// Ends what a killed keeper left, if no fork server does so.
    pub(super) fn end_orphans(&self) {
        if let Some(pid) = self.forked {
            ForkedKeeper::end_orphans(pid);
        }
    }

    /// What the people who run this engine should know, once.
    pub(crate) fn complaint(&self) -> Option<String> {
        self.untold.swap(false, Ordering::Relaxed).then(|| {
            let seconds = ANSWER_BOUND.as_secs();
            format!("the fork server did not answer for {seconds} s and was replaced")
        })
    }

    /// Whether there is a keeper at the other end of a connection. If it says nothing for a while,
    /// the server that was to fork it is ended; if that ends the connection as well, there never
    /// was one, and nothing of what was sent is carried out.
    pub(super) async fn is_born(&self, connection: &KeeperConnection) -> bool {
        if self.source.is_none() || connection.is_heard_within(ANSWER_BOUND).await {
            return true;
        }
        self.end_server();
        // A keeper that is only slow goes on: it has nothing to do with its server.
        let is_heard = connection.is_heard_within(LAST_WORDS).await;
        !(is_heard && connection.is_closed())
    }

    /// Ends a server that does not answer: the next call gets another.
    pub(super) fn end_server(&self) {
        self.stock().end_server();
        self.untold.store(true, Ordering::Relaxed);
    }

    async fn fork(&self) -> Result<OwnedFd> {
        let begun = Instant::now();
        loop {
            let asked = self.stock().ask_for_fork(ForkMoment::InACall);
            match asked {
                Ok(socket) => return Ok(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if begun.elapsed() > ANSWER_BOUND {
                        self.end_server();
                    }
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                Err(error) if is_gone(&error) => self.start_server().await?,
                Err(error) => return Err(failed(error)),
            }
        }
    }

    async fn start_server(&self) -> Result<()> {
        let source = self.source.clone().ok_or_else(|| {
            Error::new(
                ErrorKind::Keeper,
                "this engine serves only one call, and that call was already made",
            )
        })?;
        let _alone = self.starting.lock().await;
        // An earlier holder of the lock may have started one.
        if self.stock().has_server() {
            return Ok(());
        }
        let hello = self.hello.clone();
        let started = errand::read(move |_| start_server(&source, &hello)).await;
        let server = started.map_err(|failure| failed(failure.into()))??;
        self.stock().server = Some(server);
        Ok(())
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        Stock::lock(&self.stock)
    }
}

/// The confinement for which a view can be built ahead, if a plan has one. Started shells have
/// views of their own.
fn confinement_of(plan: &Plan) -> Option<&SharedConfinement> {
    let confinement = plan.restraint.as_ref()?.confinement.as_ref();
    // A layer is for one command: nothing can be built for the next one.
    confinement.filter(|confinement| confinement.layers.is_empty())
}

/// Whether the other end no longer exists because somebody killed it.
pub(super) fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected)
}

fn failed(error: io::Error) -> Error {
    Error::io(ErrorKind::Keeper, "get a keeper", error)
}
