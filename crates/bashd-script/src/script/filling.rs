//! Known values in the words of a command: `x='rm -rf'; $x "${a[@]}" ${y:0:2}`.
//!
//! A word with several possibilities becomes several words; the name of a command with several
//! becomes several commands.

use super::constants::{Constants, Known, MOST_POSSIBILITIES, text_word};
use super::deferred;
use super::few::Few;
use super::parameters::elements;
use super::view::{Assigned, SimpleCommand};
use super::word::{Word, WordPart};

/// Most variables in one word that are followed.
const MOST_VARIABLES: usize = 64;

/// Most commands that one with an uncertain name may be.
const MOST_NAMES: usize = 8;

/// What a part of a word may be.
pub(super) enum ValueChoice {
    /// One of these.
    OneOf(Vec<Word>),
    /// All of these, one word each.
    List(Vec<Word>),
}

/// What happens to a value that is put into a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Splice {
    /// Split into words, its patterns active.
    Split,
    /// One word, its patterns text.
    Quoted,
    /// As it is: the value of another variable.
    AsIs,
}

/// A command whose words were filled in.
#[derive(Default)]
pub(super) struct Filled {
    /// About how many bytes of words were made.
    pub(super) bytes: usize,
    /// The words of other commands that it may be.
    pub(super) others: Vec<Vec<Word>>,
}

impl Constants {
    /// Puts known values into a command.
    pub(super) fn fill(&mut self, command: &mut SimpleCommand) -> Filled {
        let mut filled = Filled::default();
        if command.words.iter().any(|word| self.can_fill(word)) {
            let words = std::mem::take(&mut command.words);
            let mut rows = self.fill_words(words);
            let sizes = rows.iter().flatten().map(Word::size);
            filled.bytes = sizes.sum();
            command.words = if rows.is_empty() {
                Vec::new()
            } else {
                rows.remove(0)
            };
            filled.others = rows;
        }
        for redirect in &mut command.redirects {
            self.fill_one(&mut redirect.target, Splice::Quoted);
        }
        for assignment in &mut command.assignments {
            match &mut assignment.value {
                Assigned::Value(word) if self.can_fill(word) => {
                    let values = self.rows(word, Splice::AsIs).concat();
                    filled.bytes += values.iter().map(Word::size).sum::<usize>();
                    assignment.value = match <[Word; 1]>::try_from(values) {
                        Ok([value]) => Assigned::Value(value),
                        Err(values) => Assigned::EachOf(values),
                    };
                }
                Assigned::Value(word) | Assigned::Appended(word) | Assigned::Element(_, word) => {
                    self.fill_one(word, Splice::AsIs);
                    filled.bytes += word.size();
                }
                Assigned::EachOf(words) | Assigned::List(words) | Assigned::AppendedList(words) => {
                    if words.iter().any(|word| self.can_fill(word)) {
                        let rows = self.fill_list(std::mem::take(words));
                        *words = rows;
                    }
                }
            }
        }
        filled
    }

    /// The words that a list of words becomes.
    fn fill_list(&mut self, words: Vec<Word>) -> Vec<Word> {
        let mut filled = Vec::with_capacity(words.len());
        for word in words {
            filled.extend(self.fill_word(word));
        }
        filled
    }

    /// The words that a word becomes, whichever of its values is meant.
    pub(super) fn fill_word(&mut self, word: Word) -> Vec<Word> {
        if !self.can_fill(&word) {
            return vec![word];
        }
        marked(&self.rows(&word, Splice::Split))
    }

    /// The possible words of a command: several rows if its name has several values. Behind them,
    /// if others of its words have several, the rows with one value each, unless they are many.
    fn fill_words(&mut self, words: Vec<Word>) -> Vec<Vec<Word>> {
        let mut rows: Vec<Vec<Word>> = vec![Vec::new()];
        let mut exact: Vec<Vec<Word>> = vec![Vec::new()];
        let mut is_uncertain = false;
        for word in words {
            let is_name = matches!(rows.as_slice(), [row] if row.is_empty());
            if !self.can_fill(&word) {
                for row in rows.iter_mut().chain(&mut exact) {
                    row.push(word.clone());
                }
                continue;
            }
            let choices = self.rows(&word, Splice::Split);
            if exact.len() * choices.len() <= MOST_NAMES {
                exact = multiplied_rows(&exact, &choices);
            } else {
                exact.clear();
            }
            if is_name {
                rows = choices;
                rows.truncate(MOST_NAMES);
            } else {
                is_uncertain |= choices.len() > 1;
                let more = marked(&choices);
                for row in &mut rows {
                    row.extend(more.iter().cloned());
                }
            }
        }
        if is_uncertain {
            rows.append(&mut exact);
        }
        rows
    }

    /// Whether anything can be filled in for a part of the word: in most words there is nothing.
    fn can_fill(&self, word: &Word) -> bool {
        word.parts.iter().any(|part| match part {
            WordPart::Variable { name, fallback, .. } => {
                fallback.is_some()
                    || self.known(name).is_some()
                    || self.is_special(name, word)
                    || deferred::is_deferred(name) && !name.starts_with(['<', '>'])
            }
            WordPart::Text(_)
            | WordPart::Glob(_)
            | WordPart::Tilde(_)
            | WordPart::Unknown { .. } => false,
        })
    }

