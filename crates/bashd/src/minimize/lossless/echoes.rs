//! Blocks of lines that were said before, as a reference to where they begin.
//!
//! The same source text under each of many failures, the same report for each of many files: it stands there once. A line that
//! tells of trouble is never part of such a block: it is shown wherever it stands.

use super::super::trouble::is_trouble;
use super::super::work::{Work, lines};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Lines that a block must have.
const FEWEST_LINES: usize = 4;

/// Bytes that it must have.
const FEWEST_BYTES: usize = 160;

/// The text with references, and how many lines they stand for; nothing if there are none.
pub(super) fn refer(text: &str, work: &Work) -> Option<(String, u64)> {
    let all: Vec<&str> = lines(text).collect();
    let mut known: HashMap<u64, usize> = HashMap::with_capacity(all.len());
    let mut written = String::new();
    let mut copied = 0;
    let mut stood_for = 0;
    let mut at = 0;
    work.charge(text.len() * 2);
    while at < all.len() {
        let key = key(&all, at);
        let earlier = *known.entry(key).or_insert(at);
        let length = if earlier < at {
            same_lines(&all, earlier, at, work)
        } else {
            0
        };
        let block = all.get(at..at + length).unwrap_or_default();
        let bytes: usize = block.iter().map(|line| line.len() + 1).sum();
        if length < FEWEST_LINES || bytes < FEWEST_BYTES {
            at += 1;
            continue;
        }
        for line in all.get(copied..at).unwrap_or_default() {
            push(&mut written, line);
        }
        let first = block
            .iter()
            .map(|line| line.trim())
            .find(|line| !line.is_empty());
        push(
            &mut written,
            &format!(
                "[{length} lines as above, from: {}]",
                shortened(first.unwrap_or_default())
            ),
        );
        stood_for += length as u64;
        at += length;
        copied = at;
    }
    if stood_for == 0 {
        return None;
    }
    for line in all.get(copied..).unwrap_or_default() {
        push(&mut written, line);
    }
    if !text.ends_with('\n') {
        written.pop();
    }
    Some((written, stood_for))
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// What two lines and the next are known by.
fn key(all: &[&str], at: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    all.get(at..all.len().min(at + 2)).hash(&mut hasher);
    hasher.finish()
}

/// How many lines from here are those from `earlier` on, without overlap and without trouble.
fn same_lines(all: &[&str], earlier: usize, at: usize, work: &Work) -> usize {
    let pairs = all
        .iter()
        .skip(earlier)
        .zip(all.iter().skip(at))
        .take(at - earlier);
    pairs
        .take_while(|(one, other)| {
            one == other && work.charge(other.len() + 8) && !is_trouble(other)
        })
        .count()
}

/// The beginning of a line: enough to find it again.
fn shortened(line: &str) -> &str {
    const ENOUGH: usize = 60;
    let end = line
        .char_indices()
        .nth(ENOUGH)
        .map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn referred(text: &str) -> Option<String> {
        refer(text, &Work::for_input(text.len())).map(|(text, _)| text)
    }

    #[test]
    fn a_block_is_said_once_and_trouble_each_time() {
        let block = "    def invoke(self, context):\n        with context as inner:\n            return inner.call(self.callback)\n        raise RuntimeWarningLess\n    # the end of this long function, which is said again\n";
        let text = format!("first\n{block}error: one\nsecond\n{block}error: one\n");
        let shown = referred(&text).unwrap();
        assert_eq!(
            shown,
            format!(
                "first\n{block}error: one\nsecond\n[5 lines as above, from: def invoke(self, context):]\nerror: one\n"
            )
        );
    }

    #[test]
    fn short_blocks_stay() {
        assert_eq!(referred("a\nb\nc\nd\nx\na\nb\nc\nd\n"), None);
        assert_eq!(referred(""), None);
    }
}
