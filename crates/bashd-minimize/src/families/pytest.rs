//! pytest and unittest: tests that passed.
//!
//! What tests print is kept back by pytest, unless it was asked not to. A text counts only if its
//! own numbers confirm every line: as many passed tests as the summary says, or a percentage behind
//! each that is right for its place.

use super::super::noise::{FormSet, FormWords, NoiseForm, NoiseMarks};
use super::{Filter, FilterInput, number_before};
use std::sync::LazyLock;

pub(super) struct Pytest;

const FORMS: &[NoiseForm] = &[
    NoiseForm {
        kind: "passed",
        whose: "pytest -v",
        pattern: r"[\w./-]+\.py::\S.* PASSED +\[ *\d+%\]",
        words: FormWords::Fixed,
        case: "tests/test_a.py::TestErrors::test_b[a b] PASSED                [  3%]",
    },
    NoiseForm {
        kind: "passed",
        whose: "pytest-xdist",
        pattern: r"\[gw\d+\] \[ *\d+%\] PASSED [\w./-]+\.py::\S.*",
        words: FormWords::Fixed,
        case: "[gw0] [  3%] PASSED tests/test_a.py::test_b ",
    },
    NoiseForm {
        kind: "lines of dots",
        whose: "pytest",
        pattern: r"(?:[\w./-]+\.py )?\.+ +\[ *\d+%\]",
        words: FormWords::Fixed,
        case: "tests/test_a.py ........                              [ 10%]",
    },
    NoiseForm {
        kind: "passed",
        whose: "unittest -v",
        pattern: r"\w+ \([\w.]+\)(?: \[.*\])? \.\.\. ok",
        words: FormWords::Fixed,
        case: "test_b (tests.test_a.ErrorTests.test_b) ... ok",
    },
    NoiseForm {
        kind: "dots",
        whose: "unittest",
        pattern: r"\.{3,}",
        words: FormWords::Fixed,
        case: "......................",
    },
];

static PASSED: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(FORMS));

impl Filter for Pytest {
    fn name(&self) -> &'static str {
        "pytest"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["pytest", "unittest", "nose2", "tox", "nox", "coverage"]
    }

    #[cfg(test)]
    fn forms(&self) -> &'static [NoiseForm] {
        FORMS
    }

    fn mark(&self, input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
        let [command] = input.commands else {
            return;
        };
        // A test that runs tests of its own prints lines like ours.
        let sums = input.lines.iter().filter(|line| is_sum(line)).count();
        if command.program == "unittest" && sums != 1 {
            return;
        }
        let shows_bodies = command.arguments.iter().any(|argument| {
            argument.starts_with("--capture")
                || argument.starts_with("-r")
                || argument.starts_with("--log-cli")
                || argument.starts_with('-')
                    && !argument.starts_with("--")
                    && argument.contains('s')
                    && argument.len() <= 4
        });
        match command.program.as_str() {
            "pytest"
                if !shows_bodies && (has_right_count(input) || has_right_percentages(input)) =>
            {
                noise.leave_forms(0..input.lines.len(), &PASSED);
            }
            "unittest" if is_right_unittest(input) => {
                noise.leave_forms(0..input.lines.len(), &PASSED);
                leave_described(input, noise);
            }
            // A name that is in the line twice, as it does in unittest's, confirms itself.
            "unittest" if has_passed(input) => {
                leave_named_twice(input, noise);
                leave_described(input, noise);
            }
            _ => {}
        }
    }
}

/// A result in the words of pytest, and how many tests of a line passed.
fn results(line: &str) -> Option<(u64, u64)> {
    if line.starts_with("[gw") && line.contains("%] ") || is_verbose_result(line) {
        let has_passed = PASSED.find(line).is_some();
        return Some((1, u64::from(has_passed)));
    }
    let (before, percent) = line.rsplit_once('[')?;
    let marks = before.trim_end().rsplit(' ').next()?;
    let is_marks = !marks.is_empty()
        && marks
            .bytes()
            .all(|mark| matches!(mark, b'.' | b's' | b'x' | b'X' | b'F' | b'E'));
    (is_marks && percent.ends_with("%]")).then(|| {
        let passed = marks.bytes().filter(|mark| *mark == b'.').count() as u64;
        (marks.len() as u64, passed)
    })
}

/// `tests/a.py::test_b SKIPPED (why)  [ 17%]`
fn is_verbose_result(line: &str) -> bool {
    let states = [
        " PASSED", " SKIPPED", " XFAIL", " XPASS", " FAILED", " ERROR",
    ];
    line.contains(".py::")
        && line.ends_with("%]")
        && states.iter().any(|state| line.contains(state))
}

