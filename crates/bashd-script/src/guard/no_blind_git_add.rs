//! `no_blind_git_add`: stages everything, including what nobody meant to commit.

use super::options::{has_short, is_long, last_of, operands};
use super::{Concern, Rule, RuleJudge, paths};
use crate::script::{Word, WordPart};

pub(super) const RULE: Rule = Rule {
    name: "no_blind_git_add",
    denies: "git add of everything: -A, --all, ., *",
    message: "permission denied: blind git add commands (git add -A, git add ., git add --all, git add *) are not allowed, specify files explicitly",
    judge: RuleJudge::Each(&[Concern::Git {
        subcommands: &["add", "stage"],
        offends,
    }]),
};

fn offends(words: &[Word]) -> bool {
    let options_end = words.iter().position(|word| word.is("--"));
    let options = words.get(..options_end.unwrap_or(words.len()));
    let options = options.unwrap_or_default();
    let is_dry = |word: &Word| has_short(word, "n", "") || is_long(word, "dry-run", 1);
    // The last one of an option and its negation counts.
    if last_of(options, is_dry, |word| is_long(word, "no-dry-run", 4)) {
        return false;
    }
    let is_all = |word: &Word| {
        has_short(word, "A", "")
            || is_long(word, "all", 1)
            || is_long(word, "no-ignore-removal", 11)
    };
    let pathspecs: Vec<&Word> = operands(words).collect();
    let only_exclusions = !pathspecs.is_empty() && pathspecs.iter().all(|word| is_exclusion(word));
    options.iter().any(is_all) || pathspecs.into_iter().any(is_everything) || only_exclusions
}

/// Whether a pathspec means the whole directory or the whole repository.
fn is_everything(word: &Word) -> bool {
    if let [WordPart::Variable { name, .. }] = &*word.parts {
        return name == "PWD";
    }
    let Some(text) = word.literal_or_glob() else {
        return false;
    };
    // Quoted or not: git itself matches a `*` that the shell does not.
    let text = text
        .strip_prefix(":(top)")
        .or_else(|| text.strip_prefix(":/"))
        .unwrap_or(&text);
    let mut components = text
        .split('/')
        .filter(|component| !matches!(*component, "" | "."));
    !text.starts_with('/') && components.all(paths::matches_all_names)
}

/// `:!x`, `:^x`, `:(exclude)x`: everything except x, if nothing else is named.
fn is_exclusion(word: &Word) -> bool {
    let text = word.known_beginning();
    [":!", ":^", ":(exclude"]
        .iter()
        .any(|magic| text.starts_with(magic))
}
