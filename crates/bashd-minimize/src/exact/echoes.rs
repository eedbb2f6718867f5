//! Lines that appeared before, replaced by a reference to where they begin.
//!
//! The same source text under each of many failures, the same report for each of many files: it is
//! shown once. A line that tells of trouble is never part of such a block: it is always shown.

use super::super::work::Work;
use super::{TextPage, has, is_untouchable};
use std::collections::HashMap;

/// Stands in every reference.
const REFERENCE: &str = " as above, from: ";

/// Tokens that a reference must save, as far as they can be told from the characters.
const LEAST_GAIN: usize = 8;

/// Bytes of a line that may be referred to alone.
const SHORTEST_LINE: usize = 72;

/// Bytes of lines that may be referred to together.
const SHORTEST_BLOCK: usize = 36;

/// How many characters of its first line a reference has: as few as a reader needs to find it.
const WORDS: [usize; 3] = [16, 32, 60];

/// The text with references, and how many lines they replace; `None` if there are none.
pub(super) fn refer(page: &TextPage<'_>, work: &Work) -> Option<(String, u64)> {
    let (text, all) = (page.text, page.lines.as_slice());
    let mut prints = Fingerprints::of(all);
    let mut known = KnownPlaces::with_room_for(all.len());
    let mut last_seen = LastSeen::default();
    let mut written = String::new();
    let mut copied = 0;
    let mut stood_for = 0;
    let mut at = 0;
    work.charge(text.len() * 2);
    while at < all.len() {
        let (line, pair) = prints.of_pair(at);
        let mut earlier = known.last(pair, at);
        if all.get(at).is_some_and(|line| line.len() >= SHORTEST_LINE) {
            let alone = known.last(line, at);
            if earlier >= at {
                earlier = alone;
            }
        }
        let length = if earlier < at {
            same_lines(all, earlier, at, work)
        } else {
            0
        };
        let block = all.get(at..at + length).unwrap_or_default();
        // A reader, and `rebuild`, takes the latest line that begins so.
        let Some(reference) = reference(all, at, earlier, block, &mut last_seen) else {
            at += 1;
            continue;
        };
        if written.is_empty() && has(text, REFERENCE) {
            return None;
        }
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

/// The reference to a block that was shown before; `None` if it is not worth one.
fn reference<'a>(
    all: &[&'a str],
    at: usize,
    earlier: usize,
    block: &[&str],
    last_seen: &mut LastSeen<'a>,
) -> Option<String> {
    if block.is_empty() {
        return None;
    }
    let words = last_seen.words(all, at, earlier)?;
    let reference = match block.len() {
        1 => format!("[1 line{REFERENCE}{words}]"),
        length => format!("[{length} lines{REFERENCE}{words}]"),
    };
    let saved: usize = block.iter().map(|line| tokens_about(line)).sum();
    (tokens_about(&reference) + LEAST_GAIN <= saved).then_some(reference)
}

/// About how many tokens a line has: words, groups of digits, and other characters; blanks and
/// drawn lines have next to none.
fn tokens_about(line: &str) -> usize {
    let mut tokens = 1;
    let mut run = 0;
    let mut last = b' ';
    for byte in line.bytes() {
        let same_kind = match last {
            b'0'..=b'9' => byte.is_ascii_digit() && run < 3,
            b'a'..=b'z' | b'A'..=b'Z' => byte.is_ascii_alphabetic() && run < 8,
            _ => byte == last || byte == b' ' || last >= 0x80,
        };
        run = if same_kind { run + 1 } else { 1 };
        tokens += usize::from(!same_kind);
        last = byte;
    }
    tokens
}

/// Where lines with the same first words were seen last.
#[derive(Default)]
struct LastSeen<'a> {
    places: HashMap<&'a str, usize>,
    upto: usize,
}

impl<'a> LastSeen<'a> {
    /// The fewest first words of this line by which a reader finds the earlier one.
    fn words(&mut self, all: &[&'a str], at: usize, earlier: usize) -> Option<&'a str> {
        while self.upto < at {
            let line = all.get(self.upto).copied().unwrap_or_default();
            for count in WORDS {
                if let Some(words) = first_characters(line, count) {
                    self.places.insert(words, self.upto);
                }
            }
            self.upto += 1;
        }
        let line = all.get(at)?;
        let is_found = |words: &&str| self.places.get(words) == Some(&earlier);
        let mut words = WORDS
            .iter()
            .filter_map(|count| first_characters(line, *count));
        words.find(is_found)
    }
}

/// The first characters of a line, without blanks before them; `None` if it has not as many. They
/// do not end in a blank, which a reader would not see.
fn first_characters(line: &str, count: usize) -> Option<&str> {
    let line = line.trim_start();
    let (last, character) = line.char_indices().nth(count - 1)?;
    let words = line.get(..last + character.len_utf8())?;
    (!character.is_whitespace()).then_some(words)
}

/// The text with every reference replaced by the lines that it refers to, with the number of the
/// line that each is from.
pub(super) fn written_out(all: Vec<(usize, String)>) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::with_capacity(all.len());
    for (at, line) in all {
        let Some((length, words)) = read_reference(&line) else {
            out.push((at, line));
            continue;
        };
        let begins_so = |(_, line): &(usize, String)| line.trim_start().starts_with(words);
        let source = out.iter().rposition(begins_so);
        let block = source.and_then(|from| out.get(from..from + length));
        match block.map(<[_]>::to_vec) {
            Some(block) => out.extend(block.into_iter().map(|(_, line)| (at, line))),
            None => out.push((at, line)),
        }
    }
    out
}

/// How many lines a reference is for, and how they begin.
fn read_reference(line: &str) -> Option<(usize, &str)> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let (lines, words) = inner.split_once(REFERENCE)?;
    let (length, noun) = lines.split_once(' ')?;
    let is_noun = matches!(noun, "line" | "lines");
    length
        .parse()
        .ok()
        .filter(|_| is_noun)
        .map(|length| (length, words))
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Where pairs of lines, and long lines, were last seen. One slot for each: of those that share a
/// slot, only the last is known. That costs a reference now and then and saves the time of a real
/// table; whether lines are equal is checked anyway.
struct KnownPlaces {
    places: Vec<u32>,
}

/// Slots for the longest texts. More would be memory for output that hardly repeats itself.
const MOST_PLACES: usize = 1 << 16;

/// An unused slot.
const NOTHING: u32 = u32::MAX;

impl KnownPlaces {
    fn with_room_for(lines: usize) -> Self {
        Self {
            places: vec![NOTHING; (lines * 2).next_power_of_two().min(MOST_PLACES)],
        }
    }

    /// Where this was seen last: here, if it is new.
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

    /// The hash of a line, and that of it and the next.
    fn of_pair(&mut self, at: usize) -> (u64, u64) {
        let of = |at: usize| self.all.get(at).map_or(0, |line| fingerprint(line));
        let first = if self.next.0 == at {
            self.next.1
        } else {
            of(at)
        };
        let second = of(at + 1);
        self.next = (at + 1, second);
        // The low bits of a product carry little information.
        let spread = |hash: u64| hash ^ hash >> 32;
        (spread(first), spread(mixed(first, second)))
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

/// How many lines from here equal those from `earlier` on, without overlap and without trouble;
/// none if they are too short for a reference.
fn same_lines(all: &[&str], earlier: usize, at: usize, work: &Work) -> usize {
    let pairs = all
        .iter()
        .skip(earlier)
        .zip(all.iter().skip(at))
        .take(at - earlier);
    let same = pairs
        .take_while(|(one, other)| one == other && work.charge(other.len() + 8))
        .count();
    let block = all.get(at..at + same).unwrap_or_default();
    let bytes: usize = block.iter().map(|line| line.len() + 1).sum();
    // Which lines tell of trouble is asked last: it takes longest.
    if bytes < SHORTEST_BLOCK {
        return 0;
    }
    let quiet = block.iter().take_while(|line| !is_untouchable(line));
    quiet.count()
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
                "first\n{block}error: one\nsecond\n[5 lines as above, from: def invoke(self,]\nerror: one\n"
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
