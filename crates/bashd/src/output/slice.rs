//! A slice of a stream as bytes, for viewers that draw it themselves: from an offset on, or up to
//! one, in whole lines where there are any, bounded in bytes and in lines.
//!
//! Nothing before or behind a slice is read, however long the stream is. What was dropped is
//! stepped over and counted.

use super::text::{is_continuation, split_incomplete};
use super::{Source, StreamPiece};
use std::io;
use std::ops::Range;

/// Where a slice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SliceStart {
    /// It begins here.
    At(u64),
    /// It ends here.
    Before(u64),
    /// It ends with the stream.
    Tail,
}

/// Which slice is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SliceQuery {
    /// Where it is.
    pub start: SliceStart,
    /// Bytes at most.
    pub most_bytes: u64,
    /// Newlines at most.
    pub most_lines: u64,
}

impl SliceQuery {
    /// A slice of at most so many bytes and lines.
    pub fn new(start: SliceStart, most_bytes: u64, most_lines: u64) -> Self {
        Self {
            start,
            most_bytes: most_bytes.max(4),
            most_lines: most_lines.max(1),
        }
    }
}

/// A slice of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputSlice {
    /// Offset of its first byte in the stream.
    pub offset: u64,
    /// Offset behind its last byte.
    pub next_offset: u64,
    /// Its bytes; where secrets are hidden they are more or fewer than the offsets say.
    pub bytes: Vec<u8>,
    /// Bytes between the place that was asked for and the slice that are not kept.
    pub skipped: u64,
    /// Where the stream ends for now.
    pub total: u64,
    /// Bytes that the command has written.
    pub written: u64,
    /// Bytes of the stream that are no longer kept.
    pub dropped: u64,
}

/// What is kept of a range without a gap.
#[derive(Default)]
struct SlicePart {
    at: u64,
    length: u64,
    bytes: Vec<u8>,
    /// Whether the bytes are those of the stream.
    is_exact: bool,
}

/// Reads a slice of a stream.
pub(crate) fn slice(source: &dyn Source, query: &SliceQuery) -> io::Result<OutputSlice> {
    let total = source.len();
    let found = match query.start {
        SliceStart::At(from) => forwards(source, from.min(total), total, query),
        SliceStart::Before(upto) => backwards(source, upto.min(total), total, query),
        SliceStart::Tail => backwards(source, total, total, query),
    };
    Ok(OutputSlice { total, ..found? })
}

fn forwards(
    source: &dyn Source,
    from: u64,
    total: u64,
    query: &SliceQuery,
) -> io::Result<OutputSlice> {
    let offset = first_kept(source, from..total)?;
    let upto = total.min(offset.saturating_add(query.most_bytes));
    let mut parts = Vec::new();
    let mut lines = query.most_lines;
    for part in parts_of(source, offset..upto)? {
        let Some(mut part) = part else { break };
        let end = memchr::memchr_iter(b'\n', &part.bytes).nth(lines.saturating_sub(1) as usize);
        if let Some(end) = end.filter(|_| part.is_exact) {
            part.cut_to(end + 1);
            parts.push(part);
            break;
        }
        lines -= memchr::memchr_iter(b'\n', &part.bytes).count() as u64;
        parts.push(part);
    }
    if let Some(last) = parts.last_mut()
        && last.is_exact
        && last.at + last.length < total
    {
        let whole = split_incomplete(&last.bytes).0.len();
        // A slice that is only a part of a character would never make progress.
        if whole > 0 {
            last.cut_to(whole);
        }
    }
    let mut slice = joined(parts, offset);
    slice.skipped = offset - from;
    Ok(slice)
}

