//! `bashd artifact`: lists, reads and removes stored output.

use crate::args::{ArtifactList, ArtifactRead, ArtifactRm};
use crate::exit_status::ExitStatus;
use crate::failure::{self, Failure, FailureKind};
use crate::for_people;
use crate::print::{BufferedStdout, CommandOutput, Paint, Printer};
use crate::runtime;
use crate::settings::ConfigInForce;
use crate::surroundings;
use anyhow::Context;
use bashd::artifact::{ArtifactStore, Grep, Item, Range, Selection, Summary};
use bashd::ledger::{Ledger, RecordQuery, Timestamp};
use bashd::output::text::Decoder;
use bashd::place::StoredThere;
use bashd::{Engine, KeeperSource};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;

/// Prints what is stored, oldest first.
pub(crate) fn list(
    arguments: &ArtifactList,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let stored = ArtifactStore::of(&settings.config).list();
    let stored = stored
        .context("the stored output can't be listed")
        .map_err(|chain| Failure::of(FailureKind::System, chain))?;
    let commands = commands(&stored, settings);
    let mut page = printer.list();
    if arguments.json {
        for summary in &stored {
            let mut value = serde_json::to_value(summary).map_err(broken)?;
            value["command"] = json!(commands.get(&*summary.run));
            page.line(value)?;
        }
    } else if stored.is_empty() {
        printer
            .note("nothing is stored: that is done with output that a reply does not show in full");
    } else {
        let columns = Printer::columns().filter(|_| Printer::is_terminal());
        let head = match columns {
            Some(_) => format!("{:>6}  {:<19}  {:>8}  COMMAND", "ID", "TIME", "SIZE"),
            None => format!(
                "{:>6}  {:<19}  {:>8}  {:>10}  {:>8}  {:<8}  {:<13}  {:<20}  {}",
                "ID", "TIME", "SIZE", "LINES", "DROPPED", "PROFILE", "KIND", "RUN", "COMMAND"
            ),
        };
        let head = page.paint(Paint::Title, &head);
        page.line(head)?;
        for summary in &stored {
            let command = commands.get(&*summary.run).map_or("?", String::as_str);
            let command = for_people::one_line(command);
            match columns {
                Some(columns) => block(&mut page, summary, &command, columns)?,
                None => page.line(row(summary, &command))?,
            }
        }
    }
    page.finish()?;
    Ok(ExitStatus::Success)
}

/// The commands whose output is stored, by their runs, as far as the ledger has them.
fn commands<'a>(stored: &'a [Summary], settings: &ConfigInForce) -> BTreeMap<&'a str, String> {
    let mut found = BTreeMap::new();
    let mut wanted: BTreeSet<&str> = stored.iter().map(|summary| &*summary.run).collect();
    let ledger = Ledger::new(settings.config.ledger, settings.config.ledger_dir());
    let Ok(mut records) = ledger.read(RecordQuery::default()) else {
        return found;
    };
    while !wanted.is_empty()
        && let Some(record) = records.next()
    {
        if let Ok(record) = record
            && let Some(run) = wanted.take(&*record.id)
        {
            found.insert(run, record.command);
        }
    }
    found
}

/// An artifact at a terminal: what one looks for, and below it the rest.
fn block(
    page: &mut BufferedStdout,
    summary: &Summary,
    command: &str,
    columns: usize,
) -> Result<(), Failure> {
    let before = format!(
        "{:>6}  {}  {:>8}  ",
        summary.id,
        time(summary),
        for_people::size(summary.bytes)
    );
    for line in for_people::entry(&before, 6 + 2 + 19 + 2 + 8 + 2, command, columns) {
        page.line(line)?;
    }
    let lines = for_people::count(summary.lines, "line");
    let dropped = for_people::size(summary.dropped_bytes);
    let about = format!(
        "{lines}, {dropped} dropped · {} · {} · {}",
        for_people::one_line(&summary.profile),
        summary.kind.name(),
        summary.run
    );
    for line in for_people::wrapped(&about, 4, Some(columns)) {
        page.line(page.paint(Paint::Faint, &format!("    {line}")))?;
    }
    Ok(())
}

