//! The text of a page: lines as rows of the screen, what is found in them, and what is selected.

use crate::render::{StyledLine, StyledSpan, Tone};
use regex::{Regex, RegexBuilder};
use std::ops::RangeInclusive;

/// Lines, and the rows that they take on a screen of some width.
#[derive(Default)]
pub(super) struct PageText {
    lines: Vec<StyledLine>,
    rows: Vec<PageRow>,
    /// How there are rows, and how many lines have theirs.
    layout: PageLayout,
    laid_out: usize,
}

/// How lines become rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum PageLayout {
    #[default]
    Nothing,
    /// Broken where a row of so many columns is full, as a terminal does it.
    Output(usize),
    /// Entries of a list: broken between words, and indented after the first row.
    Entries(usize),
}

/// Rows of an entry at most; opened, it is whole.
const MOST_ROWS: usize = 6;

/// Columns by which an entry's further rows are indented.
const INDENT: usize = 4;

impl PageLayout {
    fn rows(self, line: &StyledLine) -> Vec<StyledLine> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Output(columns) => line.wrapped(columns),
            Self::Entries(columns) => {
                // No more than can be seen is looked at: commands may be long.
                let seen = line.clone().cut(columns.saturating_mul(MOST_ROWS));
                let mut rows = seen.in_words(columns, INDENT);
                if rows.len() > MOST_ROWS {
                    rows.truncate(MOST_ROWS);
                    let last = rows.pop().unwrap_or_default();
                    let last = last.cut(columns.saturating_sub(1));
                    rows.push(last.and(Tone::Faint, "…"));
                }
                rows
            }
        }
    }
}

/// A row of the screen.
struct PageRow {
    line: usize,
    text: StyledLine,
}

impl PageText {
    /// Replaces the lines from this one on.
    pub(super) fn replace_from(&mut self, line: usize, lines: Vec<StyledLine>) {
        self.lines.truncate(line);
        self.lines.extend(lines);
        self.laid_out = self.laid_out.min(line);
    }

    /// How many lines there are.
    pub(super) fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// How many rows there are.
    pub(super) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Makes the rows, as far as they are not made yet.
    pub(super) fn lay_out(&mut self, layout: PageLayout) {
        if layout != self.layout {
            self.layout = layout;
            self.laid_out = 0;
        }
        let keeps = self.rows.partition_point(|row| row.line < self.laid_out);
        self.rows.truncate(keeps);
        for (line, text) in self.lines.iter().enumerate().skip(self.laid_out) {
            let rows = layout.rows(text).into_iter();
            self.rows.extend(rows.map(|text| PageRow { line, text }));
        }
        self.laid_out = self.lines.len();
    }

    /// A row.
    pub(super) fn row(&self, row: usize) -> Option<&StyledLine> {
        self.rows.get(row).map(|row| &row.text)
    }

    /// The line that a row is of.
    pub(super) fn line_of(&self, row: usize) -> usize {
        let last = self.lines.len().saturating_sub(1);
        self.rows.get(row).map_or(last, |row| row.line)
    }

    /// The first row of a line.
    pub(super) fn row_of(&self, line: usize) -> usize {
        self.rows.partition_point(|row| row.line < line)
    }

    /// The last row of a line.
    pub(super) fn last_row_of(&self, line: usize) -> usize {
        self.row_of(line + 1)
            .saturating_sub(1)
            .max(self.row_of(line))
    }

    /// The lines with a match.
    pub(super) fn found(&self, pattern: &Regex) -> Vec<usize> {
        let lines = self.lines.iter().enumerate();
        let found = lines.filter(|(_, line)| pattern.is_match(&line.text()));
        found.map(|(number, _)| number).collect()
    }

    /// Lines as text.
    pub(super) fn text(&self, lines: RangeInclusive<usize>) -> String {
        let lines = self.lines.get(lines).unwrap_or_default();
        let lines: Vec<_> = lines.iter().map(StyledLine::text).collect();
        lines.join("\n")
    }
}

/// What somebody searches for: a regular expression if it is one, else these characters. Only a
/// text with capitals tells them from small letters.
pub(super) fn pattern(typed: &str) -> Option<Regex> {
    if typed.is_empty() {
        return None;
    }
    let build = |pattern: &str| {
        RegexBuilder::new(pattern)
            .case_insensitive(!typed.chars().any(char::is_uppercase))
            .size_limit(1 << 20)
            .build()
            .ok()
    };
    build(typed).or_else(|| build(&regex::escape(typed)))
}

