//! A source with fixed content, for tests of everything that reads sources.

use super::{Source, StreamPiece};
use std::io;
use std::ops::Range;

/// Bytes in memory, of which some ranges are gone, read in pieces of any size.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    bytes: Vec<u8>,
    gone: Vec<Range<usize>>,
    piece: usize,
}

impl Fixed {
    pub(crate) fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            gone: Vec::new(),
            piece: usize::MAX,
        }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::new(text)
    }

    /// With a range that was dropped.
    pub(crate) fn without(mut self, range: Range<usize>) -> Self {
        self.gone.push(range);
        self
    }

    /// Read in pieces of at most this many bytes.
    pub(crate) fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.piece = bytes;
        self
    }

    pub(crate) fn is_gone(&self, at: usize) -> bool {
        self.gone.iter().any(|range| range.contains(&at))
    }
}

impl Source for Fixed {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn lines(&self) -> u64 {
        memchr::memchr_iter(b'\n', &self.bytes).count() as u64
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        let range = range.start as usize..range.end as usize;
        let mut pieces = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let limit = range.end.min(at.saturating_add(self.piece));
            let gone = self.is_gone(at);
            let edges = self.gone.iter().flat_map(|range| [range.start, range.end]);
            let inside = edges.filter(|edge| (at + 1..limit).contains(edge));
            let end = inside.min().unwrap_or(limit);
            pieces.push(if gone {
                StreamPiece::Dropped((end - at) as u64)
            } else {
                StreamPiece::Kept(self.bytes[at..end].to_vec())
            });
            at = end;
        }
        Ok(pieces)
    }
}
