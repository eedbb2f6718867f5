//! The lossless tier: what carries no fact goes, and what is said twice is said once.
//!
//! *Invisible* changes are what a terminal would have shown: no escapes, only the last of frames that overwrite each
//! other, no blanks at line ends, one blank line for several. *Visible* ones have a form of their own: `line (×3)`, and a
//! common beginning on a line before the lines that share it, rules of three characters.

mod echoes;
mod escapes;
mod prefixes;
mod repeats;
mod rules;
mod terminal;

use super::work::Work;
use std::borrow::Cow;

pub(crate) use escapes::visible;

/// Which of the visible changes suit a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// Repeats are counted, common beginnings are said once.
    Whole,
    /// Repeats are counted; beginnings stay, since the lines are of a layout that is read as one.
    Repeats,
    /// Lines stay as they are: a patch, or source text.
    Exact,
}

/// What the visible changes did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reshaped {
    /// Lines that a count stands for.
    pub(crate) repeats: u64,
    /// Lines that a reference to earlier ones stands for.
    pub(crate) echoes: u64,
    /// Whether rules were shortened.
    pub(crate) rules: bool,
    /// Lines whose beginning stands on another line.
    pub(crate) prefixes: u64,
}

/// Counts repeats and says common beginnings once.
pub(crate) fn reshape<'a>(text: &'a str, finish: Finish, work: &Work) -> (Cow<'a, str>, Reshaped) {
    let mut reshaped = Reshaped::default();
    let mut text = Cow::Borrowed(text);
    if finish == Finish::Exact {
        return (text, reshaped);
    }
    if let Some(shortened) = rules::shorten(&text) {
        text = Cow::Owned(shortened);
        reshaped.rules = true;
    }
    if let Some((counted, lines)) = repeats::count(&text, work) {
        text = Cow::Owned(counted);
        reshaped.repeats = lines;
    }
    if let Some((referred, lines)) = echoes::refer(&text, work) {
        text = Cow::Owned(referred);
        reshaped.echoes = lines;
    }
    if finish == Finish::Whole
        && let Some((grouped, lines)) = prefixes::group(&text, work)
    {
        text = Cow::Owned(grouped);
        reshaped.prefixes = lines;
    }
    (text, reshaped)
}
