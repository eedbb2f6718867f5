//! The line index: how many newlines come before each mebibyte of a stream.
//!
//! One entry per MiB that the spool can hold: slots for the head, then a cycle for the ring. So its
//! size depends on the quota alone, whatever the length of the stream, and finding a line scans one
//! MiB.

use crate::capture::Quota;

/// Bytes of the stream between two entries.
pub const STEP: u64 = 1024 * 1024;

/// Where entries are, for one quota.
#[derive(Debug, Clone, Copy)]
pub struct LineIndex {
    head_slots: u64,
    ring_slots: u64,
}

impl LineIndex {
    /// The index of a spool with this quota.
    pub fn new(quota: Quota) -> Self {
        Self {
            head_slots: quota.head.div_ceil(STEP) + 1,
            ring_slots: quota.ring.div_ceil(STEP) + 2,
        }
    }

    /// Bytes that the index takes.
    pub fn bytes(self) -> u64 {
        (self.head_slots + self.ring_slots) * 8
    }

    /// Byte position of the entry for the `step`-th MiB.
    pub fn position(self, step: u64) -> u64 {
        let slot = if step < self.head_slots {
            step
        } else {
            self.head_slots + (step - self.head_slots) % self.ring_slots
        };
        slot * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_everything_that_is_kept_have_places_of_their_own() {
        let quota = Quota {
            head: 8 * STEP,
            ring: 56 * STEP,
        };
        let index = LineIndex::new(quota);
        for end in [10, 64, 100, 1000_u64] {
            let kept = (0..8).chain(end.saturating_sub(56).max(8)..=end);
            let mut places: Vec<_> = kept.map(|step| index.position(step)).collect();
            let count = places.len();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), count, "a stream of {end} MiB");
            assert!(places.iter().all(|place| place + 8 <= index.bytes()));
        }
    }
}
