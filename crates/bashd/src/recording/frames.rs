//! A run as pictures: what each row of its screen showed, from when until when.
//!
//! A row that stays as it is is told once, however many pictures there are. Pictures are bounded in
//! number and size: a run with more of them is shown in fewer.

use super::{Happening, Pauses, RecordedRun};
use crate::screen::{Cell, Colour, Screen, Size};
use std::io;
use std::time::Duration;

/// Time between two pictures, if there are not too many.
const STEP: u64 = 40;

/// How many times that may be doubled.
const DOUBLINGS: u32 = 24;

/// The fewest columns of a picture of lines.
const FEWEST_COLUMNS: u16 = 40;

/// How many pictures there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilmLimits {
    /// Pictures in all.
    pub pictures: usize,
    /// Bytes of text in all, about.
    pub bytes: usize,
    /// The longest pause.
    pub idle: Option<Duration>,
}

impl FilmLimits {
    /// So many pictures and bytes, with pauses of at most so long.
    pub fn new(pictures: usize, bytes: usize, idle: Option<Duration>) -> Self {
        Self {
            pictures,
            bytes,
            idle,
        }
    }
}

/// What the rows of a screen showed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Film {
    /// Columns and rows that are shown.
    pub columns: u16,
    /// Likewise.
    pub rows: u16,
    /// How long it takes, in milliseconds.
    pub duration_ms: u64,
    /// What rows showed, in the order of their ends.
    pub shots: Vec<RowShot>,
}

/// What one row showed for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowShot {
    /// Which row, from the top.
    pub row: u16,
    /// Since when, in milliseconds.
    pub from_ms: u64,
    /// Until when; `None` to the end.
    pub upto_ms: Option<u64>,
    /// Its text.
    pub spans: Vec<RowSpan>,
}

/// Text that looks the same and fills columns without a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSpan {
    /// The first column.
    pub column: u16,
    /// How many columns it fills.
    pub columns: u16,
    /// The text.
    pub text: String,
    /// How it looks.
    pub look: SpanLook,
}

/// How text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a terminal's attributes are switches"
)]
pub struct SpanLook {
    /// Foreground colour.
    pub foreground: Colour,
    /// Background colour.
    pub background: Colour,
    /// Bold.
    pub is_bold: bool,
    /// Dim.
    pub is_dim: bool,
    /// Italic.
    pub is_italic: bool,
    /// Underlined.
    pub is_underlined: bool,
}

impl SpanLook {
    fn of(cell: &Cell) -> Self {
        let (foreground, background) = if cell.is_inverse {
            (inverted(cell.background, 0), inverted(cell.foreground, 7))
        } else {
            (cell.foreground, cell.background)
        };
        Self {
            foreground,
            background,
            is_bold: cell.is_bold,
            is_dim: cell.is_dim,
            is_italic: cell.is_italic,
            is_underlined: cell.is_underlined,
        }
    }

    fn is_blank(self) -> bool {
        self.background == Colour::Default && !self.is_underlined
    }
}

/// A colour on the other side: the terminal's own has a name there.
fn inverted(colour: Colour, default: u8) -> Colour {
    match colour {
        Colour::Default => Colour::Indexed(default),
        named => named,
    }
}

impl Film {
    /// The whole run.
    pub fn of(run: &RecordedRun, limits: FilmLimits) -> io::Result<Self> {
        for doubling in 0..DOUBLINGS {
            let mut maker = FilmMaker::new(run.size(), STEP << doubling);
            let end = maker.take_all(run, limits)?;
            if !maker.is_too_much(limits) {
                return Ok(maker.finish(run, end));
            }
        }
        Self::last_picture(run)
    }

    /// The last picture alone.
    pub fn last_picture(run: &RecordedRun) -> io::Result<Self> {
        let mut maker = FilmMaker::new(run.size(), u64::MAX);
        maker.take_all(run, FilmLimits::new(usize::MAX, usize::MAX, None))?;
        Ok(maker.finish(run, 0))
    }
}

/// A film in the making.
struct FilmMaker {
    screen: Screen,
    step: u64,
    /// When the last thing happened that no picture shows yet.
    pending: Option<u64>,
    /// What each row shows, and since when.
    now: Vec<(u64, Vec<RowSpan>)>,
    shots: Vec<RowShot>,
    pictures: usize,
    bytes: usize,
    most: Size,
}

impl FilmMaker {
    fn new(size: Size, step: u64) -> Self {
        Self {
            screen: Screen::new(size),
            step,
            pending: None,
            now: Vec::new(),
            shots: Vec::new(),
            pictures: 0,
            bytes: 0,
            most: size,
        }
    }

    fn is_too_much(&self, limits: FilmLimits) -> bool {
        self.pictures > limits.pictures || self.bytes > limits.bytes
    }

