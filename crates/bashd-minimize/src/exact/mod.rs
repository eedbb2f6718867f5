//! The exact tier: what is repeated is written once, and the plain form can be rebuilt from what is
//! shown (`rebuild`).
//!
//! The plain form (`plain`) is the text without colours, bells and overwritten frames. Its notation
//! is small: `line (×3)` and `[these 2 lines ×3]` for neighbours that are equal, `[12 lines as
//! above, from: …]` for a block that was shown before, and a heading with a mark in it for lines
//! that differ only where the mark is. A line that tells of trouble, and one with a name that is
//! always kept, is never touched: it stands as it was, with its count on a line of its own.
//!
//! A text that has something like the notation in itself is shown without that part of it, so that
//! there is one way to read it.

mod alike;
mod echoes;
mod escapes;
mod groups;
mod headings;
mod plain;
mod rebuild;
mod repeats;
mod stems;
mod terminal;
mod ungroup;

use super::names::is_kept;
use super::trouble::is_trouble;
use super::work::{Work, lines};
use std::borrow::Cow;

pub(crate) use plain::{PlainForm, plain};
pub(crate) use rebuild::{AGAIN, ECHOES, GROUPS, REPEATS, rebuilt};

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
    /// Lines below a heading.
    pub(crate) grouped: u64,
    /// The mark of headings.
    pub(crate) mark: Option<char>,
    /// Headings that the mark alone says again.
    pub(crate) again: u64,
}

/// A text and its lines, which are found once.
struct TextPage<'a> {
    text: &'a str,
    lines: Vec<&'a str>,
}

impl<'a> TextPage<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            text,
            lines: lines(text).collect(),
        }
    }
}

/// Whether a line must stand as it is.
fn is_untouchable(line: &str) -> bool {
    is_trouble(line) || is_kept(line)
}

/// Marks of headings, the first that the text does not have.
const MARKS: [char; 3] = ['…', '⋯', '◌'];

/// The mark for a text; `None` if it has all of them.
fn mark_for(text: &str) -> Option<char> {
    let has = |mark: &char| {
        let mut bytes = [0; 4];
        let encoded = mark.encode_utf8(&mut bytes).as_bytes();
        memchr::memmem::find(text.as_bytes(), encoded).is_some()
    };
    MARKS.into_iter().find(|mark| !has(mark))
}

/// Whether a text has this in itself, which would be read as notation.
fn has(text: &str, notation: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), notation.as_bytes()).is_some()
}

/// Writes a text in the notation.
pub(crate) fn reshape<'a>(
    text: &'a str,
    notation: Notation,
    work: &Work,
) -> (Cow<'a, str>, Reshaped) {
    if notation == Notation::Nothing {
        return (Cow::Borrowed(text), Reshaped::default());
    }
    let page = TextPage::of(text);
    let counted = repeats::count(&page, work);
    let after_count;
    let page = match &counted {
        Some((counted, _)) => {
            after_count = TextPage::of(counted);
            &after_count
        }
        None => &page,
    };
    let referred = echoes::refer(page, work);
    let after_reference;
    let page = match &referred {
        Some((referred, _)) => {
            after_reference = TextPage::of(referred);
            &after_reference
        }
        None => page,
    };
    let mark = mark_for(text).filter(|_| notation == Notation::Whole);
    let grouped = mark.and_then(|mark| groups::group(page, mark, work));
    let lines_of = |change: &Option<(String, u64)>| change.as_ref().map_or(0, |(_, lines)| *lines);
    let reshaped = Reshaped {
        repeats: lines_of(&counted),
        echoes: lines_of(&referred),
        grouped: grouped.as_ref().map_or(0, |grouped| grouped.in_groups),
        mark: mark.filter(|_| grouped.is_some()),
        again: grouped.as_ref().map_or(0, |grouped| grouped.again),
    };
    let changed = grouped.map(|grouped| grouped.text);
    let changed = changed.or_else(|| referred.or(counted).map(|(text, _)| text));
    (changed.map_or(Cow::Borrowed(text), Cow::Owned), reshaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_one_that_the_text_has_not() {
        assert_eq!(mark_for("plain"), Some('…'));
        assert_eq!(mark_for("Loading…"), Some('⋯'));
        assert_eq!(mark_for("…⋯◌"), None);
    }
}
