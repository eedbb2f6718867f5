//! `no_fork_bomb`: a function that starts itself twice, in the background.

use super::{Rule, RuleJudge};
use crate::script::{Construct, Script, SimpleCommand, Span};

pub(super) const RULE: Rule = Rule {
    name: "no_fork_bomb",
    denies: "a function that starts itself twice in the background: :(){ :|:& };:",
    message: "permission denied: this is a fork bomb",
    judge: RuleJudge::Whole(judge),
};

fn judge(script: &Script) -> Option<Span> {
    script.functions.iter().find_map(|function| {
        let calls = script.commands.iter().filter(|command| {
            let name = command.words.first().and_then(|word| word.known());
            name == Some(function.as_str())
        });
        let is_inside =
            |command: &&SimpleCommand| command.place.inside.contains(Construct::Function);
        let (inside, outside): (Vec<&SimpleCommand>, Vec<&SimpleCommand>) =
            calls.partition(is_inside);
        let multiplies = inside.len() > 1 && inside.iter().any(|command| command.place.background);
        let first = inside.first()?;
        (multiplies && !outside.is_empty()).then_some(first.span)
    })
}
