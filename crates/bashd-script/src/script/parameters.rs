//! `${…}` with something done to it, where the value is known: `${x:0:2}`, `${x%.*}`, `${!x}`,
//! `${a[1]}`.

use super::constants::{Constants, Known, MOST_POSSIBILITIES, text_word};
use super::few::Few;
use super::filling::ValueChoice;
use super::reader::ScriptReader;
use super::word::{Word, WordPart};
use super::{arithmetic, patterns};

/// Variables that always hold an absolute path, whatever else they hold.
const PATHS: [&str; 7] = ["HOME", "PWD", "OLDPWD", "PATH", "SHELL", "BASH", "TMPDIR"];

/// How deep expansions may nest that are worked out.
const MOST_DEPTH: usize = 6;

/// Most characters of a value that patterns are tried on.
const MOST_CHARACTERS: usize = 512;

/// The inside of `${…}`, taken apart.
struct ParameterText<'a> {
    is_indirect: bool,
    is_length: bool,
    name: &'a str,
    index: Option<&'a str>,
    operation: &'a str,
}

/// Where the element of a map is kept that has this key.
pub(super) fn map_key(name: &str, key: &str) -> String {
    let key = key.trim_matches(['"', '\'']);
    format!("{name}[{key}]")
}

impl<'a> ParameterText<'a> {
    fn of(raw: &'a str) -> Option<Self> {
        let is_indirect = raw.starts_with('!') && raw.len() > 1;
        let is_length = raw.starts_with('#') && raw.len() > 1;
        let rest = raw.get(usize::from(is_indirect || is_length)..)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        if end == 0 && rest.starts_with(['@', '*']) {
            end = 1;
        }
        let (name, mut operation) = rest.split_at(end);
        let mut index = None;
        if let Some(inner) = operation.strip_prefix('[') {
            let (inside, after) = inner.split_once(']')?;
            index = Some(inside);
            operation = after;
        }
        (!name.is_empty()).then_some(Self {
            is_indirect,
            is_length,
            name,
            index,
            operation,
        })
    }
}

impl Constants {
    /// What an expansion gives that the scan could only keep.
    pub(super) fn worked_out(&mut self, raw: &str, quoted: bool) -> Option<ValueChoice> {
        if raw.starts_with(['<', '>']) || self.depth >= MOST_DEPTH || !self.may_work(raw.len()) {
            return None;
        }
        self.depth += 1;
        let choice = self.worked_out_here(raw, quoted);
        self.depth -= 1;
        choice
    }

    fn worked_out_here(&mut self, raw: &str, quoted: bool) -> Option<ValueChoice> {
        if let Some(expression) = raw.strip_prefix("((") {
            let expression = expression.strip_suffix("))")?;
            if expression.contains(';') {
                return self.counted(expression);
            }
            let value = arithmetic::value(expression, &|name| self.number(name))?;
            return Some(ValueChoice::OneOf(vec![text_word(&value.to_string())]));
        }
        if let Some(script) = raw.strip_prefix('(') {
            let printed = self.printed_by(script.strip_suffix(')')?)?;
            let word = super::printed::as_word(printed.trim_end_matches('\n'));
            return Some(ValueChoice::OneOf(vec![word]));
        }
        let parameter = ParameterText::of(raw)?;
        let base = self.base(&parameter, quoted)?;
        if parameter.is_length {
            return length(&base).map(|length| ValueChoice::OneOf(vec![text_word(&length)]));
        }
        self.operated(&parameter, base)
    }

    /// `for ((i=0; i<3; i++))`: what `i` is, one after the other.
    fn counted(&mut self, header: &str) -> Option<ValueChoice> {
        let mut parts = header.split(';').map(str::trim);
        let (name, first) = parts.next()?.split_once('=')?;
        let name = name.trim();
        let (limit, step) = (parts.next()?.strip_prefix(name)?.trim(), parts.next()?);
        let is_next = step.strip_suffix("++") == Some(name)
            || step.strip_prefix("++") == Some(name)
            || step
                .strip_prefix(name)
                .is_some_and(|rest| rest.trim() == "+=1");
        let (most, more) = match limit.strip_prefix("<=") {
            Some(most) => (most, 1),
            None => (limit.strip_prefix('<').or(limit.strip_prefix("!="))?, 0),
        };
        let (first, end) = (self.number_of(first)?, self.number_of(most)? + more);
        if !is_next {
            return None;
        }
        if end.saturating_sub(first) > MOST_POSSIBILITIES as i64 {
            // Some number.
            let mut some = Word::default();
            some.push(WordPart::Glob("[0-9]*".into()));
            return Some(ValueChoice::List(vec![some]));
        }
        let numbers = (first..end).map(|number| text_word(&number.to_string()));
        Some(ValueChoice::List(numbers.collect()))
    }

