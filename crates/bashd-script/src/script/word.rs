//! A word after real quote removal: what is known about it, and what only the shell will know.

use super::few::Few;
use super::view::Span;
use std::borrow::Cow;

/// A text of a script: short ones, as most are, need no allocation.
pub type Text = compact_str::CompactString;

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Word {
    /// Its parts in order; adjacent texts are one. An empty list is the empty word.
    pub parts: Few<Part>,
    /// Where it is in the text.
    pub span: Span,
    /// Whether it is one of several that braces, a list or a constant made of one written word.
    pub is_expanded: bool,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text that the shell takes as it is, quotes removed.
    Text(Text),
    /// Unquoted pattern characters: `*`, `?`, `[`, or a whole `@(…)`.
    Glob(Text),
    /// An unquoted `~` at the beginning, with the user's name after it or nothing.
    Tilde(Text),
    /// `$NAME` or `${NAME}`, also with a fallback such as `${NAME:-x}`.
    Variable {
        /// Its name; digits, `@` and `*` are positional.
        name: Text,
        /// Whether its value stays one word.
        quoted: bool,
        /// Its fallback if it is unset, if that is plain text.
        fallback: Option<Text>,
    },
    /// What only running can tell: a substitution, arithmetic, a modified variable.
    Unknown {
        /// Whether it stays one word.
        quoted: bool,
    },
}

impl Word {
    /// A word that is known.
    pub fn of(text: impl Into<Text>, span: Span) -> Self {
        let text = text.into();
        let parts = if text.is_empty() {
            Few::default()
        } else {
            Few::one(Part::Text(text))
        };
        Self {
            parts,
            span,
            is_expanded: false,
        }
    }

    /// A word about which nothing is known.
    pub fn unknown(span: Span) -> Self {
        Self {
            parts: Few::one(Part::Unknown { quoted: true }),
            span,
            is_expanded: false,
        }
    }

    /// The text, if all of it is known and the shell will not change it.
    pub fn known(&self) -> Option<&str> {
        match &*self.parts {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it equals this text.
    pub fn is(&self, text: &str) -> bool {
        self.known() == Some(text)
    }

    /// Whether the shell may match it against files.
    pub fn has_glob(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|part| matches!(part, Part::Glob(_)))
    }

    /// Whether it consists of text and patterns only.
    pub fn is_literal_or_glob(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.all(|part| matches!(part, Part::Text(_) | Part::Glob(_)))
    }

    /// Text and patterns as written (`src/*.rs`), or `None` if there is anything else in it.
    pub fn literal_or_glob(&self) -> Option<Cow<'_, str>> {
        if let Some(known) = self.known() {
            return Some(Cow::Borrowed(known));
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(more) | Part::Glob(more) => text.push_str(more),
                Part::Tilde(_) | Part::Variable { .. } | Part::Unknown { .. } => return None,
            }
        }
        Some(Cow::Owned(text))
    }

    /// The text that it certainly begins with.
    pub fn known_beginning(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// If it begins with a home directory (`~`, `~root`, `$HOME`): the parts after that.
    pub fn after_home(&self) -> Option<&[Part]> {
        match self.parts.split_first()? {
            (Part::Tilde(user), rest) if !matches!(user.as_str(), "+" | "-") => Some(rest),
            (Part::Variable { name, .. }, rest) if name == "HOME" => Some(rest),
            _ => None,
        }
    }

    /// About how many bytes of memory it holds.
    pub(super) fn size(&self) -> usize {
        let sizes = self.parts.iter().map(|part| match part {
            Part::Text(text) | Part::Glob(text) | Part::Tilde(text) => text.len() + 1,
            Part::Variable { name, fallback, .. } => {
                name.len() + fallback.as_ref().map_or(0, Text::len) + 1
            }
            Part::Unknown { .. } => 1,
        });
        sizes.sum()
    }

    /// Appends a part, joining texts and joining patterns.
    pub(super) fn push(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            (Some(Part::Text(last)), Part::Text(more))
            | (Some(Part::Glob(last)), Part::Glob(more)) => last.push_str(&more),
            (_, Part::Text(text)) if text.is_empty() => {}
            (_, part) => self.parts.push(part),
        }
    }
}
