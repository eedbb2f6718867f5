//! Code frames: a source line that a frame of the same file has shown already is not shown again, and what only draws is not shown
//! at all.
//!
//! ```text
//!   11 | let total = 0;        shown once, however many findings are near it
//! > 12 | totl += price;        the line that is meant: always shown
//!      | ^^^^                  no words: the place says the column
//! ```

use std::collections::HashSet;

/// The shortest source text (in bytes, with its number) that is worth being said once.
const SHORTEST: usize = 6;

/// What the frames of one file have shown.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    file: String,
    shown: HashSet<String>,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// It stays.
    Stays,
    /// It only draws.
    Drawing,
    /// It stands above.
    Said,
}

impl Frames {
    /// Judges the next line that is to be kept.
    pub(crate) fn judge(&mut self, line: &str) -> Part {
        let is_pointer = |byte: u8| matches!(byte, b' ' | b'^' | b'~');
        if line.starts_with(' ') && line.contains('^') && line.bytes().all(is_pointer) {
            return Part::Drawing;
        }
        if let Some(file) = file_of(line) {
            if file != self.file {
                file.clone_into(&mut self.file);
                self.shown.clear();
            }
            return Part::Stays;
        }
        let Some((number, source)) = split(line) else {
            return Part::Stays;
        };
        if number.is_empty() {
            let is_drawn = |c: char| matches!(c, '^' | '~' | '_' | '|' | '-' | ' ' | '/');
            return if source.chars().all(is_drawn) {
                Part::Drawing
            } else {
                Part::Stays
            };
        }
        let key = format!("{number}|{}", source.trim());
        let is_meant = line.trim_start().starts_with('>');
        if source.trim().is_empty() {
            Part::Drawing
        } else if self.shown.contains(&key) && !is_meant && key.len() >= SHORTEST {
            Part::Said
        } else {
            self.shown.insert(key);
            Part::Stays
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

/// The file that a line says is looked at: `--> src/a.rs:3:1`, `FAIL test/a.js`, `a.c:3:1: warning: …`.
fn file_of(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    let named = ["--> ", "::: ", "FAIL ", "❯ "]
        .iter()
        .find_map(|mark| trimmed.strip_prefix(mark));
    if let Some(named) = named {
        let place = named.split(' ').find(|word| word.contains(['.', '/']))?;
        return Some(place.split(':').next().unwrap_or(place));
    }
    let (file, rest) = line.split_once(':')?;
    let is_place = rest.starts_with(|c: char| c.is_ascii_digit()) && !file.contains(' ');
    (is_place && !file.is_empty() && !file.bytes().all(|byte| byte.is_ascii_digit()))
        .then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_file_is_shown_once() {
        let mut frames = Frames::default();
        for (line, part) in [
            (" --> src/a.py:3:1", Part::Stays),
            ("  |", Part::Drawing),
            ("2 | import os", Part::Stays),
            ("3 | x = 1 if y", Part::Stays),
            ("  | ^^^^^^", Part::Drawing),
            ("  | ^^^ help: this is wrong", Part::Stays),
            (" --> src/a.py:4:1", Part::Stays),
            ("2 | import os", Part::Said),
            ("> 3 | x = 1 if y", Part::Stays),
            ("4 |", Part::Drawing),
            (" --> src/b.py:3:1", Part::Stays),
            ("2 | import os", Part::Stays),
            ("      ~~^~~", Part::Drawing),
            ("a | b", Part::Stays),
            ("12 passed | 3 failed", Part::Stays),
        ] {
            assert_eq!(frames.judge(line), part, "{line}");
        }
    }
}
