//! Code frames: a source line that was already shown at the same place is not shown again, and pure
//! drawing is not shown at all.
//!
//! ```text
//!   11 | let total = 0;        shown once, however many findings are near it
//! > 12 | totl += price;        the line that is meant: always shown
//!      | ^^^^                  no words: the place says the column
//! A.java:3: error: …
//! int total = prise;           shown once for `A.java:3`
//!             ^                the place has no column: it stays, or is `^ column 13` alone
//! ```

use super::trouble::is_trouble;
use std::collections::HashSet;

/// The shortest source text (in bytes, with its number) that is worth writing only once.
const SHORTEST: usize = 6;

/// Lines after a place within which an arrow still belongs to it.
const NEAR: usize = 4;

/// What the frames of each file have shown.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    file: String,
    place: FindingPlace,
    shown: HashSet<String>,
}

/// The place that a finding names.
#[derive(Debug, Default)]
struct FindingPlace {
    line: String,
    has_column: bool,
    /// Lines since then.
    since: usize,
    /// Whether its source line is above.
    is_said: bool,
}

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameLine {
    /// It stays.
    Stays,
    /// It only draws.
    Drawing,
    /// It points to a column that nothing else names.
    Column(usize),
    /// It is already above.
    Said,
}

impl Frames {
    /// What follows is about this file.
    pub(crate) fn enter(&mut self, file: &str) {
        if file != self.file {
            file.clone_into(&mut self.file);
        }
        self.place = FindingPlace::default();
    }

    /// Judges the next line to be kept.
    pub(crate) fn judge(&mut self, line: &str) -> FrameLine {
        if let Some(part) = self.pointer(line) {
            return part;
        }
        if let Some((file, rest)) = file_of(line) {
            self.enter(file);
            self.place = FindingPlace::of(rest);
            return FrameLine::Stays;
        }
        self.place.since += 1;
        match split(line) {
            Some((number, source)) => self.numbered(number, source, line),
            None => self.plain(line),
        }
    }

    /// A line that only points into the one before.
    fn pointer(&mut self, line: &str) -> Option<FrameLine> {
        let is_drawn = |byte: u8| matches!(byte, b' ' | b'^' | b'~' | b'\t');
        let marks = line.bytes().filter(|byte| matches!(byte, b'^' | b'~'));
        let is_pointer = line.starts_with([' ', '\t', '~']) && line.bytes().all(is_drawn);
        let count = marks.count();
        if !is_pointer || count == 0 {
            return None;
        }
        let is_sole = count == 1 && !self.place.line.is_empty() && !self.place.has_column;
        if !is_sole || self.place.since > NEAR {
            return Some(FrameLine::Drawing);
        }
        // It is clearest below the line that it points into.
        let column = line.find('^').filter(|_| self.place.is_said);
        Some(column.map_or(FrameLine::Stays, |at| FrameLine::Column(at + 1)))
    }

    /// A line of a frame with numbers.
    fn numbered(&mut self, number: &str, source: &str, line: &str) -> FrameLine {
        if number.is_empty() {
            let is_drawn = |c: char| matches!(c, '^' | '~' | '_' | '|' | '-' | ' ' | '/');
            return if source.chars().all(is_drawn) {
                FrameLine::Drawing
            } else {
                FrameLine::Stays
            };
        }
        // The marks at the left of a multi-line finding are not part of the source.
        let source = source.trim();
        let bare = source.strip_prefix(['/', '|']).map_or(source, str::trim);
        if source.is_empty() || bare.is_empty() {
            return FrameLine::Drawing;
        }
        let text = format!("{number}|{bare}");
        let is_meant = line.trim_start().starts_with('>');
        let is_long = text.len() >= SHORTEST;
        let is_new = self.shown.insert(format!("{}:{text}", self.file));
        if is_new || is_meant || !is_long {
            FrameLine::Stays
        } else {
            FrameLine::Said
        }
    }

    /// The first line after a place is the source at that place, or what is said about it.
    fn plain(&mut self, line: &str) -> FrameLine {
        if self.place.line.is_empty() || self.place.since != 1 || line.is_empty() {
            return FrameLine::Stays;
        }
        let key = format!("{}:{} {}", self.file, self.place.line, line.trim());
        self.place.is_said = !self.shown.insert(key) && !is_trouble(line);
        if self.place.is_said {
            FrameLine::Said
        } else {
            FrameLine::Stays
        }
    }
}

