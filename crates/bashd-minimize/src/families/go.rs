//! go: tests that passed in less than a second.
//!
//! What a test prints stands between the line that begins it and its result, so the line that
//! begins it is noise only where nothing stands there; and only where a test has one beginning and
//! one result is each of them Go's own.

use super::super::noise::{FormSet, FormWords, NoiseForm, NoiseMarks};
use super::{Filter, FilterInput};
use std::collections::HashMap;
use std::sync::LazyLock;

pub(super) struct Go;

const FORMS: &[NoiseForm] = &[
    NoiseForm {
        kind: "passed",
        whose: "go test -v",
        pattern: r" *--- PASS: \S+ \(0\.\d+s\)",
        words: FormWords::Fixed,
        case: "--- PASS: TestErrors (0.00s)",
    },
    NoiseForm {
        kind: "begun",
        whose: "go test -v",
        pattern: r"=== (?:RUN|PAUSE|CONT|NAME)  ? ?\S+",
        words: FormWords::Fixed,
        case: "=== RUN   TestErrors/one",
    },
];

static TESTED: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(FORMS));

impl Filter for Go {
    fn name(&self) -> &'static str {
        "go"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["go", "gotestsum", "ginkgo"]
    }

    #[cfg(test)]
    fn forms(&self) -> &'static [NoiseForm] {
        FORMS
    }

    fn mark(&self, input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
        if !input.is(&["test"]) || input.commands.len() > 1 {
            return;
        }
        let mut counts: HashMap<(&str, &str), (u32, u32)> = HashMap::new();
        let packages = packages(input);
        for (at, line) in input.numbered() {
            let package = packages.get(at).copied().unwrap_or_default();
            if let Some(test) = line.strip_prefix("=== RUN ") {
                counts.entry((package, test.trim_start())).or_default().0 += 1;
            } else if let Some(test) = result(line) {
                counts.entry((package, test)).or_default().1 += 1;
            }
        }
        let is_sound = |at: usize, test: &str| {
            let package = packages.get(at).copied().unwrap_or_default();
            counts.get(&(package, test)) == Some(&(1, 1))
        };
        for (at, line) in input.numbered() {
            let Some(form) = TESTED.find(line) else {
                continue;
            };
            let next = input.lines.get(at + 1).copied().unwrap_or_default();
            let is_followed_by_output = TESTED.find(next).is_none() && result(next).is_none();
            let previous = at.checked_sub(1).and_then(|at| input.lines.get(at));
            let is_noise = if let Some(test) = result(line) {
                // What a test logs may also stand below its result.
                let logs_below = next.starts_with("    ") && result(next).is_none();
                let logs_above = previous.is_some_and(|previous| {
                    TESTED.find(previous).is_none() && result(previous).is_none()
                });
                is_sound(at, test) && !logs_below && (!logs_above || is_end(previous))
            } else {
                let test = line.split_whitespace().nth(2).unwrap_or_default();
                is_sound(at, test) && !is_followed_by_output
            };
            if is_noise {
                noise.leave(at, form);
            }
        }
    }
}

/// Whether a line ends a package, so that nothing of a test is there.
fn is_end(line: Option<&&str>) -> bool {
    line.is_some_and(|line| {
        line.is_empty()
            || *line == "PASS"
            || line.starts_with("ok  \t")
            || line.starts_with("?   \t")
    })
}

/// The line that ends the package of each line: tests of two packages may have one name.
fn packages<'a>(input: &FilterInput<'a>) -> Vec<&'a str> {
    let mut packages = vec![""; input.lines.len()];
    let mut package = "";
    for (at, line) in input.lines.iter().enumerate().rev() {
        if line.starts_with("ok  \t") || line.starts_with("FAIL\t") || line.starts_with("---\t") {
            package = line;
        }
        if let Some(known) = packages.get_mut(at) {
            *known = package;
        }
    }
    packages
}

/// The test of `--- PASS: TestX/many (0.00s)`, whatever the result.
fn result(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    let rest = ["--- PASS: ", "--- FAIL: ", "--- SKIP: "]
        .iter()
        .find_map(|start| trimmed.strip_prefix(start))?;
    rest.split(' ').next()
}
