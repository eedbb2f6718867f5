//! `bashd changes` and `bashd undo`: what commands changed in files, and what becomes of it.
//!
//! `diff` shows the lines that changed, `question` what is shown to who decides about a change.

mod diff;
pub(crate) mod question;

use diff::DiffCount;
pub(crate) use diff::{DiffLine, DiffTone};

use crate::args::{ChangesAction, ChangesOptions, ChangesShow, UndoOptions};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::log::since;
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use crate::surroundings;
use bashd::changes::{
    Change, ChangeFailure, ChangeState, ChangeStore, ChangedPath, EffectKind, Moved,
};
use bashd::ledger::Timestamp;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Does what was asked for.
pub(crate) fn changes(
    arguments: &ChangesOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let store = ChangeStore::in_state(&settings.config.state_dir);
    for (id, error) in store.recover()? {
        let text = format!("{id} is done in part, and can't be finished: {error}");
        printer.remark(Paint::Bad, "changes:", &text);
    }
    match &arguments.action {
        None => list(&store, arguments.json, printer),
        Some(ChangesAction::List(options)) => list(&store, options.json || arguments.json, printer),
        Some(ChangesAction::Show(options)) => show(&store, options, printer),
        Some(ChangesAction::Apply(options)) => {
            let (id, paths) = named(options.id.as_deref(), &options.paths, options.last);
            let change = match id {
                Some(id) => find(&store, id)?,
                None => last_not_applied(&store)?,
            };
            let paths = absolute(&paths)?;
            let which = Moved {
                paths: &paths,
                force: options.force,
            };
            let result = store.apply(change.id(), &which);
            moved(result, (change.id(), "applied"), printer)
        }
        Some(ChangesAction::Discard(options)) => {
            let mut changes = Vec::new();
            if options.last {
                changes.push(last_not_applied(&store)?);
            }
            for id in &options.ids {
                changes.push(find(&store, id)?);
            }
            // Nothing is discarded if one of them is not there.
            for change in changes {
                store.discard(change.id())?;
                printer.note(&format!("{} is discarded", change.id()));
            }
            Ok(ExitStatus::Success)
        }
        Some(ChangesAction::Undo(options)) => undo(options, settings, printer),
        Some(ChangesAction::Prune(options)) => {
            let limits = settings.config.effects;
            let age = if options.all {
                Some(Duration::ZERO)
            } else {
                limits.max_age
            };
            let removed = store.prune(age, limits.total_bytes)?;
            if removed.is_empty() {
                printer.note(
                    "no change is old or large enough · remove all: bashd changes prune --all",
                );
            }
            for id in removed {
                printer.note(&format!("{id} is removed"));
            }
            Ok(ExitStatus::Success)
        }
    }
}

/// Takes changes back.
pub(crate) fn undo(
    arguments: &UndoOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let store = ChangeStore::in_state(&settings.config.state_dir);
    let is_by_time = arguments.last || arguments.since.is_some();
    let (id, paths) = named(arguments.id.as_deref(), &arguments.paths, is_by_time);
    let mut chosen = if let Some(id) = id {
        vec![find(&store, id)?]
    } else {
        let is_real =
            |change: &Change| matches!(change.state(), ChangeState::Applied | ChangeState::InPart);
        let mut applied = store.list()?;
        applied.retain(is_real);
        applied.sort_by_key(Change::moved_ms);
        match &arguments.since {
            Some(when) => {
                let now = Timestamp::now().to_zoned(surroundings::time_zone());
                let since = since(when, &now)?.as_millisecond();
                let since = u64::try_from(since).unwrap_or_default();
                applied.retain(|change| change.moved_ms().is_some_and(|at| at >= since));
                applied
            }
            None => applied.pop().into_iter().collect(),
        }
    };
    if chosen.is_empty() {
        let text = "there is no change that was applied and could be undone";
        return Err(Failure::new(FailureKind::Usage, text).hint("bashd changes lists them"));
    }
    let paths = absolute(&paths)?;
    if arguments.since.is_some() && !paths.is_empty() {
        let has_some = |change: &Change| change.steps().any(|step| is_named(&paths, &step));
        chosen.retain(has_some);
    }
    let which = Moved {
        paths: &paths,
        force: arguments.force,
    };
    while let Some(change) = chosen.pop() {
        let result = store.undo(change.id(), &which);
        let status = moved(result, (change.id(), "undone"), printer)?;
        if status != ExitStatus::Success {
            return Ok(status);
        }
    }
    Ok(ExitStatus::Success)
}

