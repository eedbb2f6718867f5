//! A heading that was written, and the lines that fit it.

use super::super::work::Work;
use super::alike::{GroupLines, leading_blanks};

/// Bytes that saying a heading again must save.
const LEAST_GAIN: usize = 9;

/// Most lines between a group and the next one under its heading: a reader has it in mind.
const FARTHEST: usize = 12;

/// The latest heading.
#[derive(Debug)]
pub(super) struct KnownHeading {
    /// What stands around its marks.
    parts: Vec<String>,
    /// The line after its group.
    end: usize,
    /// What the indent of each member costs, in bytes.
    indent: usize,
}

impl KnownHeading {
    pub(super) fn new(heading: &str, mark: char, end: usize, indent: usize) -> Self {
        Self {
            parts: heading.split(mark).map(str::to_owned).collect(),
            end,
            indent,
        }
    }

    pub(super) fn ends_at(&mut self, end: usize) {
        self.end = end;
    }

    /// Whether a group that begins here is near enough.
    pub(super) fn is_near(&self, at: usize) -> bool {
        at - self.end <= FARTHEST
    }

    /// What comes before everything else in it.
    pub(super) fn blanks(&self) -> &str {
        leading_blanks(self.parts.first().map_or("", String::as_str))
    }

    /// What stands in a line in place of the marks; `None` if the line does not fit.
    pub(super) fn member<'a>(&self, line: &'a str) -> Option<&'a str> {
        let (first, others) = self.parts.split_first()?;
        let rest = line.strip_prefix(first.as_str())?;
        let fixed: usize = others.iter().map(String::len).sum();
        let length = rest.len().checked_sub(fixed)?;
        if length == 0 || !length.is_multiple_of(others.len()) {
            return None;
        }
        let member = rest.get(..length / others.len())?;
        let after = others.iter().try_fold(rest, |rest, part| {
            rest.strip_prefix(member)?.strip_prefix(part.as_str())
        })?;
        after.is_empty().then_some(member)
    }

    /// How many lines from here on fit, such that the next one can't be taken for one of them.
    pub(super) fn lines_from(&self, lines: &GroupLines<'_>, at: usize, work: &Work) -> usize {
        let mut count = 0;
        while let Some(line) = lines.all.get(at + count)
            && self.member(line).is_some()
            && work.charge(line.len())
            && lines.may_touch(at + count)
        {
            count += 1;
        }
        let blanks = self.blanks();
        let is_apart = |next: Option<&&str>| {
            !next.is_some_and(|next| {
                next.strip_prefix(blanks)
                    .is_some_and(|rest| rest.starts_with(' '))
            })
        };
        while count > 0 && !is_apart(lines.all.get(at + count)) {
            count -= 1;
        }
        count
    }

    /// Bytes saved: the mark and its line end are written, and each member has an indent.
    pub(super) fn gain(&self, lines: usize) -> usize {
        let fixed: usize = self.parts.iter().map(|part| part.trim().len()).sum();
        (fixed * lines).saturating_sub(lines * self.indent + 6)
    }

    pub(super) fn is_worth(&self, lines: usize) -> bool {
        self.gain(lines) >= LEAST_GAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_a_heading() {
        let heading = KnownHeading::new("test … ... ok", '…', 0, 1);
        assert_eq!(heading.member("test a::b ... ok"), Some("a::b"));
        assert_eq!(heading.member("test  ... ok"), None);
        assert_eq!(heading.member("test a::b ... ignored"), None);
        let heading = KnownHeading::new("  cc -c ….c -o ….o", '…', 0, 1);
        assert_eq!(heading.member("  cc -c shop.c -o shop.o"), Some("shop"));
        assert_eq!(heading.member("  cc -c shop.c -o cart.o"), None);
        assert_eq!(heading.blanks(), "  ");
    }
}