    /// A variable as a number; nothing is zero.
    fn number(&self, name: &str) -> Option<i64> {
        let text = self.only(name)?.known()?.trim();
        if text.is_empty() {
            Some(0)
        } else {
            text.parse().ok()
        }
    }

    /// The numbers that a variable may be: `${a[i]}` in a loop over them.
    fn numbers(&self, name: &str) -> Option<Vec<i64>> {
        let Known::OneOf(values) = self.known(name.trim_start_matches('$'))? else {
            return None;
        };
        let numbers = values.iter().map(|value| value.known()?.parse().ok());
        numbers.collect()
    }

    /// What the parameter is before anything is done to it; an empty list if it may be unset.
    fn base(&mut self, parameter: &ParameterText<'_>, quoted: bool) -> Option<ValueChoice> {
        let name = parameter.name;
        if parameter.is_indirect && matches!(parameter.index, Some("@" | "*")) {
            // `${!a[@]}`: the numbers of its elements.
            let Known::List(words) = self.known(name)? else {
                return None;
            };
            let numbers = (0..words.len()).map(|number| text_word(&number.to_string()));
            return Some(ValueChoice::List(numbers.collect()));
        }
        if parameter.is_indirect {
            let ValueChoice::OneOf(values) = self.value(name, quoted, false)? else {
                return None;
            };
            let [target] = values.as_slice() else {
                return None;
            };
            return self.value(target.known()?, quoted, false);
        }
        let Some(index) = parameter.index else {
            return match self.value(name, quoted, false) {
                Some(choice) => Some(choice),
                None if parameter.operation.is_empty() => None,
                None => Some(ValueChoice::OneOf(Vec::new())),
            };
        };
        if let Some(word) = self.only(&map_key(name, index)) {
            return Some(ValueChoice::OneOf(vec![word.clone()]));
        }
        let words = match self.known(name)? {
            Known::List(words) => words.clone(),
            Known::OneOf(values) => values.clone(),
        };
        match index {
            "*" if quoted => Some(ValueChoice::OneOf(self.joined_choices(&words))),
            "@" | "*" => Some(ValueChoice::List(words)),
            index => {
                let elements = elements(&words);
                let count = elements.len() as i64;
                let element = |index: i64| {
                    let index = if index < 0 { index + count } else { index };
                    let words = usize::try_from(index).ok().and_then(|at| elements.get(at));
                    words.map_or_else(|| vec![Word::default()], |words| words.to_vec())
                };
                let chosen = match self.number_of(index) {
                    Some(index) => element(index),
                    None => self.numbers(index)?.into_iter().flat_map(element).collect(),
                };
                Some(ValueChoice::OneOf(chosen))
            }
        }
    }

    /// The value after what is done to it.
    fn operated(
        &mut self,
        parameter: &ParameterText<'_>,
        base: ValueChoice,
    ) -> Option<ValueChoice> {
        let operation = parameter.operation;
        if operation.is_empty() {
            return Some(base);
        }
        let (test, operand) = match operation.strip_prefix(':') {
            Some(rest) if rest.starts_with(['-', '=', '+', '?']) => {
                (rest.get(..1)?, rest.get(1..)?)
            }
            _ => (operation.get(..1)?, operation.get(1..).unwrap_or_default()),
        };
        match (test, base) {
            ("-" | "=", ValueChoice::OneOf(values)) if has_nothing(&values) => {
                let word = self.operand(operand)?;
                if test == "=" {
                    self.assign(parameter.name, &word, false);
                }
                Some(ValueChoice::OneOf(vec![word]))
            }
            ("-" | "=" | "?", base) => Some(base),
            ("+", ValueChoice::OneOf(values)) if has_nothing(&values) => {
                // It may be set elsewhere: `${x:+rm}` is then the word.
                let word = self.operand(operand)?;
                let nothing = values.is_empty().then_some(word);
                Some(ValueChoice::OneOf(
                    nothing.into_iter().chain([Word::default()]).collect(),
                ))
            }
            ("+", _) => Some(ValueChoice::OneOf(vec![self.operand(operand)?])),
            (":", ValueChoice::List(words)) => {
                // `${@:2}`: positional parameters count from `$0`.
                let is_positional = parameter.index.is_none() && operand.trim() != "0";
                let name = is_positional.then(|| text_word("bash"));
                let words: Vec<Word> = name.into_iter().chain(words).collect();
                self.slice(&words, operand)
            }
            (":", ValueChoice::OneOf(values)) if values.is_empty() => {
                let is_first = matches!(operand, "0:1" | " 0:1" | "0: 1" | ":1");
                if is_first && PATHS.contains(&parameter.name) {
                    return Some(ValueChoice::OneOf(vec![text_word("/")]));
                }
                is_still_home(parameter).then(|| ValueChoice::OneOf(vec![home()]))
            }
            // What stands before the first slash of an absolute path is nothing.
            (_, ValueChoice::OneOf(values))
                if values.is_empty() && operation == "%%/*" && PATHS.contains(&parameter.name) =>
            {
                Some(ValueChoice::OneOf(vec![Word::default()]))
            }
            (_, ValueChoice::OneOf(values)) if values.is_empty() => {
                is_still_home(parameter).then(|| ValueChoice::OneOf(vec![home()]))
            }
            (_, base) => self.changed(operation, base),
        }
    }

