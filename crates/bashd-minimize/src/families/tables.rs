//! Tables in general: ps, df, psql, systemctl and others. Rules are removed; blanks that align
//! columns cost next to nothing.

use super::super::lossless::VisibleChanges;
use super::super::sheet::Sheet;
use super::{Filter, FilterInput};
use crate::invocation::Invocation;

pub(super) struct Tables;

impl Filter for Tables {
    fn name(&self) -> &'static str {
        "tables"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "ps",
            "df",
            "free",
            "top",
            "lsof",
            "ss",
            "netstat",
            "systemctl",
            "psql",
            "mysql",
            "sqlite",
            "lsblk",
            "mount",
            "ip",
            "vmstat",
            "iostat",
            "who",
            "w",
            "last",
            "column",
            "gh",
            "glab",
            "gcloud",
            "aws",
            "az",
            "route",
            "arp",
            "lscpu",
            "crontab",
            "getent",
        ]
    }

    fn finish(&self, _commands: &[Invocation]) -> VisibleChanges {
        VisibleChanges::Repeats
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        for line in input.lines() {
            match kernel_thread(line) {
                Some(item) => sheet.fold("kernel threads", item, line),
                None => keep_row(line, sheet),
            }
        }
    }
}

/// Keeps a row. Drops a rule.
pub(super) fn keep_row(line: &str, sheet: &mut Sheet<'_>) {
    if is_rule(line) {
        sheet.skip("");
    } else {
        sheet.keep(line);
    }
}

/// `-----+------+----`
fn is_rule(line: &str) -> bool {
    line.len() > 3
        && line.contains('-')
        && line
            .bytes()
            .all(|byte| matches!(byte, b'-' | b'+' | b' ' | b'|' | b'='))
}

/// `root  12  0.0  0.0  0  0 ?  I<  09:19  0:00 [kworker/0:0H]` uses no memory of its own.
fn kernel_thread(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let name = words.next_back()?;
    let memory = line.split_whitespace().skip(4).take(2);
    (name.starts_with('[') && name.ends_with(']') && memory.eq(["0", "0"])).then_some(name)
}
