//! Runs as lines for people: events in, lines out.
//!
//! Everything here is pure: no clock, no terminal. The caller says how long a run has been running
//! and how wide the display is, and gets [`Line`]s of [`Span`]s, each with a [`Tone`] that may
//! determine its color; the words say the same without it. What a command wrote is shown as text:
//! none of its escape sequences reach the lines, and its colors are an [`Ink`].
//!
//! [`RunView`] is one run as a block (call, output, outcome), [`Status`] one run as a single line.

mod call;
mod colours_only;
mod ink;
mod live;
mod main_screen;
mod outcome;
mod partial;
mod run_view;
mod store;
#[cfg(test)]
mod tests;
mod visible;

pub(crate) use call::CallText;
pub(crate) use colours_only::ColoursOnly;
pub(crate) use ink::{Ink, InkStyle};
pub(crate) use live::StatusLine;
pub(crate) use outcome::{RunState, RunSummary};
pub(crate) use run_view::{OutputExpansion, Preview, RunView, ViewContext};
pub(crate) use visible::{Clamped, clamp, plain, width};

/// What a piece of text is, which determines its color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// The command's own text.
    Plain,
    /// The command's own text, as it colored it.
    Own(Ink),
    /// The command that runs.
    Command,
    /// What somebody searched for.
    Found,
    /// The match of these that was gone to.
    FoundHere,
    /// What matters less.
    Faint,
    /// It went well.
    Good,
    /// It went wrong.
    Bad,
    /// It wants attention.
    Warning,
    /// It is in progress.
    Active,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StyledSpan {
    /// What it is.
    pub(crate) tone: Tone,
    /// What it says: printable characters only.
    pub(crate) text: String,
}

/// One line of the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StyledLine(pub Vec<StyledSpan>);

impl StyledLine {
    /// A line in one tone.
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self::default().and(tone, text)
    }

    /// The line with one more piece.
    #[must_use]
    pub(crate) fn and(mut self, tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        self.0.push(StyledSpan { tone, text });
        self
    }

    /// The line as text.
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }

    /// The line cut to this many columns.
    #[must_use]
    pub(crate) fn cut(self, columns: usize) -> Self {
        self.clamped(columns).0
    }

    /// The line cut to this many columns, with `…` in place of what is missing.
    #[must_use]
    pub(crate) fn shortened(self, columns: usize) -> Self {
        if self.0.iter().map(|span| width(&span.text)).sum::<usize>() <= columns {
            return self;
        }
        self.cut(columns.saturating_sub(1)).and(Tone::Faint, "…")
    }

    /// The line cut to this many columns, and how many are left out.
    pub(crate) fn clamped(self, columns: usize) -> (Self, usize) {
        let (mut left, mut beyond) = (columns, 0);
        let mut spans = Vec::with_capacity(self.0.len());
        for span in self.0 {
            if beyond > 0 {
                beyond += width(&span.text);
                continue;
            }
            let Clamped { text, omitted } = clamp(&span.text, left);
            left -= width(&text);
            beyond += omitted;
            spans.push(StyledSpan { text, ..span });
        }
        (Self(spans), beyond)
    }

    /// The line as rows of this many columns; an empty line is one row.
    pub(crate) fn wrapped(&self, columns: usize) -> Vec<Self> {
        let columns = columns.max(2);
        let (mut rows, mut used) = (vec![Self::default()], 0);
        for span in &self.0 {
            for (part, is_new_row) in visible::pieces(&span.text, columns, &mut used) {
                if is_new_row {
                    rows.push(Self::default());
                }
                if let Some(row) = rows.last_mut() {
                    let (tone, text) = (span.tone, part.to_owned());
                    row.0.push(StyledSpan { tone, text });
                }
            }
        }
        rows
    }

    /// The line as rows that break between words, and inside of those that are longer than a row;
    /// rows after the first are indented.
    pub(crate) fn in_words(&self, columns: usize, indent: usize) -> Vec<Self> {
        let text = self.text();
        let mut rows = Vec::new();
        let mut spans = self.0.iter().flat_map(|span| {
            let characters = span.text.chars();
            characters.map(|character| (span.tone, character))
        });
        let mut start = 0;
        for end in breaks(&text, columns, indent) {
            let mut row = Self::default();
            if start > 0 {
                row = row.and(Tone::Plain, " ".repeat(indent));
            }
            let count = text.get(start..end).unwrap_or_default().chars().count();
            for (tone, character) in spans.by_ref().take(count) {
                match row.0.last_mut() {
                    Some(last) if last.tone == tone => last.text.push(character),
                    _ => row = row.and(tone, character),
                }
            }
            // Blanks at a break have no room.
            if let Some(last) = row.0.last_mut().filter(|_| end < text.len()) {
                last.text.truncate(last.text.trim_end().len());
            }
            rows.push(row);
            start = end;
        }
        rows
    }
}

/// Where the rows of a text end, as [`StyledLine::in_words`] breaks it.
fn breaks(text: &str, columns: usize, indent: usize) -> Vec<usize> {
    let (mut ends, mut start, mut word, mut used) = (Vec::new(), 0, 0, 0);
    for (at, character) in text.char_indices() {
        let room = |start: usize| {
            let indented = if start > 0 { indent } else { 0 };
            columns.saturating_sub(indented).max(2)
        };
        let wide = width(character.encode_utf8(&mut [0; 4]));
        // What moves to the next row may be too wide for that, too.
        while character != ' ' && start < at && used + wide > room(start) {
            start = if word > start { word } else { at };
            used = width(text.get(start..at).unwrap_or_default());
            ends.push(start);
        }
        used += wide;
        if character == ' ' {
            word = at + 1;
        }
    }
    ends.push(text.len());
    ends
}
