//! The one truncation algorithm: which part of a stream a reply shows.
//!
//! Limits count bytes of text, because that is what a reply costs; a contract whose original counts
//! characters says so. A text that fits is shown whole;
//! of a longer one only its ends are read, so memory is bounded whatever the stream's length is. A
//! stream's reader (`decoded`, `rendered`) makes it text; only this file decides where to cut it.

use super::decoded::DecodedText;
use super::plain_line::Cap;
use super::rendered::RenderedText;
use super::{Capture, Extent, Omitted, Source, TextUnit};
use crate::artifact::{self, KeptArtifact};
use bashd_keeper::template;
use serde::Deserialize;
use std::borrow::Cow;
use std::io;

/// How much of a text is shown, and what replaces the rest.
///
/// Every strategy of every profile is a value of this: keep the head (`tail = 0`), keep both ends,
/// keep a middle snip. A text of at most `max` bytes, or of what `unit` says, is shown as it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// A decoded text of at most this many bytes is shown in full.
    pub max: usize,
    /// Of a longer one, at most this many first bytes,
    pub head: usize,
    /// and at most this many last bytes. `head + tail` is at most `max`.
    pub tail: usize,
    /// What these three count.
    #[serde(default)]
    pub unit: TextUnit,
    /// How they are arranged. Placeholders: `{head}`, `{head_lines}` (with a newline at its end),
    /// `{tail}`, `{got}` and `{max}` (sizes for people, `195kB`), `{omitted_bytes}`,
    /// `{omitted_lines}`, `{elided_lines}` and `{elided_size}` (the same as `1,234 lines` and
    /// `11.7KB`), `{artifact}`; `{head_whole}` (its whole lines), `{lines}` (of all the output),
    /// `{got_size}` (`106.3KB`), `{got_tokens}` and `{omitted_tokens}` (four bytes each),
    /// `{omitted_units}` (what `unit` says).
    pub template: String,
    /// The value of `{artifact}` when all of the output was stored: `{address}`, or `{path}`, a
    /// plain file with all of it; `{line}`, the first one that is not shown. Empty otherwise.
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

    /// The same window for fewer bytes, with both ends in proportion.
    pub(crate) fn scaled_to(&self, most: usize) -> Self {
        let share = |part: usize| {
            let part = part as u128 * most as u128 / (self.max.max(1) as u128);
            usize::try_from(part).unwrap_or(most)
        };
        Self {
            max: most,
            head: share(self.head),
            tail: share(self.tail),
            ..self.clone()
        }
    }

    /// The placeholders that a template may have.
    pub(crate) const PLACEHOLDERS: [&'static str; 16] = [
        "head",
        "head_lines",
        "head_whole",
        "got_size",
        "got_tokens",
        "omitted_tokens",
        "omitted_units",
        "lines",
        "tail",
        "got",
        "max",
        "omitted_bytes",
        "omitted_lines",
        "elided_lines",
        "elided_size",
        "artifact",
    ];

    /// What is shown of a text that is too long.
    fn words(&self, shown: &Windowed, kept: Option<&KeptArtifact>) -> String {
        let [head, tail] = &shown.ends;
        template::fill(
            &self.template,
            &[
                ("head", &head.text),
                ("head_lines", &ended(&head.text)),
                ("tail", &tail.text),
                ("head_whole", whole_lines(&head.text)),
                ("got_size", &decimal_size(shown.bytes)),
                ("got_tokens", &shown.bytes.div_ceil(TOKEN).to_string()),
                (
                    "omitted_tokens",
                    &shown.omitted.bytes.div_ceil(TOKEN).to_string(),
                ),
                ("lines", &shown.all_lines.to_string()),
                ("got", &size_for_people(shown.got)),
                ("max", &size_for_people(self.max as u64)),
                ("omitted_bytes", &shown.omitted.bytes.to_string()),
                ("omitted_lines", &shown.omitted.lines.to_string()),
                ("elided_lines", &counted_lines(shown.omitted.lines)),
                ("elided_size", &decimal_size(shown.omitted.bytes)),
                ("omitted_units", &shown.omitted_units.to_string()),
                (
                    "artifact",
                    &self.artifact_text(kept, shown.lines_of_head() + 1),
                ),
            ],
        )
    }

    fn artifact_text(&self, kept: Option<&KeptArtifact>, line: u64) -> String {
        kept.map_or_else(String::new, |kept| {
            let address = artifact::address(kept.id);
            let path = kept.path.as_ref().map(|path| path.display().to_string());
            let path = path.unwrap_or_else(|| address.clone());
            let line = line.to_string();
            let values = [("address", &*address), ("path", &*path), ("line", &*line)];
            template::fill(&self.artifact, &values)
        })
    }
}

