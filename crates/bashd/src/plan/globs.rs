//! Matches a word's patterns against files, as bash does without options: sorted, no hidden names
//! unless the pattern begins with a dot, and the word itself if nothing matches.

use crate::error::{Error, ErrorKind, Result};
use crate::script::WordPart;
use regex::bytes::Regex;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Most directory entries that one word may look at. More would not fit an argument list.
const MOST_ENTRIES: usize = 200_000;

/// A component of a path in a word.
enum Component {
    /// This name.
    Name(String),
    /// Names that match; `hidden` says whether those with a leading dot do, too.
    Matching { pattern: Regex, hidden: bool },
}

/// The files that a word matches, in byte order; the word itself if there are none.
///
/// A match that begins with `-` gets `./`, so no file is taken for an option.
pub(super) fn expand(parts: &[WordPart], cwd: &Path) -> Result<Vec<OsString>> {
    let literal: String = parts.iter().map(text_of).collect();
    let Some(components) = components(parts) else {
        return Ok(vec![literal.into()]);
    };
    let root = if literal.starts_with('/') { "/" } else { "" };
    let mut found = vec![OsString::from(root)];
    let mut seen = 0;
    let last = components.len().saturating_sub(1);
    for (at, component) in components.iter().enumerate() {
        let mut next = Vec::new();
        for directory in &found {
            extend(&mut next, directory, component, cwd, &mut seen);
        }
        if seen > MOST_ENTRIES {
            let message = format!("the pattern {literal} matches too many files");
            return Err(Error::new(ErrorKind::Io, message).about(&literal));
        }
        if at < last {
            next.retain(|path| cwd.join(path).is_dir());
        }
        found = next;
    }
    found.sort();
    if found.is_empty() {
        return Ok(vec![literal.into()]);
    }
    Ok(found.into_iter().map(not_an_option).collect())
}

fn not_an_option(path: OsString) -> OsString {
    if path.as_bytes().starts_with(b"-") {
        OsString::from_vec([b"./", path.as_bytes()].concat())
    } else {
        path
    }
}

fn text_of(part: &WordPart) -> &str {
    match part {
        WordPart::Text(text) | WordPart::Glob(text) => text,
        WordPart::Tilde(_) | WordPart::Variable { .. } | WordPart::Unknown { .. } => "",
    }
}

/// Adds the entries of a directory that a component matches.
fn extend(
    next: &mut Vec<OsString>,
    directory: &OsStr,
    component: &Component,
    cwd: &Path,
    seen: &mut usize,
) {
    let below = |name: &OsStr| {
        let mut path = directory.to_owned();
        if !path.is_empty() && !path.as_bytes().ends_with(b"/") {
            path.push("/");
        }
        path.push(name);
        path
    };
    match component {
        Component::Name(name) => {
            let path = below(OsStr::new(name));
            // An empty last name is a trailing slash, which only a directory has.
            if fs::symlink_metadata(cwd.join(&path)).is_ok() {
                next.push(path);
            }
        }
        Component::Matching { pattern, hidden } => {
            let Ok(entries) = fs::read_dir(cwd.join(directory)) else {
                return;
            };
            for entry in entries
                .flatten()
                .take(MOST_ENTRIES.saturating_sub(*seen) + 1)
            {
                *seen += 1;
                let name = entry.file_name();
                let is_hidden = name.as_bytes().starts_with(b".");
                if (*hidden || !is_hidden) && pattern.is_match(name.as_bytes()) {
                    next.push(below(&name));
                }
            }
        }
    }
}

/// The components of a word with patterns; `None` if a pattern is invalid (an open bracket).
fn components(parts: &[WordPart]) -> Option<Vec<Component>> {
    let mut characters: Vec<(char, bool)> = Vec::new();
    for part in parts {
        let is_pattern = matches!(part, WordPart::Glob(_));
        characters.extend(
            text_of(part)
                .chars()
                .map(|character| (character, is_pattern)),
        );
    }
    let mut names: Vec<&[(char, bool)]> = characters
        .split(|(character, _)| *character == '/')
        .collect();
    // A leading slash is the root, and repeated ones count as one.
    let last = names.len().saturating_sub(1);
    let mut at = 0;
    names.retain(|name| {
        at += 1;
        !name.is_empty() || at - 1 == last
    });
    names.into_iter().map(component).collect()
}

