//! Logs in general: lines that repeat the previous line except for their time become a count.

use super::super::sheet::{KnownEnding, Sheet};
use super::{Filter, FilterInput};
use crate::invocation::Invocation;

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

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        let mut again = RepeatedLines::default();
        for line in input.lines() {
            if !again.take(line, sheet) {
                sheet.keep(line);
            }
        }
        again.close(sheet);
    }
}

/// Lines that repeat the one before, at another time.
#[derive(Default)]
pub(super) struct RepeatedLines<'a> {
    /// What the first of them says.
    first: Option<&'a str>,
    /// The timestamps of those that followed it.
    stamps: Vec<&'a str>,
}

/// A line in two parts.
#[derive(Clone, Copy)]
struct Stamped<'a> {
    /// Its date, time and process.
    stamp: &'a str,
    said: &'a str,
}

impl<'a> RepeatedLines<'a> {
    /// Takes a line that repeats the one before. The caller writes any other line.
    pub(super) fn take(&mut self, line: &'a str, sheet: &mut Sheet<'a>) -> bool {
        let next = stamped(line);
        let is_again = match (&self.first, &next) {
            (Some(first), Some(next)) => *first == next.said,
            _ => false,
        };
        if is_again {
            self.stamps.extend(next.map(|next| next.stamp));
            return true;
        }
        self.close(sheet);
        self.first = next.map(|next| next.said);
        false
    }

    /// Writes how often and when, or only how often if the run succeeded.
    pub(super) fn close(&mut self, sheet: &mut Sheet<'a>) {
        let stamps = std::mem::take(&mut self.stamps);
        self.first = None;
        if stamps.is_empty() {
            return;
        }
        if sheet.ending() == KnownEnding::Success {
            sheet.remark("lines that differ only in their time counted");
            sheet.keep(&format!(" [again ×{}, at other times]", stamps.len()));
        } else {
            let squeezed = |stamp: &&str| stamp.split_whitespace().collect::<Vec<_>>().join(" ");
            let stamps: Vec<String> = stamps.iter().map(squeezed).collect();
            sheet.keep(&format!(" [again at {}]", stamps.join(", ")));
        }
    }
}

/// A line that begins with a time: `2026-11-15 12:00:01.123 [42] `, `Nov 15 12:00:01 host x[42]: `,
/// `E1115 12:00:01.123 42 `.
fn stamped(line: &str) -> Option<Stamped<'_>> {
    let mut rest = line;
    let (mut has_time, mut has_level) = (false, false);
    // At most a handful of words can be a time, with the blanks that align them.
    for _ in 0..12 {
        let Some((word, after)) = rest.split_once(' ') else {
            break;
        };
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let is_time = digits >= 4
            && word.contains([':', '-', '/', '.'])
            && digits * 2 >= word.len() - 4.min(word.len());
        let is_number = digits > 0 && digits == word.len();
        let is_day = is_number && digits <= 2 && !has_time;
        let is_levelled = word.len() == 5 && digits == 4 && word.starts_with(['I', 'W', 'E', 'F']);
        // A process, in klog's lines; elsewhere a number may mean anything.
        let is_process = is_number && has_time && has_level;
        if !(is_time || is_day || is_process || is_levelled || MONTHS.contains(&word)) {
            break;
        }
        has_time |= is_time;
        has_level |= is_levelled;
        rest = after;
    }
    let stamp = line.get(..line.len() - rest.len())?;
    (has_time && !rest.is_empty()).then_some(Stamped { stamp, said: rest })
}

/// Words of a date that are not numbers, and the blanks between.
const MONTHS: &[&str] = &[
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "UTC", "-",
    "",
];

#[cfg(test)]
mod tests {
    use super::super::super::work::Work;
    use super::*;

    fn written(lines: &[&str], ending: KnownEnding) -> String {
        let work = Work::for_input(10_000);
        let mut sheet = Sheet::new(ending, &work);
        let mut again = RepeatedLines::default();
        for line in lines {
            if !again.take(line, &mut sheet) {
                sheet.keep(line);
            }
        }
        again.close(&mut sheet);
        sheet.finish().text
    }

    #[test]
    fn what_is_said_again_is_counted_or_listed() {
        let lines = [
            "E1115 12:57:55.502834    8868 memcache.go:265] refused",
            "E1115 12:57:55.504294    8868 memcache.go:265] refused",
            "E1115 12:57:55.508196    8869 memcache.go:265] refused",
            "the end",
        ];
        assert_eq!(
            written(&lines, KnownEnding::Careful),
            "E1115 12:57:55.502834    8868 memcache.go:265] refused\n [again at E1115 12:57:55.504294 8868, E1115 12:57:55.508196 8869]\nthe end\n"
        );
        let lines = [
            "2026-11-15 12:00:01 retry",
            "2026-11-15 12:00:02 retry",
            "2026-11-15 12:00:02 gave up",
        ];
        assert_eq!(
            written(&lines, KnownEnding::Success),
            "2026-11-15 12:00:01 retry\n [again ×1, at other times]\n2026-11-15 12:00:02 gave up\n"
        );
    }
}
