//! One call's turn in its session: it begins, runs to its report, and the session is put back,
//! given up or quarantined.

use super::{IdleSession, Seat, SeatGuard, SessionLimits, entering};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::connection::KeeperConnection;
use crate::exec::conversation::{Conversation, Heard, KeeperUse};
use crate::exec::keepers::{self, Keepers};
use crate::exec::{
    BackgroundedRun, EndedBy, OutputWatch, Reset, Run, RunFailure, end_when_cancelled, micros,
    open_stdin,
};
use crate::minimize::ShellMasks;
use crate::plan::{Plan, SessionPlan, Variables};
use bashd_keeper::keeper::protocol::{
    CallForm, CallMessage, EndMessage, ExitedMessage, OpenMessage,
};
use rustix::process::Signal;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long after its deadline a call returns, whatever its keeper does.
const HARD_KILL_GRACE: Duration = Duration::from_secs(5);

/// How long a keeper may take to clean up after a call that nobody waits for.
const CLEANING: Duration = Duration::from_secs(30);

/// How a call in a session went.
pub(super) enum TurnOutcome {
    Ran(Box<Run>),
    /// It continues as a job and took the session's shell along.
    Backgrounded(Box<BackgroundedRun>),
    /// The session had ended before, and nothing ran.
    Gone(Reset, SeatGuard),
}

/// A call that has its session's shell.
pub(super) struct SessionTurn {
    /// What is left to do when it is dropped.
    held: Option<HeldSession>,
    /// What the call is like.
    form: CallForm,
    /// Whether the keeper was there to take the call.
    is_sent: bool,
    /// What earlier calls left in the shell.
    masks: ShellMasks,
}

/// What is needed to open a session's shell.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) limits: SessionLimits,
    pub(super) keepers: &'a Keepers,
}

/// What the keeper announces, and when.
#[derive(Clone, Copy)]
pub(super) struct Telling {
    /// The beginning of this call when it comes, because somebody watches.
    pub(super) is_watched: bool,
    /// What it has prepared for the next call.
    pub(super) tells_ahead: bool,
}

struct HeldSession {
    seat: Arc<Seat>,
    guard: SeatGuard,
    connection: KeeperConnection,
}

impl SessionTurn {
    pub(super) async fn begin(
        plan: &Plan,
        session: &SessionPlan,
        (seat, mut place): (Arc<Seat>, SeatGuard),
        opening: Opening<'_>,
        telling: Telling,
    ) -> Result<Self, RunFailure> {
        for _ in 0..2 {
            let idle = place.take();
            let (connection, calls, masks) = if let Some(idle) = idle {
                let connection = KeeperConnection::new(idle.socket).map_err(cannot_talk)?;
                (connection, idle.calls + 1, idle.masks)
            } else {
                let was_in = seat.directory().take();
                let begins_in = entering::beginning(was_in).await;
                let connection = open(plan, session, begins_in, opening).await?;
                (connection, 1, ShellMasks::default())
            };
            let stdin = open_stdin(&plan.stdin).map_err(cannot_talk)?;
            let form = CallForm {
                number: calls,
                stdin: stdin.is_some(),
                directory: session.directory,
                streams: plan.streams,
                quota: plan.quota,
            };
            let message = message(plan, session, form, telling);
            let fds: Vec<_> = stdin.iter().map(AsFd::as_fd).collect();
            let is_sent = match connection.send(&message, &fds).await {
                Ok(()) => true,
                Err(error) if keepers::is_gone(&error) => false,
                Err(error) => return Err(cannot_talk(error).into()),
            };
            let is_new = calls == 1;
            if is_new && is_sent && !opening.keepers.is_born(&connection).await {
                continue; // nothing of it can have run
            }
            let held = Some(HeldSession {
                seat,
                guard: place,
                connection,
            });
            return Ok(Self {
                held,
                form,
                is_sent,
                masks,
            });
        }
        Err(lost().into())
    }

