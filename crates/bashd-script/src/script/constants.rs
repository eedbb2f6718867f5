//! Variables whose value is plain from the text: `d=/; rm -rf $d`.
//!
//! In text order, an assignment replaces what is known; inside a condition, a loop's body or a
//! function it adds a possibility, since it is unknown whether it runs. A word with several
//! possibilities becomes several words.

use super::few::Few;
use super::view::{Assigned, Assignment, Construct, Joint, SimpleCommand};
use super::word::{ScriptText, Word, WordPart};
use std::collections::HashMap;

/// Possible values of one variable, and words that one word may become.
const MOST_POSSIBILITIES: usize = 32;

/// Most bytes and parts of a value that is followed: longer ones are data. Without a bound,
/// `x=$x$x` would double and double.
const MOST_VALUE_BYTES: usize = 256;
const MOST_VALUE_PARTS: usize = 4;

/// Most variables in one word that are followed.
const MOST_VARIABLES: usize = 64;

/// Most variables that are passed on to an inner script: with more, none is.
const MOST_HANDED_ON: usize = 64;

/// Builtins whose arguments are assignments.
const DECLARING: [&str; 5] = ["export", "declare", "local", "readonly", "typeset"];

/// Builtins that change the variables that their arguments name.
const CHANGING: [&str; 6] = ["read", "unset", "mapfile", "readarray", "printf", "getopts"];

/// What is known about variables at some place of the text.
#[derive(Debug, Clone, Default)]
pub(super) struct Constants {
    values: HashMap<ScriptText, Vec<Word>>,
}

impl Constants {
    /// The same knowledge for a script that runs here, with its own positional parameters.
    pub(super) fn hand_on(&self, own: &[Assignment], positional: Option<&[Word]>) -> Self {
        let mut handed_on = if self.values.len() > MOST_HANDED_ON {
            Self::default()
        } else {
            self.clone()
        };
        for assignment in own {
            if let Assigned::Value(word) = &assignment.value {
                handed_on.assign(&assignment.name, word, false);
            }
        }
        if let Some(positional) = positional {
            for (index, word) in positional.iter().enumerate().take(MOST_POSSIBILITIES) {
                handed_on.set(index.to_string().into(), vec![word.clone()]);
            }
            let all = positional.get(1..).unwrap_or_default();
            for name in ["@", "*"] {
                handed_on.set(name.into(), all.to_vec());
            }
        }
        handed_on
    }

    /// Puts known values into a command's words; returns whether there was any variable.
    pub(super) fn fill(&self, command: &mut SimpleCommand) -> bool {
        let is_variable = |part: &WordPart| matches!(part, WordPart::Variable { .. });
        let has_variable = |word: &Word| word.parts.iter().any(is_variable);
        let is_filled = command.words.iter().any(has_variable);
        if command.words.iter().any(|word| self.can_fill(word)) {
            let words = std::mem::take(&mut command.words);
            for word in words {
                let is_name = command.words.is_empty();
                command.words.extend(self.fill_word(word, is_name));
            }
        }
        for redirect in &mut command.redirects {
            self.fill_one(&mut redirect.target);
        }
        for assignment in &mut command.assignments {
            match &mut assignment.value {
                Assigned::Value(word) => self.fill_one(word),
                Assigned::EachOf(words) => {
                    let filled = std::mem::take(words).into_iter();
                    *words = filled
                        .flat_map(|word| self.fill_word(word, false))
                        .collect();
                }
                Assigned::Other => {}
            }
        }
        is_filled
    }

    /// Whether anything can be filled in for a part of the word: in most words there is nothing.
    fn can_fill(&self, word: &Word) -> bool {
        word.parts.iter().any(|part| match part {
            WordPart::Variable { name, fallback, .. } => {
                fallback.is_some() || self.values.contains_key(name)
            }
            WordPart::Text(_)
            | WordPart::Glob(_)
            | WordPart::Tilde(_)
            | WordPart::Unknown { .. } => false,
        })
    }

    /// Records what a command assigns.
    pub(super) fn learn(&mut self, command: &SimpleCommand) {
        let maybe = is_conditional(command);
        if command.words.is_empty() {
            for assignment in &command.assignments {
                match &assignment.value {
                    Assigned::Value(word) => self.assign(&assignment.name, word, maybe),
                    Assigned::EachOf(words) => self.set(assignment.name.clone(), words.clone()),
                    Assigned::Other => self.forget(&assignment.name),
                }
            }
            return;
        }
        let Some(name) = command.name() else { return };
        if DECLARING.contains(&name) {
            for word in command.arguments() {
                self.learn_declared(word, maybe);
            }
        } else if CHANGING.contains(&name) {
            for name in command.arguments().iter().filter_map(Word::known) {
                self.forget(name);
            }
        }
    }

    fn learn_declared(&mut self, word: &Word, maybe: bool) {
        let Some((WordPart::Text(text), rest)) = word.parts.split_first() else {
            return;
        };
        let Some((name, value)) = text.split_once('=') else {
            return;
        };
        let mut assigned = Word::of(value, word.span);
        assigned.parts.extend(rest.iter().cloned());
        match name.strip_suffix('+') {
            Some(name) => self.forget(name),
            None => self.assign(name, &assigned, maybe),
        }
    }

