//! `no_blind_git_add`: stages everything, including what nobody meant to commit.

use super::git::GitCall;
use super::options::{has_short, is_long, last_of, operands};
use super::{Concern, Decision, Rule, RuleJudge, paths};
use crate::script::{Word, WordPart};

pub(super) const RULE: Rule = Rule {
    name: "no_blind_git_add",
    denies: "git add of everything: -A, --all, ., *",
    message: "permission denied: blind git add commands (git add -A, git add ., git add --all, git add *) are not allowed, specify files explicitly",
    instead: "",
    example: "git add -A",
    judge: RuleJudge::Each(&[Concern::Git {
        subcommands: &["add", "stage"],
        judge,
    }]),
};

fn judge(call: &GitCall<'_>) -> Decision {
    let words = call.arguments.as_ref();
    let options_end = words.iter().position(|word| word.is("--"));
    let options = words.get(..options_end.unwrap_or(words.len()));
    let options = options.unwrap_or_default();
    // The last one of an option and its negation counts.
    let is_dry = last_of(options, is_dry, |word| is_long(word, "no-dry-run", 4));
    if is_dry {
        return Decision::Allow;
    }
    let all = last_of(options, is_all, |word| {
        is_long(word, "no-all", 4) || is_long(word, "ignore-removal", 8)
    });
    let from_file = |word: &Word| {
        let text = word.known_beginning();
        text.len() > "--pathspec-f".len() && "--pathspec-from-file".starts_with(text)
            || text.starts_with("--pathspec-from-file=")
    };
    let pathspecs: Vec<&Word> = operands(words).collect();
    let only_exclusions = !pathspecs.is_empty() && pathspecs.iter().all(|word| is_exclusion(word));
    let reads_list = options.iter().any(from_file);
    Decision::deny_if(
        all || reads_list || pathspecs.into_iter().any(is_everything) || only_exclusions,
    )
}

fn is_dry(word: &Word) -> bool {
    has_short(word, "n", "") || is_long(word, "dry-run", 1)
}

fn is_all(word: &Word) -> bool {
    has_short(word, "A", "") || is_long(word, "all", 1) || is_long(word, "no-ignore-removal", 11)
}

/// Whether a pathspec means the whole directory or the whole repository.
pub(super) fn is_everything(word: &Word) -> bool {
    if let [WordPart::Variable { name, .. }] = &*word.parts {
        return name == "PWD";
    }
    let Some(text) = word.literal_or_glob() else {
        return false;
    };
    // Quoted or not: git itself matches a `*` that the shell does not.
    let text = without_magic(&text);
    if text.starts_with('/') {
        return false;
    }
    let mut components: Vec<&str> = Vec::new();
    for component in text.split('/') {
        match component {
            "" | "." => {}
            // `sub/..` is where it began.
            ".." if components.last().is_some_and(|last| *last != "..") => {
                components.pop();
            }
            name => components.push(name),
        }
    }
    components.into_iter().all(paths::matches_all_names)
}

/// A pathspec without what comes before its path: `:/`, `:`, `:(top,glob)`.
fn without_magic(text: &str) -> &str {
    let Some(rest) = text.strip_prefix(':') else {
        return text;
    };
    match rest.strip_prefix('(') {
        Some(magic) => match magic.split_once(')') {
            // What it leaves out, or which attribute it wants, is no longer everything.
            Some((words, _)) if words.contains("exclude") || words.contains("attr") => text,
            Some((_, path)) => path,
            None => text,
        },
        None if rest.starts_with(['!', '^']) => text,
        None => rest.trim_start_matches(['/', ':']),
    }
}

/// `:!x`, `:^x`, `:(exclude)x`: everything except x, if nothing else is named.
fn is_exclusion(word: &Word) -> bool {
    let text = word.known_beginning();
    [":!", ":^", ":(exclude"]
        .iter()
        .any(|magic| text.starts_with(magic))
}
