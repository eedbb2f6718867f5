//! What ran before, as lines for people: the ledger, searched, and stored output.

use crate::for_people;
use crate::render::{self, StyledLine, Tone};
use bashd::artifact::{self, ArtifactStore, Selection};
use bashd::ledger::{Ledger, RecordQuery, RecordedOutcome};

/// Bytes of stored output that are shown at most.
const MOST_BYTES: usize = 4 << 20;

/// Stored output, by its number.
pub(super) fn artifact(store: &ArtifactStore, name: &str) -> Vec<StyledLine> {
    let Some(id) = artifact::parse_id(name) else {
        return vec![StyledLine::new(
            Tone::Bad,
            "give the number of an artifact, for example 3",
        )];
    };
    let read = store
        .open(id)
        .and_then(|stored| stored.passage(&Selection::default(), MOST_BYTES));
    match read {
        Ok(excerpt) => {
            let text = render::plain(&excerpt.text);
            text.lines()
                .map(|line| StyledLine::new(Tone::Plain, line))
                .collect()
        }
        Err(error) => vec![StyledLine::new(
            Tone::Bad,
            format!("artifact {id} can't be read: {error}"),
        )],
    }
}

/// Records that are shown at most.
const MOST: usize = 500;

/// The calls whose command contains this text, newest first.
pub(super) fn search(ledger: &Ledger, text: &str) -> Vec<StyledLine> {
    let filter = RecordQuery {
        contains: Some(text.to_owned()).filter(|text| !text.is_empty()),
        ..RecordQuery::default()
    };
    let records = match ledger.read(filter) {
        Ok(records) => records,
        Err(error) => {
            return vec![StyledLine::new(
                Tone::Bad,
                format!("the ledger can't be read: {error}"),
            )];
        }
    };
    let zone = crate::surroundings::time_zone();
    let lines: Vec<StyledLine> = records
        .flatten()
        .take(MOST)
        .map(|record| {
            let time = record.time.to_zoned(zone.clone());
            let time = time.strftime("%Y-%m-%d %H:%M:%S").to_string();
            let (tone, how) = match (record.outcome, record.exit_code) {
                (RecordedOutcome::Exited, Some(0)) => (Tone::Good, "done".to_owned()),
                (RecordedOutcome::Exited, Some(code)) => (Tone::Bad, format!("exit {code}")),
                (outcome, _) => (Tone::Warning, format!("{outcome:?}").to_lowercase()),
            };
            let took = for_people::duration(record.wall_ms);
            StyledLine::new(Tone::Faint, format!("{time}  "))
                .and(tone, format!("{how:<9}"))
                .and(Tone::Faint, format!("  {took:>6}  "))
                .and(Tone::Command, for_people::one_line(&record.command))
        })
        .collect();
    if lines.is_empty() {
        return vec![StyledLine::new(
            Tone::Faint,
            "no recorded command contains this text",
        )];
    }
    lines
}
