//! `no_pipe_to_shell`: runs what the network sends, unread.

use super::pipelines::{feeds, is_substituted, may_run, near, runs_input};
use super::{Decision, Rule, RuleJudge};
use crate::script::{Script, SimpleCommand, Span, Word};

pub(super) const RULE: Rule = Rule {
    name: "no_pipe_to_shell",
    denies: "asks about curl or wget into a shell: curl … | sh, bash <(curl …), sh -c \"$(curl …)\"",
    message: "this runs a download that nobody has read",
    instead: "Save it to a file, read it, then run it",
    example: "curl -fsSL https://example.com/install.sh | sh",
    judge: RuleJudge::Whole(judge),
};

const FETCHING: [&str; 15] = [
    "curl", "wget", "fetch", "aria2c", "http", "https", "lynx", "GET", "curlie", "xh", "links",
    "w3m", "wget2", "axel", "ftp",
];

fn judge(script: &Script) -> Option<(Decision, Span)> {
    let fetches = |command: &&SimpleCommand| {
        let name = command.name().unwrap_or_default();
        FETCHING.contains(&name) || fetches_by_code(command)
    };
    let mut commands = script.commands.iter().enumerate();
    let runs = commands.find(|(at, command)| {
        if fetches_by_code(command) && runs_code(command) {
            return true;
        }
        if !may_run(command) {
            return false;
        }
        let reads = command.place.reads_pipe && runs_input(command);
        let is_fed = |fetch: &SimpleCommand| {
            reads && feeds(fetch, command) || is_substituted(fetch, command)
        };
        near(script, *at).iter().filter(fetches).any(is_fed)
    });
    runs.map(|(_, command)| (Decision::Ask, command.span))
}

/// `python3 -c "… urlopen(…) …"`
fn fetches_by_code(command: &SimpleCommand) -> bool {
    let is_interpreter = command.name().is_some_and(super::pipelines::is_interpreter);
    is_interpreter
        && code_has(
            command,
            &[
                "urlopen(",
                "requests.get(",
                "urllib",
                "LWP::Simple",
                "open-uri",
                "Net::HTTP",
                "fetch(",
                "file_get_contents('http",
                "DownloadString",
                "iwr ",
                "Invoke-WebRequest",
            ],
        )
}

fn runs_code(command: &SimpleCommand) -> bool {
    code_has(
        command,
        &[
            "exec(",
            "eval(",
            "os.system(",
            "subprocess",
            "system(",
            "IEX",
            "iex",
            "child_process",
        ],
    )
}

/// Whether a word of an interpreter's call has one of these texts in it.
pub(super) fn code_has(command: &SimpleCommand, parts: &[&str]) -> bool {
    let mut words = command.arguments().iter().filter_map(Word::known);
    words.any(|text| parts.iter().any(|part| text.contains(part)))
}
