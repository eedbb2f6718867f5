//! A word after real quote removal: what is known about it, and what only the shell will know.

use super::few::Few;
use super::view::Span;
use std::borrow::Cow;

/// A text of a script: short ones, as most are, need no allocation.
pub type ScriptText = compact_str::CompactString;

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Word {
    /// Its parts in order; adjacent texts are one. An empty list is the empty word.
    pub parts: Few<WordPart>,
    /// Where it is in the text.
    pub span: Span,
    /// Whether it is one of several that braces, a list or a constant made of one written word.
    pub is_expanded: bool,
    /// Whether a substitution printed a part of it that was worked out from the text:
    /// `$(echo cm0= | base64 -d)`.
    pub is_worked_out: bool,
    /// Whether it is one of several possibilities of one word.
    pub(super) is_alternative: bool,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordPart {
    /// Text that the shell takes as it is, quotes removed.
    Text(ScriptText),
    /// Unquoted pattern characters: `*`, `?`, `[`, or a whole `@(…)`.
    Glob(ScriptText),
    /// An unquoted `~` at the beginning, with the user's name after it or nothing.
    Tilde(ScriptText),
    /// `$NAME` or `${NAME}`, also with a fallback such as `${NAME:-x}`.
    Variable {
        /// Its name; digits, `@` and `*` are positional. While a script is read this may also be
        /// something that is worked out later (`x%y`, `a[0]`, a substitution in its parentheses);
        /// where that fails, the finished view has [`WordPart::Unknown`] instead.
        name: ScriptText,
        /// Whether its value stays one word.
        quoted: bool,
        /// Its fallback if it is unset, if that is plain text.
        fallback: Option<ScriptText>,
    },
    /// What only running can tell: a substitution, arithmetic, a modified variable.
    Unknown {
        /// Whether it stays one word.
        quoted: bool,
    },
}

impl Word {
    /// A word that is known.
    pub fn of(text: impl Into<ScriptText>, span: Span) -> Self {
        let text = text.into();
        let parts = if text.is_empty() {
            Few::default()
        } else {
            Few::one(WordPart::Text(text))
        };
        Self {
            parts,
            span,
            is_expanded: false,
            is_worked_out: false,
            is_alternative: false,
        }
    }

    /// A word about which nothing is known.
    pub fn unknown(span: Span) -> Self {
        Self {
            parts: Few::one(WordPart::Unknown { quoted: true }),
            span,
            is_expanded: false,
            is_worked_out: false,
            is_alternative: false,
        }
    }

    /// The text, if all of it is known and the shell will not change it.
    pub fn known(&self) -> Option<&str> {
        match &*self.parts {
            [] => Some(""),
            [WordPart::Text(text)] => Some(text),
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
        parts.any(|part| matches!(part, WordPart::Glob(_)))
    }

    /// Whether it consists of text and patterns only.
    pub fn is_literal_or_glob(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.all(|part| matches!(part, WordPart::Text(_) | WordPart::Glob(_)))
    }

    /// Text and patterns as written (`src/*.rs`), or `None` if there is anything else in it.
    pub fn literal_or_glob(&self) -> Option<Cow<'_, str>> {
        if let Some(known) = self.known() {
            return Some(Cow::Borrowed(known));
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                WordPart::Text(more) | WordPart::Glob(more) => text.push_str(more),
                WordPart::Tilde(_) | WordPart::Variable { .. } | WordPart::Unknown { .. } => {
                    return None;
                }
            }
        }
        Some(Cow::Owned(text))
    }

    /// The text that it certainly begins with.
    pub fn known_beginning(&self) -> &str {
        match self.parts.first() {
            Some(WordPart::Text(text)) => text,
            _ => "",
        }
    }

    /// If it begins with a home directory (`~`, `~root`, `$HOME`): the parts after that.
    pub fn after_home(&self) -> Option<&[WordPart]> {
        match self.parts.split_first()? {
            (WordPart::Tilde(user), rest) if !matches!(user.as_str(), "+" | "-") => Some(rest),
            (WordPart::Variable { name, .. }, rest) if name == "HOME" => Some(rest),
            _ => None,
        }
    }

    /// About how many bytes of memory it holds.
    pub(super) fn size(&self) -> usize {
        let sizes = self.parts.iter().map(|part| match part {
            WordPart::Text(text) | WordPart::Glob(text) | WordPart::Tilde(text) => text.len() + 1,
            WordPart::Variable { name, fallback, .. } => {
                name.len() + fallback.as_ref().map_or(0, ScriptText::len) + 1
            }
            WordPart::Unknown { .. } => 1,
        });
        sizes.sum()
    }

    /// Appends a part, joining texts and joining patterns.
    pub(super) fn push(&mut self, part: WordPart) {
        match (self.parts.last_mut(), part) {
            (Some(WordPart::Text(last)), WordPart::Text(more))
            | (Some(WordPart::Glob(last)), WordPart::Glob(more)) => last.push_str(&more),
            (_, WordPart::Text(text)) if text.is_empty() => {}
            (_, part) => self.parts.push(part),
        }
    }
}
