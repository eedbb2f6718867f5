//! A leading `cd DIR &&` becomes the working directory, if DIR is one plain word.
//!
//! What bash would expand, match or refuse is left alone: bash knows best. So is a list in the
//! background, whose `cd` happens in another shell.

use super::{Command, LeadingCd};
use crate::script::Script;
use std::iter::Peekable;
use std::str::CharIndices;

/// Removes it, if there is one.
pub fn lift(command: &mut Command) {
    let Some((directory, start)) = split(&command.to_run) else {
        return;
    };
    let (before, rest) = command.to_run.split_at(start);
    let script = Script::parse(&command.to_run);
    let runs_here = script.commands.first().is_some_and(|cd| {
        let place = cd.place;
        cd.words.first().is_some_and(|name| name.is("cd")) && !place.background
    });
    if rest.trim().is_empty() || !runs_here {
        return;
    }
    let (text, rest) = (before.to_owned(), rest.to_owned());
    command.leading_cd = Some(LeadingCd { directory, text });
    command.to_run = rest;
}

/// The directory, and where the command after it begins.
fn split(text: &str) -> Option<(String, usize)> {
    let after_blanks = text.trim_start();
    let after_name = after_blanks.strip_prefix("cd")?;
    let word_and_more = after_name.trim_start_matches(is_blank);
    if word_and_more.len() == after_name.len() {
        return None;
    }
    let (directory, rest) = word(word_and_more)?;
    let rest = rest.trim_start_matches(is_blank).strip_prefix("&&")?;
    let rest = rest.trim_start_matches(is_blank);
    Some((directory, text.len() - rest.len()))
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

/// One shell word with its quotes removed, and what follows it. `None` if it is not plain.
fn word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut characters = text.char_indices().peekable();
    let mut end = text.len();
    while let Some((at, character)) = characters.next() {
        match character {
            ' ' | '\t' | '&' | '|' | ';' | '<' | '>' | ')' => {
                end = at;
                break;
            }
            '\'' => single_quoted(&mut characters, &mut word)?,
            '"' => double_quoted(&mut characters, &mut word)?,
            '\\' => word.push(characters.next().map(|(_, c)| c).filter(|c| *c != '\n')?),
            '~' if at == 0 => {
                let next = characters.peek().map_or('/', |(_, next)| *next);
                if !matches!(next, '/' | ' ' | '\t' | '&') {
                    return None;
                }
                word.push('~');
            }
            '#' if at == 0 => return None,
            '$' | '`' | '(' | '*' | '?' | '[' | '{' | '\n' | '\r' => return None,
            other => word.push(other),
        }
    }
    let is_quoted_tilde = word.starts_with('~') && !text.starts_with('~');
    // `cd -`, `cd -P`: left to bash.
    if word.is_empty() || word.starts_with('-') || is_quoted_tilde {
        return None;
    }
    Some((word, text.get(end..)?))
}

fn single_quoted(characters: &mut Peekable<CharIndices<'_>>, word: &mut String) -> Option<()> {
    loop {
        match characters.next()?.1 {
            '\'' => return Some(()),
            '\n' | '\r' => return None,
            other => word.push(other),
        }
    }
}

fn double_quoted(characters: &mut Peekable<CharIndices<'_>>, word: &mut String) -> Option<()> {
    loop {
        match characters.next()?.1 {
            '"' => return Some(()),
            '$' | '`' | '\n' | '\r' => return None,
            '\\' => match characters.next()?.1 {
                '\n' => return None,
                special @ ('"' | '\\' | '$' | '`') => word.push(special),
                other => word.extend(['\\', other]),
            },
            other => word.push(other),
        }
    }
}
