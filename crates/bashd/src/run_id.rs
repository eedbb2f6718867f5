//! The id of a run: global, sortable by time, safe in file names.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Digits of the id: no vowels, so no words appear; in ASCII order, so ids sort by time.
const DIGITS: &[u8; 32] = b"0123456789_bcdfghjklmnpqrstvwxyz";

/// Digits for the milliseconds since 1970: enough for 35,000 years.
const TIME_DIGITS: u32 = 10;

/// Digits of randomness: 50 bits.
const RANDOM_DIGITS: u32 = 10;

/// Names one run, in directories, in the ledger and in `BASHD_RUN`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// A new id.
    pub(crate) fn new() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self::of(since.as_millis() as u64, random())
    }

    fn of(millis: u64, random: u64) -> Self {
        let digit = |value: u64, place: u32| {
            let index = (value >> (5 * place)) & 31;
            DIGITS
                .get(index as usize)
                .map_or('0', |&byte| char::from(byte))
        };
        let time = (0..TIME_DIGITS).rev().map(|place| digit(millis, place));
        let chance = (0..RANDOM_DIGITS).rev().map(|place| digit(random, place));
        Self(time.chain(chance).collect())
    }

    /// An id that came from another process, if it is one.
    pub(crate) fn received(text: &str) -> Option<Self> {
        let is_long = text.len() == (TIME_DIGITS + RANDOM_DIGITS) as usize;
        let is_one = is_long && text.bytes().all(|byte| DIGITS.contains(&byte));
        is_one.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without a random source the time alone is nearly always unique.
    let _ = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_sort_as_they_count() {
        assert!(DIGITS.is_sorted());
    }

    #[test]
    fn ids_sort_by_time_and_differ_within_a_moment() {
        assert!(RunId::of(1, u64::MAX) < RunId::of(2, 0));
        assert!(RunId::of(1_700_000_000_000, 5) < RunId::of(1_800_000_000_000, 4));
        assert_ne!(RunId::new(), RunId::new());
        assert_eq!(RunId::new().as_str().len(), 20);
    }
}
