//! The table: one row a figure, its limit and its bar beside it.

use crate::measure::{Compared, Effort, Extent};
use std::time::Duration;

/// How the table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Columns for a terminal.
    Terminal,
    /// Markdown for `docs/benchmarks.md`.
    Markdown,
}

/// What a figure is held against.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bar {
    /// The ratio of the medians.
    Ratio(f64),
    /// Time beyond the limit, at the median.
    TimeOver(Duration),
    /// Memory beyond the limit.
    BytesOver(u64),
    /// Memory at all.
    Bytes(u64),
    /// Events at all.
    Count(u64),
}

/// One line of the table.
pub(crate) struct Row {
    name: String,
    /// What the limit is.
    against: String,
    ours: String,
    limit: String,
    ratio: String,
    ratio_p10: String,
    over: String,
    bar: String,
    verdict: Verdict,
}

/// How a row stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Met,
    Missed,
    /// For comparison; there is no bar.
    Information,
    /// There is no figure.
    NotMeasured,
}

const HEADINGS: [&str; 9] = [
    "workload",
    "limit is",
    "ours p50",
    "limit p50",
    "ratio p50",
    "ratio p10",
    "over",
    "bar",
    "",
];

impl Row {
    /// A duration beside the duration of its limit, judged by their ratio.
    pub(crate) fn ratio(name: &str, against: &str, compared: &Compared, bar: f64) -> Self {
        let is_met = compared.ratio.p50 <= bar;
        Self::times(name, against, compared, compared.limit.p50).judged(Bar::Ratio(bar), is_met)
    }

    /// The same, judged by the time beyond a nominal one.
    pub(crate) fn time_over(
        name: &str,
        against: &str,
        compared: &Compared,
        nominal: f64,
        bar: Duration,
    ) -> Self {
        let is_met = compared.ours.p50 - nominal <= bar.as_secs_f64();
        Self::times(name, against, compared, nominal).judged(Bar::TimeOver(bar), is_met)
    }

    /// The same, for comparison only.
    pub(crate) fn information(name: &str, against: &str, compared: &Compared) -> Self {
        Self::times(name, against, compared, compared.limit.p50)
    }

    /// Memory beside that of its limit, judged by its growth.
    pub(crate) fn growth(name: &str, against: &str, ours: u64, limit: u64, bar: u64) -> Self {
        let over = ours.saturating_sub(limit);
        Self {
            ours: bytes(ours),
            limit: bytes(limit),
            ratio: format!("{:.2}x", ours as f64 / limit as f64),
            over: format!("+{}", bytes(over)),
            ..Self::empty(name, against)
        }
        .judged(Bar::BytesOver(bar), over <= bar)
    }

    /// Memory without a limit to compare it with.
    pub(crate) fn bytes(name: &str, against: &str, ours: u64, bar: u64) -> Self {
        Self {
            ours: bytes(ours),
            ..Self::empty(name, against)
        }
        .judged(Bar::Bytes(bar), ours <= bar)
    }

    /// A number of events, whose limit is none.
    pub(crate) fn count(name: &str, against: &str, ours: u64, bar: u64) -> Self {
        Self {
            ours: ours.to_string(),
            limit: "0".into(),
            over: format!("+{ours}"),
            ..Self::empty(name, against)
        }
        .judged(Bar::Count(bar), ours <= bar)
    }

    /// A workload without a figure, and why.
    pub(crate) fn failed(name: &str, error: &anyhow::Error) -> Self {
        let reason = format!("{error:#}");
        Self {
            verdict: Verdict::NotMeasured,
            ..Self::empty(name, reason.lines().next().unwrap_or_default())
        }
    }

    fn empty(name: &str, against: &str) -> Self {
        let none = || "-".to_owned();
        Self {
            name: name.into(),
            against: against.into(),
            ours: none(),
            limit: none(),
            ratio: none(),
            ratio_p10: none(),
            over: none(),
            bar: none(),
            verdict: Verdict::Information,
        }
    }

    fn times(name: &str, against: &str, compared: &Compared, nominal: f64) -> Self {
        Self {
            ours: time(compared.ours.p50),
            limit: time(compared.limit.p50),
            ratio: format!("{:.3}x", compared.ratio.p50),
            ratio_p10: format!("{:.3}x", compared.ratio.p10),
            over: over(compared.ours.p50 - nominal),
            ..Self::empty(name, against)
        }
    }

    fn judged(self, bar: Bar, is_met: bool) -> Self {
        let bar = match bar {
            Bar::Ratio(ratio) => format!("{ratio:.2}x"),
            Bar::TimeOver(limit) => over(limit.as_secs_f64()),
            Bar::BytesOver(limit) => format!("+{}", bytes(limit)),
            Bar::Bytes(limit) => bytes(limit),
            Bar::Count(limit) => limit.to_string(),
        };
        let verdict = if is_met {
            Verdict::Met
        } else {
            Verdict::Missed
        };
        Self {
            bar,
            verdict,
            ..self
        }
    }

    fn cells(&self, extent: Extent) -> [&str; 9] {
        let verdict = match (self.verdict, extent) {
            (Verdict::NotMeasured, _) => "NOT MEASURED",
            (Verdict::Information, _) => "for comparison",
            (_, Extent::Smoke) => "not judged",
            (Verdict::Met, Extent::Full) => "met",
            (Verdict::Missed, Extent::Full) => "MISSED",
        };
        [
            &self.name,
            &self.against,
            &self.ours,
            &self.limit,
            &self.ratio,
            &self.ratio_p10,
            &self.over,
            &self.bar,
            verdict,
        ]
    }
}

/// All rows, and how they were measured.
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    pub(crate) effort: Effort,
}

impl Table {
    /// Writes the table.
    pub(crate) fn show(&self, form: Form) -> String {
        let cells = self.rows.iter().map(|row| row.cells(self.effort.extent));
        let lines: Vec<[&str; 9]> = std::iter::once(HEADINGS).chain(cells).collect();
        match form {
            Form::Terminal => columns(&lines),
            Form::Markdown => markdown(&lines),
        }
    }
}

fn columns(lines: &[[&str; 9]]) -> String {
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let shown = lines.iter().map(|line| {
        let cells = line.iter().zip(&widths).enumerate();
        let padded = cells.map(|(column, (cell, width))| {
            // Words begin, figures end, at the same column.
            if column < 2 || column == HEADINGS.len() - 1 {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn markdown(lines: &[[&str; 9]]) -> String {
    let mut shown: Vec<String> = lines
        .iter()
        .map(|line| {
            format!(
                "| {} |",
                line.map(|cell| cell.replace('|', "\\|")).join(" | ")
            )
        })
        .collect();
    shown.insert(1, "|---|---|--:|--:|--:|--:|--:|--:|---|".into());
    shown.join("\n")
}

/// A time with three digits that count.
fn time(seconds: f64) -> String {
    match seconds.abs() {
        s if s < 1e-3 => format!("{:.0} us", seconds * 1e6),
        s if s < 0.1 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.4} s"),
    }
}

fn over(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "-" } else { "+" };
    format!("{sign}{}", time(seconds.abs()))
}

fn bytes(count: u64) -> String {
    const KIB: f64 = 1024.0;
    let count = count as f64;
    if count < KIB * KIB {
        format!("{:.0} KiB", count / KIB)
    } else {
        format!("{:.1} MiB", count / KIB / KIB)
    }
}
