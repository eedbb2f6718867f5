//! A text in memory as a source, for what is shown instead of a run's own output.

use super::{Source, StreamPiece};
use std::io;
use std::ops::Range;

/// A text that is all there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InMemory<'a>(pub(crate) &'a str);

impl Source for InMemory<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn lines(&self) -> u64 {
        memchr::memchr_iter(b'\n', self.0.as_bytes()).count() as u64
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        let wanted = range.start as usize..range.end as usize;
        let bytes = self.0.as_bytes().get(wanted).unwrap_or_default();
        Ok(vec![StreamPiece::Kept(bytes.to_vec())])
    }
}
