//! jest, vitest, mocha, bun test, playwright, node --test: passed tests and passed files.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput};
use crate::invocation::Invocation;

pub(super) struct NodeTests;

impl Filter for NodeTests {
    fn name(&self) -> &'static str {
        "node-tests"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "jest",
            "vitest",
            "mocha",
            "playwright",
            "ava",
            "tap",
            "cypress",
            "jasmine",
            "karma",
        ]
    }

    fn knows(&self, command: &Invocation) -> bool {
        let runs_tests = matches!(command.program.as_str(), "bun" | "deno")
            && command.subcommand() == "test"
            || command.program == "node" && command.has("--test");
        runs_tests || self.programs().contains(&command.program.as_str())
    }

    fn shows_code(&self) -> bool {
        true
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        let mut in_failure = false;
        for line in input.lines() {
            // What a failed test prints may look like anything.
            in_failure |= line.trim_start().starts_with("● ")
                || line.contains(" FAIL ")
                || line.starts_with("⎯");
            if line.starts_with("PASS ")
                || line.starts_with("FAIL ")
                || line.starts_with("Test Suites:")
            {
                in_failure = false;
            }
            if in_failure {
                if line.is_empty() {
                    sheet.skip(line);
                } else {
                    sheet.keep(line);
                }
            } else if !take(line, sheet) {
                sheet.keep(line);
            }
        }
    }
}

/// Takes a line about a test that passed.
pub(super) fn take<'a>(line: &'a str, sheet: &mut Sheet<'a>) -> bool {
    let trimmed = line.trim_start();
    if let Some(item) = trimmed
        .strip_prefix("✓ ")
        .or_else(|| trimmed.strip_prefix("✔ "))
        .or_else(|| trimmed.strip_prefix("(pass) "))
    {
        sheet.fold("passed", without_time(item), line);
    } else if let Some(item) = line.strip_prefix("PASS ") {
        sheet.fold("PASS", item.trim_start(), line);
    } else if let Some(item) = covered(line) {
        sheet.fold("fully covered", item, line);
    } else if line.is_empty() {
        sheet.skip(line);
    } else {
        return false;
    }
    true
}

/// `adds (3 ms)` and `adds [0.02ms]` are `adds`.
fn without_time(item: &str) -> &str {
    for (open, close) in [(" (", "ms)"), (" (", " s)"), (" [", "ms]")] {
        if let Some((name, time)) = item.rsplit_once(open)
            && time.ends_with(close.trim_start())
            && time.starts_with(|c: char| c.is_ascii_digit())
        {
            return name;
        }
    }
    match item.rsplit_once(' ') {
        Some((name, time))
            if time.ends_with("ms") && time.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            name
        }
        _ => item,
    }
}

/// ` part1.js |     100 |      100 |     100 |     100 |`
fn covered(line: &str) -> Option<&str> {
    let mut cells = line.split('|').map(str::trim);
    let file = cells.next().filter(|file| file.contains('.'))?;
    let all: Vec<&str> = cells.collect();
    let numbers = all.get(..4)?;
    (numbers.iter().all(|number| *number == "100") && all.get(4).is_none_or(|rest| rest.is_empty()))
        .then_some(file)
}
