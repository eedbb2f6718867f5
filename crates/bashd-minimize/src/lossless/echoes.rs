//! Blocks of lines that appeared before, replaced by a reference to where they begin.
//!
//! The same source text under each of many failures, the same report for each of many files: it is
//! shown once. A line that tells of trouble is never part of such a block: it is always shown.

use super::super::trouble::is_trouble;
use super::super::work::Work;
use super::TextPage;

/// Lines that a block must have.
const FEWEST_LINES: usize = 4;

/// Bytes that it must have.
const FEWEST_BYTES: usize = 160;

/// The text with references, and how many lines they replace; `None` if there are none.
pub(super) fn refer(page: &TextPage<'_>, work: &Work) -> Option<(String, u64)> {
    let (text, all) = (page.text, page.lines.as_slice());
    let mut prints = Fingerprints::of(all);
    let mut known = KnownPairs::with_room_for(all.len());
    let mut written = String::new();
    let mut copied = 0;
    let mut stood_for = 0;
    let mut at = 0;
    work.charge(text.len() * 2);
    while at < all.len() {
        let earlier = known.first(prints.of_pair(at), at);
        let length = if earlier < at {
            same_lines(all, earlier, at, work)
        } else {
            0
        };
        let block = all.get(at..at + length).unwrap_or_default();
        let bytes: usize = block.iter().map(|line| line.len() + 1).sum();
        if length < FEWEST_LINES || bytes < FEWEST_BYTES {
            at += 1;
            continue;
        }
        for line in all.get(copied..at).unwrap_or_default() {
            push(&mut written, line);
        }
        let first = block
            .iter()
            .map(|line| line.trim())
            .find(|line| !line.is_empty());
        push(
            &mut written,
            &format!(
                "[{length} lines as above, from: {}]",
                shortened(first.unwrap_or_default())
            ),
        );
        stood_for += length as u64;
        at += length;
        copied = at;
    }
    if stood_for == 0 {
        return None;
    }
    for line in all.get(copied..).unwrap_or_default() {
        push(&mut written, line);
    }
    if !text.ends_with('\n') {
        written.pop();
    }
    Some((written, stood_for))
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Where pairs of lines were first seen. One slot for each: of pairs that share a slot, only the
/// first is known. That costs a reference now and then and saves the time of a real table; whether
/// lines are equal is checked anyway.
struct KnownPairs {
    places: Vec<u32>,
}

/// Slots for the longest texts. More would be memory for output that hardly repeats itself.
const MOST_PLACES: usize = 1 << 16;

/// An unused slot.
const NOTHING: u32 = u32::MAX;

impl KnownPairs {
    fn with_room_for(lines: usize) -> Self {
        Self {
            places: vec![NOTHING; (lines * 2).next_power_of_two().min(MOST_PLACES)],
        }
    }

    /// Where this pair was seen first: here, if it is new.
    fn first(&mut self, fingerprint: u64, at: usize) -> usize {
        let place = fingerprint as usize & (self.places.len() - 1);
        match self.places.get_mut(place) {
            Some(known) if *known == NOTHING => {
                *known = at as u32;
                at
            }
            Some(known) => *known as usize,
            None => at,
        }
    }
}

/// The hashes of lines: the next one's is kept, since it is the first of the next pair.
struct Fingerprints<'a> {
    all: &'a [&'a str],
    next: (usize, u64),
}

impl<'a> Fingerprints<'a> {
    fn of(all: &'a [&'a str]) -> Self {
        let next = (0, all.first().map_or(0, |line| fingerprint(line)));
        Self { all, next }
    }

    /// The hash of a line and the next.
    fn of_pair(&mut self, at: usize) -> u64 {
        let of = |at: usize| self.all.get(at).map_or(0, |line| fingerprint(line));
        let first = if self.next.0 == at {
            self.next.1
        } else {
            of(at)
        };
        let second = of(at + 1);
        self.next = (at + 1, second);
        let pair = mixed(first, second);
        // The low bits of a product carry little information.
        pair ^ pair >> 32
    }
}

fn fingerprint(line: &str) -> u64 {
    let (words, rest) = line.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    for (byte, of_rest) in last.iter_mut().zip(rest) {
        *byte = *of_rest;
    }
    let sum = words.iter().fold(line.len() as u64, |sum, word| {
        mixed(sum, u64::from_le_bytes(*word))
    });
    mixed(sum, u64::from_le_bytes(last))
}

fn mixed(sum: u64, word: u64) -> u64 {
    /// An odd number whose bits are spread: the golden ratio.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    (sum.rotate_left(23) ^ word).wrapping_mul(SPREAD)
}

/// How many lines from here equal those from `earlier` on, without overlap and without trouble.
fn same_lines(all: &[&str], earlier: usize, at: usize, work: &Work) -> usize {
    let pairs = all
        .iter()
        .skip(earlier)
        .zip(all.iter().skip(at))
        .take(at - earlier);
    pairs
        .take_while(|(one, other)| {
            one == other && work.charge(other.len() + 8) && !is_trouble(other)
        })
        .count()
}

/// The beginning of a line: enough to find it again.
fn shortened(line: &str) -> &str {
    const ENOUGH: usize = 60;
    let end = line
        .char_indices()
        .nth(ENOUGH)
        .map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn referred(text: &str) -> Option<String> {
        refer(&TextPage::of(text), &Work::for_input(text.len())).map(|(text, _)| text)
    }

    #[test]
    fn a_block_is_said_once_and_trouble_each_time() {
        let block = "    def invoke(self, context):\n        with context as inner:\n            return inner.call(self.callback)\n        raise RuntimeWarningLess\n    # the end of this long function, which is said again\n";
        let text = format!("first\n{block}error: one\nsecond\n{block}error: one\n");
        let shown = referred(&text).unwrap();
        assert_eq!(
            shown,
            format!(
                "first\n{block}error: one\nsecond\n[5 lines as above, from: def invoke(self, context):]\nerror: one\n"
            )
        );
    }

    #[test]
    fn short_blocks_stay() {
        assert_eq!(referred("a\nb\nc\nd\nx\na\nb\nc\nd\n"), None);
        assert_eq!(referred(""), None);
    }
}
