//! The engine's keepers: one spare that waits for the next call, and the server that forks more.

use super::connection::Connection;
use super::keeper::protocol::{self, Fork, Hello, Hurry, When};
use super::keeper::{ForkedKeeper, HOLD, KeeperSource, socket_pair, start_server};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::warm::WarmShells;
use crate::output::spool::Storage;
use crate::plan::Plan;
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Pause before a busy fork server is asked again.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// Time between two calls of a row: the next one will want its keeper before this one is over.
const ROW: Duration = Duration::from_millis(4);

/// Where the engine's calls get their keepers.
pub(crate) struct Keepers {
    /// The program that forks them; `None` where there is just one, forked by this process.
    source: Option<KeeperSource>,
    /// The keeper that this process itself forked.
    forked: Option<Pid>,
    hello: Hello,
    pool: Mutex<Pool>,
    warm: WarmShells,
}

#[derive(Default)]
struct Pool {
    /// The socket to the fork server.
    server: Option<OwnedFd>,
    /// The socket to a keeper that was forked ahead.
    spare: Option<OwnedFd>,
    /// When the last call got its keeper.
    last_call: Option<Instant>,
    /// Whether that was shortly after the one before it.
    is_in_row: bool,
    /// When the server was last asked for a keeper that it may hold back.
    held: Option<Instant>,
}

impl Keepers {
    /// Gets ready: the server runs, and a spare is on its way, when this returns.
    pub(crate) fn new(source: KeeperSource, storage: Storage) -> Result<Self> {
        let (major, minor) = (protocol::MAJOR, protocol::MINOR);
        let hello = Hello {
            major,
            minor,
            storage,
        };
        if let KeeperSource::Forked(ForkedKeeper { link, pid }) = source {
            protocol::send(&link, &hello, &[]).map_err(failed)?;
            let pool = Mutex::new(Pool {
                spare: Some(link),
                ..Pool::default()
            });
            return Ok(Self {
                source: None,
                forked: Some(pid),
                hello,
                pool,
                warm: WarmShells::default(),
            });
        }
        let is_promised = !matches!(source, KeeperSource::Unavailable(_));
        let keepers = Self {
            source: Some(source),
            forked: None,
            hello,
            pool: Mutex::default(),
            warm: WarmShells::default(),
        };
        if is_promised {
            let mut pool = keepers.pool();
            keepers.start_server(&mut pool)?;
            pool.spare = pool.ask_for_fork(When::Now).ok();
            drop(pool);
        }
        Ok(keepers)
    }

    /// Whether there is just one keeper, for a process that ends after its call.
    pub(crate) fn is_for_one_call(&self) -> bool {
        self.source.is_none()
    }

    /// The same with so many started shells at hand, where more than one call is made.
    pub(crate) fn with_warm_shells(mut self, size: usize) -> Self {
        if !self.is_for_one_call() {
            self.warm = WarmShells::new(size);
        }
        self
    }

    /// Takes the keeper of a started shell that suits a plan, if there is one.
    pub(super) fn take_warm(&self, plan: &Plan) -> Option<Connection> {
        let socket = self.warm.take(plan)?;
        self.pool().note_call();
        Connection::new(socket).ok()
    }

    /// Has shells started for calls like this one.
    pub(super) fn refill_warm(&self, plan: &Plan) {
        self.warm.refill(plan, || self.pool().ask_ahead());
    }

    /// Takes the spare, or has a keeper forked. Its socket listens already.
    pub(super) async fn take(&self) -> Result<Connection> {
        let spare = self.pool().take_spare();
        let socket = match spare {
            Some(spare) => spare,
            None => self.fork().await?,
        };
        Connection::new(socket).map_err(failed)
    }

    /// Has the next spare forked, unless there is one. A failure shows at the next call.
    pub(super) fn refill(&self) {
        if self.source.is_some() {
            let mut pool = self.pool();
            if pool.spare.is_none() {
                pool.spare = pool.ask_ahead().ok();
            }
        }
    }

    /// Ends what a killed keeper left, where no fork server does it.
    pub(super) fn end_orphans(&self) {
        if let Some(pid) = self.forked {
            ForkedKeeper::end_orphans(pid);
        }
    }

    /// Gives up a server that does not answer, and the spare that it may never have forked: the next
    /// call gets others. The old ones leave when they can move again.
    pub(super) fn forget_server(&self) {
        *self.pool() = Pool::default();
    }

    async fn fork(&self) -> Result<OwnedFd> {
        loop {
            let asked = self.pool().ask_for_fork(When::Now);
            match asked {
                Ok(socket) => return Ok(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                Err(error) if is_gone(&error) => self.start_server(&mut self.pool())?,
                Err(error) => return Err(failed(error)),
            }
        }
    }

    fn start_server(&self, pool: &mut Pool) -> Result<()> {
        let source = self.source.as_ref().ok_or_else(|| {
            Error::new(
                ErrorKind::Keeper,
                "this engine was made for one call, which it has made",
            )
        })?;
        pool.server = Some(start_server(source, &self.hello)?);
        Ok(())
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        // Every state of the pool is a good one, also that of a thread that panicked.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    fn take_spare(&mut self) -> Option<OwnedFd> {
        self.note_call();
        self.spare.take()
    }

    /// A call begins: what it may have got must not be held back any longer.
    fn note_call(&mut self) {
        let now = Instant::now();
        let is_recent = |then: Instant, span| now.duration_since(then) < span;
        if self.held.take().is_some_and(|asked| is_recent(asked, HOLD))
            && let Some(server) = &self.server
        {
            let _ = protocol::send(server, &Hurry {}, &[]); // else it comes a little later
        }
        self.is_in_row = self.last_call.is_some_and(|last| is_recent(last, ROW));
        self.last_call = Some(now);
    }

    /// Asks for the keeper of a call to come.
    fn ask_ahead(&mut self) -> io::Result<OwnedFd> {
        if self.is_in_row {
            return self.ask_for_fork(When::Now);
        }
        self.held = Some(Instant::now());
        self.ask_for_fork(When::Calm)
    }

    /// Asks the server for a keeper, without waiting for it: what we send to it meanwhile is queued.
    fn ask_for_fork(&self, when: When) -> io::Result<OwnedFd> {
        let server = self.server.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let (near, far) = socket_pair()?;
        protocol::send(server, &Fork { when }, &[far.as_fd()])?;
        Ok(near)
    }
}

/// Whether the other end is not there any more: somebody killed it.
pub(super) fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected)
}

fn failed(error: io::Error) -> Error {
    Error::io(ErrorKind::Keeper, "get a keeper", error)
}
