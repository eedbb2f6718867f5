//! The first screen: what ran lately, what runs elsewhere, and the keys.

use super::{history, jobs};
use crate::render::{StyledLine, Tone};
use bashd::jobs::{Job, Jobs, Whose};
use bashd::ledger::Ledger;

/// Past commands and jobs that are shown.
const MOST: usize = 5;

/// The keys to begin with.
const KEYS: [(&str, &str); 6] = [
    ("command", "runs it, as at any prompt"),
    ("{\"command\": …", "calls as an agent would"),
    ("PgUp", "scrolls back; / searches there, y copies"),
    ("/jobs", "what runs in every bashd of yours"),
    ("/log", "what ran before; Enter opens a row"),
    ("/help", "everything else; Ctrl-D quits"),
];

/// The lines of the first screen.
pub(super) fn lines(ledger: &Ledger, jobs: &Jobs) -> Vec<StyledLine> {
    let heading = |text: &str| StyledLine::new(Tone::Command, text);
    let mut lines = vec![heading("bashd console"), StyledLine::default()];
    for (key, what) in KEYS {
        let key = StyledLine::new(Tone::Active, format!("  {key:<14} "));
        lines.push(key.and(Tone::Faint, what));
    }
    let recent = history::search(ledger, "").unwrap_or_default();
    if !recent.is_empty() {
        lines.extend([StyledLine::default(), heading("Lately")]);
        lines.extend(
            recent
                .iter()
                .take(MOST)
                .map(|record| indented(history::line(record))),
        );
    }
    let all = jobs.list(Whose::Everybody);
    let alive: Vec<&Job> = all
        .iter()
        .rev()
        .filter(|job| job.state.is_alive())
        .collect();
    if !alive.is_empty() {
        lines.extend([StyledLine::default(), heading("Running")]);
        lines.extend(alive.iter().take(MOST).map(|job| indented(jobs::line(job))));
    }
    lines.push(StyledLine::default());
    lines
}

fn indented(line: StyledLine) -> StyledLine {
    let mut indented = StyledLine::new(Tone::Plain, "  ");
    indented.0.extend(line.0);
    indented
}
