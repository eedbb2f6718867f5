//! Finds secrets in bytes: every form of every known value, and every well-known token, in one
//! pass.
//!
//! The pass asks for each three bytes whether anything begins with them; a table of 65,536 bits
//! answers for nearly all of them, and only where it says yes anything is compared. All occurrences
//! count, overlapping ones too, and what overlaps is one run: so whether a byte is hidden depends
//! on what is near it alone, and any part of a stream can be read without the rest.
//!
//! Colours within a value, and the line breaks that `base64` and terminals put into long ones, are
//! looked through: the bytes are searched again without them.

use super::forms;
use super::tokens::{self, Looked, RULES, TokenRule};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// Bytes of a beginning that are indexed.
const HEAD: usize = 3;

/// Bits of the table.
const BITS: usize = 1 << 16;

/// Bytes without a space before a line break that may be one within a value.
const FULL_LINE: usize = 60;

/// Bytes of the longest escape sequence that is looked through.
const LONGEST_SEQUENCE: usize = 256;

/// Bytes of colours within a value that are looked through, beside its own.
const COLOURS: usize = 64 * 1024;

/// A part of a text that must not be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRun<'a> {
    /// Where it is.
    pub range: Range<usize>,
    /// What is between its characters and may be shown: line breaks, colours.
    pub between: Vec<Range<usize>>,
    /// What it is called.
    pub name: &'a str,
    /// Its characters.
    pub characters: usize,
}

/// What is looked for.
pub(super) struct SecretIndex {
    bits: Box<[u64]>,
    /// Beginnings, sorted, and what begins so.
    heads: Vec<(u32, Entry)>,
    needles: Vec<Needle>,
    /// The needles in the order of their bytes.
    sorted: Vec<usize>,
    /// Which bytes needles begin with.
    first: [bool; 256],
    longest: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Needle(usize),
    Rule(usize),
}

struct Needle {
    bytes: Vec<u8>,
    name: Arc<str>,
}

/// An occurrence; of those that begin together the first in this order gives its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Occurrence {
    range: Range<usize>,
    what: Entry,
}

/// Whether tokens are looked for, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenSearch {
    Too,
    NotHere,
}

