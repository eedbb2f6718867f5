//! Contracts whose commands are typed at a terminal that stays: one that outlasts its call goes on
//! there, and later calls type at it.

use crate::request::Request;
use crate::screen::Size;
use crate::screen::keys::{KeyModes, KeyPress};
use crate::script;
use bashd_keeper::template::fill;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The terminal of such a contract, and its words.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AtTerminalRules {
    /// How wide it is,
    pub columns: u16,
    /// and how high.
    pub rows: u16,
    /// What a call says that wants to read on, when nothing runs.
    pub nothing_to_read: String,
    /// What a call says that types, when nothing runs.
    pub nothing_to_type_at: String,
    /// What a call says that types and wants a new shell.
    pub restart_with_input: String,
    /// What a call says that has several commands on lines of their own: `{commands}`; empty: they
    /// run.
    #[serde(default)]
    pub several: String,
    /// What a call says whose command is a list or an object of JSON or Python: `{kind}`, `{head}`;
    /// empty: it runs.
    #[serde(default)]
    pub literal: String,
    /// The contract's names of keys, in capitals, and ours.
    #[serde(default)]
    pub keys: BTreeMap<String, String>,
}

/// What a call types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypedInput {
    pub(crate) bytes: Vec<u8>,
    /// The text that the terminal shows of it.
    pub(crate) echo: String,
}

impl AtTerminalRules {
    /// Its size.
    pub(crate) fn size(&self) -> Size {
        Size::new(self.columns, self.rows)
    }

    /// What a request of such a contract has that its parameters do not say.
    pub(crate) fn apply(&self, request: &mut Request) {
        request.pty = true;
        request.terminal_size = Some(self.size());
    }

    /// What an input types: a key by its name, or a line.
    pub(crate) fn typed(&self, input: &str) -> TypedInput {
        let input = input.trim();
        let upper = input.to_ascii_uppercase();
        let named = self.keys.get(&upper).map(String::as_str);
        let control = control(&upper);
        let key = control.or_else(|| named.and_then(KeyPress::named));
        if let Some(key) = key {
            return TypedInput {
                bytes: key.bytes(KeyModes::default()),
                echo: String::new(),
            };
        }
        let bytes = input.bytes();
        let typed = bytes.map(|byte| if byte == b'\n' { b'\r' } else { byte });
        TypedInput {
            bytes: typed.chain([b'\r']).collect(),
            echo: input.to_owned(),
        }
    }

    /// Why a command is not run, if it is none.
    pub(crate) fn refuses(&self, command: &str) -> Option<String> {
        if !self.literal.is_empty()
            && let Some(kind) = literal_kind(command)
        {
            let head: String = command.trim_start().chars().take(60).collect();
            let head = format!("{head:?}");
            let head = quoted_as_python(&head);
            return Some(fill(&self.literal, &[("kind", kind), ("head", &head)]));
        }
        if self.several.is_empty() {
            return None;
        }
        let statements = script::statements(command.trim());
        if statements.len() < 2 {
            return None;
        }
        let lines = statements.iter().enumerate();
        let lines = lines.map(|(number, text)| format!("({}) {text}", number + 1));
        let commands: Vec<String> = lines.collect();
        Some(fill(&self.several, &[("commands", &commands.join("\n"))]))
    }

    /// The letter of a key with Ctrl that the contract names as such: `C-c`.
    pub(crate) fn letter(input: &str) -> Option<char> {
        let letter = input.trim().strip_prefix("C-")?;
        let mut letters = letter.chars();
        let first = letters.next()?;
        letters.next().is_none().then(|| first.to_ascii_uppercase())
    }
}

/// A letter with Ctrl: `C-x`, `CTRL-X`, `CTRL+X`.
fn control(upper: &str) -> Option<KeyPress> {
    let starts = ["C-", "CTRL-", "CTRL+"];
    let letter = starts.iter().find_map(|start| upper.strip_prefix(start))?;
    let is_letter = letter.len() == 1 && letter.chars().all(|letter| letter.is_ascii_uppercase());
    let name = format!("C-{}", letter.to_ascii_lowercase());
    is_letter.then(|| KeyPress::named(&name)).flatten()
}

/// What a command is that is a list or an object, and no command: `[ -f x ]` and `{ ls; }` have
/// blanks there.
fn literal_kind(command: &str) -> Option<&'static str> {
    let mut begins = command.trim_start().chars();
    match (begins.next()?, begins.next()?, begins.next()) {
        ('[', '{' | '"' | '\'', _) => Some("list literal"),
        ('[', '[', Some(third)) if !matches!(third, ' ' | '\t') => Some("nested list literal"),
        ('{', '"' | '\'', _) => Some("dict literal"),
        _ => None,
    }
}

/// A quoted text with single quotes, where it has none itself.
fn quoted_as_python(quoted: &str) -> String {
    let inner = quoted.trim_matches('"').replace("\\\"", "\"");
    if inner.contains('\'') && !inner.contains('"') {
        format!("\"{inner}\"")
    } else {
        format!("'{}'", inner.replace('\'', "\\'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_objects_are_no_commands() {
        for (text, kind) in [
            ("[{\"a\": 1}]", Some("list literal")),
            (" ['ls']", Some("list literal")),
            ("[[1]]", Some("nested list literal")),
            ("{'a': 1}", Some("dict literal")),
            ("[[ -f x ]] && y", None),
            ("[ -f x ]", None),
            ("{ ls; }", None),
            ("{a,b}", None),
            ("x", None),
        ] {
            assert_eq!(literal_kind(text), kind, "{text}");
        }
    }

    #[test]
    fn a_letter_with_control_has_three_spellings() {
        for name in ["C-C", "CTRL-C", "CTRL+C"] {
            assert_eq!(control(name), KeyPress::named("C-c"), "{name}");
        }
        assert_eq!(
            (control("C-CC"), control("C-1"), control("X")),
            (None, None, None)
        );
    }
}
