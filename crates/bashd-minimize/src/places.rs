//! Where the lines of a digest come from: their numbers in the raw text, and the headings that they
//! stand below.

use super::exact::rebuilt;
use super::{Digest, MARKER};

/// Where a shown line comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinePlace {
    /// The line of the raw text, counted from 1, that it shows, or the first of those that it
    /// stands for; none for a notice of ours, or where nobody knows (filters of users).
    pub raw_line: Option<u64>,
    /// The shown line, counted from 0, that is the heading above it; a heading may have one itself.
    /// Without its headings a line can't be read.
    pub heading: Option<usize>,
}

/// From which lines of the raw text those of a digest were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineOrigins {
    /// By the lines of the plain form and those that were kept of it; `None`: the same numbers.
    Known {
        raw_lines: Option<Vec<u32>>,
        plain_lines: Option<Vec<Option<u32>>>,
    },
    /// A user's filter may have written anything.
    Unknown,
}

impl LineOrigins {
    pub(crate) fn new(raw_lines: Option<Vec<u32>>, plain_lines: Option<Vec<Option<u32>>>) -> Self {
        Self::Known {
            raw_lines,
            plain_lines,
        }
    }

    /// The line of the raw text, from 0, of a rebuilt line.
    fn raw_line(&self, rebuilt: usize) -> Option<u64> {
        let Self::Known {
            raw_lines,
            plain_lines,
        } = self
        else {
            return None;
        };
        let plain = match plain_lines {
            Some(lines) => (*lines.get(rebuilt)?)? as usize,
            None => rebuilt,
        };
        match raw_lines {
            Some(lines) => lines.get(plain).map(|line| u64::from(*line)),
            None => Some(plain as u64),
        }
    }
}

impl Digest {
    /// Where each line of the text comes from, the footer included. Made anew at every call.
    pub fn places(&self) -> Vec<LinePlace> {
        let (lines, headings) = rebuilt(&self.text);
        let mut places: Vec<LinePlace> = headings
            .into_iter()
            .map(|heading| LinePlace {
                raw_line: None,
                heading,
            })
            .collect();
        let footer = self.text.lines().next_back();
        let is_footer = footer.is_some_and(|line| line.starts_with(MARKER));
        for (at, line) in lines.iter().enumerate().rev() {
            if let Some(place) = places.get_mut(line.shown) {
                place.raw_line = self.origins.raw_line(at).map(|line| line + 1);
            }
        }
        // A heading stands for what is below it.
        let last = places.len() - usize::from(is_footer);
        for at in (0..last.saturating_sub(1)).rev() {
            let next = places.get(at + 1).copied().unwrap_or_default();
            if next.heading == Some(at)
                && let Some(place) = places.get_mut(at)
            {
                place.raw_line = next.raw_line;
            }
        }
        places
    }
}
