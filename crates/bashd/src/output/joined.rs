//! Several sources one after the other, as one: stdout, a separator, stderr.

use super::{Omitted, Source, StreamPiece};
use std::io;
use std::ops::Range;

/// A chain of sources with a literal separator between those that are not empty.
///
/// The separator counts as part of the stream (bytes, lines, offsets), because a window cuts it
/// like the rest. What the command itself wrote is counted on the sources.
pub struct Joined<'a> {
    parts: Vec<JoinedPart<'a>>,
}

enum JoinedPart<'a> {
    Source(&'a dyn Source),
    Separator(&'a [u8]),
}

impl<'a> Joined<'a> {
    /// Chains `sources`, with `separator` between each two that are not empty.
    pub fn new(sources: impl IntoIterator<Item = &'a dyn Source>, separator: &'a str) -> Self {
        let mut parts = Vec::new();
        for source in sources.into_iter().filter(|source| !source.is_empty()) {
            if !parts.is_empty() {
                parts.push(JoinedPart::Separator(separator.as_bytes()));
            }
            parts.push(JoinedPart::Source(source));
        }
        Self { parts }
    }
}

impl JoinedPart<'_> {
    fn len(&self) -> u64 {
        match self {
            Self::Source(source) => source.len(),
            Self::Separator(bytes) => bytes.len() as u64,
        }
    }

    fn lines(&self) -> u64 {
        match self {
            Self::Source(source) => source.lines(),
            Self::Separator(bytes) => memchr::memchr_iter(b'\n', bytes).count() as u64,
        }
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        match self {
            Self::Source(source) => source.read(range),
            Self::Separator(bytes) => {
                let wanted = bytes.get(range.start as usize..range.end as usize);
                Ok(vec![StreamPiece::Kept(wanted.unwrap_or_default().to_vec())])
            }
        }
    }
}

impl Joined<'_> {
    /// The parts that a range touches, each with its share of the range.
    fn touched(&self, range: Range<u64>) -> impl Iterator<Item = (&JoinedPart<'_>, Range<u64>)> {
        let mut begin = 0;
        self.parts.iter().filter_map(move |part| {
            let end = begin + part.len();
            let start = std::mem::replace(&mut begin, end);
            let wanted = range.start.max(start)..range.end.min(end);
            (!wanted.is_empty()).then(|| (part, wanted.start - start..wanted.end - start))
        })
    }
}

impl Source for Joined<'_> {
    fn len(&self) -> u64 {
        self.parts.iter().map(JoinedPart::len).sum()
    }

    fn lines(&self) -> u64 {
        self.parts.iter().map(JoinedPart::lines).sum()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        let mut pieces = Vec::new();
        for (part, wanted) in self.touched(range) {
            pieces.extend(part.read(wanted)?);
        }
        Ok(pieces)
    }

    fn between(&self, range: Range<u64>) -> Omitted {
        let mut between = Omitted::default();
        for (part, wanted) in self.touched(range) {
            if let JoinedPart::Separator(bytes) = part {
                let wanted = bytes.get(wanted.start as usize..wanted.end as usize);
                let wanted = wanted.unwrap_or_default();
                between.bytes += wanted.len() as u64;
                between.lines += memchr::memchr_iter(b'\n', wanted).count() as u64;
            }
        }
        between
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixed::Fixed;

    fn whole(joined: &Joined<'_>) -> Vec<u8> {
        let pieces = joined.read(0..joined.len()).unwrap();
        let kept = pieces.into_iter().map(|piece| match piece {
            StreamPiece::Kept(bytes) => bytes,
            StreamPiece::Dropped(bytes) => format!("<{bytes}>").into_bytes(),
            StreamPiece::Replaced { by, .. } => by.into_bytes(),
        });
        kept.collect::<Vec<_>>().concat()
    }

    #[test]
    fn separator_only_between_sources_that_have_something() {
        let (out, err, nothing) = (Fixed::text("o\n"), Fixed::text("e\n"), Fixed::text(""));
        let both = Joined::new([&out as &dyn Source, &err], "\n");
        assert_eq!(
            (whole(&both), both.len(), both.lines()),
            (b"o\n\ne\n".to_vec(), 5, 3)
        );
        assert_eq!(
            whole(&Joined::new([&nothing as &dyn Source, &err], "\n")),
            b"e\n"
        );
        assert_eq!(
            whole(&Joined::new([&out as &dyn Source, &nothing], "\n")),
            b"o\n"
        );
        assert!(Joined::new([&nothing as &dyn Source, &nothing], "\n").is_empty());
    }

    #[test]
    fn every_range_reads_like_the_whole() {
        let (out, err) = (Fixed::text("abc"), Fixed::text("défg"));
        let joined = Joined::new([&out as &dyn Source, &err], "--");
        let expected = "abc--défg".as_bytes();
        for start in 0..expected.len() {
            for end in start..=expected.len() {
                let pieces = joined.read(start as u64..end as u64).unwrap();
                let bytes = pieces.into_iter().flat_map(|piece| match piece {
                    StreamPiece::Kept(bytes) => bytes,
                    StreamPiece::Dropped(_) | StreamPiece::Replaced { .. } => Vec::new(),
                });
                assert_eq!(bytes.collect::<Vec<_>>(), &expected[start..end]);
            }
        }
    }

    #[test]
    fn a_gap_stays_where_it_is() {
        let out = Fixed::text("abcdef").without(2..4);
        let err = Fixed::text("x");
        let joined = Joined::new([&out as &dyn Source, &err], "\n");
        assert_eq!(whole(&joined), b"ab<2>ef\nx");
    }
}