impl SecretIndex {
    /// An index of tokens alone.
    pub(super) fn of_tokens() -> &'static Self {
        static TOKENS: LazyLock<SecretIndex> = LazyLock::new(|| SecretIndex::new(&[]));
        &TOKENS
    }

    /// An index of these values, and of tokens.
    pub(super) fn new(known: &[(String, String)]) -> Self {
        let mut needles = Vec::new();
        let mut seen = HashSet::new();
        for (name, value) in known {
            let name: Arc<str> = name.as_str().into();
            for form in forms::of(value) {
                if seen.insert(form.clone()) {
                    needles.push(Needle {
                        bytes: form.into_bytes(),
                        name: Arc::clone(&name),
                    });
                }
            }
        }
        let mut index = Self {
            bits: vec![0; BITS / 64].into(),
            heads: Vec::with_capacity(needles.len() + RULES.len()),
            sorted: (0..needles.len()).collect(),
            first: [false; 256],
            longest: needles
                .iter()
                .map(|needle| needle.bytes.len())
                .max()
                .unwrap_or(0),
            needles,
        };
        for number in 0..index.needles.len() {
            let bytes = index.needles.get(number).map(|needle| needle.bytes.clone());
            let bytes = bytes.unwrap_or_default();
            index.note(&bytes, Entry::Needle(number));
            if let Some(first) = bytes.first() {
                index.first[usize::from(*first)] = true;
            }
        }
        for (number, rule) in RULES.iter().enumerate() {
            index.note(rule.head(), Entry::Rule(number));
        }
        index.heads.sort_unstable();
        let needles = &index.needles;
        index.sorted.sort_by(|one, other| {
            let bytes = |number: &usize| needles.get(*number).map(|needle| &needle.bytes);
            bytes(one).cmp(&bytes(other))
        });
        index
    }

    fn note(&mut self, begins: &[u8], entry: Entry) {
        if let Some(head) = begins.first_chunk::<HEAD>() {
            let key = key(*head);
            let bit = bit(key);
            if let Some(word) = self.bits.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
            self.heads.push((key, entry));
        }
    }

    /// How far from a byte that decides whether it is hidden may be.
    pub(super) fn reach(&self) -> usize {
        tokens::LONGEST + self.longest + self.longest.saturating_mul(16).min(COLOURS)
    }

    /// What may begin with these three bytes.
    fn beginning_with(&self, head: [u8; HEAD]) -> &[(u32, Entry)] {
        let key = key(head);
        let bit = bit(key);
        if self
            .bits
            .get(bit / 64)
            .is_none_or(|word| word >> (bit % 64) & 1 == 0)
        {
            return &[];
        }
        let from = self.heads.partition_point(|(known, _)| *known < key);
        let rest = self.heads.get(from..).unwrap_or_default();
        let upto = rest.partition_point(|(known, _)| *known == key);
        rest.get(..upto).unwrap_or_default()
    }

    /// Where the first token of a text is.
    pub(super) fn first_token(&self, text: &[u8]) -> Option<Range<usize>> {
        let mut found = Vec::new();
        self.scan(text, true, TokenSearch::Too, &mut found);
        let mut tokens = found.into_iter();
        let token = tokens.find(|one| matches!(one.what, Entry::Rule(_)));
        token.map(|token| token.range)
    }

    /// All that must not be shown of a text, in order. `begins`: nothing precedes it.
    pub(super) fn find(&self, text: &[u8], begins: bool) -> Vec<SecretRun<'_>> {
        let mut found = Vec::new();
        self.scan(text, begins, TokenSearch::Too, &mut found);
        self.scan_squeezed(text, begins, &mut found);
        if found.is_empty() {
            return Vec::new();
        }
        found.sort_by_key(|one| (one.range.start, std::cmp::Reverse(one.range.end), one.what));
        let mut runs: Vec<SecretRun<'_>> = Vec::new();
        for one in found {
            match runs.last_mut() {
                Some(run) if one.range.start < run.range.end => {
                    run.range.end = run.range.end.max(one.range.end);
                }
                _ => runs.push(SecretRun {
                    range: one.range,
                    between: Vec::new(),
                    name: self.name(one.what),
                    characters: 0,
                }),
            }
        }
        for run in &mut runs {
            let bytes = text.get(run.range.clone()).unwrap_or_default();
            let between = squeezable(bytes);
            let shown: usize = between
                .iter()
                .map(|part| characters(bytes.get(part.clone())))
                .sum();
            run.characters = characters(Some(bytes)) - shown;
            let start = run.range.start;
            let moved = between
                .into_iter()
                .map(|part| part.start + start..part.end + start);
            run.between = moved.collect();
        }
        runs
    }

    fn scan_squeezed(&self, text: &[u8], begins: bool, found: &mut Vec<Occurrence>) {
        let mut look = |squeezed: &Squeezed, tokens| {
            let mut inside = Vec::new();
            self.scan(&squeezed.bytes, begins, tokens, &mut inside);
            found.extend(inside.into_iter().map(|one| Occurrence {
                range: squeezed.original(&one.range),
                ..one
            }));
        };
        if let Some(squeezed) = Squeezed::without_colours(text) {
            look(&squeezed, TokenSearch::Too);
        }
        // A token goes up to the end of its line: only what is known is looked for beyond that.
        if self.longest > 0
            && let Some(squeezed) = Squeezed::with_lines_joined(text)
        {
            look(&squeezed, TokenSearch::NotHere);
        }
    }

    fn name(&self, what: Entry) -> &str {
        match what {
            Entry::Needle(number) => self.needles.get(number).map_or("", |needle| &needle.name),
            Entry::Rule(number) => RULES.get(number).map_or("", |rule| rule.name),
        }
    }

    /// The one pass.
    fn scan(&self, text: &[u8], begins: bool, tokens: TokenSearch, found: &mut Vec<Occurrence>) {
        for (at, head) in text.windows(HEAD).enumerate() {
            let Ok(head) = <[u8; HEAD]>::try_from(head) else {
                continue;
            };
            for (_, entry) in self.beginning_with(head) {
                let rest = text.get(at..).unwrap_or_default();
                match *entry {
                    Entry::Needle(number) => {
                        let Some(needle) = self.needles.get(number) else {
                            continue;
                        };
                        if rest.starts_with(&needle.bytes) {
                            found.push(Occurrence {
                                range: at..at + needle.bytes.len(),
                                what: *entry,
                            });
                        }
                    }
                    Entry::Rule(number) if tokens == TokenSearch::Too => {
                        let rule = RULES.get(number);
                        let rule = rule.filter(|rule| is_free(rule, text, at, begins));
                        let looked = rule.map(|rule| rule.look(rest));
                        if let Some(Looked::Token { bytes, .. }) = looked {
                            found.push(Occurrence {
                                range: at..at + bytes,
                                what: *entry,
                            });
                        }
                    }
                    Entry::Rule(_) => {}
                }
            }
        }
    }

    /// How many of the last bytes may be the beginning of something that goes on.
    pub(super) fn undecided(&self, text: &[u8], begins: bool) -> usize {
        let mut from = self.open_from(text, begins, TokenSearch::Too);
        if let Some(squeezed) = Squeezed::without_colours(text) {
            let open = self.open_from(&squeezed.bytes, begins, TokenSearch::Too);
            from = from.min(squeezed.original_offset(open));
        }
        if self.longest > 0
            && let Some(squeezed) = Squeezed::with_lines_joined(text)
        {
            let open = self.open_from(&squeezed.bytes, begins, TokenSearch::NotHere);
            from = from.min(squeezed.original_offset(open));
        }
        // What may begin within a run would be a part of it.
        if from < text.len() {
            for run in self.find(text, begins).iter().rev() {
                if run.range.start < from && from < run.range.end {
                    from = run.range.start;
                }
            }
        }
        text.len() - from.min(text.len())
    }

    /// Where the first thing begins that the end of the text leaves open.
    fn open_from(&self, text: &[u8], begins: bool, tokens: TokenSearch) -> usize {
        let mut from = text.len();
        for at in text.len().saturating_sub(self.longest)..text.len() {
            let rest = text.get(at..).unwrap_or_default();
            let is_first = rest
                .first()
                .is_some_and(|byte| self.first[usize::from(*byte)]);
            if is_first && self.begins_needle(rest) {
                from = at;
                break;
            }
        }
        if tokens == TokenSearch::NotHere {
            return from;
        }
        for at in text.len().saturating_sub(tokens::LONGEST)..from {
            let rest = text.get(at..).unwrap_or_default();
            let is_open = |rule: &TokenRule| {
                is_free(rule, text, at, begins)
                    && matches!(
                        rule.look(rest),
                        Looked::Perhaps | Looked::Token { is_open: true, .. }
                    )
            };
            let goes_on = match rest.first_chunk::<HEAD>() {
                Some(head) => self
                    .beginning_with(*head)
                    .iter()
                    .any(|(_, entry)| match entry {
                        Entry::Rule(number) => RULES.get(*number).is_some_and(is_open),
                        Entry::Needle(_) => false,
                    }),
                None => RULES.iter().any(is_open),
            };
            if goes_on {
                return at;
            }
        }
        from
    }

    /// Whether some needle begins with this, and has more.
    fn begins_needle(&self, text: &[u8]) -> bool {
        let bytes = |number: &usize| self.needles.get(*number).map_or(&[][..], |one| &one.bytes);
        let near = self.sorted.partition_point(|number| bytes(number) <= text);
        let next = self.sorted.get(near).map(bytes);
        next.is_some_and(|next| next.starts_with(text))
    }
}