    /// Whether it has a value though nothing assigns one: `IFS`, and positional parameters.
    fn is_special(&self, name: &str, word: &Word) -> bool {
        let is_given = self.known("@").is_some();
        let is_part = word.parts.len() > 1 && !self.is_in_function;
        name == "IFS" || is_positional(name) && (is_given || is_part)
    }

    /// A word that stays one: filled in only if the value is the only one.
    fn fill_one(&mut self, word: &mut Word, how: Splice) {
        if !self.can_fill(word) {
            return;
        }
        if let Ok([row]) = <[Vec<Word>; 1]>::try_from(self.rows(word, how))
            && let Ok([filled]) = <[Word; 1]>::try_from(row)
        {
            *word = filled;
        }
    }

    /// A word as the value of a variable.
    pub(super) fn fill_value(&mut self, mut word: Word) -> Word {
        self.fill_one(&mut word, Splice::AsIs);
        word
    }

    /// What a word may become: each row is the words of one possibility.
    fn rows(&mut self, word: &Word, how: Splice) -> Vec<Vec<Word>> {
        let is_variable = |part: &WordPart| matches!(part, WordPart::Variable { .. });
        let variables = word.parts.iter().filter(|part| is_variable(part)).count();
        let mut rows = vec![vec![blank(word)]];
        if variables > MOST_VARIABLES {
            return vec![vec![word.clone()]];
        }
        let mut may_vanish = how == Splice::Split;
        for part in &word.parts {
            let Some((choice, quoted)) = self.choice(part, word.parts.len() > 1) else {
                may_vanish = false;
                for row in &mut rows {
                    push_to_last(row, part.clone());
                }
                continue;
            };
            let splice = match how {
                Splice::Split if quoted => Splice::Quoted,
                how => how,
            };
            match choice {
                ValueChoice::OneOf(values) => {
                    may_vanish &= !quoted;
                    if rows.len() * values.len() > MOST_POSSIBILITIES {
                        return vec![vec![word.clone()]];
                    }
                    rows = self.multiplied(&rows, &values, splice);
                }
                ValueChoice::List(words) => {
                    for row in &mut rows {
                        self.splice_list(row, &words, (how, splice));
                    }
                }
            }
        }
        let is_substitution = |part: &WordPart| matches!(part, WordPart::Variable { name, .. } if name.starts_with('('));
        if word.parts.iter().any(is_substitution) {
            for word in rows.iter_mut().flatten() {
                word.is_worked_out = true;
            }
        }
        for row in &mut rows {
            // Blanks at an end of a value begin no word.
            if may_vanish || row.len() > 1 && how == Splice::Split {
                row.retain(|word| !word.parts.is_empty());
            }
        }
        rows
    }

    fn multiplied(&self, rows: &[Vec<Word>], values: &[Word], how: Splice) -> Vec<Vec<Word>> {
        let mut longer = Vec::with_capacity(rows.len() * values.len());
        for value in values {
            for row in rows {
                let mut row = row.clone();
                self.splice(&mut row, value, how);
                longer.push(row);
            }
        }
        longer
    }

    /// Appends the words of a list: each begins a word of its own, unless the word must stay one.
    fn splice_list(&self, row: &mut Vec<Word>, words: &[Word], (how, splice): (Splice, Splice)) {
        for (index, word) in words.iter().enumerate() {
            if index > 0 && how == Splice::Split {
                let next = row.last().map(blank).unwrap_or_default();
                row.push(next);
            } else if index > 0 {
                push_to_last(row, WordPart::Text(" ".into()));
            }
            self.splice(row, word, splice);
            if let Some(last) = row.last_mut() {
                last.is_alternative |= word.is_alternative;
            }
        }
    }

    /// The possible values of a part, if it is a variable about which something is known.
    fn choice(&mut self, part: &WordPart, is_part: bool) -> Option<(ValueChoice, bool)> {
        let WordPart::Variable {
            name,
            quoted,
            fallback,
        } = part
        else {
            return None;
        };
        if let Some(choice) = self.value(name, *quoted, is_part) {
            return Some((choice, *quoted));
        }
        let fallback = text_word(fallback.as_ref()?);
        let itself = Word {
            parts: Few::one(WordPart::Variable {
                name: name.clone(),
                quoted: *quoted,
                fallback: None,
            }),
            ..Word::default()
        };
        Some((ValueChoice::OneOf(vec![fallback, itself]), *quoted))
    }

