//! cargo: progress, passed tests, and the gutters of diagnostics.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput};

pub(super) struct Cargo;

/// What cargo prints while it works, right-aligned before what it is about.
const PROGRESS: &[&str] = &[
    "Compiling",
    "Checking",
    "Fresh",
    "Downloaded",
    "Downloading",
    "Locking",
    "Updating",
    "Building",
    "Documenting",
    "Dirty",
    "Unpacking",
    "Installing",
    "Blocking",
    "Packaging",
    "Verifying",
    "Archiving",
    "Scraping",
];

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

    fn shows_code(&self) -> bool {
        true
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        for line in input.lines() {
            let trimmed = line.trim_start();
            let indent = line.len() - trimmed.len();
            let (verb, item) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
            if indent > 0 && is_change(verb, item) {
                sheet.join(changed(verb), item, line);
            } else if let Some(kind) = PROGRESS
                .iter()
                .find(|known| **known == verb)
                .filter(|_| indent > 0)
            {
                sheet.fold(kind, item, line);
            } else if verb == "Running" && item.starts_with('`') {
                sheet.leave_known("Running", line);
            } else if let Some(item) = passed_test(line) {
                sheet.fold("passed", item, line);
            } else if let Some(item) = passed_in_nextest(trimmed) {
                sheet.fold("passed", item, line);
            } else if is_gutter(trimmed) {
                sheet.skip("");
            } else if is_frame(trimmed) {
                sheet.leave_known("lines of code", line);
            } else if trimmed.starts_with(
                "= help: for further information visit https://rust-lang.github.io/rust-clippy/",
            ) {
                sheet.leave("links to lints", line);
            } else if let Some(result) = line.strip_prefix("test result: ") {
                sheet.keep(&format!("test result: {}", without_zeros(result)));
            } else if is_announcement(line) {
                sheet.leave("announcements", line);
            } else if line.is_empty() {
                sheet.skip(line);
            } else {
                sheet.keep(line);
            }
        }
    }
}

/// Whether a line says what was changed in a manifest or a lock file.
fn is_change(verb: &str, item: &str) -> bool {
    matches!(verb, "Adding" | "Removing" | "Downgrading" | "Upgrading")
        || verb == "Updating" && item.contains(" -> ")
}

/// The kind of a change, in cargo's word.
fn changed(verb: &str) -> &'static str {
    let words = ["Adding", "Removing", "Downgrading", "Upgrading", "Updating"];
    words
        .into_iter()
        .find(|word| *word == verb)
        .unwrap_or("changed")
}

/// `test a::b ... ok`
fn passed_test(line: &str) -> Option<&str> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let is_passed = result == "ok" || result.starts_with("ok <");
    is_passed.then_some(name)
}

/// `PASS [   0.007s] ( 1/34) semver::test_identifier test_eq`
fn passed_in_nextest(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("PASS [")?;
    let (_, name) = rest.split_once("] ")?;
    let name = name.trim_start();
    let counted = name
        .strip_prefix('(')
        .and_then(|name| name.split_once(") "));
    Some(counted.map_or(name, |(_, name)| name))
}

/// The bar of a code frame with nothing beside it.
fn is_gutter(trimmed: &str) -> bool {
    matches!(trimmed, "|" | "..." | "────────────")
}

/// A line of a code frame: its place and the message come before it.
pub(super) fn is_frame(trimmed: &str) -> bool {
    let (number, rest) = trimmed.split_once('|').unwrap_or(("x", ""));
    let number = number.trim_end();
    let is_numbered = number.bytes().all(|byte| byte.is_ascii_digit());
    is_numbered && (!number.is_empty() || rest.starts_with(' '))
}

/// `running 12 tests`: the result line has the count.
fn is_announcement(line: &str) -> bool {
    line.strip_prefix("running ")
        .is_some_and(|rest| rest.ends_with(" tests") || rest.ends_with(" test"))
}

/// A result without the counts that are zero, except that of failures.
fn without_zeros(result: &str) -> String {
    let parts = result
        .split("; ")
        .filter(|part| !matches!(*part, "0 ignored" | "0 measured" | "0 filtered out"));
    parts.collect::<Vec<_>>().join("; ")
}
