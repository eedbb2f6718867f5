//! Overwritten frames that stay: those that tell of trouble, and those with a name that is always
//! kept.

use super::super::names::has_kept_name;
use super::super::trouble::is_trouble;
use super::signs;
use std::collections::HashSet;

/// Most overwritten frames that are kept. A text with more of them stays as it is: none may be left
/// out in silence.
const MOST: usize = 2000;

/// An overwritten frame that stays.
#[derive(Debug)]
pub(super) struct RescuedFrame {
    pub(super) row: usize,
    pub(super) raw_line: u32,
    pub(super) line: String,
    /// Its words, if it tells of no trouble: another frame that differs only in its numbers may
    /// stand for it.
    words: Option<String>,
}

/// The frames that stay, in the order of their time.
#[derive(Debug, Default)]
pub(super) struct RescuedFrames {
    all: Vec<RescuedFrame>,
    /// Lines of trouble, and the words of other frames that were looked at.
    known: HashSet<String>,
}

impl RescuedFrames {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn are_too_many(&self) -> bool {
        self.all.len() > MOST
    }

    /// A row is about to be overwritten: its text stays if it must, and was not kept before.
    pub(super) fn take(&mut self, row: usize, raw_line: u32, line: String) {
        if self.are_too_many() {
            return;
        }
        let is_trouble = signs::find(&line).is_some() && is_trouble(&line);
        let words = (!is_trouble).then(|| words_of(&line));
        let known = words.as_ref().unwrap_or(&line);
        if !self.known.contains(known) {
            self.known.insert(known.clone());
            if is_trouble || has_kept_name(&line) {
                self.all.push(RescuedFrame {
                    row,
                    raw_line,
                    line,
                    words,
                });
            }
        }
    }

    /// Those that are not among the lines that stand anyway, by their rows, each with its number.
    pub(super) fn beside(
        &self,
        standing: impl FnOnce() -> HashSet<String>,
    ) -> Vec<(usize, &RescuedFrame)> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let standing = standing();
        let standing_words: HashSet<String> = standing.iter().map(|line| words_of(line)).collect();
        let stands = |frame: &RescuedFrame| match &frame.words {
            Some(words) => standing_words.contains(words),
            None => standing.contains(&frame.line),
        };
        let all = self.all.iter().enumerate();
        let mut beside: Vec<_> = all.filter(|(_, frame)| !stands(frame)).collect();
        beside.sort_by_key(|(_, frame)| frame.row);
        beside
    }
}

/// The words of a line that begin with a letter or have one behind a sign. A bar with an address in
/// it is drawn a hundred times: numbers, amounts and the bar alone are no news.
fn words_of(line: &str) -> String {
    let is_word = |word: &&str| {
        let first = word.trim_start_matches(|c: char| c.is_ascii_punctuation());
        !first.starts_with(|c: char| c.is_ascii_digit()) && first.contains(char::is_alphabetic)
    };
    let mut words = String::with_capacity(line.len());
    for word in line.split_whitespace().filter(is_word) {
        words.push_str(word);
        words.push(' ');
    }
    words
}
