//! The output of a run: a spool of this machine, or one at another place of which parts are here.

use super::{Source, StreamPiece};
use bashd_keeper::spool::SpoolReader;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::ops::Range;

/// One stream of a run's output.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunOutput {
    /// The keeper's spool.
    Here(SpoolReader),
    /// An outpost's, of which more is read when it is wanted.
    There(Box<FarOutput>),
}

/// What is known of a stream without its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamCounts {
    bytes: u64,
    lines: u64,
    dropped: u64,
    lost: u64,
    /// Why some were lost.
    errno: Option<i32>,
}

/// A stream at another place.
pub struct FarOutput {
    counts: StreamCounts,
    /// Parts that are here, in order.
    held: Vec<(u64, Vec<StreamPiece>)>,
    more: Box<dyn FarReader>,
    /// Whether nothing more of it can be read.
    is_cut_off: bool,
}

/// Reads parts of a stream at another place; may take as long as that takes to answer.
pub(crate) trait FarReader: Send + Sync {
    /// What is kept of a range.
    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>>;
}

/// What could not be read of a stream.
struct NotHere;

impl FarReader for NotHere {
    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        Ok(vec![StreamPiece::Dropped(range.end - range.start)])
    }
}

impl From<SpoolReader> for RunOutput {
    fn from(spool: SpoolReader) -> Self {
        Self::Here(spool)
    }
}

impl RunOutput {
    /// The spool, if it is one of this machine.
    pub fn spool(&self) -> Option<&SpoolReader> {
        match self {
            Self::Here(spool) => Some(spool),
            Self::There(_) => None,
        }
    }

    /// The same with the end that it has now: it may go on growing.
    #[must_use]
    pub(crate) fn fixed(self) -> Self {
        match self {
            Self::Here(spool) => {
                let (bytes, lines) = (spool.readable_end(), spool.lines());
                Self::Here(spool.ending_at(bytes, lines))
            }
            Self::There(far) => Self::There(far),
        }
    }

    /// What is known without the bytes.
    pub(crate) fn counts(&self) -> StreamCounts {
        match self {
            Self::Here(spool) => StreamCounts {
                bytes: spool.len(),
                lines: spool.lines(),
                dropped: spool.dropped(),
                lost: spool.lost(),
                errno: spool.storage_error().and_then(|error| error.raw_os_error()),
            },
            Self::There(far) => far.counts,
        }
    }

    /// Bytes of the stream that can no longer be read.
    pub fn dropped(&self) -> u64 {
        self.counts().dropped
    }

    /// Bytes of the stream that were never stored, because the disk refused them.
    pub fn lost(&self) -> u64 {
        self.counts().lost
    }

    /// The operating system's reason why output was lost, if any was.
    pub fn storage_error(&self) -> Option<io::Error> {
        self.counts().errno.map(io::Error::from_raw_os_error)
    }

    /// What of it is here; the rest can't be read any more.
    #[must_use]
    pub(crate) fn held(self) -> Self {
        match self {
            Self::Here(spool) => Self::Here(spool),
            Self::There(far) => Self::There(Box::new(far.held())),
        }
    }

    /// Whether some of it is not here, and can't be read any more.
    pub(crate) fn is_cut_off(&self) -> bool {
        match self {
            Self::Here(_) => false,
            Self::There(far) => far.is_cut_off && !far.holds_all(),
        }
    }

    /// Whether reading it waits for another machine.
    pub(crate) fn may_wait(&self) -> bool {
        match self {
            Self::Here(_) => false,
            Self::There(far) => !far.holds_all(),
        }
    }
}

impl Source for RunOutput {
    fn len(&self) -> u64 {
        match self {
            Self::Here(spool) => spool.len(),
            Self::There(far) => far.counts.bytes,
        }
    }

    fn lines(&self) -> u64 {
        match self {
            Self::Here(spool) => spool.lines(),
            Self::There(far) => far.counts.lines,
        }
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        match self {
            Self::Here(spool) => spool.read(range),
            Self::There(far) => far.read(range),
        }
    }

    fn offset_of_line(&self, line: u64) -> io::Result<Option<u64>> {
        match self {
            Self::Here(spool) => spool.offset_of_line(line),
            Self::There(far) => Source::offset_of_line(&**far, line),
        }
    }
}

impl FarOutput {
    /// A stream with these counts, of which these parts are here. Parts that do not fit the counts,
    /// or each other, are not taken: the other side may lie.
    pub(crate) fn new(
        counts: StreamCounts,
        parts: Vec<(u64, Vec<StreamPiece>)>,
        more: Box<dyn FarReader>,
    ) -> Self {
        let (mut held, mut upto) = (Vec::new(), 0);
        for (from, pieces) in parts {
            let Some(end) = from.checked_add(length(&pieces)) else {
                continue;
            };
            if from >= upto && end <= counts.bytes {
                upto = end;
                held.push((from, pieces));
            }
        }
        Self {
            counts,
            held,
            more,
            is_cut_off: false,
        }
    }

