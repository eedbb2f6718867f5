//! The rest of a stream, from an offset on, or a part of it, as a stream of its own.

use super::{Omitted, Source, StreamPiece};
use std::io;
use std::ops::Range;

/// Bytes that are read at once.
const STEP: u64 = 1024 * 1024;

/// What a stream has from an offset on.
pub(crate) struct Since<'a> {
    source: &'a dyn Source,
    from: u64,
    end: u64,
    lines: u64,
}

impl<'a> Since<'a> {
    /// The rest of this stream; its newlines are counted by reading it.
    pub(crate) fn new(source: &'a dyn Source, from: u64) -> io::Result<Self> {
        let end = source.len();
        let from = from.min(end);
        if from == 0 {
            let lines = source.lines();
            return Ok(Self {
                source,
                from,
                end,
                lines,
            });
        }
        Self::part(source, from..end)
    }

    /// What it has up to another offset, too.
    pub(crate) fn part(source: &'a dyn Source, range: Range<u64>) -> io::Result<Self> {
        let (from, end) = (range.start, range.end.max(range.start));
        let (mut lines, mut at) = (0, from);
        while at < end {
            let upto = end.min(at + STEP);
            for piece in source.read(at..upto)? {
                if let StreamPiece::Kept(bytes) = piece {
                    lines += memchr::memchr_iter(b'\n', &bytes).count() as u64;
                }
            }
            at = upto;
        }
        Ok(Self {
            source,
            from,
            end,
            lines,
        })
    }
}

impl Source for Since<'_> {
    fn len(&self) -> u64 {
        self.end - self.from
    }

    fn lines(&self) -> u64 {
        self.lines
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        self.source
            .read(range.start + self.from..range.end + self.from)
    }

    fn between(&self, range: Range<u64>) -> Omitted {
        self.source
            .between(range.start + self.from..range.end + self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::in_memory::InMemory;

    #[test]
    fn the_rest_has_its_own_offsets_and_lines() {
        let whole = InMemory("one\ntwo\nthree\n");
        let rest = Since::new(&whole, 4).unwrap();
        assert_eq!((rest.len(), rest.lines()), (10, 2));
        assert_eq!(
            rest.read(0..4).unwrap(),
            [StreamPiece::Kept(b"two\n".to_vec())]
        );
        assert_eq!(rest.offset_of_line(1).unwrap(), Some(4));
        assert_eq!(Since::new(&whole, 99).unwrap().len(), 0);
        assert_eq!(Since::new(&whole, 0).unwrap().lines(), 3);
        let part = Since::part(&whole, 4..8).unwrap();
        assert_eq!((part.len(), part.lines()), (4, 1));
    }
}
