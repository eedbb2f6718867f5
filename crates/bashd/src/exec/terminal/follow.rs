//! The life of one run in a client's terminal: created, polled, awaited, killed when due, released.
//!
//! Two tasks run side by side: one kills the program at its deadline or on request, the other reads
//! its output until it has ended. So a slow receiver of events never delays a kill.

use super::transcript::Transcript;
use super::{NewTerminal, Patience, TerminalExit, TerminalHost, TerminalOutput};
use crate::artifact::Writers;
use crate::error::{Error, ErrorKind};
use crate::exec::{ClientRun, EndedBy, Exit, OutputWatch, Run, RunFailure};
use crate::minimize::ShellMasks;
use crate::plan::{ClientEnvironment, Dealings, Plan};
use std::convert::Infallible;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The status of a program ended by any signal: clients name signals as they like.
const SIGNALLED: i32 = 137;

/// How many times as often a client is polled that keeps less than it was asked for.
const SOONER: u32 = 5;

/// How long to wait for a client that did not answer the previous request.
const ONCE_SILENT: Duration = Duration::from_millis(250);

/// Runs a plan in a terminal of the client. Dropping the future ends the program and releases it.
pub(crate) async fn run(
    plan: &Plan,
    (host, changes): (&TerminalHost, &ClientEnvironment),
    watch: Option<&mut OutputWatch>,
    cancel: &CancellationToken,
) -> Result<Run, RunFailure> {
    let refused = |reason: String| {
        let text = format!("the client's terminal could not be created: {reason}");
        RunFailure::from(Error::new(ErrorKind::Spawn, text))
    };
    let new = NewTerminal::of(plan, changes).map_err(refused)?;
    let unwritable = |error| Error::io(ErrorKind::Io, "open a spool", error);
    let transcript = Transcript::open(plan).map_err(unwritable)?;
    let terminal = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(RunFailure::CancelledBeforeStart),
        terminal = create(host, new) => terminal.map_err(refused)?,
    };
    let begun = Instant::now();
    let ending = TerminalEnding::default();
    let mut following = Following {
        terminal: &terminal,
        transcript,
        watch,
        was_seen: false,
    };
    following.announce().await;
    let ended = tokio::select! {
        biased;
        never = ending.come(&terminal, plan.limits.timeout, cancel) => match never {},
        ended = following.until_ended(&ending) => ended,
    };
    let last = terminal.last_look().await;
    terminal.release().await;
    let ran_for = begun.elapsed();
    let exit = ended.as_ref().ok().cloned().flatten();
    let exit = exit.or_else(|| last.as_ref().ok().and_then(|last| last.exit.clone()));
    let unread = last.as_ref().err().cloned();
    let was_seen = following.was_seen || last.is_ok();
    let (out, is_incomplete) = following.conclude(last).await.map_err(unwritable)?;
    let run = Run {
        exit: exit.map_or(Exit::Unknown, |exit| status(&exit)),
        ended_by: ending.by.get().copied(),
        out: out.into(),
        err: None,
        ran_for,
        pid: 0,
        left_behind: Vec::new(),
        output_unfinished: false,
        session_reset: None,
        notes: Vec::new(),
        terminal: Some(ClientRun {
            id: terminal.id.clone(),
            lost_output: is_incomplete || unread.is_some(),
        }),
        limits: None,
        confinement: None,
        dealings: Dealings::default(),
        grantable: None,
        changes: None,
        denied: None,
        stored_there: None,
        began_in: None,
        masks: ShellMasks::default(),
        goes_on: false,
        writers: Writers::Left,
        link: None,
    };
    let failure = match (ended, unread) {
        (Err(reason), _) => format!("the client's terminal does not answer: {reason}"),
        // What nobody ever saw is not "no output".
        (Ok(_), Some(reason)) if !was_seen => {
            format!("the output of the client's terminal can't be read: {reason}")
        }
        (Ok(_), _) => return Ok(run),
    };
    let error = Error::new(ErrorKind::KeeperLost, failure);
    Err(RunFailure::Failed(error, Some(Box::new(run))))
}

/// Interprets what the client says about an exit.
fn status(exit: &TerminalExit) -> Exit {
    match (exit.code, &exit.signal) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(_)) => Exit::Code(SIGNALLED),
        (None, None) => Exit::Unknown,
    }
}

/// When and by whom the program is ended.
#[derive(Default)]
struct TerminalEnding {
    by: OnceLock<EndedBy>,
    /// Cancelled once the client was told to kill, whether it answered or not.
    killed: CancellationToken,
}

