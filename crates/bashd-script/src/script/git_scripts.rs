//! Scripts and commands that git itself runs: aliases and programs in `-c`, `rebase -x`,
//! `bisect run`, `submodule foreach`, `filter-branch`.

use super::inner_scripts::printed_text;
use super::view::SimpleCommand;
use super::word::Word;
use super::wrappers::rest_of;

/// Settings whose value git runs in a shell.
const SCRIPTS: [&str; 9] = [
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.askpass",
    "sequence.editor",
    "diff.external",
    "gpg.program",
    "credential.helper",
];

/// Beginnings of settings of this kind.
const SCRIPT_SECTIONS: [&str; 5] = ["pager.", "difftool.", "mergetool.", "filter.", "trailer."];

/// Options before the subcommand whose value is the next word.
const WITH_VALUE: [&str; 6] = [
    "-C",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--config-env",
    "--attr-source",
];

/// Subcommands that run scripts.
const RUNNING: [&str; 6] = [
    "submodule",
    "bisect",
    "rebase",
    "difftool",
    "mergetool",
    "filter-branch",
];

/// How the address of a repository begins that a program gives out: `ext::sh -c x% y`.
const EXTERNAL: &str = "ext::";

/// The command of such an address: a blank behind `%` is part of a word, which needs no difference
/// here; other letters behind it stand for what git asks.
fn external(word: &Word) -> Option<String> {
    let text = printed_text(word);
    let command = text.strip_prefix(EXTERNAL)?;
    let mut words = command.replace("% ", "\0").replace("%%", "%");
    // What follows `-c` is one word then, a script.
    if let Some((shell, script)) = words.split_once(" -c ") {
        let script = script.replace('\0', " ").replace('\'', "'\\''");
        words = format!("{shell} -c '{script}'");
    }
    Some(words.replace('\0', " "))
}

/// Whether a call may run scripts at all: most do not.
pub(super) fn may_run(command: &SimpleCommand) -> bool {
    command.arguments().iter().take(8).any(|word| {
        let text = word.known_beginning();
        text.starts_with("-c") || text.starts_with(EXTERNAL) || RUNNING.contains(&text)
    })
}

/// A call of git: its settings, and the words from the subcommand on.
struct GitWords<'a> {
    settings: Vec<Word>,
    words: &'a [Word],
}

fn read(arguments: &[Word]) -> GitWords<'_> {
    let mut settings = Vec::new();
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.known_beginning();
        if word.is("-c") {
            settings.extend(arguments.get(at + 1).cloned());
            at += 2;
        } else if text.starts_with("-c") && !text.starts_with("-C") {
            settings.extend(rest_of(word, 2));
            at += 1;
        } else if word.known().is_some_and(|text| WITH_VALUE.contains(&text)) {
            at += 2;
        } else if text.starts_with('-') {
            at += 1;
        } else {
            break;
        }
    }
    GitWords {
        settings,
        words: arguments.get(at..).unwrap_or_default(),
    }
}

/// The value of a setting by its name, in the case as written.
fn setting(word: &Word) -> Option<(String, String)> {
    let text = printed_text(word);
    let (name, value) = text.split_once('=')?;
    Some((name.to_ascii_lowercase(), value.to_owned()))
}

/// The words of the call that an alias on the command line makes of this one.
pub(super) fn aliased(command: &SimpleCommand) -> Option<Vec<Word>> {
    let git = read(command.arguments());
    let (called, rest) = git.words.split_first()?;
    let called = format!("alias.{}", called.known()?.to_ascii_lowercase());
    let mut settings = git.settings.iter().filter_map(setting);
    let (_, value) = settings.rfind(|(name, _)| *name == called)?;
    if value.starts_with('!') {
        return None;
    }
    let name = command.words.first()?;
    let words = value.split_whitespace();
    let mut words: Vec<Word> = words
        .map(|word| Word::of(word.trim_matches(['\'', '"']), called_span(git.words)))
        .collect();
    words.insert(0, name.clone());
    words.extend(rest.iter().cloned());
    Some(words)
}

fn called_span(words: &[Word]) -> super::Span {
    words.first().map(|word| word.span).unwrap_or_default()
}

/// The scripts that git runs, as text.
pub(super) fn scripts(arguments: &[Word]) -> Vec<String> {
    let git = read(arguments);
    let mut found = Vec::new();
    for (name, value) in git.settings.iter().filter_map(setting) {
        let is_script = SCRIPTS.contains(&name.as_str())
            || SCRIPT_SECTIONS
                .iter()
                .any(|section| name.starts_with(section))
            || name.starts_with("alias.") && value.starts_with('!');
        if is_script {
            let script = value.trim_start_matches('!').to_owned();
            let is_called = name.starts_with("alias.");
            let rest = git
                .words
                .iter()
                .skip(1)
                .filter(|_| is_called)
                .map(printed_text);
            let words: Vec<String> = std::iter::once(script).chain(rest).collect();
            found.push(words.join(" "));
        }
    }
    let Some((subcommand, rest)) = git.words.split_first() else {
        return found;
    };
    found.extend(rest.iter().filter_map(external));
    let joined = |words: &[Word]| match words {
        [script] => printed_text(script),
        // More words are a command as they stand.
        words => {
            let quoted = |word: &Word| format!("'{}'", printed_text(word).replace('\'', "'\\''"));
            words.iter().map(quoted).collect::<Vec<_>>().join(" ")
        }
    };
    let after = |word: &str| {
        let at = rest.iter().position(|own| own.is(word))?;
        rest.get(at + 1..)
    };
    match subcommand.known() {
        Some("submodule") => {
            let words = after("foreach").unwrap_or_default();
            let options = words
                .iter()
                .take_while(|word| word.known_beginning().starts_with('-'));
            found.push(joined(words.get(options.count()..).unwrap_or_default()));
        }
        Some("bisect") => found.push(joined(after("run").unwrap_or_default())),
        Some("rebase") => found.extend(values(rest, &["-x", "--exec"])),
        Some("difftool" | "mergetool") => found.extend(values(rest, &["-x", "--extcmd"])),
        Some("filter-branch") => {
            let is_filter = |text: &str| text.starts_with("--") && text.ends_with("-filter");
            for pair in rest.windows(2) {
                if let [option, script] = pair
                    && is_filter(option.known_beginning())
                {
                    found.push(printed_text(script));
                }
            }
        }
        _ => {}
    }
    found.retain(|script| !script.trim().is_empty());
    found
}

/// The values of an option, attached or as the next word.
fn values(words: &[Word], options: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let text = printed_text(word);
        for option in options {
            match text.strip_prefix(option) {
                Some("") => found.extend(words.get(index + 1).map(printed_text)),
                Some(rest) if option.len() == 2 || rest.starts_with('=') => {
                    found.push(rest.trim_start_matches('=').to_owned());
                }
                _ => {}
            }
        }
    }
    found
}
