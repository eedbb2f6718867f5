//! `bashd log`: what ran before, from the ledger, as a table or as JSON lines; and what runs now.

mod follow;
mod show;
mod table;

use crate::args::{LogAction, LogOptions};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::past;
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use crate::surroundings;
use anyhow::Context;
use bashd::ledger::{Ledger, Record, RecordQuery, RecordedOutcome, Timestamp, Which};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan, Zoned};
use std::path::Path;
use table::LogTable;

/// A ledger of fewer bytes is read as quickly as an index.
const WORTH_AN_INDEX: u64 = 8 << 20;

/// Prints records: the newest last at a terminal, and else first.
pub(crate) fn log(
    arguments: &LogOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    if let Some(LogAction::Show(asked)) = &arguments.action {
        return show::show(asked, settings, printer);
    }
    if arguments.verify {
        return verify(settings, printer);
    }
    if arguments.follow {
        return follow::follow(arguments, settings, printer);
    }
    let zone = surroundings::time_zone();
    let filter = RecordQuery {
        which: if arguments.failed {
            Which::Failed
        } else {
            Which::All
        },
        since: match &arguments.since {
            Some(when) => Some(since(when, &Timestamp::now().to_zoned(zone.clone()))?),
            None => None,
        },
        until: match &arguments.until {
            Some(when) => Some(since(when, &Timestamp::now().to_zoned(zone.clone()))?),
            None => None,
        },
        contains: arguments.pattern.clone(),
        owner: arguments.wanted.client.clone(),
        session: arguments.wanted.session.clone(),
        outcome: arguments.wanted.outcome,
        at_least: arguments.wanted.longer,
        at_most: arguments.wanted.shorter,
        least_bytes: arguments.wanted.larger,
        most_bytes: arguments.wanted.smaller,
    };
    let (mut found, damaged) = found(filter, arguments.limit, settings, printer)?;
    // At a terminal the newest is where the eye is: above the prompt.
    if Printer::is_terminal() && !arguments.json {
        found.reverse();
    }
    let mut page = printer.list();
    let table = LogTable::of(zone);
    if !arguments.json && !found.is_empty() {
        table.title(&mut page)?;
    }
    for record in &found {
        if arguments.json {
            page.line(json(record)?)?;
        } else {
            table.row(&mut page, record)?;
        }
    }
    page.finish()?;
    if damaged > 0 {
        let lines = for_people::count(damaged, "damaged line");
        printer.warn(&format!("skipped {lines} of the ledger"));
    }
    if found.is_empty() && !arguments.json {
        printer.note(&nothing_found(arguments, settings));
    } else if Printer::is_terminal() && !arguments.json {
        printer.note("more about a call: bashd log show ID");
    }
    Ok(ExitStatus::Success)
}