/// Whether the summary counts as many passed tests as there are.
fn has_right_count(input: &FilterInput<'_>) -> bool {
    let summary = input.lines.iter().rev().find(|line| {
        line.contains(" passed")
            && line.contains(" in ")
            && line.trim_end_matches('=').ends_with("s ")
            || line.contains(" passed") && line.ends_with('s') && line.contains(" in ")
            || line.contains(" passed") && line.contains(" in ") && line.contains("s (")
    });
    let said = summary.and_then(|line| number_before(line, " passed"));
    let passed = input
        .numbered()
        .filter_map(|(_, line)| results(line))
        .map(|(_, passed)| passed)
        .sum();
    said.is_some_and(|said| said > 0 && said == passed)
}

/// Whether each result has the percentage that its place among the collected tests gives it.
fn has_right_percentages(input: &FilterInput<'_>) -> bool {
    let collected = input.lines.iter().find_map(|line| {
        let rest = line.trim_start_matches("collecting ... ");
        let rest = rest.strip_prefix("collected ")?;
        let all: u64 = rest.split(' ').next()?.parse().ok()?;
        let selected = number_before(rest, " selected");
        Some(selected.unwrap_or(all))
    });
    let Some(collected) = collected.filter(|collected| *collected > 0) else {
        return false;
    };
    let mut done = 0;
    let mut lines = 0;
    for (_, line) in input.numbered() {
        let Some((tests, _)) = results(line) else {
            continue;
        };
        done += tests;
        lines += 1;
        let percent = line
            .rsplit_once('[')
            .and_then(|(_, percent)| percent.strip_suffix("%]"))
            .and_then(|percent| percent.trim().parse().ok());
        if percent != Some(done * 100 / collected) {
            return false;
        }
    }
    lines > 0
}

/// `Ran 12 tests in 0.1s`
fn is_sum(line: &str) -> bool {
    line.strip_prefix("Ran ")
        .is_some_and(|rest| number_before(rest, " test").is_some())
}

/// Whether a program of a test broke the line that unittest had begun: other lines of that form may
/// be the program's.
fn is_broken(line: &str) -> bool {
    line.ends_with("ok") && !line.ends_with(" ... ok") || line.matches(" ... ").count() > 1
}

/// Whether as many tests ended as unittest says it ran, and nothing stands between them.
fn is_right_unittest(input: &FilterInput<'_>) -> bool {
    let ran = input.lines.iter().rev().find_map(|line| {
        let rest = line.strip_prefix("Ran ")?;
        number_before(rest, " test")
    });
    let ended = input
        .numbered()
        .filter(|(_, line)| {
            [" ... ok", " ... expected failure"]
                .iter()
                .any(|end| line.ends_with(end))
                || line.contains(" ... skipped ")
        })
        .count() as u64;
    let dots: usize = input
        .numbered()
        .filter(|(_, line)| {
            !line.is_empty() && line.bytes().all(|byte| matches!(byte, b'.' | b's' | b'x'))
        })
        .map(|(_, line)| line.len())
        .sum();
    let is_broken = input.lines.iter().any(|line| is_broken(line));
    ran.is_some_and(|ran| {
        ran > 0 && !is_broken && (ran == ended || ended == 0 && ran == dots as u64)
    })
}

/// Whether unittest says that all went well.
fn has_passed(input: &FilterInput<'_>) -> bool {
    let last = input.lines.iter().rev().find(|line| !line.is_empty());
    last.is_some_and(|line| *line == "OK" || line.starts_with("OK ("))
}

/// Leaves out `test_b (tests.T.test_b) ... ok`.
fn leave_named_twice(input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
    for (at, line) in input.numbered() {
        let is_named_twice = line
            .strip_suffix(") ... ok")
            .and_then(|line| line.split_once(" ("))
            .is_some_and(|(name, inner)| {
                let class = inner.strip_suffix(name).unwrap_or_default();
                class.ends_with('.') && class.matches('.').count() > 1
            });
        if is_named_twice && let Some(form) = PASSED.find(line) {
            noise.leave(at, form);
        }
    }
}

/// Tests with a description: their name on one line, what they are about and the result on the
/// next.
fn leave_described(input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
    let form = FORMS.get(3);
    for (at, pair) in input.lines.windows(2).enumerate() {
        let [name, description] = pair else {
            continue;
        };
        let is_name = name.split_once(" (").is_some_and(|(name, inner)| {
            let inner = inner.strip_suffix(')').unwrap_or_default();
            let is_dotted = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
            !name.contains(' ')
                && inner.contains('.')
                && inner.ends_with(name)
                && inner.chars().all(is_dotted)
        });
        if is_name
            && description.ends_with(" ... ok")
            && PASSED.find(description).is_none()
            && let Some(form) = form
        {
            noise.leave(at, form);
            noise.leave(
                at + 1,
                &NoiseForm {
                    kind: "descriptions of passed tests",
                    words: FormWords::Telling,
                    ..*form
                },
            );
        }
    }
}
