//! From bytes to bounded text: the spool, the one lossy decoding, the one truncation algorithm.

mod decoded;
pub(crate) mod ends;
#[cfg(test)]
pub(crate) mod fixed;
pub(crate) mod in_memory;
pub mod joined;
pub mod line_limits;
mod plain_line;
pub(crate) mod rendered;
pub mod run_output;
pub(crate) mod search;
pub(crate) mod since;
pub(crate) mod slice;
pub(crate) mod terminal;
pub mod terminal_lines;
mod units;
pub(crate) mod veiled;
pub(crate) mod view;
mod walk;
pub mod window;

/// A line without anything that a terminal would act on.
pub(crate) fn plain(line: &[u8]) -> String {
    plain_line::line(line, None).text
}

pub use bashd_keeper::source::{Omitted, Source, StreamPiece};
pub use bashd_keeper::{spool, text};
pub use search::{OutputSearch, SearchHit, SearchHits};
pub use slice::{OutputSlice, SliceQuery, SliceStart};
pub use units::TextUnit;

/// Bounded text of one stream (or several, joined), with exact counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capture {
    /// Valid UTF-8, never longer than its window allows plus the window's own texts.
    pub text: String,
    /// Bytes of the original stream.
    pub bytes: u64,
    /// Newlines of the original stream.
    pub lines: u64,
    /// What the window left out; `None` when the text is everything.
    pub omitted: Option<Omitted>,
    /// Which lines are shown.
    pub extent: Extent,
}

/// Which lines of a stream a text shows. A partly shown line counts as one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extent {
    /// Lines of the stream, including a last one without a newline.
    pub lines: u64,
    /// Lines that are shown from its start; all of them, if the text is everything.
    pub head: u64,
    /// Lines that are shown from its end.
    pub tail: u64,
    /// Bytes of text, without the words around it.
    pub bytes: usize,
    /// Lines that were cut because they are too long.
    pub cut_lines: u64,
    /// Bytes of the stream after these cuts.
    pub cut_bytes: u64,
}

impl Extent {
    /// Adds the counts of another text.
    pub(crate) fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.head += other.head;
        self.tail += other.tail;
        self.bytes += other.bytes;
        self.cut_lines += other.cut_lines;
        self.cut_bytes += other.cut_bytes;
    }
}

/// The text of a run as its profile shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Captured {
    /// Merged from the start, or joined for display.
    One(Capture),
    /// Each stream with its own window.
    Apart {
        /// stdout.
        out: Capture,
        /// stderr.
        err: Capture,
    },
}

/// What a run wrote, kept or not: counts of the streams themselves, before any window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WrittenCounts {
    /// Bytes of both streams together.
    pub bytes: u64,
    /// Newlines of both streams together.
    pub lines: u64,
    /// Bytes of stderr, if the streams are separate.
    pub stderr_bytes: Option<u64>,
}

impl WrittenCounts {
    /// Counts the streams of a run.
    pub fn of(out: &dyn Source, err: Option<&dyn Source>) -> Self {
        Self {
            bytes: out.len() + err.map_or(0, Source::len),
            lines: out.lines() + err.map_or(0, Source::lines),
            stderr_bytes: err.map(Source::len),
        }
    }
}