fn component(name: &[(char, bool)]) -> Option<Component> {
    if name.iter().all(|(_, is_pattern)| !is_pattern) {
        return Some(Component::Name(
            name.iter().map(|(character, _)| character).collect(),
        ));
    }
    let mut pattern = String::from("(?s-u)^");
    let mut rest = name;
    while let Some(((character, is_pattern), after)) = rest.split_first() {
        rest = after;
        match (character, is_pattern) {
            ('*', true) => pattern.push_str(".*"),
            ('?', true) => pattern.push_str("(?u:.)"),
            ('[', true) => match bracket(after) {
                Some((class, after)) => {
                    pattern.push_str(&class);
                    rest = after;
                }
                None => pattern.push_str("\\["),
            },
            (character, _) => {
                let mut buffer = [0; 4];
                let plain = regex::escape(character.encode_utf8(&mut buffer));
                pattern.extend(["(?u:", &plain, ")"]);
            }
        }
    }
    pattern.push('$');
    let hidden = matches!(name.first(), Some(('.', _)));
    Some(Component::Matching {
        pattern: Regex::new(&pattern).ok()?,
        hidden,
    })
}

/// The class after an opening bracket, and what follows it.
fn bracket(rest: &[(char, bool)]) -> Option<(String, &[(char, bool)])> {
    // A bracket directly after the opening one, or after the negation, is a member.
    let negated = matches!(rest.first(), Some(('!' | '^', _)));
    let start = usize::from(negated);
    let end = rest
        .iter()
        .skip(start + 1)
        .position(|(character, _)| *character == ']')?
        + start
        + 1;
    let members: String = rest
        .get(start..end)?
        .iter()
        .map(|(character, _)| *character)
        .collect();
    let mut class = String::from(if negated { "(?u:[^" } else { "(?u:[" });
    for character in members.chars() {
        if matches!(character, '[' | ']' | '\\' | '^' | '&' | '~') {
            class.push('\\');
        }
        class.push(character);
    }
    class.push_str("])");
    Some((class, rest.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(pattern: &[(&str, bool)], names: &[&str]) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        for name in names {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let parts: Vec<WordPart> = pattern
            .iter()
            .map(|(text, glob)| {
                let text = (*text).into();
                if *glob {
                    WordPart::Glob(text)
                } else {
                    WordPart::Text(text)
                }
            })
            .collect();
        let found = expand(&parts, home.path()).unwrap().into_iter();
        found.map(|path| path.into_string().unwrap()).collect()
    }

    #[test]
    fn patterns_match_as_in_bash() {
        let names = [
            "b.ts", "a.ts", ".c.ts", "-d.ts", "src/e.ts", "src/f.rs", "[x]",
        ];
        let star = ("*", true);
        for (pattern, expected) in [
            (
                &[star, (".ts", false)][..],
                &["./-d.ts", "a.ts", "b.ts"][..],
            ),
            (&[(".", false), star], &[".c.ts"]),
            (&[star, ("/", false), star, (".ts", false)], &["src/e.ts"]),
            (&[star, ("/", false)], &["src/"]),
            (&[("?", true), (".ts", false)], &["a.ts", "b.ts"]),
            (&[("[", true), ("ab].ts", false)], &["a.ts", "b.ts"]),
            (&[("[", true), ("!a].ts", false)], &["b.ts"]),
            (&[("[", true), ("x]", false)], &["[x]"]),
            (&[("[x]", false), star], &["[x]"]),
            (&[("src//", false), star], &["src/e.ts", "src/f.rs"]),
            (&[("no", false), star], &["no*"]),
        ] {
            assert_eq!(expanded(pattern, &names), expected, "{pattern:?}");
        }
    }
}
