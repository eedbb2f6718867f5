//! `bashd jobs attach`: a person at the terminal of a job, or at its input and output.

use super::leaving::LeaveWatch;
use super::{JobsDesk, show};
use crate::args::JobsAttach;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::{CommandOutput, Printer};
use crate::terminal::{self, TakenTerminal};
use bashd::jobs::{AfterInput, Job, Jobs, OutputQuery};
use std::io::{self, BufRead};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Bytes by which a person's terminal may be behind the job; beyond that it is painted anew, so
/// that what is seen is what happens.
const FAR_BEHIND: u64 = 2 * 1024 * 1024;

/// How long the hint stays that says how to leave.
const HINT: Duration = Duration::from_millis(1200);

/// Lines of a job without a terminal that are shown first.
const LINES: u64 = 40;

/// Bytes of them at most.
const BYTES: u64 = 64 * 1024;

/// Lets a person type at a job, until it ends or the person leaves.
pub(super) async fn attach(
    arguments: &JobsAttach,
    desk: &JobsDesk,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let job = desk.find(&arguments.id)?;
    let alias = &job.alias;
    if !terminal::is_ours() {
        return Err(
            Failure::new(FailureKind::Usage, "attach needs a terminal").hint(format!(
                "`bashd jobs follow {alias}`, `bashd jobs send {alias}` and `bashd jobs screen \
                 {alias}` work without one"
            )),
        );
    }
    if !job.state.is_alive() {
        let message = format!("{alias} is not running: it {}", show::ending(&job));
        return Err(Failure::new(FailureKind::Usage, message)
            .hint(format!("bashd jobs output {alias} prints what it wrote")));
    }
    let left = if job.terminal.is_some() {
        at_terminal(desk, &job, printer).await?
    } else {
        at_pipes(desk, &job, printer).await?
    };
    let again = desk.jobs.again(&job).await.unwrap_or_else(|_| job.clone());
    let alias = &again.alias;
    match left {
        Left::Ended => {
            let text = format!("{alias} {}", show::ending(&again));
            show::tell(&again, &text, printer);
            desk.seen_to_end(&job, &again);
        }
        Left::ByKey => printer.note(&format!(
            "detached: {alias} keeps running · again: bashd jobs attach {alias} · end it: bashd \
             jobs kill {alias}"
        )),
    }
    Ok(ExitStatus::Success)
}

/// Why somebody is attached no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Ended,
    ByKey,
}

async fn at_terminal(desk: &JobsDesk, job: &Job, printer: &Printer) -> Result<Left, Failure> {
    let failed = |error: io::Error| Failure::of(FailureKind::System, error.into());
    let mut theirs = desk.jobs.terminal(job).await?;
    let keyboard = theirs.keyboard();
    let mut resized = signal(SignalKind::window_change()).map_err(failed)?;
    let mut leaving = LeaveWatch::default();
    printer.note(&format!(
        "attached to {} · Ctrl-] twice detaches, and it keeps running",
        job.alias
    ));
    let mut ours = TakenTerminal::take().map_err(failed)?;
    // Its screen covers the hint: whoever begins to type has read it.
    let mut early = tokio::time::timeout(HINT, ours.typed()).await.ok();
    ours.paint(&theirs.by_now(theirs.size()).await);
    if let Some(size) = terminal::size() {
        keyboard.resize(size);
    }
    loop {
        if theirs.behind() > FAR_BEHIND {
            let size = terminal::size().unwrap_or(theirs.size());
            ours.paint(&theirs.by_now(size).await);
        }
        let typed = if let Some(typed) = early.take() {
            typed
        } else {
            // A key is never kept waiting by what the program writes.
            tokio::select! {
                biased;
                typed = ours.typed() => typed,
                _ = resized.recv() => {
                    if let Some(size) = terminal::size() {
                        keyboard.resize(size);
                        ours.resized(size);
                    }
                    continue;
                }
                bytes = theirs.next() => match bytes {
                    Some(bytes) => {
                        ours.write(&bytes);
                        continue;
                    }
                    None => return Ok(Left::Ended),
                },
            }
        };
        let (bytes, leaves) = leaving.typed(&typed, Instant::now());
        keyboard.type_bytes(bytes);
        if leaves == ControlFlow::Break(()) {
            return Ok(Left::ByKey);
        }
    }
}

/// A job without a terminal: its output as it comes, and lines for its input, if that is open.
async fn at_pipes(desk: &JobsDesk, job: &Job, printer: &Printer) -> Result<Left, Failure> {
    let what = if job.stdin_open {
        "lines go to its input, Ctrl-D closes it"
    } else {
        "its input is closed"
    };
    printer.note(&format!(
        "attached to {} · {what} · Ctrl-C detaches, and it keeps running",
        job.alias
    ));
    let query = OutputQuery::tail(LINES).at_most(BYTES);
    let from = desk.jobs.output(job, &query).await?.offset;
    let failed = |error: io::Error| Failure::of(FailureKind::System, error.into());
    let mut interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut unwritten = None;
    let mut shown = CommandOutput::to_stdout();
    let following = desk
        .jobs
        .follow(job, from, |text| match printer.out(&shown.text(text)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                unwritten = Some(failure);
                ControlFlow::Break(())
            }
        });
    let left = tokio::select! {
        ended = following => ended.map(|_| Left::Ended)?,
        () = pass_lines(&desk.jobs, job, printer) => Left::ByKey,
        _ = interrupted.recv() => Left::ByKey,
    };
    printer.out(shown.end())?;
    unwritten.map_or(Ok(left), Err)
}

/// Sends what is typed, line by line. Never ends.
async fn pass_lines(jobs: &Jobs, job: &Job, printer: &Printer) {
    let (sender, mut lines) = mpsc::channel::<Vec<u8>>(16);
    if job.stdin_open {
        // Reading the terminal blocks; the thread ends with the process.
        std::thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            let mut line = Vec::new();
            while let Ok(count) = stdin.read_until(b'\n', &mut line) {
                let sent = sender.blocking_send(std::mem::take(&mut line));
                if count == 0 || sent.is_err() {
                    break;
                }
            }
        });
    }
    while let Some(line) = lines.recv().await {
        let then = if line.is_empty() {
            AfterInput::Close
        } else {
            AfterInput::StayOpen
        };
        if let Err(error) = jobs.send(job, &line, then).await {
            printer.warn(&error.to_string());
        }
    }
    std::future::pending::<()>().await;
}
