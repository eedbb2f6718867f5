//! The one truncation algorithm: which part of a stream a reply shows.
//!
//! Limits count bytes of decoded text, because that is what a reply costs. Decoding never shortens,
//! so one raw byte more than `max` decides whether a text fits; only the ends of a longer one are
//! read, and memory is bounded whatever the stream's length. That one byte is also enough to keep
//! characters whole at the edge of what was read: an incomplete one there has at most three bytes,
//! counts as three when it is decoded, and so is always the one that no longer fits.

use super::text;
use super::walk::{self, Segment};
use super::{Capture, Extent, Omitted, Source};
use crate::artifact::{self, Kept};
use crate::template;
use serde::Deserialize;
use std::borrow::Cow;
use std::io;

/// How much of a text is shown, and what replaces the rest.
///
/// Every strategy of every profile is a value of this: keep the head (`tail = 0`), keep both ends,
/// keep a middle snip. A text of at most `max` bytes is shown as it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// A decoded text of at most this many bytes is shown in full.
    pub max: usize,
    /// Of a longer one, at most this many first bytes,
    pub head: usize,
    /// and at most this many last bytes. `head + tail` is at most `max`.
    pub tail: usize,
    /// How they are arranged. Placeholders: `{head}`, `{head_lines}` (with a newline at its end),
    /// `{tail}`, `{got}` and `{max}` (sizes for people, `195kB`), `{omitted_bytes}`,
    /// `{omitted_lines}`, `{elided_lines}` and `{elided_size}` (the same as `1,234 lines` and
    /// `11.7KB`), `{artifact}`.
    pub template: String,
    /// The value of `{artifact}` when all of the output was stored: `{address}`. Empty otherwise.
    #[serde(default)]
    pub artifact: String,
    /// What applies if a setting says how much of the start is shown; `None` if no setting may.
    #[serde(default)]
    pub settable_head: Option<SettableHead>,
}

/// The arrangements of a window whose head is set: they replace its template and have the same
/// placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettableHead {
    /// Start and end are shown.
    pub both_ends: String,
    /// Only the end is.
    pub end_only: String,
}

/// Stores the output of the run being shown, if that is wanted and possible. A window that has to
/// leave something out calls it.
pub(crate) type Keep<'a> = dyn FnMut() -> Option<Kept> + 'a;

impl Window {
    /// Shows at most this many bytes of the start, if the profile lets that be set. The end keeps
    /// at least half of the room: that is where a command says how it went.
    pub(crate) fn set_head(&mut self, bytes: u64) {
        if let Some(settable) = &self.settable_head {
            let most = self.max / 2;
            self.head = usize::try_from(bytes).map_or(most, |bytes| bytes.min(most));
            self.tail = self.max - self.head;
            self.template = match self.head {
                0 => settable.end_only.clone(),
                _ => settable.both_ends.clone(),
            };
        }
    }

    /// The placeholders that a template may have.
    pub(crate) const PLACEHOLDERS: [&'static str; 10] = [
        "head",
        "head_lines",
        "tail",
        "got",
        "max",
        "omitted_bytes",
        "omitted_lines",
        "elided_lines",
        "elided_size",
        "artifact",
    ];

    /// Puts the shown parts into their arrangement.
    pub(super) fn arrange(&self, parts: &Parts<'_>, kept: Option<Kept>) -> String {
        template::fill(
            &self.template,
            &[
                ("head", parts.head),
                ("head_lines", &ended(parts.head)),
                ("tail", parts.tail),
                ("got", &size_for_people(parts.got)),
                ("max", &size_for_people(self.max as u64)),
                ("omitted_bytes", &parts.omitted.bytes.to_string()),
                ("omitted_lines", &parts.omitted.lines.to_string()),
                ("elided_lines", &counted_lines(parts.omitted.lines)),
                ("elided_size", &decimal_size(parts.omitted.bytes)),
                ("artifact", &self.artifact_text(kept)),
            ],
        )
    }

    fn artifact_text(&self, kept: Option<Kept>) -> String {
        kept.map_or_else(String::new, |kept| {
            let address = artifact::address(kept.id);
            template::fill(&self.artifact, &[("address", &address)])
        })
    }
}

/// What is shown of a text that is too long, and what is not.
pub(super) struct Parts<'a> {
    pub(super) head: &'a str,
    pub(super) tail: &'a str,
    /// Its total length.
    pub(super) got: u64,
    pub(super) omitted: Omitted,
}

/// A part of the stream as text, and which part it is.
#[derive(Debug, Default)]
struct Shown {
    text: String,
    raw: u64,
    lines: u64,
}

