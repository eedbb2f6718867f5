//! ansible: hosts on which nothing had to be done.

use super::super::sheet::{Noise, Sheet};
use super::{Filter, Input};

pub(super) struct Ansible;

impl Filter for Ansible {
    fn name(&self) -> &'static str {
        "ansible"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["ansible", "ansible-playbook", "ansible-galaxy", "molecule"]
    }

    fn apply<'a>(&self, input: &Input<'a>, sheet: &mut Sheet<'a>) {
        for line in input.lines() {
            if let Some(item) = alone(line, "ok: [") {
                sheet.join(Noise { kind: "ok", item }, line);
            } else if let Some(item) = alone(line, "changed: [") {
                sheet.join(
                    Noise {
                        kind: "changed",
                        item,
                    },
                    line,
                );
            } else if let Some(item) = alone(line, "skipping: [") {
                sheet.join(
                    Noise {
                        kind: "skipping",
                        item,
                    },
                    line,
                );
            } else if line.is_empty() {
                sheet.skip("");
            } else {
                sheet.keep(line);
            }
        }
    }
}

/// The host of a line that says nothing else.
fn alone<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    line.strip_prefix(start)?.strip_suffix(']')
}