    /// The same without what is not here.
    fn held(self) -> Self {
        Self {
            more: Box::new(NotHere),
            is_cut_off: true,
            ..self
        }
    }

    fn holds_all(&self) -> bool {
        let here: u64 = self.held.iter().map(|(_, pieces)| length(pieces)).sum();
        here == self.counts.bytes
    }
}

impl Source for FarOutput {
    fn len(&self) -> u64 {
        self.counts.bytes
    }

    fn lines(&self) -> u64 {
        self.counts.lines
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        let end = range.end.min(self.counts.bytes);
        let mut at = range.start;
        let mut all = Vec::new();
        for (from, pieces) in &self.held {
            let upto = from + length(pieces);
            if upto <= at {
                continue;
            }
            if *from > at && at < end {
                let before = at..end.min(*from);
                at = before.end;
                all.extend(self.more.read(before)?);
            }
            if at >= end {
                break;
            }
            all.extend(cut(pieces, at - from..end.min(upto) - from));
            at = end.min(upto);
        }
        if at < end {
            all.extend(self.more.read(at..end)?);
        }
        Ok(all)
    }
}

impl fmt::Debug for FarOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FarOutput")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

/// Bytes that pieces stand for.
pub(crate) fn length(pieces: &[StreamPiece]) -> u64 {
    let lengths = pieces.iter().map(StreamPiece::span);
    lengths.fold(0, u64::saturating_add)
}

/// A part of pieces.
fn cut(pieces: &[StreamPiece], range: Range<u64>) -> Vec<StreamPiece> {
    let (mut at, mut cut) = (0, Vec::new());
    for piece in pieces {
        let size = length(std::slice::from_ref(piece));
        let from = range.start.clamp(at, at + size) - at;
        let upto = range.end.clamp(at, at + size) - at;
        at += size;
        if from == upto {
            continue;
        }
        cut.push(match piece {
            StreamPiece::Kept(bytes) => StreamPiece::Kept(
                (bytes.get(from as usize..upto as usize))
                    .unwrap_or_default()
                    .to_vec(),
            ),
            StreamPiece::Dropped(_) => StreamPiece::Dropped(upto - from),
            StreamPiece::Replaced { by, .. } => StreamPiece::Replaced {
                bytes: upto - from,
                by: if from == 0 { by.clone() } else { String::new() },
            },
        });
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A stream that is there as a whole.
    struct There(Vec<u8>);

    impl FarReader for There {
        fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
            assert!(!range.is_empty(), "nothing is asked for in vain");
            let bytes = self.0[range.start as usize..range.end as usize].to_vec();
            Ok(vec![StreamPiece::Kept(bytes)])
        }
    }

    fn counts(bytes: u64) -> StreamCounts {
        StreamCounts {
            bytes,
            ..StreamCounts::default()
        }
    }

    proptest! {
        #[test]
        fn what_is_here_and_what_is_there_are_one_stream(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            first in 0usize..80,
            last in 0usize..80,
            from in 0u64..220,
            size in 0u64..220,
        ) {
            let whole = bytes.len();
            let (first, last) = (first.min(whole), last.min(whole));
            let tail = (whole - last).max(first);
            let parts = vec![
                (0, vec![StreamPiece::Kept(bytes[..first].to_vec())]),
                (tail as u64, vec![StreamPiece::Kept(bytes[tail..].to_vec())]),
            ];
            let far = FarOutput::new(counts(whole as u64), parts, Box::new(There(bytes.clone())));
            let read = far.read(from..from + size).unwrap();
            let read: Vec<u8> = read
                .into_iter()
                .flat_map(|piece| match piece {
                    StreamPiece::Kept(bytes) => bytes,
                    other => panic!("not bytes: {other:?}"),
                })
                .collect();
            let (from, upto) = ((from as usize).min(whole), ((from + size) as usize).min(whole));
            prop_assert_eq!(read, &bytes[from..upto]);
        }
    }

    #[test]
    fn parts_that_can_not_be_are_not_taken() {
        let kept = |size: usize| vec![StreamPiece::Kept(vec![b'x'; size])];
        let lies = vec![
            (0, kept(4)),
            (2, kept(4)),
            (8, vec![StreamPiece::Dropped(u64::MAX)]),
            (u64::MAX, kept(4)),
        ];
        let far = FarOutput::new(counts(10), lies, Box::new(There(vec![b'y'; 10])));
        let read = far.read(0..10).unwrap();
        let expected = [&b"xxxx"[..], b"yyyyyy"];
        let expected = expected.map(|bytes| StreamPiece::Kept(bytes.to_vec()));
        assert_eq!(read, expected);
    }
}
