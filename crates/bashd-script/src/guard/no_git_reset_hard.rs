//! `no_git_reset_hard`: work that is not committed is gone.

use super::git::GitCall;
use super::options::is_long;
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_git_reset_hard",
    denies: "asks about git reset --hard",
    message: "git reset --hard discards work that is not committed",
    instead: "Use git stash first, or git reset --keep",
    example: "git reset --hard HEAD~1",
    judge: RuleJudge::Each(&[Concern::Git {
        subcommands: &["reset"],
        judge,
    }]),
};

fn judge(call: &GitCall<'_>) -> Decision {
    let options = call.arguments.iter().take_while(|word| !word.is("--"));
    let is_mode = |word: &&Word| {
        let modes = [
            ("soft", 1),
            ("mixed", 2),
            ("merge", 2),
            ("keep", 1),
            ("hard", 1),
            ("no-hard", 4),
        ];
        modes
            .iter()
            .any(|(name, least)| is_long(word, name, *least))
    };
    // The last mode counts.
    Decision::ask_if(
        options
            .filter(is_mode)
            .last()
            .is_some_and(|word| is_long(word, "hard", 1)),
    )
}
