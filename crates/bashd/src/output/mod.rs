//! From bytes to bounded text: the spool, the one lossy decoding, the one truncation algorithm.

mod ends;
#[cfg(test)]
pub(crate) mod fixed;
pub(crate) mod in_memory;
pub mod joined;
pub mod line_limits;
mod plain_line;
pub(crate) mod rendered;
pub mod spool;
pub(crate) mod terminal;
pub mod text;
mod walk;
pub mod window;

/// Where bytes are read by absolute offset: a spool, or several in a row.
///
/// Offsets are those of the original stream, even if parts of it were dropped meanwhile.
pub trait Source {
    /// Bytes the stream had so far, kept or not.
    fn len(&self) -> u64;

    /// Newlines the stream had so far, kept or not.
    fn lines(&self) -> u64;

    /// Reads what is kept of `range`, in order; what is gone is reported as a gap, never as zero
    /// bytes.
    fn read(&self, range: std::ops::Range<u64>) -> std::io::Result<Vec<Piece>>;

    /// The part of `range` that stands between streams and was written by no command.
    fn between(&self, _range: std::ops::Range<u64>) -> Omitted {
        Omitted::default()
    }

    /// Offset at which the line with this number (from 0) begins, if it is still there.
    fn offset_of_line(&self, line: u64) -> std::io::Result<Option<u64>> {
        scan_for_line(self, line)
    }

    /// Whether there is anything after the last newline.
    fn has_open_end(&self) -> std::io::Result<bool> {
        let length = self.len();
        let last = self.read(length.saturating_sub(1)..length)?.pop();
        Ok(match last {
            Some(Piece::Kept(byte)) => byte != b"\n",
            Some(Piece::Dropped(_)) => true,
            None => false,
        })
    }

    /// Whether the stream had no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Looks for the start of a line from the start of the stream.
fn scan_for_line<S: Source + ?Sized>(source: &S, line: u64) -> std::io::Result<Option<u64>> {
    const STEP: u64 = 1024 * 1024;
    let (mut offset, mut seen) = (0, 0);
    while seen < line && offset < source.len() {
        for piece in source.read(offset..(offset + STEP).min(source.len()))? {
            let Piece::Kept(bytes) = piece else {
                return Ok(None);
            };
            for newline in memchr::memchr_iter(b'\n', &bytes) {
                seen += 1;
                if seen == line {
                    return Ok(Some(offset + newline as u64 + 1));
                }
            }
            offset += bytes.len() as u64;
        }
    }
    Ok((line == 0).then_some(0))
}

/// A requested part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Bytes that are still there.
    Kept(Vec<u8>),
    /// This many bytes were dropped here.
    Dropped(u64),
}

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
pub struct Written {
    /// Bytes of both streams together.
    pub bytes: u64,
    /// Newlines of both streams together.
    pub lines: u64,
    /// Bytes of stderr, if the streams are separate.
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
