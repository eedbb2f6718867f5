//! What must not be told: the values of variables that hold secrets, what a host registered, and
//! well-known tokens.
//!
//! A variable holds a secret if its name says so (`API_TOKEN`, `PGPASSWORD`), or its value (a
//! token, an address with a password), unless the value is short or ordinary (`names`). A value is
//! found in all of its forms (`forms`), tokens by the prefixes that their issuers gave them
//! (`tokens`), in one pass (`search`). Records also lose what a text itself assigns to a secret
//! name (`API_TOKEN=…`, `--password=…`, `"API_TOKEN": "…"`). Pure.
//!
//! This is the one place that decides it: whatever shows output, or writes text of a command into a
//! file that is not its output, asks here first, in the engine and in the keeper.

mod forms;
mod names;
mod search;
#[cfg(test)]
mod tests;
mod tokens;

pub use names::{SHORTEST, is_credential, is_ordinary, is_secret};
pub use search::SecretRun;

use search::SecretIndex;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Characters of the longest name of a secret that is written out.
const LONGEST_NAME: usize = 80;

/// Bytes of the longest value of a variable: the kernel gives no longer one to a program.
const LONGEST_VALUE: usize = 128 * 1024;

/// Values that must not be told. Tokens are known to every set.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Secrets {
    /// Name and value.
    known: Vec<(String, String)>,
    /// Made at the first search.
    #[serde(skip)]
    index: OnceLock<Arc<SecretIndex>>,
}

/// A value that can't be hidden, since it is in any text by chance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooShort {
    name: String,
}

impl fmt::Display for TooShort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name } = self;
        write!(
            formatter,
            "the secret {name} can't be hidden: it has fewer than {SHORTEST} characters"
        )
    }
}

impl std::error::Error for TooShort {}

impl fmt::Debug for Secrets {
    /// How many there are, and nothing more.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secrets({})", self.known.len())
    }
}

impl PartialEq for Secrets {
    fn eq(&self, other: &Self) -> bool {
        self.known == other.known
    }
}

impl Eq for Secrets {}

impl Secrets {
    /// Those of these variables.
    pub fn of(variables: &[(OsString, OsString)]) -> Self {
        let mut secrets = Self::default();
        secrets.add(variables);
        secrets
    }

    /// Adds those of these variables; returns whether there are any that were not known.
    pub fn add(&mut self, variables: &[(OsString, OsString)]) -> bool {
        let mut told = Vec::new();
        for (name, value) in variables {
            let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else {
                continue;
            };
            if value.len() > LONGEST_VALUE {
                continue;
            }
            if is_secret(name) && !is_ordinary(value) {
                told.push((name, value.trim()));
            }
            if let Some(said) = names::said_by_value(value) {
                told.push((name, said));
            }
        }
        self.know(&told)
    }

    /// Adds values that somebody says are secrets, however ordinary they look: all of them, or none
    /// if one is too short.
    pub fn register(&mut self, told: &[(&str, &str)]) -> Result<(), TooShort> {
        let mut fit = Vec::with_capacity(told.len());
        for (name, value) in told {
            let value = value.trim();
            let name: String = name
                .chars()
                .filter(|one| !one.is_control())
                .take(LONGEST_NAME)
                .collect();
            if value.chars().count() < SHORTEST {
                return Err(TooShort { name });
            }
            fit.push((name, value));
        }
        let fit: Vec<_> = fit.iter().map(|(name, value)| (&**name, *value)).collect();
        self.know(&fit);
        Ok(())
    }

