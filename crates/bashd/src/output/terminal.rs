//! A terminal's bytes as text: lines, or the last picture of a program that drew.
//!
//! The spool keeps what the command wrote, byte by byte. Here it becomes text: carriage returns
//! before newlines and escape sequences are removed. A program that drew (moved the cursor, used
//! the alternate screen) wrote frames; only what a person would have seen in the end becomes text.
//! Long output is not held in full: like the spool, this keeps the beginning and the end.

use super::terminal_lines::{AfterReturn, LineSink, TerminalLines, Written};
use super::{Source, StreamPiece};
use crate::profile::rules::CarriageReturn;
use crate::screen::{Screen, Sight, Size};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;

/// Bytes that are read at once.
const CHUNK: u64 = 256 * 1024;

/// Bytes of text that are held from the beginning, and from the end.
const HELD: usize = 1024 * 1024;

/// A terminal's output as text.
pub(crate) struct TerminalText {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Bytes after the head.
    after_head: u64,
    /// Whether the head is complete: it is full, or bytes are missing after it.
    is_past_head: bool,
    lines: u64,
}

impl TerminalText {
    /// Reads what a terminal of this size was sent.
    pub(crate) fn of(
        source: &dyn Source,
        size: Size,
        carriage_return: CarriageReturn,
    ) -> io::Result<Self> {
        let mut text = Self::empty();
        if drew(source)? {
            let mut screen = Screen::new(size);
            for_each(source, |piece| {
                if let StreamPiece::Kept(bytes) = piece {
                    screen.feed(&bytes);
                }
            })?;
            let picture = screen.final_text();
            text.push(picture.as_bytes());
            if !picture.is_empty() {
                text.push(b"\n");
            }
            return Ok(text);
        }
        let after_return = match carriage_return {
            CarriageReturn::Rewrites => AfterReturn::Overwrites,
            CarriageReturn::EndsLine => AfterReturn::EndsLine,
        };
        let mut decoder = super::text::Decoder::default();
        let mut lines = TerminalLines::new(text, after_return);
        for_each(source, |piece| match piece {
            StreamPiece::Kept(bytes) => lines.push(&decoder.push(&bytes)),
            StreamPiece::Replaced { by, .. } => lines.push(&decoder.push(by.as_bytes())),
            StreamPiece::Dropped(count) => lines.sink_mut().skip(count),
        })?;
        lines.push(&decoder.finish());
        Ok(lines.finish())
    }

    /// Just these words.
    pub(crate) fn saying(words: &str) -> Self {
        let mut text = Self::empty();
        text.push(words.as_bytes());
        text
    }

    fn empty() -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            after_head: 0,
            is_past_head: false,
            lines: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let room = if self.is_past_head {
            0
        } else {
            HELD - self.head.len()
        };
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend(first);
        if rest.is_empty() {
            return;
        }
        self.is_past_head = true;
        self.after_head += rest.len() as u64;
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(HELD);
        self.tail.drain(..excess);
    }

    /// Missing bytes: what precedes them is the beginning, what follows is the end.
    fn skip(&mut self, count: u64) {
        self.is_past_head = true;
        self.after_head += count;
        self.tail.clear();
    }
}

impl Source for TerminalText {
    fn len(&self) -> u64 {
        self.head.len() as u64 + self.after_head
    }

    fn lines(&self) -> u64 {
        self.lines
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        let head_end = self.head.len() as u64;
        let tail_start = self.len() - self.tail.len() as u64;
        let within = |from: u64, to: u64| range.start.clamp(from, to)..range.end.clamp(from, to);
        let head = within(0, head_end);
        let gone = within(head_end, tail_start);
        let tail = within(tail_start, self.len());
        let kept = self.head.get(head.start as usize..head.end as usize);
        let skipped = (tail.start - tail_start) as usize;
        let ending = self
            .tail
            .iter()
            .skip(skipped)
            .take((tail.end - tail.start) as usize);
        let pieces = [
            StreamPiece::Kept(kept.unwrap_or_default().to_vec()),
            StreamPiece::Dropped(gone.end - gone.start),
            StreamPiece::Kept(ending.copied().collect()),
        ];
        let is_something = |piece: &StreamPiece| match piece {
            StreamPiece::Kept(bytes) => !bytes.is_empty(),
            StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => *count > 0,
        };
        Ok(pieces.into_iter().filter(is_something).collect())
    }
}

