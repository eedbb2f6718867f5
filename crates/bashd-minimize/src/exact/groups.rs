//! Lines that differ in one place only stand under a heading that has a mark in that place:
//! `src/a.rs:…`, then ` 12: x`, ` 14: y`. `test … ... ok` has something after the mark as well, and
//! in `cc -c ….c -o ….o` each mark stands for the same words.
//!
//! The lines below a heading begin with its blanks and one more. The line after them does not.

use super::super::work::Work;
use super::stems;
use super::{TextPage, is_untouchable};
use std::cell::Cell;

/// Least bytes of a shared beginning.
const SHORTEST: usize = 5;

/// Least bytes of one that is a path: nobody takes it for a separate word.
const SHORTEST_PATH: usize = 4;

/// Least bytes of one within a group, whose lines are known to be alike.
const SHORTEST_WITHIN: usize = 3;

/// Least bytes of a shared end.
const SHORTEST_END: usize = 3;

/// Bytes that a group must save.
const LEAST_GAIN: usize = 24;

/// How many lines to look ahead from each line.
const FARTHEST: usize = 400;

/// How deep groups may nest.
const DEEPEST: usize = 4;

/// The text with groups, and how many lines are in them; `None` if there are none.
pub(super) fn group(page: &TextPage<'_>, mark: char, work: &Work) -> Option<(String, u64)> {
    let text = page.text;
    work.charge(text.len());
    let mut grouped = Grouped {
        text: String::new(),
        in_groups: 0,
        mark,
        work,
    };
    grouped.write(&GroupLines::of(&page.lines), "", 0);
    if grouped.in_groups == 0 {
        return None;
    }
    if !text.ends_with('\n') {
        grouped.text.pop();
    }
    Some((grouped.text, grouped.in_groups))
}

/// Lines, and which of them must not be touched, as far as anybody asked.
struct GroupLines<'a> {
    all: &'a [&'a str],
    /// Empty where every line may be touched.
    untouchable: Vec<Cell<Option<bool>>>,
}

impl<'a> GroupLines<'a> {
    fn of(all: &'a [&'a str]) -> Self {
        Self {
            all,
            untouchable: vec![Cell::new(None); all.len()],
        }
    }

    /// Lines of a group.
    fn within(all: &'a [&'a str]) -> Self {
        Self {
            all,
            untouchable: Vec::new(),
        }
    }

    fn may_touch(&self, at: usize) -> bool {
        let (Some(known), Some(line)) = (self.untouchable.get(at), self.all.get(at)) else {
            return true;
        };
        let is_untouchable = known.get().unwrap_or_else(|| is_untouchable(line));
        known.set(Some(is_untouchable));
        !is_untouchable
    }
}

/// The text being made.
struct Grouped<'a> {
    text: String,
    in_groups: u64,
    mark: char,
    work: &'a Work,
}

