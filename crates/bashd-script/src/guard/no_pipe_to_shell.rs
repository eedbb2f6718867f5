//! `no_pipe_to_shell`: runs what the network sends, unread.

use super::{Rule, RuleJudge};
use crate::script::{Construct, Script, SimpleCommand, Span, Word, WordPart};

pub(super) const RULE: Rule = Rule {
    name: "no_pipe_to_shell",
    denies: "curl or wget into a shell: curl … | sh, bash <(curl …), sh -c \"$(curl …)\"",
    message: "permission denied: running a download directly is not allowed. Save it to a file, read it, then run it",
    judge: RuleJudge::Whole(judge),
};

const FETCHING: [&str; 6] = ["curl", "wget", "fetch", "aria2c", "http", "https"];
const SHELLS: [&str; 7] = ["bash", "sh", "zsh", "dash", "ksh", "ash", "mksh"];
const INTERPRETERS: [&str; 6] = ["python", "python3", "perl", "ruby", "node", "php"];

fn judge(script: &Script) -> Option<Span> {
    let fetches =
        |command: &&SimpleCommand| command.name().is_some_and(|name| FETCHING.contains(&name));
    let fetching: Vec<&SimpleCommand> = script.commands.iter().filter(fetches).collect();
    if fetching.is_empty() {
        return None;
    }
    let mut commands = script.commands.iter();
    let runs = commands.find(|command| {
        fetching
            .iter()
            .any(|fetch| is_piped(fetch, command) || is_substituted(fetch, command))
    });
    runs.map(|command| command.span)
}

/// `curl … | sh`
fn is_piped(fetch: &SimpleCommand, runner: &SimpleCommand) -> bool {
    runner.place.reads_pipe
        && runner.place.outermost_pipeline == fetch.place.outermost_pipeline
        && fetch.span.start < runner.span.start
        && runs_input(runner)
}

fn runs_input(runner: &SimpleCommand) -> bool {
    let Some(name) = runner.name() else {
        return false;
    };
    let words = runner.arguments();
    let takes_input = |word: &Word| matches!(word.known(), Some("-" | "-s" | "/dev/stdin"));
    let is_operand = |word: &&Word| !word.known_beginning().starts_with('-');
    let reads = words.iter().any(takes_input) || !words.iter().any(|word| is_operand(&word));
    let has_code = words
        .iter()
        .any(|word| matches!(word.known(), Some("-c" | "-e" | "-m")));
    (SHELLS.contains(&name) || INTERPRETERS.contains(&name)) && reads && !has_code
        || matches!(name, "source" | ".") && words.iter().any(takes_input)
}

/// `bash <(curl …)`, `sh -c "$(curl …)"`, `eval "$(curl …)"`
fn is_substituted(fetch: &SimpleCommand, runner: &SimpleCommand) -> bool {
    let is_runner = |name: &str| SHELLS.contains(&name) || matches!(name, "eval" | "source" | ".");
    let holds = |word: &Word| {
        let is_unknown = |part: &WordPart| matches!(part, WordPart::Unknown { .. });
        word.parts.iter().any(is_unknown)
            && word.span.start <= fetch.span.start
            && fetch.span.end <= word.span.end
    };
    runner.name().is_some_and(is_runner)
        && fetch.place.inside.contains(Construct::Substitution)
        && runner.arguments().iter().any(holds)
}
