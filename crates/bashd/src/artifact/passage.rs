//! A selection as one bounded text, for callers that answer with a text.

use super::reader::Artifact;
use super::select::{Item, Selection};
use crate::errand::CalledBack;
use crate::output::search::search;
use crate::output::slice::slice;
use crate::output::{OutputSearch, OutputSlice, SearchHits, SliceQuery};
use bashd_keeper::text;
use std::io;
use std::ops::ControlFlow;

/// Text of an artifact, and whether it is everything that was selected.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Passage {
    /// Decoded as replies are. Lines of a search are prefixed with their number, as by `grep -n`.
    pub text: String,
    /// Whether the limit cut it short.
    pub truncated: bool,
}

impl Artifact {
    /// What is selected, as a text of at most `limit` bytes.
    pub fn passage(&self, selection: &Selection, limit: usize) -> io::Result<Passage> {
        let mut bytes = Vec::new();
        // One byte more shows whether there is more.
        let enough = limit.saturating_add(1);
        self.select(selection, &mut |item| {
            write(&item, &mut bytes);
            if bytes.len() >= enough {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        Ok(Passage::of(&bytes, limit))
    }

    /// The first bytes of what is selected, and whether there is more; what follows them is named
    /// by offsets of the output, unless lines were searched for.
    pub(crate) fn first_of(&self, selection: &Selection, most: usize) -> io::Result<FirstPart> {
        let range = self.bytes_of(selection.range)?;
        let (mut bytes, mut is_cut, mut passed) = (Vec::new(), false, 0);
        self.select(selection, &mut |item| {
            write(&item, &mut bytes);
            let excess = bytes.len().saturating_sub(most);
            bytes.truncate(most);
            is_cut = excess > 0;
            passed += match item {
                Item::Bytes(more) => more.len().saturating_sub(excess) as u64,
                Item::Dropped(count) => count,
                Item::Line { .. } | Item::Break => 0,
            };
            if is_cut {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        let next = range.start + passed;
        let has_rest = is_cut && selection.grep.is_none() && next < range.end;
        Ok(FirstPart {
            bytes,
            is_cut,
            rest: has_rest.then_some((next, range.end - 1)),
        })
    }
}

/// The first bytes of a selection.
pub(crate) struct FirstPart {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_cut: bool,
    /// The first and the last byte of what follows.
    pub(crate) rest: Option<(u64, u64)>,
}

impl Passage {
    /// As much of these bytes as there is room for.
    pub(crate) fn of(bytes: &[u8], limit: usize) -> Self {
        let cut = text::prefix(bytes, limit);
        Self {
            truncated: cut.raw < bytes.len(),
            text: cut.text,
        }
    }
}

impl Artifact {
    /// A slice of it as bytes.
    pub fn slice(&self, query: &SliceQuery) -> io::Result<OutputSlice> {
        let cut = slice(self.view().source(), query)?;
        let summary = self.summary();
        Ok(OutputSlice {
            written: summary.bytes,
            dropped: summary.dropped_bytes,
            ..cut
        })
    }

    /// Where a pattern hits; takes a while, and ends in time.
    pub fn search(&self, query: &OutputSearch) -> io::Result<SearchHits> {
        search(self.view().source(), query, &CalledBack::default())
    }
}

impl Item<'_> {
    /// Writes it as people and models read it.
    pub fn write_to(&self, bytes: &mut Vec<u8>) {
        write(self, bytes);
    }
}

fn write(item: &Item<'_>, bytes: &mut Vec<u8>) {
    match item {
        Item::Bytes(more) => bytes.extend_from_slice(more),
        Item::Dropped(count) => {
            if bytes.last().is_some_and(|last| *last != b'\n') {
                bytes.push(b'\n');
            }
            let dropped = bashd_keeper::counted::counted(
                *count,
                "byte of output was",
                "bytes of output were",
            );
            let line = format!("[bashd: {dropped} dropped here]\n");
            bytes.extend_from_slice(line.as_bytes());
        }
        Item::Line {
            number,
            is_match,
            bytes: line,
        } => {
            let number = number.map_or_else(|| "?".to_owned(), |number| number.to_string());
            bytes.extend_from_slice(number.as_bytes());
            bytes.push(if *is_match { b':' } else { b'-' });
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        Item::Break => bytes.extend_from_slice(b"--\n"),
    }
}
