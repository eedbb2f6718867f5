//! Only the first or last lines of a whole stream: applied to the spool, before any window.
//!
//! A line is what `head` and `tail` count: up to and including a newline, or what is left at the
//! end. First the head is taken, then the tail of that.

use super::{Capture, Omitted, Source, StreamPiece};
pub use bashd_script::rewrite::LineLimits;
use std::io;
use std::ops::Range;

/// Bytes that are read at a time while lines are counted.
const STEP: u64 = 256 * 1024;

/// The lines of a source that limits leave.
pub struct Limited<'a> {
    source: &'a dyn Source,
    range: Range<u64>,
    lines: u64,
    hidden: Hidden,
}

/// What line limits leave out of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hidden {
    /// Before what is shown.
    pub before: Omitted,
    /// After it.
    pub after: Omitted,
    /// Lines after it without a newline: possibly the last one of a stream.
    pub unended: u64,
}

impl Hidden {
    /// Whether nothing was left out.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what was left out of another stream.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let sum = |one: Omitted, other: Omitted| Omitted {
            bytes: one.bytes + other.bytes,
            lines: one.lines + other.lines,
        };
        Self {
            before: sum(self.before, other.before),
            after: sum(self.after, other.after),
            unended: self.unended + other.unended,
        }
    }

    /// Adds what was left out to a capture of what is shown.
    pub fn count_into(&self, capture: &mut Capture) {
        if self.is_nothing() {
            return;
        }
        let (bytes, lines) = (
            self.before.bytes + self.after.bytes,
            self.before.lines + self.after.lines,
        );
        let beside = capture.omitted.unwrap_or_default();
        capture.bytes += bytes;
        capture.lines += lines;
        capture.omitted = Some(Omitted {
            bytes: beside.bytes + bytes,
            lines: beside.lines + lines,
        });
    }
}

impl<'a> Limited<'a> {
    /// Finds where they are. Memory is bounded whatever the stream's length.
    pub fn new(source: &'a dyn Source, limits: LineLimits) -> io::Result<Self> {
        let whole = StreamPosition {
            offset: source.len(),
            newlines: source.lines(),
        };
        let start = StreamPosition::default();
        let end = match limits.head {
            Some(count) => end_of_head(source, whole, count.get())?,
            None => whole,
        };
        let start = match limits.tail {
            Some(count) => start_of_tail(source, end, count.get())?,
            None => start,
        };
        Ok(Self {
            source,
            range: start.offset..end.offset,
            lines: end.newlines - start.newlines,
            hidden: Hidden {
                before: Omitted {
                    bytes: start.offset,
                    lines: start.newlines,
                },
                after: Omitted {
                    bytes: whole.offset - end.offset,
                    lines: whole.newlines - end.newlines,
                },
                unended: u64::from(end.offset < whole.offset && !ends_with_newline(source)?),
            },
        })
    }

    /// What the limits leave out.
    pub fn hidden(&self) -> Hidden {
        self.hidden
    }
}

impl Source for Limited<'_> {
    fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn lines(&self) -> u64 {
        self.lines
    }

    fn offset_of_line(&self, line: u64) -> io::Result<Option<u64>> {
        if line == 0 {
            return Ok(Some(0));
        }
        // The first line here may begin within one there; the lines after it are the same.
        let found = self
            .source
            .offset_of_line(self.hidden.before.lines + line)?;
        let inside = found.filter(|offset| *offset <= self.range.end);
        Ok(inside.and_then(|offset| offset.checked_sub(self.range.start)))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        let begin = self.range.start;
        self.source.read(begin + start..begin + end)
    }
}

/// A place in the stream, and the newlines before it.
#[derive(Debug, Clone, Copy, Default)]
struct StreamPosition {
    offset: u64,
    newlines: u64,
}

