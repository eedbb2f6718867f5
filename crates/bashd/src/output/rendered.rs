//! A stream's lines as text: what a person would see in a terminal.
//!
//! Lines are rendered first (escape sequences, `\r`, the cap on their length), and limits count the
//! bytes of that. Newlines are never added or taken away, so that line numbers are those of the
//! stream.

use super::Source;
use super::ends::{self, ShownLine, StreamEnd};
use super::plain_line::{Cap, ELLIPSIS};
use super::window::{ShownPart, TextEnds};
use std::io;

/// The rendered lines of a stream.
pub(super) struct RenderedText<'a> {
    source: &'a dyn Source,
    bytes: u64,
    cap: Cap,
    /// What was read from its end, once that was done.
    end: StreamEnd,
}

impl<'a> RenderedText<'a> {
    pub(super) fn new(source: &'a dyn Source, cap: Cap) -> Self {
        Self {
            source,
            bytes: source.len(),
            cap,
            end: StreamEnd::default(),
        }
    }
}

impl TextEnds for RenderedText<'_> {
    fn whole(&mut self, limit: usize) -> io::Result<Option<ShownPart>> {
        self.end = ends::last_lines(self.source, self.bytes, self.cap, limit)?;
        let fits = self.end.complete && self.end.text_bytes <= limit;
        Ok(fits.then(|| joined(&self.end)))
    }

    fn first(&mut self, limit: usize) -> io::Result<ShownPart> {
        if limit == 0 {
            return Ok(ShownPart::default());
        }
        let start = ends::first_lines(self.source, self.bytes, self.cap, limit)?;
        Ok(prefix(&start, limit))
    }

    fn last(&mut self, limit: usize) -> io::Result<ShownPart> {
        Ok(suffix(&self.end, limit))
    }

    fn size(&self, _limit: usize) -> u64 {
        self.bytes
    }
}

/// The last `limit` bytes of rendered text of a stream that may still grow beyond `length`.
pub(crate) fn tail(source: &dyn Source, length: u64, limit: usize) -> io::Result<String> {
    let end = ends::last_lines(source, length, None, limit)?;
    Ok(suffix(&end, limit).text)
}

impl ShownPart {
    fn count(&mut self, shown: &ShownLine) {
        self.raw += shown.raw;
        self.span += shown.raw;
        self.lines += 1;
        self.newlines += u64::from(shown.text.ends_with('\n'));
        self.cut += shown.cut;
        self.cut_lines += u64::from(shown.cut > 0);
    }

    /// A partly shown line: its bytes count as they are shown.
    fn count_piece(&mut self, text: &str) {
        self.raw += text.len() as u64;
        self.span += text.len() as u64;
        self.lines += u64::from(!text.is_empty());
        self.newlines += u64::from(text.ends_with('\n'));
    }

    /// Likewise for the end of a line, where the cut may be visible.
    fn count_end(&mut self, text: &str, shown: &ShownLine) {
        self.count_piece(text);
        if shown.cut > 0 && text.trim_end_matches('\n').ends_with(ELLIPSIS) {
            self.raw += shown.cut;
            self.raw -= ELLIPSIS.len_utf8() as u64;
            self.span = self.raw;
            self.cut += shown.cut;
            self.cut_lines += 1;
        }
    }
}

fn joined(end: &StreamEnd) -> ShownPart {
    let mut part = ShownPart::default();
    for shown in &end.lines {
        part.text.push_str(&shown.text);
        part.count(shown);
    }
    part
}

/// The first `limit` bytes, or a little less to keep a character whole.
fn prefix(end: &StreamEnd, limit: usize) -> ShownPart {
    let mut part = ShownPart::default();
    for shown in &end.lines {
        let room = limit - part.text.len();
        if shown.text.len() <= room {
            part.text.push_str(&shown.text);
            part.count(shown);
        } else {
            let upto = shown.text.floor_char_boundary(room);
            let piece = shown.text.get(..upto).unwrap_or_default();
            part.text.push_str(piece);
            part.count_piece(piece);
            break;
        }
    }
    part
}

/// The last `limit` bytes, or a little less to keep a character whole.
fn suffix(end: &StreamEnd, limit: usize) -> ShownPart {
    let mut part = ShownPart::default();
    let mut pieces: Vec<&str> = Vec::new();
    let mut room = limit;
    for shown in end.lines.iter().rev() {
        if shown.text.len() <= room {
            pieces.push(&shown.text);
            part.count(shown);
            room -= shown.text.len();
        } else {
            let from = shown.text.ceil_char_boundary(shown.text.len() - room);
            let piece = shown.text.get(from..).unwrap_or_default();
            pieces.push(piece);
            part.count_end(piece, shown);
            break;
        }
    }
    pieces.reverse();
    part.text = pieces.concat();
    part
}

#[cfg(test)]
mod tests;
