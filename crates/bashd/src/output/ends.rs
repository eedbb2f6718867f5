//! The rendered lines at either end of a stream, as many as needed and no more.
//!
//! Lines are read backward from the end (or forward from the start) until they make up enough text.
//! Only the start and the end of a line of more than a few MiB are read, so the work is bounded
//! whatever was written.

use super::plain_line::{self, Cap, LOOKED_AT, PlainLine};
use super::{Source, StreamPiece};
use std::collections::VecDeque;
use std::io;

/// Bytes of the first read at the least and at the most; each further one is twice as long.
const LEAST_READ: u64 = 16 * 1024;
const FIRST_READ: u64 = 64 * 1024;

/// Bytes that are read first for so much text. It is mostly enough: a stream at another place is
/// sent so far from both ends, and what is not here has to be asked for.
pub(crate) fn first_read(enough: usize) -> u64 {
    let enough = enough as u64;
    (enough + enough / 4 + 1024).clamp(LEAST_READ, FIRST_READ)
}

/// Bytes that are read in a row. If they end within a line, its start is looked up instead.
const MOST_READ: u64 = 4 * 1024 * 1024;

/// How often that is done; with more such lines at the end of a stream, less than a window is
/// shown.
const LONG_LINES: usize = 16;

/// Lines at an end of a stream, as text.
#[derive(Debug, Default)]
pub(super) struct StreamEnd {
    /// In the order of the stream, each with its newline if it has one.
    pub(super) lines: VecDeque<ShownLine>,
    /// Bytes of text in all.
    pub(super) text_bytes: usize,
    /// Whether these are all lines of the stream.
    pub(super) complete: bool,
}

/// A line as text, with its newline, and which part of the stream it is.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ShownLine {
    pub(super) text: String,
    /// Bytes of the stream.
    pub(super) raw: u64,
    /// Bytes after the cut of a line that is too long.
    pub(super) cut: u64,
}

impl ShownLine {
    fn new(line: PlainLine, raw: u64, has_newline: bool) -> Self {
        let mut text = line.text;
        if has_newline {
            text.push('\n');
        }
        Self {
            text,
            raw: raw + u64::from(has_newline),
            cut: line.cut,
        }
    }
}

/// The last lines of the first `length` bytes, until they have more than `enough` bytes of text.
pub(super) fn last_lines(
    source: &dyn Source,
    length: u64,
    cap: Cap,
    enough: usize,
) -> io::Result<StreamEnd> {
    let mut walk = Backward {
        end: StreamEnd::default(),
        // Bytes of a line whose start is further back.
        pending: LineBytes::default(),
        has_newline: false,
        newlines: 0,
        cap,
    };
    let mut start = length;
    for _ in 0..LONG_LINES {
        match walk.read_back(source, &mut start, enough)? {
            Stopped::Enough | Stopped::AtGap => return Ok(walk.end),
            Stopped::AtStart => {
                walk.finish();
                walk.end.complete = true;
                return Ok(walk.end);
            }
            Stopped::InLongLine => match walk.finish_long_line(source, start)? {
                Some(0) => {
                    walk.end.complete = true;
                    return Ok(walk.end);
                }
                Some(begins) => start = begins,
                None => return Ok(walk.end),
            },
        }
    }
    Ok(walk.end)
}

/// Why a walk stopped reading.
enum Stopped {
    Enough,
    AtStart,
    AtGap,
    InLongLine,
}

/// The bytes of a line, and how many more of the stream they stand for.
#[derive(Debug, Default)]
struct LineBytes {
    bytes: Vec<u8>,
    /// Negative if what stands for others is longer than they are.
    more: i64,
}

impl LineBytes {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.more == 0
    }

    /// Bytes of the stream.
    fn span(&self) -> u64 {
        (self.bytes.len() as u64).saturating_add_signed(self.more)
    }

    /// Counts what a text stands for.
    fn stand_for(&mut self, bytes: u64, by: &str) {
        self.more += bytes as i64 - by.len() as i64;
    }
}

/// A walk from the end of a stream to its start.
struct Backward {
    end: StreamEnd,
    pending: LineBytes,
    /// Whether the pending line has a newline.
    has_newline: bool,
    /// Newlines seen.
    newlines: u64,
    cap: Cap,
}

impl Backward {
    /// Reads backward from `start`, which moves, until something stops it.
    fn read_back(
        &mut self,
        source: &dyn Source,
        start: &mut u64,
        enough: usize,
    ) -> io::Result<Stopped> {
        let end = *start;
        let mut step = first_read(enough);
        while self.end.text_bytes <= enough {
            if *start == 0 {
                return Ok(Stopped::AtStart);
            }
            if end - *start >= MOST_READ {
                return Ok(Stopped::InLongLine);
            }
            for piece in source
                .read(start.saturating_sub(step)..*start)?
                .into_iter()
                .rev()
            {
                *start -= piece.span();
                match piece {
                    StreamPiece::Kept(bytes) => self.take(&bytes, enough),
                    StreamPiece::Replaced { bytes, by } => {
                        self.prepend(by.as_bytes());
                        self.pending.stand_for(bytes, &by);
                    }
                    StreamPiece::Dropped(_) => {
                        self.finish();
                        return Ok(Stopped::AtGap);
                    }
                }
                if self.end.text_bytes > enough {
                    return Ok(Stopped::Enough);
                }
            }
            step *= 2;
        }
        Ok(Stopped::Enough)
    }

