//! Where a command finds an inner script: in an argument, in what it reads, in words that it joins.

use super::view::{Assigned, SimpleCommand, Span};
use super::word::{Word, WordPart};
use super::word_reader::HOLE;
use super::wrappers;

/// Programs that run a script in a shell's language.
pub(super) const SHELLS: [&str; 9] = [
    "bash", "sh", "zsh", "dash", "ksh", "ash", "mksh", "rbash", "hush",
];

/// The text of a word as a script: unknown parts become holes.
pub(super) fn script_text(word: &Word) -> Option<String> {
    let has_text = |part: &WordPart| matches!(part, WordPart::Text(_) | WordPart::Glob(_));
    word.parts.iter().any(has_text).then(|| printed_text(word))
}

/// The text of a word, with holes where it is unknown.
pub(super) fn printed_text(word: &Word) -> String {
    let mut text = String::new();
    let [open, close] = HOLE;
    for part in &word.parts {
        match part {
            WordPart::Text(known) | WordPart::Glob(known) => text.push_str(known),
            WordPart::Tilde(user) if user.is_empty() => {
                text.push(open);
                text.push_str("HOME");
                text.push(close);
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
    text
}

/// Where a shell finds its script.
pub(super) enum ShellScript {
    /// In this argument.
    Word(usize),
    /// On stdin; the words for it begin at this argument.
    Input(usize),
    /// In the file that this argument names.
    File(usize),
    /// Nowhere.
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
        (false, None) => ShellScript::Input(at),
        (false, Some(_)) if has_input => ShellScript::Input(at),
        (false, Some(word)) if is_input(word) => ShellScript::Input(at + 1),
        (false, Some(_)) => ShellScript::File(at),
        (true, None) => ShellScript::None,
    }
}

/// Files that a shell runs before anything else, as its options name them.
pub(super) fn startup_files(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    arguments.windows(2).filter_map(|pair| match pair {
        [option, file] if option.is("--rcfile") || option.is("--init-file") => Some(file),
        _ => None,
    })
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

/// The text of `env -S`: a string that it splits into words, and the words behind it as they are.
pub(super) fn env_string(arguments: &[Word]) -> Option<String> {
    let (string, rest) = split_string(arguments)?;
    let mut text = printed_text(&string);
    for word in rest {
        text.push(' ');
        match word.known() {
            Some(known) => text.push_str(&quoted(known)),
            None => text.push_str(&printed_text(word)),
        }
    }
    Some(text)
}

/// A text in quotes, as a shell reads it.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn split_string(arguments: &[Word]) -> Option<(Word, &[Word])> {
    for (index, word) in arguments.iter().enumerate() {
        let beginning = word.known_beginning();
        let attached = beginning
            .strip_prefix("--split-string=")
            .or_else(|| beginning.strip_prefix("-S"))
            .or_else(|| beginning.strip_prefix("-vS"));
        let next = || {
            let string = arguments.get(index + 1)?.clone();
            Some((string, arguments.get(index + 2..)?))
        };
        match attached {
            Some("") if word.parts.len() == 1 => return next(),
            Some(rest) => {
                let mut string = Word::of(rest, word.span);
                string.parts.extend(word.parts.get(1..)?.iter().cloned());
                return Some((string, arguments.get(index + 1..).unwrap_or_default()));
            }
            None if word.is("--split-string") => return next(),
            None if beginning.starts_with('-') || wrappers::is_assignment(beginning) => {}
            None => return None,
        }
    }
    None
}

/// Variables whose value is run as a script by what reads them.
const SCRIPT_VARIABLES: [&str; 15] = [
    "PROMPT_COMMAND",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "LESSOPEN",
    "BROWSER",
    "PS1",
    "PS4",
];

/// The scripts in the variables that a command sets.
pub(super) fn assigned_scripts(command: &SimpleCommand) -> Vec<Word> {
    let is_script = |name: &str| SCRIPT_VARIABLES.contains(&name);
    let mut found: Vec<Word> = Vec::new();
    for assignment in &command.assignments {
        match &assignment.value {
            Assigned::Value(word) | Assigned::Appended(word) if is_script(&assignment.name) => {
                found.push(word.clone());
            }
            Assigned::List(words) | Assigned::AppendedList(words)
                if is_script(&assignment.name) =>
            {
                found.extend(words.iter().cloned());
            }
            _ => {}
        }
    }
    let is_setting = matches!(
        command.name(),
        Some("export" | "declare" | "env" | "typeset" | "readonly")
    );
    for word in command.arguments().iter().filter(|_| is_setting) {
        if let Some((name, _)) = word.known_beginning().split_once('=')
            && is_script(name)
        {
            found.extend(wrappers::rest_of(word, name.len() + 1));
        }
    }
    found
}

/// Files that a shell runs before anything else, as variables name them.
pub(super) fn assigned_files(command: &SimpleCommand) -> Vec<Word> {
    let values = command.assignments.iter().filter_map(|assignment| {
        let is_file = matches!(assignment.name.as_str(), "BASH_ENV" | "ENV");
        match &assignment.value {
            Assigned::Value(word) if is_file => Some(word.clone()),
            _ => None,
        }
    });
    values.collect()
}

/// Files that the next shell runs when it starts.
const STARTUP: &[&str] = &[
    "/.bashrc",
    "/.bash_profile",
    "/.bash_login",
    "/.bash_logout",
    "/.profile",
    "/.zshrc",
    "/.zshenv",
    "/.zprofile",
];

/// Whether a command writes a text into a file that the next shell runs.
pub(super) fn writes_startup(command: &SimpleCommand) -> bool {
    let is_startup = |word: &Word| {
        // git runs what is in its hooks.
        let path = word.known_beginning();
        if path.contains(".git/hooks/") || path.contains(".husky/") {
            return true;
        }
        let [WordPart::Text(file)] = word.after_home().unwrap_or_default() else {
            return false;
        };
        STARTUP.contains(&file.as_str())
    };
    let mut redirects = command.redirects.iter();
    redirects.any(|redirect| redirect.operator.writes() && is_startup(&redirect.target))
}

/// The scripts that read what a command writes: `echo x > >(bash)`, `tee >(bash)`.
pub(super) fn fed_scripts(command: &SimpleCommand) -> Vec<(&str, Span)> {
    let is_tee = command.name() == Some("tee");
    let words = command.arguments().iter().filter(|_| is_tee);
    let files = command.redirects.iter().filter(|it| it.operator.writes());
    let targets = files.map(|redirect| &redirect.target).chain(words);
    let scripts = targets.filter_map(|word| match &*word.parts {
        [WordPart::Variable { name, .. }] => {
            let script = name.strip_prefix(">(")?.strip_suffix(')')?;
            Some((script, word.span))
        }
        _ => None,
    });
    scripts.collect()
}

/// The callback of `mapfile -C`, the command of `complete -C` and of `compgen -C`.
pub(super) fn callback(arguments: &[Word]) -> Option<&Word> {
    let at = arguments.iter().position(|word| word.is("-C"))?;
    arguments.get(at + 1)
}

/// The script of a line of `crontab`: what follows the five fields of its time.
pub(super) fn crontab_script(text: &str) -> String {
    let mut scripts = String::new();
    for line in text
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.starts_with('#'))
    {
        let fields = if line.starts_with('@') { 1 } else { 5 };
        let mut rest = line;
        for _ in 0..fields {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            rest = rest.get(end..).unwrap_or_default().trim_start();
        }
        scripts.push_str(rest);
        scripts.push('\n');
    }
    scripts
}
