//! Lines that appeared before: their first words and a mark stand for them.
//!
//! The same source text under each of many failures, the same report for each of many files: it is
//! shown once. `def invoke(self,↑` is the latest line above that begins so, `def invoke(self,↑5`
//! that one and the four after it. A line that tells of trouble is never part of it: it is always
//! shown.

use super::super::work::Work;
use super::untouchable::must_stand;
use super::{TextPage, free_mark, mixed};

/// Marks that end a reference, the first that the text does not have.
pub(super) const MARKS: [char; 3] = ['↑', '†', '‡'];

/// Tokens that a reference must save, as far as they can be told from the characters.
const LEAST_GAIN: usize = 3;

/// Bytes of lines that may be referred to.
const SHORTEST: usize = 16;

/// How many bytes of its first line a reference may have: as few as a reader needs to find it.
const LENGTHS: [usize; 4] = [8, 16, 24, 40];

/// A text with references.
#[derive(Debug)]
pub(super) struct ReferredText {
    pub(super) text: String,
    /// How many lines they replace.
    pub(super) lines: u64,
    pub(super) mark: char,
}

/// The text with references; `None` if there are none.
pub(super) fn refer(page: &TextPage<'_>, work: &Work) -> Option<ReferredText> {
    let (text, all) = (page.text, page.lines.as_slice());
    let mut known = KnownPlaces::with_room_for(all.len());
    let mut last_seen = LastSeen::default();
    let mut mark = None;
    let mut written = String::new();
    let mut copied = 0;
    let mut stood_for = 0;
    let mut at = 0;
    work.charge(text.len() * 2);
    while at < all.len() {
        let print = |at: usize| page.prints.get(at).copied().unwrap_or_default();
        let (line, pair) = (spread(print(at)), spread(mixed(print(at), print(at + 1))));
        let together = known.last(pair, at);
        let alone = known.last(line, at);
        let earlier = if together < at { together } else { alone };
        let length = if earlier < at {
            same_lines(all, earlier, at, work)
        } else {
            0
        };
        let block = all.get(at..at + length).unwrap_or_default();
        let saved = tokens_of(block);
        if saved < LEAST_GAIN + 2 {
            at += 1;
            continue;
        }
        let chosen = match mark {
            Some(chosen) => chosen,
            None => *mark.insert(free_mark(text, MARKS)?),
        };
        // A reader, and `rebuild`, takes the latest line that begins so.
        let words = last_seen.words(all, at, earlier);
        let reference = words.map(|words| reference(words, chosen, length));
        let Some(reference) =
            reference.filter(|reference| tokens_about(reference) + LEAST_GAIN <= saved)
        else {
            at += 1;
            continue;
        };
        if written.is_empty() {
            written.reserve(text.len());
        }
        push_all(&mut written, all.get(copied..at).unwrap_or_default());
        push(&mut written, &reference);
        stood_for += length as u64;
        at += length;
        copied = at;
    }
    if stood_for == 0 {
        return None;
    }
    push_all(&mut written, all.get(copied..).unwrap_or_default());
    if !text.ends_with('\n') {
        written.pop();
    }
    Some(ReferredText {
        text: written,
        lines: stood_for,
        mark: mark?,
    })
}

fn reference(words: &str, mark: char, lines: usize) -> String {
    match lines {
        1 => format!("{words}{mark}"),
        lines => format!("{words}{mark}{lines}"),
    }
}

/// More tokens than any reference takes: nobody needs to know how many more.
const MANY: usize = 64;

/// About how many tokens these lines have, with their ends, if they are not [`MANY`].
fn tokens_of(block: &[&str]) -> usize {
    let mut tokens = block.len().saturating_sub(1);
    for line in block {
        if tokens >= MANY {
            break;
        }
        tokens += tokens_about(line);
    }
    tokens
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

/// Where lines with the same first words were seen last. One slot for each, as in [`KnownPlaces`]:
/// what has the slot is the latest of all that share it, so a line that is found there is the
/// latest that begins so.
#[derive(Default)]
struct LastSeen {
    places: Option<KnownPlaces>,
    upto: usize,
}

impl LastSeen {
    /// The fewest first words of this line by which a reader finds the earlier one.
    fn words<'a>(&mut self, all: &[&'a str], at: usize, earlier: usize) -> Option<&'a str> {
        let room = all.len() * 2;
        let places = self
            .places
            .get_or_insert_with(|| KnownPlaces::with_room_for(room));
        for (seen, line) in all.iter().enumerate().take(at).skip(self.upto) {
            for (_, print) in beginnings(body(line)) {
                places.last(print, seen);
            }
        }
        self.upto = at;
        let line = all.get(at)?;
        let body = body(line);
        let is_found = |(_, print): &(usize, u64)| places.get(*print) == Some(earlier);
        let (length, _) = beginnings(body).find(is_found)?;
        line.get(..line.len() - body.len() + length)
    }
}

