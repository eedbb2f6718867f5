//! `no_kill_all`: kills every process of the user.

use super::{Judge, Rule};
use crate::script::{Command, Word};

pub(super) const RULE: Rule = Rule {
    name: "no_kill_all",
    denies: "kill -9 -1, killall5",
    message: "permission denied: this would kill every process of the user. Name the process",
    judge: Judge::Each {
        names: &["kill"],
        offends,
    },
};

fn offends(command: &Command) -> bool {
    match command.name() {
        Some("killall5") => true,
        Some("kill") => targets(command.arguments())
            .iter()
            .any(|word| word.is("-1")),
        _ => false,
    }
}

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