impl TerminalEnding {
    /// Kills the program at its deadline or when the caller cancels.
    async fn come(
        &self,
        terminal: &BorrowedTerminal,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Infallible {
        let by = match tokio::time::timeout(limit, cancel.cancelled()).await {
            Ok(()) => EndedBy::Cancel,
            Err(_) => EndedBy::Timeout,
        };
        let _ = self.by.set(by);
        terminal.kill().await;
        self.killed.cancel();
        std::future::pending().await
    }
}

/// Has a terminal created. One that the client hands out after nobody waits any more is given back.
async fn create(host: &TerminalHost, new: NewTerminal) -> Result<BorrowedTerminal, String> {
    let patience = host.0.patience();
    let limit = new.output_byte_limit;
    let (answer, answered) = oneshot::channel();
    let asked = host.clone();
    tokio::spawn(async move {
        let made = asked.0.create(new).await;
        let made = made.map(|id| BorrowedTerminal {
            host: asked,
            id,
            patience,
            is_released: AtomicBool::new(false),
            limit,
            keeps_less: AtomicBool::new(false),
            is_silent: AtomicBool::new(false),
        });
        // A terminal that nobody takes is dropped here, which releases it.
        let _ = answer.send(made);
    });
    match tokio::time::timeout(patience.create, answered).await {
        Ok(Ok(made)) => made,
        Ok(Err(_)) => Err("the client is gone".into()),
        Err(_) => Err(no_answer(patience.create)),
    }
}

fn no_answer(waited: Duration) -> String {
    format!("no answer within {} s", waited.as_secs_f64())
}

/// One terminal of the client, until it is given back.
struct BorrowedTerminal {
    host: TerminalHost,
    id: String,
    patience: Patience,
    is_released: AtomicBool,
    /// Bytes of output that the client was asked to keep.
    limit: u64,
    /// Whether it keeps less.
    keeps_less: AtomicBool,
    /// Whether the client left the last request unanswered.
    is_silent: AtomicBool,
}

impl BorrowedTerminal {
    async fn kill(&self) {
        // For a client that does not kill, release is the only other way; nobody else could do it.
        let _ = self.bounded(self.host.0.kill(&self.id)).await;
    }

    async fn bounded<T>(
        &self,
        answer: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        // A client that has just been silent does not get the full wait again and again.
        let within = if self.is_silent.load(Ordering::Relaxed) {
            self.patience.answer.min(ONCE_SILENT)
        } else {
            self.patience.answer
        };
        let answer = tokio::time::timeout(within, answer).await;
        self.is_silent.store(answer.is_err(), Ordering::Relaxed);
        answer.unwrap_or_else(|_| Err(no_answer(within)))
    }

    async fn last_look(&self) -> Result<TerminalOutput, String> {
        let host = &self.host.0;
        let seen = if self.keeps_less.load(Ordering::Relaxed) {
            self.bounded(host.output_again(&self.id, self.limit))
                .await?
        } else {
            self.bounded(host.output(&self.id)).await?
        };
        let keeps_less = seen.truncated && (seen.text.len() as u64) < self.limit;
        if !keeps_less || self.keeps_less.swap(true, Ordering::Relaxed) {
            return Ok(seen);
        }
        let again = self.bounded(host.output_again(&self.id, self.limit)).await;
        Ok(again.unwrap_or(seen))
    }

    /// Waits for the next time to look, and looks: sooner if the client forgets sooner than asked.
    async fn next_look(&self) -> Result<TerminalOutput, String> {
        let pause = if self.keeps_less.load(Ordering::Relaxed) {
            self.patience.poll / SOONER
        } else {
            self.patience.poll
        };
        tokio::time::sleep(pause).await;
        self.last_look().await
    }

    async fn release(&self) {
        let _ = self.bounded(self.host.0.release(&self.id)).await;
        self.is_released.store(true, Ordering::Relaxed);
    }
}

impl Drop for BorrowedTerminal {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if self.is_released.load(Ordering::Relaxed) {
            return;
        }
        let terminal = Self {
            host: self.host.clone(),
            id: std::mem::take(&mut self.id),
            patience: self.patience,
            is_released: AtomicBool::new(true),
            limit: self.limit,
            keeps_less: AtomicBool::new(false),
            is_silent: AtomicBool::new(false),
        };
        runtime.spawn(async move {
            terminal.kill().await;
            terminal.release().await;
        });
    }
}

/// Reading along.
struct Following<'a> {
    terminal: &'a BorrowedTerminal,
    transcript: Transcript,
    watch: Option<&'a mut OutputWatch>,
    /// Whether the client has shown its output at least once.
    was_seen: bool,
}

impl Following<'_> {
    async fn announce(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.begin_in_terminal(&self.terminal.id).await;
        }
    }

    /// Reads until the program has ended; `None` if it was killed and nobody says how it ended.
    async fn until_ended(
        &mut self,
        ending: &TerminalEnding,
    ) -> Result<Option<TerminalExit>, String> {
        let terminal = self.terminal;
        let mut exit = terminal.host.0.wait_for_exit(&terminal.id);
        let mut look = Box::pin(terminal.next_look());
        loop {
            tokio::select! {
                biased;
                exit = &mut exit => {
                    // The killer need not hear how the program ended.
                    return if ending.by.get().is_some() { Ok(exit.ok()) } else { exit.map(Some) };
                }
                () = ending.killed.cancelled() => {
                    return Ok(terminal.bounded(exit).await.ok());
                }
                seen = &mut look => {
                    let ended = seen.as_ref().ok().and_then(|seen| seen.exit.clone());
                    self.take_in(seen).await;
                    if ended.is_some() {
                        return Ok(ended);
                    }
                    look = Box::pin(terminal.next_look());
                }
            }
        }
    }

    async fn take_in(&mut self, seen: Result<TerminalOutput, String>) {
        if let Ok(seen) = seen {
            self.was_seen = true;
            self.transcript.take_in(seen.text, seen.truncated);
            if let (Some(watch), Ok(reader)) = (&mut self.watch, self.transcript.reader()) {
                watch.pass_on(std::slice::from_ref(&reader)).await;
            }
        }
    }

    /// The final output, and whether some of it was lost.
    async fn conclude(
        mut self,
        last: Result<TerminalOutput, String>,
    ) -> std::io::Result<(bashd_keeper::spool::SpoolReader, bool)> {
        self.take_in(last).await;
        let reader = self.transcript.reader()?;
        if let Some(watch) = &mut self.watch {
            watch.finish(std::slice::from_ref(&reader)).await;
        }
        Ok((reader, self.transcript.is_incomplete()))
    }
}
