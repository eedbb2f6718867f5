//! The age of stored things, measured by the time that really passed.
//!
//! A clock may be set, by hand or by a time service that was late: ten days forward, and everything
//! looks ten days older. So code that is about to remove old things asks here first. Each look is
//! noted in a file with the time since boot beside the time of day. If the time of day went forward
//! by more than the time since boot, that was a jump: its length is taken off the age of everything
//! that is older than the jump. A clock that was set back makes things younger, which loses
//! nothing.

use crate::job::directory::{self, boot_id};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The file in the directory of runs.
const FILE: &str = "clock";

/// How much a clock may gain between two looks without having jumped.
const DRIFT: Duration = Duration::from_mins(10);

/// How long a machine may have been off before that is taken for a jump: nothing but the clock
/// tells.
const LONGEST_OFF: Duration = Duration::from_hours(3 * 24);

/// What two clocks lose that are cut to milliseconds: a thing that was made right before a jump was
/// found must not be taken for one that was made after it.
const CUT_OFF_MS: u64 = 1;

/// Jumps that are remembered.
const MOST_JUMPS: usize = 16;

/// A clock that was seen to go forward further than time did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockJump {
    /// What it would have shown without the jump, at the look that found it, in milliseconds since
    /// 1970.
    pub before: u64,
    /// What it showed instead.
    pub after: u64,
}

impl ClockJump {
    /// How far it went.
    pub fn length(self) -> Duration {
        Duration::from_millis(self.after.saturating_sub(self.before))
    }
}

/// One look at the clocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Look {
    boot: String,
    /// Since that boot, including sleep.
    up_ms: u64,
    wall_ms: u64,
    jumps: Vec<ClockJump>,
}

/// The clock, with what is known of its jumps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenClock(Look);

impl SeenClock {
    /// Looks at the clock and notes it in this directory. Where nothing can be noted, no jump
    /// is known, as after the first look.
    pub fn look(runs: &Path) -> Self {
        let look = Self::peek(runs).0;
        let _ = directory::write_whole(runs, FILE, &look);
        Self(look)
    }

    /// Looks at the clock and notes nothing.
    pub fn peek(runs: &Path) -> Self {
        let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let up_ms = up.tv_sec as u64 * 1000 + up.tv_nsec as u64 / 1_000_000;
        let before: Option<Look> = directory::read(runs, FILE);
        Self(look_after(before, boot_id(), up_ms, directory::now_ms()))
    }

    /// How long ago that was, in time that passed.
    pub fn age(&self, then: SystemTime) -> Duration {
        let shown = Duration::from_millis(self.0.wall_ms.saturating_sub(moment(then)));
        shown.saturating_sub(self.jumped_since(then))
    }

    /// By how much the clock went forward since then beyond the time that passed.
    pub fn jumped_since(&self, then: SystemTime) -> Duration {
        let then = moment(then);
        let jumps = self.jumps().iter();
        let jumps = jumps.filter(|jump| then <= jump.before.saturating_add(CUT_OFF_MS));
        jumps.map(|jump| jump.length()).sum()
    }

    /// The jumps that are remembered, oldest first.
    pub fn jumps(&self) -> &[ClockJump] {
        &self.0.jumps
    }
}

/// Makes it look as if the clock had gone forward by this much since the last look. For tests: a
/// machine has one clock, which everybody shares.
#[doc(hidden)]
pub fn pretend_jump(runs: &Path, by: Duration) {
    if let Some(mut look) = directory::read::<Look>(runs, FILE) {
        look.wall_ms = look.wall_ms.saturating_sub(millis(by));
        let _ = directory::write_whole(runs, FILE, &look);
    }
}

/// The next look, after what was noted.
fn look_after(before: Option<Look>, boot: String, up_ms: u64, wall_ms: u64) -> Look {
    let mut jumps = Vec::new();
    if let Some(before) = before {
        // Across a boot only the clock tells how long the machine was off.
        let (passed, allowed) = if before.boot == boot {
            (up_ms.saturating_sub(before.up_ms), DRIFT)
        } else {
            (up_ms, LONGEST_OFF)
        };
        jumps = before.jumps;
        // A clock that was set back to before a jump has taken the jump back.
        jumps.retain(|jump| jump.after <= wall_ms.saturating_add(millis(DRIFT)));
        let expected = before.wall_ms.saturating_add(passed);
        if wall_ms > expected.saturating_add(millis(allowed)) {
            jumps.push(ClockJump {
                before: expected,
                after: wall_ms,
            });
        }
        let excess = jumps.len().saturating_sub(MOST_JUMPS);
        jumps.drain(..excess);
    }
    Look {
        boot,
        up_ms,
        wall_ms,
        jumps,
    }
}

