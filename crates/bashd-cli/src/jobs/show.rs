//! Jobs as a table, as a page, and as JSON.

use crate::failure::{Failure, FailureKind};
use crate::for_people::{self, cut, one_line};
use crate::print::{BufferedStdout, Paint, Printer};
use bashd::exec::EndedBy;
use bashd::jobs::{Job, JobState};
use serde::Serialize;
use serde_json::Value;

/// Columns of a command or a last line if the width of the terminal is unknown.
const WIDE: usize = 100;

/// Columns of a name at most.
const LONGEST_NAME: usize = 24;

/// Columns of an owner at most.
const LONGEST_OWNER: usize = 20;

/// How wide the columns are that depend on the jobs.
#[derive(Clone, Copy)]
struct JobColumns {
    name: usize,
    owner: usize,
}

/// Prints one JSON object.
pub(super) fn object(value: &impl Serialize, printer: &Printer) -> Result<(), Failure> {
    printer.out(&format!("{}\n", self::value(value)?))
}

/// Something as JSON.
pub(super) fn value(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| Failure::of(FailureKind::System, error.into()))
}

/// Prints one JSON object a line.
pub(super) fn lines(jobs: &[Job], printer: &Printer) -> Result<(), Failure> {
    let mut page = printer.page();
    for job in jobs {
        page.line(value(job)?)?;
    }
    page.finish()
}

/// Prints a table for people.
pub(super) fn table(jobs: &[Job], printer: &Printer) -> Result<(), Failure> {
    if let Some(columns) = Printer::columns().filter(|_| Printer::is_terminal()) {
        return blocks(jobs, columns, printer);
    }
    let mut page = printer.page();
    let names = jobs.iter().map(|job| name(job).chars().count()).max();
    let owners = jobs.iter().map(|job| one_line(&job.owner).chars().count());
    let widths = JobColumns {
        name: names.unwrap_or(0).clamp(6, LONGEST_NAME),
        owner: owners.max().unwrap_or(0).clamp(5, LONGEST_OWNER),
    };
    let JobColumns { name, owner } = widths;
    let title = format!(
        "{:<20}  {:<name$}  {:<owner$}  {:<9}  {:>6}  {:>7}  {:<20}  {}",
        "ID", "NAME", "OWNER", "STATE", "AGE", "OUTPUT", "CWD", "COMMAND | LAST LINE"
    );
    page.line(page.paint(Paint::Title, &title))?;
    for job in jobs {
        row(&mut page, job, widths)?;
    }
    page.finish()
}

/// Jobs at a terminal, two lines each, the newest last.
fn blocks(jobs: &[Job], columns: usize, printer: &Printer) -> Result<(), Failure> {
    /// Columns before the command.
    const BEFORE: usize = 12 + 2 + 9 + 2 + 6 + 2 + 7 + 2;
    let mut page = printer.list();
    let title = format!(
        "{:<12}  {:<9}  {:>6}  {:>7}  {}",
        "JOB", "STATE", "AGE", "OUTPUT", "COMMAND"
    );
    page.line(page.paint(Paint::Title, &title))?;
    for job in jobs {
        let state = page.paint(paint(job), &format!("{:<9}", short_state(job)));
        let before = format!(
            "{:<12}  {state}  {:>6}  {:>7}  ",
            cut(&name(job), 12),
            for_people::duration(job.age_ms),
            for_people::size(job.output_bytes),
        );
        for line in for_people::entry(&before, BEFORE, &one_line(&job.command), columns) {
            page.line(line)?;
        }
        let parts = [&job.owner, &job.cwd, &job.id];
        let about = parts.map(|part| one_line(part)).join(" · ");
        for line in for_people::wrapped(&about, 4, Some(columns)) {
            page.line(page.paint(Paint::Faint, &format!("    {line}")))?;
        }
        if !job.last_line.is_empty() {
            let last = cut(&one_line(&job.last_line), columns.saturating_sub(6));
            page.line(page.paint(Paint::Faint, &format!("    | {last}")))?;
        }
    }
    page.finish()?;
    let reads = |job: &&Job| job.state.is_alive() && (job.terminal.is_some() || job.stdin_open);
    let attach = jobs.iter().find(reads).map(|job| {
        let name = one_line(&job.alias);
        format!(" · type at it: bashd jobs attach {name}")
    });
    let attach = attach.unwrap_or_default();
    printer.note(&format!(
        "follow: bashd jobs follow JOB{attach} · end: bashd jobs kill JOB"
    ));
    Ok(())
}

/// Says something about a job that is over: red and with its code if it failed.
pub(super) fn tell(job: &Job, text: &str, printer: &Printer) {
    let has_failed = job.has_ended() && matches!(paint(job), Paint::Bad);
    let paint = if has_failed { Paint::Bad } else { Paint::Faint };
    printer.remark(paint, "bashd:", text);
}

/// The name that was given, else the short one.
fn name(job: &Job) -> String {
    one_line(job.name.as_deref().unwrap_or(&job.alias))
}

