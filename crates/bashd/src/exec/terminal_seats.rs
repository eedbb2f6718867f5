//! The places of terminal sessions, by owner and name, and who is at their shells: a call, or,
//! between calls, a task that follows a command that goes on, so that its end is known.

use super::SessionLimits;
use super::terminal_shell::TerminalShell;
use rustix::net::Shutdown;
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedMutexGuard};

/// The table of terminal sessions, by owner and name.
#[derive(Default)]
pub(crate) struct TerminalSeats(Mutex<HashMap<(String, String), TerminalSeat>>);

/// A session's place: its shell, if it has one.
#[derive(Clone, Default)]
pub(crate) struct TerminalSeat(Arc<SeatParts>);

#[derive(Default)]
struct SeatParts {
    shell: Arc<tokio::sync::Mutex<Option<TerminalShell>>>,
    /// How many calls want it; one more if it is given up.
    wanted: AtomicUsize,
    /// Told when that becomes more.
    called: Notify,
    /// The connection to the keeper of a shell that is followed.
    followed: Mutex<Option<OwnedFd>>,
}

/// A session's place, while a call uses it.
pub(crate) struct TakenSeat {
    parts: Arc<SeatParts>,
    shell: OwnedMutexGuard<Option<TerminalShell>>,
}

/// A call that wants a place, while it waits for it.
struct Wanting<'a>(&'a SeatParts);

impl<'a> Wanting<'a> {
    fn new(parts: &'a SeatParts) -> Self {
        parts.wanted.fetch_add(1, SeqCst);
        parts.called.notify_waiters();
        Self(parts)
    }
}

impl Drop for Wanting<'_> {
    fn drop(&mut self) {
        self.0.wanted.fetch_sub(1, SeqCst);
    }
}

impl TerminalSeats {
    /// The place of this session. Shells that have been unused for too long end, and the longest
    /// unused one if there are too many.
    pub(crate) fn seat(&self, session: &(String, String), limits: SessionLimits) -> TerminalSeat {
        let mut seats = self.seats();
        seats.retain(|key, seat| key == session || !seat.is_over(limits.idle));
        if !seats.contains_key(session) && seats.len() >= limits.most {
            let idle = seats.iter().filter_map(|(key, seat)| {
                let shell = seat.0.shell.try_lock().ok()?;
                let since = shell.as_ref().map(TerminalShell::last_used);
                let runs = shell.as_ref().is_some_and(|shell| shell.command.is_some());
                (!runs).then(|| (since, key.clone()))
            });
            if let Some((_, oldest)) = idle.min() {
                seats.remove(&oldest);
            }
        }
        seats.entry(session.clone()).or_default().clone()
    }

    /// Ends the sessions of an owner that makes no more calls.
    pub(crate) fn end_of(&self, owner: &str) {
        self.seats().retain(|(whose, _), seat| {
            let stays = whose != owner;
            if !stays {
                seat.give_up();
            }
            stays
        });
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<(String, String), TerminalSeat>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TerminalSeats {
    fn drop(&mut self) {
        for seat in self.seats().values() {
            seat.give_up();
        }
    }
}

impl TerminalSeat {
    /// Waits until no other call uses it.
    pub(crate) async fn take(&self) -> TakenSeat {
        let _wanting = Wanting::new(&self.0);
        let shell = Arc::clone(&self.0.shell).lock_owned().await;
        TakenSeat {
            parts: Arc::clone(&self.0),
            shell,
        }
    }

    /// Whether nobody would miss it: it has no shell, or has not used it for too long.
    fn is_over(&self, idle: Option<Duration>) -> bool {
        let Ok(shell) = self.0.shell.try_lock() else {
            return false;
        };
        match (&*shell, idle) {
            (None, _) => Arc::strong_count(&self.0) == 1,
            (Some(shell), Some(idle)) => {
                shell.command.is_none() && shell.last_used().elapsed() > idle
            }
            (Some(_), None) => false,
        }
    }

    /// Ends what is followed there, at once: its keeper learns that we are gone.
    fn give_up(&self) {
        self.0.wanted.fetch_add(1, SeqCst);
        self.0.called.notify_waiters();
        let mut followed = self.0.followed.lock();
        let followed = followed
            .as_mut()
            .unwrap_or_else(|poisoned| poisoned.get_mut());
        if let Some(socket) = followed.take() {
            let _ = rustix::net::shutdown(socket, Shutdown::Both);
        }
    }
}

impl Deref for TakenSeat {
    type Target = Option<TerminalShell>;

    fn deref(&self) -> &Self::Target {
        &self.shell
    }
}

impl DerefMut for TakenSeat {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.shell
    }
}

impl TakenSeat {
    /// Leaves the place. A command that goes on there is followed until it has ended, or the next
    /// call comes.
    pub(crate) fn leave(mut self) {
        let runs = |shell: &TerminalShell| shell.command.is_some();
        let Some(socket) = self.shell.as_ref().filter(|shell| runs(shell)) else {
            return;
        };
        self.parts.follow(socket.connection_again());
        tokio::spawn(async move {
            let parts = Arc::clone(&self.parts);
            let mut called = pin!(parts.called.notified());
            called.as_mut().enable();
            if parts.wanted.load(SeqCst) == 0
                && let Some(shell) = &mut *self.shell
            {
                tokio::select! {
                    biased;
                    () = called => {}
                    () = shell.follow() => {}
                }
            }
            parts.follow(None);
        });
    }
}

impl SeatParts {
    fn follow(&self, socket: Option<OwnedFd>) {
        let mut followed = self.followed.lock();
        let followed = followed
            .as_mut()
            .unwrap_or_else(|poisoned| poisoned.get_mut());
        **followed = socket;
    }
}
