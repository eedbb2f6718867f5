//! `no_git_history_loss`: rewrites or deletes history, or the last way back to it.

use super::git::GitCall;
use super::no_git_discard::is_list;
use super::options::{has_short, is_long, operands};
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_git_history_loss",
    denies: "asks about git filter-branch, filter-repo, reflog expire, gc --prune=now, update-ref -d, branch -D main",
    message: "this rewrites or deletes history, or the last way back to it",
    instead: "Make a branch or a clone first: git branch backup, git clone --mirror . ../backup",
    example: "git reflog expire --expire=now --all",
    judge: RuleJudge::Each(&[
        Concern::Git {
            subcommands: &["filter-branch", "filter-repo"],
            judge: |call| {
                let only_looks =
                    |word: &Word| word.is("--analyze") || word.is("--dry-run") || word.is("--help");
                Decision::ask_if(!call.arguments.iter().any(only_looks))
            },
        },
        Concern::Git {
            subcommands: &["reflog"],
            judge: |call| {
                let first = call.arguments.first().and_then(Word::known);
                let is_dry = call
                    .arguments
                    .iter()
                    .any(|word| has_short(word, "n", "") || word.is("--dry-run"));
                Decision::ask_if(matches!(first, Some("expire" | "delete")) && !is_dry)
            },
        },
        Concern::Git {
            subcommands: &["gc"],
            judge: |call| {
                let now = |word: &Word| matches!(word.known(), Some("--prune=now" | "--prune=all"));
                let by_setting = call.settings.iter().any(|(key, value)| {
                    let is_key = key.eq_ignore_ascii_case("gc.pruneexpire");
                    is_key && matches!(value.as_str(), "now" | "all")
                });
                Decision::ask_if(call.arguments.iter().any(now) || by_setting)
            },
        },
        Concern::Git {
            subcommands: &["prune"],
            judge: |call| {
                let is_dry = |word: &Word| has_short(word, "n", "") || is_long(word, "dry-run", 1);
                Decision::ask_if(!call.arguments.iter().any(is_dry))
            },
        },
        Concern::Git {
            subcommands: &["lfs"],
            judge: |call| {
                let has = |text: &str| call.arguments.iter().any(|word| word.is(text));
                // Without a look at whether the server has them.
                Decision::ask_if(
                    has("prune")
                        && (has("--force") || has("-f"))
                        && !has("--dry-run")
                        && !has("--verify-remote"),
                )
            },
        },
        Concern::Git {
            subcommands: &["update-ref"],
            judge: |call| {
                let deletes = |word: &Word| has_short(word, "d", "m") || is_long(word, "stdin", 2);
                Decision::ask_if(call.arguments.iter().any(deletes))
            },
        },
        Concern::Git {
            subcommands: &["branch"],
            judge: branch,
        },
        Concern::Git {
            subcommands: &["tag"],
            judge: |call| {
                let deletes = call
                    .arguments
                    .iter()
                    .any(|word| has_short(word, "d", "mFu"));
                let many = operands(&call.arguments).any(|word| word.known().is_none());
                Decision::ask_if(deletes && many)
            },
        },
        Concern::Git {
            subcommands: &["replace"],
            judge: |call| {
                let edits = |word: &Word| word.is("--edit") || word.is("--graft");
                Decision::ask_if(call.arguments.iter().any(edits))
            },
        },
        Concern::Git {
            subcommands: &["lfs"],
            judge: |call| {
                let mut verbs = operands(&call.arguments).filter_map(Word::known);
                let is_migration = verbs.next() == Some("migrate");
                Decision::ask_if(is_migration && matches!(verbs.next(), Some("import" | "export")))
            },
        },
        Concern::Programs {
            names: &["bfg", "git-filter-repo"],
            judge: |call| Decision::ask_if(!call.words.is_empty()),
        },
    ]),
};

/// Branches that others build on.
const SHARED: &[&str] = &[
    "main",
    "master",
    "develop",
    "trunk",
    "production",
    "release",
    "prod",
];

fn branch(call: &GitCall<'_>) -> Decision {
    let words = call.arguments.as_ref();
    let forces = |word: &Word| {
        has_short(word, "DMC", "u") || has_short(word, "f", "u") || is_long(word, "force", 3)
    };
    let deletes = |word: &Word| has_short(word, "dD", "u") || is_long(word, "delete", 3);
    let is_forced = words.iter().any(forces);
    let is_deleted = words.iter().any(deletes);
    let first = operands(words).next();
    let is_shared = |word: &Word| word.known().is_some_and(|name| SHARED.contains(&name));
    // Of `-f main HEAD~5` the first is moved, and what it pointed at has no name any more.
    let shared = if is_deleted {
        operands(words).any(is_shared)
    } else {
        first.is_some_and(is_shared)
    };
    // `git branch | xargs git branch -D`
    let many = is_deleted && operands(words).any(is_list);
    Decision::ask_if(is_forced && (shared || many))
}
