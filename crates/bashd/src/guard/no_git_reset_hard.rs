//! `no_git_reset_hard`: discards uncommitted work.

use super::options::is_long;
use super::{Judge, Rule, git};
use crate::script::Command;

pub(super) const RULE: Rule = Rule {
    name: "no_git_reset_hard",
    denies: "git reset --hard",
    message: "permission denied: git reset --hard discards uncommitted work. Use git stash, or git reset --keep",
    judge: Judge::Each {
        names: &["git"],
        offends,
    },
};

fn offends(command: &Command) -> bool {
    let is_hard = |call: git::GitCall<'_>| {
        let options = call.arguments.iter().take_while(|word| !word.is("--"));
        call.subcommand == "reset" && options.into_iter().any(|word| is_long(word, "hard", 1))
    };
    git::call(command).is_some_and(is_hard)
}
