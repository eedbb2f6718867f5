//! Reading a [`Source`] from either end until there is enough to show.
//!
//! The pieces of a source may be split anywhere; here they become segments: neighbours of the same
//! kind are joined, and a gap is known in its whole length, however long. A character that a gap
//! cut in two is left out at both edges, because nobody can say what it was.

use super::text::{is_continuation, split_incomplete};
use super::{Source, StreamPiece};
use std::io;
use std::ops::Range;

/// Bytes of the first read after a gap; doubled while the gap continues.
const FIRST_PROBE: u64 = 64 * 1024;

/// Bytes of the largest read after a gap. It bounds what a walk holds beyond what is shown.
const LARGEST_PROBE: u64 = 1024 * 1024;

/// Most bytes that [`trim_edges`] takes from both sides of a gap together.
const TRIMMED_AROUND_GAP: usize = 6;

/// A maximal part of a stream that is kept or lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WalkSegment {
    /// Bytes that are there.
    Kept(Vec<u8>),
    /// This many bytes are gone here.
    Lost(u64),
    /// So many bytes for which this text stands.
    Replaced(u64, String),
}

impl WalkSegment {
    /// The line that replaces lost bytes.
    pub(super) fn lost_line(bytes: u64) -> String {
        let lost =
            bashd_keeper::counted::counted(bytes, "byte of output was", "bytes of output were");
        format!("[bashd: {lost} lost]\n")
    }

    /// Most bytes that the line takes in a text, with a newline before it.
    pub(super) fn lost_cost(bytes: u64) -> usize {
        Self::lost_line(bytes).len() + 1
    }
}

/// What a walk found, in the order of the stream.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) segments: Vec<WalkSegment>,
    /// Whether the walk saw the whole stream.
    pub(super) complete: bool,
}

/// Which end of the stream a walk starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Start,
    End,
}

/// Reads the stream's first `length` bytes from their start until more than `enough` can be shown.
pub(super) fn forward(source: &dyn Source, length: u64, enough: usize) -> io::Result<Walk> {
    walk(source, length, enough, From::Start)
}

/// Reads the stream's first `length` bytes from their end backward until more than `enough` can be
/// shown.
pub(super) fn backward(source: &dyn Source, length: u64, enough: usize) -> io::Result<Walk> {
    walk(source, length, enough, From::End)
}

fn walk(source: &dyn Source, length: u64, enough: usize, from: From) -> io::Result<Walk> {
    let mut segments = Vec::new();
    let mut unread = 0..length;
    let mut probe = FIRST_PROBE;
    while !unread.is_empty() {
        let in_gap = matches!(edge(&segments, from), Some(WalkSegment::Lost(_)));
        let shown = least_shown(&segments);
        if shown > enough && !in_gap {
            break;
        }
        let step = if in_gap {
            probe = (probe * 2).min(LARGEST_PROBE);
            probe
        } else {
            (enough - shown) as u64 + 1
        };
        let range = take(&mut unread, step, from);
        let read = source.read(range)?;
        segments = match from {
            From::Start => joined(segments, segments_of(read)),
            From::End => joined(segments_of(read), segments),
        };
    }
    trim_edges(&mut segments);
    Ok(Walk {
        segments,
        complete: unread.is_empty(),
    })
}

/// The segment that the next read will touch.
fn edge(segments: &[WalkSegment], from: From) -> Option<&WalkSegment> {
    match from {
        From::Start => segments.last(),
        From::End => segments.first(),
    }
}

/// Takes up to `step` bytes off the unread range at its walking end.
fn take(unread: &mut Range<u64>, step: u64, from: From) -> Range<u64> {
    let step = step.min(unread.end - unread.start);
    match from {
        From::Start => {
            let range = unread.start..unread.start + step;
            unread.start = range.end;
            range
        }
        From::End => {
            let range = unread.end - step..unread.end;
            unread.end = range.start;
            range
        }
    }
}

/// Least bytes of text that the segments will have: decoding never shortens, and what replaces
/// something is known.
fn least_shown(segments: &[WalkSegment]) -> usize {
    segments
        .iter()
        .map(|segment| match segment {
            WalkSegment::Kept(bytes) => bytes.len(),
            WalkSegment::Lost(bytes) => WalkSegment::lost_cost(*bytes) - TRIMMED_AROUND_GAP,
            WalkSegment::Replaced(_, by) => by.len(),
        })
        .sum()
}

fn segments_of(pieces: Vec<StreamPiece>) -> Vec<WalkSegment> {
    pieces
        .into_iter()
        .map(|piece| match piece {
            StreamPiece::Kept(bytes) => WalkSegment::Kept(bytes),
            StreamPiece::Dropped(bytes) => WalkSegment::Lost(bytes),
            StreamPiece::Replaced { bytes, by } => WalkSegment::Replaced(bytes, by),
        })
        .fold(Vec::new(), |segments, next| joined(segments, vec![next]))
}

/// One list after the other; neighbours of the same kind become one segment, empty ones disappear.
fn joined(mut segments: Vec<WalkSegment>, next: Vec<WalkSegment>) -> Vec<WalkSegment> {
    for segment in next {
        match (segments.last_mut(), segment) {
            (_, WalkSegment::Lost(0)) => {}
            (Some(WalkSegment::Lost(before)), WalkSegment::Lost(more)) => *before += more,
            (Some(WalkSegment::Kept(before)), WalkSegment::Kept(more)) => {
                before.extend_from_slice(&more);
            }
            (_, WalkSegment::Kept(bytes)) if bytes.is_empty() => {}
            // The rest of what a text stands for.
            (Some(WalkSegment::Replaced(before, _)), WalkSegment::Replaced(more, by))
                if by.is_empty() =>
            {
                *before += more;
            }
            (_, other) => segments.push(other),
        }
    }
    segments
}

/// Leaves out what is left of a character that a gap cut in two.
fn trim_edges(segments: &mut [WalkSegment]) {
    for index in 0..segments.len() {
        let after_gap = index > 0 && matches!(segments.get(index - 1), Some(WalkSegment::Lost(_)));
        let before_gap = matches!(segments.get(index + 1), Some(WalkSegment::Lost(_)));
        let Some(WalkSegment::Kept(bytes)) = segments.get_mut(index) else {
            continue;
        };
        if before_gap {
            let whole = split_incomplete(bytes).0.len();
            bytes.truncate(whole);
        }
        if after_gap {
            let broken = bytes
                .iter()
                .take(3)
                .take_while(|byte| is_continuation(**byte));
            let broken = broken.count();
            bytes.drain(..broken);
        }
    }
}