    /// Waits for the call's report, and puts the session back if it still is one.
    pub(super) async fn finish(
        mut self,
        plan: &Plan,
        watch: Option<&mut OutputWatch>,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, RunFailure> {
        let is_sent = self.is_sent;
        let Some(held) = &self.held else {
            return Err(lost().into());
        };
        let mut call = Conversation::new(plan, &held.connection, watch, KeeperUse::Session);
        if call.watch.is_none() {
            call.form = Some(self.form);
            call.background.begin();
        }
        let heard = tokio::select! {
            biased;
            never = end_when_cancelled(cancel, &held.connection) => match never {},
            heard = hear(&mut call, is_sent) => heard,
            by = overdue(plan, cancel) => Ok(TurnEnd::Late(by)),
        };
        match heard {
            Ok(TurnEnd::Gone(reset)) => self.gone(reset),
            Ok(TurnEnd::Exited(exited)) => {
                let is_whole = call.ended_first().await;
                let shell = Some(call.pid).filter(|pid| *pid > 0);
                let reset = exited.reset.or((!is_whole).then_some(Reset::Lost));
                let run = call.finish(plan, *exited).await;
                let untold = held.seat.untold().take();
                let masks = self.masks.clone();
                self.masks.add(plan.script.as_deref().unwrap_or_default());
                self.put_back(reset, shell);
                let mut run = run?;
                run.masks = masks;
                run.session_reset = reset.or(untold);
                Ok(TurnOutcome::Ran(Box::new(run)))
            }
            Ok(TurnEnd::Backgrounded(directory)) => {
                let job = call.backgrounded().await;
                *held.seat.directory() = directory;
                held.seat.remember(Reset::BecameJob);
                // The place is free, and the connection closes: the shell belongs to the job.
                self.held = None;
                let mut job = job?;
                job.session_reset = Some(Reset::BecameJob);
                Ok(TurnOutcome::Backgrounded(Box::new(job)))
            }
            Ok(TurnEnd::Late(by)) => {
                let (keeper, run) = (call.keeper.take(), call.abandon());
                self.quarantine(keeper);
                let mut run = run.ok_or_else(lost)?;
                run.ended_by = Some(by);
                run.session_reset = Some(match by {
                    EndedBy::Timeout => Reset::TimedOut,
                    EndedBy::Cancel | EndedBy::Place => Reset::Cancelled,
                });
                Ok(TurnOutcome::Ran(Box::new(run)))
            }
            Err(error) => {
                if error.kind() == ErrorKind::KeeperLost {
                    call.clean_up().await;
                }
                let mut run = call.abandon().map(Box::new);
                match &mut run {
                    Some(run) => run.session_reset = Some(Reset::Lost),
                    None => held.seat.remember(Reset::Lost),
                }
                self.held = None;
                Err(RunFailure::Failed(error, run))
            }
        }
    }

    fn gone(mut self, reset: Reset) -> Result<TurnOutcome, RunFailure> {
        match self.held.take() {
            Some(held) => Ok(TurnOutcome::Gone(reset, held.guard)),
            None => Err(lost().into()),
        }
    }

    fn put_back(&mut self, reset: Option<Reset>, shell: Option<i32>) {
        if let Some(mut held) = self.held.take()
            && reset.is_none()
        {
            *held.guard = Some(IdleSession {
                socket: held.connection.into_socket(),
                calls: self.form.number,
                shell,
                masks: std::mem::take(&mut self.masks),
            });
        }
    }

    /// Keeps the key away from calls until the keeper has cleaned up.
    fn quarantine(&mut self, keeper: Option<OwnedFd>) {
        let Some(held) = self.held.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return; // the socket closes, and the keeper does the rest
        };
        held.seat.is_quarantined.store(true, Ordering::Release);
        runtime.spawn(async move {
            let clean = tokio::time::timeout(CLEANING, until_clean(&held.connection)).await;
            if let (Err(_), Some(keeper)) = (clean, keeper) {
                let _ = rustix::process::pidfd_send_signal(&keeper, Signal::KILL);
            }
            held.seat.is_quarantined.store(false, Ordering::Release);
        });
    }
}

