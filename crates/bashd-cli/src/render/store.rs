//! The last lines of a stream, as text and its colors: what a view needs, in bounded memory.

use super::ink::Ink;
use super::visible::{is_printable, tab, width};
use super::{StyledLine, Tone};
use bashd::output::terminal_lines::{AfterReturn, LineSink, TerminalLines, Written};
use std::collections::VecDeque;
use unicode_width::UnicodeWidthChar;

/// Bytes of one line that are held; beyond that only the columns are counted.
const MOST_BYTES: usize = 32 * 1024;

/// Bytes of a stream that are held, whatever its lines are like.
const MOST_HELD: usize = 4 << 20;

/// Takes pieces of output and keeps its last lines.
pub(super) struct LineStore {
    lines: TerminalLines<StoredLines>,
}

#[derive(Default)]
struct StoredLines {
    most: usize,
    /// Bytes of one line that are held.
    most_bytes: usize,
    /// Bytes of all lines that are held.
    most_held: usize,
    held: usize,
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
    /// From which byte on it is written how, where that changes.
    inks: Vec<(usize, Ink)>,
    /// How many columns so many of the bytes take: a tab need not measure them again.
    measured: (usize, usize),
}

impl HeldLine {
    /// A line of which nothing is missing.
    pub(super) fn whole(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.capacity() + self.inks.capacity() * size_of::<(usize, Ink)>()
    }

    /// The line with its colors.
    pub(super) fn styled(&self) -> StyledLine {
        let tone = |ink: Ink| {
            if ink == Ink::default() {
                Tone::Plain
            } else {
                Tone::Own(ink)
            }
        };
        let mut line = StyledLine::default();
        let (mut rest, mut at, mut ink) = (self.text.as_str(), 0, Ink::default());
        for (begins, next) in &self.inks {
            let (before, after) = rest.split_at(begins - at);
            if !before.is_empty() {
                line = line.and(tone(ink), before);
            }
            (rest, at, ink) = (after, *begins, *next);
        }
        match rest {
            "" => line,
            rest => line.and(tone(ink), rest),
        }
    }

    /// Adds characters; beyond so many bytes it only counts their columns.
    fn append(&mut self, characters: &[Written<Ink>], most_bytes: usize) {
        for &(character, ink) in characters {
            match character {
                '\t' => {
                    for _ in 0..tab(self.column()) {
                        self.put((' ', ink), most_bytes);
                    }
                }
                _ if is_printable(character) => self.put((character, ink), most_bytes),
                _ => {}
            }
        }
    }

    /// The column at which the next character stands.
    fn column(&mut self) -> usize {
        let (bytes, columns) = self.measured;
        let (_, since) = self.text.split_at(bytes);
        self.measured = (self.text.len(), columns + width(since));
        self.measured.1 + self.beyond
    }

    fn put(&mut self, (character, ink): Written<Ink>, most_bytes: usize) {
        if self.text.len() >= most_bytes {
            self.beyond += character.width().unwrap_or_default();
            return;
        }
        let before = self.inks.last().map_or_else(Ink::default, |(_, ink)| *ink);
        if ink != before {
            self.inks.push((self.text.len(), ink));
        }
        self.text.push(character);
    }
}

impl LineStore {
    /// A store of at most this many finished lines.
    pub(super) fn keeping(most: usize) -> Self {
        Self::bounded(most, MOST_BYTES, MOST_HELD)
    }

    /// A store of everything, for text that is bounded already.
    pub(super) fn keeping_all() -> Self {
        Self::bounded(usize::MAX, usize::MAX, usize::MAX)
    }

    fn bounded(most: usize, most_bytes: usize, most_held: usize) -> Self {
        let lines = StoredLines {
            most,
            most_bytes,
            most_held,
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
        self.last(usize::MAX).0.into_iter()
    }

    /// The last lines, at most so many, and how many are held before them.
    pub(super) fn last(&self, most: usize) -> (Vec<HeldLine>, usize) {
        let stored = self.lines.sink();
        let mut unfinished = stored.current.clone();
        unfinished.append(self.lines.open(), stored.most_bytes);
        let unfinished = Some(unfinished).filter(|line| !line.text.is_empty());
        let most = most.saturating_sub(usize::from(unfinished.is_some()));
        let earlier = stored.finished.len().saturating_sub(most);
        let finished = stored.finished.iter().skip(earlier).cloned();
        (finished.chain(unfinished).collect(), earlier)
    }

    /// About how much memory the lines take.
    pub(super) fn bytes(&self) -> usize {
        self.lines.sink().held
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
    type Pen = Ink;

    fn part(&mut self, characters: &[Written<Ink>]) {
        self.current.append(characters, self.most_bytes);
    }

    fn line(&mut self, characters: &[Written<Ink>]) {
        self.part(characters);
        let line = std::mem::take(&mut self.current);
        self.held += line.bytes();
        self.finished.push_back(line);
        while self.finished.len() > self.most || self.held > self.most_held {
            let Some(first) = self.finished.pop_front() else {
                break;
            };
            self.held -= first.bytes();
            self.dropped += 1;
        }
    }

    fn anew(&mut self) {
        self.current = HeldLine::default();
    }
}
