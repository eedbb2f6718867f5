//! `bashd log show`: everything that the ledger has about one call.

use super::{json, result};
use crate::args::LogShow;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people::{self, one_line};
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use crate::surroundings;
use anyhow::Context;
use bashd::artifact::ArtifactStore;
use bashd::ledger::{Ledger, Record, RecordQuery};

/// Shortest beginning of an id that stands for it.
const SHORTEST: usize = 4;

/// Prints one call.
pub(super) fn show(
    arguments: &LogShow,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let record = find(arguments.id.as_deref(), settings)?;
    if arguments.json {
        printer.out(&format!("{}\n", json(&record)?))?;
        return Ok(ExitStatus::Success);
    }
    let stored = ArtifactStore::of(&settings.config).list();
    let stored = stored.unwrap_or_default();
    let stored = stored.iter().find(|summary| summary.run == record.id);
    let mut page = printer.page();
    for (title, text) in rows(&record) {
        if text.is_empty() {
            continue;
        }
        let paint = match title {
            "result" if record.failed() => Some(Paint::Bad),
            "result" => Some(Paint::Good),
            _ => None,
        };
        let title = page.paint(Paint::Faint, &format!("{title:<10}"));
        page.beside(&title, 10, paint, &text)?;
    }
    // The whole command, as it was given, line by line.
    page.line("")?;
    for line in record.command.lines() {
        page.line(for_people::one_line_keeping_blanks(line))?;
    }
    if record.command_truncated {
        page.line(page.paint(Paint::Faint, "[the rest of the command is not recorded]"))?;
    }
    page.finish()?;
    if let Some(summary) = stored {
        printer.note(&format!(
            "its output is stored · read: bashd artifact read {}",
            summary.id
        ));
    }
    Ok(ExitStatus::Success)
}

/// The call of that id, of a beginning of it, or the newest.
fn find(id: Option<&str>, settings: &ConfigInForce) -> Result<Record, Failure> {
    let directory = settings.config.ledger_dir();
    let unreadable = || format!("the ledger in {} can't be read", directory.display());
    let ledger = Ledger::new(settings.config.ledger, &directory);
    let records = ledger.read(RecordQuery::default());
    let records = records
        .with_context(unreadable)
        .map_err(|chain| Failure::of(FailureKind::System, chain))?;
    let mut records = records.flatten();
    let Some(id) = id else {
        return records.next().ok_or_else(|| {
            Failure::new(FailureKind::Usage, "no calls have been recorded yet")
                .hint("bashd run COMMAND makes one")
        });
    };
    let asked = id;
    let id = id.to_ascii_uppercase();
    let is_long_enough = id.len() >= SHORTEST;
    let begins = |record: &Record| record.id.to_ascii_uppercase().starts_with(&id);
    let mut found = Vec::new();
    for record in records.filter(|record| is_long_enough && begins(record)) {
        if record.id.len() == id.len() {
            return Ok(record);
        }
        found.push(record);
    }
    let usage = |text: String| Failure::new(FailureKind::Usage, text);
    match found.len() {
        0 if !is_long_enough => Err(usage(format!("`{asked}` is too short for a call's id"))
            .hint("bashd log lists calls with their ids")),
        0 => Err(usage(format!("there is no recorded call `{asked}`"))
            .hint("bashd log lists calls with their ids")),
        1 => found.pop().ok_or_else(|| usage(String::new())),
        several => {
            let ids: Vec<&str> = found.iter().map(|record| record.id.as_str()).collect();
            Err(usage(format!("{several} calls begin with `{asked}`"))
                .hint(format!("one of: {}", ids.join(", "))))
        }
    }
}

fn rows(record: &Record) -> Vec<(&'static str, String)> {
    let time = record.time.to_zoned(surroundings::time_zone());
    let took = for_people::duration(record.wall_ms);
    let lines = for_people::count(record.output_lines, "line");
    let output = format!("{}, {lines}", for_people::size(record.output_bytes));
    let session = record.session.as_deref().map(|name| match name {
        "" => "the one without a name".to_owned(),
        name => one_line(name),
    });
    let minimized = record.minimized.as_ref().map(|minimized| {
        let shown = for_people::size(minimized.shown_bytes);
        format!("{shown} shown, by the filter {}", minimized.by)
    });
    vec![
        ("call", record.id.clone()),
        ("time", time.strftime("%Y-%m-%d %H:%M:%S %Z").to_string()),
        ("result", result(record)),
        (
            "why",
            record.error.as_deref().map(one_line).unwrap_or_default(),
        ),
        ("took", took),
        ("output", output),
        ("minimized", minimized.unwrap_or_default()),
        ("profile", one_line(&record.profile)),
        ("owner", one_line(&record.owner)),
        ("session", session.unwrap_or_default()),
        (
            "at",
            record.place.as_deref().map(one_line).unwrap_or_default(),
        ),
        ("in", one_line(&record.cwd)),
    ]
}
