//! When a keeper writes down which processes it looks after, so that others can end them if it is
//! killed (`crate::job::roster`).
//!
//! The kernel does not tell a keeper of what its grandchildren fork, so it looks: often while
//! something changes or is written, rarely while nothing happens.

use crate::job::directory;
use crate::job::roster::{ROSTER, Roster};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time to the next look after something changed.
const FIRST_LOOK: Duration = Duration::from_millis(100);

/// Longest time to a look after something was written.
const AFTER_OUTPUT: Duration = Duration::from_secs(1);

/// Longest time between two looks: thousands of idle jobs must cost next to nothing.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What was written down, and when the next look is due.
pub(super) struct RosterWatch {
    members: Vec<(i32, u64)>,
    pause: Duration,
    due: Instant,
}

impl RosterWatch {
    /// Looks for the first time, and writes that down.
    pub(super) fn begin(path: &Path, now: Instant) -> Self {
        let mut watch = Self {
            members: Vec::new(),
            pause: FIRST_LOOK,
            due: now,
        };
        watch.look(path, now);
        watch
    }

    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// What was written down is gone.
    pub(super) fn forget(&mut self) {
        self.members.clear();
        self.due = Instant::now();
    }

    /// Something was written, so something may have been started.
    pub(super) fn heard(&mut self, now: Instant) {
        self.due = self.due.min(now + AFTER_OUTPUT);
    }

    /// A child is gone.
    pub(super) fn lost_child(&mut self, now: Instant) {
        self.due = self.due.min(now + FIRST_LOOK);
    }

    /// Looks, if it is time, and writes down what changed.
    pub(super) fn look(&mut self, path: &Path, now: Instant) {
        if now < self.due {
            return;
        }
        let roster = Roster::of_this_process();
        if roster.members == self.members {
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        } else if directory::write_whole(path, ROSTER, &roster).is_ok() {
            self.pause = FIRST_LOOK;
            self.members = roster.members;
        } else {
            // On a full disk the last one stays: it still ends what it names. There may be room
            // later.
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
        self.due = now + self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a process that the test ends")]
    fn what_could_not_be_written_is_written_once_it_can_be() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run");
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut watch = RosterWatch::begin(&path, Instant::now());
        assert!(Roster::read(&path).is_none(), "there is no place for it");
        std::fs::create_dir(&path).unwrap();
        watch.look(&path, watch.due());
        let written = Roster::read(&path).map(|roster| roster.members.len());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(written, Some(1));
    }
}