/// Cuts `source` to `window`.
///
/// What the source no longer has is replaced by a line and counts as omitted. `{got}` is the
/// decoded size if the whole had to be read, otherwise the size of the stream.
pub(crate) fn capture(
    source: &dyn Source,
    window: &Window,
    keep: &mut Keep<'_>,
) -> io::Result<Capture> {
    let (bytes, lines) = (source.len(), source.lines());
    let start = walk::forward(source, bytes, window.max)?;
    let omitted_beside = |raw: u64, shown_lines: u64| Omitted {
        bytes: bytes.saturating_sub(raw),
        lines: lines.saturating_sub(shown_lines),
    };
    let size = cost(&start.segments);
    if start.complete && size <= window.max {
        let whole = render(&start.segments);
        let omitted = omitted_beside(whole.raw, whole.lines);
        let all_lines = lines + u64::from(source.has_open_end()?);
        return Ok(Capture {
            extent: Extent {
                lines: all_lines,
                head: all_lines,
                bytes: whole.text.len(),
                ..Extent::default()
            },
            text: whole.text,
            bytes,
            lines,
            omitted: (omitted.bytes > 0).then_some(omitted),
        });
    }
    let first = head_of(start.segments, window.head.min(window.max));
    let tail_limit = window.tail.min(window.max.saturating_sub(window.head));
    let last = tail_of(source, bytes, tail_limit)?;
    let between = source.between(length(&first)..bytes.saturating_sub(length(&last)));
    let (head, tail) = (render(&first), render(&last));
    let omitted = omitted_beside(
        head.raw + tail.raw + between.bytes,
        head.lines + tail.lines + between.lines,
    );
    let got = if bytes > window.max as u64 {
        bytes
    } else {
        size as u64
    };
    let parts = Parts {
        head: &head.text,
        tail: &tail.text,
        got,
        omitted,
    };
    Ok(Capture {
        text: window.arrange(&parts, keep()),
        bytes,
        lines,
        omitted: Some(omitted),
        extent: Extent {
            lines: lines + u64::from(source.has_open_end()?),
            head: lines_in(&head.text),
            tail: lines_in(&tail.text),
            bytes: head.text.len() + tail.text.len(),
            ..Extent::default()
        },
    })
}

/// Lines of a text, including partial lines at its ends.
fn lines_in(text: &str) -> u64 {
    let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    newlines + u64::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Bytes of the stream that the segments stand for.
fn length(segments: &[Segment]) -> u64 {
    let lengths = segments.iter().map(|segment| match segment {
        Segment::Kept(bytes) => bytes.len() as u64,
        Segment::Lost(bytes) => *bytes,
    });
    lengths.sum()
}

/// Most bytes of text that the segments need.
fn cost(segments: &[Segment]) -> usize {
    segments
        .iter()
        .map(|segment| match segment {
            Segment::Kept(bytes) => text::decoded_len(bytes),
            Segment::Lost(bytes) => Segment::lost_cost(*bytes),
        })
        .sum()
}

/// The longest prefix of the segments whose text has at most `limit` bytes.
fn head_of(segments: Vec<Segment>, limit: usize) -> Vec<Segment> {
    let mut room = limit;
    let mut head = Vec::new();
    for segment in segments {
        match segment {
            Segment::Lost(bytes) if Segment::lost_cost(bytes) <= room => {
                room -= Segment::lost_cost(bytes);
                head.push(segment);
            }
            Segment::Lost(_) => break,
            Segment::Kept(mut bytes) => {
                let cut = text::prefix(&bytes, room);
                let is_cut = cut.raw < bytes.len();
                room -= cut.text.len();
                bytes.truncate(cut.raw);
                head.push(Segment::Kept(bytes));
                if is_cut {
                    break;
                }
            }
        }
    }
    head
}

/// The longest suffix of the stream whose text has at most `limit` bytes.
fn tail_of(source: &dyn Source, length: u64, limit: usize) -> io::Result<Vec<Segment>> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let end = walk::backward(source, length, limit)?;
    let mut room = limit;
    let mut tail = Vec::new();
    for segment in end.segments.into_iter().rev() {
        match segment {
            Segment::Lost(bytes) if Segment::lost_cost(bytes) <= room => {
                room -= Segment::lost_cost(bytes);
                tail.push(segment);
            }
            Segment::Lost(_) => break,
            Segment::Kept(mut bytes) => {
                let cut = text::suffix(&bytes, room);
                let is_cut = cut.raw < bytes.len();
                room -= cut.text.len();
                bytes.drain(..bytes.len() - cut.raw);
                tail.push(Segment::Kept(bytes));
                if is_cut {
                    break;
                }
            }
        }
    }
    tail.reverse();
    Ok(tail)
}

/// The text of segments that are shown in full.
fn render(segments: &[Segment]) -> Shown {
    let mut shown = Shown::default();
    for segment in segments {
        match segment {
            Segment::Kept(bytes) => {
                shown.text.push_str(&text::decode(bytes));
                shown.raw += bytes.len() as u64;
                shown.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
            }
            Segment::Lost(bytes) => {
                if !shown.text.is_empty() && !shown.text.ends_with('\n') {
                    shown.text.push('\n');
                }
                shown.text.push_str(&Segment::lost_line(*bytes));
            }
        }
    }
    shown
}

/// A text of whole lines.
fn ended(text: &str) -> Cow<'_, str> {
    if text.is_empty() || text.ends_with('\n') {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{text}\n"))
    }
}

/// `1,234 lines`, `1 line`.
pub(crate) fn counted_lines(count: u64) -> String {
    let noun = if count == 1 { "line" } else { "lines" };
    format!("{} {noun}", grouped(count))
}

/// A number with its digits grouped by three.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A size with one decimal: `12B`, `1.5KB`, `50.0KB`, `3.2MB`.
pub(crate) fn decimal_size(bytes: u64) -> String {
    const UNITS: [&str; 3] = ["KB", "MB", "GB"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = UNITS.first().copied().unwrap_or_default();
    for next in UNITS.into_iter().skip(1) {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{value:.1}{unit}")
}

/// A size as people write it: `4095B`, `128kB`, `3MB`.
fn size_for_people(bytes: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;
    const GIB: u64 = 1024 * MIB;
    match bytes {
        0..4096 => format!("{bytes}B"),
        4096..MIB => format!("{}kB", (bytes + KIB / 2) / KIB),
        MIB..GIB => format!("{}MB", (bytes + MIB / 2) / MIB),
        GIB.. => "more than 1GB".to_owned(),
    }
}

#[cfg(test)]
mod tests;
