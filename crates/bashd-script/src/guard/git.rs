//! A git command line: its subcommand, whatever precedes it, and through aliases that the text
//! tells.

use super::git_settings::{self, ConfigPairs};
use super::safe_mode::tokens;
use crate::script::{Script, SimpleCommand, Span, Word, WordPart};
use std::borrow::Cow;

pub(super) use super::git_settings::Settings;

/// Global options whose value is the next word.
const WITH_VALUE: [&str; 8] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

/// What git is called by, with its subcommand as a word of its own or in the name.
pub(super) const NAMES: &[&str] = &[GIT, "git-*", "hub"];
const GIT: &str = "git";

/// Whether a program of this name may be git.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(GIT) || name == "hub"
}

/// How many aliases may lead to each other.
const MOST_ALIASES: usize = 4;

/// A call of git.
pub(super) struct GitCall<'a> {
    pub(super) subcommand: Cow<'a, str>,
    pub(super) arguments: Cow<'a, [Word]>,
    /// Settings for this call, from its options, its environment and earlier commands.
    pub(super) settings: ConfigPairs,
    /// Texts that git hands to a shell.
    pub(super) scripts: Vec<String>,
}

/// The subcommand and its arguments as they are written, if a command is a call of git.
pub(super) fn plain_call(command: &SimpleCommand) -> Option<(&str, &[Word])> {
    let (_, subcommand, arguments) = split(command)?;
    Some((subcommand?, arguments))
}

/// The call that a command is, if it is one of git.
pub(super) fn call<'a>(command: &'a SimpleCommand, settings: &Settings<'a>) -> Option<GitCall<'a>> {
    let (globals, subcommand, arguments) = split(command)?;
    let own = settings.own(globals, command);
    let scripts = git_settings::programs(&own, command);
    let mut call = GitCall {
        subcommand: Cow::Borrowed(subcommand.unwrap_or_default()),
        arguments: Cow::Borrowed(arguments),
        scripts,
        settings: settings.with(own),
    };
    call.enter_repositories();
    for _ in 0..MOST_ALIASES {
        if !call.follow_alias() {
            break;
        }
    }
    let scripts = started(&call.subcommand, &call.arguments);
    call.scripts.extend(scripts);
    Some(call)
}

impl GitCall<'_> {
    /// `git for-each-repo --config=x reset --hard`: what it runs in each of them.
    fn enter_repositories(&mut self) {
        if self.subcommand != "for-each-repo" {
            return;
        }
        let is_option = |word: &&Word| word.known_beginning().starts_with('-');
        let mut words = self.arguments.iter().skip_while(is_option);
        if let Some(subcommand) = words.next().and_then(Word::known) {
            let subcommand = subcommand.to_owned();
            let arguments = words.cloned().collect();
            self.subcommand = Cow::Owned(subcommand);
            self.arguments = Cow::Owned(arguments);
        }
    }

    /// Puts what an alias stands for in its place; says whether there was one.
    fn follow_alias(&mut self) -> bool {
        let is_it = |(key, _): &&(String, String)| {
            let name = key
                .split_once('.')
                .filter(|(head, _)| head.eq_ignore_ascii_case("alias"));
            name.is_some_and(|(_, name)| name.eq_ignore_ascii_case(&self.subcommand))
        };
        let Some((_, value)) = self.settings.iter().rev().find(is_it) else {
            return false;
        };
        let span = self
            .arguments
            .first()
            .map(|word| word.span)
            .unwrap_or_default();
        if let Some(script) = value.strip_prefix('!') {
            let words = self.arguments.iter().filter_map(Word::known);
            let words: Vec<&str> = std::iter::once(script).chain(words).collect();
            self.scripts.push(words.join(" "));
            return false;
        }
        let Ok(words) = tokens(value) else {
            return false;
        };
        let Some((subcommand, rest)) = words.split_first() else {
            return false;
        };
        if *subcommand == *self.subcommand {
            return false;
        }
        let rest = rest.iter().map(|word| Word::of(word.as_str(), span));
        let arguments = rest.chain(self.arguments.iter().cloned()).collect();
        self.subcommand = Cow::Owned(subcommand.clone());
        self.arguments = Cow::Owned(arguments);
        true
    }
}

