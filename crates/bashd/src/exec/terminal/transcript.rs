//! Assembles what was seen of a client's terminal into one stream.
//!
//! A client forgets the beginning of a long output, and each poll shows what is left. What a poll
//! adds to the one before it goes to a spool like any other output, so windows, counts and
//! artifacts work as for a run of our own.

use crate::plan::Plan;
use bashd_keeper::spool::{SpoolReader, SpoolWriter};
use std::io;
use std::os::fd::AsFd;

/// Marks where a client forgot output that was never seen.
const GAP: &str = "\n[bashd: the client's terminal dropped output here]\n";

/// The stream so far.
pub(super) struct Transcript {
    spool: SpoolWriter,
    /// What the last poll showed.
    last: String,
    /// Whether that lacked the beginning.
    last_was_cut: bool,
    is_incomplete: bool,
}

impl Transcript {
    /// Opens a spool where the plan's runs are kept.
    pub(super) fn open(plan: &Plan) -> io::Result<Self> {
        let runs = plan.directory.parent().unwrap_or(&plan.directory);
        Ok(Self {
            spool: SpoolWriter::create(runs, plan.quota)?,
            last: String::new(),
            last_was_cut: false,
            is_incomplete: false,
        })
    }

    /// Adds one poll; `is_cut` if the client says that it lacks the beginning.
    pub(super) fn take_in(&mut self, seen: String, is_cut: bool) {
        let known = overlap(&self.last, &seen);
        let is_gap = known == 0 && (is_cut || !self.last.is_empty() && !seen.is_empty());
        if is_gap && !(seen.is_empty() && self.is_incomplete) {
            let gap = if self.spool.total() == 0 {
                GAP.trim_start()
            } else {
                GAP
            };
            self.spool.append(gap.as_bytes());
        }
        // A look that lacks its beginning and begins as the whole did contradicts itself.
        let is_odd = !self.last_was_cut && seen.starts_with(&*self.last);
        let is_untellable = is_cut && (is_odd || is_ambiguous(&seen, known));
        self.is_incomplete |= is_gap || is_untellable;
        self.last_was_cut = is_cut;
        let added = seen.as_bytes().get(known..).unwrap_or_default();
        self.spool.append(added);
        if !seen.is_empty() {
            self.last = seen;
        }
    }

    /// Whether the client forgot output before anybody saw it.
    pub(super) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// The stream as it is now.
    pub(super) fn reader(&self) -> io::Result<SpoolReader> {
        let mut descriptors = self.spool.descriptors().into_iter();
        let mut next = || {
            let descriptor = descriptors.next();
            descriptor.map(|fd| fd.try_clone_to_owned()).transpose()
        };
        let page = next()?.ok_or(io::ErrorKind::NotFound)?;
        let reader = SpoolReader::new(page, next()?)?;
        if let Some(ring) = self.spool.ring() {
            reader.set_ring(ring.as_fd().try_clone_to_owned()?);
        }
        Ok(reader.ending_at(self.spool.total(), self.spool.lines()))
    }
}

/// Length of the longest prefix of `seen` that is a suffix of `last`: what both polls show.
///
/// Knuth-Morris-Pratt: a flood of equal lines must not take quadratic time.
fn overlap(last: &str, seen: &str) -> usize {
    if seen.starts_with(last) {
        return last.len();
    }
    let seen = seen.as_bytes();
    let start = seen.get(..last.len()).unwrap_or(seen);
    let borders = borders(start);
    last.bytes()
        .fold(0, |length, byte| step(start, &borders, length, byte))
}

/// For each beginning of a text, the length of the longest shorter beginning that it ends with.
fn borders(text: &[u8]) -> Vec<u32> {
    let mut borders: Vec<u32> = vec![0];
    for &byte in text.iter().skip(1) {
        let length = borders.last().copied().unwrap_or(0) as usize;
        borders.push(step(text, &borders, length, byte) as u32);
    }
    borders
}

/// The length of the longest beginning of a text with which something ends that ended with one of
/// this length, and then a byte came.
fn step(text: &[u8], borders: &[u32], mut length: usize, byte: u8) -> usize {
    let at = |position: usize| text.get(position).copied();
    while length > 0 && at(length) != Some(byte) {
        length = borders.get(length - 1).copied().unwrap_or(0) as usize;
    }
    length + usize::from(at(length) == Some(byte))
}

/// Whether two looks may meet elsewhere than it seems: what they share repeats itself.
fn is_ambiguous(seen: &str, shared: usize) -> bool {
    let text = seen.as_bytes().get(..shared).unwrap_or_default();
    let border = borders(text).last().copied().unwrap_or(0) as usize;
    border * 2 >= shared
}

#[cfg(test)]
mod tests {
    use super::{is_ambiguous, overlap};
    use proptest::prelude::*;

    #[test]
    fn what_two_looks_share_is_found() {
        for (last, seen, shared) in [
            ("", "abc", 0),
            ("abc", "abcdef", 3),
            ("abcdef", "defghi", 3),
            ("aaaa", "aaab", 3),
            ("abab", "ababab", 4),
            ("xabab", "ababab", 4),
            ("abc", "xyz", 0),
            ("abc", "", 0),
            ("größe", "ßeste", 3),
        ] {
            assert_eq!(overlap(last, seen), shared, "{last:?} {seen:?}");
        }
    }

    #[test]
    fn what_repeats_itself_can_meet_in_more_than_one_way() {
        for (last, seen, expected) in [
            ("one two three four", "three four five", false),
            ("y\ny\ny\ny\n", "y\ny\ny\n", true),
            ("1\n2\n3\n", "2\n3\n4\n", false),
        ] {
            let shared = overlap(last, seen);
            assert_eq!(is_ambiguous(seen, shared), expected, "{last:?} {seen:?}");
        }
    }

    #[test]
    fn a_flood_of_equal_lines_is_compared_in_no_time() {
        let last = "y\n".repeat(500_000);
        let seen = format!("n{}", "y\n".repeat(500_000));
        assert_eq!(overlap(&last, &seen), 0);
    }

    proptest! {
        #[test]
        fn it_is_the_longest(last in "[ab]{0,12}", seen in "[ab]{0,12}") {
            let expected = (0..=last.len().min(seen.len()))
                .rev()
                .find(|&length| last.as_bytes().ends_with(&seen.as_bytes()[..length]))
                .unwrap();
            prop_assert_eq!(overlap(&last, &seen), expected);
        }
    }
}