    fn assign(&mut self, name: &str, word: &Word, maybe: bool) {
        let is_unknown = |part: &WordPart| matches!(part, WordPart::Unknown { .. });
        let is_unknown = word.parts.iter().any(is_unknown) || is_data(word);
        match (is_unknown, maybe) {
            (true, true) => {}
            (true, false) => self.forget(name),
            (false, false) => self.set(name.into(), vec![word.clone()]),
            (false, true) => {
                let values = self.values.entry(name.into()).or_default();
                if values.len() < MOST_POSSIBILITIES && !values.contains(word) {
                    values.push(word.clone());
                }
            }
        }
    }

    fn set(&mut self, name: ScriptText, words: Vec<Word>) {
        if words.is_empty() || words.len() > MOST_POSSIBILITIES || words.iter().any(is_data) {
            self.forget(&name);
        } else {
            self.values.insert(name, words);
        }
    }

    fn forget(&mut self, name: &str) {
        if !self.values.is_empty() {
            self.values.remove(name);
        }
    }

    /// A word that stays one: filled in only if the value is the only one.
    fn fill_one(&self, word: &mut Word) {
        if self.can_fill(word)
            && let Ok([filled]) = <[Word; 1]>::try_from(self.fill_word(word.clone(), true))
        {
            *word = filled;
        }
    }

    /// The words that a word may become. At the beginning of a command only one is taken.
    fn fill_word(&self, word: Word, is_name: bool) -> Vec<Word> {
        let is_variable = |part: &&WordPart| matches!(part, WordPart::Variable { .. });
        if !self.can_fill(&word) || word.parts.iter().filter(is_variable).count() > MOST_VARIABLES {
            return vec![word];
        }
        let mut rows = vec![vec![blank(&word)]];
        let mut is_filled = false;
        for part in &word.parts {
            let choices = self.choices(part, is_name);
            is_filled |= choices.is_some();
            let Some((values, quoted)) = choices else {
                for row in &mut rows {
                    push_to_last(row, part.clone());
                }
                continue;
            };
            if rows.len() * values.len() > MOST_POSSIBILITIES {
                return vec![word];
            }
            let mut longer = Vec::with_capacity(rows.len() * values.len());
            for value in &values {
                for row in &rows {
                    let mut row = row.clone();
                    splice(&mut row, value, quoted);
                    longer.push(row);
                }
            }
            rows = longer;
        }
        if !is_filled {
            return vec![word];
        }
        let mut words = rows.concat();
        let several = words.len() > 1;
        for word in &mut words {
            word.is_expanded |= several;
        }
        words
    }

    /// The possible values of a part, if it is a variable about which something is known.
    fn choices(&self, part: &WordPart, is_name: bool) -> Option<(Vec<Word>, bool)> {
        let WordPart::Variable {
            name,
            quoted,
            fallback,
        } = part
        else {
            return None;
        };
        if let Some(values) = self.values.get(name) {
            let values = values.iter().take(if is_name { 1 } else { usize::MAX });
            return Some((values.cloned().collect(), *quoted));
        }
        let fallback = Word::of(fallback.clone()?, super::Span::default());
        let itself = Word {
            parts: Few::one(WordPart::Variable {
                name: name.clone(),
                quoted: *quoted,
                fallback: None,
            }),
            ..Word::default()
        };
        let values = if is_name {
            vec![fallback]
        } else {
            vec![itself, fallback]
        };
        Some((values, *quoted))
    }
}

/// Whether a value is too long to be followed.
fn is_data(word: &Word) -> bool {
    word.parts.len() > MOST_VALUE_PARTS || word.size() > MOST_VALUE_BYTES
}

/// Whether it is unknown if the command runs before what comes after it.
fn is_conditional(command: &SimpleCommand) -> bool {
    let inside = command.place.inside;
    [Construct::Condition, Construct::Loop, Construct::Function]
        .into_iter()
        .any(|construct| inside.contains(construct))
        || command.place.joint == Joint::Or
}

fn blank(word: &Word) -> Word {
    Word {
        parts: Few::default(),
        ..*word
    }
}

fn push_to_last(row: &mut [Word], part: WordPart) {
    if let Some(last) = row.last_mut() {
        last.push(part);
    }
}

/// Appends a value: as it is inside quotes, otherwise split at blanks and with its patterns active.
fn splice(row: &mut Vec<Word>, value: &Word, quoted: bool) {
    for part in &value.parts {
        match part {
            WordPart::Text(text) if !quoted => splice_unquoted(row, text),
            WordPart::Glob(text) if quoted => push_to_last(row, WordPart::Text(text.clone())),
            part => push_to_last(row, part.clone()),
        }
    }
}

fn splice_unquoted(row: &mut Vec<Word>, text: &str) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_blank = |c: char| matches!(c, ' ' | '\t' | '\n');
        let is_glob = |c: char| matches!(c, '*' | '?' | '[');
        let length = if is_blank(first) {
            rest.find(|c| !is_blank(c))
        } else if is_glob(first) {
            Some(1)
        } else {
            rest.find(|c| is_blank(c) || is_glob(c))
        };
        let (run, after) = rest.split_at(length.unwrap_or(rest.len()));
        rest = after;
        if is_glob(first) {
            push_to_last(row, WordPart::Glob(run.into()));
        } else if !is_blank(first) {
            push_to_last(row, WordPart::Text(run.into()));
        } else if let Some(last) = row.last().filter(|last| !last.parts.is_empty()) {
            let next = blank(last);
            row.push(next);
        }
    }
    // A trailing blank begins no word.
    if row.len() > 1
        && text.ends_with([' ', '\t', '\n'])
        && row.last().is_some_and(|last| last.parts.is_empty())
    {
        row.pop();
    }
}
