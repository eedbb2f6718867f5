//! `no_git_discard`: throws away changes, or what was stashed.

use super::concern::{Sought, WholeConcern};
use super::git::GitCall;
use super::no_blind_git_add::is_everything;
use super::options::{has_short, is_long, operands};
use super::pipelines::{feeds, holds, near};
use super::tool_rows::{ToolRow, asks};
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::{CommandOrigin, Script, SimpleCommand, Span, Word, WordPart};

pub(super) const RULE: Rule = Rule {
    name: "no_git_discard",
    denies: "asks about git checkout -- ., git restore ., git checkout -f, git stash drop and clear; svn revert -R, hg update -C",
    message: "this discards changes that are not committed, or what was stashed",
    instead: "Use git stash, or restore the one file that is meant by its name",
    example: "git checkout -- .",
    judge: RuleJudge::Both(
        &[
            Concern::Git {
                subcommands: &["checkout"],
                judge: checkout,
            },
            Concern::Git {
                subcommands: &["restore"],
                judge: restore,
            },
            Concern::Git {
                subcommands: &["switch"],
                judge: |call| {
                    let forces = |word: &Word| {
                        has_short(word, "f", "cC")
                            || is_long(word, "force", 1)
                            || is_long(word, "discard-changes", 2)
                    };
                    Decision::ask_if(call.arguments.iter().any(forces))
                },
            },
            Concern::Git {
                subcommands: &["stash"],
                judge: |call| {
                    let first = call.arguments.first().and_then(Word::known);
                    Decision::ask_if(matches!(first, Some("drop" | "clear")))
                },
            },
            Concern::Git {
                subcommands: &["rm"],
                judge: remove,
            },
            Concern::Git {
                subcommands: &["checkout-index"],
                judge: |call| {
                    let has = |letter: &str, long: &str| {
                        call.arguments
                            .iter()
                            .any(|word| has_short(word, letter, "") || is_long(word, long, 1))
                    };
                    Decision::ask_if(has("f", "force") && has("a", "all"))
                },
            },
            Concern::Git {
                subcommands: &["read-tree"],
                judge: |call| {
                    let is_reset = |word: &Word| is_long(word, "reset", 2);
                    Decision::ask_if(call.arguments.iter().any(is_reset))
                },
            },
            Concern::Git {
                subcommands: &["submodule"],
                judge: |call| {
                    let first = call.arguments.first().and_then(Word::known);
                    let forces =
                        |word: &Word| has_short(word, "f", "") || is_long(word, "force", 1);
                    let is_forced = call.arguments.iter().any(forces);
                    Decision::ask_if(matches!(first, Some("deinit" | "update")) && is_forced)
                },
            },
            Concern::Tools(OTHERS),
            Concern::Git {
                subcommands: &["worktree"],
                judge: |call| {
                    let first = call.arguments.first().and_then(Word::known);
                    let forces =
                        |word: &Word| has_short(word, "f", "") || is_long(word, "force", 1);
                    let is_forced = call.arguments.iter().any(forces);
                    Decision::ask_if(matches!(first, Some("remove")) && is_forced)
                },
            },
        ],
        WholeConcern {
            names: &[&["git", "patch"]],
            signs: &[],
            judge: listed,
        },
    ),
};

/// Likewise, by other programs.
const OTHERS: &[ToolRow] = &[
    asks(&["svn"], "revert").with(&["-R", "--recursive", "--depth=infinity"]),
    asks(&["svn"], "cleanup").with(&["--remove-unversioned", "--remove-ignored"]),
    asks(&["hg"], "update|up|checkout|co").with(&["-C", "--clean"]),
    asks(&["hg"], "revert").with(&["-a", "--all"]),
    asks(&["hg"], "purge|clean"),
    asks(&["hg"], "strip"),
    asks(&["jj"], "abandon all()*|..*|::*"),
    asks(&["jj"], "git push").with(&["--deleted"]),
    asks(&["sl"], "goto|update|checkout").with(&["-C", "--clean"]),
    asks(&["sl"], "revert|purge").with(&["-a", "--all"]),
    asks(&["p4"], "revert *//..."),
];

