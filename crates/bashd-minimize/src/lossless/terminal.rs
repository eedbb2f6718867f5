//! What is left on an endless screen after everything that was written to it: progress bars and
//! redrawn lists.
//!
//! Only what changes the visible text is interpreted: cursor movement and erasing. A line that
//! tells of trouble stays even if it was overwritten.

use super::super::trouble::is_trouble;
use super::escapes::{Escape, escape_at, parameters};

/// The widest line that the cursor can move across: nobody draws beyond it, and a number could ask
/// for any amount.
const WIDEST: usize = 1000;

/// The narrowest common terminal: a line of this many columns may have been wrapped.
const NARROWEST: usize = 80;

/// Most overwritten lines of trouble that are kept: bounds what a hostile text can ask for.
const MOST_RESCUED: usize = 200;

/// An endless screen.
#[derive(Debug, Default)]
pub(super) struct EndlessScreen {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// The row that an absolute position counts from.
    top: usize,
    rescued: Vec<(usize, String)>,
}

impl EndlessScreen {
    /// What is visible after a text was written.
    pub(super) fn render(text: &str) -> String {
        let mut terminal = Self::default();
        terminal.rows.push(Vec::new());
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let plain = rest.iter().position(|byte| is_control(*byte));
            let plain = plain.unwrap_or(rest.len());
            terminal.put(text.get(at..at + plain).unwrap_or_default());
            at += plain;
            match bytes.get(at) {
                Some(0x1b) => at += terminal.escape(bytes, at).max(1) - 1,
                Some(b'\n') => terminal.next_line(),
                Some(b'\r') if bytes.get(at + 1) != Some(&b'\n') => terminal.column = 0,
                Some(0x08) => terminal.column = terminal.column.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        terminal.finish(text.ends_with('\n'))
    }

    /// Writes text without controls over what is there.
    fn put(&mut self, text: &str) {
        let column = self.column;
        let Some(row) = self.rows.get(self.row).filter(|_| !text.is_empty()) else {
            return;
        };
        if column == 0 && row.len() > 1 {
            self.rescue(self.row);
        }
        if let Some(row) = self.rows.get_mut(self.row) {
            if row.len() < column {
                row.resize(column, ' ');
            }
            let mut characters = text.chars();
            let over = row.iter_mut().skip(column);
            // The row first: an item that is taken and has no cell would be lost.
            over.zip(characters.by_ref())
                .for_each(|(cell, c)| *cell = c);
            let before = row.len().max(column);
            row.extend(characters);
            self.column = if row.len() > before {
                row.len()
            } else {
                column + text.chars().count()
            };
        }
    }

    fn next_line(&mut self) {
        self.row += 1;
        self.column = 0;
        if self.row == self.rows.len() {
            self.rows.push(Vec::new());
        }
    }

    /// Executes an escape; returns its length.
    fn escape(&mut self, bytes: &[u8], at: usize) -> usize {
        let escape = escape_at(bytes, at);
        let Escape::Sequence(last, length) = escape else {
            if escape == Escape::ReverseLine {
                self.row = self.row.saturating_sub(1).max(self.top);
            }
            return escape.length();
        };
        let (first, second) = parameters(bytes, at, length);
        let count = first.max(1);
        match last {
            b'A' | b'F' => self.up(count),
            b'B' | b'E' => self.row = (self.row + count).min(self.rows.len() - 1),
            b'C' => self.column = (self.column + count).min(WIDEST),
            b'D' => self.column = self.column.saturating_sub(count),
            b'G' => self.column = (count - 1).min(WIDEST),
            b'H' | b'f' => self.move_to(count - 1, second.max(1) - 1),
            b'J' => self.erase_below(first),
            b'K' => self.erase_in_line(first),
            b'M' => self.erase_in_line(2),
            _ => {}
        }
        if matches!(last, b'E' | b'F') {
            self.column = 0;
        }
        length
    }

    /// Moves up, unless a line on the way is so long that a terminal would have wrapped it: how
    /// many rows it took is unknown, and what is above must not be overwritten by mistake. Then
    /// drawing continues below.
    fn up(&mut self, count: usize) {
        let target = self.row.saturating_sub(count).max(self.top.min(self.row));
        let mut on_the_way = self.rows.iter().skip(target).take(count + 1);
        if on_the_way.any(|row| row.len() >= NARROWEST) {
            self.row = self.rows.len() - 1;
            if self.rows.last().is_some_and(|row| !row.is_empty()) {
                self.next_line();
            }
            self.top = self.row;
            self.column = 0;
        } else {
            self.row = target;
        }
    }

    fn move_to(&mut self, row: usize, column: usize) {
        if row == 0 && column == 0 && self.row > self.top {
            // A program that draws whole screens: each is a separate page, until it clears the one
            // before.
            self.row = self.top;
        } else {
            self.row = (self.top + row).min(self.rows.len() - 1);
        }
        self.column = column.min(WIDEST);
    }

    fn erase_below(&mut self, which: usize) {
        let from = if which >= 2 { self.top } else { self.row };
        for row in from..self.rows.len() {
            self.rescue(row);
        }
        if which < 2 {
            let column = self.column;
            if let Some(row) = self.rows.get_mut(self.row) {
                row.truncate(column);
            }
            self.rows.truncate(self.row + 1);
        } else {
            self.rows.truncate(from + 1);
            self.rows.iter_mut().skip(from).for_each(Vec::clear);
            self.row = from;
        }
    }

    fn erase_in_line(&mut self, which: usize) {
        let column = self.column;
        let is_at_its_end = self
            .rows
            .get(self.row)
            .is_none_or(|row| row.len() <= column);
        if which == 0 && is_at_its_end {
            // Nothing is there: tools that colour their lines do this after each colour.
            return;
        }
        self.rescue(self.row);
        if let Some(row) = self.rows.get_mut(self.row) {
            match which {
                0 => row.truncate(column),
                1 => row.iter_mut().take(column + 1).for_each(|cell| *cell = ' '),
                _ => row.clear(),
            }
        }
    }

    /// Keeps a line that is about to be overwritten, if it tells of trouble and was not kept
    /// before.
    fn rescue(&mut self, at: usize) {
        if self.rescued.len() >= MOST_RESCUED {
            return;
        }
        let Some(row) = self.rows.get(at).filter(|row| !row.is_empty()) else {
            return;
        };
        let line: String = row.iter().collect();
        if is_trouble(&line)
            && !self
                .rescued
                .iter()
                .any(|(_, known)| same_but_numbers(known, &line))
        {
            self.rescued.push((at, line));
        }
    }

    fn finish(mut self, ends_with_line_end: bool) -> String {
        while self.rows.len() > 1 && self.rows.last().is_some_and(Vec::is_empty) {
            self.rows.pop();
        }
        let mut lines: Vec<String> = self.rows.iter().map(|row| row.iter().collect()).collect();
        self.rescued.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (at, line) in self.rescued {
            let stands = lines.iter().any(|shown| same_but_numbers(shown, &line));
            if !stands {
                lines.insert(at.min(lines.len()), line);
            }
        }
        let mut text = lines.join("\n");
        if ends_with_line_end {
            text.push('\n');
        }
        text
    }
}

/// Whether a byte is one that draws nothing. Bytes of longer characters are none.
fn is_control(byte: u8) -> bool {
    matches!(byte, 0x1b | b'\n' | b'\r' | 0x08 | 0x07 | 0)
}

/// Whether two lines differ only in their numbers and blanks, as the frames of a counter do.
fn same_but_numbers(one: &str, other: &str) -> bool {
    let letters = |line: &str| {
        let kept = line.chars().filter(|c| c.is_alphabetic());
        kept.collect::<String>()
    };
    letters(one) == letters(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_frame_is_what_stays() {
        for (raw, shown) in [
            ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
            ("long line\rshort\x1b[K\n", "short\n"),
            ("abc\rx\n", "xbc\n"),
            ("one\ntwo\n\x1b[2A\x1b[2Kuno\n\x1b[2Kdos\n", "uno\ndos\n"),
            ("a\nb\nc\n\x1b[3A\x1b[Jx\n", "x\n"),
            ("typo\x08\x08\x08\x08word\n", "word\n"),
            ("\x1b[5Cx\n", "     x\n"),
        ] {
            assert_eq!(EndlessScreen::render(raw), shown, "{raw:?}");
        }
    }

    #[test]
    fn what_stands_above_wrapped_lines_is_safe() {
        let raw = format!("result one\nresult two\n{}\x1b[2A\rnew\n", "x".repeat(120));
        let shown = EndlessScreen::render(&raw);
        assert!(
            shown.contains("result one\nresult two\n") && shown.contains("new"),
            "{shown}"
        );
    }

    #[test]
    fn trouble_outlives_its_frame() {
        let shown = EndlessScreen::render("error: no network\rretrying 1\rretrying 2\n");
        assert!(shown.contains("error: no network"), "{shown}");
        assert!(shown.contains("retrying 2"), "{shown}");
    }

    #[test]
    fn counters_of_failures_are_not_kept_frame_by_frame() {
        let shown =
            EndlessScreen::render("0 failed, 1 passed\r0 failed, 2 passed\r1 failed, 2 passed\n");
        assert_eq!(shown, "1 failed, 2 passed\n");
    }
}