fn drew(source: &dyn Source) -> io::Result<bool> {
    let (mut sight, mut drew) = (Sight::default(), false);
    for_each(source, |piece| {
        if let StreamPiece::Kept(bytes) = piece {
            drew = sight.feed(&bytes);
        }
    })?;
    Ok(drew)
}

fn for_each(source: &dyn Source, mut take: impl FnMut(StreamPiece)) -> io::Result<()> {
    let mut at = 0;
    while at < source.len() {
        let upto = source.len().min(at + CHUNK);
        source.read(at..upto)?.into_iter().for_each(&mut take);
        at = upto;
    }
    Ok(())
}

impl LineSink for TerminalText {
    type Pen = ();

    fn part(&mut self, characters: &[Written<()>]) {
        let text: String = characters.iter().map(|(one, ())| one).collect();
        self.push(text.as_bytes());
    }

    fn line(&mut self, characters: &[Written<()>]) {
        self.part(characters);
        self.push(b"\n");
    }

    // What was handed over may not be held any more; a line of that length stays.
    fn anew(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixed::Fixed;

    fn text_of(bytes: &str, carriage_return: CarriageReturn) -> String {
        let source = Fixed::text(bytes).in_pieces_of(3);
        let text = TerminalText::of(&source, Size::default(), carriage_return).unwrap();
        let pieces = text.read(0..text.len()).unwrap();
        let kept = pieces.into_iter().map(|piece| match piece {
            StreamPiece::Kept(bytes) => String::from_utf8(bytes).unwrap(),
            StreamPiece::Dropped(count) => format!("<{count}>"),
            StreamPiece::Replaced { by, .. } => by,
        });
        kept.collect()
    }

    #[test]
    fn lines_lose_their_carriage_returns_and_colours() {
        for (bytes, rewritten, ended) in [
            ("one\r\ntwo\r\n", "one\ntwo\n", "one\ntwo\n"),
            ("\x1b[31mred\x1b[0m日\r\n", "red日\n", "red日\n"),
            ("10%\r20%\r\n", "20%\n", "10%\n20%\n"),
            ("long line\rX\r\n", "Xong line\n", "long line\nX\n"),
            ("long\r\x1b[Kx\r\n", "x\n", "long\nx\n"),
            ("a\tb\x07c\x08d\r\n", "a\tbd\n", "a\tbd\n"),
            ("a\r\r\nb", "a\nb", "a\n\nb"),
            ("no end", "no end", "no end"),
            ("", "", ""),
        ] {
            assert_eq!(
                text_of(bytes, CarriageReturn::Rewrites),
                rewritten,
                "{bytes:?}"
            );
            assert_eq!(text_of(bytes, CarriageReturn::EndsLine), ended, "{bytes:?}");
        }
    }

    #[test]
    fn of_a_picture_only_the_last_stays() {
        let frames = "\x1b[2J\x1b[Hframe 1\x1b[Hframe 2\r\nbelow";
        assert_eq!(
            text_of(frames, CarriageReturn::Rewrites),
            "frame 2\nbelow\n"
        );
        let left = "\x1b[?1049hpicture\x1b[?1049l";
        assert_eq!(text_of(left, CarriageReturn::Rewrites), "picture\n");
    }

    #[test]
    fn the_middle_of_a_flood_is_counted_and_not_held() {
        let flood = "0123456789\r\n".repeat(400_000);
        let source = Fixed::text(&flood);
        let text = TerminalText::of(&source, Size::default(), CarriageReturn::Rewrites).unwrap();
        assert_eq!((text.len(), text.lines()), (4_400_000, 400_000));
        assert!(text.head.len() + text.tail.len() <= 2 * HELD);
        let pieces = text.read(0..text.len()).unwrap();
        let lengths = pieces.iter().map(|piece| match piece {
            StreamPiece::Kept(bytes) => bytes.len() as u64,
            StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => *count,
        });
        assert_eq!(lengths.sum::<u64>(), text.len());
        assert_eq!(
            text.read(4_399_996..4_400_000).unwrap(),
            [StreamPiece::Kept(b"789\n".to_vec())]
        );
    }

    #[test]
    fn bytes_that_are_gone_are_a_gap_of_their_size() {
        let source = Fixed::text("begin\r\n......end\r\n").without(7..13);
        let text = TerminalText::of(&source, Size::default(), CarriageReturn::Rewrites).unwrap();
        let expected = [
            StreamPiece::Kept(b"begin\n".to_vec()),
            StreamPiece::Dropped(6),
            StreamPiece::Kept(b"end\n".to_vec()),
        ];
        assert_eq!(text.read(0..text.len()).unwrap(), expected);
    }
}
