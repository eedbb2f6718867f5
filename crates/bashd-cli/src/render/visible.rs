//! Text as a screen shows it: without escape sequences, measured and cut in columns.
//!
//! A column is what a terminal's cursor moves by: two for an ideograph or an emoji, none for a
//! combining mark. A cluster of characters that is shown as one is never split.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns of a tab stop.
const TAB: usize = 4;

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.graphemes(true).map(cluster_width).sum()
}

/// No cluster is wider than two columns: terminals show it as one character.
fn cluster_width(cluster: &str) -> usize {
    cluster.width().min(2)
}

/// A text cut to this many columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clamped {
    /// What fits.
    pub(crate) text: String,
    /// Columns that do not.
    pub(crate) omitted: usize,
}

/// Cuts a line of plain text to this many columns.
pub(crate) fn clamp(text: &str, columns: usize) -> Clamped {
    let mut clamped = Clamped::default();
    let mut used = 0;
    for cluster in text.graphemes(true) {
        let width = cluster_width(cluster);
        if clamped.omitted == 0 && used + width <= columns {
            used += width;
            clamped.text.push_str(cluster);
        } else {
            clamped.omitted += width;
        }
    }
    clamped
}

/// Breaks a text into pieces that fit into rows of this many columns, of which so many are used:
/// each piece, and whether it begins a new row.
pub(super) fn pieces<'text>(
    text: &'text str,
    columns: usize,
    used: &mut usize,
) -> Vec<(&'text str, bool)> {
    let (mut pieces, mut begins, mut is_new_row) = (Vec::new(), 0, false);
    for (at, cluster) in text.grapheme_indices(true) {
        let width = cluster_width(cluster);
        if *used + width > columns {
            let (before, _) = text.split_at(at);
            let (_, piece) = before.split_at(begins);
            if !piece.is_empty() || is_new_row {
                pieces.push((piece, is_new_row));
            }
            (begins, is_new_row, *used) = (at, true, 0);
        }
        *used += width;
    }
    let (_, piece) = text.split_at(begins);
    if !piece.is_empty() {
        pieces.push((piece, is_new_row));
    }
    pieces
}

/// The text without escape sequences, with nothing left that a terminal would act on except
/// newlines; tabs become spaces, and a rewritten line keeps its last form.
pub(crate) fn plain(text: &str) -> String {
    let mut store = super::store::LineStore::keeping_all();
    store.push(text);
    store.lines().collect::<Vec<_>>().join("\n")
}

/// Whether a character may appear in a line: it shows something, and does not reverse the line.
pub(super) fn is_printable(character: char) -> bool {
    let turns_around = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !character.is_control() && !turns_around && !matches!(character, '\u{2028}' | '\u{2029}')
}

/// Spaces from this column to the next tab stop.
pub(super) fn tab(column: usize) -> usize {
    TAB - column % TAB
}
