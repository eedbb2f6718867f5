//! go: passed tests and their announcements.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput, after_any};
use std::collections::HashSet;

pub(super) struct Go;

impl Filter for Go {
    fn name(&self) -> &'static str {
        "go"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["go", "gotestsum", "ginkgo"]
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        let finished: HashSet<&str> = input.lines().filter_map(result).collect();
        for line in input.lines() {
            let trimmed = line.trim_start();
            if let Some((kind, item)) = after_any(trimmed, ANNOUNCED) {
                if finished.contains(item) {
                    sheet.skip("");
                } else {
                    // No result follows: the run broke off.
                    sheet.fold(kind, item, line);
                }
            } else if let Some(item) = result(line) {
                if trimmed.starts_with("--- PASS: ") {
                    sheet.fold("passed", item, line);
                } else {
                    sheet.keep_within_list(line);
                }
            } else if let Some(item) = line.strip_prefix("go: downloading ") {
                sheet.fold("downloading", item, line);
            } else if let Some(item) = line
                .strip_suffix("[no test files]")
                .and_then(|line| line.strip_prefix("? "))
            {
                sheet.fold("without tests", item.trim(), line);
            } else if let Some((kind, item)) = after_any(line, MODULES) {
                sheet.join(kind, item, line);
            } else if line.starts_with(' ') {
                // What a test logs.
                sheet.keep_within_list(line);
            } else {
                sheet.keep(line);
            }
        }
    }
}

/// What is printed about a test before its result.
const ANNOUNCED: &[(&str, &str)] = &[
    ("=== RUN ", "started"),
    ("=== PAUSE ", "started"),
    ("=== CONT ", "started"),
    ("=== NAME ", "started"),
];

/// What is printed about modules.
const MODULES: &[(&str, &str)] = &[
    ("go: found ", "modules"),
    ("go: finding ", "modules"),
    ("go: added ", "modules"),
    ("go: extracting ", "modules"),
];

/// How a test ended.
const RESULTS: &[(&str, &str)] = &[
    ("--- PASS: ", "passed"),
    ("--- FAIL: ", "failed"),
    ("--- SKIP: ", "skipped"),
];

/// The test of `--- PASS: TestX/many (0.00s)`, whatever the result.
fn result(line: &str) -> Option<&str> {
    let (_, rest) = after_any(line.trim_start(), RESULTS)?;
    rest.split(' ').next()
}