impl Grouped<'_> {
    /// Writes lines below an indent, grouped if they share something.
    fn write(&mut self, lines: &GroupLines<'_>, indent: &str, depth: usize) {
        let all = lines.all;
        let mut copied = 0;
        let mut at = 0;
        while at < all.len() && depth < DEEPEST {
            let Some(found) = find_at(lines, at, depth, self.work) else {
                at += 1;
                continue;
            };
            self.push_all(all.get(copied..at).unwrap_or_default(), indent);
            let count = found.lines();
            let members = all.get(at..at + count).unwrap_or_default();
            match found {
                FoundGroup::Beginning(group) => {
                    self.write_group(members, group.length, indent, depth);
                }
                FoundGroup::FirstWord(_) => self.write_words(members, indent),
                FoundGroup::End(_) => self.write_group(members, 0, indent, depth),
            }
            self.in_groups += count as u64;
            at += count;
            copied = at;
        }
        // Without any group nothing has to be written: the text stays as it is.
        if depth > 0 || self.in_groups > 0 {
            self.push_all(all.get(copied..).unwrap_or_default(), indent);
        }
    }

    /// Lines whose first word stands in them again.
    fn write_words(&mut self, members: &[&str], indent: &str) {
        let first = members.first().copied().unwrap_or_default();
        let mark = self.mark.to_string();
        self.push(indent, &first.replace(stems::first_word(first), &mark));
        for member in members {
            self.push(indent, &format!(" {}", stems::first_word(member)));
        }
    }

    fn write_group(&mut self, members: &[&str], length: usize, indent: &str, depth: usize) {
        let beginning = members.first().and_then(|line| line.get(..length));
        let beginning = beginning.unwrap_or_default();
        let rests: Vec<&str> = members
            .iter()
            .map(|member| member.get(length..).unwrap_or_default())
            .collect();
        let below = format!("{indent}{} ", leading_blanks(beginning));
        let end = shared_end(&rests);
        let ending = rests
            .first()
            .and_then(|rest| rest.get(rest.len() - end..))
            .unwrap_or_default();
        let middles: Vec<&str> = rests
            .iter()
            .map(|rest| rest.get(..rest.len() - end).unwrap_or_default())
            .collect();
        let mark = self.mark;
        if let Some((between, stems)) = stems::stems(&middles, mark) {
            self.push(indent, &format!("{beginning}{between}{ending}"));
            self.push_all(&stems, &below);
            return;
        }
        self.push(indent, &format!("{beginning}{mark}{ending}"));
        self.write(&GroupLines::within(&middles), &below, depth + 1);
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

/// Lines that stand together, by what they share.
#[derive(Debug, Clone, Copy)]
enum FoundGroup {
    Beginning(PrefixGroup),
    /// So many lines have the same form around their first word, which stands in them again.
    FirstWord(usize),
    /// So many lines end alike.
    End(usize),
}

impl FoundGroup {
    fn lines(self) -> usize {
        match self {
            Self::Beginning(group) => group.lines,
            Self::FirstWord(lines) | Self::End(lines) => lines,
        }
    }
}

/// The group that begins at this line.
fn find_at(lines: &GroupLines<'_>, at: usize, depth: usize, work: &Work) -> Option<FoundGroup> {
    if let Some(group) = group_at(lines, at, depth, work) {
        return Some(FoundGroup::Beginning(group));
    }
    if depth == 0
        && let Some(count) = words_at(lines, at, work)
    {
        return Some(FoundGroup::FirstWord(count));
    }
    ends_at(lines, at, work).map(FoundGroup::End)
}

/// Whether the line after these begins as a member of a group without a beginning would.
fn is_apart(all: &[&str], at: usize) -> bool {
    !all.get(at).is_some_and(|next| next.starts_with(' '))
}

/// How many lines from here on have the same form around their first word.
fn words_at(lines: &GroupLines<'_>, at: usize, work: &Work) -> Option<usize> {
    let form = stems::WordForm::of(lines.all.get(at)?)?;
    if !form.fits(lines.all.get(at + 1)?) || !lines.may_touch(at) {
        return None;
    }
    let mut count = 1;
    while let Some(line) = lines.all.get(at + count)
        && work.charge(line.len())
        && form.fits(line)
        && lines.may_touch(at + count)
    {
        count += 1;
    }
    let gain = (form.fixed_bytes() * (count - 1)).saturating_sub(count + 6);
    (gain >= LEAST_GAIN && is_apart(lines.all, at + count)).then_some(count)
}

/// Least bytes that lines which share only their ends must share.
const SHORTEST_END_ALONE: usize = 12;

/// How many lines from here on end alike.
fn ends_at(lines: &GroupLines<'_>, at: usize, work: &Work) -> Option<usize> {
    let all = lines.all;
    let (first, second) = (all.get(at)?, all.get(at + 1)?);
    // Almost always decided by these few bytes.
    let last_bytes = |line: &str| {
        let from = line.len().checked_sub(SHORTEST_PATH)?;
        let bytes = line.as_bytes().get(from..)?;
        <[u8; SHORTEST_PATH]>::try_from(bytes).ok()
    };
    if last_bytes(first)? != last_bytes(second)? {
        return None;
    }
    let mut length = first.len().saturating_sub(1);
    let mut best: Option<(usize, usize)> = None;
    for (count, line) in all.iter().enumerate().skip(at + 1).take(FARTHEST) {
        length = end_from_separator(first, common_end(first, line, length));
        let is_over = length < SHORTEST_END_ALONE
            || !work.charge(8 + length / 8)
            || !lines.may_touch(count)
            || count == at + 1 && !lines.may_touch(at);
        if is_over {
            break;
        }
        let members = count - at + 1;
        let gain = (length * (members - 1)).saturating_sub(members + 6);
        if is_apart(all, count + 1) && best.is_none_or(|(_, most)| gain > most) {
            best = Some((members, gain));
        }
    }
    best.filter(|(members, gain)| *members > 2 && *gain >= LEAST_GAIN)
        .map(|(members, _)| members)
}

/// A run of lines that share their first `length` bytes.
#[derive(Debug, Clone, Copy)]
struct PrefixGroup {
    lines: usize,
    length: usize,
    /// Bytes of the beginning that are no blanks: those cost next to no tokens.
    shared: usize,
}

impl PrefixGroup {
    /// Bytes saved: the beginning is written once with a mark and one more line end, each member
    /// gets an indent.
    fn gain(self) -> usize {
        (self.shared * (self.lines - 1)).saturating_sub(self.lines + 4)
    }
}

/// The group that saves most among those that begin at this line.
fn group_at(lines: &GroupLines<'_>, at: usize, depth: usize, work: &Work) -> Option<PrefixGroup> {
    let all = lines.all;
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
    let blanks = leading_blanks(first);
    let indent = blanks.len();
    let mut length = first.len();
    let mut shared = 0;
    let mut best: Option<PrefixGroup> = None;
    for (count, line) in all.iter().enumerate().skip(at + 1).take(FARTHEST) {
        let before = length;
        length = boundary(first, common(first, line, length));
        if length != before || count == at + 1 {
            shared = weight(first.as_bytes().get(indent..length).unwrap_or_default());
        }
        let is_path = length > 0 && first.as_bytes().get(length - 1) == Some(&b'/');
        let shortest = match depth {
            // Not in place of a longer one, whose lines would then be split.
            0 if is_path && best.is_none() => SHORTEST_PATH,
            0 => SHORTEST,
            _ => SHORTEST_WITHIN,
        };
        if shared < SHORTEST_WITHIN || length < shortest + indent || !work.charge(8 + length / 8) {
            break;
        }
        let may_touch = lines.may_touch(count) && (count > at + 1 || lines.may_touch(at));
        if !may_touch {
            break;
        }
        let group = PrefixGroup {
            lines: count - at + 1,
            length,
            shared,
        };
        // The start of the line after the group must not look like a member of it.
        let next_is_apart = all.get(count + 1).is_none_or(|next| {
            !next
                .strip_prefix(blanks)
                .is_some_and(|rest| rest.starts_with(' '))
        });
        if next_is_apart && best.is_none_or(|best| group.gain() > best.gain()) {
            best = Some(group);
        } else if best.is_some_and(|best| group.gain() * 2 < best.gain()) {
            break;
        }
    }
    best.filter(|group| {
        let members = all.get(at..at + group.lines).unwrap_or_default();
        group.gain() >= LEAST_GAIN || group.gain() + end_gain(members, group.length) >= LEAST_GAIN
    })
}

/// Bytes that a shared end of these lines saves.
fn end_gain(members: &[&str], from: usize) -> usize {
    let rests: Vec<&str> = members
        .iter()
        .map(|member| member.get(from..).unwrap_or_default())
        .collect();
    shared_end(&rests) * (members.len().saturating_sub(1))
}

/// Bytes that are no blanks, and no drawings.
fn weight(bytes: &[u8]) -> usize {
    let is_drawn = |byte: &u8| matches!(byte, b' ' | b'\t' | b'|' | b'-' | b'^' | b'~' | b'=');
    bytes.iter().filter(|byte| !is_drawn(byte)).count()
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

/// How many bytes the lines have in common at their ends, from a separator on, such that every line
/// has something before it.
fn shared_end(rests: &[&str]) -> usize {
    let Some((first, others)) = rests.split_first() else {
        return 0;
    };
    let mut length = first.len().saturating_sub(1);
    for other in others {
        length = common_end(first, other, length);
        if length < SHORTEST_END {
            return 0;
        }
    }
    match end_from_separator(first, length) {
        shared if shared >= SHORTEST_END => shared,
        _ => 0,
    }
}

/// How many bytes two lines have in common at their ends, at most `most`, with something before.
fn common_end(one: &str, other: &str, most: usize) -> usize {
    let most = most.min(other.len().saturating_sub(1));
    let pairs = one.bytes().rev().zip(other.bytes().rev()).take(most);
    pairs.take_while(|(one, other)| one == other).count()
}

/// How long an end is from its first separator on.
fn end_from_separator(line: &str, length: usize) -> usize {
    let ending = line
        .as_bytes()
        .get(line.len() - length..)
        .unwrap_or_default();
    let is_separator =
        |byte: &u8| matches!(byte, b' ' | b':' | b'/' | b'.' | b'(' | b'[' | b'|' | b'=');
    let start = ending.iter().position(is_separator).unwrap_or(length);
    length - start
}

/// The lines without headings, with the number of the line that each is from, and for each of the
/// given lines its heading.
pub(super) fn written_out(
    all: &[&str],
    mark: Option<char>,
) -> (Vec<(usize, String)>, Vec<Option<usize>>) {
    let mut headings = vec![None; all.len()];
    let mut at = 0;
    let out = expand(all, &mut at, "", None, mark, &mut headings);
    (out, headings)
}

/// The lines from here on that stand below an indent.
fn expand(
    all: &[&str],
    at: &mut usize,
    indent: &str,
    heading: Option<usize>,
    mark: Option<char>,
    headings: &mut [Option<usize>],
) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    while let Some(body) = all.get(*at).and_then(|line| line.strip_prefix(indent)) {
        let place = *at;
        if let Some(known) = headings.get_mut(place) {
            *known = heading;
        }
        *at += 1;
        match mark.filter(|mark| body.contains(*mark)) {
            Some(mark) => {
                let below = format!("{indent}{} ", leading_blanks(body));
                let members = expand(all, at, &below, Some(place), Some(mark), headings);
                let whole = |(from, member): (usize, String)| (from, body.replace(mark, &member));
                out.extend(members.into_iter().map(whole));
            }
            None => out.push((place, body.to_owned())),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(text: &str) -> Option<String> {
        let grouped = group(&TextPage::of(text), '…', &Work::for_input(text.len()));
        let shown = grouped.map(|(text, _)| text);
        if let Some(shown) = &shown {
            let lines: Vec<&str> = shown.lines().collect();
            let (out, _) = written_out(&lines, Some('…'));
            let lines = out.into_iter().map(|(_, line)| line + "\n");
            assert_eq!(lines.collect::<String>(), text);
        }
        shown
    }

    #[test]
    fn matches_of_a_file_stand_under_its_name() {
        let text = "src/deep/one.rs:12:fn a\nsrc/deep/one.rs:14:fn b\nsrc/deep/one.rs:19:fn c\nother line\n";
        let expected = "src/deep/one.rs:…\n 12:fn a\n 14:fn b\n 19:fn c\nother line\n";
        assert_eq!(grouped(text).as_deref(), Some(expected));
    }

    #[test]
    fn what_is_after_the_difference_stands_in_the_heading_too() {
        let text = "test a::b ... ok\ntest a::c ... ok\ntest d ... ok\ntest e ... ok\ntest f ... ok\ntest g ... ok\ntest h ... ok\n";
        let expected = "test … ... ok\n a::b\n a::c\n d\n e\n f\n g\n h\n";
        assert_eq!(grouped(text).as_deref(), Some(expected));
    }

    #[test]
    fn ends_and_first_words_are_shared() {
        let text = "test_a (tests.more.ListTests.test_a) ... ok\ntest_bc (tests.more.ListTests.test_bc) ... ok\ntest_d (tests.more.ListTests.test_d) ... ok\n";
        let expected = "… (tests.more.ListTests.…) ... ok\n test_a\n test_bc\n test_d\n";
        assert_eq!(grouped(text).as_deref(), Some(expected));
        let text = "unzip 6.0 amd64 [installed,automatic]\nzip 3 amd64 [installed,automatic]\nxz 5 amd64 [installed,automatic]\n";
        let expected = "… amd64 [installed,automatic]\n unzip 6.0\n zip 3\n xz 5\n";
        assert_eq!(grouped(text).as_deref(), Some(expected));
    }

    #[test]
    fn trouble_is_not_touched() {
        let text = "src/deep/one.rs:12:fn a\nsrc/deep/one.rs:13:fn a\nsrc/deep/one.rs:14:an error\nsrc/deep/one.rs:19:fn c\nsrc/deep/one.rs:20:fn c\n";
        assert_eq!(grouped(text), None, "two lines are too few");
        let text = format!("{}{text}", "src/deep/one.rs:11:fn x\n");
        let shown = grouped(&text).unwrap();
        assert!(shown.contains("\nsrc/deep/one.rs:14:an error\n"), "{shown}");
    }

    #[test]
    fn a_longer_run_wins_over_a_longer_beginning() {
        let text = "target/debug/build/a/x\ntarget/debug/build/a/y\ntarget/debug/b\ntarget/debug/c\ntarget/debug/d\ntarget/debug/e\n";
        let shown = grouped(text).unwrap();
        assert!(
            shown.starts_with("target/debug/…\n build/a/x\n build/a/y\n b\n"),
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
        let expected = "2026-01-02 12:00:…\n 01 a worker began job …\n  0\n  1\n  2\n 02 a worker began job …\n  0\n  1\n  2\n";
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
            Some("  some/indented/path/…\n   a\n   b\n   c\nx\n")
        );
        assert_eq!(grouped("a/b\na/c\na/d\n"), None);
        assert_eq!(
            grouped("some/longer/path/a\nsome/longer/path/b\n  under it\n"),
            None
        );
    }
}
