//! The exact tier backwards: what is shown becomes the plain form again.

use super::super::MARKER;
use super::super::work::lines;
use super::ungroup::Ungrouped;
use super::{MARKS, echoes, repeats};

/// A line of the plain form, or a notice, as it is found in what is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RebuiltLine {
    /// The line of the shown text that stands for it.
    pub(crate) shown: usize,
    pub(crate) text: String,
}

/// The plain form, without the footer, and for each shown line its heading.
pub(crate) fn rebuilt(shown: &str) -> (Vec<RebuiltLine>, Vec<Option<usize>>) {
    let mut all: Vec<&str> = lines(shown).collect();
    let footer = all.pop_if(|last| last.starts_with(MARKER));
    let footer = footer.unwrap_or_default();
    let Ungrouped {
        lines: ungrouped,
        mut headings,
    } = Ungrouped::of(&all, mark_of(footer));
    if !footer.is_empty() {
        headings.push(None);
    }
    let out = if footer.contains(ECHOES) {
        echoes::written_out(ungrouped)
    } else {
        ungrouped
    };
    let out = if footer.contains(REPEATS) {
        repeats::written_out(out)
    } else {
        out
    };
    let out = out
        .into_iter()
        .map(|(shown, text)| RebuiltLine { shown, text });
    (out.collect(), headings)
}

/// What the footer says of counts.
pub(crate) const REPEATS: &str = "repeats counted";

/// What it says of references.
pub(crate) const ECHOES: &str = "repeated blocks referenced";

/// What it says of headings, after their mark.
pub(crate) const GROUPS: &str = " marks where the lines below it differ";

/// What it says of headings that are said again.
pub(crate) const AGAIN: &str = ", and alone repeats the heading before";

/// The mark of headings that a footer names.
fn mark_of(footer: &str) -> Option<char> {
    let (before, _) = footer.split_once(GROUPS)?;
    before
        .chars()
        .next_back()
        .filter(|mark| MARKS.contains(mark))
}
