//! Blocks of lines that appeared before, replaced by a reference to where they begin.
//!
//! The same source text under each of many failures, the same report for each of many files: it is
//! shown once. A line that tells of trouble is never part of such a block: it is always shown.

use super::super::work::Work;
use super::{TextPage, has, is_untouchable};
use std::collections::HashMap;

/// Lines that a block must have.
const FEWEST_LINES: usize = 2;

/// Stands in every reference.
const REFERENCE: &str = " lines as above, from: ";

/// Bytes that it must have.
const FEWEST_BYTES: usize = 64;

/// Letters and digits that a reference must save: blanks and drawings cost next to no tokens.
const LEAST_GAIN: usize = 24;

/// How many characters of its first line a reference has.
const WORDS: usize = 60;

/// The text with references, and how many lines they replace; `None` if there are none.
pub(super) fn refer(page: &TextPage<'_>, work: &Work) -> Option<(String, u64)> {
    let (text, all) = (page.text, page.lines.as_slice());
    let mut prints = Fingerprints::of(all);
    let mut known = KnownPairs::with_room_for(all.len());
    let mut last_seen = LastSeen::default();
    let mut written = String::new();
    let mut copied = 0;
    let mut stood_for = 0;
    let mut at = 0;
    work.charge(text.len() * 2);
    while at < all.len() {
        let earlier = known.last(prints.of_pair(at), at);
        let length = if earlier < at {
            same_lines(all, earlier, at, work)
        } else {
            0
        };
        if !is_worth(all.get(at..at + length).unwrap_or_default()) {
            at += 1;
            continue;
        }
        if written.is_empty() && has(text, REFERENCE) {
            return None;
        }
        // A reader, and `rebuild`, takes the latest line with these words.
        let found = last_seen.reference(all, at, earlier);
        let block = all.get(at..at + length).unwrap_or_default();
        let weight: usize = block.iter().map(|line| weight(line)).sum();
        let reference = found.map(|first| format!("[{length}{REFERENCE}{first}]"));
        let is_lighter = |reference: &String| self::weight(reference) + LEAST_GAIN <= weight;
        let Some(reference) = reference.filter(is_lighter) else {
            at += 1;
            continue;
        };
        for line in all.get(copied..at).unwrap_or_default() {
            push(&mut written, line);
        }
        push(&mut written, &reference);
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

fn weight(line: &str) -> usize {
    let letters = line.bytes().filter(u8::is_ascii_alphanumeric);
    letters.count() + 1
}

/// Whether a block is long enough for a reference.
fn is_worth(block: &[&str]) -> bool {
    let bytes: usize = block.iter().map(|line| line.len() + 1).sum();
    block.len() >= FEWEST_LINES && bytes >= FEWEST_BYTES
}

/// Where lines with the same first words were seen last.
#[derive(Default)]
struct LastSeen<'a> {
    places: HashMap<&'a str, usize>,
    upto: usize,
}

impl<'a> LastSeen<'a> {
    /// The first words of this line, if a reader finds the earlier one by them.
    fn reference(&mut self, all: &[&'a str], at: usize, earlier: usize) -> Option<&'a str> {
        while self.upto < at {
            let line = all.get(self.upto).copied().unwrap_or_default();
            self.places.insert(shortened(line), self.upto);
            self.upto += 1;
        }
        let words = shortened(all.get(at)?);
        let is_found = !words.is_empty() && self.places.get(words) == Some(&earlier);
        is_found.then_some(words)
    }
}

/// The text with every reference replaced by the lines that it refers to, with the number of the
/// line that each is from.
pub(super) fn written_out(all: Vec<(usize, String)>) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::with_capacity(all.len());
    for (at, line) in all {
        let reference = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
            .and_then(|line| line.split_once(REFERENCE))
            .and_then(|(length, first)| Some((length.parse::<usize>().ok()?, first)));
        let Some((length, first)) = reference else {
            out.push((at, line));
            continue;
        };
        let source = out.iter().rposition(|(_, line)| shortened(line) == first);
        let block = source.and_then(|from| out.get(from..from + length));
        match block.map(<[_]>::to_vec) {
            Some(block) => out.extend(block.into_iter().map(|(_, line)| (at, line))),
            None => out.push((at, line)),
        }
    }
    out
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Where pairs of lines were last seen. One slot for each: of pairs that share a slot, only the
/// last is known. That costs a reference now and then and saves the time of a real table; whether
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

    /// Where this pair was seen last: here, if it is new.
    fn last(&mut self, fingerprint: u64, at: usize) -> usize {
        let place = fingerprint as usize & (self.places.len() - 1);
        match self.places.get_mut(place) {
            Some(known) => {
                let last = std::mem::replace(known, at as u32);
                if last == NOTHING { at } else { last as usize }
            }
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
            one == other && work.charge(other.len() + 8) && !is_untouchable(other)
        })
        .count()
}

/// The beginning of a line, to find it again.
fn shortened(line: &str) -> &str {
    let line = line.trim();
    let end = line
        .char_indices()
        .nth(WORDS)
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
        let line = "a line of some length, which is here more than once, and so is the next one\n";
        let text = format!("{line}{line}[2 lines as above, from: x]\nx\n{line}{line}");
        assert_eq!(referred(&text), None, "it has a reference of its own");
        assert_eq!(referred(""), None);
    }
}
