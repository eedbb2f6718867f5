//! `no_dangerous_rm`: deletes the system, a home, a repository, or everything here.

use super::code_parts::{CodeParts, code_has};
use super::concern::{ProgramCall, WholeConcern};
use super::options::{has_short, is_long, operands};
use super::paths::{Path, PathStart, could_match, matches_all_names};
use super::{Concern, Decision, Rule, RuleJudge, trees};
use crate::script::{ScriptText, Word, WordPart};

const NAMES: &[&str] = &["rm", "grm"];

/// What is lost can't be taken back; below a home or a project it is ordinary work.
pub(super) const RULE: Rule = Rule {
    name: "no_dangerous_rm",
    denies: "rm -r of /, /usr, /etc, a home by any name; asks about .git, . and *",
    message: "this would delete part of the system, a home, a repository or everything here",
    instead: "Delete one file or directory by its path, below the project or the home",
    example: "rm -rf ~",
    judge: RuleJudge::Both(
        &[
            Concern::Programs {
                names: NAMES,
                judge: of_rm,
            },
            Concern::Programs {
                names: &[
                    "unlink",
                    "srm",
                    "wipe",
                    "gio",
                    "trash",
                    "trash-put",
                    "rimraf",
                    "del-cli",
                ],
                judge: |call| {
                    // Some match patterns themselves: `del-cli '/**'`.
                    let everything = |word: &Word| match word.known() {
                        Some(text) if text.ends_with('*') => {
                            Word::of(text.trim_end_matches('*'), word.span)
                        }
                        _ => word.clone(),
                    };
                    let paths = operands(call.words).map(|word| resolved(call, &everything(word)));
                    let worst =
                        paths.map(|path| trees::of_file(&path).max(trees::of_removal(&path)));
                    worst.max().unwrap_or(Decision::Allow)
                },
            },
            Concern::Programs {
                names: &["powershell", "pwsh", "cmd", "cmd.exe", "powershell.exe"],
                judge: |call| {
                    let removing = const {
                        &CodeParts::new(&[
                            "Remove-Item",
                            "rd /s",
                            "del /f",
                            "rmdir /s",
                            "Format-Volume",
                            "format c:",
                            "Clear-Disk",
                        ])
                    };
                    let removes = code_has(call.command, removing);
                    let words = call.words.iter().filter_map(Word::known);
                    let text: Vec<&str> = words.collect();
                    let text = text.join(" ");
                    let by_words = ["rd /s", "del /f", "rmdir /s", "format c:"]
                        .iter()
                        .any(|part| text.contains(part));
                    Decision::ask_if(removes || by_words)
                },
            },
        ],
        WholeConcern {
            names: &[super::listed::REMOVERS],
            signs: &[],
            judge: super::listed::removed,
        },
    ),
};

/// The document's words and denials.
pub(super) const DOCUMENTED: Rule = Rule {
    name: "no_dangerous_rm",
    denies: "rm -rf of /, a home directory, .git, . or a bare wildcard",
    message: "permission denied: this rm command could delete critical data (.git, home directory, or root). Specify the full path explicitly (no wildcards, ~, or $HOME)",
    instead: "",
    example: "rm -rf ~",
    judge: RuleJudge::Each(&[Concern::Programs {
        names: NAMES,
        judge: |call| Decision::deny_if(is_dangerous(call.words)),
    }]),
};

/// A path as it is where the command runs.
pub(super) fn resolved(call: &ProgramCall<'_>, word: &Word) -> Path {
    call.directory.resolve(Path::of(word))
}

fn is_recursive(word: &Word) -> bool {
    has_short(word, "rR", "") || is_long(word, "recursive", 1)
}

fn of_rm(call: &ProgramCall<'_>) -> Decision {
    let words = call.words;
    // Also after `--`: a file called `-r` is rarer than a slip.
    let recursive = words.iter().any(is_recursive);
    let only_asks = words
        .iter()
        .any(|word| word.is("--help") || word.is("--version"));
    if only_asks {
        return Decision::Allow;
    }
    if words.iter().any(|word| word.is("--no-preserve-root")) {
        return Decision::Deny;
    }
    let decisions = operands(words).map(|word| {
        let path = resolved(call, word);
        let file = trees::of_file(&path);
        if recursive {
            let all = Decision::ask_if(is_root_without_value(word));
            file.max(trees::of_removal(&path)).max(all)
        } else {
            file
        }
    });
    decisions.max().unwrap_or(Decision::Allow)
}

/// `/$x`, of which nothing says what `x` is: without a value it is everything. The words of a
/// function are given where it is called.
fn is_root_without_value(word: &Word) -> bool {
    let Some((WordPart::Text(root), rest)) = word.parts.split_first() else {
        return false;
    };
    let is_name = |part: &WordPart| match part {
        WordPart::Variable { name, .. } => !name.starts_with(|c: char| !c.is_ascii_alphabetic()),
        WordPart::Text(text) => text == "/",
        _ => false,
    };
    root.chars().all(|c| c == '/') && !rest.is_empty() && rest.iter().all(is_name)
}

fn is_dangerous(words: &[Word]) -> bool {
    // Also after `--`: a file called `-f` is rarer than a slip.
    let is_forced = |word: &Word| has_short(word, "f", "") || is_long(word, "force", 1);
    words.iter().any(is_recursive)
        && words.iter().any(is_forced)
        && operands(words).any(|word| is_critical(&Path::of(word)))
}

fn is_critical(path: &Path) -> bool {
    let names = &path.components;
    let is_git = |name: &ScriptText| could_match(name, ".git");
    if names.iter().any(is_git) {
        return true;
    }
    let hidden_wildcard = |name: &ScriptText| name.starts_with('.') && matches_all_names(name);
    if names.last().is_some_and(hidden_wildcard) {
        return true;
    }
    let goes_nowhere = |name: &ScriptText| name == ".." || matches_all_names(name);
    match path.start {
        PathStart::Home => true,
        PathStart::Root | PathStart::Here | PathStart::Worked => names.iter().all(goes_nowhere),
        PathStart::Unknown => false,
    }
}