/// Milliseconds since 1970.
fn moment(time: SystemTime) -> u64 {
    millis(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;
    const DAY: u64 = 24 * HOUR;
    const START: u64 = 20_000 * DAY;

    /// Looks at a boot, hours since it, and a time of day.
    fn looks(all: &[(&str, u64, u64)]) -> SeenClock {
        let step = |before, &(boot, up, wall): &(&str, u64, u64)| {
            Some(look_after(before, boot.to_owned(), up, wall))
        };
        SeenClock(all.iter().fold(None, step).unwrap())
    }

    fn age(clock: &SeenClock, then: u64) -> u64 {
        let then = UNIX_EPOCH + Duration::from_millis(then);
        millis(clock.age(then))
    }

    #[test]
    fn a_clock_that_only_ran_has_not_jumped() {
        let clock = looks(&[
            ("a", HOUR, START),
            ("a", 2 * HOUR, START + HOUR + 60_000),
            ("b", HOUR, START + 2 * DAY),
            ("b", 50 * DAY, START + 51 * DAY),
        ]);
        assert_eq!(clock.jumps(), []);
        assert_eq!(age(&clock, START), 51 * DAY);
    }

    #[test]
    fn a_jump_makes_nothing_older() {
        let clock = looks(&[("a", HOUR, START), ("a", 3 * HOUR, START + 10 * DAY)]);
        assert_eq!(clock.jumps().len(), 1);
        assert_eq!(age(&clock, START), 2 * HOUR);
        assert_eq!(age(&clock, START - DAY), DAY + 2 * HOUR);
        // What was made after it has the age that the clock shows.
        let clock = looks(&[
            ("a", HOUR, START),
            ("a", 3 * HOUR, START + 10 * DAY),
            ("a", 27 * HOUR, START + 11 * DAY),
        ]);
        assert_eq!(age(&clock, START + 10 * DAY), DAY);
        assert_eq!(age(&clock, START), DAY + 2 * HOUR);
    }

    /// Between the two looks, 0.2 ms apart, a millisecond of the time of day began, and none of the
    /// time since boot.
    #[test]
    fn what_was_made_within_the_millisecond_of_a_jump_is_older_than_it() {
        let clock = looks(&[("a", HOUR, START), ("a", HOUR, START + 10 * DAY)]);
        assert_eq!(age(&clock, START + 1), 0);
        assert_eq!(age(&clock, START + 2), 10 * DAY - 2);
    }

    #[test]
    fn a_machine_that_was_off_for_weeks_may_have_a_wrong_clock() {
        let clock = looks(&[("a", 9 * HOUR, START), ("b", HOUR, START + 30 * DAY)]);
        assert_eq!(age(&clock, START), HOUR);
    }

    #[test]
    fn a_jump_that_was_taken_back_is_forgotten() {
        let clock = looks(&[
            ("a", HOUR, START),
            ("a", 2 * HOUR, START + 3650 * DAY),
            ("a", 3 * HOUR, START + 2 * HOUR),
            ("a", 3 * HOUR + 20 * DAY, START + 2 * HOUR + 20 * DAY),
        ]);
        assert_eq!(clock.jumps(), []);
        assert_eq!(age(&clock, START), 20 * DAY + 2 * HOUR);
        // What was written in between lies ahead, and is not old.
        assert_eq!(age(&clock, START + 3650 * DAY), 0);
    }

    #[test]
    fn looks_are_noted_and_a_damaged_note_counts_as_none() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(SeenClock::look(state.path()).jumps(), []);
        pretend_jump(state.path(), Duration::from_millis(10 * DAY));
        let seen = SeenClock::look(state.path());
        assert_eq!(seen.jumps().len(), 1);
        assert_eq!(SeenClock::peek(state.path()).jumps(), seen.jumps());
        std::fs::write(state.path().join(FILE), b"{").unwrap();
        assert_eq!(SeenClock::look(state.path()).jumps(), []);
    }
}
