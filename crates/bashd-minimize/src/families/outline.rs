//! Trees: `tree`, `cargo tree`, `npm ls`, `uv tree`. Drawn branches become an indent of one blank
//! per level.

use super::super::lossless::VisibleChanges;
use super::super::sheet::Sheet;
use super::{Filter, FilterInput};
use crate::invocation::Invocation;

pub(super) struct Outlines;

impl Filter for Outlines {
    fn name(&self) -> &'static str {
        "outlines"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["tree", "pipdeptree", "pstree"]
    }

    fn finish(&self, _commands: &[Invocation]) -> VisibleChanges {
        VisibleChanges::Repeats
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        write(input, sheet);
    }
}

/// Writes a text that contains drawn trees.
pub(super) fn write<'a>(input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
    sheet.remark("branches as indents");
    for line in input.lines() {
        let (level, name) = level(line);
        if name.ends_with(" deduped") {
            sheet.leave("deduped packages", line);
        } else if level == 0 {
            sheet.keep(line);
        } else {
            sheet.keep(&format!("{:level$}{name}", ""));
        }
    }
}

/// Parts of a drawn branch, one per level.
const PARTS: &[&str] = &[
    "├── ",
    "└── ",
    "│   ",
    "├─┬ ",
    "└─┬ ",
    "│ ",
    "├─ ",
    "└─ ",
    "|-- ",
    "`-- ",
    "|   ",
    "│\u{a0}\u{a0} ",
    "+-- ",
    "+- ",
    "\\- ",
    "|  ",
];

/// How deep a line is, and its text.
fn level(line: &str) -> (usize, &str) {
    let mut rest = line;
    let mut level = 0;
    let mut is_drawn = false;
    loop {
        if let Some(after) = PARTS.iter().find_map(|part| rest.strip_prefix(part)) {
            rest = after;
            is_drawn = true;
        } else if let Some(after) = rest
            .strip_prefix("    ")
            .or_else(|| rest.strip_prefix("  "))
        {
            rest = after;
        } else {
            break;
        }
        level += 1;
    }
    if is_drawn { (level, rest) } else { (0, line) }
}
