//! How far a map is, for a person at a terminal: a bar on stderr, below everything else.
//!
//! It is removed before anything else is written, so nothing of it stays.

use crate::for_people;
use crate::print::Printer;
use bashd::map::MapCounts;
use std::time::{Duration, Instant};

/// Clears the line that the cursor is in.
const CLEAR: &str = "\r\u{1b}[K";

/// How often it is drawn at most.
const PAUSE: Duration = Duration::from_millis(100);

/// Characters of the bar.
const WIDTH: u64 = 24;

/// The bar; without a terminal there is none, and failures are lines.
pub(super) struct MapProgress<'a> {
    printer: &'a Printer,
    columns: Option<usize>,
    begun: Instant,
    drawn: Option<Instant>,
    last: Option<MapCounts>,
    is_shown: bool,
}

impl<'a> MapProgress<'a> {
    pub(super) fn new(printer: &'a Printer) -> Self {
        Self {
            printer,
            columns: Printer::err_columns(),
            begun: Instant::now(),
            drawn: None,
            last: None,
            is_shown: false,
        }
    }

    /// A line that stays.
    pub(super) fn line(&mut self, text: &str) {
        self.hide();
        self.printer.note(text);
        self.again();
    }

    /// Draws it below what made room: the next counts may be long in coming.
    pub(super) fn again(&mut self) {
        let (Some(columns), Some(counts)) = (self.columns, &self.last) else {
            return;
        };
        if !self.is_shown {
            let line = bar(counts, self.begun.elapsed());
            let line = for_people::cut(&line, columns.saturating_sub(1));
            Printer::err(&format!("{CLEAR}{line}"));
            self.drawn = Some(Instant::now());
            self.is_shown = true;
        }
    }

    /// Something was counted.
    pub(super) fn counts(&mut self, counts: &MapCounts) {
        self.last = Some(*counts);
        if self.drawn.is_none_or(|drawn| drawn.elapsed() >= PAUSE) {
            self.is_shown = false;
            self.again();
        }
    }

    /// Makes room for something else.
    pub(super) fn hide(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            Printer::err(CLEAR);
        }
    }
}

/// The bar as a line.
fn bar(counts: &MapCounts, elapsed: Duration) -> String {
    let ended = counts.ended();
    let now = ended.saturating_sub(counts.earlier);
    let rate = now as f64 / elapsed.as_secs_f64().max(0.001);
    let line = match counts.items {
        Some(items) => {
            let full = (ended * WIDTH).checked_div(items).unwrap_or(WIDTH) as usize;
            let (full, empty) = ("#".repeat(full), ".".repeat(WIDTH as usize - full));
            format!("[{full}{empty}] {ended}/{items}")
        }
        None => format!("{ended} ended"),
    };
    let mut parts = vec![
        line,
        format!("{} running", counts.running),
        format!("{rate:.0}/s"),
    ];
    if counts.failed > 0 {
        parts.push(format!("{} failed", counts.failed));
    }
    if counts.lost > 0 {
        parts.push(format!("{} lost", counts.lost));
    }
    if let Some(items) = counts.items
        && rate > 0.0
        && ended < items
    {
        let left = (items - ended) as f64 / rate;
        let left = for_people::duration((left * 1000.0) as u64);
        parts.push(format!("{left} left"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_has_counts_throughput_failures_and_the_time_that_is_left() {
        let mut counts = MapCounts::default();
        counts.done = 500;
        counts.running = 4;
        let line = bar(&counts, Duration::from_secs(1));
        assert_eq!(line, "500 ended, 4 running, 500/s");
        counts.items = Some(1000);
        counts.failed = 3;
        counts.earlier = 3;
        let line = bar(&counts, Duration::from_secs(5));
        let expected = "[############............] 503/1000, 4 running, 100/s, 3 failed, 4.9";
        assert!(line.starts_with(expected), "{line}");
        counts.items = Some(0);
        assert!(bar(&counts, Duration::ZERO).contains("503/0"));
    }
}
