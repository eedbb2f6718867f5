//! The lossless tier: removes what carries no fact, and writes once what is repeated.
//!
//! *Invisible* changes produce what a terminal would have shown: no escapes, only the last of
//! frames that overwrite each other, no trailing blanks, one blank line for several. *Visible* ones
//! have their own notation: `line (×3)`, a common prefix on a line before the lines that share it,
//! rules of three characters.

mod echoes;
mod escapes;
mod prefixes;
mod repeats;
mod rules;
mod terminal;

use super::work::{Work, lines};
use std::borrow::Cow;

pub(crate) use escapes::visible;

/// Which of the visible changes suit a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VisibleChanges {
    /// Repeats are counted, common prefixes are written once.
    Whole,
    /// Repeats are counted; prefixes stay, since the lines have a layout that is read as one.
    Repeats,
    /// Lines stay as they are: a patch, or source text.
    Exact,
}

/// What the visible changes did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reshaped {
    /// Lines that a count replaces.
    pub(crate) repeats: u64,
    /// Lines that a reference to earlier ones replaces.
    pub(crate) echoes: u64,
    /// Whether rules were shortened.
    pub(crate) rules: bool,
    /// Lines whose prefix is on another line.
    pub(crate) prefixes: u64,
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

/// Counts repeats and writes common prefixes once.
pub(crate) fn reshape<'a>(
    text: &'a str,
    finish: VisibleChanges,
    work: &Work,
) -> (Cow<'a, str>, Reshaped) {
    if finish == VisibleChanges::Exact {
        return (Cow::Borrowed(text), Reshaped::default());
    }
    let shortened = rules::shorten(text);
    let page = TextPage::of(shortened.as_deref().unwrap_or(text));
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
    let grouped = match finish {
        VisibleChanges::Whole => prefixes::group(page, work),
        VisibleChanges::Repeats | VisibleChanges::Exact => None,
    };
    let lines_of = |change: &Option<(String, u64)>| change.as_ref().map_or(0, |(_, lines)| *lines);
    let reshaped = Reshaped {
        repeats: lines_of(&counted),
        echoes: lines_of(&referred),
        rules: shortened.is_some(),
        prefixes: lines_of(&grouped),
    };
    let changed = grouped.or(referred).or(counted).map(|(text, _)| text);
    let text = changed
        .or(shortened)
        .map_or(Cow::Borrowed(text), Cow::Owned);
    (text, reshaped)
}