/// A stream as text that can be read from either end.
///
/// There are two: the bytes decoded as they are (`decoded`), and lines as a terminal would show
/// them (`rendered`). Sizes are those of the text.
pub(super) trait TextEnds {
    /// Everything, if that is at most `limit` bytes.
    fn whole(&mut self, limit: usize) -> io::Result<Option<ShownPart>>;

    /// The longest start of at most `limit` bytes.
    fn first(&mut self, limit: usize) -> io::Result<ShownPart>;

    /// The longest end of at most `limit` bytes.
    fn last(&mut self, limit: usize) -> io::Result<ShownPart>;

    /// The length of a text that is longer than `limit` bytes, as far as it is known.
    fn size(&self, limit: usize) -> u64;
}

/// A part of a stream as text, and what of the stream it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShownPart {
    pub(super) text: String,
    /// Bytes of the stream that are shown.
    pub(super) raw: u64,
    /// Bytes of the stream from its beginning to its end, also counting what is gone.
    pub(super) span: u64,
    /// Lines of the text, also counting parts of lines at its ends.
    pub(super) lines: u64,
    /// Newlines of the stream.
    pub(super) newlines: u64,
    /// Bytes of the stream behind the cuts of lines that are too long.
    pub(super) cut: u64,
    /// Such lines.
    pub(super) cut_lines: u64,
}

/// A stream cut to its window, before it is put into words.
#[derive(Debug)]
pub(crate) struct Windowed {
    /// Both ends; the first is everything where `is_whole`.
    ends: [ShownPart; 2],
    is_whole: bool,
    /// How long the text is in all.
    got: u64,
    bytes: u64,
    lines: u64,
    all_lines: u64,
    omitted: Omitted,
    /// What is left out, in what the window counts.
    omitted_units: u64,
}

/// What text a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextReader {
    /// Its bytes, decoded.
    Decoded,
    /// Its lines as a terminal would show them, cut at this many bytes.
    Rendered(Cap),
}

/// Cuts the text of a stream to a window.
pub(crate) fn cut_text(
    source: &dyn Source,
    window: &Window,
    reader: TextReader,
) -> io::Result<Windowed> {
    match reader {
        TextReader::Decoded => cut(source, &mut DecodedText::new(source), window),
        TextReader::Rendered(cap) => cut(source, &mut RenderedText::new(source, cap), window),
    }
}

/// The one truncation algorithm, over either kind of text.
///
/// What the source no longer has becomes a line in its place and counts as omitted.
fn cut(source: &dyn Source, ends: &mut dyn TextEnds, window: &Window) -> io::Result<Windowed> {
    let (bytes, lines) = (source.len(), source.lines());
    let unit = window.unit;
    let whole = ends.whole(unit.most_bytes(window.max))?;
    let whole = whole.filter(|whole| unit.count(&whole.text) <= window.max);
    let is_whole = whole.is_some();
    let [first, last] = if let Some(whole) = whole {
        [whole, ShownPart::default()]
    } else {
        let tail = window.tail.min(window.max.saturating_sub(window.head));
        both_ends(ends, window, tail)?
    };
    let between = if is_whole {
        Omitted::default()
    } else {
        source.between(first.span..bytes.saturating_sub(last.span))
    };
    Ok(Windowed {
        is_whole,
        got: ends.size(window.max),
        bytes,
        lines,
        all_lines: lines + u64::from(source.has_open_end()?),
        omitted_units: if is_whole {
            0
        } else {
            unit.in_stream(source, first.span..bytes.saturating_sub(last.span))?
        },
        omitted: Omitted {
            bytes: bytes.saturating_sub(first.raw + last.raw + between.bytes),
            lines: lines.saturating_sub(first.newlines + last.newlines + between.lines),
        },
        ends: [first, last],
    })
}

