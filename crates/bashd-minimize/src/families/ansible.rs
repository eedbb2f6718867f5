//! ansible: hosts on which nothing had to be done.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput};

pub(super) struct Ansible;

impl Filter for Ansible {
    fn name(&self) -> &'static str {
        "ansible"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["ansible", "ansible-playbook", "ansible-galaxy", "molecule"]
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        for line in input.lines() {
            if let Some(item) = alone(line, "ok: [") {
                sheet.join("ok", item, line);
            } else if let Some(item) = alone(line, "changed: [") {
                sheet.join("changed", item, line);
            } else if let Some(item) = alone(line, "skipping: [") {
                sheet.join("skipping", item, line);
            } else if line.is_empty() || is_drawing(line) {
                sheet.skip("");
            } else if let Some(said) = line
                .strip_prefix("< ")
                .and_then(|line| line.strip_suffix(" >"))
            {
                sheet.keep(said.trim_end());
            } else {
                sheet.keep(line);
            }
        }
    }
}

/// The cow that announces tasks if `cowsay` is installed, and the edges of its balloon.
fn is_drawing(line: &str) -> bool {
    let cow = [
        r"\   ^__^",
        r"\  (oo)\_______",
        r"(__)\       )\/\",
        "||----w |",
        "||     ||",
    ];
    let trimmed = line.trim();
    let is_edge = line.starts_with(' ') && trimmed.bytes().all(|byte| matches!(byte, b'_' | b'-'));
    is_edge || cow.contains(&trimmed)
}

/// The host of a line that says nothing else.
fn alone<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    line.strip_prefix(start)?.strip_suffix(']')
}
