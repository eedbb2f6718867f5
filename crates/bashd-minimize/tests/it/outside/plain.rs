//! The plain form of a raw text, read by the judge: what a person at a terminal could have seen.
//!
//! Written apart from the minimizer's own, on purpose: a mistake there must not excuse itself here.

use super::facts::{FactKind, fact_in};
use regex::Regex;
use std::collections::HashMap;
use std::sync::LazyLock;

static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    let kinds = [
        r"\x1b\[[0-?]*[ -/]*[@-~]", // colours, and what moves the cursor
        r"\x1b[\]PX^_][^\x07\x1b]*(\x07|\x1b\\)?", // titles, links
        r"\x1b[ -/]*[0-OQ-WY-Z\\`-~]", // the others
        r"\x1b",                    // what a cut left of one
    ];
    Regex::new(&kinds.join("|")).expect("a pattern")
});

/// To a column of the same line: what follows may be another frame.
static TO_COLUMN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\x1b\[\d*G").expect("a pattern"));

/// A link.
static LINK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\x1b\]8;[^;]*;([^\x07\x1b]+)").expect("a pattern"));

/// Up by some lines.
static UP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\x1b\[(\d*)A").expect("a pattern"));

/// What a person could have seen of a text.
pub(crate) struct PlainText {
    /// Its lines: of each the last frame, and before it every frame that tells of trouble.
    pub(crate) lines: Vec<String>,
    /// How many lines have a last frame that is not blank, without those that the cursor went up to
    /// and that were then written over.
    pub(crate) told: usize,
    /// How often each text stood on a line at any time, as it was and as it was written over.
    seen: HashMap<String, usize>,
    /// The addresses of its links.
    links: Vec<String>,
}

impl PlainText {
    pub(crate) fn of(raw: &str) -> Self {
        let mut lines = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut last_frames: usize = 0;
        for raw_line in raw.split('\n') {
            let in_frames = TO_COLUMN.replace_all(raw_line, "\r");
            let clean = ESCAPE.replace_all(&in_frames, "");
            let clean = clean.replace(['\u{7}', '\0'], "");
            let frames: Vec<&str> = clean.split('\r').collect();
            let told: Vec<&str> = frames
                .iter()
                .copied()
                .filter(|frame| !frame.trim().is_empty())
                .collect();
            if let [all_before @ .., last] = told.as_slice() {
                let of_trouble = all_before
                    .iter()
                    .filter(|frame| fact_in(frame) == Some(FactKind::Trouble));
                lines.extend(of_trouble.map(|frame| tidy(frame)));
                lines.push(tidy(last));
                last_frames += 1;
            } else {
                lines.push(String::new());
            }
            let mut forms: Vec<String> = told.iter().map(|frame| tidy(frame)).collect();
            forms.extend(states(raw_line).iter().map(|state| tidy(state)));
            forms.sort();
            forms.dedup();
            for form in forms {
                *seen.entry(form).or_default() += 1;
            }
        }
        let ups = UP.captures_iter(raw);
        let written_over = ups.map(|up| up[1].parse().unwrap_or(1)).sum::<usize>();
        Self {
            lines,
            told: last_frames.saturating_sub(written_over),
            seen,
            links: LINK
                .captures_iter(raw)
                .map(|found| found[1].to_owned())
                .collect(),
        }
    }

    /// A shown line without colours that it kept, and without addresses of links in it.
    pub(crate) fn as_compared(&self, line: &str) -> String {
        let clean = ESCAPE.replace_all(line, "");
        let without = |line: String, link: &String| line.replace(&format!(" <{link}>"), "");
        self.links.iter().fold(clean.into_owned(), without)
    }

    /// How often a text stood on a line.
    pub(crate) fn times(&self, line: &str) -> usize {
        self.seen.get(&tidy(line)).copied().unwrap_or_default()
    }
}

/// What stood on a line whenever something was about to be written over it, and at its end.
fn states(raw_line: &str) -> Vec<String> {
    let mut states = Vec::new();
    let mut cells: Vec<char> = Vec::new();
    let mut at: usize = 0;
    let mut rest = raw_line;
    while let Some(c) = rest.chars().next() {
        if let Some(found) = ESCAPE.find(rest).filter(|found| found.start() == 0) {
            let escape = found.as_str();
            let digits = escape.trim_matches(|c: char| !c.is_ascii_digit());
            let number = digits.parse::<usize>().ok();
            if matches!(escape.chars().next_back(), Some('G' | 'D' | 'K')) {
                states.push(cells.iter().collect());
            }
            match escape.chars().next_back() {
                Some('G') => at = number.unwrap_or(1).saturating_sub(1),
                Some('C') => at += number.unwrap_or(1),
                Some('D') => at = at.saturating_sub(number.unwrap_or(1)),
                Some('K') if number == Some(2) => cells.clear(),
                Some('K') if number.unwrap_or(0) == 0 => cells.truncate(at),
                _ => {}
            }
            rest = rest.split_at(found.end()).1;
            continue;
        }
        rest = rest.split_at(c.len_utf8()).1;
        match c {
            '\r' => {
                states.push(cells.iter().collect());
                at = 0;
            }
            '\u{8}' => at = at.saturating_sub(1),
            '\u{7}' | '\0' => {}
            _ => {
                let width = cells.len().max(at + 1);
                cells.resize(width, ' ');
                if let Some(cell) = cells.get_mut(at) {
                    *cell = c;
                }
                at += 1;
            }
        }
    }
    states.push(cells.into_iter().collect());
    states
}

/// A line as it is compared: blanks at its end are another test's.
pub(crate) fn tidy(line: &str) -> String {
    line.trim_end().to_owned()
}
