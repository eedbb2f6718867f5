//! What a pipeline lists for another program: `find / | xargs rm`, `ps aux | xargs kill`.

use super::concern::Sought;
use super::directory::Directories;
use super::options::{has_short, operands};
use super::paths::Path;
use super::pipelines::{feeds, near};
use super::{Decision, trees};
use crate::script::{CommandOrigin, Construct, Script, SimpleCommand, Span, Word};

/// Programs that let only a part of a list through.
const FILTERS: &[&str] = &[
    "grep", "egrep", "fgrep", "rg", "head", "tail", "awk", "gawk", "sed", "cut", "fzf", "sort",
    "uniq", "comm", "jq", "xargs", "tr",
];

/// Programs that remove what they are given.
pub(super) const REMOVERS: &[&str] = &["rm", "grm", "shred", "unlink", "truncate", "perl"];

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
    if command.name() == Some("perl") {
        // `perl -nle unlink`
        let by_lines = |word: &Word| has_short(word, "n", "EIMmxCdDFSTW");
        let removes = |word: &Word| word.known().is_some_and(|text| text.starts_with("unlink"));
        let words = command.arguments();
        return words.iter().any(by_lines) && words.iter().any(removes);
    }
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
    let between = || {
        near.iter()
            .filter(|other| feeds(other, command) && other.place.reads_pipe)
    };
    let is_filtered = between().any(is_filter);
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
            // What is picked from a line of `git status` are the names of all that was changed.
            Some("git") if lists_changes(source) && !between().any(is_chooser) => {
                return Decision::Ask;
            }
            Some("git") => Decision::ask_if(lists_files(source)),
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

/// Whether a program lets only lines through that are looked for.
fn is_chooser(command: &SimpleCommand) -> bool {
    let has_pattern = |word: &Word| word.known_beginning().contains('/');
    match command.name() {
        Some("grep" | "egrep" | "fgrep" | "rg" | "head" | "tail" | "fzf" | "sed") => true,
        Some("awk" | "gawk") => command.arguments().iter().any(has_pattern),
        _ => false,
    }
}

/// `git status --porcelain`
fn lists_changes(source: &SimpleCommand) -> bool {
    source
        .arguments()
        .first()
        .is_some_and(|word| word.is("status"))
}

/// `git ls-files`, `git ls-files -o`: everything that git knows, or does not know and is not to
/// ignore.
fn lists_files(source: &SimpleCommand) -> bool {
    let words = source.arguments();
    if !words.first().is_some_and(|word| word.is("ls-files")) {
        return false;
    }
    let lists_all = operands(words).count() == 1 && words.iter().skip(1).all(|word| word.is("-z"));
    let has = |letters: &str, long: &str| {
        words
            .iter()
            .any(|word| has_short(word, letters, "x") || word.is(long))
    };
    let is_chosen = has("i", "--exclude-standard") || has("i", "--ignored");
    lists_all || has("o", "--others") && !is_chosen
}

/// What `rg --files PATH…` or `fd PATTERN PATH…` list, if that is a tree.
fn listed_by_tool(source: &SimpleCommand, before: usize) -> Decision {
    let paths = operands(source.arguments()).skip(before).map(Path::of);
    Decision::deny_if(paths.into_iter().any(|path| trees::is_tree(&path)))
}
