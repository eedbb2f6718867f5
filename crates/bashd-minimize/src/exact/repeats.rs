//! Lines that repeat the one before, and blocks of lines that repeat, become a count.
//!
//! `line (×3)`, `[these 2 lines ×4]`. A line that must not be touched has its count on the next
//! line: `[this line ×3]`.

use super::super::work::Work;
use super::{TextPage, has, is_untouchable};
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
        let Some((block, times)) = repetition(page, at, work) else {
            at += 1;
            continue;
        };
        if counted.is_empty() {
            if has(text, "(×") || has(text, "[these ") || has(text, "[this line ×") {
                return None;
            }
            counted.reserve(text.len());
        }
        push_lines(&mut counted, all.get(copied..at).unwrap_or_default());
        let first = all.get(at..at + block).unwrap_or_default();
        push_lines(&mut counted, first);
        if block > 1 {
            let _ = writeln!(counted, "[these {block} lines ×{times}]");
        } else if first.iter().any(|line| is_untouchable(line)) {
            let _ = writeln!(counted, "[this line ×{times}]");
        } else {
            counted.pop();
            let _ = writeln!(counted, " (×{times})");
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
fn repetition(page: &TextPage<'_>, at: usize, work: &Work) -> Option<(usize, usize)> {
    let (all, prints) = (page.lines.as_slice(), page.prints.as_slice());
    let print = prints.get(at)?;
    for block in 1..=LONGEST_BLOCK {
        // Almost always decided by the hash of one other line.
        if prints.get(at + block) != Some(print) {
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

/// The text with every repeat written out, with the number of the line that each is from.
pub(super) fn written_out(all: Vec<(usize, String)>) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::with_capacity(all.len());
    for (at, line) in all {
        if let Some((block, times)) = block_count(&line) {
            let from = out.len().saturating_sub(block);
            let lines: Vec<_> = out.get(from..).unwrap_or_default().to_vec();
            for _ in 1..times {
                out.extend(lines.iter().map(|(_, line)| (at, line.clone())));
            }
        } else if let Some((said, times)) = line_count(&line) {
            for _ in 0..times {
                out.push((at, said.to_owned()));
            }
        } else {
            out.push((at, line));
        }
    }
    out
}

/// `[these 2 lines ×4]`, `[this line ×4]`
fn block_count(line: &str) -> Option<(usize, usize)> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    if let Some(times) = inner.strip_prefix("this line ×") {
        return Some((1, times.parse().ok()?));
    }
    let (block, times) = inner.strip_prefix("these ")?.split_once(" lines ×")?;
    Some((block.parse().ok()?, times.parse().ok()?))
}

/// `retry (×4)`
fn line_count(line: &str) -> Option<(&str, usize)> {
    let (said, times) = line.strip_suffix(')')?.rsplit_once(" (×")?;
    Some((said, times.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> Option<(String, u64)> {
        count(&TextPage::with_prints(text), &Work::for_input(text.len()))
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
        let text = "error: no\n".repeat(4);
        assert_eq!(
            counted(&text),
            Some(("error: no\n[this line ×4]\n".to_owned(), 3))
        );
    }

    #[test]
    fn pairs_short_lines_and_what_looks_like_a_count_stay() {
        assert_eq!(counted("same line\nsame line\nother\n"), None);
        assert_eq!(counted("}\n}\n}\n}\n"), None);
        assert_eq!(counted(""), None);
        assert_eq!(counted("retry (×3)\nsame\nsame l\nsame l\nsame l\n"), None);
    }
}
