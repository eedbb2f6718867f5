//! The stages of a user's filter, in their one order.
//!
//! Escapes are gone before the first of them. Then: replace (line by line), match output (the first
//! hit stands for everything), strip or keep lines, truncate lines, head and tail, most lines, on
//! empty. If a run failed, or its status is unknown, no message replaces the output, and a line
//! that tells of trouble is never dropped or cut.

use super::super::noise::KnownEnding;
use super::super::trouble::is_trouble;
use super::super::work::{Work, lines};
use super::file::Definition;
use regex::{Regex, RegexSet};
use std::fmt::Write as _;

#[derive(Debug, Clone)]
pub(super) struct Stages {
    replace: Vec<(Regex, String)>,
    match_output: Vec<MatchMessage>,
    lines: Choice,
    truncate_lines_at: Option<usize>,
    head_lines: Option<usize>,
    tail_lines: Option<usize>,
    max_lines: Option<usize>,
    on_empty: Option<String>,
    only_on_exit: Vec<i32>,
    except_on_exit: Vec<i32>,
}

/// What a user's filter makes of a text.
#[derive(Debug)]
pub(crate) struct UserText {
    pub(crate) text: String,
    pub(crate) left_out: u64,
}

/// Which lines stay.
#[derive(Debug, Clone)]
enum Choice {
    All,
    Strip(RegexSet),
    Keep(RegexSet),
}

#[derive(Debug, Clone)]
struct MatchMessage {
    pattern: Regex,
    says: String,
    unless: Option<Regex>,
}

impl Stages {
    pub(super) fn new(definition: Definition) -> Result<Self, String> {
        let regex = |text: &str| Regex::new(text).map_err(|error| error.to_string());
        let set = |texts: &[String]| RegexSet::new(texts).map_err(|error| error.to_string());
        let lines = match (
            definition.strip_lines_matching.is_empty(),
            definition.keep_lines_matching.is_empty(),
        ) {
            (true, true) => Choice::All,
            (false, true) => Choice::Strip(set(&definition.strip_lines_matching)?),
            (true, false) => Choice::Keep(set(&definition.keep_lines_matching)?),
            (false, false) => {
                return Err(
                    "strip_lines_matching and keep_lines_matching cannot be used together"
                        .to_owned(),
                );
            }
        };
        let mut replace = Vec::new();
        for stage in definition.replace {
            replace.push((regex(&stage.pattern)?, stage.replacement));
        }
        let mut match_output = Vec::new();
        for stage in definition.match_output {
            match_output.push(MatchMessage {
                pattern: regex(&stage.pattern)?,
                says: stage.message,
                unless: stage.unless.as_deref().map(regex).transpose()?,
            });
        }
        Ok(Self {
            replace,
            match_output,
            lines,
            truncate_lines_at: definition.truncate_lines_at,
            head_lines: definition.head_lines,
            tail_lines: definition.tail_lines,
            max_lines: definition.max_lines,
            on_empty: definition.on_empty,
            only_on_exit: definition.only_on_exit,
            except_on_exit: definition.except_on_exit,
        })
    }

    /// Whether it is for runs that end so.
    pub(super) fn wants(&self, exit: Option<i32>) -> bool {
        let is_wanted = self.only_on_exit.is_empty()
            || exit.is_some_and(|exit| self.only_on_exit.contains(&exit));
        is_wanted && !exit.is_some_and(|exit| self.except_on_exit.contains(&exit))
    }

