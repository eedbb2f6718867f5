//! What is left on an endless screen after everything that was written to it: progress bars and
//! redrawn lists.
//!
//! Only what changes the visible text is interpreted: cursor movement and erasing. A line that
//! tells of trouble, or has a name that is always kept, stays even if it was overwritten.

use super::escapes::{Escape, Links, escape_at, link_in, parameters};
use super::plain::PlainForm;
use super::rescued::{RescuedFrame, RescuedFrames};
use std::borrow::Cow;

/// The widest line that the cursor can move across: nobody draws beyond it, and a number could ask
/// for any amount.
const WIDEST: usize = 1000;

/// The narrowest common terminal: a line of this many columns may have been wrapped.
const NARROWEST: usize = 80;

/// An endless screen.
#[derive(Debug, Default)]
pub(super) struct EndlessScreen {
    rows: Vec<ScreenRow>,
    row: usize,
    column: usize,
    /// The row that an absolute position counts from.
    top: usize,
    /// Lines of the raw text so far.
    raw_line: u32,
    rescued: RescuedFrames,
    links: Links,
    overwrites: bool,
}

#[derive(Debug, Default, Clone)]
struct ScreenRow {
    cells: Vec<char>,
    /// The longest earlier frame since the row was erased, if it is longer than what came after: a
    /// terminal still shows its end, so both stand, each on a line of its own.
    under: Vec<char>,
    /// How many frames had been rescued when it was drawn over: it stands behind them.
    under_since: usize,
    /// Addresses of its links.
    addresses: String,
    /// Whether something was written over it: blanks at its end are then an eraser's.
    is_redrawn: bool,
    /// The line of the raw text that wrote to it last.
    raw_line: u32,
}