    /// Takes every event; returns when the run is over, in milliseconds.
    fn take_all(&mut self, run: &RecordedRun, limits: FilmLimits) -> io::Result<u64> {
        let mut pauses = Pauses::at_most(limits.idle);
        run.events(&mut |event| {
            if self.is_too_much(limits) {
                return Ok(()); // what follows is of no use
            }
            let at = pauses.shown(event.at).as_millis() as u64;
            if let Some(pending) = self.pending
                && pending / self.step != at / self.step
            {
                self.show(pending);
            }
            match event.what {
                Happening::Wrote(text) => self.screen.feed(text.as_bytes()),
                Happening::Resized(size) => self.resize(size),
                Happening::Typed(_) => return Ok(()),
            }
            self.pending = Some(at);
            Ok(())
        })?;
        let end = pauses.shown(run.about.ran_for).as_millis() as u64;
        if self.step == u64::MAX {
            self.pending = Some(0);
        }
        if let Some(pending) = self.pending {
            self.show(pending);
        }
        Ok(end.max(self.pending.unwrap_or(0)))
    }

    fn resize(&mut self, size: Size) {
        self.screen.resize(size);
        self.most = Size::new(
            size.columns().max(self.most.columns()),
            size.rows().max(self.most.rows()),
        );
    }

    /// A picture of now.
    fn show(&mut self, at: u64) {
        self.pictures += 1;
        let rows = self.screen.size().rows();
        for row in 0..rows.max(self.now.len() as u16) {
            let spans = if row < rows {
                spans_of(&self.screen.columns_of(row))
            } else {
                Vec::new()
            };
            if self.now.len() <= usize::from(row) {
                self.now.push((at, Vec::new()));
            }
            let Some((since, shown)) = self.now.get_mut(usize::from(row)) else {
                continue;
            };
            if *shown == spans {
                continue;
            }
            self.bytes += spans.iter().map(|span| span.text.len() + 24).sum::<usize>() + 16;
            let (from_ms, before) = (
                std::mem::replace(since, at),
                std::mem::replace(shown, spans),
            );
            if !before.is_empty() && from_ms < at {
                self.shots.push(RowShot {
                    row,
                    from_ms,
                    upto_ms: Some(at),
                    spans: before,
                });
            }
        }
    }

    fn finish(mut self, run: &RecordedRun, end: u64) -> Film {
        for (row, (from_ms, spans)) in self.now.into_iter().enumerate() {
            if !spans.is_empty() {
                self.shots.push(RowShot {
                    row: row as u16,
                    from_ms,
                    upto_ms: None,
                    spans,
                });
            }
        }
        let (mut columns, mut rows) = (self.most.columns(), self.most.rows());
        if run.about.terminal.is_none() {
            // Nobody saw an empty half of a terminal that there never was.
            let last = |shot: &RowShot| shot.spans.last().map(|span| span.column + span.columns);
            let used = self.shots.iter().filter_map(last).max().unwrap_or(0);
            columns = used.clamp(FEWEST_COLUMNS.min(columns), columns);
            let used = self.shots.iter().map(|shot| shot.row + 1).max();
            rows = used.unwrap_or(1).min(rows);
        }
        Film {
            columns,
            rows,
            duration_ms: end,
            shots: self.shots,
        }
    }
}

/// The text of a row, without the blanks at its end.
fn spans_of(cells: &[(u16, Cell)]) -> Vec<RowSpan> {
    let is_blank = |(_, cell): &(u16, Cell)| cell.text == " " && SpanLook::of(cell).is_blank();
    let used = cells.iter().rposition(|cell| !is_blank(cell));
    let used = used.map_or(0, |at| at + 1);
    let mut spans: Vec<RowSpan> = Vec::new();
    for (number, (column, cell)) in cells.iter().take(used).enumerate() {
        let next = cells.get(number + 1).map_or(*column + 1, |next| next.0);
        let (look, columns) = (SpanLook::of(cell), next - column);
        match spans.last_mut() {
            // A character of two columns is a span of its own: fonts disagree about it.
            Some(last)
                if last.look == look
                    && columns == 1
                    && last.column + last.columns == *column
                    && last.text.chars().count() == usize::from(last.columns) =>
            {
                last.text.push_str(&cell.text);
                last.columns += 1;
            }
            _ => spans.push(RowSpan {
                column: *column,
                columns,
                text: cell.text.clone(),
                look,
            }),
        }
    }
    spans.retain(|span| span.text.trim() != "" || !span.look.is_blank());
    spans
}

/// A colour as a page writes it.
pub(super) fn hex(colour: Colour, default: &'static str) -> String {
    const NAMED: [&str; 16] = [
        "#23272e", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0",
        "#6b7280", "#f08a92", "#b3d69a", "#f0d399", "#85c4f7", "#d9a0ea", "#7fd0da", "#ffffff",
    ];
    let level = |part: u8| if part == 0 { 0 } else { 55 + part * 40 };
    match colour {
        Colour::Default => default.to_owned(),
        Colour::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        Colour::Indexed(index) => match index {
            0..=15 => NAMED
                .get(usize::from(index))
                .map_or(default, |name| name)
                .to_owned(),
            16..=231 => {
                let cube = index - 16;
                let (red, green, blue) = (cube / 36, cube / 6 % 6, cube % 6);
                hex(Colour::Rgb(level(red), level(green), level(blue)), default)
            }
            232..=255 => {
                let grey = 8 + (index - 232) * 10;
                hex(Colour::Rgb(grey, grey, grey), default)
            }
        },
    }
}
