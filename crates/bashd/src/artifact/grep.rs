//! Searching an artifact line by line: linear in its length, bounded in memory.

use super::select::{Item, Visit};
use regex::bytes::{Regex, RegexBuilder};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// A longer line is searched in pieces of this size, each as a line of the same number.
const LONGEST_LINE: usize = 1024 * 1024;

/// Bytes of lines that wait to be shown before a match.
const MOST_CONTEXT: usize = 4 * 1024 * 1024;

/// What is searched for.
#[derive(Debug, Clone)]
pub struct Grep {
    regex: Regex,
    /// Lines shown before and after each match.
    pub context: usize,
}

impl Grep {
    /// Lines that match this regular expression; the text says what is wrong with it.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(pattern).build();
        Ok(Self {
            regex: regex.map_err(|error| error.to_string())?,
            context: 0,
        })
    }

    /// The regular expression.
    pub fn pattern(&self) -> &str {
        self.regex.as_str()
    }

    /// Also shows this many lines around each match.
    #[must_use]
    pub fn with_context(mut self, lines: usize) -> Self {
        self.context = lines;
        self
    }
}

/// A search in progress.
pub(super) struct GrepSearch<'a> {
    grep: &'a Grep,
    /// The line that has no end yet.
    pending: Vec<u8>,
    number: Option<u64>,
    /// Lines that may precede the next match.
    before: VecDeque<(Option<u64>, Vec<u8>)>,
    before_bytes: usize,
    /// Lines still to show after the last match.
    behind: usize,
    shown_any: bool,
    /// Whether something was left out since the last shown line.
    skipped: bool,
}

impl<'a> GrepSearch<'a> {
    /// A search from the start of the line with this number.
    pub(super) fn new(grep: &'a Grep, number: Option<u64>) -> Self {
        Self {
            grep,
            pending: Vec::new(),
            number,
            before: VecDeque::new(),
            before_bytes: 0,
            behind: 0,
            shown_any: false,
            skipped: false,
        }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8], visit: &mut Visit<'_>) -> ControlFlow<()> {
        let mut rest = bytes;
        while let Some(newline) = memchr::memchr(b'\n', rest) {
            let (line, behind) = rest.split_at(newline);
            rest = behind.get(1..).unwrap_or_default();
            if self.pending.is_empty() {
                self.line(line, visit)?;
            } else {
                self.pending.extend_from_slice(line);
                let whole = std::mem::take(&mut self.pending);
                self.line(&whole, visit)?;
            }
            self.number = self.number.map(|number| number + 1);
        }
        self.pending.extend_from_slice(rest);
        if self.pending.len() >= LONGEST_LINE {
            let piece = std::mem::take(&mut self.pending);
            self.line(&piece, visit)?;
        }
        ControlFlow::Continue(())
    }

    /// This many bytes are missing; the second number counts the newlines before what follows, if
    /// known.
    pub(super) fn gap(
        &mut self,
        bytes: u64,
        lines_before: Option<u64>,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        self.finish(visit)?;
        self.before.clear();
        self.before_bytes = 0;
        self.behind = 0;
        self.number = lines_before.map(|lines| lines + 1);
        visit(Item::Dropped(bytes))
    }

    /// Ends the search: what is left is a line without a newline.
    pub(super) fn finish(&mut self, visit: &mut Visit<'_>) -> ControlFlow<()> {
        if self.pending.is_empty() {
            return ControlFlow::Continue(());
        }
        let last = std::mem::take(&mut self.pending);
        self.line(&last, visit)
    }

    fn line(&mut self, line: &[u8], visit: &mut Visit<'_>) -> ControlFlow<()> {
        let is_match = self.grep.regex.is_match(line);
        if is_match {
            if self.skipped && self.shown_any {
                visit(Item::Break)?;
            }
            for (number, bytes) in std::mem::take(&mut self.before) {
                let bytes = &bytes;
                let is_match = false;
                visit(Item::Line {
                    number,
                    is_match,
                    bytes,
                })?;
            }
            self.before_bytes = 0;
            self.behind = self.grep.context;
        } else if self.behind > 0 {
            self.behind -= 1;
        } else {
            self.remember(line);
            return ControlFlow::Continue(());
        }
        (self.shown_any, self.skipped) = (true, false);
        visit(Item::Line {
            number: self.number,
            is_match,
            bytes: line,
        })
    }

    /// Holds a line that may turn out to precede a match.
    fn remember(&mut self, line: &[u8]) {
        if self.grep.context == 0 {
            self.skipped = true;
            return;
        }
        self.before.push_back((self.number, line.to_vec()));
        self.before_bytes += line.len();
        while self.before.len() > self.grep.context || self.before_bytes > MOST_CONTEXT {
            let Some((_, gone)) = self.before.pop_front() else {
                break;
            };
            self.before_bytes -= gone.len();
            self.skipped = true;
        }
    }
}
