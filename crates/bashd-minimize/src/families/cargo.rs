//! cargo: crates that were compiled, and tests that passed.
//!
//! `cargo run` and `cargo bench` start the user's program, which prints after the line that says
//! so. What tests print is kept back by the test runner, unless it was asked not to; a block of
//! results counts only if it has as many passed tests as its own result says.

use super::super::noise::{FormSet, FormWords, NoiseForm, NoiseMarks};
use super::{Filter, FilterInput, number_before};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

pub(super) struct Cargo;

const FORMS: &[NoiseForm] = &[
    NoiseForm {
        kind: "Compiling",
        whose: "cargo",
        pattern: r" {3}Compiling [\w-]+ v\d+\.\d+\.\d+[\w.+-]*(?: \(proc-macro\))?",
        words: FormWords::Telling,
        case: "   Compiling serde v1.0.219",
    },
    NoiseForm {
        kind: "Checking",
        whose: "cargo",
        pattern: r" {4}Checking [\w-]+ v\d+\.\d+\.\d+[\w.+-]*(?: \(proc-macro\))?",
        words: FormWords::Telling,
        case: "    Checking regex-syntax v0.8.5",
    },
    NoiseForm {
        kind: "Fresh",
        whose: "cargo",
        pattern: r" {7}Fresh [\w-]+ v\d+\.\d+\.\d+[\w.+-]*(?: \(proc-macro\))?",
        words: FormWords::Telling,
        case: "       Fresh memchr v2.7.4",
    },
    NoiseForm {
        kind: "Downloaded",
        whose: "cargo",
        pattern: r" {2}Downloaded [\w-]+ v\d+\.\d+\.\d+[\w.+-]*",
        words: FormWords::Telling,
        case: "  Downloaded memchr v2.7.4",
    },
    NoiseForm {
        kind: "Documenting",
        whose: "cargo",
        pattern: r" Documenting [\w-]+ v\d+\.\d+\.\d+[\w.+-]*",
        words: FormWords::Telling,
        case: " Documenting memchr v2.7.4",
    },
    NoiseForm {
        kind: "Running rustc for crates of the registry",
        whose: "cargo -v",
        pattern: r" {5}Running `(?:\S*/)?rustc --crate-name \w+ --edition=\d{4} \S*/registry/src/\S+ .*`",
        words: FormWords::Fixed,
        case: "     Running `rustc --crate-name memchr --edition=2021 /home/u/.cargo/registry/src/index-1/memchr-2.7.4/src/lib.rs --error-format=json`",
    },
];

const PASSED: &[NoiseForm] = &[
    NoiseForm {
        kind: "passed",
        whose: "the test runner of Rust",
        pattern: r"test \S.* \.\.\. ok",
        words: FormWords::Fixed,
        case: "test parse::numbers ... ok",
    },
    NoiseForm {
        kind: "passed",
        whose: "cargo-nextest",
        pattern: r" {8}PASS \[ *0\.\d+s\] (?:\( *\d+/\d+\) )?\S+ \S+",
        words: FormWords::Fixed,
        case: "        PASS [   0.007s] ( 1/34) semver::test_identifier test_eq",
    },
];

static BUILT: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(FORMS));
static TESTED: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(PASSED));

#[cfg(test)]
static ALL: LazyLock<Vec<NoiseForm>> =
    LazyLock::new(|| FORMS.iter().chain(PASSED).copied().collect());

impl Filter for Cargo {
    fn name(&self) -> &'static str {
        "cargo"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "cargo",
            "rustc",
            "cargo-nextest",
            "rustdoc",
            "wasm-pack",
            "maturin",
            "cross",
        ]
    }

    #[cfg(test)]
    fn forms(&self) -> &'static [NoiseForm] {
        &ALL
    }

    fn mark(&self, input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
        let is_cargo = input
            .commands
            .iter()
            .all(|command| matches!(command.program.as_str(), "cargo" | "cross"));
        let builds = [
            "build", "b", "check", "c", "clippy", "doc", "d", "test", "t", "nextest", "run", "r",
            "bench",
        ];
        // What `install`, `fetch`, `add` and `update` name is what was asked for.
        if !is_cargo || !input.is(&builds) || input.commands.len() > 1 {
            return;
        }
        let starts = |(_, line): &(usize, &str)| {
            let trimmed = line.trim_start();
            trimmed.starts_with("Running ")
                && !trimmed.contains("rustc --crate-name")
                && !trimmed.ends_with("/build-script-build`")
                || trimmed.starts_with("Doc-tests ")
                || trimmed.starts_with("Starting ")
        };
        let started = input.numbered().find(starts).map(|(at, _)| at);
        let runs = input.is(&["run", "r", "bench", "test", "t", "nextest"]);
        // A program that was started without a word about it may have printed anything.
        let built = match started {
            _ if !runs => 0..input.lines.len(),
            Some(started) => 0..started,
            None => 0..0,
        };
        noise.leave_forms(built, &BUILT);
        let shows_bodies = input.has(&["--nocapture", "--show-output", "--no-capture"]);
        if input.is(&["test", "t"]) && !shows_bodies {
            for block in blocks(input) {
                noise.leave_forms(block, &TESTED);
            }
        }
        if input.is(&["nextest"]) && !shows_bodies {
            let passed = passed(input, 0..input.lines.len());
            let said = input
                .lines
                .iter()
                .rev()
                .find(|line| line.trim_start().starts_with("Summary ["))
                .and_then(|line| number_before(line, " passed"));
            if said == Some(passed) {
                noise.leave_forms(0..input.lines.len(), &TESTED);
            }
        }
    }
}

/// A line that the test runner itself prints between those two.
static OF_RUNNER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^(?:test \S.* \.\.\. (?:ok|ignored(?:, .*)?)|test \S.* has been running for over \d+ seconds|)$",
    )
    .ok()
});

/// Whether it is one. Where a program of a test prints, it breaks the line that the runner has
/// begun: nobody can tell the lines of the two apart.
fn is_of_runner(line: &str) -> bool {
    let is_whole = OF_RUNNER.as_ref().is_some_and(|form| form.is_match(line));
    is_whole && line.matches(" ... ").count() <= 1
}

/// Blocks from `running N tests` to `test result: ok. N passed; …` that have as many passed tests
/// as they say, and nothing else.
fn blocks(input: &FilterInput<'_>) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut from = None;
    for (at, line) in input.numbered() {
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            from = Some(at + 1);
        } else if line.starts_with("test result: ")
            && let Some(from) = from.take()
        {
            let said = number_before(line, " passed;");
            let mut block = input.lines.get(from..at).unwrap_or_default().iter();
            if line.starts_with("test result: ok.")
                && said == Some(passed(input, from..at))
                && block.all(|line| is_of_runner(line))
            {
                blocks.push(from..at);
            }
        }
    }
    blocks
}

/// How many passed tests a range has. Those that took a second or longer count, and stay.
fn passed(input: &FilterInput<'_>, range: Range<usize>) -> u64 {
    let lines = input.lines.get(range).unwrap_or_default();
    let is_passed = |line: &&&str| {
        let trimmed = line.trim_start();
        TESTED.find(line).is_some() || trimmed.starts_with("PASS [")
    };
    lines.iter().filter(is_passed).count() as u64
}
