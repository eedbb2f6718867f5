//! A stream's bytes as text: decoded, and otherwise as they are.
//!
//! Decoding never shortens, so one raw byte more than a limit decides whether a text fits. (What
//! stands for a secret may be shorter: the walk knows its length and reads on.) That one
//! byte is also enough to keep characters whole at the edge of what was read: an incomplete one
//! there has at most three bytes, counts as three when it is decoded, and so is always the one that
//! no longer fits.

use super::walk::{self, WalkSegment};
use super::window::{ShownPart, TextEnds};
use super::{Source, text};
use std::io;

/// The decoded text of a stream.
pub(super) struct DecodedText<'a> {
    source: &'a dyn Source,
    bytes: u64,
    /// What was read from its start, and how long that is as text.
    start: Vec<WalkSegment>,
    size: usize,
}

impl<'a> DecodedText<'a> {
    pub(super) fn new(source: &'a dyn Source) -> Self {
        Self {
            source,
            bytes: source.len(),
            start: Vec::new(),
            size: 0,
        }
    }
}

impl TextEnds for DecodedText<'_> {
    fn whole(&mut self, limit: usize) -> io::Result<Option<ShownPart>> {
        let start = walk::forward(self.source, self.bytes, limit)?;
        self.start = start.segments;
        self.size = cost(&self.start);
        let fits = start.complete && self.size <= limit;
        Ok(fits.then(|| render(&self.start)))
    }

    fn first(&mut self, limit: usize) -> io::Result<ShownPart> {
        let start = std::mem::take(&mut self.start);
        Ok(render(&head_of(start, limit)))
    }

    fn last(&mut self, limit: usize) -> io::Result<ShownPart> {
        Ok(render(&tail_of(self.source, self.bytes, limit)?))
    }

    fn size(&self, limit: usize) -> u64 {
        if self.bytes > limit as u64 {
            self.bytes
        } else {
            self.size as u64
        }
    }
}

/// Bytes of the stream that the segments stand for.
fn length(segments: &[WalkSegment]) -> u64 {
    let lengths = segments.iter().map(|segment| match segment {
        WalkSegment::Kept(bytes) => bytes.len() as u64,
        WalkSegment::Lost(bytes) | WalkSegment::Replaced(bytes, _) => *bytes,
    });
    lengths.sum()
}

/// Lines of a text, also counting parts of lines at its ends.
fn lines_in(text: &str) -> u64 {
    let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    newlines + u64::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Bytes of text that the segments need at most.
fn cost(segments: &[WalkSegment]) -> usize {
    segments
        .iter()
        .map(|segment| match segment {
            WalkSegment::Kept(bytes) => text::decoded_len(bytes),
            WalkSegment::Lost(bytes) => WalkSegment::lost_cost(*bytes),
            WalkSegment::Replaced(_, by) => by.len(),
        })
        .sum()
}

/// The longest start of the segments whose text has at most `limit` bytes.
fn head_of(segments: Vec<WalkSegment>, limit: usize) -> Vec<WalkSegment> {
    let mut room = limit;
    let mut head = Vec::new();
    for segment in segments {
        match segment {
            WalkSegment::Lost(bytes) if WalkSegment::lost_cost(bytes) <= room => {
                room -= WalkSegment::lost_cost(bytes);
                head.push(segment);
            }
            WalkSegment::Replaced(_, ref by) if by.len() <= room => {
                room -= by.len();
                head.push(segment);
            }
            WalkSegment::Lost(_) | WalkSegment::Replaced(..) => break,
            WalkSegment::Kept(mut bytes) => {
                let cut = text::prefix(&bytes, room);
                let is_cut = cut.raw < bytes.len();
                room -= cut.text.len();
                bytes.truncate(cut.raw);
                head.push(WalkSegment::Kept(bytes));
                if is_cut {
                    break;
                }
            }
        }
    }
    head
}

/// The longest end of the stream whose text has at most `limit` bytes.
fn tail_of(source: &dyn Source, length: u64, limit: usize) -> io::Result<Vec<WalkSegment>> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let end = walk::backward(source, length, limit)?;
    let mut room = limit;
    let mut tail = Vec::new();
    for segment in end.segments.into_iter().rev() {
        match segment {
            WalkSegment::Lost(bytes) if WalkSegment::lost_cost(bytes) <= room => {
                room -= WalkSegment::lost_cost(bytes);
                tail.push(segment);
            }
            WalkSegment::Replaced(_, ref by) if by.len() <= room => {
                room -= by.len();
                tail.push(segment);
            }
            WalkSegment::Lost(_) | WalkSegment::Replaced(..) => break,
            WalkSegment::Kept(mut bytes) => {
                let cut = text::suffix(&bytes, room);
                let is_cut = cut.raw < bytes.len();
                room -= cut.text.len();
                bytes.drain(..bytes.len() - cut.raw);
                tail.push(WalkSegment::Kept(bytes));
                if is_cut {
                    break;
                }
            }
        }
    }
    tail.reverse();
    Ok(tail)
}

/// Makes the text of segments that are shown in full.
fn render(segments: &[WalkSegment]) -> ShownPart {
    let mut shown = ShownPart::default();
    for segment in segments {
        match segment {
            WalkSegment::Kept(bytes) => {
                shown.text.push_str(&text::decode(bytes));
                shown.raw += bytes.len() as u64;
                shown.newlines += memchr::memchr_iter(b'\n', bytes).count() as u64;
            }
            WalkSegment::Replaced(bytes, by) => {
                shown.text.push_str(by);
                shown.raw += bytes;
            }
            WalkSegment::Lost(bytes) => {
                if !shown.text.is_empty() && !shown.text.ends_with('\n') {
                    shown.text.push('\n');
                }
                shown.text.push_str(&WalkSegment::lost_line(*bytes));
            }
        }
    }
    shown.lines = lines_in(&shown.text);
    shown.span = length(segments);
    shown
}