    /// Adds those of other sets; returns whether there are any that were not known.
    pub fn join<'a>(&mut self, others: impl IntoIterator<Item = &'a Self>) -> bool {
        let others = others.into_iter().flat_map(|other| &other.known);
        let others: Vec<_> = others.map(|(name, value)| (&**name, &**value)).collect();
        self.know(&others)
    }

    /// Adds those that are not known; returns whether there are any.
    fn know(&mut self, told: &[(&str, &str)]) -> bool {
        if told.is_empty() {
            return false;
        }
        let mut known: HashSet<&str> = self.known.iter().map(|(_, value)| &**value).collect();
        let mut new = Vec::new();
        for (name, value) in told {
            if known.insert(value) {
                new.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        if new.is_empty() {
            return false;
        }
        self.known.extend(new);
        self.index = OnceLock::new();
        true
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Bytes of all values.
    pub fn bytes(&self) -> usize {
        self.known.iter().map(|(_, value)| value.len()).sum()
    }

    fn index(&self) -> &SecretIndex {
        if self.known.is_empty() {
            return SecretIndex::of_tokens();
        }
        self.index
            .get_or_init(|| Arc::new(SecretIndex::new(&self.known)))
    }

    /// All that must not be shown of these bytes, in order. `begins`: nothing precedes them.
    pub fn find(&self, bytes: &[u8], begins: bool) -> Vec<SecretRun<'_>> {
        self.index().find(bytes, begins)
    }

    /// How many of the last of these bytes may be the beginning of a secret, if they go on.
    pub fn undecided(&self, bytes: &[u8], begins: bool) -> usize {
        self.index().undecided(bytes, begins)
    }

    /// How far away from a byte what decides whether it is hidden may be.
    pub fn reach(&self) -> usize {
        self.index().reach()
    }

    /// The text without secrets. Line breaks stay, so lines keep their numbers.
    pub fn veil<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let runs = self.find(text.as_bytes(), true);
        if runs.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut shown = String::with_capacity(text.len());
        let mut from = 0;
        for run in runs {
            let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
            shown.push_str(part(from..run.range.start));
            shown.push_str(&run.mark());
            for between in run.between {
                shown.push_str(part(between));
            }
            from = run.range.end;
        }
        shown.push_str(text.get(from..).unwrap_or_default());
        Cow::Owned(shown)
    }

    /// The text as a record may have it: without secrets, and without the values that it assigns to
    /// secret names.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = self.veil(text);
        match without_assignments(&text) {
            Some(hidden) => Cow::Owned(hidden),
            None => text,
        }
    }
}

impl SecretRun<'_> {
    /// What is shown instead.
    pub fn mark(&self) -> String {
        mark(self.name, self.characters)
    }
}

/// What is shown instead of a secret.
pub fn mark(name: &str, characters: usize) -> String {
    let characters = crate::counted::counted(characters as u64, "character", "characters");
    format!("[secret {name}, {characters}]")
}

/// The text without the values that it assigns to secret names; `None` if there are none.
fn without_assignments(text: &str) -> Option<String> {
    let mut hidden = String::new();
    let (mut rest, mut at) = (text, 0);
    // A name is given a value only by one of these after it.
    while let Some(found) =
        memchr::memchr2(b'=', b'"', rest.as_bytes().get(at..).unwrap_or_default())
    {
        let (before, after) = rest.split_at_checked(at + found)?;
        at += found + 1;
        let name = name_at_the_end(before);
        if is_secret(name)
            && let Some((given, value, behind)) = given(after)
        {
            hidden.push_str(before);
            hidden.push_str(given);
            hidden.push_str(&mark(name.trim_start_matches('-'), value.chars().count()));
            (rest, at) = (behind, 0);
        }
    }
    if hidden.is_empty() {
        return None;
    }
    hidden.push_str(rest);
    Some(hidden)
}

/// The run of characters at the end of a text that could be a name.
fn name_at_the_end(text: &str) -> &str {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = text
        .as_bytes()
        .iter()
        .rev()
        .take_while(|byte| is_part(byte))
        .count();
    text.get(text.len() - length..).unwrap_or_default()
}

/// What assigns a value to a name, the value, and what follows it; `None` if there is no value, or
/// only one that the shell computes.
fn given(after: &str) -> Option<(&str, &str, &str)> {
    let is_json = after.starts_with('"');
    let sign = if is_json {
        let colon = after.strip_prefix('"')?.trim_start();
        let value = colon.strip_prefix(':')?.trim_start();
        after.len() - value.strip_prefix('"').map(str::len)?
    } else {
        let value = after.strip_prefix('=')?;
        after.len() - value.strip_prefix(['"', '\'']).unwrap_or(value).len()
    };
    let (given, from) = after.split_at_checked(sign)?;
    let quote = given
        .chars()
        .next_back()
        .filter(|c| matches!(c, '"' | '\''));
    let mut is_escaped = false;
    let end = from.find(|c: char| {
        let was_escaped = is_escaped;
        is_escaped = c == '\\' && !was_escaped && quote != Some('\'');
        match quote {
            _ if was_escaped => false,
            Some(quote) => c == quote,
            None => c.is_whitespace() || matches!(c, ';' | '&' | '|' | '<' | '>' | '(' | ')'),
        }
    });
    let (value, behind) = from.split_at_checked(end.unwrap_or(from.len()))?;
    let tells = !value.is_empty() && !value.starts_with(['$', '`', '[']);
    tells.then_some((given, value, behind))
}
