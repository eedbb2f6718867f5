//! Paths in words: where they lead, as far as the text shows.

use crate::script::{ScriptText, Word, WordPart};
use std::borrow::Cow;

/// Stands for an unknown part of a path.
pub(super) const UNKNOWN: char = '\u{FFFC}';

/// What a word names as a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    /// Where it begins.
    pub(super) start: PathStart,
    /// Its components, without empty ones and `.`; a `..` removes the one before it if that is
    /// known.
    pub(super) components: Vec<ScriptText>,
}

/// Where a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathStart {
    /// At the root.
    Root,
    /// In a home directory.
    Home,
    /// In the working directory.
    Here,
    /// In a directory that was worked in, or the one around: `$OLDPWD`, the top of the repository.
    Worked,
    /// Unknown.
    Unknown,
}

impl Path {
    /// Reads a word as a path. Quoted pattern characters get a backslash in [`Self::components`].
    pub(super) fn of(word: &Word) -> Self {
        let (start, text) = match (word.after_home(), word.parts.split_first()) {
            (Some(rest), _) => (PathStart::Home, flat(rest)),
            (None, Some((WordPart::Tilde(sign), rest))) if sign == "-" => {
                (PathStart::Worked, flat(rest))
            }
            (None, Some((WordPart::Tilde(_), rest))) => (PathStart::Here, flat(rest)),
            (None, Some((WordPart::Variable { name, .. }, rest)))
                if matches!(name.as_str(), "OLDPWD" | "GIT_WORK_TREE") =>
            {
                (PathStart::Worked, flat(rest))
            }
            (None, Some((WordPart::Variable { name, .. }, rest))) if name == "PWD" => {
                (PathStart::Here, flat(rest))
            }
            (None, _) => {
                let text = flat(&word.parts);
                let start = match text.chars().next() {
                    Some('/') => PathStart::Root,
                    Some(UNKNOWN) => PathStart::Unknown,
                    _ => PathStart::Here,
                };
                (start, text)
            }
        };
        let mut components: Vec<ScriptText> = Vec::new();
        for component in text.split('/') {
            let last_is_name = components
                .last()
                .is_some_and(|last| last != ".." && !last.contains(UNKNOWN));
            match component {
                "" | "." => {}
                ".." if last_is_name => {
                    components.pop();
                }
                ".." if start == PathStart::Root => {}
                component => components.push(component.into()),
            }
        }
        let path = Self { start, components };
        path.with_named_home()
    }

    /// `/home/$USER` is a home, too.
    fn with_named_home(mut self) -> Self {
        let is_home = |place: &str| matches!(place, "home" | "Users");
        if let (PathStart::Root, [place, user, ..]) = (self.start, self.components.as_slice())
            && is_home(place)
            && user == "\u{FFFC}USER\u{FFFC}"
        {
            self.start = PathStart::Home;
            self.components.drain(..2);
        }
        self
    }

    /// Another path as it is from this directory.
    pub(super) fn join(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        for name in &other.components {
            let last = joined.components.last();
            let last_is_name =
                last.is_some_and(|last| last != ".." && !last.contains(UNKNOWN) && !is_many(last));
            match name.as_str() {
                ".." if last_is_name => {
                    joined.components.pop();
                }
                ".." if joined.start == PathStart::Root && last.is_none() => {}
                name => joined.components.push(name.into()),
            }
        }
        joined
    }
}

/// Whether a component stands for several names, or for one that is not known.
pub(super) fn is_many(component: &str) -> bool {
    component.contains(['*', '?', '[', UNKNOWN])
}

/// Joins parts into one text: literal pattern characters escaped, unknown parts as one character.
fn flat(parts: &[WordPart]) -> Cow<'_, str> {
    let is_plain = |text: &str| !text.bytes().any(|byte| b"*?[\\".contains(&byte));
    match parts {
        [] => return Cow::Borrowed(""),
        [WordPart::Text(text)] if is_plain(text) => return Cow::Borrowed(text),
        _ => {}
    }
    let mut text = String::new();
    for part in parts {
        match part {
            WordPart::Text(known) => {
                for character in known.chars() {
                    if matches!(character, '*' | '?' | '[' | '\\') {
                        text.push('\\');
                    }
                    text.push(character);
                }
            }
            WordPart::Glob(pattern) => text.push_str(pattern),
            WordPart::Variable { name, .. } if matches!(name.as_str(), "USER" | "LOGNAME") => {
                text.extend([UNKNOWN, 'U', 'S', 'E', 'R', UNKNOWN]);
            }
            WordPart::Tilde(_) | WordPart::Variable { .. } | WordPart::Unknown { .. } => {
                text.push(UNKNOWN);
            }
        }
    }
    Cow::Owned(text)
}

/// Whether a pattern matches every name, or every hidden one: `*`, `**`, `.*`, `.??*`, `[!.]*`,
/// `!(x)`.
pub(super) fn matches_all_names(pattern: &str) -> bool {
    if pattern.starts_with("!(") {
        return true;
    }
    let mut rest = pattern.chars().peekable();
    let mut has_star = false;
    while let Some(character) = rest.next() {
        match character {
            '*' => has_star = true,
            '?' | '.' => {}
            '[' if matches!(rest.peek(), Some('!' | '^')) => {
                if !rest.any(|character| character == ']') {
                    return false;
                }
            }
            _ => return false,
        }
    }
    has_star
}

/// Whether a pattern matches this name, by the shell's rules for hidden files.
pub(super) fn could_match(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?', '[', '\\', UNKNOWN]) {
        return pattern == name;
    }
    let is_hidden = name.starts_with('.');
    if is_hidden && !pattern.starts_with('.') {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    // Which prefixes of the name the pattern so far can match.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    let mut at = 0;
    while let Some(character) = pattern.get(at) {
        let mut next = vec![false; name.len() + 1];
        let (single, length) = match character {
            '*' => {
                let first = reached.iter().position(|is| *is);
                for is in next.iter_mut().skip(first.unwrap_or(usize::MAX)) {
                    *is = true;
                }
                (None, 1)
            }
            '?' => (Some(Single::Any), 1),
            '[' => (Some(Single::Any), bracket_length(pattern.get(at..))),
            '\\' => (pattern.get(at + 1).copied().map(Single::Is), 2),
            &UNKNOWN => return false,
            other => (Some(Single::Is(*other)), 1),
        };
        if let Some(single) = single {
            for (index, character) in name.iter().enumerate() {
                next[index + 1] = reached[index] && single.matches(*character);
            }
        }
        reached = next;
        at += length;
    }
    reached.last().copied().unwrap_or_default()
}

enum Single {
    Any,
    Is(char),
}

impl Single {
    fn matches(&self, character: char) -> bool {
        match self {
            Self::Any => true,
            Self::Is(own) => *own == character,
        }
    }
}

fn bracket_length(rest: Option<&[char]>) -> usize {
    let close = rest.and_then(|rest| rest.iter().skip(2).position(|c| *c == ']'));
    close.map_or(1, |close| close + 3)
}
