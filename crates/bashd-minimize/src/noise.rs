//! Noise: lines that a tool itself prints about its own doing, known by their whole form.
//!
//! The rules of trust apply here and not in the filters: a line that tells of trouble, and one with
//! a name that is always kept, is never noise, and no run that failed or may have failed comes here
//! at all. What is left out is counted by its kind.

use super::names::has_kept_name;
use super::trouble::is_trouble;
use super::work::Work;
use regex::RegexSet;
use std::ops::Range;

/// How a run ended, as far as a filter may know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownEnding {
    /// The command itself exited with status 0: known noise may be counted instead of shown.
    Success,
    /// It failed, or its status is unknown: everything stays.
    Careful,
}

/// A form of lines that a tool prints about its own doing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoiseForm {
    /// What such lines are called in the footer.
    pub(crate) kind: &'static str,
    /// Whose line it is.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers, and for the test"))]
    pub(crate) whose: &'static str,
    /// The whole line.
    pub(crate) pattern: &'static str,
    /// Whether words of trouble in it are part of the form, as in an option's name.
    pub(crate) words: FormWords,
    /// A line of this form.
    #[cfg_attr(not(test), expect(dead_code, reason = "the test reads it"))]
    pub(crate) case: &'static str,
}

/// How the words of a form are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormWords {
    /// As in any other line.
    Telling,
    /// They tell of no trouble.
    Fixed,
}

/// Forms that are looked for together.
#[derive(Debug)]
pub(crate) struct FormSet {
    forms: &'static [NoiseForm],
    patterns: Option<RegexSet>,
}

impl FormSet {
    pub(crate) fn of(forms: &'static [NoiseForm]) -> Self {
        let whole = |form: &NoiseForm| format!("^(?:{})$", form.pattern);
        Self {
            forms,
            patterns: RegexSet::new(forms.iter().map(whole)).ok(),
        }
    }

    /// The form of a line.
    pub(crate) fn find(&self, line: &str) -> Option<&'static NoiseForm> {
        let found = self.patterns.as_ref()?.matches(line);
        found.iter().next().and_then(|at| self.forms.get(at))
    }
}

/// What becomes of the lines of a text.
#[derive(Debug)]
pub(crate) struct NoiseMarks<'a> {
    lines: &'a [&'a str],
    work: &'a Work,
    /// The kind of each line that is left out.
    kinds: Vec<Option<&'static str>>,
    /// What is said after a line about those that follow it.
    notices: Vec<(usize, String)>,
}

/// The lines that stay.
#[derive(Debug, Default)]
pub(crate) struct KeptText {
    pub(crate) text: String,
    /// For each line the line of the plain form; none for a notice.
    pub(crate) plain_lines: Vec<Option<u32>>,
    /// What is left out, by kind.
    pub(crate) left_out: Vec<(&'static str, u64)>,
}

/// The kind of lines that differ from the one before only in their time.
pub(crate) const AGAIN: &str = "lines said again later";

impl<'a> NoiseMarks<'a> {
    pub(crate) fn new(lines: &'a [&'a str], work: &'a Work) -> Self {
        Self {
            lines,
            work,
            kinds: vec![None; lines.len()],
            notices: Vec::new(),
        }
    }

    /// The line has this form: it is left out.
    pub(crate) fn leave(&mut self, at: usize, form: &NoiseForm) {
        let Some(line) = self.lines.get(at) else {
            return;
        };
        self.work.charge(line.len() * 2);
        let tells = form.words == FormWords::Telling && is_trouble(line);
        if tells || has_kept_name(line) {
            return;
        }
        if let Some(kind) = self.kinds.get_mut(at) {
            *kind = Some(form.kind);
        }
    }

    /// Leaves out every line of a range that has one of these forms.
    pub(crate) fn leave_forms(&mut self, range: Range<usize>, forms: &FormSet) {
        for at in range {
            let Some(line) = self.lines.get(at) else {
                return;
            };
            if !self.work.charge(line.len()) {
                return;
            }
            if let Some(form) = forms.find(line) {
                self.leave(at, form);
            }
        }
    }

    /// The lines of a range say what the line before it says, at other times.
    pub(crate) fn leave_again(&mut self, range: Range<usize>, notice: String) {
        let Some(first) = range.start.checked_sub(1) else {
            return;
        };
        for kind in self.kinds.get_mut(range).unwrap_or_default() {
            *kind = Some(AGAIN);
        }
        self.notices.push((first, notice));
    }

    /// The lines that stay; `None` if all do.
    pub(crate) fn finish(self, ends_with_line_end: bool) -> Option<KeptText> {
        if self.kinds.iter().all(Option::is_none) {
            return None;
        }
        let mut kept = KeptText::default();
        let mut notices = self.notices.into_iter().peekable();
        for (at, (line, kind)) in self.lines.iter().zip(&self.kinds).enumerate() {
            match kind {
                Some(kind) => kept.count(kind),
                None => kept.push(line, Some(at as u32)),
            }
            while let Some((_, notice)) = notices.next_if(|(after, _)| *after == at) {
                kept.push(&notice, None);
            }
        }
        if !ends_with_line_end {
            kept.text.pop();
        }
        Some(kept)
    }
}

impl KeptText {
    fn push(&mut self, line: &str, plain_line: Option<u32>) {
        self.text.push_str(line);
        self.text.push('\n');
        self.plain_lines.push(plain_line);
    }

    fn count(&mut self, kind: &'static str) {
        match self.left_out.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => self.left_out.push((kind, 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: &[NoiseForm] = &[NoiseForm {
        kind: "passed",
        whose: "a test runner",
        pattern: r"test \S+ \.\.\. ok",
        words: FormWords::Telling,
        case: "test a ... ok",
    }];

    #[test]
    fn only_whole_forms_without_trouble_or_names_are_left_out() {
        let lines = [
            "test a::b ... ok",
            "test a ... ok, said the user",
            "so test a ... ok",
            "test error ... ok",
            "test https://a.b ... ok",
            "test c ... ok",
        ];
        let work = Work::for_input(1000);
        let mut noise = NoiseMarks::new(&lines, &work);
        noise.leave_forms(0..lines.len(), &FormSet::of(FORMS));
        let kept = noise.finish(true).unwrap();
        assert_eq!(kept.text, lines.get(1..5).unwrap().join("\n") + "\n");
        assert_eq!(kept.left_out, [("passed", 2)]);
        assert_eq!(kept.plain_lines, [Some(1), Some(2), Some(3), Some(4)]);
    }
}
