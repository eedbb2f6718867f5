//! The exact tier backwards: what is shown becomes the plain form again.

use super::super::MARKER;
use super::super::work::lines;
use super::ungroup::Ungrouped;
use super::{MARKS, WORD_MARKS, echoes, repeats};

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
    } = Ungrouped::of(
        &all,
        mark_before(footer, GROUPS, MARKS),
        mark_before(footer, WORDS, WORD_MARKS),
    );
    if !footer.is_empty() {
        headings.push(None);
    }
    let out = match mark_before(footer, ECHOES, echoes::MARKS) {
        Some(mark) => echoes::written_out(ungrouped, mark),
        None => ungrouped,
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

/// What it says of references, after their mark.
pub(crate) const ECHOES: &str = " rest as above";

/// What it says of headings, after their mark.
pub(crate) const GROUPS: &str = " marks where the lines below it differ";

/// What it says of headings above words, after their mark.
pub(crate) const WORDS: &str = " is each word below it";

/// The mark that a footer names before these words.
fn mark_before(footer: &str, words: &str, marks: [char; 3]) -> Option<char> {
    let (before, _) = footer.split_once(words)?;
    before
        .chars()
        .next_back()
        .filter(|mark| marks.contains(mark))
}
