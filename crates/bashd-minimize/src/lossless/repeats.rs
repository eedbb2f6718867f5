//! Lines that repeat the one before, and blocks of lines that repeat, become a count.

use super::super::work::Work;
use super::TextPage;
use std::fmt::Write as _;

/// Shorter lines (braces, bullets, numbers) are not repetitions that anybody wants counted.
const SHORTEST: usize = 6;

/// How often a line must appear to be counted: two are shorter than a count of two.
const FEWEST: usize = 3;

/// The longest block that is looked for.
const LONGEST_BLOCK: usize = 6;

/// The text with repeats counted, and how many lines the counts replace; `None` if there are none.
pub(super) fn count(page: &TextPage<'_>, work: &Work) -> Option<(String, u64)> {
    let (text, all) = (page.text, page.lines.as_slice());
    work.charge(text.len());
    let mut counted = String::new();
    let mut copied = 0;
    let mut stood_for = 0;
    let mut at = 0;
    while at < all.len() {
        let Some((block, times)) = repetition(all, at, work) else {
            at += 1;
            continue;
        };
        if counted.is_empty() {
            counted.reserve(text.len());
        }
        push_lines(&mut counted, all.get(copied..at).unwrap_or_default());
        let first = all.get(at..at + block).unwrap_or_default();
        push_lines(&mut counted, first);
        counted.pop();
        if block == 1 {
            let _ = writeln!(counted, " (×{times})");
        } else {
            let _ = writeln!(counted, "\n[these {block} lines ×{times}]");
        }
        stood_for += (block * (times - 1)) as u64;
        at += block * times;
        copied = at;
    }
    if stood_for == 0 {
        return None;
    }
    push_lines(&mut counted, all.get(copied..).unwrap_or_default());
    if !text.ends_with('\n') {
        counted.pop();
    }
    Some((counted, stood_for))
}

fn push_lines(text: &mut String, lines: &[&str]) {
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
}

/// The shortest block that repeats from here, and how often it appears.
fn repetition(all: &[&str], at: usize, work: &Work) -> Option<(usize, usize)> {
    let line = all.get(at)?;
    for block in 1..=LONGEST_BLOCK {
        // Almost always decided by the first bytes of one other line.
        if all.get(at + block) != Some(line) {
            continue;
        }
        let first = all.get(at..at + block)?;
        let long_enough = first.iter().map(|line| line.len()).sum::<usize>() >= SHORTEST;
        let mut times = 1;
        while all.get(at + block * times..at + block * (times + 1)) == Some(first) {
            times += 1;
            if !work.charge(first.len() * 8) {
                return None;
            }
        }
        if long_enough && times >= FEWEST {
            return Some((block, times));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> Option<(String, u64)> {
        count(&TextPage::of(text), &Work::for_input(text.len()))
    }

    #[test]
    fn lines_and_blocks_are_counted() {
        let text = "start\nretry in 1s\nretry in 1s\nretry in 1s\nend";
        assert_eq!(
            counted(text),
            Some(("start\nretry in 1s (×3)\nend".to_owned(), 2))
        );
        let text = "  in f\n  in g\n".repeat(4);
        assert_eq!(
            counted(&text),
            Some(("  in f\n  in g\n[these 2 lines ×4]\n".to_owned(), 6))
        );
    }

    #[test]
    fn pairs_and_short_lines_stay() {
        assert_eq!(counted("same line\nsame line\nother\n"), None);
        assert_eq!(counted("}\n}\n}\n}\n"), None);
        assert_eq!(counted(""), None);
    }
}