fn backwards(
    source: &dyn Source,
    upto: u64,
    total: u64,
    query: &SliceQuery,
) -> io::Result<OutputSlice> {
    let end = last_kept(source, upto)?;
    let least = end.saturating_sub(query.most_bytes);
    let mut parts: Vec<SlicePart> = Vec::new();
    for part in parts_of(source, least..end)? {
        match part {
            Some(part) => parts.push(part),
            // Only what is behind the last gap.
            None => parts.clear(),
        }
    }
    // What a line begins with may be before the slice, unless nothing is.
    let begins = parts.first().map_or(end, |part| part.at);
    if begins == least
        && begins > 0
        && !is_line_start(source, begins)?
        && let Some(first) = parts.first_mut()
        && first.is_exact
    {
        let newline = memchr::memchr(b'\n', &first.bytes).filter(|at| at + 1 < first.bytes.len());
        let start = first.bytes.iter().position(|byte| !is_continuation(*byte));
        first.cut_from(newline.map_or(start.unwrap_or(0).min(3), |at| at + 1));
    }
    let mut lines = query.most_lines;
    for number in (0..parts.len()).rev() {
        let Some(part) = parts.get_mut(number) else {
            continue;
        };
        // The newline that ends the last line begins none.
        let is_last = part.at + part.length == total.min(end);
        let wanted = lines as usize - usize::from(!is_last && lines > 1);
        let start = memchr::memrchr_iter(b'\n', &part.bytes).nth(wanted);
        if let Some(start) = start.filter(|_| part.is_exact) {
            part.cut_from(start + 1);
            parts.drain(..number);
            break;
        }
        let count = memchr::memchr_iter(b'\n', &part.bytes).count() as u64;
        lines = lines.saturating_sub(count).max(1);
    }
    let mut slice = joined(parts, end);
    slice.skipped = upto - end;
    Ok(slice)
}

impl SlicePart {
    fn cut_to(&mut self, length: usize) {
        self.bytes.truncate(length);
        self.length = length as u64;
    }

    fn cut_from(&mut self, start: usize) {
        self.bytes.drain(..start);
        self.at += start as u64;
        self.length -= start as u64;
    }
}

fn joined(parts: Vec<SlicePart>, at: u64) -> OutputSlice {
    let mut slice = OutputSlice {
        offset: parts.first().map_or(at, |part| part.at),
        next_offset: parts.last().map_or(at, |part| part.at + part.length),
        ..OutputSlice::default()
    };
    for part in parts {
        slice.bytes.extend(part.bytes);
    }
    slice
}

/// What is in a range, in order; `None` for what is not kept.
fn parts_of(source: &dyn Source, range: Range<u64>) -> io::Result<Vec<Option<SlicePart>>> {
    let mut at = range.start;
    let mut parts = Vec::new();
    if range.is_empty() {
        return Ok(parts);
    }
    for piece in source.read(range)? {
        let (length, bytes, is_exact) = match piece {
            StreamPiece::Kept(bytes) => (bytes.len() as u64, bytes, true),
            StreamPiece::Replaced { by, bytes, .. } => (bytes, by.as_bytes().to_vec(), false),
            StreamPiece::Dropped(count) => {
                parts.push(None);
                at += count;
                continue;
            }
        };
        if length > 0 {
            parts.push(Some(SlicePart {
                at,
                length,
                bytes,
                is_exact,
            }));
        }
        at += length;
    }
    Ok(parts)
}

fn is_kept(source: &dyn Source, at: u64) -> io::Result<bool> {
    let pieces = source.read(at..at + 1)?;
    Ok(!matches!(pieces.first(), Some(StreamPiece::Dropped(_))))
}

fn is_line_start(source: &dyn Source, at: u64) -> io::Result<bool> {
    let before = source.read(at.saturating_sub(1)..at)?;
    Ok(match before.first() {
        Some(StreamPiece::Kept(byte)) => byte == b"\n",
        Some(StreamPiece::Dropped(_)) | None => true,
        Some(StreamPiece::Replaced { .. }) => false,
    })
}

/// The first offset of a range that is kept, or its end.
fn first_kept(source: &dyn Source, range: Range<u64>) -> io::Result<u64> {
    if range.is_empty() || is_kept(source, range.start)? {
        return Ok(range.start);
    }
    // A gap has one end: what is behind it is kept.
    let (mut gone, mut kept) = (range.start, range.end);
    while kept - gone > 1 {
        let middle = gone + (kept - gone) / 2;
        if is_kept(source, middle)? {
            kept = middle;
        } else {
            gone = middle;
        }
    }
    Ok(kept)
}

