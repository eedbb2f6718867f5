//! Which options a command may have: tables, and one reader for all of them.
//!
//! A policy lists what is allowed. A long option must be spelled out in full: an abbreviation would
//! be another name for an option that is not listed.

use super::StepWord;

/// The options and operands that a command may have.
pub(super) struct Options {
    /// One-letter options.
    pub(super) short: Short,
    /// `--name` options.
    pub(super) long: Long,
    /// Everything else.
    pub(super) operands: Operands,
}

/// Which one-letter options are allowed.
pub(super) enum Short {
    /// These: without a value, with one (attached or next), with one that can only be attached; and
    /// `-5` if `-NUMBER` is listed.
    Only {
        flags: &'static str,
        valued: &'static str,
        attached: &'static str,
        number: Number,
    },
    /// All but these; `valued` determines where a bundle ends.
    AllBut {
        refused: &'static str,
        valued: &'static str,
    },
}

/// Whether `-5` is an option.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Allowed,
    Refused,
}

/// Which long options are allowed.
pub(super) enum Long {
    /// These. `name` may have `=value`; `name=` needs one, attached or next; `name=*` likewise, and
    /// the next word may begin with a dash; `name=a|b` one of these, attached or next (`name=|a`:
    /// none, or one attached); `name?` takes the next word if that is not an option. Each but those
    /// with listed values also allows `--no-name`.
    Only(&'static [&'static [&'static str]]),
    /// All but these and their abbreviations.
    AllBut(&'static [&'static str]),
    /// All but these, whatever their capitals and dashes, and what is below them (`name.part`): of
    /// programs that know no abbreviations.
    Except(&'static [&'static str]),
}

/// What operands may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// Anything.
    Any,
    /// Anything but a file of further options (`@file`).
    NoFileOfOptions,
}

/// The result: the names of the options, and the operands.
#[derive(Default)]
pub(super) struct FoundOptions<'a> {
    pub(super) options: Vec<String>,
    pub(super) operands: Vec<&'a StepWord>,
    /// Whether the first operand comes before anything else.
    pub(super) begins_with_operand: bool,
    /// Whether `--` comes before the first operand, which is no verb then.
    is_ended_before: bool,
}

impl FoundOptions<'_> {
    /// Whether one of these options is present.
    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        self.options
            .iter()
            .any(|option| names.contains(&option.as_str()))
    }

    /// The first operand, if it is plain text and may be a verb.
    pub(super) fn first_operand(&self) -> Option<&str> {
        if self.is_ended_before {
            return None;
        }
        match self.operands.first()? {
            StepWord::Literal(text) => Some(text),
            StepWord::Pattern(_) => None,
        }
    }
}

