//! The exact tier: what is repeated is written once, and the plain form can be rebuilt from what is
//! shown (`rebuild`).
//!
//! The plain form (`plain`) is the text without colours, bells and overwritten frames. Its notation
//! is small: `line (×3)` and `[these 2 lines ×3]` for neighbours that are equal, `first wor↑` and
//! `first wor↑12` for a line or a block that was shown before, and a heading with a mark in it for
//! lines that differ only where the mark is. A line that tells of trouble, and one with a name that
//! is always kept, is never touched: it stands as it was, with its count on a line of its own.
//!
//! A text that has something like the notation in itself is shown without that part of it, so that
//! there is one way to read it.

mod alike;
mod colours;
mod cuts;
mod echoes;
mod escapes;
mod groups;
mod plain;
mod rebuild;
mod repeats;
mod rescued;
mod signs;
mod stems;
mod terminal;
mod ungroup;
mod untouchable;

use super::References;
use super::work::{Work, lines};
use groups::{GroupedText, HeadingMarks};
use std::borrow::Cow;

pub(crate) use plain::{PlainForm, plain};
use untouchable::is_untouchable;

pub(crate) use rebuild::{ECHOES, GROUPS, REPEATS, WORDS, rebuilt};

/// Which parts of the notation suit a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// All of it.
    Whole,
    /// No headings, since the lines have a layout that is read as one.
    Repeats,
    /// None: a patch, or source text.
    Nothing,
}

/// What the notation was used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reshaped {
    /// Lines that a count replaces.
    pub(crate) repeats: u64,
    /// Lines that a reference to earlier ones replaces.
    pub(crate) echoes: u64,
    /// The mark of references.
    pub(crate) echo_mark: Option<char>,
    /// Lines below a heading.
    pub(crate) grouped: u64,
    /// The mark of headings above lines.
    pub(crate) line_mark: Option<char>,
    /// That of headings above words.
    pub(crate) word_mark: Option<char>,
}

/// A text and its lines, which are found once.
struct TextPage<'a> {
    text: &'a str,
    lines: Vec<&'a str>,
    /// A hash of each line, where they are to be compared: lines with different ones differ.
    prints: Vec<u64>,
}

impl<'a> TextPage<'a> {
    fn of(text: &'a str) -> Self {
        // Most lines are longer: growing costs more than the room.
        let mut all = Vec::with_capacity(text.len() / 32 + 8);
        all.extend(lines(text));
        Self {
            text,
            lines: all,
            prints: Vec::new(),
        }
    }

    fn with_prints(text: &'a str) -> Self {
        let page = Self::of(text);
        let prints = page.lines.iter().map(|line| fingerprint(line)).collect();
        Self { prints, ..page }
    }
}

/// A hash of a line. It is made for speed alone: whoever finds two equal ones compares the lines.
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

/// Marks of headings, the first that the text does not have.
const MARKS: [char; 3] = ['…', '⋯', '◌'];

/// Marks of headings above words, the first that the text does not have.
const WORD_MARKS: [char; 3] = ['•', '¶', '§'];

/// The first of these marks that a text has not; `None` if it has all of them.
fn free_mark(text: &str, marks: [char; 3]) -> Option<char> {
    let mut bytes = [0; 4];
    let is_free = |mark: &char| !has(text, mark.encode_utf8(&mut bytes));
    marks.into_iter().find(is_free)
}

/// Whether a text has this in itself, which would be read as notation.
fn has(text: &str, notation: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), notation.as_bytes()).is_some()
}

/// Writes a text in the notation.
pub(crate) fn reshape<'a>(
    text: &'a str,
    notation: Notation,
    references: References,
    work: &Work,
) -> (Cow<'a, str>, Reshaped) {
    if notation == Notation::Nothing {
        return (Cow::Borrowed(text), Reshaped::default());
    }
    let page = TextPage::with_prints(text);
    let counted = repeats::count(&page, work);
    let after_count;
    let page = match &counted {
        Some((counted, _)) => {
            after_count = TextPage::with_prints(counted);
            &after_count
        }
        None => &page,
    };
    let referred = match references {
        References::Made => echoes::refer(page, work),
        References::Never => None,
    };
    let after_reference;
    let page = match &referred {
        Some(referred) => {
            after_reference = TextPage::of(&referred.text);
            &after_reference
        }
        None => page,
    };
    let marks = free_mark(text, MARKS).zip(free_mark(text, WORD_MARKS));
    let marks = marks.filter(|_| notation == Notation::Whole);
    let marks = marks.map(|(line, word)| HeadingMarks { line, word });
    let grouped = marks.and_then(|marks| groups::group(page, marks, work));
    let used = |mark: Option<char>, count: fn(&GroupedText) -> u64| {
        mark.filter(|_| grouped.as_ref().is_some_and(|grouped| count(grouped) > 0))
    };
    let reshaped = Reshaped {
        repeats: counted.as_ref().map_or(0, |(_, lines)| *lines),
        echoes: referred.as_ref().map_or(0, |referred| referred.lines),
        echo_mark: referred.as_ref().map(|referred| referred.mark),
        grouped: grouped.as_ref().map_or(0, |grouped| grouped.in_groups),
        line_mark: used(marks.map(|marks| marks.line), |grouped| grouped.above_lines),
        word_mark: used(marks.map(|marks| marks.word), |grouped| grouped.above_words),
    };
    let changed = grouped.map(|grouped| grouped.text);
    let changed = changed.or_else(|| referred.map(|referred| referred.text));
    let changed = changed.or_else(|| counted.map(|(text, _)| text));
    (changed.map_or(Cow::Borrowed(text), Cow::Owned), reshaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_one_that_the_text_has_not() {
        assert_eq!(free_mark("plain", MARKS), Some('…'));
        assert_eq!(free_mark("Loading…", MARKS), Some('⋯'));
        assert_eq!(free_mark("…⋯◌", MARKS), None);
    }
}
