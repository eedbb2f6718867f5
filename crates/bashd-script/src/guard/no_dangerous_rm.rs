//! `no_dangerous_rm`: deletes the root, a home, a repository, or everything here.

use super::options::{has_short, is_long, operands};
use super::paths::{Path, PathStart, could_match, matches_all_names};
use super::{Concern, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_dangerous_rm",
    denies: "rm -rf of /, a home directory, .git, . or a bare wildcard",
    message: "permission denied: this rm command could delete critical data (.git, home directory, or root). Specify the full path explicitly (no wildcards, ~, or $HOME)",
    judge: RuleJudge::Each(&[Concern::Programs {
        names: &["rm", "grm"],
        offends,
    }]),
};

fn offends(words: &[Word]) -> bool {
    // Also after `--`: a file called `-f` is rarer than a slip.
    let is_recursive = |word: &Word| has_short(word, "rR", "") || is_long(word, "recursive", 1);
    let is_forced = |word: &Word| has_short(word, "f", "") || is_long(word, "force", 1);
    words.iter().any(is_recursive)
        && words.iter().any(is_forced)
        && operands(words).any(|word| is_critical(&Path::of(word)))
}

fn is_critical(path: &Path) -> bool {
    let names = &path.components;
    let is_git = |name: &String| could_match(name, ".git");
    if names.iter().any(is_git) {
        return true;
    }
    let hidden_wildcard = |name: &String| name.starts_with('.') && matches_all_names(name);
    if names.last().is_some_and(hidden_wildcard) {
        return true;
    }
    let goes_nowhere = |name: &String| name == ".." || matches_all_names(name);
    match path.start {
        PathStart::Home => true,
        PathStart::Root | PathStart::Here => names.iter().all(goes_nowhere),
        PathStart::Unknown => false,
    }
}
