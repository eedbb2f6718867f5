//! `no_fork_bomb`: a function or script that starts itself twice, in the background.

use super::code_parts::{CodeParts, code_has};
use super::concern::{Sign, Sought, WholeConcern};
use super::pipelines::{INTERPRETERS, SHELLS, is_interpreter};
use super::{Decision, Rule, RuleJudge};
use crate::script::{CommandOrigin, Construct, Script, SimpleCommand, Span, WordPart};

pub(super) const RULE: Rule = Rule {
    name: "no_fork_bomb",
    denies: "a function that starts itself twice in the background: :(){ :|:& };:; asks about endless loops that only start processes",
    message: "this is a fork bomb: it starts processes until the machine stops",
    instead: "Start a fixed number of processes, and wait for them",
    example: ":(){ :|:& };:",
    judge: RuleJudge::Whole(WholeConcern {
        names: &[&SHELLS, &INTERPRETERS, &["python3.*", "source"], &ENDLESS],
        signs: &[Sign::Function, Sign::HiddenName],
        judge,
    }),
};

fn judge(script: &Script, sought: Sought<'_>) -> Option<(Decision, Span)> {
    let span = by_function(script)
        .or_else(|| by_own_name(sought))
        .or_else(|| by_code(sought));
    let endless = || by_loop(script, sought).map(|span| (Decision::Ask, span));
    span.map(|span| (Decision::Deny, span)).or_else(endless)
}

/// Conditions that never end a `while`.
const ENDLESS: [&str; 2] = ["true", ":"];

/// `while :; do x & done`: a loop that waits for nothing.
fn by_loop(script: &Script, sought: Sought<'_>) -> Option<Span> {
    sought.commands().find_map(|(at, condition)| {
        let is_inside = |command: &SimpleCommand| {
            let inside = command.place.inside;
            inside.contains(Construct::Loop) && !inside.contains(Construct::Function)
        };
        // In a loop that is in the background itself, everything is, also what it waits for.
        let is_apart = condition.place.background;
        if is_apart || !is_inside(condition) || !ENDLESS.contains(&condition.name()?) {
            return None;
        }
        let body = script.commands.get(at + 1..)?.iter();
        // What a command in the background runs is there as well.
        let is_own = |it: &&SimpleCommand| it.origin == CommandOrigin::Written;
        let mut body = body
            .take_while(|it| is_inside(it))
            .filter(is_own)
            .take(MOST_STARTED)
            .peekable();
        let first = body.peek()?.span;
        body.all(|command| command.place.background)
            .then_some(first)
    })
}

/// Most commands of a loop that are looked at.
const MOST_STARTED: usize = 16;

/// Most functions that are looked at: each is compared with every command.
const MOST_FUNCTIONS: usize = 64;

fn by_function(script: &Script) -> Option<Span> {
    script
        .functions
        .iter()
        .take(MOST_FUNCTIONS)
        .find_map(|function| {
            let calls = script.commands.iter().filter(|command| {
                let name = command.words.first().and_then(|word| word.known());
                name == Some(function.as_str())
            });
            let is_inside =
                |command: &&SimpleCommand| command.place.inside.contains(Construct::Function);
            let (inside, outside): (Vec<&SimpleCommand>, Vec<&SimpleCommand>) =
                calls.partition(is_inside);
            let multiplies =
                inside.len() > 1 && inside.iter().any(|command| command.place.background);
            let first = inside.first()?;
            (multiplies && !outside.is_empty()).then_some(first.span)
        })
}

/// `$0 & $0 &`
fn by_own_name(sought: Sought<'_>) -> Option<Span> {
    let is_own = |command: &&SimpleCommand| {
        let mut words = command.words.iter().take(2);
        words.any(|word| matches!(&*word.parts, [WordPart::Variable { name, .. }] if matches!(name.as_str(), "0" | "BASH_SOURCE")))
    };
    let commands = sought.commands().map(|(_, command)| command);
    let own: Vec<&SimpleCommand> = commands.filter(is_own).collect();
    let multiplies = own.len() > 1 && own.iter().any(|command| command.place.background);
    own.first()
        .filter(|_| multiplies)
        .map(|command| command.span)
}

/// `perl -e 'fork while fork'`
fn by_code(sought: Sought<'_>) -> Option<Span> {
    let forks = |command: &&SimpleCommand| {
        command.name().is_some_and(is_interpreter)
            && (code_has(
                command,
                const {
                    &CodeParts::new(&[
                        "fork while",
                        "while(1){fork",
                        "loop{fork",
                        "loop { fork",
                        "fork() while",
                    ])
                },
            ) || code_has(
                command,
                const { &CodeParts::new(&["os.fork()", "fork()", "fork;"]) },
            ) && code_has(
                command,
                const { &CodeParts::new(&["while", "loop", "for(;;)"]) },
            ) && code_has(
                command,
                const {
                    &CodeParts::new(&[
                        "while True",
                        "while 1",
                        "while(1)",
                        "while True:",
                        "loop",
                        "for(;;)",
                    ])
                },
            ))
    };
    let mut commands = sought.commands().map(|(_, command)| command);
    commands.find(forks).map(|command| command.span)
}
