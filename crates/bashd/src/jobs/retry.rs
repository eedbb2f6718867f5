//! When to retry telling the end of a job after a failure.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use tokio::time::Instant;

/// Milliseconds after the first failure; each further one doubles them.
const FIRST_PAUSE_MS: u64 = 500;

/// How often they are doubled at most.
const MOST_DOUBLINGS: u32 = 8;

/// Random milliseconds below this are added, so that not everybody retries at the same moment.
const SPREAD_MS: u64 = 200;

/// The longest pause, in milliseconds.
const LONGEST_PAUSE_MS: u64 = 30_000;

/// How long a failure is remembered after its pause.
const KEPT: Duration = Duration::from_mins(1);

/// The pause after the failure of this attempt; the first is 1. `chance` is any number.
fn pause(attempt: u32, chance: u64) -> Duration {
    let doublings = attempt.saturating_sub(1).min(MOST_DOUBLINGS);
    let pause = (FIRST_PAUSE_MS << doublings) + chance % SPREAD_MS;
    Duration::from_millis(pause.min(LONGEST_PAUSE_MS))
}

/// What is known about unfinished deliveries, by job id.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    failed: HashMap<String, FailedDelivery>,
    told: HashSet<String>,
}

#[derive(Debug)]
struct FailedDelivery {
    attempts: u32,
    again_at: Instant,
}

impl Attempts {
    /// When a job's end may be told, if not now.
    pub(super) fn not_before(&self, id: &str, now: Instant) -> Option<Instant> {
        let failed = self.failed.get(id);
        failed.map(|one| one.again_at).filter(|again| now < *again)
    }

    /// It could not be told.
    pub(super) fn has_failed(&mut self, id: &str, now: Instant) {
        let attempts = self.failed.get(id).map_or(0, |failed| failed.attempts) + 1;
        let chance = RandomState::new().hash_one(id);
        let again_at = now + pause(attempts, chance);
        self.failed
            .insert(id.to_owned(), FailedDelivery { attempts, again_at });
    }

    /// It was told.
    pub(super) fn has_succeeded(&mut self, id: &str) {
        self.failed.remove(id);
    }

    /// It was told, but a full disk did not let that be recorded.
    pub(super) fn remember(&mut self, id: &str) {
        self.told.insert(id.to_owned());
    }

    /// Forgets all but these: there is nothing more to tell of the others, unless it is on its way
    /// just now.
    pub(super) fn forget_but(&mut self, untold: &HashSet<&str>, now: Instant) {
        self.failed
            .retain(|id, failed| untold.contains(id.as_str()) || now < failed.again_at + KEPT);
        self.told.retain(|id| untold.contains(id.as_str()));
    }

    /// Whether it was told, whatever its directory says.
    pub(super) fn was_told(&self, id: &str) -> bool {
        self.told.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_half_a_minute() {
        let pauses: Vec<u128> = (1..=10)
            .map(|attempt| pause(attempt, 0).as_millis())
            .collect();
        let doubled = [500, 1000, 2000, 4000, 8000, 16000];
        assert_eq!(pauses.get(..6), Some(&doubled[..]));
        assert!(pauses[6..].iter().all(|pause| *pause == 30_000));
        assert_eq!(pause(u32::MAX, u64::MAX), Duration::from_secs(30));
    }

    #[test]
    fn chance_adds_less_than_200_ms() {
        for chance in 0..1000 {
            let expected = Duration::from_millis(1000 + chance % 200);
            assert_eq!(pause(2, chance), expected);
        }
        assert_eq!(pause(7, 199), Duration::from_secs(30));
    }

    #[test]
    fn each_failure_makes_the_next_pause_longer() {
        let mut attempts = Attempts::default();
        let mut least = Duration::from_millis(500);
        let mut now = Instant::now();
        for _ in 0..4 {
            attempts.has_failed("a", now);
            assert_eq!(attempts.not_before("b", now), None);
            let again = attempts.not_before("a", now).unwrap();
            let pause = again - now;
            assert!((least..least + Duration::from_millis(200)).contains(&pause));
            now = again;
            assert_eq!(attempts.not_before("a", now), None);
            least *= 2;
        }
        attempts.has_failed("a", now);
        attempts.has_succeeded("a");
        assert_eq!(attempts.not_before("a", now), None);
    }

    #[test]
    fn only_what_is_still_untold_is_known() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        for id in ["a", "b"] {
            attempts.has_failed(id, now);
            attempts.remember(id);
        }
        attempts.forget_but(&HashSet::from(["b"]), now);
        assert!(attempts.not_before("a", now).is_some() && !attempts.was_told("a"));
        attempts.forget_but(&HashSet::from(["b"]), now + 2 * KEPT);
        assert!(attempts.not_before("a", now).is_none());
        assert!(attempts.not_before("b", now).is_some() && attempts.was_told("b"));
    }
}
