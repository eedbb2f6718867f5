//! npm, pnpm, yarn, bun: fetches, notices, deprecations; audits and errors stay.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput, lint, node_tests};

pub(super) struct NodePackages;

impl Filter for NodePackages {
    fn name(&self) -> &'static str {
        "node-packages"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "npm", "pnpm", "yarn", "yarnpkg", "bun", "corepack", "lerna", "nx", "turbo",
        ]
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        if input.is(&["ls", "list", "ll", "la", "why", "explain"]) {
            return super::outline::write(input, sheet);
        }
        for line in input.lines() {
            if let Some(rest) = line.strip_prefix("npm ") {
                npm_line(rest, line, sheet);
            } else if let Some(item) = line
                .strip_prefix("+ ")
                .filter(|item| item.contains('@') || !item.contains(' '))
            {
                sheet.join("+", item, line);
            } else if is_progress(line) {
                sheet.leave("lines of progress", line);
            } else if is_funding(line) {
                sheet.leave("lines about funding", line);
            } else if line.is_empty() {
                sheet.skip(line);
            } else if !node_tests::take(line, sheet) && !lint::take(line, sheet) {
                sheet.keep(line);
            }
        }
    }
}

/// A line of npm's own log.
fn npm_line<'a>(rest: &'a str, line: &'a str, sheet: &mut Sheet<'a>) {
    let (level, text) = rest.split_once(' ').unwrap_or((rest, ""));
    match level {
        "warn" | "WARN" => match text.strip_prefix("deprecated ") {
            Some(item) => sheet.fold_known("deprecated packages", item, line),
            None => sheet.keep(line),
        },
        "http" => sheet.fold("fetches", text, line),
        "verbose" | "silly" | "timing" => sheet.leave("lines of npm's log", line),
        "notice" => sheet.leave("notices", line),
        _ => sheet.keep(line),
    }
}

fn is_progress(line: &str) -> bool {
    let starts = [
        "Progress: resolved",
        "Packages: +",
        "[1/",
        "[2/",
        "[3/",
        "[4/",
        "[5/",
        "verbose ",
        "Resolving: ",
        "Resolved, downloaded",
        "Saved lockfile",
        "Resolving dependencies",
        "info Direct dependencies",
        "info All dependencies",
        "reused ",
        "Lockfile is up to date",
    ];
    let is_bar = line.len() > 10 && line.bytes().all(|byte| matches!(byte, b'+' | b'-'));
    is_bar || starts.iter().any(|start| line.starts_with(start))
}

fn is_funding(line: &str) -> bool {
    line.contains("looking for funding")
        || line.contains("run `npm fund`")
        || line.contains("npm fund for details")
}
