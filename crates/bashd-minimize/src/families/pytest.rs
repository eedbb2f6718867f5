//! pytest and unittest: passed tests, the head of a session, files that are fully covered.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput};
use std::path::Path;

pub(super) struct Pytest;

impl Filter for Pytest {
    fn name(&self) -> &'static str {
        "pytest"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["pytest", "unittest", "nose2", "tox", "nox", "coverage"]
    }

    fn shows_code(&self) -> bool {
        true
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        let mut in_head = true;
        let mut in_details = false;
        let mut lines = input.lines().peekable();
        let mut is_described = false;
        while let Some(line) = lines.next() {
            if std::mem::take(&mut is_described) {
                let item = line.strip_suffix(" ... ok").unwrap_or(line);
                let kind = "descriptions of passed tests";
                sheet.fold(kind, item, line);
            } else if let Some(item) = described(line)
                && lines.peek().is_some_and(|next| next.ends_with(" ... ok"))
            {
                is_described = true;
                let kind = "passed";
                sheet.fold(kind, item, line);
            } else if is_section(line) {
                in_details = ["FAILURES", "ERRORS", "Captured"]
                    .iter()
                    .any(|name| line.contains(name));
                in_head &= line.contains("test session starts");
                sheet.keep(line);
            } else if in_details {
                sheet.keep(line);
            } else if in_head && is_head(line) {
                sheet.leave("lines of the session's head", line);
            } else if let Some(item) = passed(line) {
                sheet.fold("passed", item, line);
            } else if let Some(result) = without_progress(line) {
                sheet.keep_within_list(result);
            } else if let Some(item) = dots(line) {
                sheet.fold("files of passed tests", item, line);
            } else if let Some(item) = covered(line) {
                sheet.fold("fully covered", item, line);
            } else if line.is_empty() {
                sheet.skip(line);
            } else {
                sheet.keep(line);
            }
        }
    }
}

/// `===== FAILURES =====`
fn is_section(line: &str) -> bool {
    line.starts_with("=====") && line.ends_with("=====")
}

fn is_head(line: &str) -> bool {
    let starts = [
        "platform ",
        "cachedir:",
        "rootdir:",
        "configfile:",
        "plugins:",
        "testpaths:",
        "hypothesis profile",
        "created: ",
        "asyncio:",
        "benchmark:",
        "Using --randomly-seed",
        "scheduling tests via",
        "initialized: ",
        "ready: ",
    ];
    starts.iter().any(|start| line.starts_with(start))
        || line.contains(" workers [")
        || line.starts_with("[gw") && line.contains(" Python ")
}

/// `tests/a.py::test_b PASSED [ 3%]`, `PASSED tests/a.py::test_b`, `[gw0] [  3%] PASSED tests/…`,
/// `test_b (tests.T.test_b) ... ok`
fn passed(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("PASSED ") {
        return Some(name);
    }
    if let Some(rest) = line.strip_prefix("[gw") {
        let (_, name) = rest.split_once(" PASSED ")?;
        return Some(name.trim_end());
    }
    if let Some((name, rest)) = line.split_once(" PASSED") {
        let is_counted = rest.trim().is_empty() || rest.trim_start().starts_with('[');
        return (is_counted && name.contains("::")).then_some(name);
    }
    let name = line.strip_suffix(" ... ok")?;
    let inner = name
        .rsplit_once('(')
        .and_then(|(_, inner)| inner.strip_suffix(')'));
    Some(inner.unwrap_or(name))
}

/// `tests/a.py::test_b FAILED` of `tests/a.py::test_b FAILED      [ 17%]`
fn without_progress(line: &str) -> Option<&str> {
    let (result, percent) = line.rsplit_once('[')?;
    let result = result.trim_end();
    let (name, state) = result.rsplit_once(' ')?;
    let is_state = matches!(state, "FAILED" | "ERROR" | "SKIPPED" | "XFAIL" | "XPASS");
    (is_state && name.contains("::") && percent.ends_with("%]")).then_some(result)
}

/// `test_b (tests.T.test_b)`: the next line says what the test is about and how it ended.
fn described(line: &str) -> Option<&str> {
    let (name, inner) = line.split_once(" (")?;
    let inner = inner.strip_suffix(')')?;
    (!name.contains(' ') && !inner.contains(' ') && inner.contains('.')).then_some(inner)
}

/// `tests/a.py ........ [ 10%]`: only passes.
fn dots(line: &str) -> Option<&str> {
    let (before, percent) = line.rsplit_once('[')?;
    if !percent.ends_with("%]") {
        return None;
    }
    let (file, marks) = before
        .trim_end()
        .rsplit_once(' ')
        .unwrap_or(("", before.trim_end()));
    let all_passed = !marks.is_empty() && marks.bytes().all(|mark| mark == b'.');
    all_passed.then_some(file)
}

/// A row of a coverage table that ends in `100%`.
fn covered(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let file = words.next().filter(|file| {
        Path::new(file)
            .extension()
            .is_some_and(|extension| extension == "py")
    })?;
    (words.next_back()? == "100%").then_some(file)
}
