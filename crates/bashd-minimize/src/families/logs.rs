//! Logs in general: lines that differ from the one before in nothing but a timestamp, which is one
//! by its form and grows, become a count with the last time.
//!
//! What changes about the times ends the count: that something stopped for half an hour, or came
//! ever more slowly, is a fact. So does another zone, or another offset from UTC: between such
//! times no difference is taken.

use super::super::names::has_kept_name;
use super::super::noise::NoiseMarks;
use super::super::trouble::is_trouble;
use super::{Filter, FilterInput};
use crate::invocation::Invocation;
use regex::Regex;
use std::sync::LazyLock;

pub(super) struct Logs;

/// Fewest lines that are worth a count.
const FEWEST: usize = 3;

/// Times between two lines are of one kind up to this factor.
const OTHER_PACE: i64 = 3;

/// Shorter times between two lines, in microseconds, are all the same: many stamps have no
/// fractions.
const SHORTEST_PACE: i64 = 1_000_000;

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

    fn mark(&self, input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
        let mut at = 0;
        while at < input.lines.len() {
            let Some(run) = run_from(input, at) else {
                at += 1;
                continue;
            };
            let again = run.lines - 1;
            let seconds = run.silence.div_euclid(1_000_000)
                + i64::from(run.silence.rem_euclid(1_000_000) > 0);
            let notice = format!(
                " [again ×{again} until {}, at most {seconds} s apart]",
                run.last
            );
            noise.leave_again(at + 1..at + run.lines, notice);
            at += run.lines;
        }
    }
}

/// Lines that say the same at growing times.
struct TimedRun<'a> {
    lines: usize,
    /// The last time, as it is written.
    last: &'a str,
    /// The longest time between two of them, in microseconds.
    silence: i64,
}

fn run_from<'a>(input: &FilterInput<'a>, at: usize) -> Option<TimedRun<'a>> {
    let first = input.lines.get(at)?;
    let Stamped {
        time: mut before,
        zone,
        said,
        ..
    } = stamped(first)?;
    let mut pace: Option<(i64, i64)> = None;
    let mut run = TimedRun {
        lines: 1,
        last: "",
        silence: 0,
    };
    for line in input.lines.iter().skip(at + 1) {
        if !input.work.charge(line.len()) {
            break;
        }
        // The text is compared first: it is almost always another.
        let Some(next) = line
            .ends_with(said)
            .then(|| stamped(line))
            .flatten()
            .filter(|next| next.said == said && next.zone == zone)
        else {
            break;
        };
        let silence = next.time - before;
        let of_pace = silence.max(SHORTEST_PACE);
        let (least, most) = pace.unwrap_or((of_pace, of_pace));
        if silence < 0 || of_pace > least * OTHER_PACE || of_pace * OTHER_PACE < most {
            break;
        }
        pace = Some((least.min(of_pace), most.max(of_pace)));
        run.silence = run.silence.max(silence);
        run.last = next.stamp;
        run.lines += 1;
        before = next.time;
    }
    let is_noise = run.lines > FEWEST && !is_trouble(first) && !has_kept_name(first);
    is_noise.then_some(run)
}

/// Timestamps at the beginning of a line: ISO 8601 and its likes, syslog, klog.
static STAMP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)^\[?(?:
            (?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T\ ](?P<iso>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?(?:\ (?P<half>[AaPp]\.?[Mm]\.?))?(?P<zone>Z|\ ?[+-]\d\d:?\d\d|\ (?:UTC|[A-Z]{1,4}T))?
          | (?P<name>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\ (?P<date>[\ \d]\d)\ (?P<syslog>\d\d:\d\d:\d\d)
          | I(?P<kmonth>\d\d)(?P<kday>\d\d)\ (?P<klog>\d\d:\d\d:\d\d)\.(?P<kfraction>\d{6})
        )\]?\ ",
    )
    .ok()
});

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// A line with its time.
struct Stamped<'a> {
    /// In microseconds.
    time: i64,
    /// How it is written.
    stamp: &'a str,
    /// Its zone or offset, as it is written.
    zone: Option<&'a str>,
    /// What follows it.
    said: &'a str,
}

