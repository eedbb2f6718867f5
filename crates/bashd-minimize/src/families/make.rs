//! make, gcc, clang and what they start: command lines of a successful build, layout of
//! diagnostics.

use super::super::sheet::{KnownEnding, Sheet};
use super::findings::Findings;
use super::{Filter, FilterInput};

pub(super) struct Make;

/// Programs that a build's command lines begin with.
const COMPILERS: &[&str] = &[
    "cc",
    "gcc",
    "g++",
    "c++",
    "clang",
    "clang++",
    "ar",
    "ranlib",
    "ld",
    "as",
    "cpp",
    "strip",
    "install",
    "libtool:",
    "/bin/bash",
    "/bin/sh",
    "javac",
    "rustc",
    "nvcc",
    "mkdir",
    "rm",
    "cp",
    "mv",
    "ln",
    "touch",
    "echo",
];

/// Beginnings of the short lines of quiet builds.
const SHORT_FORMS: &[&str] = &[
    "CC", "CXX", "LD", "AR", "AS", "CCLD", "CXXLD", "GEN", "HOSTCC", "LINK", "MOC", "UIC",
];

impl Filter for Make {
    fn name(&self) -> &'static str {
        "make"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "make", "gmake", "gcc", "g++", "cc", "c++", "clang", "clang++", "just", "task",
            "scons", "bazel", "meson",
        ]
    }

    fn shows_code(&self) -> bool {
        true
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        // The code of a failure stays with its finding; on success only findings are left, and can
        // be grouped.
        let mut findings = Findings::default();
        let mut lines = input.lines().peekable();
        while let Some(line) = lines.next() {
            if sheet.ending() == KnownEnding::Success && findings.take(line, sheet) {
                continue;
            }
            let first = line.split(' ').next().unwrap_or_default();
            let program = first.rsplit('/').next().unwrap_or(first);
            let trimmed = line.trim_start();
            if COMPILERS.contains(&program) && line.contains(' ') {
                sheet.leave_known("commands", line);
            } else if line.starts_with("make[")
                && (line.contains(": Entering directory") || line.contains(": Leaving directory"))
            {
                sheet.leave("directories", line);
            } else if let Some(item) = short_form(trimmed) {
                sheet.fold("steps", item, line);
            } else if sheet.ending() == KnownEnding::Success && is_context(line) {
                sheet.leave_known("names of functions", line);
            } else if is_code(line, lines.peek().copied()) {
                sheet.leave_known("lines of code", line);
            } else if trimmed == "|" || line.is_empty() {
                sheet.skip("");
            } else {
                findings.flush(line, sheet);
                sheet.keep(line);
            }
        }
        findings.flush("", sheet);
    }
}

/// `CC      src/a.o`
fn short_form(trimmed: &str) -> Option<&str> {
    let (form, item) = trimmed.split_once(' ')?;
    SHORT_FORMS.contains(&form).then(|| item.trim_start())
}

/// `src/a.c: In function ‘main’:`: the findings below it name their places.
fn is_context(line: &str) -> bool {
    line.ends_with(':')
        && [": In function ", ": In member function ", ": At top level:"]
            .iter()
            .any(|mark| line.contains(mark))
}

/// Whether a line is source text that a diagnostic shows.
fn is_code(line: &str, next: Option<&str>) -> bool {
    let is_pointed_at = next.is_some_and(is_caret) && !is_diagnostic(line);
    let is_framed = line.starts_with(' ') && super::cargo::is_frame(line.trim_start());
    is_pointed_at || is_caret(line) || is_framed
}

/// `      ~~^~~~`: it points into the line before.
fn is_caret(line: &str) -> bool {
    line.contains('^')
        && line
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'^' | b'~' | b'\t'))
}

/// `src/a.c:3:1: warning: …`
fn is_diagnostic(line: &str) -> bool {
    [": warning: ", ": error: ", ": note: ", ": fatal error: "]
        .iter()
        .any(|mark| line.contains(mark))
}