    /// What a variable may be, by its name or by what is done to it.
    pub(super) fn value(&mut self, name: &str, quoted: bool, is_part: bool) -> Option<ValueChoice> {
        if deferred::is_deferred(name) {
            return self.worked_out(name, quoted);
        }
        if is_positional(name) {
            return self.positional(name, quoted, is_part);
        }
        match self.known(name) {
            Some(Known::OneOf(values)) => Some(ValueChoice::OneOf(values.clone())),
            Some(Known::List(words)) => {
                let first = elements(words).first().map(|words| words.to_vec());
                Some(ValueChoice::OneOf(
                    first.unwrap_or_else(|| vec![Word::default()]),
                ))
            }
            None if name == "IFS" => Some(ValueChoice::OneOf(vec![text_word(" \t\n")])),
            None => None,
        }
    }

    /// `$1`, `$@`, `$#`. Nobody gives a command any, so that one inside a word is nothing.
    fn positional(&self, name: &str, quoted: bool, is_part: bool) -> Option<ValueChoice> {
        let Some(Known::List(words)) = self.known("@") else {
            let is_count = matches!(name, "#" | "0");
            let is_nothing = is_part && !is_count && !self.is_in_function;
            return is_nothing.then(|| ValueChoice::OneOf(vec![Word::default()]));
        };
        match name {
            "*" if quoted => Some(ValueChoice::OneOf(self.joined_choices(words))),
            "@" | "*" => Some(ValueChoice::List(words.clone())),
            "#" => Some(ValueChoice::OneOf(vec![text_word(
                &elements(words).len().to_string(),
            )])),
            "0" => self.known("0").and_then(|known| match known {
                Known::OneOf(values) => Some(ValueChoice::OneOf(values.clone())),
                Known::List(_) => None,
            }),
            digits => {
                let index: usize = digits.parse().ok()?;
                let elements = elements(words);
                let chosen = elements.get(index.checked_sub(1)?);
                let chosen = chosen.map(|words| words.to_vec());
                Some(ValueChoice::OneOf(
                    chosen.unwrap_or_else(|| vec![Word::default()]),
                ))
            }
        }
    }

    /// The words of a list as one, with the last and with the first of those that exclude each
    /// other.
    pub(super) fn joined_choices(&self, words: &[Word]) -> Vec<Word> {
        let is_same = |one: &Word, other: &Word| {
            one.is_alternative && other.is_alternative && one.span == other.span
        };
        let is_repeated = |at: usize, other: Option<&Word>| {
            let word = words.get(at);
            word.zip(other)
                .is_some_and(|(word, other)| is_same(word, other))
        };
        let last = (0..words.len()).filter(|at| !is_repeated(*at, words.get(at + 1)));
        let first = (0..words.len()).filter(|at| {
            let before = at.checked_sub(1).and_then(|before| words.get(before));
            !is_repeated(*at, before)
        });
        let chosen = |places: Vec<usize>| -> Vec<Word> {
            places
                .iter()
                .filter_map(|at| words.get(*at).cloned())
                .collect()
        };
        let (last, first) = (chosen(last.collect()), chosen(first.collect()));
        let mut choices = vec![self.joined(&last)];
        if first != last {
            choices.push(self.joined(&first));
        }
        choices
    }

    /// The words of a list as one, as `"$*"` joins them.
    fn joined(&self, words: &[Word]) -> Word {
        let mut joined = Word::default();
        let between = self.separators().chars().next();
        for (index, word) in words.iter().enumerate() {
            if index > 0
                && let Some(between) = between
            {
                joined.push(WordPart::Text(between.to_string().into()));
            }
            for part in &word.parts {
                joined.push(part.clone());
            }
        }
        joined
    }

    /// Appends a value to the last word of a row.
    fn splice(&self, row: &mut Vec<Word>, value: &Word, how: Splice) {
        for part in &value.parts {
            match (part, how) {
                (WordPart::Text(text), Splice::Split) => {
                    splice_unquoted(row, text, self.separators());
                }
                (WordPart::Glob(text), Splice::Quoted) if !value.is_expanded => {
                    push_to_last(row, WordPart::Text(text.clone()));
                }
                (part, _) => push_to_last(row, part.clone()),
            }
        }
    }
}

/// Each row with each of the others behind it.
fn multiplied_rows(rows: &[Vec<Word>], others: &[Vec<Word>]) -> Vec<Vec<Word>> {
    let pairs = rows
        .iter()
        .flat_map(|row| others.iter().map(move |other| (row, other)));
    pairs
        .map(|(row, other)| [row.as_slice(), other].concat())
        .collect()
}

/// The words of all possibilities, each saying that they were one.
fn marked(rows: &[Vec<Word>]) -> Vec<Word> {
    let is_alternative = rows.len() > 1;
    let mut words = rows.concat();
    let several = words.len() > 1;
    for word in &mut words {
        word.is_expanded |= several;
        word.is_alternative |= is_alternative;
    }
    words
}

/// Whether it names a positional parameter, or all of them.
pub(super) fn is_positional(name: &str) -> bool {
    matches!(name, "@" | "*" | "#")
        || !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
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

/// Appends text as the shell splits it, with its patterns active.
fn splice_unquoted(row: &mut Vec<Word>, text: &str, separators: &str) {
    let is_blank = |c: char| separators.contains(c);
    let is_glob = |c: char| matches!(c, '*' | '?' | '[');
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
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
}