/// The time of a line, and what follows.
fn stamped(line: &str) -> Option<Stamped<'_>> {
    let captures = STAMP.as_ref()?.captures(line)?;
    let whole = captures.get(0)?;
    let said = line
        .get(whole.end()..)
        .filter(|said| !said.trim().is_empty())?;
    let group = |name: &str| captures.name(name).map(|found| found.as_str());
    let number = |name: &str| group(name).and_then(|text| text.trim().parse::<i64>().ok());
    let month = number("month").or_else(|| number("kmonth")).or_else(|| {
        let name = group("name")?;
        let at = MONTHS.iter().position(|month| *month == name)?;
        Some(at as i64 + 1)
    })?;
    let day = number("day")
        .or_else(|| number("kday"))
        .or_else(|| number("date"))?;
    let clock = group("iso")
        .or_else(|| group("syslog"))
        .or_else(|| group("klog"))?;
    let mut parts = clock
        .split(':')
        .map(|part| part.parse::<i64>().unwrap_or(99));
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let hour = match group("half") {
        // 12 is the hour before 1.
        Some(half) if (1..=12).contains(&hour) => {
            hour % 12 + if half.starts_with(['P', 'p']) { 12 } else { 0 }
        }
        Some(_) => return None,
        None => hour,
    };
    let is_real = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !is_real {
        return None;
    }
    let fraction = group("fraction")
        .or_else(|| group("kfraction"))
        .unwrap_or("0");
    let fraction = format!("{fraction:0<6}");
    let micros = fraction.get(..6)?.parse::<i64>().ok()?;
    // Days are counted as if every month had 31: that keeps their order, and makes a silence across
    // the end of a month look longer, never shorter.
    let days = (number("year").unwrap_or(0) * 12 + month) * 31 + day;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    let stamp = whole.as_str().trim_matches([' ', '[', ']']);
    Some(Stamped {
        time: seconds * 1_000_000 + micros,
        stamp,
        zone: group("zone"),
        said,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::work::Work;
    use super::*;

    fn kept(lines: &[&str]) -> String {
        let work = Work::for_input(100_000);
        let mut noise = NoiseMarks::new(lines, &work);
        let input = FilterInput {
            lines,
            commands: &[],
            work: &work,
        };
        Logs.mark(&input, &mut noise);
        noise
            .finish(true)
            .map_or_else(|| lines.join("\n") + "\n", |kept| kept.text)
    }

    #[test]
    fn what_is_said_again_is_counted_with_its_last_time() {
        let lines = [
            "2026-11-15T12:00:01.5 retry",
            "2026-11-15T12:00:02 retry",
            "2026-11-15T12:00:04 retry",
            "2026-11-15T12:00:06 retry",
            "2026-11-15T12:00:06 gave up",
        ];
        assert_eq!(
            kept(&lines),
            "2026-11-15T12:00:01.5 retry\n [again ×3 until 2026-11-15T12:00:06, at most 2 s apart]\n2026-11-15T12:00:06 gave up\n"
        );
    }

    #[test]
    fn a_long_silence_is_seen() {
        let beat = |time: &str| format!("Nov 17 {time} web app[7]: heartbeat ok");
        let times = [
            "10:00:00", "10:00:10", "10:00:20", "10:00:30", "10:33:40", "10:33:50", "10:34:00",
            "10:34:10",
        ];
        let lines: Vec<String> = times.iter().map(|time| beat(time)).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let shown = kept(&lines);
        assert!(
            shown.contains("×3 until Nov 17 10:00:30, at most 10 s"),
            "{shown}"
        );
        assert!(shown.contains("\nNov 17 10:33:40 web"), "{shown}");
    }

    fn timed(times: &[&str]) -> String {
        let lines: Vec<String> = times
            .iter()
            .map(|time| format!("{time} worker[7]: heartbeat ok"))
            .collect();
        kept(&lines.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The night of the clock change: an hour and a minute are no minute.
    #[test]
    fn another_offset_ends_the_count() {
        let shown = timed(&[
            "2025-10-26T02:57:00+02:00",
            "2025-10-26T02:58:00+02:00",
            "2025-10-26T02:59:00+02:00",
            "2025-10-26T02:59:30+02:00",
            "2025-10-26T03:00:00+01:00",
            "2025-10-26T03:01:00+01:00",
            "2025-10-26T03:02:00+01:00",
            "2025-10-26T03:03:00+01:00",
        ]);
        assert_eq!(
            shown,
            "2025-10-26T02:57:00+02:00 worker[7]: heartbeat ok\n [again ×3 until 2025-10-26T02:59:30+02:00, at most 60 s apart]\n2025-10-26T03:00:00+01:00 worker[7]: heartbeat ok\n [again ×3 until 2025-10-26T03:03:00+01:00, at most 60 s apart]\n"
        );
        for zones in [["Z", ""], [" UTC", " CET"], [" +0200", " +0100"]] {
            let times = (0..8).map(|at| format!("2025-10-26 03:00:0{at}{}", zones[at / 4]));
            let times: Vec<String> = times.collect();
            let shown = timed(&times.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(shown.matches("again ×3").count(), 2, "{shown}");
            assert!(
                shown.contains(&format!("03:00:03{}, at", zones[0])),
                "{shown}"
            );
        }
    }

    #[test]
    fn the_half_of_the_day_is_part_of_the_time() {
        let shown = timed(&[
            "2025-11-02 12:59:40 PM",
            "2025-11-02 12:59:50 PM",
            "2025-11-02 01:00:00 PM",
            "2025-11-02 01:00:10 PM",
        ]);
        assert!(
            shown.contains("[again ×3 until 2025-11-02 01:00:10 PM, at most 10 s apart]"),
            "{shown}"
        );
        let shown = timed(&[
            "2025-11-02 01:00:00 AM",
            "2025-11-02 01:00:10 AM",
            "2025-11-02 01:00:20 PM",
            "2025-11-02 01:00:30 PM",
        ]);
        assert!(!shown.contains("again"), "{shown}");
    }

    /// Each silence is only a little longer than the one before.
    #[test]
    fn a_slow_down_is_seen() {
        let mut second = 0;
        let mut times = Vec::new();
        for pace in [2; 20].into_iter().chain(3..43).chain([2; 20]) {
            second += pace;
            times.push(format!(
                "2025-11-02T10:{:02}:{:02}Z",
                second / 60,
                second % 60
            ));
        }
        let shown = timed(&times.iter().map(String::as_str).collect::<Vec<_>>());
        let paces: Vec<&str> = shown
            .split("at most ")
            .skip(1)
            .filter_map(|rest| rest.split(" s").next())
            .collect();
        assert_eq!(paces, ["6", "24", "42", "2"], "{shown}");
    }

    #[test]
    fn nothing_but_a_growing_time_may_differ() {
        for lines in [
            [
                "10.0.0.1 - - GET /",
                "10.0.0.2 - - GET /",
                "10.0.0.3 - - GET /",
                "10.0.0.4 - - GET /",
            ],
            [
                "1.2345 loss of step",
                "1.2344 loss of step",
                "1.2343 loss of step",
                "1.2342 loss of step",
            ],
            [
                "2026-11-15 12:00:04 retry",
                "2026-11-15 12:00:03 retry",
                "2026-11-15 12:00:02 retry",
                "2026-11-15 12:00:01 retry",
            ],
            [
                "2026-11-15 12:00:01 host a[1]: up",
                "2026-11-15 12:00:02 host a[2]: up",
                "2026-11-15 12:00:03 host a[3]: up",
                "2026-11-15 12:00:04 host a[4]: up",
            ],
            [
                "2026-99-15 12:00:01 up",
                "2026-99-15 12:00:02 up",
                "2026-99-15 12:00:03 up",
                "2026-99-15 12:00:04 up",
            ],
            [
                "2026-11-15 12:00:01 an error",
                "2026-11-15 12:00:02 an error",
                "2026-11-15 12:00:03 an error",
                "2026-11-15 12:00:04 an error",
            ],
        ] {
            assert_eq!(kept(&lines), lines.join("\n") + "\n");
        }
    }
}