    /// Takes the bytes before those already taken.
    fn take(&mut self, bytes: &[u8], enough: usize) {
        let mut rest = bytes;
        while let Some(newline) = memchr::memrchr(b'\n', rest) {
            let line = rest.get(newline + 1..).unwrap_or_default();
            self.prepend(line);
            if self.has_newline || !self.pending.is_empty() {
                self.end_line();
                if self.end.text_bytes > enough {
                    return;
                }
            }
            self.has_newline = true;
            self.newlines += 1;
            rest = rest.get(..newline).unwrap_or_default();
        }
        self.prepend(rest);
    }

    fn prepend(&mut self, bytes: &[u8]) {
        let pending = &mut self.pending.bytes;
        if pending.is_empty() {
            *pending = bytes.to_vec();
        } else {
            pending.splice(0..0, bytes.iter().copied());
        }
    }

    /// The pending bytes are a whole line.
    fn end_line(&mut self) {
        let raw = std::mem::take(&mut self.pending);
        let line = plain_line::line(&raw.bytes, self.cap);
        self.push(ShownLine::new(line, raw.span(), self.has_newline));
    }

    fn push(&mut self, shown: ShownLine) {
        self.end.text_bytes += shown.text.len();
        self.end.lines.push_front(shown);
    }

    /// There is nothing before the pending bytes.
    fn finish(&mut self) {
        if self.has_newline || !self.pending.is_empty() {
            self.end_line();
        }
        self.has_newline = false;
    }

    /// The pending line begins somewhere before `start`, too far to read; returns where.
    fn finish_long_line(&mut self, source: &dyn Source, start: u64) -> io::Result<Option<u64>> {
        let tail = std::mem::take(&mut self.pending);
        let end = start + tail.span();
        let number = source.lines().saturating_sub(self.newlines);
        let begins = source.offset_of_line(number)?.filter(|at| *at <= start);
        let (Some(begins), Some(_)) = (begins, self.cap) else {
            // Only its end can be shown.
            self.pending = tail;
            self.finish();
            return Ok(None);
        };
        let tail = tail.bytes;
        let last_frame = memchr::memrchr(b'\r', &tail).map(|_| plain_line::line(&tail, self.cap));
        let line = match last_frame.filter(|line| !line.text.is_empty()) {
            Some(line) => line,
            None => first_of_long_line(source, begins, end, self.cap)?,
        };
        self.push(ShownLine::new(line, end - begins, self.has_newline));
        self.has_newline = false;
        Ok(Some(begins))
    }
}

/// The first characters of a line that is not read in full.
fn first_of_long_line(
    source: &dyn Source,
    begins: u64,
    end: u64,
    cap: Cap,
) -> io::Result<PlainLine> {
    let upto = end.min(begins + LOOKED_AT as u64);
    let mut bytes = Vec::new();
    for piece in source.read(begins..upto)? {
        match piece.shown() {
            Some(more) => bytes.extend(more),
            None => break,
        }
    }
    let frame = memchr::memrchr(b'\r', &bytes).map_or(0, |at| at + 1);
    let start = bytes.get(frame..).unwrap_or_default();
    Ok(plain_line::frame_of(
        start,
        end - begins - frame as u64,
        cap,
    ))
}

/// The first lines of the first `length` bytes, until they have more than `enough` bytes of text.
pub(super) fn first_lines(
    source: &dyn Source,
    length: u64,
    cap: Cap,
    enough: usize,
) -> io::Result<StreamEnd> {
    let mut end = StreamEnd::default();
    let mut pending = LineBytes::default();
    let (mut offset, mut step) = (0, first_read(enough));
    while offset < length.min(MOST_READ) && end.text_bytes <= enough {
        let upto = length.min(offset + step);
        let mut meets_gap = false;
        for piece in source.read(offset..upto)? {
            offset += piece.span();
            let bytes = match piece {
                StreamPiece::Kept(bytes) => bytes,
                StreamPiece::Replaced { bytes, by } => {
                    pending.bytes.extend_from_slice(by.as_bytes());
                    pending.stand_for(bytes, &by);
                    continue;
                }
                StreamPiece::Dropped(bytes) => {
                    offset -= bytes;
                    meets_gap = true;
                    break;
                }
            };
            let mut taken = 0;
            for newline in memchr::memchr_iter(b'\n', &bytes) {
                let rest = bytes.get(taken..newline).unwrap_or_default();
                pending.bytes.extend_from_slice(rest);
                let raw = std::mem::take(&mut pending);
                let shown = ShownLine::new(plain_line::line(&raw.bytes, cap), raw.span(), true);
                end.text_bytes += shown.text.len();
                end.lines.push_back(shown);
                taken = newline + 1;
                if end.text_bytes > enough {
                    return Ok(end);
                }
            }
            pending
                .bytes
                .extend_from_slice(bytes.get(taken..).unwrap_or_default());
        }
        if meets_gap {
            break;
        }
        step *= 2;
    }
    if !pending.is_empty() && end.text_bytes <= enough {
        let raw = &pending.bytes;
        let length_known = raw.len() as u64 + u64::from(offset < length);
        let line = if offset < length {
            plain_line::frame_of(raw, length_known, cap)
        } else {
            plain_line::line(raw, cap)
        };
        let shown = ShownLine::new(line, pending.span(), false);
        end.text_bytes += shown.text.len();
        end.lines.push_back(shown);
    }
    end.complete = offset == length;
    Ok(end)
}
