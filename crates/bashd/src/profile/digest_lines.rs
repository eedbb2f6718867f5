//! The lines of a digest within a window: which headings they are below, and which lines of the raw
//! output they show. A reader who follows the address of a notice finds the raw output, so that is
//! what the numbers of notices count, as far as they are known.

use crate::minimize::{Digest, LinePlace};
use crate::output::Omitted;
use crate::output::window::Windowed;

/// First and last line, from 1.
type LineRange = (u64, u64);

/// A digest in its window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DigestWindow {
    /// Lines of the raw output.
    pub(crate) raw_lines: u64,
    /// Lines of the digest.
    pub(crate) lines: u64,
    /// Bytes of the digest.
    pub(crate) bytes: u64,
    /// Which lines of the raw output are shown, from its start and from its end, where that is
    /// known.
    pub(crate) shown: Option<(LineRange, LineRange)>,
}

/// The lines of a digest.
pub(crate) struct DigestLines<'a> {
    text: &'a str,
    raw: &'a str,
    lines: Vec<&'a str>,
    places: Vec<LinePlace>,
}

impl<'a> DigestLines<'a> {
    /// The lines of a digest with its footer.
    pub(crate) fn of(digest: &Digest, text: &'a str, raw: &'a str) -> Self {
        Self {
            text,
            raw,
            lines: text.split_inclusive('\n').collect(),
            places: places(digest),
        }
    }

    fn place(&self, line: u64) -> LinePlace {
        let place = usize::try_from(line)
            .ok()
            .and_then(|line| self.places.get(line));
        place.copied().unwrap_or_default()
    }

    /// The headings of a line, outermost first, each a whole line.
    pub(crate) fn headings_above(&self, line: Option<u64>) -> String {
        let mut above = Vec::new();
        let mut at = line.and_then(|line| self.place(line).heading);
        while let Some(heading) = at {
            above.extend(self.lines.get(heading).copied());
            // A heading is above its lines, so this comes to an end.
            at = self
                .place(heading as u64)
                .heading
                .filter(|next| *next < heading);
        }
        above.reverse();
        above.concat()
    }

    /// What of the raw output a window shows.
    pub(crate) fn ranges(&self, windowed: &Windowed) -> DigestWindow {
        let raw_lines = count(self.raw);
        let lines = self.lines.len() as u64;
        let head = windowed.lines_of_head();
        let first_of_tail = windowed.first_of_tail();
        let first = |from: u64| (from..lines).find_map(|line| self.place(line).raw_line);
        let shown = (!self.places.is_empty()).then(|| {
            let head = match head {
                0 => (0, 0),
                _ => (
                    1,
                    first(head).map_or(raw_lines, |next| next.saturating_sub(1)),
                ),
            };
            let tail = first_of_tail.and_then(first);
            (head, tail.map_or((0, 0), |first| (first, raw_lines)))
        });
        DigestWindow {
            raw_lines,
            lines,
            bytes: self.text.len() as u64,
            shown,
        }
    }

    /// What of the raw output is between the ends that a window shows.
    pub(crate) fn omitted(&self, windowed: &Windowed, window: &DigestWindow) -> Option<Omitted> {
        let ((_, before), (after, _)) = window.shown?;
        windowed.first_of_tail()?;
        let end = |line: u64| -> u64 {
            let lines = self.raw.split_inclusive('\n').take(line as usize);
            lines.map(|line| line.len() as u64).sum()
        };
        let after = after.max(before + 1);
        Some(Omitted {
            bytes: end(after - 1) - end(before),
            lines: after - 1 - before,
        })
    }
}

/// Where the lines come from; nothing where nobody knows.
fn places(digest: &Digest) -> Vec<LinePlace> {
    let places = digest.places();
    if places.iter().all(|place| place.raw_line.is_none()) {
        return Vec::new();
    }
    places
}

/// Lines of a text. A last one without an end is one.
fn count(text: &str) -> u64 {
    text.split_inclusive('\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::in_memory::InMemory;
    use crate::output::window::{self, TextReader, Window};

    /// Two files of three matches each, below their names, and a footer.
    const TEXT: &str = "a.rs\n 1: x\n 2: x\n 3: x\nb.rs\n 1: y\n 2: y\n 3: y\n[minimized]\n";
    const RAW: &str = "a.rs:1: x\na.rs:2: x\na.rs:3: x\nb.rs:1: y\nb.rs:2: y\nb.rs:3: y\n";

    fn lines() -> DigestLines<'static> {
        let place = |raw, heading| {
            let mut place = LinePlace::default();
            (place.raw_line, place.heading) = (Some(raw), heading);
            place
        };
        DigestLines {
            text: TEXT,
            raw: RAW,
            lines: TEXT.split_inclusive('\n').collect(),
            places: vec![
                place(1, None),
                place(1, Some(0)),
                place(2, Some(0)),
                place(3, Some(0)),
                place(4, None),
                place(4, Some(4)),
                place(5, Some(4)),
                place(6, Some(4)),
                LinePlace::default(),
            ],
        }
    }

    fn cut(head: usize, tail: usize) -> Windowed {
        let window = Window {
            unit: crate::output::TextUnit::Bytes,
            max: head + tail,
            head,
            tail,
            template: "{head}{tail}".to_owned(),
            artifact: String::new(),
            settable_head: None,
        };
        let mut cut = window::cut_text(&InMemory(TEXT), &window, TextReader::Decoded).unwrap();
        cut.begin_at_a_line(TEXT);
        cut
    }

    #[test]
    fn an_end_is_counted_in_the_raw_output_and_has_its_heading() {
        let lines = lines();
        // The end of one row, two whole rows and the footer.
        let end = cut(0, " y\n 2: y\n 3: y\n[minimized]\n".len());
        assert_eq!(end.first_of_tail(), Some(6));
        assert_eq!(lines.headings_above(end.first_of_tail()), "b.rs\n");
        let window = lines.ranges(&end);
        assert_eq!((window.raw_lines, window.lines), (6, 9));
        assert_eq!(window.shown, Some(((0, 0), (5, 6))));
        let omitted = lines.omitted(&end, &window).unwrap();
        assert_eq!((omitted.bytes, omitted.lines), (40, 4));
    }

    #[test]
    fn both_ends_are_counted_in_the_raw_output() {
        let lines = lines();
        let ends = cut("a.rs\n 1: x\n 2: x\n".len(), " 3: y\n[minimized]\n".len());
        let window = lines.ranges(&ends);
        assert_eq!(window.shown, Some(((1, 2), (6, 6))));
        let omitted = lines.omitted(&ends, &window).unwrap();
        assert_eq!((omitted.bytes, omitted.lines), (30, 3));
    }

    #[test]
    fn headings_of_headings_come_first_and_end() {
        let mut lines = lines();
        lines.places[4].heading = Some(0);
        assert_eq!(lines.headings_above(Some(6)), "a.rs\nb.rs\n");
        lines.places[4].heading = Some(4);
        assert_eq!(lines.headings_above(Some(6)), "b.rs\n");
    }
}