/// Options before the subcommand, the subcommand, and what follows it.
fn split(command: &SimpleCommand) -> Option<(&[Word], Option<&str>, &[Word])> {
    let name = command.name()?;
    if let Some(subcommand) = name.strip_prefix("git-") {
        return Some((&[], Some(subcommand), command.arguments()));
    }
    if name != GIT && name != "hub" {
        return None;
    }
    let all = command.arguments();
    let mut at = 0;
    while let Some(word) = all.get(at) {
        let (before, rest) = all.split_at_checked(at)?;
        let Some(text) = word.known() else {
            // `git $OPTIONS push`, `git -c user.name="$x" push`
            let is_option = word.known_beginning().starts_with('-') || is_expansion(word);
            if !is_option {
                return Some((before, None, &[]));
            }
            at += 1;
            continue;
        };
        if WITH_VALUE.contains(&text) {
            at += 2;
        } else if text.starts_with('-') {
            at += 1;
        } else {
            return Some((before, Some(text), rest.get(1..).unwrap_or_default()));
        }
    }
    Some((all, None, &[]))
}

fn is_expansion(word: &Word) -> bool {
    matches!(
        *word.parts,
        [WordPart::Variable { quoted: false, .. } | WordPart::Unknown { quoted: false }]
    )
}

/// Scripts that a subcommand runs: `rebase -x`, `bisect run`, `submodule foreach` and so on.
fn started(subcommand: &str, arguments: &[Word]) -> Vec<String> {
    let after = |options: &[&str]| values_of(arguments, options);
    match subcommand {
        "rebase" => after(&["-x", "--exec"]),
        "difftool" => after(&["-x", "--extcmd"]),
        "grep" => after(&["-O", "--open-files-in-pager"]),
        "filter-branch" => after(&[
            "--env-filter",
            "--tree-filter",
            "--index-filter",
            "--msg-filter",
            "--commit-filter",
            "--parent-filter",
            "--tag-name-filter",
            "--setup",
        ]),
        "push" | "send-pack" => after(&["--receive-pack", "--exec"]),
        "fetch" | "clone" | "ls-remote" | "fetch-pack" | "pull" => {
            let mut scripts = after(&["--upload-pack", "-u", "--exec"]);
            if subcommand == "clone" {
                let settings = after(&["-c", "--config"]).into_iter();
                let pairs = settings.filter_map(|text| {
                    let (key, value) = text.split_once('=')?;
                    Some((key.to_owned(), value.to_owned()))
                });
                scripts.extend(git_settings::programs_of(&pairs.collect()));
            }
            let known = arguments.iter().filter_map(Word::known);
            scripts.extend(known.filter_map(|text| Some(text.strip_prefix("ext::")?.to_owned())));
            scripts
        }
        "bisect" => joined_after(arguments, "run"),
        "submodule" => joined_after(arguments, "foreach"),
        _ => Vec::new(),
    }
}

/// What follows one of these options, attached or as the next word.
fn values_of(arguments: &[Word], options: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let Some(text) = word.known() else { continue };
        for option in options {
            match text.strip_prefix(option) {
                Some("") => {
                    let next = arguments.get(index + 1).and_then(Word::known);
                    found.extend(next.map(str::to_owned));
                }
                Some(rest) if option.starts_with("--") => {
                    found.extend(rest.strip_prefix('=').map(str::to_owned));
                }
                Some(rest) => found.push(rest.to_owned()),
                None => {}
            }
        }
    }
    found
}

fn joined_after(arguments: &[Word], verb: &str) -> Vec<String> {
    let Some(at) = arguments.iter().position(|word| word.is(verb)) else {
        return Vec::new();
    };
    let words = arguments.get(at + 1..).unwrap_or_default().iter();
    let is_option = |word: &&Word| word.known_beginning().starts_with('-');
    let words = words.skip_while(is_option).filter_map(Word::known);
    let words: Vec<&str> = words.collect();
    if words.is_empty() {
        Vec::new()
    } else {
        vec![words.join(" ")]
    }
}

/// Most bytes of scripts that calls of git run: with more nobody could say what they do.
const MOST_SCRIPT_BYTES: usize = 256 << 10;

/// The scripts that calls of git run, with where the call is; and whether there is more of them.
pub(super) fn scripts<'a>(
    calls: impl Iterator<Item = (&'a SimpleCommand, &'a GitCall<'a>)>,
) -> (Vec<(Span, Script)>, bool) {
    let mut found = Vec::new();
    let mut bytes = 0;
    for (command, call) in calls {
        for text in &call.scripts {
            bytes += text.len();
            if bytes > MOST_SCRIPT_BYTES {
                return (found, true);
            }
            found.push((command.span, Script::parse(text)));
        }
    }
    (found, false)
}
