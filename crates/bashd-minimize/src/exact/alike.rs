//! Which lines stand together: those that share their beginning, their end, or the form around
//! their first word.

use super::super::work::Work;
use super::untouchable::UntouchableLines;
use super::{TextPage, cuts, stems};

/// Least bytes of a shared beginning.
const SHORTEST: usize = 5;

/// Least bytes of one that is a path: nobody takes it for a separate word.
const SHORTEST_PATH: usize = 4;

/// Least bytes of one within a group, whose lines are known to be alike.
const SHORTEST_WITHIN: usize = 3;

/// Least bytes of a shared end.
const SHORTEST_END: usize = 3;

/// Bytes that a group must save.
const LEAST_GAIN: usize = 9;

/// How many lines to look ahead from each line.
const FARTHEST: usize = 400;

/// Lines, and which of them must not be touched.
pub(super) struct GroupLines<'a> {
    pub(super) all: &'a [&'a str],
    /// None where every line may be touched.
    untouchable: Option<UntouchableLines<'a>>,
}

impl<'a> GroupLines<'a> {
    pub(super) fn of(page: &'a TextPage<'a>) -> Self {
        Self {
            all: &page.lines,
            untouchable: Some(UntouchableLines::of(page.text, &page.lines)),
        }
    }

    /// Lines of a group.
    pub(super) fn within(all: &'a [&'a str]) -> Self {
        Self {
            all,
            untouchable: None,
        }
    }

    pub(super) fn may_touch(&self, at: usize) -> bool {
        !self.untouchable.as_ref().is_some_and(|lines| lines.has(at))
    }
}

/// Lines that stand together, by what they share.
#[derive(Debug, Clone, Copy)]
pub(super) enum FoundGroup {
    Beginning(PrefixGroup),
    /// Lines have the same form around their first word, which occurs in them again.
    FirstWord(PlainGroup),
    /// Lines end alike.
    End(PlainGroup),
}

/// So many lines, and the bytes that they save.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainGroup {
    lines: usize,
    gain: usize,
}

impl FoundGroup {
    pub(super) fn lines(self) -> usize {
        match self {
            Self::Beginning(group) => group.lines,
            Self::FirstWord(group) | Self::End(group) => group.lines,
        }
    }
}

/// The group that begins at this line.
pub(super) fn find_at(
    lines: &GroupLines<'_>,
    at: usize,
    depth: usize,
    work: &Work,
) -> Option<FoundGroup> {
    if let Some(group) = group_at(lines, at, depth, work) {
        return Some(FoundGroup::Beginning(group));
    }
    if depth == 0
        && let Some(group) = words_at(lines, at, work)
    {
        return Some(FoundGroup::FirstWord(group));
    }
    ends_at(lines, at, work).map(FoundGroup::End)
}

/// Whether the line after these begins as a member of a group without a beginning would.
fn is_apart(all: &[&str], at: usize) -> bool {
    !all.get(at).is_some_and(|next| next.starts_with(' '))
}

