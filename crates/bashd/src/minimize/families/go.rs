//! go: passed tests and their announcements.

use super::super::sheet::{Noise, Sheet};
use super::{Filter, Input};
use std::collections::HashSet;

pub(super) struct Go;

impl Filter for Go {
    fn name(&self) -> &'static str {
        "go"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["go", "gotestsum", "ginkgo"]
    }

    fn apply<'a>(&self, input: &Input<'a>, sheet: &mut Sheet<'a>) {
        let finished: HashSet<&str> = input.lines().filter_map(result).collect();
        for line in input.lines() {
            let trimmed = line.trim_start();
            if let Some(item) = after_any(
                trimmed,
                &["=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "],
            ) {
                if finished.contains(item) {
                    sheet.skip("");
                    continue;
                }
                // No result follows: the run broke off.
                sheet.fold(
                    Noise {
                        kind: "started",
                        item,
                    },
                    line,
                );
            } else if let Some(item) = after_any(trimmed, &["--- PASS: "]) {
                sheet.fold(
                    Noise {
                        kind: "passed",
                        item: item.split(' ').next().unwrap_or(item),
                    },
                    line,
                );
            } else if let Some(item) = line.strip_prefix("go: downloading ") {
                sheet.fold(
                    Noise {
                        kind: "downloading",
                        item,
                    },
                    line,
                );
            } else if let Some(item) = line
                .strip_suffix("[no test files]")
                .and_then(|line| line.strip_prefix("? "))
            {
                sheet.fold(
                    Noise {
                        kind: "without tests",
                        item: item.trim(),
                    },
                    line,
                );
            } else if let Some(item) = after_any(
                line,
                &[
                    "go: found ",
                    "go: finding ",
                    "go: added ",
                    "go: extracting ",
                ],
            ) {
                sheet.join(
                    Noise {
                        kind: "modules",
                        item,
                    },
                    line,
                );
            } else {
                sheet.keep(line);
            }
        }
    }
}

/// The test of `--- PASS: TestX/many (0.00s)`, whatever the result.
fn result(line: &str) -> Option<&str> {
    let results = ["--- PASS: ", "--- FAIL: ", "--- SKIP: "];
    let rest = after_any(line.trim_start(), &results)?;
    rest.split(' ').next()
}

fn after_any<'a>(line: &'a str, starts: &[&str]) -> Option<&'a str> {
    starts
        .iter()
        .find_map(|start| line.strip_prefix(start))
        .map(str::trim)
}
