//! Compilers and linters of scripting languages: tsc, eslint, ruff, mypy, flake8, pylint and the
//! like.
//!
//! Their findings are facts, and stay. Layout is removed, and so is what every finding of a kind
//! repeats.

use super::super::sheet::Sheet;
use super::arrows::Arrows;
use super::findings::Findings;
use super::{Filter, FilterInput};

pub(super) struct Lint;

impl Filter for Lint {
    fn name(&self) -> &'static str {
        "lint"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "tsc",
            "eslint",
            "biome",
            "oxlint",
            "prettier",
            "ruff",
            "mypy",
            "flake8",
            "pylint",
            "pyright",
            "basedpyright",
            "black",
            "isort",
            "shellcheck",
            "yamllint",
            "hadolint",
            "markdownlint",
            "rubocop",
            "stylelint",
            "golangci-lint",
            "ty",
            "bandit",
            "vulture",
            "vue-tsc",
            "standard",
            "semgrep",
            "actionlint",
            "swiftlint",
            "ktlint",
            "detekt",
            "clang-tidy",
            "cppcheck",
        ]
    }

    fn shows_code(&self) -> bool {
        true
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        let mut findings = Findings::default();
        let mut arrows = Arrows::default();
        for line in input.lines() {
            if findings.take(line, sheet) {
                arrows.finish(sheet);
                continue;
            }
            findings.flush(line, sheet);
            if !arrows.take(line, sheet) && !take(line, sheet) {
                sheet.keep(line);
            }
        }
        findings.flush("", sheet);
        arrows.finish(sheet);
    }
}

/// Takes a line without a finding.
pub(super) fn take(line: &str, sheet: &mut Sheet<'_>) -> bool {
    let trimmed = line.trim_start();
    if line.is_empty() || trimmed == "|" {
        sheet.skip("");
    } else if is_installed_file(line) {
        sheet.leave("files of dependencies", line);
    } else if let Some(squeezed) = squeezed(line) {
        sheet.keep(&squeezed);
    } else {
        return false;
    }
    true
}

/// A line of `tsc --listFiles` that names a file of a dependency.
fn is_installed_file(line: &str) -> bool {
    line.starts_with('/')
        && line.contains("/node_modules/")
        && !line.contains(' ')
        && !line.contains(':')
}

/// A row of a report without the blanks that align it: `  3:5  error  text  rule`.
fn squeezed(line: &str) -> Option<String> {
    let trimmed = line.trim_start();
    let starts_with_place = trimmed
        .split(':')
        .next()
        .is_some_and(|row| !row.is_empty() && row.bytes().all(|byte| byte.is_ascii_digit()));
    if !starts_with_place || !trimmed.contains("   ") || trimmed.contains('"') {
        return None;
    }
    let cells: Vec<&str> = trimmed
        .split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect();
    Some(format!(" {}", cells.join("  ")))
}
