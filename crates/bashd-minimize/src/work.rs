//! The bound on a filter's work: steps per byte of its input, not a clock, so the same text always
//! has the same result.

use std::cell::Cell;

/// Steps that a filter may take for each byte of its input. A pass over the text takes one for
/// each; the longest filter makes about ten passes.
const STEPS_PER_BYTE: u64 = 64;

/// Steps that even an empty input allows.
const STEPS_AT_LEAST: u64 = 100_000;

/// Counts the steps that are left. Workers charge it and stop when it is exhausted.
#[derive(Debug)]
pub(crate) struct Work {
    left: Cell<u64>,
    is_exhausted: Cell<bool>,
}

impl Work {
    pub(crate) fn for_input(bytes: usize) -> Self {
        Self::of_steps((bytes as u64).saturating_mul(STEPS_PER_BYTE) + STEPS_AT_LEAST)
    }

    pub(crate) fn of_steps(steps: u64) -> Self {
        Self {
            left: Cell::new(steps),
            is_exhausted: Cell::new(false),
        }
    }

    /// Takes this many steps; returns whether they were left.
    pub(crate) fn charge(&self, steps: usize) -> bool {
        match self.left.get().checked_sub(steps as u64) {
            Some(left) => self.left.set(left),
            None => self.is_exhausted.set(true),
        }
        !self.is_exhausted.get()
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }

    /// The lines of a text, each charged; they end early when the budget does.
    pub(crate) fn lines<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        lines(text).take_while(|line| self.charge(line.len() + 1))
    }
}

/// The lines of a text without their ends. A final line end ends the last line, it does not begin
/// another.
pub(crate) fn lines(text: &str) -> TextLines<'_> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    TextLines {
        text,
        from: (!text.is_empty()).then_some(0),
        ends: memchr::memchr_iter(b'\n', text.as_bytes()),
    }
}

/// The lines of a text, found several times faster than the standard library does.
#[derive(Debug, Clone)]
pub(crate) struct TextLines<'a> {
    text: &'a str,
    /// Where the next line begins, if there is one.
    from: Option<usize>,
    ends: memchr::Memchr<'a>,
}

impl<'a> Iterator for TextLines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let from = self.from?;
        let end = self.ends.next();
        self.from = end.map(|end| end + 1);
        self.text.get(from..end.unwrap_or(self.text.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_the_work() {
        let work = Work::of_steps(8);
        assert_eq!(
            work.lines("abc\ndef\nghi\n").collect::<Vec<_>>(),
            ["abc", "def"]
        );
        assert!(work.is_exhausted());
    }

    #[test]
    fn a_last_line_end_begins_no_line() {
        assert_eq!(lines("a\n\nb\n").collect::<Vec<_>>(), ["a", "", "b"]);
        assert_eq!(lines("a").collect::<Vec<_>>(), ["a"]);
        assert_eq!(lines("").count(), 0);
    }
}
