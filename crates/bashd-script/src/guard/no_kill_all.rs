//! `no_kill_all`: kills every process of the user.

use super::{Concern, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_kill_all",
    denies: "kill -9 -1, killall5",
    message: "permission denied: this would kill every process of the user. Name the process",
    judge: RuleJudge::Each(&[
        Concern::Programs {
            names: &["kill"],
            offends: |words| targets(words).iter().any(|word| word.is("-1")),
        },
        Concern::Programs {
            names: &["killall5"],
            offends: |_| true,
        },
    ]),
};

/// The words after the signal.
fn targets(words: &[Word]) -> &[Word] {
    let after = match words.first().and_then(Word::known) {
        Some("-s" | "-n" | "--signal") => words.get(2..),
        Some("--") => words.get(1..),
        Some(first) if first.starts_with('-') => words.get(1..),
        _ => return words,
    };
    after.unwrap_or_default()
}