impl FindingPlace {
    /// `3:1: error`: what follows a file's name.
    fn of(rest: &str) -> Self {
        let mut numbers = rest.split(':');
        let is_number = |text: &str| {
            let digits = text.split(' ').next().unwrap_or_default();
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        let line = numbers.next().filter(|line| is_number(line));
        Self {
            line: line.unwrap_or_default().to_owned(),
            has_column: numbers.next().is_some_and(is_number),
            since: 0,
            is_said: false,
        }
    }
}

/// `  > 12 | source`: the number and the source. The number is empty for a line below or above.
fn split(line: &str) -> Option<(&str, &str)> {
    if !line.starts_with([' ', '>']) && !line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (number, source) = line.split_once(['|', '│'])?;
    let number = number.trim_start().trim_start_matches('>').trim();
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    let is_apart = source.is_empty() || source.starts_with(' ');
    (is_number && is_apart).then_some((number, source))
}

/// The file that a line refers to, and what follows it: `--> src/a.rs:3:1`, `FAIL test/a.js`,
/// `a.c:3:1: warning: …`.
fn file_of(line: &str) -> Option<(&str, &str)> {
    let trimmed = line.trim_start();
    let named = ["--> ", "::: ", "FAIL ", "❯ "]
        .iter()
        .find_map(|mark| trimmed.strip_prefix(mark));
    if let Some(named) = named {
        let place = named.split(' ').find(|word| word.contains(['.', '/']))?;
        // The frame below has its own numbers.
        return Some((place.split(':').next().unwrap_or(place), ""));
    }
    let (file, rest) = line.split_once(':')?;
    let is_place = rest.starts_with(|c: char| c.is_ascii_digit()) && !file.contains(' ');
    (is_place && !file.is_empty() && !file.bytes().all(|byte| byte.is_ascii_digit()))
        .then_some((file, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(lines: &[(&str, FrameLine)]) {
        let mut frames = Frames::default();
        for (line, part) in lines {
            assert_eq!(frames.judge(line), *part, "{line}");
        }
    }

    #[test]
    fn a_line_of_a_file_is_shown_once() {
        judged(&[
            (" --> src/a.py:3:1", FrameLine::Stays),
            ("  |", FrameLine::Drawing),
            ("2 | import os", FrameLine::Stays),
            ("3 | x = 1 if y", FrameLine::Stays),
            ("  | ^^^^^^", FrameLine::Drawing),
            ("  | ^^^ help: this is wrong", FrameLine::Stays),
            (" --> src/a.py:4:1", FrameLine::Stays),
            ("2 | import os", FrameLine::Said),
            ("> 3 | x = 1 if y", FrameLine::Stays),
            ("4 |", FrameLine::Drawing),
            (" --> src/b.py:3:1", FrameLine::Stays),
            ("2 | import os", FrameLine::Stays),
            (" --> src/a.py:2:1", FrameLine::Stays),
            ("2 | / import os", FrameLine::Said),
            ("      ~~^~~", FrameLine::Drawing),
            ("a | b", FrameLine::Stays),
            ("12 passed | 3 failed", FrameLine::Stays),
        ]);
    }

    #[test]
    fn a_source_line_without_number_is_shown_once_for_its_place() {
        judged(&[
            ("A.java:1: problem: types", FrameLine::Stays),
            ("int total = prise;", FrameLine::Stays),
            ("            ^", FrameLine::Stays),
            ("A.java:1: problem: symbols", FrameLine::Stays),
            ("int total = prise;", FrameLine::Said),
            ("    ^", FrameLine::Column(5)),
            ("A.java:2: problem: symbols", FrameLine::Stays),
            ("int total = prise;", FrameLine::Stays),
            ("a.ts:3:5 - problem TS1", FrameLine::Stays),
            ("3 let x = y;", FrameLine::Stays),
            ("      ~~~~", FrameLine::Drawing),
            ("      ^", FrameLine::Drawing),
            ("a.ts:3:9 - problem TS1", FrameLine::Stays),
            ("3 let x = y;", FrameLine::Said),
            ("a.py:7: in main", FrameLine::Stays),
            ("E   ValueError: x", FrameLine::Stays),
            ("a.py:7: in main", FrameLine::Stays),
            ("E   ValueError: x", FrameLine::Stays),
        ]);
    }
}