impl EndlessScreen {
    /// What is visible after a text was written; `None` if too many frames tell of trouble.
    pub(super) fn render(text: &str) -> Option<PlainForm<'_>> {
        let mut terminal = Self::default();
        terminal.rows.push(ScreenRow::default());
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
        (!terminal.rescued.are_too_many()).then(|| terminal.finish(text.ends_with('\n')))
    }

    /// Writes text without controls over what is there.
    fn put(&mut self, text: &str) {
        let column = self.column;
        let Some(row) = self.rows.get(self.row).filter(|_| !text.is_empty()) else {
            return;
        };
        if column == 0 && !row.cells.is_empty() {
            self.rescue(self.row);
            let rescued = self.rescued.count();
            if let Some(row) = self.rows.get_mut(self.row) {
                row.begin_frame(rescued);
            }
        }
        let raw_line = self.raw_line;
        if let Some(row) = self.rows.get_mut(self.row) {
            row.raw_line = raw_line;
            row.is_redrawn |= row.cells.len() != column;
            self.overwrites |= row.cells.len() > column;
            let row = &mut row.cells;
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
        self.raw_line += 1;
        self.column = 0;
        if self.row == self.rows.len() {
            self.rows.push(ScreenRow {
                raw_line: self.raw_line,
                ..ScreenRow::default()
            });
        }
    }

    /// Executes an escape; returns its length.
    fn escape(&mut self, bytes: &[u8], at: usize) -> usize {
        let escape = escape_at(bytes, at);
        let Escape::Sequence(last, length) = escape else {
            if escape == Escape::ReverseLine {
                self.row = self.row.saturating_sub(1).max(self.top);
            }
            let written = bytes.get(at..at + escape.length()).unwrap_or_default();
            if let Some(address) = std::str::from_utf8(written).ok().and_then(link_in) {
                self.turn_link(address);
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

    /// A link begins or ends. The address of one that ends stands at the end of its row, where it
    /// is not in the way of what is drawn.
    fn turn_link(&mut self, address: &str) {
        let Some(row) = self.rows.get_mut(self.row) else {
            return;
        };
        let text: String = row.cells.iter().collect();
        if let Some(shown) = self.links.turn(address, &text) {
            row.addresses.push_str(&shown);
        }
        // What is written there is no part of the words.
        self.links.reopen_at(text.len());
    }

    /// Moves up, unless a line on the way is so long that a terminal would have wrapped it: how
    /// many rows it took is unknown, and what is above must not be overwritten by mistake. Then
    /// drawing continues below.
    fn up(&mut self, count: usize) {
        let target = self.row.saturating_sub(count).max(self.top.min(self.row));
        let mut on_the_way = self.rows.iter().skip(target).take(count + 1);
        if on_the_way.any(|row| row.cells.len() >= NARROWEST) {
            self.row = self.rows.len() - 1;
            if self.rows.last().is_some_and(|row| !row.cells.is_empty()) {
                self.row += 1;
                self.rows.push(ScreenRow {
                    raw_line: self.raw_line,
                    ..ScreenRow::default()
                });
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
                row.cut(column);
            }
            self.rows.truncate(self.row + 1);
        } else {
            self.rows.truncate(from + 1);
            self.rows.iter_mut().skip(from).for_each(|row| row.cut(0));
            self.row = from;
        }
    }

    fn erase_in_line(&mut self, which: usize) {
        let column = self.column;
        let is_at_its_end = self
            .rows
            .get(self.row)
            .is_none_or(|row| row.cells.len() <= column);
        if which == 0 && is_at_its_end {
            // Nothing is there: tools that colour their lines do this after each colour.
            if let Some(row) = self.rows.get_mut(self.row) {
                row.under.clear();
            }
            return;
        }
        self.rescue(self.row);
        if let Some(row) = self.rows.get_mut(self.row) {
            self.overwrites = true;
            match which {
                0 => row.cut(column),
                1 => {
                    row.is_redrawn = true;
                    let cells = row.cells.iter_mut().take(column + 1);
                    cells.for_each(|cell| *cell = ' ');
                }
                _ => row.cut(0),
            }
        }
    }

    /// Keeps a line that is about to be overwritten, if it tells of trouble, or has a name that is
    /// always kept, and was not kept before.
    fn rescue(&mut self, at: usize) {
        let Some(row) = self.rows.get(at).filter(|row| !row.cells.is_empty()) else {
            return;
        };
        self.overwrites = true;
        self.rescued.take(at, row.raw_line, row.text());
    }

    fn finish(mut self, ends_with_line_end: bool) -> PlainForm<'static> {
        // What follows the last line end is not a line if nothing was written there.
        if ends_with_line_end
            && self.rows.len() > 1
            && self.rows.last().is_some_and(|row| row.cells.is_empty())
        {
            self.rows.pop();
        }
        let frames = |row: &ScreenRow| row.frame_under().into_iter().chain([row.text()]);
        let standing = || self.rows.iter().flat_map(frames).collect();
        // Those of a row stand before it, in the order of their time.
        let rescued = self.rescued.beside(standing);
        let mut rescued = rescued.into_iter().peekable();
        let (mut lines, mut raw_lines) = (Vec::new(), Vec::new());
        let mut push = |line: String, raw_line: u32| {
            lines.push(line);
            raw_lines.push(raw_line);
        };
        for (at, row) in self.rows.iter().enumerate() {
            let is_before = |(order, frame): &(usize, &RescuedFrame), most: usize| {
                frame.row < at || frame.row == at && *order < most
            };
            while let Some((_, frame)) = rescued.next_if(|one| is_before(one, row.under_since)) {
                push(frame.line.clone(), frame.raw_line);
            }
            if let Some(under) = row.frame_under() {
                push(under, row.raw_line);
            }
            while let Some((_, frame)) = rescued.next_if(|one| is_before(one, usize::MAX)) {
                push(frame.line.clone(), frame.raw_line);
            }
            push(row.text(), row.raw_line);
        }
        for (_, frame) in rescued {
            push(frame.line.clone(), frame.raw_line);
        }
        let mut text = lines.join("\n");
        if ends_with_line_end {
            text.push('\n');
        }
        PlainForm {
            text: Cow::Owned(text),
            raw_lines: Some(raw_lines),
            has_frames: self.overwrites,
            has_colours: false,
            has_links: self.links.are_shown(),
        }
    }
}

impl ScreenRow {
    /// What is there will be written over from its beginning.
    fn begin_frame(&mut self, rescued: usize) {
        let frame = std::mem::take(&mut self.cells);
        self.addresses.clear();
        self.is_redrawn = true;
        if frame.len() >= self.under.len() {
            self.under = frame;
            self.under_since = rescued;
        }
    }

    /// An earlier frame of which a terminal still shows the end.
    fn frame_under(&self) -> Option<String> {
        let under: String = self.under.iter().collect();
        let under = under.trim_end_matches(' ');
        (under.chars().count() > self.cells.len()).then(|| under.to_owned())
    }

    /// Forgets what is from this column on.
    fn cut(&mut self, column: usize) {
        self.under.clear();
        self.is_redrawn |= self.cells.len() > column;
        self.cells.truncate(column);
        if column == 0 {
            self.addresses.clear();
        }
    }

    fn text(&self) -> String {
        let mut text: String = self.cells.iter().collect();
        if self.is_redrawn {
            text.truncate(text.trim_end_matches(' ').len());
        }
        text.push_str(&self.addresses);
        text
    }
}

/// Whether a byte is one that draws nothing. Bytes of longer characters are none.
fn is_control(byte: u8) -> bool {
    matches!(byte, 0x1b | b'\n' | b'\r' | 0x08 | 0x07 | 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(raw: &str) -> String {
        EndlessScreen::render(raw).unwrap().text.into_owned()
    }

    #[test]
    fn the_last_frame_is_what_stays() {
        for (raw, shown) in [
            ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
            ("long line\rshort\x1b[K\n", "short\n"),
            ("abc\rx\n", "abc\nx\n"),
            ("      a test\rPASS\n", "      a test\nPASS\n"),
            ("12 of 12\r 9 of 9  \n", " 9 of 9\n"),
            ("one\ntwo\n\x1b[2A\x1b[2Kuno\n\x1b[2Kdos\n", "uno\ndos\n"),
            ("a\nb\nc\n\x1b[3A\x1b[Jx\n", "x\n"),
            ("typo\x08\x08\x08\x08word\n", "word\n"),
            ("\x1b[5Cx\n", "     x\n"),
        ] {
            assert_eq!(render(raw), shown, "{raw:?}");
        }
    }

    #[test]
    fn what_stands_above_wrapped_lines_is_safe() {
        let raw = format!("result one\nresult two\n{}\x1b[2A\rnew\n", "x".repeat(120));
        let shown = render(&raw);
        assert!(
            shown.contains("result one\nresult two\n") && shown.contains("new"),
            "{shown}"
        );
    }

    #[test]
    fn trouble_outlives_its_frame() {
        let shown = render("error: no network\rretrying 1\rretrying 2\n");
        assert!(shown.contains("error: no network"), "{shown}");
        assert!(shown.contains("retrying 2"), "{shown}");
    }

    #[test]
    fn every_frame_with_trouble_stays() {
        let raw = "0 failed\rerror: disk 1\rerror: disk 2\rerror: disk 2\rall good\n";
        assert_eq!(render(raw), "error: disk 1\nerror: disk 2\nall good\n");
        assert_eq!(
            render("ERROR: disk on fire\rall good\n"),
            "ERROR: disk on fire\nall good\n"
        );
    }

    /// Names that are always kept are so in frames, each in the order of its time.
    #[test]
    fn names_outlive_their_frames_in_order() {
        let raw = "advisory CVE-2025-12345 applies\r0 of 48,112 rows copied\r12 of 48,112 rows copied\rskipped tenant-18: locked\rskipped tenant-19: locked\rsee https://pub.example/b/8812 for the plan\rall done\n";
        assert_eq!(
            render(raw),
            "advisory CVE-2025-12345 applies\n0 of 48,112 rows copied\nskipped tenant-18: locked\nskipped tenant-19: locked\nsee https://pub.example/b/8812 for the plan\nall done\n"
        );
        let raw = "uploaded everything to https://pub.example/b/8812\rdeprecated: --all\r3 rows rejected\rdone\n";
        assert_eq!(
            render(raw),
            "uploaded everything to https://pub.example/b/8812\ndeprecated: --all\n3 rows rejected\ndone\n"
        );
    }

    #[test]
    fn a_bar_with_an_address_is_shown_once() {
        let frames: Vec<String> = (0..100)
            .map(|percent| format!("https://a.example/x.tar {percent}% [==>]\r"))
            .collect();
        let shown = render(&format!("{}\n", frames.concat()));
        assert_eq!(shown, "https://a.example/x.tar 99% [==>]\n");
    }

    #[test]
    fn blanks_at_an_end_stay_unless_they_erase() {
        assert_eq!(
            render("x\ryz\nreceived: a \nlonger\rab    \n"),
            "yz\nreceived: a \nab\n"
        );
    }

    #[test]
    fn every_line_knows_its_raw_line() {
        let plain = EndlessScreen::render("a\n1%\r2%\nerror x\rb\nc\n").unwrap();
        assert_eq!(plain.text, "a\n2%\nerror x\nb\nc\n");
        assert_eq!(plain.raw_lines, Some(vec![0, 1, 2, 2, 3]));
    }

    #[test]
    fn too_many_frames_with_trouble_are_not_left_out_in_silence() {
        let many = (0..3000)
            .map(|number| format!("error {number}\r"))
            .collect::<Vec<_>>()
            .concat();
        assert!(EndlessScreen::render(&many).is_none());
    }
}
