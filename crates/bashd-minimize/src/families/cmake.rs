//! cmake, ninja, ctest: probes, steps, passed tests.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput};

pub(super) struct Cmake;

impl Filter for Cmake {
    fn name(&self) -> &'static str {
        "cmake"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["cmake", "ninja", "ctest", "cpack"]
    }

    fn shows_code(&self) -> bool {
        true
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        for line in input.lines() {
            let trimmed = line.trim_start();
            if let Some(item) = step(line) {
                sheet.fold("steps", item, line);
            } else if is_probe(line) {
                sheet.leave("probes", line);
            } else if let Some(item) = passed(trimmed) {
                sheet.fold("passed", item, line);
            } else if let Some((_, item)) = trimmed
                .strip_prefix("Start ")
                .and_then(|rest| rest.split_once(": "))
            {
                sheet.fold("started", item, line);
            } else if is_command(line) {
                sheet.leave_known("commands", line);
            } else if super::cargo::is_frame(trimmed) && line.starts_with(' ') {
                sheet.leave_known("lines of code", line);
            } else if line.is_empty() || trimmed == "|" {
                sheet.skip("");
            } else {
                sheet.keep(line);
            }
        }
    }
}

/// `[ 10%] Building C object …`, `[3/45] Building …`, `[100%] Built target app`
fn step(line: &str) -> Option<&str> {
    let (count, item) = line.strip_prefix('[')?.split_once("] ")?;
    let is_count = count
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'/' | b'%' | b' '));
    let item = [
        "Building C object ",
        "Building CXX object ",
        "Linking C executable ",
        "Linking CXX executable ",
        "Built target ",
    ]
    .iter()
    .find_map(|start| item.strip_prefix(start))
    .unwrap_or(item);
    is_count.then_some(item)
}

fn is_probe(line: &str) -> bool {
    let probes = [
        "Check for working ",
        "Detecting ",
        "Looking for ",
        "Performing Test ",
        "The C compiler",
        "The CXX compiler",
        "Checking ",
    ];
    line.strip_prefix("-- ")
        .is_some_and(|rest| probes.iter().any(|probe| rest.starts_with(probe)))
}

/// ` 1/12 Test  #1: shapes.area.1 ....   Passed    0.00 sec`
fn passed(trimmed: &str) -> Option<&str> {
    let (_, rest) = trimmed.split_once(" Test ")?;
    let (_, rest) = rest.split_once(": ")?;
    let (name, result) = rest.split_once(' ')?;
    result
        .trim_start_matches(['.', ' '])
        .starts_with("Passed")
        .then_some(name)
}

/// What a verbose build runs.
fn is_command(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    first.starts_with("/usr/bin/") && line.contains(' ')
        || line.starts_with("cd /")
        || line.starts_with("make[")
        || line.starts_with("gmake[")
}
