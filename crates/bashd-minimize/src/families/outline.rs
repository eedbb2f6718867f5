//! Trees: `tree`, `cargo tree`, `npm ls`, `uv tree`. The branches that are drawn become an indent of one blank a level.

use super::super::lossless::Finish;
use super::super::sheet::Sheet;
use super::{Filter, Input};
use crate::invocation::Invocation;

pub(super) struct Outlines;

impl Filter for Outlines {
    fn name(&self) -> &'static str {
        "outlines"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["tree", "pipdeptree", "pstree"]
    }

    fn finish(&self, _commands: &[Invocation]) -> Finish {
        Finish::Repeats
    }

    fn apply<'a>(&self, input: &Input<'a>, sheet: &mut Sheet<'a>) {
        write(input, sheet);
    }
}

/// Writes a text in which trees are drawn.
pub(super) fn write<'a>(input: &Input<'a>, sheet: &mut Sheet<'a>) {
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

/// Parts of a drawn branch, each a level.
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

/// How deep a line is, and what stands there.
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