/// A row with what was found in it marked by this tone.
pub(super) fn marked(row: &StyledLine, pattern: &Regex, mark: Tone) -> StyledLine {
    let text = row.text();
    let mut found = pattern.find_iter(&text).filter(|one| !one.is_empty());
    let mut next = found.next();
    let (mut line, mut at) = (StyledLine::default(), 0);
    for StyledSpan { tone, text: piece } in &row.0 {
        let (mut rest, end) = (piece.as_str(), at + piece.len());
        while let Some(one) = next.as_ref().filter(|one| one.start() < end) {
            let (before, after) = rest.split_at(one.start().saturating_sub(at));
            let (inside, after) =
                after.split_at((one.end().min(end)).max(at) - one.start().max(at));
            for (tone, part) in [(*tone, before), (mark, inside)] {
                if !part.is_empty() {
                    line = line.and(tone, part);
                }
            }
            (rest, at) = (after, end - after.len());
            if one.end() > end {
                break;
            }
            next = found.next();
        }
        if !rest.is_empty() {
            line = line.and(*tone, rest);
        }
        at = end;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[&str]) -> PageText {
        let mut text = PageText::default();
        let lines = lines.iter().map(|line| StyledLine::new(Tone::Plain, *line));
        text.replace_from(0, lines.collect());
        text
    }

    #[test]
    fn long_lines_take_several_rows_at_every_width() {
        let mut page = text(&["abcdefgh", "", "xy"]);
        page.lay_out(PageLayout::Output(3));
        assert_eq!(page.row_count(), 5);
        let rows: Vec<_> = (0..5).map(|row| page.row(row).unwrap().text()).collect();
        assert_eq!(rows, ["abc", "def", "gh", "", "xy"]);
        assert_eq!((page.line_of(2), page.line_of(4)), (0, 2));
        assert_eq!((page.row_of(1), page.row_of(2)), (3, 4));
        page.lay_out(PageLayout::Output(80));
        assert_eq!(page.row_count(), 3);
        page.replace_from(2, vec![StyledLine::new(Tone::Plain, "new")]);
        page.lay_out(PageLayout::Output(80));
        assert_eq!(page.text(0..=2), "abcdefgh\n\nnew");
        assert_eq!(page.row_count(), 3);
    }

    #[test]
    fn an_entry_takes_the_rows_that_it_needs_up_to_a_bound() {
        let mut page = text(&["exit 0  cargo test --locked", "true", &"word ".repeat(50)]);
        page.lay_out(PageLayout::Entries(20));
        let row = |row| page.row(row).unwrap().text();
        assert_eq!(row(0).trim_end(), "exit 0  cargo test");
        assert_eq!(row(1), "    --locked");
        assert_eq!(row(2), "true");
        assert_eq!((page.row_of(0), page.last_row_of(0)), (0, 1));
        assert_eq!(page.last_row_of(2) - page.row_of(2), MOST_ROWS - 1);
        assert!(row(page.last_row_of(2)).ends_with('…'));
    }

    #[test]
    fn what_is_found_is_marked_across_pieces() {
        let row = StyledLine::new(Tone::Good, "an err").and(Tone::Bad, "or here, error there");
        let shown = marked(&row, &pattern("error").unwrap(), Tone::Found);
        assert_eq!(shown.text(), row.text());
        let found: Vec<_> = shown
            .0
            .iter()
            .filter(|span| span.tone == Tone::Found)
            .collect();
        let found: Vec<_> = found.iter().map(|span| span.text.as_str()).collect();
        assert_eq!(found, ["err", "or", "error"]);
        let tones: Vec<_> = shown.0.iter().map(|span| span.tone).collect();
        assert_eq!(tones.first(), Some(&Tone::Good));
        assert_eq!(tones.last(), Some(&Tone::Bad));
    }

    #[test]
    fn a_search_is_a_pattern_if_it_is_one() {
        let page = text(&["Error: a[0", "no error", "fine"]);
        for (typed, expected) in [
            ("error", &[0, 1][..]),
            ("Error", &[0]),
            ("a[0", &[0]),
            ("^f.ne$", &[2]),
            ("nothing", &[]),
        ] {
            assert_eq!(page.found(&pattern(typed).unwrap()), expected, "{typed}");
        }
        assert!(pattern("").is_none());
    }
}
