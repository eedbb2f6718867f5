//! The last lines of a stream, as plain text: what a live view needs, in bounded memory.

use super::visible::{is_printable, tab, width};
use std::collections::VecDeque;
use unicode_width::UnicodeWidthChar;

/// Bytes of one line that are held; beyond that only the columns are counted.
const MOST_BYTES: usize = 32 * 1024;

/// Takes pieces of output and keeps its last lines. Escape sequences may be split anywhere.
pub(super) struct LineStore {
    escapes: vte::Parser,
    lines: StoredLines,
}

#[derive(Default)]
struct StoredLines {
    most: usize,
    /// Bytes of one line that are held.
    most_bytes: usize,
    finished: VecDeque<HeldLine>,
    current: HeldLine,
    /// Whether the cursor went back to the line's start: what is written next replaces the line.
    is_rewritten: bool,
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
            escapes: vte::Parser::new(),
            lines,
        }
    }

    /// Takes a piece of output.
    pub(super) fn push(&mut self, text: &str) {
        self.escapes.advance(&mut self.lines, text.as_bytes());
    }

    /// The lines that are held; the last one only if it is not empty.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.held().map(|line| line.text)
    }

    /// Likewise, with how much of each is not held.
    pub(super) fn held(&self) -> impl Iterator<Item = HeldLine> {
        let unfinished = Some(&self.lines.current).filter(|line| !line.text.is_empty());
        self.lines.finished.iter().chain(unfinished).cloned()
    }

    /// Lines that are no longer held.
    pub(super) fn dropped(&self) -> usize {
        self.lines.dropped
    }
}

/// What replaces columns that are left out.
pub(super) fn omitted(columns: usize) -> String {
    format!("… [{columns} visible columns omitted]")
}

impl StoredLines {
    fn begin_anew_if_rewritten(&mut self) {
        if std::mem::take(&mut self.is_rewritten) {
            self.current = HeldLine::default();
        }
    }

    fn put(&mut self, character: char) {
        self.begin_anew_if_rewritten();
        if self.current.text.len() < self.most_bytes {
            self.current.text.push(character);
        } else {
            self.current.beyond += character.width().unwrap_or_default();
        }
    }

    fn end_line(&mut self) {
        self.is_rewritten = false;
        self.finished.push_back(std::mem::take(&mut self.current));
        if self.finished.len() > self.most {
            self.finished.pop_front();
            self.dropped += 1;
        }
    }
}

impl vte::Perform for StoredLines {
    fn print(&mut self, character: char) {
        if is_printable(character) {
            self.put(character);
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' => self.end_line(),
            b'\r' => self.is_rewritten = true,
            b'\t' => {
                self.begin_anew_if_rewritten();
                for _ in 0..tab(width(&self.current.text)) {
                    self.put(' ');
                }
            }
            0x08 => drop(self.current.text.pop()),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, parameters: &vte::Params, _: &[u8], _: bool, action: char) {
        // Progress bars clear the line before they write it again.
        let what = parameters.iter().next().and_then(|part| part.first());
        if action == 'K' && (what == Some(&2) || self.is_rewritten) {
            self.current = HeldLine::default();
        }
    }
}
