//! The stack of readers between stored output and everyone who is shown some of it.
//!
//! From the bottom: the stored bytes; what a terminal's bytes say as text, where the run had a
//! terminal; all of that without secrets; the lines that the call wants. Replies, the minimizer,
//! excerpts, progress and the output of jobs are read through [`View`] and not from a spool, so
//! that what must not be shown has one place to be taken out.

use super::line_limits::{Hidden, Limited, LineLimits};
use super::terminal::TerminalText;
use super::veiled::{Veil, Veiled};
use super::{Captured, Omitted, Source, StreamPiece, text};
use crate::profile::rules::CarriageReturn;
use crate::screen::Size;
use std::io;
use std::ops::Range;

/// One stream as it may be shown.
pub(crate) struct View<'a> {
    bottom: Bottom<'a>,
    veil: Veil,
    /// Where it ends for now, if more of it may come.
    end: Option<u64>,
}

/// What a view reads.
enum Bottom<'a> {
    Stored(&'a dyn Source),
    Terminal(Box<TerminalText>),
}

impl<'a> View<'a> {
    /// A stream as it was stored, which has ended.
    pub(crate) fn of(source: &'a dyn Source, veil: &Veil) -> Self {
        Self {
            bottom: Bottom::Stored(source),
            veil: veil.clone(),
            end: None,
        }
    }

    /// A stream that can be read up to this offset, and that may go on: what may turn out to be the
    /// beginning of a secret is not part of it yet.
    pub(crate) fn of_growing(source: &'a dyn Source, end: u64, veil: &Veil) -> io::Result<Self> {
        Ok(Self {
            end: Some(veil.settled(source, end)?),
            ..Self::of(source, veil)
        })
    }

    /// A stream that is already as it may be shown.
    pub(crate) fn of_shown(source: &'a dyn Source) -> Self {
        Self::of(source, &Veil::default())
    }

    /// A stream that was written to a terminal of this size, as text.
    pub(crate) fn of_terminal(
        source: &'a dyn Source,
        size: Size,
        carriage_return: CarriageReturn,
        veil: &Veil,
    ) -> io::Result<Self> {
        let text = TerminalText::of(source, size, carriage_return)?;
        Ok(Self {
            bottom: Bottom::Terminal(Box::new(text)),
            veil: veil.clone(),
            end: None,
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
            match piece.shown() {
                Some(more) => bytes.extend_from_slice(&more),
                None => return Ok(None),
            }
        }
        Ok(Some(text::decode(&bytes)))
    }

    /// The stream to read from.
    pub(crate) fn source(&self) -> &dyn Source {
        if self.veil.secrets().is_some() || self.end.is_some() {
            self
        } else {
            self.stored()
        }
    }

    fn stored(&self) -> &dyn Source {
        match &self.bottom {
            Bottom::Stored(source) => *source,
            Bottom::Terminal(text) => &**text,
        }
    }
}

impl Source for View<'_> {
    fn len(&self) -> u64 {
        self.end.unwrap_or_else(|| self.stored().len())
    }

    fn lines(&self) -> u64 {
        self.stored().lines()
    }

    fn offset_of_line(&self, line: u64) -> io::Result<Option<u64>> {
        self.stored().offset_of_line(line)
    }

    fn between(&self, range: Range<u64>) -> Omitted {
        self.stored().between(range)
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        let range = range.start..range.end.min(self.len());
        match self.veil.secrets() {
            Some(secrets) => Veiled {
                source: self.stored(),
                secrets,
            }
            .read(range),
            None => self.stored().read(range),
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
