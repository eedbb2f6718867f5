//! The engine's keepers: where a call gets one, and who forks them.

use super::connection::KeeperConnection;
use super::stock::{ForkMoment, Stock};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Plan;
use bashd_keeper::keeper::protocol::{self, HelloMessage};
use bashd_keeper::keeper::{ForkedKeeper, KeeperSource, start_server};
use bashd_keeper::spool::Storage;
use rustix::process::Pid;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Pause before a busy fork server is asked again.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// Where the engine's calls get their keepers.
pub(crate) struct Keepers {
    /// The program that forks them; `None` if there is only one, forked by this process.
    source: Option<KeeperSource>,
    /// The keeper that this process forked itself.
    forked: Option<Pid>,
    hello: HelloMessage,
    stock: Arc<Mutex<Stock>>,
}

impl Keepers {
    /// Gets ready: when this returns, the server runs and a spare is on its way.
    pub(crate) fn new(source: KeeperSource, storage: Storage) -> Result<Self> {
        let (major, minor) = (protocol::MAJOR, protocol::MINOR);
        let hello = HelloMessage {
            major,
            minor,
            storage,
        };
        if let KeeperSource::Forked(ForkedKeeper { link, pid }) = source {
            // If it is gone already, the call says so: in its reply, where its caller looks.
            let _ = protocol::send(&link, &hello, &[]);
            return Ok(Self {
                source: None,
                forked: Some(pid),
                hello,
                stock: Stock::of_one(link),
            });
        }
        let is_promised = !matches!(source, KeeperSource::Unavailable(_));
        let keepers = Self {
            source: Some(source),
            forked: None,
            hello,
            stock: Stock::with_alarm(),
        };
        if is_promised {
            let mut stock = keepers.stock();
            keepers.start_server(&mut stock)?;
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
        let socket = self.stock().take_started_shell(plan, Instant::now())?;
        KeeperConnection::new(socket).ok()
    }

    /// Has shells started, a little later, for calls like this one.
    pub(super) fn refill_started_shells(&self, plan: &Plan) {
        self.stock().want_started_shell(plan, Instant::now());
    }

    /// Takes the spare, or has a keeper forked. Its socket already listens.
    pub(super) async fn take(&self) -> Result<KeeperConnection> {
        let spare = self.stock().take_spare(Instant::now());
        let socket = match spare {
            Some(spare) => spare,
            None => self.fork().await?,
        };
        KeeperConnection::new(socket).map_err(failed)
    }

    /// Has the next spare forked, a little later, unless there is one. A failure shows up at the
    /// next call.
    pub(super) fn refill(&self) {
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

    /// Gives up a server that does not answer, along with the spare that it may never have forked:
    /// the next call gets new ones. The old ones exit when they can run again.
    pub(super) fn forget_server(&self) {
        self.stock().forget_server();
    }

    async fn fork(&self) -> Result<OwnedFd> {
        loop {
            let asked = self.stock().ask_for_fork(ForkMoment::InACall);
            match asked {
                Ok(socket) => return Ok(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                Err(error) if is_gone(&error) => self.start_server(&mut self.stock())?,
                Err(error) => return Err(failed(error)),
            }
        }
    }

    fn start_server(&self, stock: &mut Stock) -> Result<()> {
        let source = self.source.as_ref().ok_or_else(|| {
            Error::new(
                ErrorKind::Keeper,
                "this engine serves only one call, and that call was already made",
            )
        })?;
        stock.server = Some(start_server(source, &self.hello)?);
        Ok(())
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        Stock::lock(&self.stock)
    }
}

/// Whether the other end no longer exists because somebody killed it.
pub(super) fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected)
}

fn failed(error: io::Error) -> Error {
    Error::io(ErrorKind::Keeper, "get a keeper", error)
}
