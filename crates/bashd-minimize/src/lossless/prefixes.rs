//! A prefix that lines share, on its own line before them: `src/a.rs:`, then ` 12: …`, ` 14: …`.

use super::super::work::Work;
use super::TextPage;

/// Least bytes of a shared prefix.
const SHORTEST: usize = 10;

/// Least bytes of one that is a path: nobody takes it for a separate word.
const SHORTEST_PATH: usize = 4;

/// Least bytes of one within a group, whose lines are known to be alike.
const SHORTEST_WITHIN: usize = 3;

/// Bytes that a group must save.
const LEAST_GAIN: usize = 24;

/// How many lines to look ahead from each line.
const FARTHEST: usize = 400;

/// How deep groups may nest.
const DEEPEST: usize = 4;

/// The text with groups, and how many lines are in them; `None` if there are none.
pub(super) fn group(page: &TextPage<'_>, work: &Work) -> Option<(String, u64)> {
    let text = page.text;
    work.charge(text.len());
    let mut grouped = Grouped {
        text: String::new(),
        in_groups: 0,
        work,
    };
    grouped.write(&page.lines, "", 0);
    if grouped.in_groups == 0 {
        return None;
    }
    if !text.ends_with('\n') {
        grouped.text.pop();
    }
    Some((grouped.text, grouped.in_groups))
}

/// The text being made.
struct Grouped<'a> {
    text: String,
    in_groups: u64,
    work: &'a Work,
}

impl Grouped<'_> {
    /// Writes lines below an indent, grouped if they share a prefix.
    fn write(&mut self, all: &[&str], indent: &str, depth: usize) {
        let mut copied = 0;
        let mut at = 0;
        while at < all.len() && depth < DEEPEST {
            let Some(found) = group_at(all, at, depth, self.work) else {
                at += 1;
                continue;
            };
            self.push_all(all.get(copied..at).unwrap_or_default(), indent);
            let members = all.get(at..at + found.lines).unwrap_or_default();
            let header = members.first().and_then(|line| line.get(..found.length));
            let header = header.unwrap_or_default();
            self.push(indent, header.trim_end());
            let rests: Vec<&str> = members
                .iter()
                .map(|member| member.get(found.length..).unwrap_or_default())
                .collect();
            let below = format!("{indent}{} ", leading_blanks(header));
            self.write(&rests, &below, depth + 1);
            self.in_groups += found.lines as u64;
            at += found.lines;
            copied = at;
        }
        // Without any group nothing has to be written: the text stays as it is.
        if depth > 0 || self.in_groups > 0 {
            self.push_all(all.get(copied..).unwrap_or_default(), indent);
        }
    }

    fn push_all(&mut self, lines: &[&str], indent: &str) {
        for line in lines {
            self.push(indent, line);
        }
    }

    fn push(&mut self, indent: &str, line: &str) {
        self.text.push_str(indent);
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// A run of lines that share their first `length` bytes.
#[derive(Debug, Clone, Copy)]
struct PrefixGroup {
    lines: usize,
    length: usize,
    indent: usize,
}

impl PrefixGroup {
    /// Bytes saved: the prefix is written once with one more line end, each member gets an indent.
    fn gain(self) -> usize {
        ((self.length - self.indent) * (self.lines - 1))
            .saturating_sub(self.lines + self.indent + 1)
    }
}

/// The group that saves most among those that begin at this line.
fn group_at(all: &[&str], at: usize, depth: usize, work: &Work) -> Option<PrefixGroup> {
    let first = all.get(at)?;
    let second = all.get(at + 1)?;
    // Almost always decided by these few bytes.
    let few = if depth == 0 {
        SHORTEST_PATH
    } else {
        SHORTEST_WITHIN
    };
    if first.as_bytes().get(..few)? != second.as_bytes().get(..few)? {
        return None;
    }
    let indent = leading_blanks(first).len();
    let mut length = first.len();
    let mut best: Option<PrefixGroup> = None;
    for (count, line) in all.iter().enumerate().skip(at + 1).take(FARTHEST) {
        length = boundary(first, common(first, line, length));
        let is_path = length > 0 && first.as_bytes().get(length - 1) == Some(&b'/');
        let shortest = match depth {
            // Not in place of a longer one, whose lines would then be split.
            0 if is_path && best.is_none() => SHORTEST_PATH,
            0 => SHORTEST,
            _ => SHORTEST_WITHIN,
        };
        if length < shortest + indent || !work.charge(8 + length / 8) {
            break;
        }
        let group = PrefixGroup {
            lines: count - at + 1,
            length,
            indent,
        };
        // The start of the line after the group must not look like a member of it.
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

/// The end of the last separator within the first `length` bytes, such that every line has
/// something after it.
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
        group(&TextPage::of(text), &Work::for_input(text.len())).map(|(text, _)| text)
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
    fn groups_are_in_groups() {
        let lines: Vec<String> = ["01", "02"]
            .iter()
            .flat_map(|second| {
                (0..3).map(move |number| {
                    format!("2026-01-02 12:00:{second} a worker began job {number}")
                })
            })
            .collect();
        let expected = "2026-01-02 12:00:\n 01 a worker began job\n  0\n  1\n  2\n 02 a worker began job\n  0\n  1\n  2\n";
        assert_eq!(
            grouped(&format!("{}\n", lines.join("\n"))).as_deref(),
            Some(expected)
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
        let words =
            "short one\nshort two\nshort three\nshort four\nshort five\nshort six\nshort seven\n";
        assert_eq!(grouped(words), None);
        assert_eq!(
            grouped("some/longer/path/a\nsome/longer/path/b\n  under it\n"),
            None
        );
    }
}
