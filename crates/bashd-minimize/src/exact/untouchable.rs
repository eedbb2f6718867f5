//! Lines that must stand as they are: those that tell of trouble, those with a name that is always
//! kept, and those that keep their colours.

use super::super::names::is_kept;
use super::super::trouble::is_trouble;
use super::signs;
use std::cell::Cell;

/// Whether a line must stand as it is.
pub(super) fn is_untouchable(line: &str) -> bool {
    is_trouble(line) || is_kept(line) || memchr::memchr(0x1b, line.as_bytes()).is_some()
}

/// The same, for a line of which nothing is known: most are decided by a quick look.
pub(super) fn must_stand(line: &str) -> bool {
    signs::find(line).is_some() && is_untouchable(line)
}

/// How many lines are looked at in one go.
const AT_ONCE: usize = 16;

/// What is known of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineStanding {
    Unknown,
    Free,
    Untouchable,
}

/// Which lines of a text must not be touched, as far as anybody asked.
pub(super) struct UntouchableLines<'a> {
    text: &'a str,
    lines: &'a [&'a str],
    known: Vec<Cell<LineStanding>>,
}

impl<'a> UntouchableLines<'a> {
    /// These are the lines of the text.
    pub(super) fn of(text: &'a str, lines: &'a [&'a str]) -> Self {
        Self {
            text,
            lines,
            known: vec![Cell::new(LineStanding::Unknown); lines.len()],
        }
    }

    pub(super) fn has(&self, at: usize) -> bool {
        if self.standing(at) == LineStanding::Unknown {
            self.look_from(at);
        }
        self.standing(at) == LineStanding::Untouchable
    }

    fn standing(&self, at: usize) -> LineStanding {
        self.known.get(at).map_or(LineStanding::Free, Cell::get)
    }

    fn learn(&self, at: usize, standing: LineStanding) {
        if let Some(known) = self.known.get(at) {
            known.set(standing);
        }
    }

    /// Learns about this line and some of those after it.
    fn look_from(&self, first: usize) {
        let end = self.lines.len().min(first + AT_ONCE);
        let mut at = first;
        while at < end {
            let Some(sign) = self.next_sign(at, end) else {
                (at..end).for_each(|line| self.learn(line, LineStanding::Free));
                return;
            };
            (at..sign).for_each(|line| self.learn(line, LineStanding::Free));
            let is_so = self
                .lines
                .get(sign)
                .is_some_and(|line| is_untouchable(line));
            let standing = if is_so {
                LineStanding::Untouchable
            } else {
                LineStanding::Free
            };
            self.learn(sign, standing);
            at = sign + 1;
        }
    }

    /// The first of these lines that has a sign.
    fn next_sign(&self, from: usize, end: usize) -> Option<usize> {
        let start = self.start_of(from);
        let text = self.text.get(start..self.start_of(end))?;
        let sign = start + signs::find(text)?;
        let lines = self.lines.get(from..end)?;
        let before = lines.partition_point(|line| self.offset_of(line) <= sign);
        Some(from + before.saturating_sub(1))
    }

    fn start_of(&self, at: usize) -> usize {
        let line = self.lines.get(at);
        line.map_or(self.text.len(), |line| self.offset_of(line))
    }

    fn offset_of(&self, line: &str) -> usize {
        line.as_ptr().addr() - self.text.as_ptr().addr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_lines_at_once_are_judged_as_each_alone() {
        let lines = [
            "plain",
            "",
            "an error",
            "0 failed",
            "  ^",
            "~^ x",
            "E   ValueError",
            "a .env",
            ".env",
            "x/.ssh",
            "wallet.dat",
            "see id_rsa",
            "a \x1b[31mb\x1b[m",
            "Error",
            "é",
            "",
            "token",
            "plain again",
            "server.pem",
            "remote: x",
            "2 = 2",
            "no tests ran",
            "CVE-2023-1",
            "end",
        ];
        let text = lines.join("\n");
        let known = UntouchableLines::of(&text, &lines_of(&text).leak()[..]);
        for (at, line) in lines.iter().enumerate() {
            assert_eq!(known.has(at), is_untouchable(line), "{line}");
        }
    }

    fn lines_of(text: &str) -> Vec<&str> {
        text.split('\n').collect()
    }
}