impl Drop for SessionTurn {
    /// The call's future was dropped: its command is ended, and the next call must not meet it.
    fn drop(&mut self) {
        if let Some(held) = &self.held {
            held.seat.remember(Reset::Cancelled);
            let _ = held.connection.send_now(&EndMessage {
                by: EndedBy::Cancel,
            });
            self.quarantine(None);
        }
    }
}

/// Waits until a keeper has ended its call, or is gone.
async fn until_clean(connection: &KeeperConnection) {
    while let Ok(Some(frame)) = connection.receive().await {
        if frame.is::<ExitedMessage>() {
            return;
        }
    }
}

enum TurnEnd {
    Exited(Box<ExitedMessage>),
    /// The call continues as a job; the session was in this directory.
    Backgrounded(Option<PathBuf>),
    /// The session had ended before the call; nothing ran.
    Gone(Reset),
    /// The keeper did not end the call in time.
    Late(EndedBy),
}

/// Waits for the keeper's report. One that was gone when the call was sent may have said why.
async fn hear(call: &mut Conversation<'_>, is_sent: bool) -> Result<TurnEnd> {
    let never = std::pin::pin!(std::future::pending());
    match call.until_exited(never).await {
        Ok(heard) => Ok(heard.into()),
        Err(_) if !is_sent => Ok(TurnEnd::Gone(Reset::Lost)),
        Err(error) => Err(error),
    }
}

impl From<Heard> for TurnEnd {
    fn from(heard: Heard) -> Self {
        match heard {
            Heard::Exited(exited) => Self::Exited(exited),
            Heard::Backgrounded(directory) => Self::Backgrounded(directory),
            Heard::Gone(reset) => Self::Gone(reset),
        }
    }
}

/// Resolves when a call must return, whatever its keeper does, and says who ended it.
async fn overdue(plan: &Plan, cancel: &CancellationToken) -> EndedBy {
    let cancelled = tokio::time::timeout(plan.limits.timeout, cancel.cancelled()).await;
    tokio::time::sleep(HARD_KILL_GRACE).await;
    match cancelled {
        Ok(()) => EndedBy::Cancel,
        Err(_) => EndedBy::Timeout,
    }
}

/// Has a keeper start the session's shell; what follows is queued until the shell runs.
async fn open(
    plan: &Plan,
    session: &SessionPlan,
    begins_in: Option<PathBuf>,
    Opening { limits, keepers }: Opening<'_>,
) -> Result<KeeperConnection> {
    let key = &session.key;
    let directory = begins_in.unwrap_or_else(|| session.home.clone());
    let message = OpenMessage {
        program: key.program.clone().into_os_string().into_vec(),
        env: Variables::clone(&key.env),
        directory: directory.into_os_string().into_vec(),
        rc_script: key.rc_script.clone(),
        idle_us: limits.idle.map_or(0, micros),
        restraint: plan.restraint.clone(),
    };
    for attempt in 0..2 {
        let connection = keepers.take_plain().await?;
        match connection.send(&message, &[plan.cwd.fd.as_fd()]).await {
            Ok(()) => {
                keepers.refill_plain();
                return Ok(connection);
            }
            // A spare that somebody killed while it waited.
            Err(error) if keepers::is_gone(&error) && attempt == 0 => {}
            Err(error) => return Err(cannot_talk(error)),
        }
    }
    Err(lost())
}

fn message(plan: &Plan, session: &SessionPlan, form: CallForm, telling: Telling) -> CallMessage {
    CallMessage {
        form,
        is_watched: telling.is_watched,
        tells_ahead: telling.tells_ahead,
        text: session.text.clone(),
        run: session.run.clone(),
        timeout_us: micros(plan.limits.timeout),
        grace_us: micros(plan.limits.grace),
        drain_silence_us: micros(plan.limits.drain_silence),
        drain_total_us: micros(plan.limits.drain_total),
        drain_finish_us: micros(plan.limits.drain_finish),
        survivors: plan.limits.survivors,
        records: plan.records,
    }
}

fn cannot_talk(error: std::io::Error) -> Error {
    Error::io(ErrorKind::Spawn, "write to the keeper", error)
}

fn lost() -> Error {
    Error::new(ErrorKind::KeeperLost, "the session's keeper was lost")
}
