//! A terminal without a window: bytes in, a screen out.
//!
//! [`Screen`] takes what a program wrote to its terminal, in pieces of any size, and knows what a
//! person would see: rows of text, the cursor, the title, what scrolled off, and the alternate
//! screen that full-screen programs draw on. It also knows whether a program *drew* at all (moved
//! the cursor, used the alternate screen): the output of one that did not is just lines, and better
//! read as such. [`keys`] is the other direction: named keys to the bytes that a program expects.
//!
//! Neither knows about pseudoterminals or processes. The emulation itself is the `vt100` crate's;
//! this module adds what that crate does not report: who moved the cursor, line drawing characters,
//! the Kitty keyboard protocol, and the last picture of an alternate screen that was left.

mod characters;
mod drawing;
pub mod keys;
mod observer;
#[cfg(test)]
mod tests;

pub use bashd_keeper::size::Size;
use keys::KeyModes;
use observer::{Observer, ObserverStop};
use std::num::NonZeroU16;

/// Most rows that are remembered after scrolling off.
const SCROLLBACK: usize = 10_000;

/// Longest title that is kept, in characters.
const LONGEST_TITLE: usize = 256;

/// The control characters that choose between the two character sets.
const SHIFT_OUT: u8 = 0x0e;
const SHIFT_IN: u8 = 0x0f;

/// What a program's terminal shows.
pub struct Screen {
    emulator: vt100::Parser<Title>,
    parser: vte::Parser,
    observer: Observer,
    /// The beginning of a character whose end has not come.
    held: Vec<u8>,
    /// The last picture of an alternate screen that was left.
    left: Option<Vec<String>>,
}

/// Where the cursor is, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Cursor {
    /// The row, from the top.
    pub row: u16,
    /// The column, from the left.
    pub column: u16,
    /// Whether it is shown.
    pub is_visible: bool,
}

/// A color as the program named it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// The terminal's own.
    #[default]
    Default,
    /// One of 256.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// One character on the screen and how it looks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a terminal's attributes are switches"
)]
pub struct Cell {
    /// The character with its combining marks; a space if nothing was written.
    pub text: String,
    /// Foreground color.
    pub foreground: Colour,
    /// Background color.
    pub background: Colour,
    /// Bold.
    pub is_bold: bool,
    /// Dim.
    pub is_dim: bool,
    /// Italic.
    pub is_italic: bool,
    /// Underlined.
    pub is_underlined: bool,
    /// Foreground and background are swapped.
    pub is_inverse: bool,
}

#[derive(Default)]
struct Title(String);

impl vt100::Callbacks for Title {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        let title = String::from_utf8_lossy(title);
        let printable = title.chars().filter(|character| !character.is_control());
        self.0 = printable.take(LONGEST_TITLE).collect();
    }
}

impl Screen {
    /// An empty screen.
    pub fn new(size: Size) -> Self {
        let (rows, columns) = cells(size);
        Self {
            emulator: vt100::Parser::new_with_callbacks(
                rows,
                columns,
                SCROLLBACK,
                Title::default(),
            ),
            parser: vte::Parser::new(),
            observer: Observer::default(),
            held: Vec::new(),
            left: None,
        }
    }

