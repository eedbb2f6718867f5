//! Which part of an artifact is wanted, and handing it out piece by piece in bounded memory.

use super::grep::{Grep, GrepSearch};
use super::reader::{Artifact, Located};
use crate::output::{Source, StreamPiece};
use std::io;
use std::ops::ControlFlow;

/// Bytes of one read.
const BLOCK: u64 = 256 * 1024;

/// A part of an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Range {
    /// All of it.
    #[default]
    Whole,
    /// Lines, counted from 1, both ends included; `None` for the last one.
    Lines(u64, Option<u64>),
    /// Bytes, counted from 0, both ends included; `None` for the last one.
    Bytes(u64, Option<u64>),
    /// The last lines.
    Tail(u64),
}

/// A selection of an artifact.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The part.
    pub range: Range,
    /// Within it, only lines that match, and those around them.
    pub grep: Option<Grep>,
}

/// A piece of what was selected.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// Bytes, as the command wrote them; a search has [`Item::Line`] instead.
    Bytes(&'a [u8]),
    /// This many bytes were dropped here.
    Dropped(u64),
    /// A line that was found, or one around it.
    Line {
        /// Its number, from 1; `None` after a gap whose lines were not counted.
        number: Option<u64>,
        /// Whether it matched.
        is_match: bool,
        /// The line without its newline.
        bytes: &'a [u8],
    },
    /// Marks lines that were left out between shown lines of a search.
    Break,
}

/// Takes the pieces of a selection one by one, and may stop early.
pub(super) type Visit<'a> = dyn FnMut(Item<'_>) -> ControlFlow<()> + 'a;

impl Artifact {
    /// Hands out the selection in order, until there is no more or the visitor has had enough.
    pub fn select(
        &self,
        selection: &Selection,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let range = self.bytes_of(selection.range)?;
        let Some(grep) = &selection.grep else {
            return self.pass_on(range, visit);
        };
        let number = self.number_at(range.start, selection.range)?;
        let mut search = GrepSearch::new(grep, number);
        let end = self.walk(range, &mut |piece, behind| match piece {
            StreamPiece::Dropped(count) => search.gap(count, self.lines_before(behind), visit),
            shown => search.push(&shown.shown().unwrap_or_default(), visit),
        })?;
        if end.is_continue() {
            let _ = search.finish(visit);
        }
        Ok(())
    }

    fn pass_on(&self, range: std::ops::Range<u64>, visit: &mut Visit<'_>) -> io::Result<()> {
        let end = self.walk(range, &mut |piece, _| match piece {
            StreamPiece::Dropped(count) => visit(Item::Dropped(count)),
            shown => visit(Item::Bytes(&shown.shown().unwrap_or_default())),
        });
        end.map(|_| ())
    }

    /// Hands out a range block by block, each with the offset after it; a gap is one piece, however
    /// long.
    pub(super) fn walk(
        &self,
        range: std::ops::Range<u64>,
        each: &mut dyn FnMut(StreamPiece, u64) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let view = self.view();
        let mut offset = range.start;
        let mut dropped = 0;
        while offset < range.end {
            for piece in view
                .source()
                .read(offset..(offset + BLOCK).min(range.end))?
            {
                if let StreamPiece::Dropped(count) = piece {
                    dropped += count;
                    offset += count;
                    continue;
                }
                let gap = std::mem::take(&mut dropped);
                if gap > 0 && each(StreamPiece::Dropped(gap), offset).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                offset += piece.span();
                if each(piece, offset).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(match dropped {
            0 => ControlFlow::Continue(()),
            gap => each(StreamPiece::Dropped(gap), offset),
        })
    }

    /// The bytes of a range. A line whose start was dropped begins at the gap, so that the gap is
    /// reported.
    pub(super) fn bytes_of(&self, range: Range) -> io::Result<std::ops::Range<u64>> {
        let end = self.len();
        let bytes = match range {
            Range::Whole => 0..end,
            Range::Bytes(first, last) => {
                first..last.map_or(end, |last| last.saturating_add(1).min(end))
            }
            Range::Lines(first, last) => {
                let start = self.start_of(first.saturating_sub(1))?;
                let upto = match last {
                    Some(last) => self.end_of(last)?,
                    None => end,
                };
                start..upto
            }
            Range::Tail(lines) => {
                let first = self.line_count()?.saturating_sub(lines);
                self.start_of(first)?..end
            }
        };
        Ok(bytes.start.min(end)..bytes.end.max(bytes.start.min(end)))
    }

    fn start_of(&self, line: u64) -> io::Result<u64> {
        Ok(match self.locate(line)? {
            Located::At(offset) => offset,
            Located::Dropped(gap) => gap.start,
            Located::Beyond => self.len(),
        })
    }

    fn end_of(&self, line: u64) -> io::Result<u64> {
        Ok(match self.locate(line)? {
            Located::At(offset) => offset,
            Located::Dropped(gap) => gap.end,
            Located::Beyond => self.len(),
        })
    }

    /// The number of the line in which a range begins, from 1.
    fn number_at(&self, offset: u64, range: Range) -> io::Result<Option<u64>> {
        Ok(match range {
            Range::Lines(first, _) => Some(first.max(1)),
            Range::Tail(lines) => Some(self.line_count()?.saturating_sub(lines) + 1),
            Range::Whole | Range::Bytes(..) => self.count_before(offset)?.map(|lines| lines + 1),
        })
    }

    /// The newlines before an offset, unless a gap hides them.
    fn count_before(&self, offset: u64) -> io::Result<Option<u64>> {
        let (mut at, mut lines) = self.step_before(offset);
        while at < offset {
            for piece in self.read(at..(at + BLOCK).min(offset))? {
                match piece {
                    StreamPiece::Kept(bytes) => {
                        lines += memchr::memchr_iter(b'\n', &bytes).count() as u64;
                        at += bytes.len() as u64;
                    }
                    StreamPiece::Dropped(_) | StreamPiece::Replaced { .. } => return Ok(None),
                }
            }
        }
        Ok(Some(lines))
    }
}
