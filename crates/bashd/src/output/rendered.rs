//! The window over rendered lines: what a person would see in a terminal, cut to size.
//!
//! Like [`super::window`], but lines are rendered first (escape sequences, `\r`, the cap on their
//! length) and limits count rendered bytes. Newlines are never added or removed, so line numbers
//! are those of the stream.

use super::ends::{self, End, Shown};
use super::plain_line::{Cap, ELLIPSIS};
use super::window::{Keep, Parts, Window};
use super::{Capture, Extent, Omitted, Source};
use std::io;

/// Cuts the rendered lines of `source` to `window`.
pub(crate) fn capture(
    source: &dyn Source,
    window: &Window,
    cap: Cap,
    keep: &mut Keep<'_>,
) -> io::Result<Capture> {
    let (bytes, lines) = (source.len(), source.lines());
    let end = ends::last_lines(source, bytes, cap, window.max)?;
    if end.complete && end.text_bytes <= window.max {
        let all = joined(&end);
        if all.cut_lines > 0 {
            keep();
        }
        return Ok(Capture {
            extent: Extent {
                lines: all.lines,
                head: all.lines,
                tail: 0,
                bytes: all.text.len(),
                cut_lines: all.cut_lines,
                cut_bytes: all.cut,
            },
            text: all.text,
            bytes,
            lines,
            omitted: None,
        });
    }
    let head = match window.head {
        0 => Part::default(),
        limit => prefix(&ends::first_lines(source, bytes, cap, limit)?, limit),
    };
    let tail = suffix(
        &end,
        window.tail.min(window.max.saturating_sub(window.head)),
    );
    let between = source.between(head.raw..bytes.saturating_sub(tail.raw));
    let omitted = Omitted {
        bytes: bytes.saturating_sub(head.raw + tail.raw + between.bytes),
        lines: lines.saturating_sub(head.newlines + tail.newlines + between.lines),
    };
    let parts = Parts {
        head: &head.text,
        tail: &tail.text,
        got: bytes,
        omitted,
    };
    Ok(Capture {
        text: window.arrange(&parts, keep()),
        bytes,
        lines,
        omitted: Some(omitted),
        extent: Extent {
            lines: lines + u64::from(source.has_open_end()?),
            head: head.lines,
            tail: tail.lines,
            bytes: head.text.len() + tail.text.len(),
            cut_lines: head.cut_lines + tail.cut_lines,
            cut_bytes: head.cut + tail.cut,
        },
    })
}

/// The last `limit` bytes of rendered text of a stream that may still grow beyond `length`.
pub(crate) fn tail(source: &dyn Source, length: u64, limit: usize) -> io::Result<String> {
    let end = ends::last_lines(source, length, None, limit)?;
    Ok(suffix(&end, limit).text)
}

/// Lines put together.
#[derive(Debug, Default)]
struct Part {
    text: String,
    raw: u64,
    lines: u64,
    newlines: u64,
    cut: u64,
    cut_lines: u64,
}

impl Part {
    fn count(&mut self, shown: &Shown) {
        self.raw += shown.raw;
        self.lines += 1;
        self.newlines += u64::from(shown.text.ends_with('\n'));
        self.cut += shown.cut;
        self.cut_lines += u64::from(shown.cut > 0);
    }

    /// A partly shown line: its bytes count as they are shown.
    fn count_piece(&mut self, text: &str) {
        self.raw += text.len() as u64;
        self.lines += u64::from(!text.is_empty());
        self.newlines += u64::from(text.ends_with('\n'));
    }

    /// Likewise for the end of a line, where the cut may be visible.
    fn count_end(&mut self, text: &str, shown: &Shown) {
        self.count_piece(text);
        if shown.cut > 0 && text.trim_end_matches('\n').ends_with(ELLIPSIS) {
            self.raw += shown.cut;
            self.raw -= ELLIPSIS.len_utf8() as u64;
            self.cut += shown.cut;
            self.cut_lines += 1;
        }
    }
}

fn joined(end: &End) -> Part {
    let mut part = Part::default();
    for shown in &end.lines {
        part.text.push_str(&shown.text);
        part.count(shown);
    }
    part
}

/// The first `limit` bytes, or a little less to keep a character whole.
fn prefix(end: &End, limit: usize) -> Part {
    let mut part = Part::default();
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
fn suffix(end: &End, limit: usize) -> Part {
    let mut part = Part::default();
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
