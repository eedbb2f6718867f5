//! jest, vitest, mocha, bun test: tests that passed in less than a second.
//!
//! A test may print a tick of its own, so a text counts only if it has as many of them as the
//! runner's own summary says.

use super::super::noise::{FormSet, FormWords, NoiseForm, NoiseMarks};
use super::{Filter, FilterInput, number_before};
use crate::invocation::Invocation;
use std::sync::LazyLock;

pub(super) struct NodeTests;

const FORMS: &[NoiseForm] = &[
    NoiseForm {
        kind: "passed",
        whose: "jest --verbose, mocha",
        pattern: r" {4,}[✓✔] \S.*",
        words: FormWords::Fixed,
        case: "    ✓ adds prices (3 ms)",
    },
    NoiseForm {
        kind: "passed",
        whose: "vitest --reporter=verbose",
        pattern: r" ✓ \S+\.\w+ > \S.*",
        words: FormWords::Fixed,
        case: " ✓ tests/a.test.js > total > adds prices 3ms",
    },
    NoiseForm {
        kind: "passed",
        whose: "bun test",
        pattern: r"\(pass\) \S.* \[0?\d*\.?\d+ms\]",
        words: FormWords::Fixed,
        case: "(pass) total > adds prices [0.08ms]",
    },
];

static PASSED: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(FORMS));

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

    #[cfg(test)]
    fn forms(&self) -> &'static [NoiseForm] {
        FORMS
    }

    fn mark(&self, input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
        if input.commands.len() > 1 {
            return;
        }
        let said = input.lines.iter().rev().find_map(|line| summary(line));
        let passed: Vec<usize> = input
            .numbered()
            .filter(|(_, line)| PASSED.find(line).is_some())
            .map(|(at, _)| at)
            .collect();
        let is_broken = input.lines.iter().any(|line| has_inner_tick(line));
        if said != Some(passed.len() as u64) || is_broken {
            return;
        }
        for at in passed {
            let line = input.lines.get(at).copied().unwrap_or_default();
            if let Some(form) = PASSED.find(line).filter(|_| !is_slow(line)) {
                noise.leave(at, form);
            }
        }
    }
}

/// Whether a tick stands behind something else: a program of a test broke the runner's line, so
/// that other lines of this form may be the program's.
fn has_inner_tick(line: &str) -> bool {
    let is_tick = |(_, tick): &(usize, &str)| *tick != "(pass) " || line.ends_with("ms]");
    let ticks = ["✓ ", "✔ ", "(pass) "].map(|tick| line.rmatch_indices(tick).next());
    ticks.into_iter().flatten().filter(is_tick).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        !before.trim_start().is_empty()
    })
}

/// How many tests passed, as the runner says.
fn summary(line: &str) -> Option<u64> {
    if let Some(rest) = line.strip_prefix("Tests: ") {
        return number_before(rest, " passed");
    }
    if let Some(rest) = line.trim_start().strip_prefix("Tests  ") {
        return number_before(rest, " passed");
    }
    let trimmed = line.trim_start();
    let (number, rest) = trimmed.split_once(' ')?;
    let is_summary = line.starts_with("  ") && rest.starts_with("passing (")
        || line.starts_with(' ') && rest == "pass";
    number.parse().ok().filter(|_| is_summary)
}

/// Whether a test took a second or longer: `(1250 ms)`, `(1.2 s)`, `3s`, `[1250.00ms]`.
fn is_slow(line: &str) -> bool {
    let last = line.rsplit(['(', '[']).next().unwrap_or_default();
    let last = last.trim_end_matches([')', ']']);
    let words: Vec<&str> = last.split(' ').collect();
    let time = match words.as_slice() {
        [.., number, unit @ ("ms" | "s" | "m" | "min")] => format!("{number}{unit}"),
        [.., time] => (*time).to_owned(),
        [] => return false,
    };
    let unit_at = time.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')));
    let (number, unit) = time.split_at(unit_at.unwrap_or(time.len()));
    let Ok(number) = number.replace(',', "").parse::<f64>() else {
        return false;
    };
    match unit {
        "ms" => number >= 1000.0,
        "s" => number >= 1.0,
        "m" | "min" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_line_is_known() {
        for line in [
            "reindexing 40 shards    ✔ rebuilds search index (412ms)",
            "x ✓ tests/a.test.js > b 3ms",
            "seeding(pass) total > adds prices [0.08ms]",
        ] {
            assert!(has_inner_tick(line), "{line}");
        }
        for line in [
            "    ✓ adds prices (3 ms)",
            "(pass) total > adds [0.08ms]",
            "(pass) is good",
        ] {
            assert!(!has_inner_tick(line), "{line}");
        }
    }

    #[test]
    fn slow_tests_are_known() {
        for line in [
            "    ✓ a (1250 ms)",
            "    ✓ a (48213ms)",
            " ✓ a > b 3s",
            "    ✔ b (1.2 s)",
        ] {
            assert!(is_slow(line), "{line}");
        }
        for line in [
            "    ✓ a (12 ms)",
            "    ✓ in 3 parts",
            "(pass) a [0.08ms]",
            " ✓ a > b 30ms",
        ] {
            assert!(!is_slow(line), "{line}");
        }
    }
}
