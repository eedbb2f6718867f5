//! A stream whose keeper is gone: its bytes in one file, perhaps with a line or two of ours in
//! between.

use crate::source::{Source, StreamPiece};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes of a stream, and where they are in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolSegment {
    /// Stream offset of the first byte.
    pub from: u64,
    /// Stream offset after the last one.
    pub upto: u64,
    /// Position of the first byte in the file.
    pub at: u64,
}

impl SpoolSegment {
    /// Adds bytes at the end of a list, to the last segment if they follow it without a gap.
    pub fn add(segments: &mut Vec<Self>, kept: Range<u64>, at: u64) {
        if let Some(last) = segments.last_mut()
            && last.upto == kept.start
            && last.at + (last.upto - last.from) == at
        {
            last.upto = kept.end;
            return;
        }
        segments.push(Self {
            from: kept.start,
            upto: kept.end,
            at,
        });
    }
}

/// Reads a stream from its file.
#[derive(Debug)]
pub struct SegmentedFile {
    file: File,
    segments: Vec<SpoolSegment>,
    bytes: u64,
    lines: u64,
}

impl SegmentedFile {
    /// A stream of this many bytes and newlines, of which these segments are kept.
    pub fn new(file: File, segments: Vec<SpoolSegment>, bytes: u64, lines: u64) -> Self {
        Self {
            file,
            segments,
            bytes,
            lines,
        }
    }
}

impl Source for SegmentedFile {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn lines(&self) -> u64 {
        self.lines
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        let end = range.end.min(self.bytes);
        let mut at = range.start;
        let mut pieces = Vec::new();
        for segment in &self.segments {
            let kept = segment.from.max(at)..segment.upto.min(end);
            if kept.start >= kept.end {
                continue;
            }
            if kept.start > at {
                pieces.push(StreamPiece::Dropped(kept.start - at));
            }
            let mut bytes = vec![0; (kept.end - kept.start) as usize];
            self.file
                .read_exact_at(&mut bytes, segment.at + kept.start - segment.from)?;
            pieces.push(StreamPiece::Kept(bytes));
            at = kept.end;
        }
        if at < end {
            pieces.push(StreamPiece::Dropped(end - at));
        }
        Ok(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_stands_between_is_not_shown_and_gaps_are_counted() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"head[dropped]tail!").unwrap();
        let mut segments = vec![];
        SpoolSegment::add(&mut segments, 0..2, 0);
        SpoolSegment::add(&mut segments, 2..4, 2);
        SpoolSegment::add(&mut segments, 10..14, 13);
        assert_eq!(segments.len(), 2);
        let stream = SegmentedFile::new(file, segments, 15, 0);
        let all = stream.read(0..100).unwrap();
        let expected = [
            StreamPiece::Kept(b"head".to_vec()),
            StreamPiece::Dropped(6),
            StreamPiece::Kept(b"tail".to_vec()),
            StreamPiece::Dropped(1),
        ];
        assert_eq!(all, expected);
        assert_eq!(stream.read(5..6).unwrap(), [StreamPiece::Dropped(1)]);
        assert_eq!(
            stream.read(11..13).unwrap(),
            [StreamPiece::Kept(b"ai".to_vec())]
        );
        assert_eq!(stream.read(20..30).unwrap(), []);
    }
}
