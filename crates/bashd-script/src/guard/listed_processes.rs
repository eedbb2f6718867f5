//! Processes that something lists for `kill`: `kill $(ps -e …)`, `ps aux | awk '{print $2}' | xargs
//! kill`, a loop over `/proc`.

use super::Decision;
use super::concern::Sought;
use super::options::operands;
use super::pipelines::{feeds, holds, near};
use crate::script::{Assigned, Construct, Joint, Script, SimpleCommand, Span, Word, WordPart};

/// Numbers up to here are no list of every process.
const MOST_COUNTED: u32 = 1000;

/// Every process, unless one is looked for.
pub(super) fn killed(script: &Script, sought: Sought<'_>) -> Option<(Decision, Span)> {
    let found = sought.commands().find(|(at, command)| {
        let near = near(script, *at);
        let each = looped_words(near, command);
        let is_source = |other: &&SimpleCommand| {
            let mut words = command.arguments().iter().chain(each);
            feeds(other, command) || words.any(|word| holds(word, other))
        };
        let sources: Vec<&SimpleCommand> = near.iter().filter(is_source).collect();
        let by_pattern = || each.iter().any(is_every_process) && !is_chosen(command);
        let lists = sources.iter().any(|source| lists_all(source));
        lists && !sources.iter().any(|source| selects(source)) || by_pattern()
    });
    found.map(|(_, command)| (Decision::Ask, command.span))
}

/// The words of the loop whose variable is in the words of the command.
fn looped_words<'a>(near: &'a [SimpleCommand], command: &SimpleCommand) -> &'a [Word] {
    if !command.place.inside.contains(Construct::Loop) {
        return &[];
    }
    let asks_only = |word: &Word| word.is("-0");
    if command.arguments().iter().any(asks_only) {
        return &[];
    }
    let is_in = |word: &Word, variable: &str| {
        let mut parts = word.parts.iter();
        parts.any(|part| match part {
            WordPart::Variable { name, .. } => name == variable,
            WordPart::Unknown { .. } => true,
            _ => false,
        })
    };
    let mut earlier = near
        .iter()
        .rev()
        .filter(|it| it.span.end <= command.span.start);
    let words = earlier.find_map(|other| {
        other.assignments.iter().find_map(|it| match &it.value {
            Assigned::EachOf(words) => Some((it.name.as_str(), words.as_slice())),
            _ => None,
        })
    });
    let is_used = |name: &str| command.arguments().iter().any(|word| is_in(word, name));
    let words = words.filter(|(name, _)| is_used(name));
    words.map(|(_, words)| words).unwrap_or_default()
}

/// `/proc/[0-9]*`, `/proc/*`
fn is_every_process(word: &Word) -> bool {
    let text = word.literal_or_glob().unwrap_or_default();
    let name = text.strip_prefix("/proc/").filter(|_| word.has_glob());
    let name = name.map(|name| name.split('/').next().unwrap_or_default());
    name.is_some_and(|name| !name.contains(|c: char| c.is_ascii_alphabetic()))
}

/// Whether something was asked about the process before.
fn is_chosen(command: &SimpleCommand) -> bool {
    matches!(command.place.joint, Joint::And | Joint::Or)
        || command.place.inside.contains(Construct::Condition)
}

fn lists_all(source: &SimpleCommand) -> bool {
    let words = source.arguments();
    match source.name() {
        Some("ps") => !words
            .iter()
            .any(|word| matches!(word.known(), Some("-p" | "-C" | "--ppid" | "--pid"))),
        Some("pgrep") => {
            let is_any = |word: &Word| matches!(word.known(), Some("." | ".*" | ""));
            let by_user = |word: &Word| matches!(word.known(), Some("-u" | "-U"));
            words.iter().any(is_any) || operands(words).count() <= 1 && words.iter().any(by_user)
        }
        Some("ls" | "find" | "gfind" | "echo" | "printf") => words
            .iter()
            .any(|word| matches!(word.known(), Some("/proc" | "/proc/")) || is_every_process(word)),
        Some("seq") => {
            let last = words.last().and_then(Word::known);
            let last = last.and_then(|text| text.parse::<u32>().ok());
            words.len() > 1 && last.is_some_and(|last| last > MOST_COUNTED)
        }
        _ => false,
    }
}

/// Whether a program lets only some of a list through.
fn selects(source: &SimpleCommand) -> bool {
    let mut texts = source.arguments().iter().filter_map(Word::known);
    match source.name() {
        // Whatever has a digit is every process.
        Some("grep" | "egrep" | "rg") => {
            let digits = |text: &str| {
                let text = text.replace("[0-9]", "").replace("[[:digit:]]", "");
                text.replace("\\d", "").chars().all(|c| "^$+*".contains(c))
            };
            !texts.any(|text| !text.starts_with('-') && digits(text))
        }
        Some("head" | "tail" | "fzf") => true,
        Some("awk" | "gawk" | "sed") => {
            texts.any(|text| text.contains('/') || text.contains("==") || text.contains('~'))
        }
        _ => false,
    }
}