/// Where the first `count` lines end; if that was lost, the last whole line before it.
fn end_of_head(
    source: &dyn Source,
    whole: StreamPosition,
    count: u64,
) -> io::Result<StreamPosition> {
    let mut at = StreamPosition::default();
    let mut last_line = StreamPosition::default();
    while at.offset < whole.offset {
        let step = at.offset..(at.offset + STEP).min(whole.offset);
        for piece in source.read(step)? {
            match piece {
                StreamPiece::Kept(bytes) => {
                    let wanted = usize::try_from(count - at.newlines - 1).unwrap_or(usize::MAX);
                    if let Some(newline) = memchr::memchr_iter(b'\n', &bytes).nth(wanted) {
                        return Ok(StreamPosition {
                            offset: at.offset + newline as u64 + 1,
                            newlines: count,
                        });
                    }
                    at.newlines += newlines(&bytes);
                    if let Some(newline) = memchr::memrchr(b'\n', &bytes) {
                        last_line = StreamPosition {
                            offset: at.offset + newline as u64 + 1,
                            newlines: at.newlines,
                        };
                    }
                    at.offset += bytes.len() as u64;
                }
                StreamPiece::Replaced { bytes, .. } => at.offset += bytes,
                StreamPiece::Dropped(bytes) => {
                    at.offset += bytes;
                    let after = count_newlines(source, at.offset..whole.offset)?;
                    at.newlines = whole.newlines.saturating_sub(after).max(at.newlines);
                    if at.newlines >= count {
                        return Ok(last_line);
                    }
                }
            }
        }
    }
    Ok(whole)
}

/// Where the last `count` lines before `end` begin.
fn start_of_tail(
    source: &dyn Source,
    end: StreamPosition,
    count: u64,
) -> io::Result<StreamPosition> {
    let mut at = end;
    let mut found = 0;
    while at.offset > 0 {
        let step = at.offset.saturating_sub(STEP)..at.offset;
        for piece in source.read(step)?.into_iter().rev() {
            match piece {
                StreamPiece::Kept(bytes) => {
                    let begin = at.offset - bytes.len() as u64;
                    for newline in memchr::memrchr_iter(b'\n', &bytes) {
                        let after = begin + newline as u64 + 1;
                        // A newline at the very end belongs to the last line.
                        if after < end.offset {
                            found += 1;
                            if found == count {
                                return Ok(StreamPosition {
                                    offset: after,
                                    newlines: at.newlines,
                                });
                            }
                        }
                        at.newlines = at.newlines.saturating_sub(1);
                    }
                    at.offset = begin;
                }
                StreamPiece::Replaced { bytes, .. } => at.offset -= bytes,
                // It is unknown how many lines were lost: the tail begins by saying so.
                StreamPiece::Dropped(bytes) => {
                    let begin = at.offset - bytes;
                    let gap = gap_before(source, begin)?;
                    return Ok(StreamPosition {
                        offset: gap,
                        newlines: count_newlines(source, 0..gap)?,
                    });
                }
            }
        }
    }
    Ok(StreamPosition::default())
}

fn ends_with_newline(source: &dyn Source) -> io::Result<bool> {
    let end = source.len();
    let last = source.read(end.saturating_sub(1)..end)?;
    Ok(last.last() == Some(&StreamPiece::Kept(vec![b'\n'])))
}

/// Where a gap begins that reaches at least to `end`.
fn gap_before(source: &dyn Source, end: u64) -> io::Result<u64> {
    let mut begin = end;
    while begin > 0 {
        let step = begin.saturating_sub(STEP)..begin;
        match source.read(step)?.pop() {
            Some(StreamPiece::Dropped(bytes)) => begin -= bytes,
            Some(StreamPiece::Kept(_) | StreamPiece::Replaced { .. }) | None => break,
        }
    }
    Ok(begin)
}

/// Newlines in the kept part of a range.
fn count_newlines(source: &dyn Source, range: Range<u64>) -> io::Result<u64> {
    let mut count = 0;
    let mut begin = range.start;
    while begin < range.end {
        let end = (begin + STEP).min(range.end);
        for piece in source.read(begin..end)? {
            if let StreamPiece::Kept(bytes) = piece {
                count += newlines(&bytes);
            }
        }
        begin = end;
    }
    Ok(count)
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests;
