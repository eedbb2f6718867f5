//! `no_git_reset_hard`: work that is not committed is gone.

use super::options::is_long;
use super::{Concern, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_git_reset_hard",
    denies: "git reset --hard",
    message: "permission denied: git reset --hard discards uncommitted work. Use git stash, or git reset --keep",
    judge: RuleJudge::Each(&[Concern::Git {
        subcommands: &["reset"],
        offends,
    }]),
};

fn offends(words: &[Word]) -> bool {
    let mut options = words.iter().take_while(|word| !word.is("--"));
    options.any(|word| is_long(word, "hard", 1))
}
