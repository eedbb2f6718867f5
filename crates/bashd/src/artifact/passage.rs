//! A selection as one bounded text, for callers that answer with a text.

use super::reader::Artifact;
use super::select::{Item, Selection};
use crate::errand::CalledBack;
use crate::output::search::search;
use crate::output::slice::slice;
use crate::output::{OutputSearch, OutputSlice, SearchHits, SliceQuery, StreamPiece};
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
        if selection.grep.is_some() {
            return self.first_lines(selection, most);
        }
        let range = self.bytes_of(selection.range)?;
        let (mut bytes, mut next) = (Vec::new(), range.start);
        let end = self.walk(range.clone(), &mut |piece, behind| {
            let room = most.saturating_sub(bytes.len());
            match piece {
                StreamPiece::Kept(more) if more.len() > room => {
                    bytes.extend(more.get(..room).unwrap_or_default());
                    next = behind - (more.len() - room) as u64;
                    return ControlFlow::Break(());
                }
                StreamPiece::Kept(more) => bytes.extend(more),
                // A text that stands for bytes has another length than these, and no part of it
                // stands for a part of them.
                StreamPiece::Replaced { by, .. } if by.len() > room && !bytes.is_empty() => {
                    return ControlFlow::Break(());
                }
                StreamPiece::Replaced { by, .. } => bytes.extend(by.bytes()),
                StreamPiece::Dropped(count) => write(&Item::Dropped(count), &mut bytes),
            }
            next = behind;
            ControlFlow::Continue(())
        })?;
        let is_cut = end.is_break() && next < range.end;
        Ok(FirstPart {
            bytes,
            is_cut,
            rest: is_cut.then_some((next, range.end - 1)),
        })
    }

    fn first_lines(&self, selection: &Selection, most: usize) -> io::Result<FirstPart> {
        let (mut bytes, mut is_cut) = (Vec::new(), false);
        self.select(selection, &mut |item| {
            write(&item, &mut bytes);
            is_cut = bytes.len() > most;
            bytes.truncate(most);
            if is_cut {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        Ok(FirstPart {
            bytes,
            is_cut,
            rest: None,
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