/// Whether such a token may begin here.
fn is_free(rule: &TokenRule, text: &[u8], at: usize, begins: bool) -> bool {
    match at.checked_sub(1).and_then(|before| text.get(before)) {
        Some(before) => rule.may_begin_behind(*before),
        None => begins,
    }
}

fn key([one, two, three]: [u8; HEAD]) -> u32 {
    u32::from_le_bytes([one, two, three, 0])
}

fn bit(key: u32) -> usize {
    (key.wrapping_mul(0x9E37_79B1) >> 16) as usize
}

fn characters(bytes: Option<&[u8]>) -> usize {
    let starts = |byte: &&u8| !matches!(byte, 0x80..=0xbf);
    bytes.unwrap_or_default().iter().filter(starts).count()
}

/// The line breaks and escape sequences of a text.
fn squeezable(text: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in memchr::memchr3_iter(b'\n', b'\r', 0x1b, text) {
        if found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let length = if rest.first() == Some(&0x1b) {
            sequence(rest)
        } else {
            1
        };
        found.push(at..at + length);
    }
    found
}

/// Bytes of the escape sequence with which a text begins.
fn sequence(text: &[u8]) -> usize {
    let within = text.get(..text.len().min(LONGEST_SEQUENCE)).unwrap_or(text);
    let until = |from: usize, is_last: fn(&u8) -> bool| {
        let rest = within.get(from..).unwrap_or_default();
        rest.iter()
            .position(is_last)
            .map_or(within.len(), |at| from + at + 1)
    };
    match text.get(1) {
        Some(b'[') => until(2, |byte| matches!(byte, 0x40..=0x7e)),
        Some(b']') => match until(2, |byte| matches!(byte, 0x07 | 0x1b)) {
            end if within.get(end - 1) == Some(&0x1b) => (end + 1).min(text.len()),
            end => end,
        },
        Some(0x20..=0x2f) => until(2, |byte| matches!(byte, 0x30..=0x7e)),
        Some(_) => 2,
        None => 1,
    }
}