fn row(summary: &Summary, command: &str) -> String {
    format!(
        "{:>6}  {}  {:>8}  {:>10}  {:>8}  {:<8}  {:<13}  {:<20}  {command}",
        summary.id,
        time(summary),
        for_people::size(summary.bytes),
        summary.lines,
        for_people::size(summary.dropped_bytes),
        for_people::one_line(&summary.profile),
        summary.kind.name(),
        summary.run,
    )
}

fn time(summary: &Summary) -> String {
    let time = Timestamp::from_millisecond(summary.created_ms as i64).unwrap_or_default();
    let time = time.to_zoned(surroundings::time_zone());
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Prints a part of an artifact.
pub(crate) fn read(
    arguments: &ArtifactRead,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let selection = selection(arguments)?;
    if arguments.raw {
        check_raw()?;
    }
    let store = ArtifactStore::of(&settings.config);
    let there = store.stored_there(arguments.id);
    if let Some((there, _)) = there.map_err(|error| unavailable(&store, error))? {
        return read_there(&there, (arguments, selection), settings, printer);
    }
    let artifact = store
        .open(arguments.id)
        .map_err(|error| unavailable(&store, error))?;
    let artifact = if arguments.raw {
        artifact.raw()
    } else {
        artifact
    };
    let mut printing = Printing {
        page: printer.page(),
        shown: CommandOutput::to_stdout(),
        decoder: arguments.json.then(Decoder::new),
        starts_line: true,
        printed: 0,
        failed: None,
    };
    let result = artifact.select(&selection, &mut |item| printing.item(&item));
    // Inside one of our commands, the ledger records it.
    if !surroundings::is_in_a_run() {
        store.note_read(arguments.id, printing.printed);
    }
    let failed = printing.finish();
    result.map_err(|error| unavailable(&store, error))?;
    failed.map_or(Ok(ExitStatus::Success), Err)
}

/// Prints a part of an output that is stored at another place: it is looked for over there.
fn read_there(
    there: &StoredThere,
    (arguments, mut selection): (&ArtifactRead, Selection),
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let system = |error: io::Error| Failure::of(FailureKind::System, error.into());
    let runtime = runtime::build().map_err(system)?;
    let engine = Engine::new(
        settings.config.clone(),
        surroundings::for_one_command(),
        KeeperSource::Hook,
    )?;
    let mut page = printer.page();
    let mut shown = CommandOutput::to_stdout();
    let mut held = Vec::new();
    let done = runtime.block_on(async {
        loop {
            let part = if arguments.raw {
                engine.read_raw_there(there, &selection, AT_ONCE).await?
            } else {
                engine.read_there(there, &selection, AT_ONCE).await?
            };
            let (is_cut, rest) = (part.is_cut, part.rest);
            held.extend(part.bytes);
            // What the next part goes on with may be a secret that begins here.
            let upto = match &rest {
                Some(_) => engine.decided(&held),
                None => held.len(),
            };
            let bytes: Vec<u8> = held.drain(..upto).collect();
            let text = String::from_utf8_lossy(&bytes);
            let hidden = engine.without_secrets(&text);
            if arguments.json {
                page.line(json!({ "text": hidden }))?;
            } else if arguments.raw || hidden == text {
                page.bytes(&shown.bytes(&bytes))?;
            } else {
                page.bytes(&shown.bytes(hidden.as_bytes()))?;
            }
            match rest {
                Some(range) => selection.range = range,
                None if is_cut => {
                    printer.remark(Paint::Hint, "artifact:", "there is more: ask for less");
                    break;
                }
                None => break,
            }
        }
        page.text(shown.end())?;
        page.finish()?;
        Ok(ExitStatus::Success)
    });
    runtime.shutdown_background();
    done
}

/// Bytes that a place is asked for at once.
const AT_ONCE: usize = 256 * 1024;

/// Secrets are for the person at the terminal, and for no program.
fn check_raw() -> Result<(), Failure> {
    let why = if surroundings::is_in_a_run() {
        "this is a command that bashd runs"
    } else if !Printer::is_terminal() {
        "stdout is not a terminal"
    } else {
        return Ok(());
    };
    let text = format!("--raw shows secrets, and only to a person at a terminal: {why}");
    let hint = "without --raw, secrets are replaced; docs/secrets.md says what is one";
    Err(Failure::new(FailureKind::Usage, text).hint(hint))
}

fn selection(arguments: &ArtifactRead) -> Result<Selection, Failure> {
    let range = if let Some(ends) = arguments.lines {
        Range::Lines(ends.first.unwrap_or(1), ends.last)
    } else if let Some(ends) = arguments.bytes {
        Range::Bytes(ends.first.unwrap_or(0), ends.last)
    } else {
        arguments.tail.map_or(Range::Whole, Range::Tail)
    };
    let grep = match &arguments.grep {
        Some(pattern) => Some(
            Grep::new(pattern)
                .map_err(|problem| {
                    Failure::new(FailureKind::Usage, problem).hint(failure::A_PATTERN)
                })?
                .with_context(arguments.context),
        ),
        None => None,
    };
    Ok(Selection { range, grep })
}

/// Removes artifacts.
pub(crate) fn remove(
    arguments: &ArtifactRm,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let store = ArtifactStore::of(&settings.config);
    let mut page = printer.page();
    for id in &arguments.ids {
        store
            .remove(*id)
            .map_err(|error| unavailable(&store, error))?;
        if arguments.json {
            page.line(json!({ "removed": id }))?;
        }
    }
    page.finish()?;
    Ok(ExitStatus::Success)
}

/// Writes the pieces of a selection as they come.
struct Printing {
    page: BufferedStdout,
    shown: CommandOutput,
    /// Present if JSON is printed.
    decoder: Option<Decoder>,
    starts_line: bool,
    /// Bytes of output that were printed.
    printed: usize,
    failed: Option<Failure>,
}

impl Printing {
    fn item(&mut self, item: &Item<'_>) -> ControlFlow<()> {
        self.printed += match item {
            Item::Bytes(bytes) | Item::Line { bytes, .. } => bytes.len(),
            Item::Dropped(_) | Item::Break => 0,
        };
        let printed = match &mut self.decoder {
            Some(decoder) => print_json(&mut self.page, decoder, item),
            None => self.print(item),
        };
        match printed {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                self.failed = Some(failure);
                ControlFlow::Break(())
            }
        }
    }

    fn print(&mut self, item: &Item<'_>) -> Result<(), Failure> {
        let mut text = Vec::new();
        if matches!(item, Item::Dropped(_)) && !self.starts_line {
            text.push(b'\n');
        }
        item.write_to(&mut text);
        self.starts_line = text.last().is_none_or(|last| *last == b'\n');
        self.page.bytes(&self.shown.bytes(&text))
    }

    /// Writes what is left; fails if anything went wrong.
    fn finish(mut self) -> Option<Failure> {
        if self.failed.is_some() {
            return self.failed;
        }
        let rest = self
            .decoder
            .map_or_else(String::new, |mut decoder| decoder.finish());
        if !rest.is_empty()
            && let Err(failure) = self.page.line(json!({ "text": rest }))
        {
            return Some(failure);
        }
        let ended = self.page.text(self.shown.end());
        ended.and_then(|()| self.page.finish()).err()
    }
}

