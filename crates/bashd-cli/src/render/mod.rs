//! Runs as lines for people: events in, lines out.
//!
//! Everything here is pure: no clock, no terminal. The caller says how long a run has been running
//! and how wide the display is, and gets [`Line`]s of [`Span`]s, each with a [`Tone`] that may
//! determine its color; the words say the same without it. What a command wrote is shown as text
//! only: none of its escape sequences reach the lines.
//!
//! [`RunView`] is one run as a block (call, output, outcome), [`Status`] one run as a single line.

mod call;
mod live;
mod outcome;
mod partial;
mod run_view;
mod store;
#[cfg(test)]
mod tests;
mod visible;

pub(crate) use call::CallText;
pub(crate) use live::StatusLine;
pub(crate) use outcome::{RunState, RunSummary};
pub(crate) use run_view::{OutputExpansion, Preview, RunView, ViewContext};
pub(crate) use visible::{Clamped, clamp, plain, width};

/// What a piece of text is, which determines its color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Tone {
    /// The command's own text.
    Plain,
    /// The command that runs.
    Command,
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
        let mut left = columns;
        let mut spans = Vec::with_capacity(self.0.len());
        for span in self.0 {
            let Clamped { text, omitted } = clamp(&span.text, left);
            left -= width(&text);
            spans.push(StyledSpan { text, ..span });
            if omitted > 0 {
                break;
            }
        }
        Self(spans)
    }
}
