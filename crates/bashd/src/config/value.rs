//! One configuration value: read from TOML or from the text of a flag or variable, and printed.

use super::keys::ValueKind;
use super::size;
use crate::guard::interceptor::InterceptorRule;
use serde::Deserialize;
use std::fmt;
use toml::de::DeValue;

/// The value of a key, in its final form.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)] // for programs a plain JSON value; nothing reads it back into this type
#[non_exhaustive]
pub enum Value {
    /// True or false.
    Switch(bool),
    /// A whole number.
    Number(u64),
    /// A number of bytes.
    Size(u64),
    /// A text, a path or one of several words.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
    /// Rules of the interceptor.
    Rules(Vec<InterceptorRule>),
}

/// The word by which a key leaves it to the profile.
const PROFILE: &str = "profile";

/// A value that its key can't take: what was found instead, for a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unfit(pub(super) String);

impl Value {
    /// Reads what a file says.
    pub(super) fn from_toml(kind: ValueKind, found: &DeValue<'_>) -> Result<Self, Unfit> {
        let unfit = || Unfit(describe(found));
        if kind.leaves_it_to_profiles() && found.as_str() == Some(PROFILE) {
            return Ok(Self::Text(PROFILE.to_owned()));
        }
        match kind {
            ValueKind::ProfileOrSwitch => Self::from_toml(ValueKind::Switch, found),
            ValueKind::ProfileOrSize { max } => {
                Self::from_toml(ValueKind::Size { min: 0, max }, found)
            }
            ValueKind::Switch => found.as_bool().map(Self::Switch).ok_or_else(unfit),
            ValueKind::Number { .. } => {
                let number = whole_number(found).ok_or_else(unfit)?;
                Self::Number(number).in_range(kind, &unfit)
            }
            ValueKind::Size { .. } => {
                let bytes = match found.as_str() {
                    Some(text) => size::parse(text),
                    None => whole_number(found),
                };
                Self::Size(bytes.ok_or_else(unfit)?).in_range(kind, &unfit)
            }
            ValueKind::Text | ValueKind::Path => found
                .as_str()
                .map(|text| Self::Text(text.to_owned()))
                .ok_or_else(unfit),
            ValueKind::Choice(words) => match found.as_str() {
                Some(text) if words.contains(&text) => Ok(Self::Text(text.to_owned())),
                _ => Err(unfit()),
            },
            // One item needs no brackets.
            ValueKind::List if found.as_str().is_some_and(|text| !text.trim().is_empty()) => {
                let item = found.as_str().unwrap_or_default();
                Ok(Self::List(vec![item.to_owned()]))
            }
            ValueKind::List => {
                let items = found.as_array().ok_or_else(unfit)?;
                let texts = items
                    .iter()
                    .map(|item| item.get_ref().as_str().map(str::to_owned));
                texts
                    .collect::<Option<_>>()
                    .map(Self::List)
                    .ok_or_else(unfit)
            }
            ValueKind::Rules => {
                let items = found.as_array().ok_or_else(unfit)?.iter();
                let read = |item: &toml::Spanned<DeValue<'_>>| {
                    let item = toml::de::ValueDeserializer::from(item.clone());
                    InterceptorRule::deserialize(item)
                        .map_err(|error| Unfit(error.message().to_owned()))
                };
                items.map(read).collect::<Result<_, _>>().map(Self::Rules)
            }
        }
    }

    /// Reads what a flag or a variable says; no quotes are needed there.
    pub(super) fn from_text(kind: ValueKind, text: &str) -> Result<Self, Unfit> {
        let unfit = || Unfit(format!("{text:?}"));
        if kind.leaves_it_to_profiles() && text.trim() == PROFILE {
            return Ok(Self::Text(PROFILE.to_owned()));
        }
        match kind {
            ValueKind::ProfileOrSwitch => Self::from_text(ValueKind::Switch, text),
            ValueKind::ProfileOrSize { max } => {
                Self::from_text(ValueKind::Size { min: 0, max }, text)
            }
            ValueKind::Switch => switch(text).map(Self::Switch).ok_or_else(unfit),
            ValueKind::Number { .. } => {
                let number = text.trim().parse().map_err(|_| unfit())?;
                Self::Number(number).in_range(kind, &unfit)
            }
            ValueKind::Size { .. } => {
                Self::Size(size::parse(text).ok_or_else(unfit)?).in_range(kind, &unfit)
            }
            ValueKind::Text | ValueKind::Path => Ok(Self::Text(text.to_owned())),
            ValueKind::Choice(words) if words.contains(&text) => Ok(Self::Text(text.to_owned())),
            ValueKind::Choice(_) => Err(unfit()),
            ValueKind::List => {
                let items = text
                    .split(',')
                    .map(str::trim)
                    .filter(|item| !item.is_empty());
                Ok(Self::List(items.map(str::to_owned).collect()))
            }
            ValueKind::Rules if text.trim().is_empty() => Ok(Self::Rules(Vec::new())),
            ValueKind::Rules => serde_json::from_str(text)
                .map(Self::Rules)
                .map_err(|error| Unfit(format!("{text:?}: {error}"))),
        }
    }

    fn in_range(self, kind: ValueKind, unfit: &dyn Fn() -> Unfit) -> Result<Self, Unfit> {
        match (&self, kind) {
            (
                Self::Number(value) | Self::Size(value),
                ValueKind::Number { min, max } | ValueKind::Size { min, max },
            ) if !(min..=max).contains(value) => Err(unfit()),
            _ => Ok(self),
        }
    }
}

/// The words that people use for yes and no.
fn switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn whole_number(found: &DeValue<'_>) -> Option<u64> {
    let integer = found.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// Names what a file has where something else was expected.
fn describe(found: &DeValue<'_>) -> String {
    match found {
        DeValue::String(text) => format!("the string {text:?}"),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(time) => format!("the date {time}"),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

impl fmt::Display for ValueKind {
    /// What the key expects, for a message.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch => write!(formatter, "true or false"),
            Self::Number { min, max } => {
                write!(formatter, "a whole number from {min} to {max}")
            }
            Self::Size { min, max } => {
                let (min, max) = (size::exact(*min), size::exact(*max));
                write!(
                    formatter,
                    "a size from {min} to {max} such as 1048576 or \"64MiB\""
                )
            }
            Self::ProfileOrSwitch => write!(formatter, "true, false or \"{PROFILE}\""),
            Self::ProfileOrSize { max } => {
                let size = Self::Size { min: 0, max: *max };
                write!(formatter, "\"{PROFILE}\" or {size}")
            }
            Self::Text => write!(formatter, "a string"),
            Self::Path => write!(formatter, "a path"),
            Self::Choice(words) => write!(formatter, "one of \"{}\"", words.join("\", \"")),
            Self::List => write!(formatter, "a list of strings"),
            Self::Rules => write!(
                formatter,
                "a list of tables with pattern, tool, message and optional flags (JSON in a variable or flag)"
            ),
        }
    }
}

impl fmt::Display for Value {
    /// The value as a file would have it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(truth) => write!(formatter, "{truth}"),
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Size(bytes) => match size::exact(*bytes) {
                plain if plain.ends_with('B') => write!(formatter, "\"{plain}\""),
                plain => write!(formatter, "{plain}"),
            },
            Self::Text(text) => write!(formatter, "{}", toml::Value::from(text.as_str())),
            Self::List(items) => write!(formatter, "{}", toml::Value::from(items.clone())),
            Self::Rules(rules) => match toml::Value::try_from(rules) {
                Ok(rules) => write!(formatter, "{rules}"),
                Err(_) => Err(fmt::Error),
            },
        }
    }
}
