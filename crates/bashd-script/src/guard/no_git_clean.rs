//! `no_git_clean`: deletes untracked files, with directories or ignored ones.

use super::options::{has_short, is_long};
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
    let options: Vec<&Word> = words.iter().take_while(|word| !word.is("--")).collect();
    let has = |letters: &str| options.iter().any(|word| has_short(word, letters, "e"));
    let long = |name: &str| options.iter().any(|word| is_long(word, name, 1));
    let is_dry = has("n") || long("dry-run");
    let is_forced = has("f") || long("force");
    is_forced && !is_dry && has("dxX")
}