/// What an id and paths mean: where the change is chosen otherwise, all are paths.
fn named<'a>(
    id: Option<&'a str>,
    paths: &[PathBuf],
    is_chosen: bool,
) -> (Option<&'a str>, Vec<PathBuf>) {
    let path = id.filter(|_| is_chosen).map(PathBuf::from);
    let id = id.filter(|_| !is_chosen);
    (id, path.into_iter().chain(paths.iter().cloned()).collect())
}

/// Whether a step is one of these paths, or below.
fn is_named(paths: &[PathBuf], step: &ChangedPath) -> bool {
    paths.iter().any(|path| step.path.starts_with(path))
}

/// The newest change of which not all is real.
fn last_not_applied(store: &ChangeStore) -> Result<Change, Failure> {
    let is_open = |change: &Change| {
        use ChangeState::{Held, InPart, Undone};
        matches!(change.state(), Held | Undone | InPart)
    };
    let found = store.list()?.into_iter().rev().find(is_open);
    found.ok_or_else(|| {
        let text = "there is no change that is not applied";
        Failure::new(FailureKind::Usage, text).hint("bashd changes lists them")
    })
}

/// Paths as they were typed, from where we are.
fn absolute(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let absolute = paths.iter().map(|path| {
        let absolute = std::path::absolute(path);
        let parent = absolute.as_ref().ok().and_then(|path| path.parent());
        let parent = parent.and_then(|parent| parent.canonicalize().ok());
        let name = absolute.as_ref().ok().and_then(|path| path.file_name());
        match (parent, name) {
            (Some(parent), Some(name)) => Ok(parent.join(name)),
            _ => absolute,
        }
    });
    let absolute: Result<Vec<_>, _> = absolute.collect();
    absolute.map_err(|error| Failure::new(FailureKind::Usage, error.to_string()))
}

/// Says what became of a change.
fn moved(
    result: Result<Change, ChangeFailure>,
    (id, word): (&str, &str),
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    match result {
        Ok(change) => {
            let command = for_people::one_line(change.command());
            let place = elsewhere(&change);
            let part = match change.state() {
                ChangeState::InPart => " in part",
                _ => "",
            };
            printer.note(&format!("{id} is {word}{part}: {command}{place}"));
            Ok(ExitStatus::Success)
        }
        Err(ChangeFailure::Failed(error)) => {
            let hint = format!("bashd changes show {id} says what is in it");
            Err(Failure::from(error).hint(hint))
        }
        Err(ChangeFailure::Conflicts(conflicts)) => {
            let text = format!("it was not {word}, and nothing was touched:");
            printer.remark(Paint::Bad, "conflict:", &text);
            for conflict in &conflicts {
                let path = for_people::one_line(&conflict.path.to_string_lossy());
                Printer::err(&format!("  {path} {}\n", conflict.why));
            }
            let hint = "name the other paths, or --force: what is there is kept aside";
            printer.remark(Paint::Hint, "hint:", hint);
            Ok(ExitStatus::Unfit)
        }
    }
}

/// Where a change is, unless that is here: another project's looks like one of this.
fn elsewhere(change: &Change) -> String {
    let here = surroundings::cwd();
    if here.is_ok_and(|here| change.directory().starts_with(here)) {
        return String::new();
    }
    let place = for_people::one_line(&change.directory().to_string_lossy());
    format!(" (in {place})")
}

/// What stands above a change at a terminal: which it is, and where.
fn title(change: &Change) -> String {
    let state = change.state().name().replace('_', " ");
    let place = for_people::one_line(&change.directory().to_string_lossy());
    let command = for_people::one_line(change.command());
    format!("{} · {state} · {place} · {command}", change.id())
}

/// What may be done with a change next.
fn next_step(change: &Change) -> Option<String> {
    let id = change.id();
    match change.state() {
        ChangeState::Held | ChangeState::Undone => Some(format!(
            "apply: bashd changes apply {id} · drop: bashd changes discard {id}"
        )),
        ChangeState::Applied => Some(format!("take back: bashd undo {id}")),
        ChangeState::InPart => Some(format!(
            "apply the rest: bashd changes apply {id} · take back: bashd undo {id}"
        )),
        ChangeState::Running => Some("it still runs: this is so far".to_owned()),
        ChangeState::Unreadable => None,
    }
}