    /// `${a[@]:1:2}`, `${@:2}`
    fn slice(&mut self, words: &[Word], operand: &str) -> Option<ValueChoice> {
        let elements = elements(words);
        let (start, length) = self.range(operand, elements.len())?;
        let chosen = elements.into_iter().skip(start).take(length);
        Some(ValueChoice::List(chosen.flatten().cloned().collect()))
    }

    /// The value of an expression, with known values in it.
    pub(super) fn number_of(&mut self, expression: &str) -> Option<i64> {
        let text = if expression.contains('$') {
            self.operand(expression)?.known()?.to_owned()
        } else {
            expression.to_owned()
        };
        match text.trim() {
            "" => Some(0),
            text => arithmetic::value(text, &|name| self.number(name)),
        }
    }

    /// Where `OFFSET:LENGTH` begins in so many items, and how many it takes.
    fn range(&mut self, operand: &str, count: usize) -> Option<(usize, usize)> {
        let (offset, length) = match operand.split_once(':') {
            Some((offset, length)) => (offset, Some(length)),
            None => (operand, None),
        };
        let count = count as i64;
        let offset = self.number_of(offset)?;
        let start = if offset < 0 { count + offset } else { offset }.clamp(0, count);
        let length = match length {
            None => count,
            Some(length) => self.number_of(length)?,
        };
        let end = if length < 0 {
            count + length
        } else {
            start + length
        };
        let end = end.clamp(start, count);
        Some((start as usize, (end - start) as usize))
    }

    /// What is done to each value.
    fn changed(&mut self, operation: &str, base: ValueChoice) -> Option<ValueChoice> {
        let is_list = matches!(base, ValueChoice::List(_));
        let (ValueChoice::OneOf(words) | ValueChoice::List(words)) = base;
        if words.len() > MOST_POSSIBILITIES {
            return None;
        }
        let mut changed = Vec::with_capacity(words.len());
        for word in &words {
            let text = word.known().filter(|text| text.len() <= MOST_CHARACTERS)?;
            changed.push(text_word(&self.changed_text(operation, text)?));
        }
        Some(if is_list {
            ValueChoice::List(changed)
        } else {
            ValueChoice::OneOf(changed)
        })
    }

    fn changed_text(&mut self, operation: &str, text: &str) -> Option<String> {
        let characters: Vec<char> = text.chars().collect();
        let strip = |operator: &str| operation.strip_prefix(operator);
        if let Some(operand) = strip(":") {
            let (start, length) = self.range(operand, characters.len())?;
            return Some(characters.iter().skip(start).take(length).collect());
        }
        if let Some((operand, longest)) = strip("##")
            .map(|it| (it, true))
            .or(strip("#").map(|it| (it, false)))
        {
            let pattern = self.pattern(operand)?;
            let end = patterns::prefix(&pattern, &characters, longest).unwrap_or(0);
            return Some(characters.get(end..)?.iter().collect());
        }
        if let Some((operand, longest)) = strip("%%")
            .map(|it| (it, true))
            .or(strip("%").map(|it| (it, false)))
        {
            let pattern = self.pattern(operand)?;
            let start = patterns::suffix(&pattern, &characters, longest);
            return Some(
                characters
                    .get(..start.unwrap_or(characters.len()))?
                    .iter()
                    .collect(),
            );
        }
        if let Some(operand) = strip("/") {
            return self.replaced(operand, &characters);
        }
        Some(match operation {
            "^^" | "@U" => text.to_uppercase(),
            ",," | "@L" => text.to_lowercase(),
            "^" | "@u" => first_changed(text, |first| first.to_uppercase().collect()),
            "," => first_changed(text, |first| first.to_lowercase().collect()),
            "@Q" | "@P" => text.to_owned(),
            "@E" => super::escapes::unescaped(text),
            _ => return None,
        })
    }

