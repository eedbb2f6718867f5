//! `bashd log --follow`: the calls of every bashd of this user as they happen, from the feed.

use super::result;
use crate::args::LogOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use crate::surroundings;
use anyhow::Context;
use bashd::feed::{CallBegun, CallEnded, FeedEvent, FeedPlace, FeedReader, FeedRecord};
use bashd::ledger::{Record, Timestamp};
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How long a call runs before it gets a row of its own for that.
const LONG: Duration = Duration::from_secs(2);

/// How often running calls are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A call without an end.
struct FollowedCall {
    begun: CallBegun,
    since: Timestamp,
    is_shown: bool,
}

/// What is printed, and of which calls.
struct Follower<'a> {
    arguments: &'a LogOptions,
    printer: &'a Printer,
    zone: TimeZone,
    running: BTreeMap<String, FollowedCall>,
}

/// Prints what happens until it is interrupted.
pub(super) fn follow(
    arguments: &LogOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    if !settings.config.feed {
        let why = "calls are not told: `feed.enabled` is false";
        return Err(Failure::new(FailureKind::Usage, why)
            .hint("bashd --set feed.enabled=true … switches it on"));
    }
    let mut reader = FeedReader::new(settings.config.feed_dir());
    let from = arguments.from.as_deref().map(str::parse::<FeedPlace>);
    let from = from.transpose().map_err(|why| {
        Failure::new(FailureKind::Usage, format!("--from: {why}"))
            .hint("--json prints the place of each event as `place`")
    })?;
    let failed = |chain| Failure::of(FailureKind::System, chain);
    let mut follower = Follower {
        arguments,
        printer,
        zone: surroundings::time_zone(),
        running: BTreeMap::new(),
    };
    if let Some(place) = from {
        reader = reader.from_place(place);
    } else {
        // What was before is not shown, but a call that began then may end now.
        let batch = reader.read().context("the feed can't be read");
        for (_, record) in batch.map_err(failed)?.records {
            follower.note(&record);
        }
    }
    loop {
        let batch = reader.read().context("the feed can't be read");
        let batch = batch.map_err(failed)?;
        if batch.has_gap {
            printer.warn("some calls are missing: the feed no longer has them");
        }
        for (place, record) in batch.records {
            follower.show(place, &record)?;
        }
        follower.look()?;
        let waited = reader.wait(LOOK_EVERY);
        waited
            .context("the feed can't be watched")
            .map_err(failed)?;
    }
}

impl Follower<'_> {
    /// Remembers a call until it ends; returns what was known of one that ended.
    fn note(&mut self, record: &FeedRecord) -> Option<FollowedCall> {
        match &record.event {
            FeedEvent::Begun(begun) => {
                let call = FollowedCall {
                    begun: begun.clone(),
                    since: record.time,
                    is_shown: false,
                };
                self.running.insert(record.id.clone(), call);
                None
            }
            FeedEvent::Ended(_) => self.running.remove(&record.id),
            _ => None,
        }
    }

    fn show(&mut self, place: FeedPlace, record: &FeedRecord) -> Result<(), Failure> {
        let ended = self.note(record);
        let call = ended.as_ref().or_else(|| self.running.get(&record.id));
        let is_wanted = call.is_none_or(|call| self.wants(&call.begun));
        if !is_wanted {
            return Ok(());
        }
        if self.arguments.json {
            return self.json(place, record);
        }
        match (&record.event, call) {
            (FeedEvent::Asks(asks), Some(call)) => {
                let reason = format!("{} · {}", asks.rule, asks.message);
                self.row(record.time, (Paint::Bad, "asks"), &call.begun, &reason)
            }
            (FeedEvent::Ended(ended), Some(call)) => self.end(record, ended, &call.begun),
            _ => Ok(()),
        }
    }

    fn end(&self, record: &FeedRecord, ended: &CallEnded, call: &CallBegun) -> Result<(), Failure> {
        let mut told = Record::new(record.id.as_str(), record.time, ended.outcome);
        told.exit_code = ended.exit_code;
        told.signal = ended.signal;
        if self.arguments.failed && !told.failed() {
            return Ok(());
        }
        let paint = if told.failed() {
            Paint::Bad
        } else {
            Paint::Good
        };
        let took = for_people::duration(ended.wall_ms);
        let output = for_people::size(ended.output_bytes);
        let job = ended.job.as_deref().map(|job| format!(" {job}"));
        let said = format!("{took:>6}  {output:>7}{}", job.unwrap_or_default());
        self.row(record.time, (paint, &result(&told)), call, &said)
    }

    /// Tells of calls that run for long, and of those whose process is gone.
    fn look(&mut self) -> Result<(), Failure> {
        if self.arguments.json {
            return Ok(());
        }
        let now = Timestamp::now();
        let mut rows = Vec::new();
        self.running.retain(|_, call| {
            let age = now.duration_since(call.since);
            let is_long = age.unsigned_abs() >= LONG;
            let is_alive = Path::new("/proc").join(call.begun.pid.to_string()).exists();
            if is_long && !is_alive {
                rows.push((Paint::Bad, "lost", call.begun.clone()));
            } else if is_long && !call.is_shown {
                call.is_shown = true;
                rows.push((Paint::Hint, "running", call.begun.clone()));
            }
            is_alive || !is_long
        });
        for (paint, state, call) in rows {
            if self.wants(&call) && !(self.arguments.failed && state == "running") {
                self.row(now, (paint, state), &call, "")?;
            }
        }
        Ok(())
    }

    fn wants(&self, call: &CallBegun) -> bool {
        let pattern = self.arguments.pattern.as_ref();
        pattern.is_none_or(|text| {
            let command = call.command.to_lowercase();
            command.contains(&text.to_lowercase())
        })
    }

    fn json(&self, place: FeedPlace, record: &FeedRecord) -> Result<(), Failure> {
        let line = serde_json::to_value(record).and_then(|mut line| {
            if let Some(fields) = line.as_object_mut() {
                fields.insert("place".to_owned(), place.to_string().into());
            }
            serde_json::to_string(&line)
        });
        let line = line.map_err(|error| Failure::of(FailureKind::System, error.into()))?;
        self.printer.out(&format!("{line}\n"))
    }

    fn row(
        &self,
        time: Timestamp,
        (paint, state): (Paint, &str),
        call: &CallBegun,
        said: &str,
    ) -> Result<(), Failure> {
        let mut page = self.printer.page();
        let time = time
            .to_zoned(self.zone.clone())
            .strftime("%H:%M:%S")
            .to_string();
        let owner = for_people::cut(&for_people::one_line(&call.owner), 16);
        let state = page.paint(paint, &format!("{state:<9}"));
        let command = for_people::one_line(&call.command);
        let line = format!("{time}  {owner:<16}  {state}  {said:<15}  {command}");
        page.line(match Printer::columns() {
            // Colours take no columns; a few more characters do no harm.
            Some(columns) => for_people::cut(&line, columns.max(60) + 16),
            None => line,
        })?;
        page.finish()
    }
}
