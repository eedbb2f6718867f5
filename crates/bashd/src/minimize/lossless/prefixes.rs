//! A beginning that lines share, on a line of its own before them: `src/a.rs:`, then ` 12: …`, ` 14: …`.

use super::super::work::{Work, lines};

/// Bytes that a shared beginning must have.
const SHORTEST: usize = 10;

/// Bytes that a group must save.
const LEAST_GAIN: usize = 24;

/// Lines that are looked at from each line.
const FARTHEST: usize = 400;

/// The text with groups, and how many lines are in them; nothing if there are none.
pub(super) fn group(text: &str, work: &Work) -> Option<(String, u64)> {
    let all: Vec<&str> = lines(text).collect();
    work.charge(text.len());
    let mut grouped = String::new();
    let mut in_groups = 0;
    let mut copied = 0;
    let mut at = 0;
    while at < all.len() {
        let Some(found) = group_at(&all, at, work) else {
            at += 1;
            continue;
        };
        if grouped.is_empty() {
            grouped.reserve(text.len());
        }
        for line in all.get(copied..at).unwrap_or_default() {
            push(&mut grouped, "", line);
        }
        let members = all.get(at..at + found.lines).unwrap_or_default();
        let header = members.first().and_then(|line| line.get(..found.length));
        push(&mut grouped, "", header.unwrap_or_default().trim_end());
        let indent = header.map_or("", leading_blanks);
        for member in members {
            grouped.push_str(indent);
            push(
                &mut grouped,
                " ",
                member.get(found.length..).unwrap_or_default(),
            );
        }
        in_groups += found.lines as u64;
        at += found.lines;
        copied = at;
    }
    if in_groups == 0 {
        return None;
    }
    for line in all.get(copied..).unwrap_or_default() {
        push(&mut grouped, "", line);
    }
    if !text.ends_with('\n') {
        grouped.pop();
    }
    Some((grouped, in_groups))
}

fn push(text: &mut String, indent: &str, line: &str) {
    text.push_str(indent);
    text.push_str(line);
    text.push('\n');
}

/// A run of lines that share their first `length` bytes.
#[derive(Debug, Clone, Copy)]
struct Group {
    lines: usize,
    length: usize,
    indent: usize,
}

impl Group {
    /// Bytes saved: the beginning is written once and a line end more, each member has an indent.
    fn gain(self) -> usize {
        ((self.length - self.indent) * (self.lines - 1))
            .saturating_sub(self.lines + self.indent + 1)
    }
}

/// The group that saves most among those that begin at this line.
fn group_at(all: &[&str], at: usize, work: &Work) -> Option<Group> {
    let first = all.get(at)?;
    let second = all.get(at + 1)?;
    if first.as_bytes().get(..SHORTEST)? != second.as_bytes().get(..SHORTEST)? {
        return None;
    }
    let indent = leading_blanks(first).len();
    let mut length = first.len();
    let mut best: Option<Group> = None;
    for (count, line) in all.iter().enumerate().skip(at + 1).take(FARTHEST) {
        length = boundary(first, common(first, line, length));
        if length < SHORTEST + indent || !work.charge(8 + length / 8) {
            break;
        }
        let group = Group {
            lines: count - at + 1,
            length,
            indent,
        };
        // What the line after the group begins with must not look like a member of it.
        let next_is_apart = all
            .get(count + 1)
            .is_none_or(|next| leading_blanks(next).len() <= indent);
        if next_is_apart && best.is_none_or(|best| group.gain() > best.gain()) {
            best = Some(group);
        } else if best.is_some_and(|best| group.gain() * 2 < best.gain()) {
            break;
        }
    }
    best.filter(|group| group.gain() >= LEAST_GAIN)
}

fn leading_blanks(line: &str) -> &str {
    let length = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..length).unwrap_or_default()
}

/// How many bytes two lines have in common, at most `most`.
fn common(one: &str, other: &str, most: usize) -> usize {
    let pairs = one.bytes().zip(other.bytes()).take(most);
    pairs.take_while(|(one, other)| one == other).count()
}

/// The end of the last separator within the first `length` bytes, such that every line has something after it.
fn boundary(line: &str, length: usize) -> usize {
    let bytes = line.as_bytes();
    let shared = bytes
        .get(..length.min(bytes.len().saturating_sub(1)))
        .unwrap_or_default();
    let is_separator = |byte: &u8| {
        matches!(
            byte,
            b'/' | b':' | b' ' | b'|' | b']' | b')' | b'=' | b',' | b'\t'
        )
    };
    shared.iter().rposition(is_separator).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(text: &str) -> Option<String> {
        group(text, &Work::for_input(text.len())).map(|(text, _)| text)
    }

    #[test]
    fn matches_of_a_file_stand_under_its_name() {
        let text = "src/deep/one.rs:12:fn a\nsrc/deep/one.rs:14:fn b\nsrc/deep/one.rs:19:fn c\nother line\n";
        let expected = "src/deep/one.rs:\n 12:fn a\n 14:fn b\n 19:fn c\nother line\n";
        assert_eq!(grouped(text).as_deref(), Some(expected));
    }

    #[test]
    fn a_longer_run_wins_over_a_longer_beginning() {
        let text = "target/debug/build/a/x\ntarget/debug/build/a/y\ntarget/debug/b\ntarget/debug/c\ntarget/debug/d\ntarget/debug/e\n";
        let shown = grouped(text).unwrap();
        assert!(
            shown.starts_with("target/debug/\n build/a/x\n build/a/y\n b\n"),
            "{shown}"
        );
    }

    #[test]
    fn short_runs_stay() {
        let indented =
            "  some/indented/path/a\n  some/indented/path/b\n  some/indented/path/c\nx\n";
        assert_eq!(
            grouped(indented).as_deref(),
            Some("  some/indented/path/\n   a\n   b\n   c\nx\n")
        );
        assert_eq!(grouped("a/b\na/c\na/d\n"), None);
        assert_eq!(
            grouped("some/longer/path/a\nsome/longer/path/b\n  under it\n"),
            None
        );
    }
}
