//! What a filter writes to: lines that stay, and lines of known kinds that are counted or joined.
//!
//! The rules of trust apply here and not in the filters: a line that tells of trouble always stays,
//! and if a run failed, or its end is unknown, no line of noise is merely counted: its item is
//! listed.

use super::braces;
use super::frames::{FrameLine, Frames};
use super::trouble::is_trouble;
use super::work::Work;

/// How a run ended, as far as a filter may know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownEnding {
    /// The command itself exited with status 0: known noise may be counted instead of shown.
    Success,
    /// It failed, or its status is unknown: everything stays, at most in another form.
    Careful,
}

/// The text that a filter makes, line by line.
#[derive(Debug)]
pub(crate) struct Sheet<'a> {
    ending: KnownEnding,
    work: &'a Work,
    text: String,
    /// Noise since the last line that stays, by kind in the order of appearance.
    pending: Vec<(&'static str, Vec<Folded<'a>>)>,
    /// What is left out so far, by kind.
    left_out: Vec<(&'static str, u64)>,
    joined: u64,
    skipped: bool,
    remark: Option<&'static str>,
    /// Set if the tool shows code frames.
    frames: Option<Frames>,
    said: bool,
}

#[derive(Debug)]
struct Folded<'a> {
    item: &'a str,
    line: &'a str,
}

impl<'a> Sheet<'a> {
    pub(crate) fn new(ending: KnownEnding, work: &'a Work) -> Self {
        Self {
            ending,
            work,
            text: String::new(),
            pending: Vec::new(),
            left_out: Vec::new(),
            joined: 0,
            skipped: false,
            remark: None,
            frames: None,
            said: false,
        }
    }

    /// Writes source lines of code frames only once.
    pub(crate) fn with_frames(mut self) -> Self {
        self.frames = Some(Frames::default());
        self
    }

    /// Says in the last line how lines were rewritten.
    pub(crate) fn remark(&mut self, remark: &'static str) {
        self.remark = Some(remark);
    }

    pub(crate) fn ending(&self) -> KnownEnding {
        self.ending
    }

    /// The line stays.
    pub(crate) fn keep(&mut self, line: &str) {
        let part = self.frames.as_mut().map(|frames| frames.judge(line));
        match part {
            Some(FrameLine::Said) => self.said = true,
            Some(FrameLine::Drawing) => self.skipped = true,
            Some(FrameLine::Column(column)) => {
                self.flush();
                self.write(&format!(" ^ column {column}"));
            }
            Some(FrameLine::Stays) | None => {
                self.flush();
                self.write(line);
            }
        }
    }

    /// The line stays, and the list being made continues after it: results of tests, whose order
    /// does not matter.
    pub(crate) fn keep_within_list(&mut self, line: &str) {
        self.write(line);
    }

    /// The line is already above. One that tells of trouble stays anyway.
    pub(crate) fn say_once(&mut self, line: &str) {
        if is_trouble(line) {
            self.keep(line);
        } else {
            self.said = true;
        }
    }

    /// What follows is about this file.
    pub(crate) fn enter_file(&mut self, file: &str) {
        if let Some(frames) = &mut self.frames {
            frames.enter(file);
        }
    }

    /// The line is noise of a kind, about an item, unless it tells of trouble.
    pub(crate) fn fold(&mut self, kind: &'static str, item: &'a str, line: &'a str) {
        if is_trouble(line) {
            self.keep(line);
        } else {
            self.fold_known(kind, item, line);
        }
    }

    /// The line is noise on success, whatever its words: a warning that everybody knows. Otherwise
    /// it stays.
    pub(crate) fn fold_known(&mut self, kind: &'static str, item: &'a str, line: &'a str) {
        match self.ending {
            KnownEnding::Success => self.count(kind, 1),
            KnownEnding::Careful if is_trouble(line) => self.keep(line),
            KnownEnding::Careful => {
                self.work.charge(line.len());
                self.push_pending(kind, item, line);
            }
        }
    }

    /// The line is noise on success, and otherwise stays as it is: what it says cannot be listed in
    /// fewer words.
    pub(crate) fn leave(&mut self, kind: &'static str, line: &str) {
        if self.ending == KnownEnding::Success && !is_trouble(line) {
            self.count(kind, 1);
        } else {
            self.keep(line);
        }
    }