/// How many lines from here on have the same form around their first word.
fn words_at(lines: &GroupLines<'_>, at: usize, work: &Work) -> Option<PlainGroup> {
    let (first, second) = (lines.all.get(at)?, lines.all.get(at + 1)?);
    // Almost always decided by how they begin, and by how they end: alike, or with their first
    // words.
    if !stems::may_share_a_form(first, second) {
        return None;
    }
    if first.as_bytes().last() != second.as_bytes().last()
        && !(stems::ends_with_first_word(first) && stems::ends_with_first_word(second))
    {
        return None;
    }
    let form = stems::WordForm::of(first)?;
    if !form.fits(second) || !lines.may_touch(at) {
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
    (gain >= LEAST_GAIN && is_apart(lines.all, at + count))
        .then_some(PlainGroup { lines: count, gain })
}

/// Least bytes that lines which share only their ends must share.
const SHORTEST_END_ALONE: usize = 8;

/// How many lines from here on end alike.
fn ends_at(lines: &GroupLines<'_>, at: usize, work: &Work) -> Option<PlainGroup> {
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
    let mut best: Option<PlainGroup> = None;
    for (count, line) in all.iter().enumerate().skip(at + 1).take(FARTHEST) {
        length = end_from_separator(first, common_end(first, line, length));
        while length >= SHORTEST_END_ALONE
            && !(is_whole_before(first, length) && is_whole_before(line, length))
        {
            length = end_from_separator(first, length - 1);
        }
        let is_over = length < SHORTEST_END_ALONE
            || !work.charge(8 + length / 8)
            || !lines.may_touch(count)
            || count == at + 1 && !lines.may_touch(at);
        if is_over {
            break;
        }
        let members = count - at + 1;
        let gain = (length * (members - 1)).saturating_sub(members + 6);
        if is_apart(all, count + 1) && best.is_none_or(|best| gain > best.gain) {
            best = Some(PlainGroup {
                lines: members,
                gain,
            });
        }
    }
    best.filter(|group| group.lines > 2 && group.gain >= LEAST_GAIN)
}

/// A run of lines that share their first `length` bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PrefixGroup {
    lines: usize,
    pub(super) length: usize,
    /// Bytes of the beginning that are not blanks: those cost next to no tokens.
    shared: usize,
    /// What the indent of each member costs, in bytes.
    indent: usize,
}

impl PrefixGroup {
    /// Bytes saved: the beginning is written once with a mark and one more line end, each member
    /// gets an indent.
    fn gain(self) -> usize {
        (self.shared * (self.lines - 1)).saturating_sub(self.lines * self.indent + 4)
    }
}

/// What an indent costs: one blank before a word is part of its token, two are a token of their
/// own.
fn indent_cost(depth: usize) -> usize {
    if depth > 0 { 2 } else { 1 }
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
        length = boundary(first, common(first, line, length), line);
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
            indent: indent_cost(depth),
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

/// Bytes that are neither blanks nor drawings.
fn weight(bytes: &[u8]) -> usize {
    let is_drawn = |byte: &u8| matches!(byte, b' ' | b'\t' | b'|' | b'-' | b'^' | b'~' | b'=');
    bytes.iter().filter(|byte| !is_drawn(byte)).count()
}

pub(super) fn leading_blanks(line: &str) -> &str {
    let length = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..length).unwrap_or_default()
}

/// How many bytes two lines have in common, at most `most`.
fn common(one: &str, other: &str, most: usize) -> usize {
    let pairs = one.bytes().zip(other.bytes()).take(most);
    pairs.take_while(|(one, other)| one == other).count()
}

/// The end of the last separator within the first `length` bytes, such that both lines have
/// something to see after it, and no number is cut.
fn boundary(line: &str, length: usize, other: &str) -> usize {
    let bytes = line.as_bytes();
    let seen = |line: &str| line.trim_ascii_end().len().saturating_sub(1);
    let shared = bytes
        .get(..length.min(seen(line)).min(seen(other)))
        .unwrap_or_default();
    let is_separator = |byte: &u8| {
        matches!(
            byte,
            b'/' | b':' | b' ' | b'|' | b']' | b')' | b'=' | b',' | b'\t'
        )
    };
    let ends = shared.iter().enumerate().rev();
    let mut ends = ends
        .filter(|(_, byte)| is_separator(byte))
        .map(|(at, _)| at + 1);
    let whole = ends.find(|end| !cuts::in_number(line, *end) && !cuts::in_number(other, *end));
    whole.unwrap_or(0)
}

/// How many bytes the lines have in common at their ends, from a separator on, such that every line
/// has something before it.
pub(super) fn shared_end(rests: &[&str]) -> usize {
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
    let mut shared = end_from_separator(first, length);
    // No member may end within a word or a number: it would be read as a whole one.
    while shared >= SHORTEST_END && !rests.iter().all(|rest| is_whole_before(rest, shared)) {
        shared = end_from_separator(first, shared - 1);
    }
    if shared >= SHORTEST_END { shared } else { 0 }
}

fn is_whole_before(line: &str, end: usize) -> bool {
    cuts::is_whole(line, line.len() - end)
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
