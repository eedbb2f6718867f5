//! Where a command finds an inner script: in an argument, in what it reads, in words that it joins.

use super::view::{RedirectOperator, SimpleCommand, Span};
use super::word::{Word, WordPart};
use super::word_reader::HOLE;
use super::wrappers;

/// Programs that run a script in a shell's language.
pub(super) const SHELLS: [&str; 9] = [
    "bash", "sh", "zsh", "dash", "ksh", "ash", "mksh", "rbash", "hush",
];

/// The text of a word as a script: unknown parts become holes.
pub(super) fn script_text(word: &Word) -> Option<String> {
    let mut text = String::new();
    let mut has_text = false;
    let [open, close] = HOLE;
    for part in &word.parts {
        match part {
            WordPart::Text(known) | WordPart::Glob(known) => {
                has_text = true;
                text.push_str(known);
            }
            WordPart::Tilde(user) => {
                text.push('~');
                text.push_str(user);
            }
            WordPart::Variable { name, .. } => {
                let is_plain = name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_@*".contains(c));
                text.push(open);
                text.push_str(if is_plain { name } else { "" });
                text.push(close);
            }
            WordPart::Unknown { .. } => text.extend(HOLE),
        }
    }
    has_text.then_some(text)
}

/// Where a shell finds its script.
pub(super) enum ShellScript {
    /// In this argument.
    Word(usize),
    /// On stdin.
    Input,
    /// In a file.
    None,
}

/// Where a shell with these arguments finds its script.
pub(super) fn shell_script(arguments: &[Word]) -> ShellScript {
    let mut has_command = false;
    let mut has_input = false;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.known_beginning();
        at += 1;
        if word.is("--") || word.is("-") {
            break;
        } else if text.starts_with("--") {
            at += usize::from(matches!(text, "--rcfile" | "--init-file"));
        } else if text.len() > 1 && text.starts_with(['-', '+']) {
            has_command |= text.starts_with('-') && text.contains('c');
            has_input |= text.contains('s');
            at += text.matches(['o', 'O']).count();
        } else {
            at -= 1;
            break;
        }
    }
    match (has_command, arguments.get(at)) {
        (true, Some(_)) => ShellScript::Word(at),
        (false, None) => ShellScript::Input,
        (false, Some(word)) if has_input || is_input(word) => ShellScript::Input,
        (true, None) | (false, Some(_)) => ShellScript::None,
    }
}

fn is_input(word: &Word) -> bool {
    matches!(
        word.known(),
        Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
    )
}

/// Whether `source` reads stdin.
pub(super) fn reads_input(arguments: &[Word]) -> bool {
    arguments.first().is_some_and(is_input)
}

/// The script of `trap 'script' SIGNAL`.
pub(super) fn trap_script(arguments: &[Word]) -> Option<&Word> {
    let arguments = match arguments.first() {
        Some(first) if first.is("--") => arguments.get(1..)?,
        _ => arguments,
    };
    match arguments {
        [script, _, ..] if !script.known_beginning().starts_with('-') => Some(script),
        _ => None,
    }
}

/// The string that `env -S` splits into words.
pub(super) fn env_string(arguments: &[Word]) -> Option<Word> {
    for (index, word) in arguments.iter().enumerate() {
        let beginning = word.known_beginning();
        let attached = beginning
            .strip_prefix("--split-string=")
            .or_else(|| beginning.strip_prefix("-S"))
            .or_else(|| beginning.strip_prefix("-vS"));
        match attached {
            Some("") if word.parts.len() == 1 => return arguments.get(index + 1).cloned(),
            Some(rest) => {
                let mut string = Word::of(rest, word.span);
                string.parts.extend(word.parts.get(1..)?.iter().cloned());
                return Some(string);
            }
            None if word.is("--split-string") => return arguments.get(index + 1).cloned(),
            None if beginning.starts_with('-') || wrappers::is_assignment(beginning) => {}
            None => return None,
        }
    }
    None
}

/// The script of `git submodule foreach`, and of an alias defined on the command line.
pub(super) fn git_script(arguments: &[Word]) -> Option<&Word> {
    let at = arguments.iter().position(|word| word.is("submodule"))?;
    let rest = arguments.get(at + 1..)?;
    let foreach = rest.iter().position(|word| word.is("foreach"))?;
    let mut words = rest.get(foreach + 1..)?.iter();
    words.find(|word| !word.known_beginning().starts_with('-'))
}

/// The here-document or here-string on a command's stdin.
pub(super) fn here_text(command: &SimpleCommand) -> Option<(String, Span)> {
    let redirect = command.redirects.iter().rev().find(|redirect| {
        use RedirectOperator::{HereDoc, HereString};
        matches!(redirect.operator, HereDoc | HereString)
            && matches!(redirect.descriptor.as_deref(), None | Some("0"))
    })?;
    Some((script_text(&redirect.target)?, redirect.target.span))
}

/// What `echo` prints for these words, escapes aside.
pub(super) fn echoed(words: &[Word]) -> Option<(String, Span)> {
    let is_option = |word: &&Word| matches!(word.known(), Some("-e" | "-n" | "-ne" | "-en" | "--"));
    let words: Vec<&Word> = words.iter().skip_while(is_option).collect();
    let texts: Vec<String> = words
        .iter()
        .map(|word| script_text(word).unwrap_or_default())
        .collect();
    let span = Span {
        start: words.first()?.span.start,
        end: words.last()?.span.end,
    };
    Some((texts.join(" "), span))
}
