//! The last lines of a stream, as plain text: what a live view needs, in bounded memory.

use super::visible::{is_printable, tab, width};
use bashd::output::terminal_lines::{AfterReturn, LineSink, TerminalLines};
use std::collections::VecDeque;
use unicode_width::UnicodeWidthChar;

/// Bytes of one line that are held; beyond that only the columns are counted.
const MOST_BYTES: usize = 32 * 1024;

/// Takes pieces of output and keeps its last lines.
pub(super) struct LineStore {
    lines: TerminalLines<StoredLines>,
}

#[derive(Default)]
struct StoredLines {
    most: usize,
    /// Bytes of one line that are held.
    most_bytes: usize,
    finished: VecDeque<HeldLine>,
    current: HeldLine,
    /// Lines that are no longer held.
    dropped: usize,
}

/// A line, and how many of its columns are not held.
#[derive(Default, Clone)]
pub(super) struct HeldLine {
    pub(super) text: String,
    pub(super) beyond: usize,
}

impl HeldLine {
    /// A line of which nothing is missing.
    pub(super) fn whole(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            beyond: 0,
        }
    }

    /// Adds characters; beyond so many bytes it only counts their columns.
    fn append(&mut self, characters: &[char], most_bytes: usize) {
        for &character in characters {
            match character {
                '\t' => {
                    for _ in 0..tab(width(&self.text)) {
                        self.put(' ', most_bytes);
                    }
                }
                _ if is_printable(character) => self.put(character, most_bytes),
                _ => {}
            }
        }
    }

    fn put(&mut self, character: char, most_bytes: usize) {
        if self.text.len() < most_bytes {
            self.text.push(character);
        } else {
            self.beyond += character.width().unwrap_or_default();
        }
    }
}

impl LineStore {
    /// A store of at most this many finished lines.
    pub(super) fn keeping(most: usize) -> Self {
        Self::bounded(most, MOST_BYTES)
    }

    /// A store of everything, for text that is bounded already.
    pub(super) fn keeping_all() -> Self {
        Self::bounded(usize::MAX, usize::MAX)
    }

    fn bounded(most: usize, most_bytes: usize) -> Self {
        let lines = StoredLines {
            most,
            most_bytes,
            ..StoredLines::default()
        };
        Self {
            // A live view shows frames: each takes the place of the last one.
            lines: TerminalLines::new(lines, AfterReturn::Replaces),
        }
    }

    /// Takes a piece of output.
    pub(super) fn push(&mut self, text: &str) {
        self.lines.push(text);
    }

    /// The lines that are held; the last one only if it is not empty.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.held().map(|line| line.text)
    }

    /// Likewise, with how much of each is not held.
    pub(super) fn held(&self) -> impl Iterator<Item = HeldLine> {
        let stored = self.lines.sink();
        let mut unfinished = stored.current.clone();
        unfinished.append(self.lines.open(), stored.most_bytes);
        let unfinished = Some(unfinished).filter(|line| !line.text.is_empty());
        stored.finished.iter().cloned().chain(unfinished)
    }

    /// Lines that are no longer held.
    pub(super) fn dropped(&self) -> usize {
        self.lines.sink().dropped
    }
}

/// What replaces columns that are left out.
pub(super) fn omitted(columns: usize) -> String {
    format!("… [{columns} visible columns omitted]")
}

impl LineSink for StoredLines {
    fn part(&mut self, characters: &[char]) {
        self.current.append(characters, self.most_bytes);
    }

    fn line(&mut self, characters: &[char]) {
        self.part(characters);
        self.finished.push_back(std::mem::take(&mut self.current));
        if self.finished.len() > self.most {
            self.finished.pop_front();
            self.dropped += 1;
        }
    }

    fn anew(&mut self) {
        self.current = HeldLine::default();
    }
}