    /// Takes what the program wrote.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut joined = std::mem::take(&mut self.held);
        let whole = if joined.is_empty() {
            bytes
        } else {
            joined.extend(bytes);
            &joined
        };
        // vte loses characters after one that is split.
        let (whole, split) = whole.split_at(whole.len() - characters::unfinished(whole));
        self.held = split.to_vec();
        self.feed_whole(whole);
    }

    fn feed_whole(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let count = if self.observer.draws_lines() {
                characters::first(bytes)
            } else {
                self.observer.stop = None;
                // The parser does not stop at these by itself.
                let shift = memchr::memchr2(SHIFT_OUT, SHIFT_IN, bytes);
                let upto = shift.map_or(bytes.len(), |at| at + 1);
                self.parser
                    .advance_until_terminated(&mut self.observer, bytes.split_at(upto).0)
            };
            let (now, later) = bytes.split_at(count.clamp(1, bytes.len()));
            if self.observer.draws_lines() && self.observer.stop.is_none() {
                self.feed_drawing(now);
            } else {
                self.feed_observed(now);
            }
            bytes = later;
        }
    }

    /// Feeds bytes that the observer has seen; the last of them may be why it stopped.
    fn feed_observed(&mut self, bytes: &[u8]) {
        if self.observer.stop == Some(ObserverStop::LeavesAlternate)
            && let Some((last, before)) = bytes.split_last()
        {
            self.emulator.process(before);
            if self.is_alternate() {
                self.left = Some(self.rows());
            }
            self.emulator.process(&[*last]);
        } else {
            self.emulator.process(bytes);
        }
        self.observer.stop = None;
    }

    /// Feeds one character while letters stand for line drawing characters.
    fn feed_drawing(&mut self, character: &[u8]) {
        self.observer.printed = None;
        self.parser.advance(&mut self.observer, character);
        match self.observer.printed.take().and_then(drawing::character) {
            Some(drawn) => self
                .emulator
                .process(drawn.encode_utf8(&mut [0; 4]).as_bytes()),
            None => self.feed_observed(character),
        }
    }

    /// Resizes the screen.
    pub fn resize(&mut self, size: Size) {
        let (rows, columns) = cells(size);
        self.emulator.set_size(rows, columns);
    }

    /// The screen's size.
    pub fn size(&self) -> Size {
        let (rows, columns) = self.emulator.screen().size();
        Size::new(columns.get(), rows.get())
    }

    /// The rows of the screen, without trailing spaces.
    pub fn rows(&self) -> Vec<String> {
        let screen = self.emulator.screen();
        let (_, columns) = screen.size();
        let rows = screen.rows(0, columns.get());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    /// The screen as text: its rows without trailing empty ones.
    pub fn text(&self) -> String {
        without_empty_end(self.rows()).join("\n")
    }

    /// What scrolled off the top, oldest first.
    pub fn scrollback(&mut self) -> Vec<String> {
        let screen = self.emulator.screen_mut();
        let (height, columns) = screen.size();
        let height = usize::from(height.get());
        let before = screen.scrollback();
        let mut lines = Vec::new();
        let mut above = screen.scrollback_len();
        while above > 0 {
            screen.set_scrollback(above);
            let count = above.min(height);
            let rows = screen.rows(0, columns.get()).take(count);
            lines.extend(rows.map(|row| row.trim_end().to_owned()));
            above -= count;
        }
        screen.set_scrollback(before);
        lines
    }

    /// What a person would have seen in the end: what scrolled off, and the screen; if that is
    /// empty because a full-screen program removed its picture, that picture.
    pub fn final_text(&mut self) -> String {
        let mut lines = self.scrollback();
        lines.extend(self.rows());
        let lines = without_empty_end(lines);
        match &self.left {
            Some(picture) if lines.is_empty() => without_empty_end(picture.clone()).join("\n"),
            _ => lines.join("\n"),
        }
    }

    /// One row with its colors; rows above the screen when it is scrolled back.
    pub fn cells(&self, row: u16) -> Vec<Cell> {
        let screen = self.emulator.screen();
        let (_, columns) = screen.size();
        let cells = (0..columns.get()).filter_map(|column| screen.cell(row, column));
        cells
            .filter(|cell| !cell.is_wide_continuation())
            .map(look_of)
            .collect()
    }

    /// Likewise, each with the column that it begins in.
    pub fn columns_of(&self, row: u16) -> Vec<(u16, Cell)> {
        let screen = self.emulator.screen();
        let (_, columns) = screen.size();
        let cells =
            (0..columns.get()).filter_map(|column| Some((column, screen.cell(row, column)?)));
        cells
            .filter(|(_, cell)| !cell.is_wide_continuation())
            .map(|(column, cell)| (column, look_of(cell)))
            .collect()
    }

    /// Scrolls back by this many rows, as far as there are any; 0 is the present.
    pub fn look_back(&mut self, rows: usize) {
        self.emulator.screen_mut().set_scrollback(rows);
    }

    /// How many rows it is scrolled back.
    pub fn looks_back(&self) -> usize {
        self.emulator.screen().scrollback()
    }

    /// Where the cursor is.
    pub fn cursor(&self) -> Cursor {
        let screen = self.emulator.screen();
        let (row, column) = screen.cursor_position();
        Cursor {
            row,
            column,
            is_visible: !screen.hide_cursor(),
        }
    }

    /// The title that the program gave its window.
    pub fn title(&self) -> &str {
        &self.emulator.callbacks().0
    }

    /// Whether the alternate screen is shown.
    pub fn is_alternate(&self) -> bool {
        self.emulator.screen().alternate_screen()
    }

    /// Whether the alternate screen was ever shown.
    pub fn used_alternate(&self) -> bool {
        self.observer.used_alternate
    }

    /// Whether the program ever moved the cursor other than by writing lines.
    pub fn moved_cursor(&self) -> bool {
        self.observer.moved_cursor
    }

    /// Whether the program drew: its output is a picture, not lines.
    pub fn drew(&self) -> bool {
        self.used_alternate() || self.moved_cursor()
    }

    /// How the program wants its keys encoded.
    pub fn key_modes(&self) -> KeyModes {
        let screen = self.emulator.screen();
        KeyModes {
            application_cursor: screen.application_cursor(),
            bracketed_paste: screen.bracketed_paste(),
            kitty: self.observer.kitty(),
        }
    }
}

/// Whether output is a picture: like [`Screen::drew`], without keeping a screen.
#[derive(Default)]
pub(crate) struct Sight {
    parser: vte::Parser,
    observer: Observer,
}

impl Sight {
    /// Takes output; returns whether any of it so far was a picture.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> bool {
        self.parser.advance(&mut self.observer, bytes);
        self.observer.used_alternate || self.observer.moved_cursor
    }
}

fn cells(size: Size) -> (NonZeroU16, NonZeroU16) {
    let cells = |count| NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN);
    (cells(size.rows()), cells(size.columns()))
}

fn without_empty_end(mut lines: Vec<String>) -> Vec<String> {
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn look_of(cell: &vt100::Cell) -> Cell {
    let colour = |colour| match colour {
        vt100::Color::Default => Colour::Default,
        vt100::Color::Idx(index) => Colour::Indexed(index),
        vt100::Color::Rgb(red, green, blue) => Colour::Rgb(red, green, blue),
    };
    let text = cell.contents();
    Cell {
        text: if text.is_empty() { " " } else { text }.to_owned(),
        foreground: colour(cell.fgcolor()),
        background: colour(cell.bgcolor()),
        is_bold: cell.bold(),
        is_dim: cell.dim(),
        is_italic: cell.italic(),
        is_underlined: cell.underline(),
        is_inverse: cell.inverse(),
    }
}