/// The change whose id begins so.
fn find(store: &ChangeStore, id: &str) -> Result<Change, Failure> {
    let found = store.find(id);
    let wrong = |error| Failure::new(FailureKind::Usage, error);
    let hint = if id.contains('/') || Path::new(id).symlink_metadata().is_ok() {
        "that is a path: name the change before it, or give --last"
    } else {
        "bashd changes lists them with their ids"
    };
    found.map_err(|error| wrong(error).hint(hint))
}

fn list(store: &ChangeStore, as_json: bool, printer: &Printer) -> Result<ExitStatus, Failure> {
    let changes = store.list()?;
    let mut page = printer.list();
    if as_json {
        for change in &changes {
            let mut line = json!(change.summary());
            line["command"] = json!(change.command());
            line["cwd"] = json!(change.directory().to_string_lossy());
            line["began_ms"] = json!(change.began_ms());
            line["moved_ms"] = json!(change.moved_ms());
            line["unreadable"] = json!(change.unreadable());
            page.line(line)?;
        }
    } else if changes.is_empty() {
        printer.note("there are no changes · make one: bashd try COMMAND");
    } else {
        let columns = Printer::columns().filter(|_| Printer::is_terminal());
        let began = BeganForm::fitting(columns);
        let width = began.columns();
        let head = format!(
            "{:<20}  {:<width$}  {:<10}  {:<11}",
            "ID", "BEGAN", "STATE", "FILES"
        );
        let has_room = columns.is_none_or(|columns| head.len() + 2 + "COMMAND".len() <= columns);
        let head = if has_room { head + "  COMMAND" } else { head };
        page.line(page.paint(Paint::Title, head.trim_end()))?;
        for change in &changes {
            let (before, command) = (row(change, began), for_people::one_line(change.command()));
            let command = command + &elsewhere(change);
            let taken = before.len();
            let lines = match columns {
                Some(columns) => for_people::entry(&before, taken, &command, columns),
                None => vec![format!("{before}{command}")],
            };
            lines.into_iter().try_for_each(|line| page.line(line))?;
        }
    }
    page.finish()?;
    if !as_json && !changes.is_empty() && Printer::is_terminal() {
        printer.note(
            "look: bashd changes show ID --diff · apply: bashd changes apply ID · take back: bashd undo ID",
        );
    }
    Ok(ExitStatus::Success)
}

/// How the time is written at which a change began.
#[derive(Clone, Copy)]
enum BeganForm {
    Whole,
    /// Where there is little room.
    Short,
}

impl BeganForm {
    fn fitting(columns: Option<usize>) -> Self {
        if columns.is_some_and(|columns| columns < 76) {
            Self::Short
        } else {
            Self::Whole
        }
    }

    fn pattern(self) -> &'static str {
        match self {
            Self::Whole => "%Y-%m-%d %H:%M:%S",
            Self::Short => "%m-%d %H:%M",
        }
    }

    fn columns(self) -> usize {
        match self {
            Self::Whole => 19,
            Self::Short => 11,
        }
    }
}

/// What stands before the command.
fn row(change: &Change, began: BeganForm) -> String {
    let time = Timestamp::from_millisecond(change.began_ms() as i64).unwrap_or_default();
    let time = time.to_zoned(surroundings::time_zone());
    let summary = change.summary();
    let counts = match change.state() {
        // Looked at only where somebody wants to see it.
        ChangeState::Running => "…".to_owned(),
        _ => format!(
            "+{} ~{} -{}",
            summary.created, summary.modified, summary.deleted
        ),
    };
    format!(
        "{:<20}  {}  {:<10}  {counts:<11}  ",
        change.id(),
        time.strftime(began.pattern()),
        summary.state,
    )
}