    pub(super) fn apply(&self, text: &str, ending: KnownEnding, work: &Work) -> UserText {
        let replaced = self.replaced(text, work);
        if ending == KnownEnding::Success
            && let Some(message) = self.message(&replaced, work)
        {
            return UserText {
                text: format!("{message}\n"),
                left_out: lines(text).count() as u64,
            };
        }
        let is_safe = |line: &str| ending == KnownEnding::Careful && is_trouble(line);
        let all = lines(&replaced).count();
        let chosen: Vec<&str> = lines(&replaced)
            .filter(|line| is_safe(line) || self.stays(line, work))
            .collect();
        let stripped = all - chosen.len();
        let mut kept = KeptLines::default();
        let windowed = self.windowed(&chosen, &is_safe);
        for (line, is_shown) in windowed {
            let truncated = if is_safe(line) {
                None
            } else {
                self.truncated(line)
            };
            kept.line(truncated.as_deref().unwrap_or(line), is_shown);
        }
        kept.finish(
            stripped,
            self.on_empty
                .as_deref()
                .filter(|_| ending == KnownEnding::Success),
        )
    }

    fn replaced(&self, text: &str, work: &Work) -> String {
        let mut replaced = String::with_capacity(text.len());
        for line in work.lines(text) {
            let mut line = std::borrow::Cow::Borrowed(line);
            for (pattern, replacement) in &self.replace {
                // What a stage produces is charged, too: a replacement may be longer than what it
                // replaces.
                if !work.charge(line.len() + 1) {
                    break;
                }
                line =
                    std::borrow::Cow::Owned(pattern.replace_all(&line, replacement).into_owned());
            }
            replaced.push_str(&line);
            replaced.push('\n');
        }
        replaced
    }

    fn message(&self, text: &str, work: &Work) -> Option<&str> {
        let mut messages = self.match_output.iter();
        let found = messages.find(|message| {
            work.charge(text.len() * 2);
            message.pattern.is_match(text)
                && !message
                    .unless
                    .as_ref()
                    .is_some_and(|unless| unless.is_match(text))
        });
        found.map(|message| message.says.as_str())
    }

    fn stays(&self, line: &str, work: &Work) -> bool {
        work.charge(line.len());
        match &self.lines {
            Choice::All => true,
            Choice::Strip(patterns) => !patterns.is_match(line),
            Choice::Keep(patterns) => patterns.is_match(line),
        }
    }

    fn truncated(&self, line: &str) -> Option<String> {
        let most = self.truncate_lines_at?;
        let (at, _) = line.char_indices().nth(most)?;
        let dropped = line.chars().count() - most;
        Some(format!("{}…[+{dropped}]", line.get(..at)?))
    }

    /// Which lines head, tail and the maximum leave.
    fn windowed<'a>(
        &self,
        chosen: &[&'a str],
        is_safe: &impl Fn(&str) -> bool,
    ) -> Vec<(&'a str, bool)> {
        let count = chosen.len();
        let (mut head, mut tail) = match (self.head_lines, self.tail_lines) {
            (None, None) => (count, 0),
            (head, tail) => (head.unwrap_or(0), tail.unwrap_or(0)),
        };
        if let Some(most) = self.max_lines {
            head = head.min(most);
            tail = tail.min(most - head);
        }
        let is_inside = |index: usize| index < head || index + tail >= count;
        let with_place = chosen.iter().enumerate();
        with_place
            .map(|(index, line)| (*line, is_inside(index) || is_safe(line)))
            .collect()
    }
}

/// The lines that stay, with a line in place of those that do not.
#[derive(Default)]
struct KeptLines {
    text: String,
    gap: usize,
    left_out: usize,
}

impl KeptLines {
    fn line(&mut self, line: &str, is_shown: bool) {
        if !is_shown {
            self.gap += 1;
            return;
        }
        self.close_gap();
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn close_gap(&mut self) {
        if self.gap > 0 {
            let (gap, ending) = (self.gap, if self.gap == 1 { "" } else { "s" });
            let _ = writeln!(self.text, "… {gap} line{ending} left out …");
            self.left_out += std::mem::take(&mut self.gap);
        }
    }

    fn finish(mut self, stripped: usize, on_empty: Option<&str>) -> UserText {
        self.close_gap();
        if self.text.trim().is_empty()
            && let Some(message) = on_empty
        {
            self.text = format!("{message}\n");
        }
        UserText {
            text: self.text,
            left_out: (stripped + self.left_out) as u64,
        }
    }
}