/// The line without the blanks before it.
fn body(line: &str) -> &str {
    line.trim_start_matches([' ', '\t'])
}

/// How long its beginnings of [`LENGTHS`] are, and a hash of each. They do not end in a blank,
/// which a reader would not see.
fn beginnings(line: &str) -> impl Iterator<Item = (usize, u64)> {
    let (words, _) = line.as_bytes().as_chunks::<8>();
    let mut sum = 0;
    let most = LENGTHS.iter().max().map_or(0, |most| most / 8);
    let hashes = words.iter().take(most).enumerate().map(move |(at, word)| {
        sum = mixed(sum, u64::from_le_bytes(*word));
        ((at + 1) * 8, spread(sum))
    });
    hashes.filter(|(length, _)| {
        let ends_in_blank = matches!(line.as_bytes().get(*length - 1), Some(b' ' | b'\t'));
        LENGTHS.contains(length) && !ends_in_blank && line.is_char_boundary(*length)
    })
}

/// The text with every reference replaced by the lines that it refers to, with the number of the
/// line that each is from.
pub(super) fn written_out(all: Vec<(usize, String)>, mark: char) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::with_capacity(all.len());
    for (at, line) in all {
        let Some((length, words)) = read_reference(&line, mark) else {
            out.push((at, line));
            continue;
        };
        let begins_so = |(_, line): &(usize, String)| line.starts_with(words);
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
fn read_reference(line: &str, mark: char) -> Option<(usize, &str)> {
    let (words, lines) = line.split_once(mark)?;
    match lines {
        "" => Some((1, words)),
        lines => Some((lines.parse().ok()?, words)),
    }
}

fn push_all(text: &mut String, lines: &[&str]) {
    for line in lines {
        push(text, line);
    }
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

    /// What has the slot of this.
    fn get(&self, fingerprint: u64) -> Option<usize> {
        let place = fingerprint as usize & (self.places.len() - 1);
        let known = self.places.get(place).filter(|known| **known != NOTHING);
        known.map(|known| *known as usize)
    }
}

/// The low bits of a product carry little information.
fn spread(hash: u64) -> u64 {
    hash ^ hash >> 32
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
    if bytes < SHORTEST {
        return 0;
    }
    let quiet = block.iter().take_while(|line| !must_stand(line));
    quiet.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn referred(text: &str) -> Option<String> {
        refer(&TextPage::with_prints(text), &Work::for_input(text.len()))
            .map(|referred| referred.text)
    }

    #[test]
    fn a_block_is_said_once_and_trouble_each_time() {
        let block = "    def invoke(self, context):\n        with context as inner:\n            return inner.call(self.callback)\n        raise RuntimeWarningLess\n    # the end of this long function, which is said again\n";
        let text = format!("first\n{block}error: one\nsecond\n{block}error: one\n");
        assert_eq!(
            referred(&text).unwrap(),
            format!("first\n{block}error: one\nsecond\n    def invo↑5\nerror: one\n")
        );
        let line = "    return inner.call(self.callback, context)\n";
        let text = format!("{line}other\n{line}");
        assert_eq!(
            referred(&text).unwrap(),
            format!("{line}other\n    return i↑\n")
        );
    }

    /// The fewest words that no later line begins with.
    #[test]
    fn a_reference_has_as_many_words_as_it_needs() {
        let line = "    9 |     if (argc = 1) { printf(buffer, argc); }\n";
        let other = "    9 |     for (;;) { strncpy(buffer, argv); }\n";
        let text = format!("{line}{other}{line}");
        assert!(
            referred(&text)
                .unwrap()
                .ends_with("\n    9 |     if (argc↑\n")
        );
    }

    #[test]
    fn short_blocks_stay() {
        assert_eq!(referred("a\nb\nc\nd\nx\na\nb\nc\nd\n"), None);
        let line = "a line of some length, which is here more than once, and so is the next one\n";
        let text = format!("{line}{line}↑\nx\n{line}{line}");
        assert!(
            referred(&text).unwrap().contains("a line o†"),
            "another mark"
        );
        let text = format!("{line}{line}↑ † ‡\nx\n{line}{line}");
        assert_eq!(referred(&text), None, "it has every mark in itself");
        assert_eq!(referred(""), None);
    }
}