    /// Like `leave`, whatever its words: a command line with `-Werror` in it is not an error.
    pub(crate) fn leave_known(&mut self, kind: &'static str, line: &str) {
        match self.ending {
            KnownEnding::Success => self.count(kind, 1),
            KnownEnding::Careful => self.keep(line),
        }
    }

    /// The line is one of many of its kind: they are listed together, however the run ended.
    pub(crate) fn join(&mut self, kind: &'static str, item: &'a str, line: &'a str) {
        self.work.charge(line.len());
        self.push_pending(kind, item, line);
    }

    /// The line carries no fact: an empty gutter, a rule. It stays if it tells of trouble.
    pub(crate) fn skip(&mut self, line: &str) {
        if is_trouble(line) {
            self.keep(line);
        } else {
            self.skipped = true;
        }
    }

    fn push_pending(&mut self, kind: &'static str, item: &'a str, line: &'a str) {
        let folded = Folded { item, line };
        match self.pending.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, items)) => items.push(folded),
            None => self.pending.push((kind, vec![folded])),
        }
    }

    /// Counts lines that the filter itself has written in another form, or left out on success.
    fn count(&mut self, kind: &'static str, lines: u64) {
        match self.left_out.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += lines,
            None => self.left_out.push((kind, lines)),
        }
    }

    fn write(&mut self, line: &str) {
        self.work.charge(line.len());
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes what is pending: one line per kind.
    fn flush(&mut self) {
        for (kind, items) in std::mem::take(&mut self.pending) {
            let names: Vec<&str> = items.iter().map(|folded| folded.item).collect();
            let joined = format!("{kind} ({}): {}", items.len(), braces::list(&names));
            let raw: usize = items.iter().map(|folded| folded.line.len() + 1).sum();
            if items.len() > 1 && joined.len() < raw {
                self.joined += items.len() as u64;
                self.write(&joined);
            } else {
                for folded in items {
                    self.write(folded.line);
                }
            }
        }
    }

    /// The text, and what was done to it.
    pub(crate) fn finish(mut self) -> FinishedSheet {
        self.flush();
        FinishedSheet {
            text: self.text,
            left_out: self.left_out,
            joined: self.joined,
            skipped: self.skipped,
            remark: self.remark,
            said: self.said,
        }
    }
}

/// A finished sheet.
#[derive(Debug, Default)]
pub(crate) struct FinishedSheet {
    pub(crate) text: String,
    pub(crate) left_out: Vec<(&'static str, u64)>,
    pub(crate) joined: u64,
    /// Whether lines without a fact were left out.
    pub(crate) skipped: bool,
    pub(crate) remark: Option<&'static str>,
    /// Whether source lines that are already above were not repeated.
    pub(crate) said: bool,
}

impl FinishedSheet {
    /// A text as it is.
    pub(crate) fn unfiltered(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_counts_and_failure_lists() {
        let work = Work::for_input(1000);
        let mut sheet = Sheet::new(KnownEnding::Success, &work);
        sheet.fold("ok", "a::b", "test a::b ... ok");
        sheet.fold("ok", "a::c", "test a::c ... ok");
        sheet.keep("end");
        let written = sheet.finish();
        assert_eq!(
            (written.text.as_str(), written.left_out),
            ("end\n", vec![("ok", 2)])
        );

        let mut sheet = Sheet::new(KnownEnding::Careful, &work);
        for (item, line) in [
            ("a::b", "test a::b ... ok"),
            ("a::c", "test a::c ... ok"),
            ("d", "test d ... ok"),
        ] {
            sheet.fold("ok", item, line);
        }
        sheet.keep("end");
        sheet.fold("ok", "z", "test z ... ok");
        let written = sheet.finish();
        assert_eq!(written.text, "ok (3): a::{b, c}, d\nend\ntest z ... ok\n");
        assert_eq!((written.left_out.len(), written.joined), (0, 3));
    }

    #[test]
    fn trouble_stays() {
        let work = Work::for_input(1000);
        for ending in [KnownEnding::Success, KnownEnding::Careful] {
            let mut sheet = Sheet::new(ending, &work);
            sheet.fold("ok", "x", "warning: x");
            assert_eq!(sheet.finish().text, "warning: x\n");
        }
        let mut sheet = Sheet::new(KnownEnding::Careful, &work);
        sheet.fold_known("ok", "x", "npm warn deprecated x");
        assert_eq!(sheet.finish().text, "npm warn deprecated x\n");
    }
}