    /// `${x/a/b}`, `${x//a/b}`, `${x/#a/b}`, `${x/%a/b}`
    fn replaced(&mut self, operand: &str, characters: &[char]) -> Option<String> {
        let (all, operand) = match operand.strip_prefix('/') {
            Some(operand) => (true, operand),
            None => (false, operand),
        };
        let split = patterns::unescaped_slash(operand);
        let (pattern, by) = match split {
            Some(at) => (operand.get(..at)?, operand.get(at + 1..)?),
            None => (operand, ""),
        };
        let (anchor, pattern) = match pattern.chars().next() {
            Some(anchor @ ('#' | '%')) if !all => (Some(anchor), pattern.get(1..)?),
            _ => (None, pattern),
        };
        let pattern = self.pattern(pattern)?;
        let by = self.operand(by)?.known()?.to_owned();
        let at_end = patterns::suffix(&pattern, characters, true);
        Some(match anchor {
            Some('#') => match patterns::prefix(&pattern, characters, true) {
                Some(end) => by
                    .chars()
                    .chain(characters.iter().skip(end).copied())
                    .collect(),
                None => characters.iter().collect(),
            },
            Some(_) => match at_end {
                Some(start) => characters
                    .iter()
                    .take(start)
                    .copied()
                    .chain(by.chars())
                    .collect(),
                None => characters.iter().collect(),
            },
            None => patterns::replace(&pattern, characters, &by, all),
        })
    }

    /// The word behind an operator, with known values in it.
    pub(super) fn operand(&mut self, text: &str) -> Option<Word> {
        if text.is_empty() {
            return Some(Word::default());
        }
        let mut reader = ScriptReader::new(text, 1);
        let word = reader.read_operand();
        let word = self.fill_value(word);
        (!super::constants::is_unknown(&word)).then_some(word)
    }

    /// The pattern behind an operator.
    fn pattern(&mut self, text: &str) -> Option<Vec<char>> {
        let word = self.operand(text)?;
        let mut pattern = Vec::new();
        for part in &word.parts {
            match part {
                WordPart::Glob(glob) => pattern.extend(glob.chars()),
                WordPart::Text(text) => {
                    for character in text.chars() {
                        if matches!(character, '*' | '?' | '[' | '\\') {
                            pattern.push('\\');
                        }
                        pattern.push(character);
                    }
                }
                WordPart::Tilde(_) | WordPart::Variable { .. } | WordPart::Unknown { .. } => {
                    return None;
                }
            }
        }
        (pattern.len() <= MOST_CHARACTERS).then_some(pattern)
    }
}

/// Whether an expansion of `HOME` is the home, or a directory above it, whatever the home is
/// called: `${HOME%/}`, `${HOME:0}`. What takes its beginning off is a name.
fn is_still_home(parameter: &ParameterText<'_>) -> bool {
    let operation = parameter.operation;
    let keeps_beginning = operation.starts_with(['%', '/', '^', ','])
        || operation
            .strip_prefix(':')
            .is_some_and(|from| from.trim_start().starts_with('0'));
    parameter.name == "HOME" && !parameter.is_indirect && keeps_beginning
}

/// The home, of which nothing more is known.
fn home() -> Word {
    Word {
        parts: Few::one(WordPart::Variable {
            name: "HOME".into(),
            quoted: true,
            fallback: None,
        }),
        ..Word::default()
    }
}

/// The elements of a list: words that exclude each other are one.
pub(super) fn elements(words: &[Word]) -> Vec<&[Word]> {
    let is_same = |one: &Word, other: &Word| {
        one.is_alternative && other.is_alternative && one.span == other.span
    };
    words.chunk_by(is_same).collect()
}

fn has_nothing(values: &[Word]) -> bool {
    values.is_empty() || values.iter().all(|word| word.parts.is_empty())
}

fn length(base: &ValueChoice) -> Option<String> {
    match base {
        ValueChoice::List(words) => Some(elements(words).len().to_string()),
        ValueChoice::OneOf(values) => {
            let [value] = values.as_slice() else {
                return None;
            };
            Some(value.known()?.chars().count().to_string())
        }
    }
}

fn first_changed(text: &str, change: fn(char) -> String) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(change).unwrap_or_default();
    first + characters.as_str()
}