/// The calls that are wanted, newest first, and how many lines were skipped.
fn found(
    filter: RecordQuery,
    limit: usize,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<(Vec<Record>, u64), Failure> {
    let directory = settings.config.ledger_dir();
    let most = if limit == 0 { usize::MAX } else { limit };
    // The newest are at the end of a file; who looks for something else asks the index.
    if !filter.is_all()
        && size_of(&directory) >= WORTH_AN_INDEX
        && let Some(page) = past::by_index(&settings.config, &filter, most)
    {
        return Ok((page.records, page.damaged));
    }
    let unreadable = || format!("the ledger in {} can't be read", directory.display());
    let ledger = Ledger::new(settings.config.ledger, &directory);
    let mut records = ledger
        .read(filter)
        .with_context(unreadable)
        .map_err(|chain| Failure::of(FailureKind::System, chain))?;
    let mut found = Vec::new();
    for record in records.by_ref().take(most) {
        match record {
            Ok(record) => found.push(record),
            Err(error) => printer.warn(&error.to_string()),
        }
    }
    Ok((found, records.damaged()))
}

/// Bytes of the ledger's months.
fn size_of(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let months = files.filter(|file| file.path().extension().is_some_and(|end| end == "jsonl"));
    months
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum()
}

/// Says whether records are as they were written, and what is not.
fn verify(settings: &ConfigInForce, printer: &Printer) -> Result<ExitStatus, Failure> {
    let state = &settings.config.state_dir;
    let unreadable = || format!("the records in {} can't be checked", state.display());
    let found = bashd::records::verify(&settings.config)
        .with_context(unreadable)
        .map_err(|chain| Failure::of(FailureKind::System, chain))?;
    let mut page = printer.page();
    for problem in &found.problems {
        page.line(page.paint(Paint::Bad, problem))?;
    }
    let records = for_people::count(found.records, "record");
    let chains = for_people::count(found.chains, "chain");
    let sealed = for_people::count(found.sealed, "seal");
    page.line(format_args!(
        "checked {records} in {chains}, and {sealed} of jobs and artifacts"
    ))?;
    if found.unsealed > 0 {
        let unsealed = for_people::count(found.unsealed, "record");
        page.line(format_args!(
            "not checked: {unsealed} of a bashd that made no seals"
        ))?;
    }
    page.finish()?;
    Ok(if found.problems.is_empty() {
        ExitStatus::Success
    } else {
        ExitStatus::Unfit
    })
}

fn json(record: &Record) -> Result<String, Failure> {
    serde_json::to_string(record).map_err(|error| Failure::of(FailureKind::System, error.into()))
}

fn is_filtered(arguments: &LogOptions) -> bool {
    let wanted = &arguments.wanted;
    let texts = [
        &arguments.since,
        &arguments.until,
        &arguments.pattern,
        &wanted.client,
        &wanted.session,
    ];
    arguments.failed
        || texts.iter().any(|text| text.is_some())
        || wanted.outcome.is_some()
        || wanted.longer.or(wanted.shorter).is_some()
        || wanted.larger.or(wanted.smaller).is_some()
}

fn nothing_found(arguments: &LogOptions, settings: &ConfigInForce) -> String {
    if is_filtered(arguments) {
        "no recorded call matches · all of them: bashd log --limit 0".to_owned()
    } else if settings.config.ledger.enabled {
        "no calls have been recorded yet · make one: bashd run COMMAND".to_owned()
    } else {
        "no calls are recorded: `ledger.enabled` is false · change it: bashd config edit".to_owned()
    }
}

/// Parses a time, a date, the name of a day, or an age.
pub(crate) fn since(when: &str, now: &Zoned) -> Result<Timestamp, Failure> {
    let at_midnight = |date: Date| date.to_zoned(now.time_zone().clone());
    let understood = if let Ok(time) = when.parse::<Timestamp>() {
        Ok(time.to_zoned(TimeZone::UTC))
    } else if when == "today" {
        at_midnight(now.date())
    } else if when == "yesterday" {
        now.date().checked_sub(1.day()).and_then(at_midnight)
    } else if let Ok(time) = when.parse::<DateTime>() {
        time.to_zoned(now.time_zone().clone())
    } else {
        when.parse::<Span>()
            .and_then(|span| now.checked_sub(span.abs()))
    };
    understood.map(|zoned| zoned.timestamp()).map_err(|_| {
        Failure::new(
            FailureKind::Usage,
            format!("--since can't use {when:?} as a time"),
        )
        .hint("give an age (90m, 2h, 3d), today, yesterday, or a date (2026-08-01)")
    })
}

/// How a call ended, in at most nine columns.
pub(crate) fn result(record: &Record) -> String {
    match (record.outcome, record.exit_code, record.signal) {
        (RecordedOutcome::Exited, Some(code), _) => format!("exit {code}"),
        (RecordedOutcome::Signalled, _, Some(signal)) => format!("signal {signal}"),
        (RecordedOutcome::Exited, None, _) => "exit ?".to_owned(),
        (RecordedOutcome::Signalled, _, None) => "signal ?".to_owned(),
        (RecordedOutcome::TimedOut, ..) => "timed out".to_owned(),
        (RecordedOutcome::Cancelled, ..) => "cancelled".to_owned(),
        (RecordedOutcome::Background, ..) => "job".to_owned(),
        (RecordedOutcome::GoesOn, ..) => "goes on".to_owned(),
        (RecordedOutcome::Denied, ..) => "denied".to_owned(),
        (RecordedOutcome::Refused, ..) => "refused".to_owned(),
        (RecordedOutcome::Failed, ..) => "failed".to_owned(),
        (RecordedOutcome::Managed, ..) => "done".to_owned(),
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_in_time_are_understood() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let now = "2026-08-04T10:00:00Z"
            .parse::<Timestamp>()
            .unwrap()
            .to_zoned(zone);
        for (when, expected) in [
            ("90m", "2026-08-04T08:30:00Z"),
            ("2h", "2026-08-04T08:00:00Z"),
            ("3d", "2026-08-01T10:00:00Z"),
            ("2 weeks", "2026-07-21T10:00:00Z"),
            ("1h 30m ago", "2026-08-04T08:30:00Z"),
            ("today", "2026-08-03T22:00:00Z"),
            ("yesterday", "2026-08-02T22:00:00Z"),
            ("2026-08-01", "2026-07-31T22:00:00Z"),
            ("2026-08-01 10:30", "2026-08-01T08:30:00Z"),
            ("2026-08-01T10:30:00Z", "2026-08-01T10:30:00Z"),
        ] {
            assert_eq!(
                since(when, &now).unwrap(),
                expected.parse().unwrap(),
                "{when}"
            );
        }
        for nonsense in ["", "soon", "3", "-", "2026-13-01", "99999999d", "1e9h"] {
            assert_eq!(
                since(nonsense, &now).unwrap_err().kind(),
                FailureKind::Usage,
                "{nonsense}"
            );
        }
    }
}