fn print_json(
    page: &mut BufferedStdout,
    decoder: &mut Decoder,
    item: &Item<'_>,
) -> Result<(), Failure> {
    let object = match item {
        Item::Bytes(bytes) => json!({ "text": decoder.push(bytes) }),
        Item::Dropped(count) => json!({ "dropped_bytes": count }),
        Item::Line {
            number,
            is_match,
            bytes,
        } => json!({
            "line": number,
            "match": is_match,
            "text": String::from_utf8_lossy(bytes),
        }),
        Item::Break => return Ok(()),
    };
    page.line(object)
}

fn unavailable(store: &ArtifactStore, error: io::Error) -> Failure {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let kind = if is_missing {
        FailureKind::Usage
    } else {
        FailureKind::System
    };
    let failure = Failure::of(kind, error.into());
    let ids = store.ids().unwrap_or_default();
    match (is_missing, ids.as_slice()) {
        (false, _) => failure,
        (true, []) => failure.hint("nothing is stored"),
        (true, [only]) => failure.hint(format!("only artifact {only} is stored")),
        (true, [first, .., last]) => failure.hint(format!(
            "{} artifacts between {first} and {last} are stored; `bashd artifact list` shows them",
            ids.len()
        )),
    }
}

fn broken(error: serde_json::Error) -> Failure {
    Failure::of(FailureKind::System, error.into())
}