/// The ends of a text that is too long. What the window counts may be shorter than bytes: then more
/// is read than is shown, to see where to cut.
fn both_ends(ends: &mut dyn TextEnds, window: &Window, tail: usize) -> io::Result<[ShownPart; 2]> {
    let (unit, head) = (window.unit, window.head.min(window.max));
    if unit == TextUnit::Bytes {
        return Ok([ends.first(head)?, ends.last(tail)?]);
    }
    let start = ends.first(unit.most_bytes(head))?;
    let head = unit.start(&start.text, head);
    // What `whole` has read is what `first` takes from.
    ends.whole(unit.most_bytes(window.max))?;
    let first = ends.first(head)?;
    let end = ends.last(unit.most_bytes(tail))?;
    let last = ends.last(unit.end(&end.text, tail))?;
    Ok([first, last])
}

impl Windowed {
    /// Whether something of the stream is not in the text, so that the whole should be kept.
    pub(crate) fn leaves_out(&self) -> bool {
        !self.is_whole || self.ends.iter().any(|part| part.cut_lines > 0)
    }

    /// The number, from 0, of the first line that is shown of the end, if the end is shown apart.
    pub(crate) fn first_of_tail(&self) -> Option<u64> {
        let [_, tail] = &self.ends;
        (!self.is_whole && tail.lines > 0).then(|| self.all_lines.saturating_sub(tail.lines))
    }

    /// How many lines are shown of the start.
    pub(crate) fn lines_of_head(&self) -> u64 {
        let [head, _] = &self.ends;
        if self.is_whole {
            self.all_lines
        } else {
            head.lines
        }
    }

    /// Has the end begin with a whole line, where it holds one: `source` is the text that was cut.
    pub(crate) fn begin_at_a_line(&mut self, source: &str) {
        let [_, tail] = &mut self.ends;
        let start = source.len().saturating_sub(tail.span as usize);
        let is_whole = start == 0 || source.as_bytes().get(start - 1) == Some(&b'\n');
        if self.is_whole || is_whole || tail.lines < 2 {
            return;
        }
        if let Some(end) = tail.text.find('\n') {
            tail.text.drain(..=end);
            let removed = end as u64 + 1;
            tail.raw = tail.raw.saturating_sub(removed);
            tail.span = tail.span.saturating_sub(removed);
            tail.lines -= 1;
            tail.newlines = tail.newlines.saturating_sub(1);
            self.omitted.bytes += removed;
            self.omitted.lines += 1;
        }
    }

    /// Repeats these lines before the end: it can't be read without them.
    pub(crate) fn head_the_end(&mut self, lines: &str) {
        let [_, tail] = &mut self.ends;
        tail.text.insert_str(0, lines);
    }

    /// Counts what is left out in another text than the one that was cut.
    pub(crate) fn count_omitted(&mut self, omitted: Omitted) {
        self.omitted = omitted;
    }

    /// Puts it into the window's words. `kept` is where the whole output is stored.
    pub(crate) fn arrange(self, window: &Window, kept: Option<&KeptArtifact>) -> Capture {
        let [head, tail] = &self.ends;
        let extent = Extent {
            lines: self.all_lines,
            head: if self.is_whole {
                self.all_lines
            } else {
                head.lines
            },
            tail: tail.lines,
            bytes: head.text.len() + tail.text.len(),
            cut_lines: head.cut_lines + tail.cut_lines,
            cut_bytes: head.cut + tail.cut,
        };
        let omitted = (!self.is_whole || self.omitted.bytes > 0).then_some(self.omitted);
        Capture {
            bytes: self.bytes,
            lines: self.lines,
            omitted,
            extent,
            text: if self.is_whole {
                let [whole, _] = self.ends;
                whole.text
            } else {
                window.words(&self, kept)
            },
        }
    }
}

/// Bytes that count as one token.
const TOKEN: u64 = 4;

/// The whole lines of a text, without the last newline; all of it if there is none.
fn whole_lines(text: &str) -> &str {
    text.rsplit_once('\n').map_or(text, |(lines, _)| lines)
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
