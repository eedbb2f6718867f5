//! git: hints that everybody knows, references that moved, files of a status.

use super::super::lossless::VisibleChanges;
use super::super::sheet::Sheet;
use super::{Filter, FilterInput, after_any, git_diff, git_log};
use crate::invocation::Invocation;

pub(super) struct Git;

/// Subcommands that print patches, whose lines must stay exact.
const PATCHES: &[&str] = &[
    "diff",
    "show",
    "stash",
    "format-patch",
    "apply",
    "am",
    "blame",
    "annotate",
];

/// Options that make others print them.
const PATCH_OPTIONS: &[&str] = &["-p", "--patch", "-u", "-L", "--cc", "-c", "--word-diff"];

impl Filter for Git {
    fn name(&self) -> &'static str {
        "git"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["git", "yadm", "diff", "colordiff"]
    }

    fn finish(&self, commands: &[Invocation]) -> VisibleChanges {
        let exact = commands.iter().any(|command| {
            let shows_patch = command.program != "git" || PATCHES.contains(&command.subcommand());
            let is_summary = command
                .arguments
                .iter()
                .any(|argument| argument.contains("stat") || argument.starts_with("--name"));
            shows_patch && !is_summary || PATCH_OPTIONS.iter().any(|option| command.has(option))
        });
        if exact {
            VisibleChanges::Exact
        } else {
            VisibleChanges::Whole
        }
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        if input.is(&["blame", "annotate"]) {
            return input.lines().for_each(|line| sheet.keep(line));
        }
        let mut log = git_log::Commits::default();
        let mut diff = git_diff::Patch::default();
        for line in input.lines() {
            if log.take(line, sheet) || diff.take(line, sheet) {
                continue;
            }
            other_line(line, sheet);
        }
        log.finish(sheet);
    }
}

/// Kinds of lines of `git status`, each with its short form.
const STATES: &[(&str, &str)] = &[
    ("\tmodified:", "modified"),
    ("\tdeleted:", "deleted"),
    ("\tnew file:", "new file"),
    ("\trenamed:", "renamed"),
    ("\tboth modified:", "both modified"),
    ("\tboth added:", "both added"),
    ("\tdeleted by us:", "deleted by us"),
    ("\tdeleted by them:", "deleted by them"),
];

/// Lines of transfers and of what they did.
const MOVES: &[(&str, &str)] = &[
    (" * [new branch] ", "[new branch]"),
    (" * [new tag] ", "[new tag]"),
    (" - [deleted] ", "[deleted]"),
    (" = [up to date] ", "[up to date]"),
    (" create mode 100644 ", "create mode 100644"),
    (" create mode 100755 ", "create mode 100755"),
    (" delete mode 100644 ", "delete mode 100644"),
];

/// Counters of a transfer.
const COUNTERS: &[&str] = &[
    "Enumerating objects:",
    "Counting objects:",
    "Compressing objects:",
    "Writing objects:",
    "Receiving objects:",
    "Resolving deltas:",
    "Unpacking objects:",
    "Updating files:",
    "Delta compression using",
    "Total ",
    "Checking objects:",
    "Checking connectivity:",
    "Auto packing the repository",
];

fn other_line<'a>(line: &'a str, sheet: &mut Sheet<'a>) {
    if let Some((kind, item)) = after_any(line, STATES) {
        return sheet.join(kind, item, line);
    }
    if let Some((kind, item)) = after_any(line, MOVES) {
        return sheet.join(kind, moved(item), line);
    }
    // An untracked file.
    if let Some(item) = line.strip_prefix('\t').filter(|item| !item.contains(':')) {
        return sheet.join("files", item, line);
    }
    let said = line.strip_prefix("remote: ").unwrap_or(line);
    if COUNTERS.iter().any(|counter| said.starts_with(counter)) {
        return sheet.leave("counters", line);
    }
    let trimmed = line.trim_start();
    if trimmed.starts_with("(use \"git ") || trimmed.starts_with("(commit or discard the untracked")
    {
        return sheet.leave("hints", line);
    }
    sheet.keep(line);
}

/// `a` for `a -> a`: both sides have the same name.
fn moved(item: &str) -> &str {
    match item.split_once(" -> ") {
        Some((from, to)) if from.trim_end() == to => to,
        _ => item,
    }
}
