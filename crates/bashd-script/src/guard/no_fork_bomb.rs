//! `no_fork_bomb`: a function that starts itself twice, in the background.

use super::{Judge, Rule};
use crate::script::{Command, Construct, Script, Span};

pub(super) const RULE: Rule = Rule {
    name: "no_fork_bomb",
    denies: "a function that starts itself twice in the background: :(){ :|:& };:",
    message: "permission denied: this is a fork bomb",
    judge: Judge::Whole(judge),
};

fn judge(script: &Script) -> Option<Span> {
    script.functions.iter().find_map(|function| {
        let calls = script.commands.iter().filter(|command| {
            let name = command.words.first().and_then(|word| word.known());
            name == Some(function.as_str())
        });
        let is_inside = |command: &&Command| command.place.inside.contains(Construct::Function);
        let (inside, outside): (Vec<&Command>, Vec<&Command>) = calls.partition(is_inside);
        let multiplies = inside.len() > 1 && inside.iter().any(|command| command.place.background);
        let first = inside.first()?;
        (multiplies && !outside.is_empty()).then_some(first.span)
    })
}