fn show(
    store: &ChangeStore,
    options: &ChangesShow,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let change = match &options.id {
        Some(id) => find(store, id)?,
        None => store.list()?.pop().ok_or_else(|| {
            Failure::new(FailureKind::Usage, "there are no changes")
                .hint("bashd try COMMAND makes one")
        })?,
    };
    if let Some(why) = change.unreadable() {
        let text = format!("{} can't be looked through: {why}", change.id());
        let hint = format!("bashd changes discard {} removes it", change.id());
        return Err(Failure::new(FailureKind::System, text).hint(hint));
    }
    let change = match change.state() {
        ChangeState::Running => store.glance(change.id())?,
        _ => change,
    };
    let paths = change.paths();
    let mut page = printer.list();
    let is_read = Printer::is_terminal() && !options.json;
    if is_read {
        page.line(page.paint(Paint::Title, &title(&change)))?;
    }
    if options.json {
        for path in &paths {
            page.line(as_json(path))?;
        }
    } else if options.diff {
        for path in &paths {
            diff::write(path, change.directory(), &mut page)?;
        }
    } else if options.stat {
        for path in &paths {
            let name = shown(path, change.directory());
            let counted = match diff::count(path) {
                DiffCount::Lines(more, less) => {
                    let more = page.paint(Paint::Good, &format!("+{more}"));
                    format!("{more} {}", page.paint(Paint::Bad, &format!("-{less}")))
                }
                DiffCount::Bytes(old, new) => format!("{old} -> {new} bytes"),
            };
            page.line(format_args!("{} {name} {counted}", path.kind.letter()))?;
        }
        page.line(change.summary().line())?;
    } else if options.tree {
        for line in tree(&paths, change.directory()) {
            page.line(line)?;
        }
    } else {
        for path in &paths {
            let paint = match path.kind {
                EffectKind::Created => Paint::Good,
                EffectKind::Modified => Paint::Warning,
                EffectKind::Deleted => Paint::Bad,
            };
            let letter = page.paint(paint, &path.kind.letter().to_string());
            let remarks = path.remarks();
            let remarks = if remarks.is_empty() {
                String::new()
            } else {
                format!(" ({})", remarks.join(", "))
            };
            let name = shown(path, change.directory());
            page.line(format_args!("{letter} {name}{remarks}"))?;
        }
    }
    page.finish()?;
    if paths.is_empty() {
        printer.note("it runs, and has changed nothing so far");
    } else if let Some(next) = next_step(&change).filter(|_| is_read) {
        printer.note(&next);
    }
    Ok(ExitStatus::Success)
}

/// A path from where the command ran, on one line.
fn shown(path: &ChangedPath, directory: &Path) -> String {
    let short = path.path.strip_prefix(directory).unwrap_or(&path.path);
    let slash = if path.is_directory() { "/" } else { "" };
    let text = short.to_string_lossy();
    let text = if text.is_empty() { "." } else { &text };
    format!("{}{slash}", for_people::one_line(text))
}

fn as_json(path: &ChangedPath) -> serde_json::Value {
    let side = |side: &bashd::changes::PathSide| {
        json!({
            "type": side.kind,
            "mode": format!("{:o}", side.mode),
            "owner": side.owner.0,
            "group": side.owner.1,
            "bytes": side.size,
            "at": side.at.to_string_lossy(),
        })
    };
    json!({
        "path": path.path.to_string_lossy(),
        "kind": path.kind,
        "old": path.old.as_ref().map(side),
        "new": path.new.as_ref().map(side),
    })
}

/// The paths as a tree: directories that did not change themselves stand for the way to those that
/// did.
fn tree(paths: &[ChangedPath], directory: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut before: Vec<String> = Vec::new();
    for path in paths {
        let short = path.path.strip_prefix(directory).unwrap_or(&path.path);
        let parts: Vec<String> = short
            .components()
            .map(|part| for_people::one_line(&part.as_os_str().to_string_lossy()))
            .collect();
        let (Some(name), above) = (parts.last(), parts.len().saturating_sub(1)) else {
            lines.push(format!("{} ./", path.kind.letter()));
            continue;
        };
        let known = before
            .iter()
            .zip(&parts)
            .take_while(|(one, other)| one == other);
        let known = known.count().min(above);
        for (depth, part) in parts.iter().enumerate().take(above).skip(known) {
            lines.push(format!("  {}{part}/", "  ".repeat(depth)));
        }
        let slash = if path.is_directory() { "/" } else { "" };
        let blanks = "  ".repeat(above);
        lines.push(format!("{} {blanks}{name}{slash}", path.kind.letter()));
        before = parts;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_but_for_their_last_part() {
        let made = tempfile::tempdir().unwrap();
        let real = made.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("nowhere", real.join("link")).unwrap();
        let found = absolute(&[real.join("./link"), real.join("missing")]).unwrap();
        assert_eq!(found, [real.join("link"), real.join("missing")]);
    }
}