fn row(page: &mut BufferedStdout, job: &Job, widths: JobColumns) -> Result<(), Failure> {
    /// Columns before the command, without name and owner.
    const BEFORE: usize = 20 + 2 + 2 + 2 + 9 + 2 + 6 + 2 + 7 + 2 + 20 + 2;
    let JobColumns { name: width, owner } = widths;
    let state = page.paint(paint(job), &format!("{:<9}", short_state(job)));
    let room = Printer::columns().map_or(WIDE, |columns| {
        columns.saturating_sub(BEFORE + width + owner).max(16)
    });
    let mut what = one_line(&job.command);
    if !job.last_line.is_empty() {
        what = format!("{} | {}", cut(&what, room / 2), one_line(&job.last_line));
    }
    page.line(format_args!(
        "{:<20}  {:<width$}  {:<owner$}  {state}  {:>6}  {:>7}  {:<20}  {}",
        job.id,
        cut(&name(job), width),
        cut(&one_line(&job.owner), owner),
        for_people::duration(job.age_ms),
        for_people::size(job.output_bytes),
        one_line(&job.cwd),
        cut(&what, room),
    ))
}

fn paint(job: &Job) -> Paint {
    match (job.state, job.exit_code) {
        (JobState::Running | JobState::Survivors, _) | (JobState::Exited, Some(0)) => Paint::Good,
        (JobState::WaitingForInput, _) => Paint::Warning,
        _ => Paint::Bad,
    }
}

fn short_state(job: &Job) -> String {
    match (job.state, job.exit_code, job.signal) {
        (JobState::WaitingForInput, ..) => "waiting".to_owned(),
        (JobState::Exited, Some(code), _) => format!("exit {code}"),
        (JobState::Killed, _, Some(signal)) => format!("signal {signal}"),
        (state, ..) => state.name().to_owned(),
    }
}

/// The state of a job, to be put after its name.
pub(crate) fn ending(job: &Job) -> String {
    let after = for_people::duration(job.ran_ms());
    let how = match (job.exit_code, job.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".to_owned(),
    };
    match job.state {
        JobState::Running => format!("has been running for {after}"),
        JobState::WaitingForInput => format!("is waiting for input, after running for {after}"),
        JobState::Survivors => match job.left_behind.as_slice() {
            [_] => "left a process running".to_owned(),
            all => format!("left {} processes running", all.len()),
        },
        JobState::Exited => format!("ended after {after}, {how}"),
        JobState::Killed => match job.ended_by {
            Some(EndedBy::Timeout) => format!("timed out after {after}, {how}"),
            Some(EndedBy::Cancel) => format!("was ended after {after}, {how}"),
            Some(EndedBy::Place) => format!("was ended with its place after {after}, {how}"),
            None => format!("was killed after {after}, {how}"),
        },
        JobState::Lost => format!(
            "is lost: {}",
            job.lost_because.unwrap_or("the reason is unknown")
        ),
    }
}

/// Prints everything about one job.
pub(super) fn job(job: &Job, json: bool, printer: &Printer) -> Result<(), Failure> {
    if json {
        return object(job, printer);
    }
    let mut page = printer.page();
    let name = job
        .name
        .as_ref()
        .map(|name| format!(", {}", one_line(name)));
    let called = format!("{} ({}{})", job.id, job.alias, name.unwrap_or_default());
    let size = for_people::size(job.output_bytes);
    let dropped = for_people::size(job.dropped_bytes);
    let output = format!(
        "{size} ({dropped} dropped) in {}",
        job.output_file.display()
    );
    let mut rows = vec![
        ("job", called),
        ("state", ending(job)),
        ("command", one_line(&job.command)),
        ("in", one_line(&job.cwd)),
        ("owner", one_line(&job.owner)),
        ("process group", job.pid.to_string()),
        ("output", output),
        ("last line", one_line(&job.last_line)),
    ];
    rows.extend(
        job.waiting
            .as_ref()
            .map(|waiting| ("asks", one_line(&waiting.prompt))),
    );
    if job.out_of_memory {
        let text = "the kernel killed one of its processes because memory ran out";
        rows.push(("memory", text.to_owned()));
    }
    let dealings = job.dealings.as_ref();
    for refused in dealings.into_iter().flat_map(|dealings| &dealings.refused) {
        let text = format!("{} {}", refused.kind.name(), one_line(&refused.what));
        rows.push(("refused", text));
    }
    for left in &job.left_behind {
        rows.push((
            "left running",
            format!("{} {}", left.pid, one_line(&left.command)),
        ));
    }
    // A job that has written nothing has no last line, and may ask without a prompt.
    rows.retain(|(_, text)| !text.is_empty());
    for (title, text) in rows {
        let title = page.paint(Paint::Faint, &format!("{title:<14}"));
        page.beside(&title, 14, None, &text)?;
    }
    page.finish()
}