/// The offset behind the last byte before this one that is kept, or 0.
fn last_kept(source: &dyn Source, upto: u64) -> io::Result<u64> {
    if upto == 0 || is_kept(source, upto - 1)? {
        return Ok(upto);
    }
    let (mut kept, mut gone) = (0, upto - 1);
    while gone > kept {
        let middle = kept + (gone - kept) / 2;
        if is_kept(source, middle)? {
            kept = middle + 1;
        } else {
            gone = middle;
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixed::Fixed;

    fn cut(source: &Fixed, start: SliceStart, bytes: u64, lines: u64) -> (u64, u64, String) {
        let slice = slice(source, &SliceQuery::new(start, bytes, lines)).unwrap();
        let text = String::from_utf8_lossy(&slice.bytes).into_owned();
        (slice.offset, slice.next_offset, text)
    }

    #[test]
    fn a_slice_goes_forwards_and_backwards_in_whole_lines() {
        let source = Fixed::text("one\ntwo\nthree\nfour\n");
        assert_eq!(
            cut(&source, SliceStart::At(4), 100, 2),
            (4, 14, "two\nthree\n".into())
        );
        assert_eq!(
            cut(&source, SliceStart::Before(14), 9, 100),
            (8, 14, "three\n".into())
        );
        assert_eq!(
            cut(&source, SliceStart::Tail, 100, 1),
            (14, 19, "four\n".into())
        );
        assert_eq!(
            cut(&source, SliceStart::Tail, 100, 100),
            (0, 19, "one\ntwo\nthree\nfour\n".into())
        );
        assert_eq!(
            cut(&source, SliceStart::At(90), 100, 9),
            (19, 19, String::new())
        );
        assert_eq!(
            cut(&source, SliceStart::Before(0), 100, 9),
            (0, 0, String::new())
        );
    }

    #[test]
    fn what_is_gone_is_stepped_over_in_both_directions() {
        let text = "a".repeat(50) + &"b".repeat(50);
        let source = Fixed::text(&text).without(10..90);
        let (offset, next, shown) = cut(&source, SliceStart::At(30), 100, 9);
        assert_eq!((offset, next, shown.len()), (90, 100, 10));
        let (offset, next, shown) = cut(&source, SliceStart::Before(60), 100, 9);
        assert_eq!((offset, next, shown.len()), (0, 10, 10));
        let (offset, next, shown) = cut(&source, SliceStart::At(5), 100, 9);
        assert_eq!((offset, next, shown.len()), (5, 10, 5));
        let (offset, next, shown) = cut(&source, SliceStart::Before(95), 100, 9);
        assert_eq!((offset, next, shown.len()), (90, 95, 5));
    }

    #[test]
    fn characters_and_lines_without_end_make_progress() {
        let source = Fixed::text("äöü");
        assert_eq!(cut(&source, SliceStart::At(0), 5, 9), (0, 4, "äö".into()));
        assert_eq!(
            cut(&source, SliceStart::Before(6), 5, 9),
            (2, 6, "öü".into())
        );
        let long = "x".repeat(1000);
        let source = Fixed::text(&long);
        assert_eq!(cut(&source, SliceStart::Tail, 100, 9).0, 900);
    }

    #[test]
    fn slices_one_after_the_other_are_the_stream() {
        let text: String = (0..200).map(|n| n.to_string() + "ä\n").collect();
        for bytes in [4, 7, 64] {
            let source = Fixed::text(&text).in_pieces_of(5);
            let (mut at, mut all) = (0, Vec::new());
            while at < text.len() as u64 {
                let query = SliceQuery::new(SliceStart::At(at), bytes, 3);
                let slice = slice(&source, &query).unwrap();
                assert!(slice.next_offset > at);
                all.extend(slice.bytes);
                at = slice.next_offset;
            }
            assert_eq!(String::from_utf8(all).unwrap(), text);
            let mut upto = text.len() as u64;
            while upto > 0 {
                let query = SliceQuery::new(SliceStart::Before(upto), bytes, 3);
                let slice = slice(&source, &query).unwrap();
                assert!(slice.offset < upto && slice.next_offset == upto);
                upto = slice.offset;
            }
        }
    }
}
