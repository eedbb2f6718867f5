//! `no_git_clean`: deletes untracked files, with directories or ignored ones.

use super::options::{has_short, is_long, last_of};
use super::{Concern, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_git_clean",
    denies: "git clean -f with -d, -x or -X",
    message: "permission denied: git clean -fdx permanently deletes untracked files. Preview with git clean -n, then remove files by name",
    judge: RuleJudge::Each(&[Concern::Git {
        subcommands: &["clean"],
        offends,
    }]),
};

fn offends(words: &[Word]) -> bool {
    let end = words.iter().position(|word| word.is("--"));
    let options = words.get(..end.unwrap_or(words.len())).unwrap_or_default();
    let has = |letters: &str| options.iter().any(|word| has_short(word, letters, "e"));
    // The last one of an option and its negation counts.
    let is_on = |letter: &str, long: &str, off: &str| {
        let on = |word: &Word| has_short(word, letter, "e") || is_long(word, long, 1);
        last_of(options, on, |word| is_long(word, off, 4))
    };
    let is_dry = is_on("n", "dry-run", "no-dry-run");
    let is_forced = is_on("f", "force", "no-force");
    is_forced && !is_dry && has("dxX")
}