impl Options {
    /// Reads arguments; the error says which of them is not allowed.
    pub(super) fn read<'a>(&self, arguments: &'a [StepWord]) -> Result<FoundOptions<'a>, String> {
        let mut found = FoundOptions::default();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let text = match word {
                StepWord::Literal(text) => text.as_str(),
                StepWord::Pattern(_) => "",
            };
            if text == "--" || text == "--end-of-options" {
                found.is_ended_before = found.operands.is_empty();
                for operand in rest.by_ref() {
                    self.operand(operand, &mut found)?;
                }
            } else if let Some(name) = text.strip_prefix("--") {
                self.long(name, &mut rest, &mut found)?;
            } else if text.len() > 1 && text.starts_with('-') {
                self.short(text, &mut rest, &mut found)?;
            } else {
                self.operand(word, &mut found)?;
            }
        }
        Ok(found)
    }

    fn operand<'a>(&self, word: &'a StepWord, found: &mut FoundOptions<'a>) -> Result<(), String> {
        let begins_with_at = matches!(word, StepWord::Literal(text) if text.starts_with('@'));
        match self.operands {
            Operands::Any => {}
            Operands::NoFileOfOptions if !begins_with_at => {}
            Operands::NoFileOfOptions => return Err(format!("its argument {}", shown(word))),
        }
        found.begins_with_operand |= found.options.is_empty() && found.operands.is_empty();
        found.operands.push(word);
        Ok(())
    }

    fn long<'a>(
        &self,
        text: &str,
        rest: &mut std::slice::Iter<'a, StepWord>,
        found: &mut FoundOptions<'a>,
    ) -> Result<(), String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let not_allowed = || format!("its option --{name}");
        match self.long {
            Long::AllBut(refused) => {
                if refused.iter().any(|refused| refused.starts_with(name)) {
                    return Err(not_allowed());
                }
            }
            Long::Except(refused) => {
                let is_refused = |name: &str| {
                    let name = without_dashes(name);
                    refused
                        .iter()
                        .any(|refused| without_dashes(refused) == name)
                };
                let group = name.split('.').next().unwrap_or_default();
                if is_refused(name) || is_refused(group) {
                    return Err(not_allowed());
                }
            }
            Long::Only(tables) => {
                let entry = find_long(tables, name).ok_or_else(not_allowed)?;
                match (entry, value) {
                    (Takes::Value, None) => take_value(rest, name)?,
                    (Takes::AnyValue, None) => take_any_value(rest, name)?,
                    (Takes::OneOf(values), Some(value)) if !is_listed(values, value) => {
                        return Err(format!("its option --{name}={value}"));
                    }
                    (Takes::OneOf(values), None) if !is_listed(values, "") => {
                        let value = rest.next();
                        if !matches!(value, Some(StepWord::Literal(it)) if is_listed(values, it)) {
                            return Err(format!("this value of its option --{name}"));
                        }
                    }
                    (Takes::ValueIfThere, None) => take_value_if_there(rest),
                    _ => {}
                }
            }
        }
        found.options.push(format!("--{name}"));
        Ok(())
    }

    fn short<'a>(
        &self,
        text: &str,
        rest: &mut std::slice::Iter<'a, StepWord>,
        found: &mut FoundOptions<'a>,
    ) -> Result<(), String> {
        let mut letters = text.chars().skip(1);
        while let Some(letter) = letters.next() {
            let not_allowed = || format!("its option -{letter}");
            let has_value = match &self.short {
                Short::AllBut { refused, valued } => {
                    if refused.contains(letter) {
                        return Err(not_allowed());
                    }
                    // An unlisted option may take anything: none of it is checked.
                    if valued.contains(letter) && letters.clone().next().is_none() {
                        rest.next();
                    }
                    valued.contains(letter)
                }
                Short::Only {
                    flags,
                    valued,
                    attached,
                    number,
                } => {
                    let is_number = *number == Number::Allowed
                        && text.chars().skip(1).all(|letter| letter.is_ascii_digit());
                    if is_number || attached.contains(letter) {
                        true
                    } else if valued.contains(letter) {
                        if letters.clone().next().is_none() {
                            take_value(rest, &letter.to_string())?;
                        }
                        true
                    } else if flags.contains(letter) {
                        false
                    } else {
                        return Err(not_allowed());
                    }
                }
            };
            found.options.push(format!("-{letter}"));
            if has_value {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// What a long option takes from the words after it.
enum Takes {
    Nothing,
    Value,
    /// Even one that begins with a dash.
    AnyValue,
    /// One of those that are listed, with `|` between them.
    OneOf(&'static str),
    ValueIfThere,
}

fn find_long(tables: &[&'static [&'static str]], name: &str) -> Option<Takes> {
    let entry = |name: &str| {
        tables
            .iter()
            .flat_map(|table| table.iter())
            .find_map(|entry| {
                let (known, takes) = if let Some(known) = entry.strip_suffix('=') {
                    (known, Takes::Value)
                } else if let Some(known) = entry.strip_suffix('?') {
                    (known, Takes::ValueIfThere)
                } else if let Some(known) = entry.strip_suffix("=*") {
                    (known, Takes::AnyValue)
                } else if let Some((known, values)) = entry.split_once('=') {
                    (known, Takes::OneOf(values))
                } else {
                    (*entry, Takes::Nothing)
                };
                (known == name).then_some(takes)
            })
    };
    let negated = || {
        let name = name
            .strip_prefix("no-")
            .filter(|name| !name.starts_with("no-"))?;
        let known = entry(name)?;
        (!matches!(known, Takes::OneOf(_))).then_some(Takes::Nothing)
    };
    entry(name).or_else(negated)
}

/// A name as runners compare it: `--setup-files` is `--setupFiles`.
fn without_dashes(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_'));
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

fn is_listed(values: &str, value: &str) -> bool {
    values.split('|').any(|known| known == value)
}

/// The next word is a value. One that looks like an option could be one after all, and a pattern
/// could become several words: both are refused.
fn take_value(rest: &mut std::slice::Iter<'_, StepWord>, option: &str) -> Result<(), String> {
    match rest.next() {
        Some(StepWord::Literal(value)) if !value.starts_with('-') => Ok(()),
        None => Ok(()),
        Some(word) => Err(format!(
            "{} as the value of its option {option}",
            shown(word)
        )),
    }
}

/// The next word is a value, whatever it begins with: the program never reads it as an option.
fn take_any_value(rest: &mut std::slice::Iter<'_, StepWord>, option: &str) -> Result<(), String> {
    match rest.next() {
        Some(StepWord::Pattern(_)) => Err(format!("a pattern as the value of its option {option}")),
        _ => Ok(()),
    }
}

fn take_value_if_there(rest: &mut std::slice::Iter<'_, StepWord>) {
    let next = rest.as_slice().first();
    if matches!(next, Some(StepWord::Literal(value)) if !value.starts_with('-')) {
        rest.next();
    }
}

/// A word for a message.
pub(super) fn shown(word: &StepWord) -> String {
    match word {
        StepWord::Literal(text) => format!("`{text}`"),
        StepWord::Pattern(_) => "with a pattern".to_owned(),
    }
}
