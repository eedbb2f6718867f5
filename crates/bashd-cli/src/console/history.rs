//! What ran before, as lines for people: the ledger, searched, and stored output.

use crate::for_people;
use crate::render::{self, StyledLine, Tone};
use bashd::artifact::{self, ArtifactStore, Selection};
use bashd::ledger::{Ledger, Record, RecordQuery, RecordedOutcome};

/// Bytes of stored output that are shown at most.
const MOST_BYTES: usize = 4 << 20;

/// Stored output, by its number.
pub(super) fn artifact(store: &ArtifactStore, name: &str) -> Vec<StyledLine> {
    let Some(id) = artifact::parse_id(name) else {
        return vec![StyledLine::new(
            Tone::Bad,
            "give the number of an artifact, for example 3; bashd artifact list has them",
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
            format!("artifact {id} can't be read: {error}; bashd artifact list has all"),
        )],
    }
}

/// Records that are shown at most.
const MOST: usize = 500;

/// The newest calls whose command contains this text, newest first; the error is for people.
pub(super) fn search(ledger: &Ledger, text: &str) -> Result<Vec<Record>, String> {
    let filter = RecordQuery {
        contains: Some(text.to_owned()).filter(|text| !text.is_empty()),
        ..RecordQuery::default()
    };
    match ledger.read(filter) {
        Ok(records) => Ok(records.flatten().take(MOST).collect()),
        Err(error) => Err(format!("the ledger can't be read: {error}")),
    }
}

/// A record in one line.
pub(super) fn line(record: &Record) -> StyledLine {
    let (tone, how) = outcome(record);
    let took = for_people::duration(record.wall_ms);
    StyledLine::new(Tone::Faint, format!("{}  ", time(record)))
        .and(tone, format!("{how:<10}"))
        .and(Tone::Faint, format!("  {took:>6}  "))
        .and(Tone::Command, for_people::one_line(&record.command))
}

/// Everything that a record says, and where its output is.
pub(super) fn details(record: &Record, store: &ArtifactStore) -> Vec<StyledLine> {
    let mut lines: Vec<_> = render::plain(&record.command)
        .lines()
        .map(|line| StyledLine::new(Tone::Command, line))
        .collect();
    lines.push(StyledLine::default());
    let (tone, how) = outcome(record);
    let fact = |name: &str, tone, value: &str| {
        let value = for_people::one_line(&render::plain(value));
        StyledLine::new(Tone::Faint, format!("{name:<10} ")).and(tone, value)
    };
    lines.push(fact("outcome", tone, &how));
    if let Some(error) = &record.error {
        lines.push(fact("why", Tone::Bad, error));
    }
    let session = record.session.as_deref();
    let output = format!(
        "{}, {}",
        for_people::count(record.output_lines, "line"),
        for_people::size(record.output_bytes)
    );
    let facts = [
        ("when", Some(time(record))),
        ("took", Some(for_people::duration(record.wall_ms))),
        ("directory", Some(record.cwd.clone())),
        ("client", Some(record.owner.clone())),
        ("session", session.map(ToOwned::to_owned)),
        ("profile", Some(record.profile.clone())),
        ("output", Some(output)),
        ("id", Some(record.id.clone())),
    ];
    let known = facts.into_iter().filter_map(|(name, value)| {
        let value = value.filter(|value| !value.is_empty())?;
        Some(fact(name, Tone::Plain, &value))
    });
    lines.extend(known);
    let stored = record.minimized.as_ref().and_then(|output| output.artifact);
    if let Some(number) = stored {
        lines.push(StyledLine::default());
        lines.extend(artifact(store, &number.to_string()));
    }
    lines
}

fn time(record: &Record) -> String {
    let time = record.time.to_zoned(crate::surroundings::time_zone());
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn outcome(record: &Record) -> (Tone, String) {
    match (record.outcome, record.exit_code) {
        (RecordedOutcome::Exited, Some(0)) | (RecordedOutcome::Managed, _) => {
            (Tone::Good, "done".to_owned())
        }
        (RecordedOutcome::Exited, Some(code)) => (Tone::Bad, format!("exit {code}")),
        (outcome, _) => (Tone::Warning, format!("{outcome:?}").to_lowercase()),
    }
}