/// A text without some of its parts.
struct Squeezed {
    bytes: Vec<u8>,
    /// Where in `bytes` something was taken out, and where that ended in the original.
    cuts: Vec<(usize, usize)>,
}

impl Squeezed {
    /// Without escape sequences; `None` if there are none.
    fn without_colours(text: &[u8]) -> Option<Self> {
        memchr::memchr(0x1b, text)?;
        let mut parts = squeezable(text);
        parts.retain(|part| text.get(part.start) == Some(&0x1b));
        Some(Self::without(text, &parts))
    }

    /// Without the breaks of lines that are full, and without escape sequences; `None` if there are
    /// no such breaks.
    fn with_lines_joined(text: &[u8]) -> Option<Self> {
        let is_full = |newline: usize| {
            let end = match newline.checked_sub(1).and_then(|at| text.get(at)) {
                Some(b'\r') => newline - 1,
                _ => newline,
            };
            let line = end
                .checked_sub(FULL_LINE)
                .and_then(|from| text.get(from..end));
            line.is_some_and(|line| line.iter().rev().all(|byte| *byte > b' '))
        };
        // A carriage return at the end may be the first half of a break.
        let may_break = text.last() == Some(&b'\r') && is_full(text.len());
        if !may_break && !memchr::memchr_iter(b'\n', text).any(is_full) {
            return None;
        }
        let mut parts = squeezable(text);
        parts.retain(|part| match text.get(part.start) {
            Some(b'\n') => is_full(part.start),
            Some(b'\r') => {
                text.get(part.end).is_none_or(|byte| *byte == b'\n') && is_full(part.end)
            }
            _ => true,
        });
        Some(Self::without(text, &parts))
    }

    fn without(text: &[u8], parts: &[Range<usize>]) -> Self {
        let mut squeezed = Self {
            bytes: Vec::with_capacity(text.len()),
            cuts: Vec::with_capacity(parts.len()),
        };
        let mut from = 0;
        for part in parts {
            squeezed
                .bytes
                .extend_from_slice(text.get(from..part.start).unwrap_or_default());
            squeezed.cuts.push((squeezed.bytes.len(), part.end));
            from = part.end;
        }
        squeezed
            .bytes
            .extend_from_slice(text.get(from..).unwrap_or_default());
        squeezed
    }

    /// Where a byte was; for the end, where the text ended.
    fn original_offset(&self, at: usize) -> usize {
        let cuts = self.cuts.partition_point(|(cut, _)| *cut <= at);
        match cuts.checked_sub(1).and_then(|last| self.cuts.get(last)) {
            Some((cut, end)) => end + (at - cut),
            None => at,
        }
    }

    fn original(&self, range: &Range<usize>) -> Range<usize> {
        let last = range.end.saturating_sub(1);
        self.original_offset(range.start)..self.original_offset(last) + 1
    }
}
