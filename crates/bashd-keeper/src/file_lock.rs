//! Locks of files, waited for within a bound.
//!
//! Whoever can open a file can lock it, and may be stopped while it does, or mean no good. So
//! nobody here waits for a lock for longer than it says.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

/// The first pause before a lock is tried again, which doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// How a file is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// Beside others that share it.
    Shared,
    /// Alone.
    Exclusive,
}

/// Locks an open file; fails with [`io::ErrorKind::WouldBlock`] if somebody else has the lock for
/// longer than this.
pub fn lock_within(file: impl AsFd, kind: LockKind, patience: Duration) -> io::Result<()> {
    let operation = match kind {
        LockKind::Shared => FlockOperation::NonBlockingLockShared,
        LockKind::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    let begun = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        match flock(&file, operation) {
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => {
                let left = patience.saturating_sub(begun.elapsed());
                if left.is_zero() {
                    return Err(Errno::WOULDBLOCK.into());
                }
                thread::sleep(pause.min(left));
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            done => return Ok(done?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_lock_is_waited_for_and_not_for_ever() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let (held, wanted) = (open(), open());
        let moment = Duration::from_millis(5);
        lock_within(&held, LockKind::Shared, Duration::ZERO).unwrap();
        lock_within(&wanted, LockKind::Shared, Duration::ZERO).unwrap();
        let refused = lock_within(&wanted, LockKind::Exclusive, moment).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(moment);
                drop(held);
            });
            lock_within(&wanted, LockKind::Exclusive, Duration::from_mins(1)).unwrap();
        });
    }
}
