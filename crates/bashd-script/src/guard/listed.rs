//! What a pipeline lists for another program: `find / | xargs rm`, `ps aux | xargs kill`.

use super::concern::Sought;
use super::directory::Directories;
use super::options::{has_short, operands};
use super::paths::Path;
use super::pipelines::{feeds, holds, near};
use super::{Decision, trees};
use crate::script::{CommandOrigin, Construct, Script, SimpleCommand, Span, Word};

/// Programs that let only a part of a list through.
const FILTERS: &[&str] = &[
    "grep", "egrep", "fgrep", "rg", "head", "tail", "awk", "gawk", "sed", "cut", "fzf", "sort",
    "uniq", "comm", "jq", "xargs", "tr",
];

/// Programs that remove what they are given.
pub(super) const REMOVERS: &[&str] = &["rm", "grm", "shred", "unlink"];

/// `find / | xargs rm -rf`, `ls | while read f; do rm "$f"; done`
pub(super) fn removed(script: &Script, sought: Sought<'_>) -> Option<(Decision, Span)> {
    let mut worst: Option<(Decision, Span)> = None;
    for (at, command) in sought.commands() {
        if !command.place.reads_pipe || !takes_list(script, command) {
            continue;
        }
        let decision = of_list(near(script, at), command);
        if decision > worst.map_or(Decision::Allow, |(worst, _)| worst) {
            worst = Some((decision, command.span));
        }
    }
    worst
}

/// Whether its words come from a pipe: started by `xargs`, or in a loop that reads.
fn takes_list(script: &Script, command: &SimpleCommand) -> bool {
    let by_xargs = match command.origin {
        CommandOrigin::StartedBy(by) => {
            let name = script.commands.get(by).and_then(SimpleCommand::name);
            matches!(name, Some("xargs" | "gxargs" | "parallel"))
        }
        CommandOrigin::Written | CommandOrigin::ScriptOf(_) => false,
    };
    let in_loop = command.place.inside.contains(Construct::Loop);
    by_xargs || in_loop
}

fn of_list(near: &[SimpleCommand], command: &SimpleCommand) -> Decision {
    let sources = near
        .iter()
        .filter(|other| feeds(other, command) && !other.place.reads_pipe);
    let is_filter = |other: &SimpleCommand| {
        other
            .name()
            .is_some_and(|name| FILTERS.contains(&name) && name != "xargs")
    };
    let mut between = near
        .iter()
        .filter(|other| feeds(other, command) && other.place.reads_pipe);
    let is_filtered = between.any(is_filter);
    let here = Directories::default();
    let decisions = sources.map(|source| {
        let paths = || {
            let words = source.arguments().iter();
            let words = words.take_while(|word| {
                matches!(source.name(), Some("ls" | "echo" | "printf"))
                    || !word.known_beginning().starts_with(['-', '(', '!'])
            });
            words
                .filter(|word| !word.known_beginning().starts_with('-'))
                .map(Path::of)
        };
        let listed = paths().map(|path| trees::of_removal(&path)).max();
        let whole = match source.name() {
            Some("ls" | "echo" | "printf") => {
                listed.unwrap_or_else(|| Decision::ask_if(matches!(source.name(), Some("ls"))))
            }
            Some("find" | "gfind") => {
                let none = listed.is_none();
                let decision = listed.unwrap_or_else(|| {
                    trees::of_removal(&here.resolve(Path::of(&Word::default())))
                });
                let selects = super::no_find_delete::selects(source.arguments());
                let shallow = none || decision == Decision::Ask;
                if selects && shallow {
                    Decision::Allow
                } else {
                    decision
                }
            }
            Some("git") => {
                let lists_all = source
                    .arguments()
                    .first()
                    .is_some_and(|word| word.is("ls-files"))
                    && operands(source.arguments()).count() == 1
                    && source.arguments().iter().skip(1).all(|word| word.is("-z"));
                let has = |letters: &str, long: &str| {
                    let mut words = source.arguments().iter();
                    words.any(|word| has_short(word, letters, "x") || word.is(long))
                };
                // What git does not know, unless it is to ignore it.
                let lists_untracked = source
                    .arguments()
                    .first()
                    .is_some_and(|word| word.is("ls-files"))
                    && has("o", "--others")
                    && !has("i", "--exclude-standard")
                    && !has("i", "--ignored");
                Decision::ask_if(lists_all || lists_untracked)
            }
            Some("rg") if source.arguments().iter().any(|word| word.is("--files")) => {
                listed_by_tool(source, 0)
            }
            Some("fd" | "fdfind") => listed_by_tool(source, 1),
            _ => Decision::Allow,
        };
        if is_filtered && whole == Decision::Ask {
            Decision::Allow
        } else {
            whole
        }
    });
    decisions.max().unwrap_or(Decision::Allow)
}

/// What `rg --files PATH…` or `fd PATTERN PATH…` list, if that is a tree.
fn listed_by_tool(source: &SimpleCommand, before: usize) -> Decision {
    let paths = operands(source.arguments()).skip(before).map(Path::of);
    Decision::deny_if(paths.into_iter().any(|path| trees::is_tree(&path)))
}

/// `kill $(ps -e …)`, `ps aux | awk '{print $2}' | xargs kill`: every process, unless one is looked
/// for.
pub(super) fn killed(script: &Script, sought: Sought<'_>) -> Option<(Decision, Span)> {
    let found = sought.commands().find(|(at, command)| {
        let near = near(script, *at);
        let is_source = |other: &&SimpleCommand| {
            feeds(other, command) || command.arguments().iter().any(|word| holds(word, other))
        };
        let sources: Vec<&SimpleCommand> = near.iter().filter(is_source).collect();
        let lists = sources.iter().any(|source| match source.name() {
            Some("ps") => !source
                .arguments()
                .iter()
                .any(|word| matches!(word.known(), Some("-p" | "-C" | "--ppid" | "--pid"))),
            Some("pgrep") => {
                let mut words = source.arguments().iter();
                let is_any = |word: &Word| matches!(word.known(), Some("." | ".*" | ""));
                let by_user = |word: &Word| matches!(word.known(), Some("-u" | "-U"));
                words.clone().any(is_any)
                    || operands(source.arguments()).count() <= 1 && words.any(by_user)
            }
            _ => false,
        });
        let selects = sources.iter().any(|source| match source.name() {
            Some("grep" | "egrep" | "rg" | "head" | "tail" | "fzf") => true,
            Some("awk" | "gawk" | "sed") => source
                .arguments()
                .iter()
                .filter_map(Word::known)
                .any(|text| text.contains('/') || text.contains("==") || text.contains('~')),
            _ => false,
        });
        lists && !selects
    });
    found.map(|(_, command)| (Decision::Ask, command.span))
}
