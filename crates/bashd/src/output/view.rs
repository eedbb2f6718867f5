//! The stack of readers between stored output and everyone who is shown some of it.
//!
//! From the bottom: the stored bytes; what a terminal's bytes say as text, where the run had a
//! terminal; the lines that the call wants. Replies, the minimizer, excerpts, progress and the
//! output of jobs are read through [`View`] and not from a spool, so that what must not be shown
//! has one place to be taken out.

use super::line_limits::{Hidden, Limited, LineLimits};
use super::terminal::TerminalText;
use super::{Captured, Source, StreamPiece, text};
use crate::profile::rules::CarriageReturn;
use crate::screen::Size;
use std::io;

/// One stream as it may be shown.
pub(crate) struct View<'a> {
    bottom: Bottom<'a>,
}

/// What a view reads.
enum Bottom<'a> {
    Stored(&'a dyn Source),
    Terminal(Box<TerminalText>),
}

impl<'a> View<'a> {
    /// A stream as it was stored.
    pub(crate) fn of(source: &'a dyn Source) -> Self {
        Self {
            bottom: Bottom::Stored(source),
        }
    }

    /// A stream that was written to a terminal of this size, as text.
    pub(crate) fn of_terminal(
        source: &'a dyn Source,
        size: Size,
        carriage_return: CarriageReturn,
    ) -> io::Result<Self> {
        let text = TerminalText::of(source, size, carriage_return)?;
        Ok(Self {
            bottom: Bottom::Terminal(Box::new(text)),
        })
    }

    /// The lines of it that a call wants.
    pub(crate) fn limited(&self, lines: LineLimits) -> io::Result<Limited<'_>> {
        Limited::new(self.source(), lines)
    }

    /// All of it as text; nothing if some of it is gone.
    pub(crate) fn whole_text(&self) -> io::Result<Option<String>> {
        let source = self.source();
        let mut bytes = Vec::with_capacity(source.len() as usize);
        for piece in source.read(0..source.len())? {
            match piece {
                StreamPiece::Kept(more) => bytes.extend_from_slice(&more),
                StreamPiece::Dropped(_) => return Ok(None),
            }
        }
        Ok(Some(text::decode(&bytes)))
    }

    /// The stream to read from.
    pub(crate) fn source(&self) -> &dyn Source {
        match &self.bottom {
            Bottom::Stored(source) => *source,
            Bottom::Terminal(text) => &**text,
        }
    }
}

/// Counts what line limits left out as output that is not shown.
pub(crate) fn count_hidden(captured: &mut Captured, out: Hidden, err: Hidden) {
    match captured {
        Captured::One(both) => out.and(err).count_into(both),
        Captured::Apart {
            out: shown_out,
            err: shown_err,
        } => {
            out.count_into(shown_out);
            err.count_into(shown_err);
        }
    }
}