/// `git diff | git apply -R`, `git ls-files -m | xargs git checkout`: everything that was changed,
/// by a list or a patch of it.
fn listed(script: &Script, sought: Sought<'_>) -> Option<(Decision, Span)> {
    let tells_changes = |other: &SimpleCommand, of: &[&str]| {
        let verb = super::git::plain_call(other);
        verb.is_some_and(|(verb, words)| {
            let is_list = verb != "ls-files" || words.iter().any(|it| has_short(it, "md", ""));
            of.contains(&verb) && is_list && words.iter().all(|word| !word.is("--cached"))
        })
    };
    let found = sought.commands().find(|(at, command)| {
        let (verb, words) = match command.name() {
            Some("patch") => ("patch", command.arguments()),
            _ => match super::git::plain_call(command) {
                Some(call) => call,
                None => return false,
            },
        };
        let lists: &[&str] = match verb {
            "apply" | "patch"
                if words
                    .iter()
                    .any(|it| has_short(it, "R", "") || it.is("--reverse")) =>
            {
                &["diff"]
            }
            "checkout" | "restore" => &["ls-files", "diff", "status"],
            _ => return false,
        };
        let by_xargs = || match command.origin {
            CommandOrigin::StartedBy(by) => {
                let name = script.commands.get(by).and_then(SimpleCommand::name);
                matches!(name, Some("xargs" | "gxargs" | "parallel"))
            }
            CommandOrigin::Written | CommandOrigin::ScriptOf(_) => false,
        };
        let reads = matches!(verb, "apply" | "patch") || by_xargs();
        near(script, *at).iter().any(|other| {
            let fed = reads && feeds(other, command);
            let inside = || words.iter().any(|word| holds(word, other));
            tells_changes(other, lists) && (fed || inside())
        })
    });
    found.map(|(_, command)| (Decision::Ask, command.span))
}

/// Whether a path is the top of the repository, or a directory around this one.
fn is_around(word: &Word) -> bool {
    if let [WordPart::Variable { name, .. }, ..] = &*word.parts {
        return name == "GIT_WORK_TREE" && word.parts.len() == 1;
    }
    let text = word.known().unwrap_or_default();
    let mut names = text.split('/').filter(|name| !name.is_empty());
    !text.is_empty() && !text.starts_with('/') && names.all(|name| name == "..")
}

/// `:!x`, `:^x`, `:(exclude)x` alone: everything but that.
fn only_excludes(words: &[Word]) -> bool {
    let excludes = |word: &Word| {
        let text = word.known_beginning();
        [":!", ":^", ":(exclude"]
            .iter()
            .any(|sign| text.starts_with(sign))
    };
    let names_some = |word: &Word| !excludes(word);
    let end = words
        .iter()
        .position(|word| word.is("--"))
        .map_or(0, |end| end + 1);
    let paths = words.get(end..).unwrap_or_default();
    operands(paths).any(excludes) && (end == 0 || !operands(paths).any(names_some))
}

fn checkout(call: &GitCall<'_>) -> Decision {
    let words = call.arguments.as_ref();
    let end = words.iter().position(|word| word.is("--"));
    let options = words.get(..end.unwrap_or(words.len())).unwrap_or_default();
    let asks_itself = |word: &Word| has_short(word, "p", "bB") || is_long(word, "patch", 2);
    if options.iter().any(asks_itself) {
        return Decision::Allow;
    }
    let forces = |word: &Word| has_short(word, "f", "bB") || is_long(word, "force", 1);
    let names_all = operands(words).any(is_everything)
        || operands(words).any(is_around)
        || only_excludes(words);
    let from_file = |word: &Word| word.known_beginning().starts_with("--pathspec-from-file");
    let paths = end.and_then(|end| words.get(end + 1..)).unwrap_or_default();
    Decision::ask_if(
        options.iter().any(forces)
            || names_all
            || options.iter().any(from_file)
            || paths.iter().any(is_list),
    )
}

/// Whether a list of another command stands there: `git ls-files -m | xargs git checkout --`.
pub(super) fn is_list(word: &Word) -> bool {
    matches!(&*word.parts, [WordPart::Unknown { .. }])
}

fn restore(call: &GitCall<'_>) -> Decision {
    let words = call.arguments.as_ref();
    let has = |letters: &str, long: &str| {
        words
            .iter()
            .any(|word| has_short(word, letters, "s") || is_long(word, long, 2))
    };
    // The index alone loses no work.
    let only_index = has("S", "staged") && !has("W", "worktree");
    let from_file = |word: &Word| word.known_beginning().starts_with("--pathspec-from-file");
    let is_all = operands(words)
        .any(|word| is_everything(word) || is_around(word) || is_list(word))
        || words.iter().any(from_file)
        || only_excludes(words);
    Decision::ask_if(is_all && !only_index && !has("p", "patch"))
}

fn remove(call: &GitCall<'_>) -> Decision {
    let words = call.arguments.as_ref();
    let has = |letters: &str, long: &str| {
        words
            .iter()
            .any(|word| has_short(word, letters, "") || is_long(word, long, 2))
    };
    let keeps = has("n", "dry-run") || words.iter().any(|word| is_long(word, "cached", 2));
    Decision::ask_if(has("r", "recursive") && !keeps && operands(words).any(is_everything))
}
