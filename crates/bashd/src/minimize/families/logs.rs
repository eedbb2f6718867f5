//! Logs in general: lines that say again what the line before said, but for their time, as a count.

use super::super::sheet::{Ending, Sheet};
use super::{Filter, Input};
use crate::minimize::invocation::Invocation;

pub(super) struct Logs;

impl Filter for Logs {
    fn name(&self) -> &'static str {
        "logs"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["journalctl", "dmesg", "logcat", "stern"]
    }

    fn knows(&self, command: &Invocation) -> bool {
        let of_container = matches!(
            command.program.as_str(),
            "docker" | "podman" | "kubectl" | "docker-compose" | "oc"
        ) && command.operands().take(2).any(|operand| operand == "logs");
        of_container || command.reads_log() || self.programs().contains(&command.program.as_str())
    }

    fn apply<'a>(&self, input: &Input<'a>, sheet: &mut Sheet<'a>) {
        let mut before: Option<(&str, u64)> = None;
        for line in input.lines() {
            match &mut before {
                Some((first, again))
                    if sheet.ending() == Ending::Success && says_the_same(first, line) =>
                {
                    *again += 1;
                }
                _ => {
                    close(before.take(), sheet);
                    sheet.keep(line);
                    before = Some((line, 0));
                }
            }
        }
        close(before, sheet);
    }
}

fn close(before: Option<(&str, u64)>, sheet: &mut Sheet<'_>) {
    if let Some((_, again)) = before.filter(|(_, again)| *again > 0) {
        sheet.remark("lines that differ from the one before only in their time are counted");
        sheet.keep(&format!(" [again ×{again}, at other times]"));
    }
}

/// Whether two lines differ only in digits of times and of process ids at their beginning.
fn says_the_same(one: &str, other: &str) -> bool {
    let (one, other) = (without_time(one), without_time(other));
    !one.is_empty() && one == other
}

/// A line after its date, time and process: `2026-11-15 12:00:01.123 [42] `, `Nov 15 12:00:01 host x[42]: `.
fn without_time(line: &str) -> &str {
    let mut rest = line;
    let mut has_time = false;
    // At most a handful of words can be a time.
    for _ in 0..6 {
        let Some((word, after)) = rest.split_once(' ') else {
            break;
        };
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let is_time = digits >= 4
            && word.contains([':', '-', '/', '.'])
            && digits * 2 >= word.len() - 4.min(word.len());
        let is_month = matches!(
            word,
            "Jan"
                | "Feb"
                | "Mar"
                | "Apr"
                | "May"
                | "Jun"
                | "Jul"
                | "Aug"
                | "Sep"
                | "Oct"
                | "Nov"
                | "Dec"
                | "UTC"
                | "-"
                | ""
        );
        let is_day = digits > 0 && digits == word.len() && digits <= 2 && !has_time;
        if !(is_time || is_month || is_day) {
            break;
        }
        has_time |= is_time;
        rest = after;
    }
    if has_time { rest } else { "" }
}
