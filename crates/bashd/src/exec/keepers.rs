//! The engine's keepers: one spare that waits for the next call, and the server that forks more.

use super::connection::Connection;
use super::keeper::protocol::{self, Fork, Hello, Hurry};
use super::keeper::{ForkedKeeper, KeeperSource, socket_pair, start_server};
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

/// How long the fork of a spare is held back: most short calls are over by then.
const HOLD_SPARE: Duration = Duration::from_micros(2400);

/// The same for the keeper of a shell that is started ahead. A call in such a shell is over by then; and the next one must
/// find it ready, which takes a while longer.
const HOLD_WARM: Duration = Duration::from_micros(600);

/// Time from its fork until a keeper is ready.
const BIRTH: Duration = Duration::from_micros(900);

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
    /// Time between that and the one before it: the next one may come as soon.
    pace: Option<Duration>,
    /// Until when the server may hold back a keeper.
    held_until: Option<Instant>,
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
            pool.spare = pool.ask_for_fork(Duration::ZERO).ok();
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
        self.pool().note_call(Instant::now());
        Connection::new(socket).ok()
    }

    /// Has shells started for calls like this one.
    pub(super) fn refill_warm(&self, plan: &Plan) {
        self.warm
            .refill(plan, || self.pool().ask_ahead(HOLD_WARM, Instant::now()));
    }

    /// Takes the spare, or has a keeper forked. Its socket listens already.
    pub(super) async fn take(&self) -> Result<Connection> {
        let spare = self.pool().take_spare(Instant::now());
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
                pool.spare = pool.ask_ahead(HOLD_SPARE, Instant::now()).ok();
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
            let asked = self.pool().ask_for_fork(Duration::ZERO);
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
    fn take_spare(&mut self, now: Instant) -> Option<OwnedFd> {
        self.note_call(now);
        self.spare.take()
    }

    /// A call begins: what it may have got must not be held back any longer.
    fn note_call(&mut self, now: Instant) {
        if self.held_until.take().is_some_and(|until| now < until)
            && let Some(server) = &self.server
        {
            let _ = protocol::send(server, &Hurry {}, &[]); // else it comes a little later
        }
        self.pace = self.last_call.map(|last| now.duration_since(last));
        self.last_call = Some(now);
    }

    /// Asks for the keeper of a call to come. It is held back for a while, unless calls follow each other so
    /// closely that it would come too late.
    fn ask_ahead(&mut self, hold: Duration, now: Instant) -> io::Result<OwnedFd> {
        if self.pace.is_some_and(|pace| pace < hold + BIRTH) {
            return self.ask_for_fork(Duration::ZERO);
        }
        self.held_until = self.held_until.max(Some(now + hold));
        self.ask_for_fork(hold)
    }

    /// Asks the server for a keeper, without waiting for it: what we send to it meanwhile is queued.
    fn ask_for_fork(&self, hold: Duration) -> io::Result<OwnedFd> {
        let server = self.server.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let (near, far) = socket_pair()?;
        let hold_us = super::micros(hold);
        protocol::send(server, &Fork { hold_us }, &[far.as_fd()])?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the server was told.
    #[derive(Debug, PartialEq, Eq)]
    enum Told {
        Fork(Duration),
        Hurry,
        Nothing,
    }

    fn told(server: &OwnedFd) -> Told {
        let Ok(Some(frame)) = protocol::receive(server) else {
            return Told::Nothing;
        };
        match frame.body_if::<Fork>() {
            Ok(fork) => Told::Fork(Duration::from_micros(fork.hold_us)),
            Err(_) if frame.is::<Hurry>() => Told::Hurry,
            Err(error) => panic!("{} {error}", frame.name),
        }
    }

    #[test]
    fn a_keeper_is_held_back_until_calls_come_in_a_row() {
        let (near, server) = socket_pair().unwrap();
        let mut pool = Pool {
            server: Some(near),
            ..Pool::default()
        };
        let first = Instant::now();
        assert!(pool.take_spare(first).is_none());
        assert_eq!(told(&server), Told::Nothing);
        pool.spare = pool.ask_ahead(HOLD_SPARE, first).ok();
        assert_eq!(told(&server), Told::Fork(HOLD_SPARE));

        // The next call gets it before it is forked.
        let second = first + HOLD_SPARE / 2;
        assert!(pool.take_spare(second).is_some());
        assert_eq!(told(&server), Told::Hurry);
        pool.spare = pool.ask_ahead(HOLD_SPARE, second).ok();
        assert_eq!(told(&server), Told::Fork(Duration::ZERO));

        // After a pause nothing is in a hurry any more.
        let third = second + HOLD_SPARE + BIRTH;
        assert!(pool.take_spare(third).is_some());
        assert_eq!(told(&server), Told::Nothing);
        pool.spare = pool.ask_ahead(HOLD_SPARE, third).ok();
        assert_eq!(told(&server), Told::Fork(HOLD_SPARE));
        assert!(pool.take_spare(third + HOLD_SPARE).is_some());
        assert_eq!(told(&server), Told::Nothing);
    }
}
