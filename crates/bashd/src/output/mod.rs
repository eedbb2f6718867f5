//! From bytes to bounded text: the spool, the one lossy decoding, the one truncation algorithm.

#[cfg(test)]
pub(crate) mod fixed;
pub mod joined;
pub mod line_limits;
pub mod spool;
pub mod text;
mod walk;
pub mod window;

/// Where bytes are read by absolute offset: a spool, or several one after the other.
///
/// Offsets are those of the original stream, whatever was dropped from it meanwhile.
pub trait Source {
    /// Bytes the stream had so far, kept or not.
    fn len(&self) -> u64;

    /// Newlines the stream had so far, kept or not.
    fn lines(&self) -> u64;

    /// Reads what is kept of `range`, in order; what is gone is told as a gap, never as void bytes.
    fn read(&self, range: std::ops::Range<u64>) -> std::io::Result<Vec<Piece>>;

    /// Whether the stream had no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A part of a stream that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Bytes that are still there.
    Kept(Vec<u8>),
    /// So many bytes were dropped here.
    Dropped(u64),
}

/// Bounded text of one stream (or of several, joined), with exact counts.
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
}

/// What a window left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Bytes of the original stream that are not in the text.
    pub bytes: u64,
    /// Newlines of the original stream that are not in the text.
    pub lines: u64,
}

/// The text of a run as its profile shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Captured {
    /// Merged from the start, or joined for showing.
    One(Capture),
    /// Each stream with a window of its own.
    Apart {
        /// stdout.
        out: Capture,
        /// stderr.
        err: Capture,
    },
}

/// What a run wrote, kept or not: counts of the streams themselves, before any window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes of both streams together.
    pub bytes: u64,
    /// Newlines of both streams together.
    pub lines: u64,
    /// Bytes of stderr, where the streams are apart.
    pub stderr_bytes: Option<u64>,
}

impl Written {
    /// Counts the streams of a run.
    pub fn of(out: &dyn Source, err: Option<&dyn Source>) -> Self {
        Self {
            bytes: out.len() + err.map_or(0, Source::len),
            lines: out.lines() + err.map_or(0, Source::lines),
            stderr_bytes: err.map(Source::len),
        }
    }
}
