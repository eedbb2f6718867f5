//! One call's conversation with its keeper: from `started` to `exited`, or until it goes to the
//! background.

use super::background::BackgroundTimer;
use super::connection::KeeperConnection;
use super::silence::SilenceTimer;
use super::{EndedBy, OutputWatch, Reset, Run, failure, no_answer};
use crate::artifact::Writers;
use crate::error::{Error, ErrorKind, Result};
use crate::minimize::ShellMasks;
use crate::output::run_output::RunOutput;
use crate::plan::{
    ConfinementInForce, Dealings, GrantableAccess, LimitsInForce, Plan, Restraint, Streams,
};
use crate::request::AfterSilence;
use bashd_keeper::keeper::job_messages::BackgroundedMessage;
use bashd_keeper::keeper::protocol::{
    Beginning, CallForm, EndMessage, ExitedMessage, FailedMessage, GoneMessage, GrownMessage,
    MessageFrame, PreparedMessage, QueryMessage, ReadyMessage, ReleaseMessage, SpilledMessage,
    StartedMessage,
};
use bashd_keeper::spool::SpoolReader;
use rustix::process::Signal;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Instant;

/// What ends the engine's part in a run.
pub(super) enum Heard {
    /// It is over.
    Exited(Box<ExitedMessage>),
    /// It is a job now; the session whose shell went along was in this directory.
    Backgrounded(Option<PathBuf>),
    /// The session had ended before; nothing ran.
    Gone(Reset),
}

/// One call's conversation with its keeper.
pub(super) struct Conversation<'a> {
    pub(super) connection: &'a KeeperConnection,
    pub(super) spools: Vec<SpoolReader>,
    /// A pidfd of the keeper, for when it does not answer.
    pub(super) keeper: Option<OwnedFd>,
    pub(super) watch: Option<&'a mut OutputWatch>,
    pub(super) plan: &'a Plan,
    /// When the run goes to the background, and how far that has come.
    pub(super) background: BackgroundTimer,
    /// How long it may be silent.
    silence: SilenceTimer,
    /// The shell, once it runs.
    pub(super) pid: i32,
    /// The limits that hold, once it runs.
    pub(super) limits: Option<LimitsInForce>,
    /// The confinement in force for it.
    pub(super) confinement: Option<ConfinementInForce>,
    /// Whether the keeper belongs to this call alone.
    pub(super) keeper_use: KeeperUse,
    /// The form of call for which the prepared spool is ours.
    pub(super) form: Option<CallForm>,
    /// Where the session's shell was when the call began.
    pub(super) began_in: Option<PathBuf>,
}

/// Whether a call has its own keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeeperUse {
    /// Yes: what it leaves running can become a job.
    Alone,
    /// It shares one with the other calls of its session.
    Session,
}

/// Whether the caller wants to know when a run begins, which process it is and which limits it
/// gets.
pub(super) fn beginning(plan: &Plan, watch: Option<&OutputWatch>) -> Beginning {
    let is_plain = plan.backgrounding.is_none()
        && plan.silence.is_none()
        && plan.vessel.terminal().is_none()
        && !plan.restraint.as_ref().is_some_and(Restraint::is_limited);
    if is_plain && watch.is_none() {
        Beginning::Assumed
    } else {
        Beginning::Told
    }
}

impl<'a> Conversation<'a> {
    /// A call that its keeper has been sent.
    pub(super) fn new(
        plan: &'a Plan,
        connection: &'a KeeperConnection,
        watch: Option<&'a mut OutputWatch>,
        place: KeeperUse,
    ) -> Self {
        Self {
            connection,
            spools: Vec::new(),
            keeper: None,
            watch,
            plan,
            background: BackgroundTimer::new(plan),
            silence: SilenceTimer::of(plan),
            pid: 0,
            limits: None,
            confinement: None,
            keeper_use: place,
            form: None,
            began_in: None,
        }
    }

    /// Waits for the keeper's report. Only time spent waiting for the keeper counts: if it is
    /// overdue after a slow receiver of events, what the keeper has sent meanwhile is read first.
    pub(super) async fn until_exited(
        &mut self,
        mut overdue: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<Heard> {
        loop {
            let due = self.watch.as_ref().and_then(|watch| watch.due());
            let frame = tokio::select! {
                biased;
                frame = self.connection.receive() => frame,
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    if let Some(watch) = &mut self.watch {
                        watch.show_held(&self.spools);
                    }
                    continue;
                }
                () = &mut overdue => return Err(no_answer()),
                () = self.background.takes_long() => {
                    self.announce().await;
                    continue;
                }
                () = self.background.comes() => {
                    self.ask_for_backgrounding().await?;
                    continue;
                }
                () = self.silence.comes() => {
                    self.end_silent().await?;
                    continue;
                }
            };
            let deaf = |error| Error::io(ErrorKind::KeeperLost, "read from the keeper", error);
            let frame = frame.map_err(deaf)?.ok_or_else(|| {
                Error::new(
                    ErrorKind::KeeperLost,
                    "the keeper was killed while the command ran",
                )
            })?;
            if let Some(heard) = self.hear(frame).await? {
                return Ok(heard);
            }
        }
    }

    pub(super) async fn hear(&mut self, frame: MessageFrame) -> Result<Option<Heard>> {
        let broken = |error| Error::io(ErrorKind::KeeperLost, "decode the keeper's message", error);
        if frame.is::<ExitedMessage>() {
            let exited = frame.body().map_err(broken)?;
            return Ok(Some(Heard::Exited(Box::new(exited))));
        } else if frame.is::<BackgroundedMessage>() {
            let backgrounded: BackgroundedMessage = frame.body().map_err(broken)?;
            return self.hear_backgrounded(backgrounded).await;
        } else if frame.is::<PreparedMessage>() {
            let PreparedMessage { form, started } = frame.body().map_err(broken)?;
            // Nobody watches, so the time counts from when the call was sent.
            if self.form == Some(form) {
                self.begin(started, frame.fds).map_err(broken)?;
            }
        } else if frame.is::<ReadyMessage>() {
            let ready: ReadyMessage = frame.body().map_err(broken)?;
            if self.begins_unseen(&ready) {
                self.begin(StartedMessage::unseen(&ready), frame.fds)
                    .map_err(broken)?;
                self.background.begin();
            }
        } else if frame.is::<StartedMessage>() {
            let started: StartedMessage = frame.body().map_err(broken)?;
            if let Some(watch) = &mut self.watch {
                watch.begin(started.pid);
            }
            self.begin(started, frame.fds).map_err(broken)?;
            self.background.begin();
            self.silence.heard();
            self.follow().await;
        } else if frame.is::<GoneMessage>() {
            let gone: GoneMessage = frame.body().map_err(broken)?;
            return Ok(Some(Heard::Gone(gone.reset)));
        } else if frame.is::<SpilledMessage>() {
            let SpilledMessage { stream } = frame.body().map_err(broken)?;
            if let (Some(spool), Some(ring)) =
                (self.spools.get(stream), frame.fds.into_iter().next())
            {
                spool.set_ring(ring);
            }
        } else if frame.is::<GrownMessage>() {
            self.silence.heard();
            self.follow().await;
        } else if frame.is::<FailedMessage>() {
            self.spools.clear(); // nothing ran, even if a beginning was assumed
            return Err(failure(&frame).map_err(broken)?);
        }
        Ok(None)
    }

    /// Whether the keeper's being ready is all that will be said about the run's beginning.
    fn begins_unseen(&self, ready: &ReadyMessage) -> bool {
        let Plan { streams, quota, .. } = self.plan;
        beginning(self.plan, self.watch.as_deref()) == Beginning::Assumed
            && self.keeper_use == KeeperUse::Alone
            && (*streams, *quota) == (Streams::Merged, ready.quota)
    }

    /// The shell runs: take the descriptors of its spools.
    fn begin(&mut self, started: StartedMessage, fds: Vec<OwnedFd>) -> std::io::Result<()> {
        self.spools.clear();
        let mut fds = fds.into_iter();
        for has_head in started.heads {
            let page = fds.next().ok_or(std::io::ErrorKind::UnexpectedEof)?;
            let head = if has_head { fds.next() } else { None };
            self.spools.push(SpoolReader::new_later(page, head));
        }
        self.keeper = fds.next();
        self.pid = started.pid;
        self.limits = started.limits;
        self.confinement = started.confinement;
        let directory = started.directory.map(OsString::from_vec);
        self.began_in = directory.map(PathBuf::from);
        Ok(())
    }

    /// Passes on what was written since the last look, and asks to be told of more.
    async fn follow(&mut self) {
        if let Some(watch) = &mut self.watch {
            let query = watch.pass_on(&self.spools).await;
            let _ = self.connection.send(&query, &[]).await;
        } else if self.silence.is_awaited() {
            let end = |stream: usize| self.spools.get(stream).map_or(0, SpoolReader::readable_end);
            let (out, err) = (end(0), end(1));
            let _ = self.connection.send(&QueryMessage { out, err }, &[]).await;
        }
    }

    /// Nothing was written for too long: the command goes on as a job, or is ended.
    async fn end_silent(&mut self) -> Result<()> {
        self.silence.give_up();
        if self.plan.silence.map(|limit| limit.then) == Some(AfterSilence::GoOn) {
            return self.ask_for_backgrounding().await;
        }
        let by = EndedBy::Timeout;
        let asked = self.connection.send(&EndMessage { by }, &[]).await;
        asked.map_err(|error| Error::io(ErrorKind::KeeperLost, "end the command", error))
    }

    pub(super) async fn finish(mut self, plan: &Plan, mut exited: ExitedMessage) -> Result<Run> {
        let spools = std::mem::take(&mut self.spools);
        let ends = exited
            .counts
            .iter()
            .copied()
            .chain(std::iter::repeat((0, 0)));
        let mut spools = spools
            .into_iter()
            .zip(ends)
            .map(|(spool, (bytes, lines))| spool.ending_at(bytes, lines))
            .collect::<Vec<_>>();
        if let Some(watch) = &mut self.watch {
            watch.pass_on(&spools).await;
            watch.finish(&spools).await;
        }
        let is_kept = match self.keeper_use {
            KeeperUse::Alone => self.keep_survivors(&mut exited.left_behind).await,
            KeeperUse::Session => false,
        };
        if !exited.left_behind.is_empty() && !is_kept {
            let directory = plan.directory.clone();
            let _ = self
                .connection
                .send(&ReleaseMessage { directory }, &[])
                .await;
        }
        let err = (plan.streams == Streams::Apart)
            .then(|| spools.pop())
            .flatten();
        let out = spools.pop().ok_or_else(|| {
            Error::new(
                ErrorKind::KeeperLost,
                "the keeper reported the end of a run that it never started",
            )
        })?;
        // A process that outlived the run may open a pipe again by its path.
        let writers = if exited.is_closed && exited.left_behind.is_empty() {
            Writers::Gone
        } else {
            Writers::Left
        };
        Ok(Run {
            exit: exited.exit,
            ended_by: exited.ended_by,
            out: out.into(),
            err: err.map(RunOutput::from),
            ran_for: Duration::from_micros(exited.ran_for_us),
            pid: self.pid,
            left_behind: exited.left_behind,
            output_unfinished: exited.is_unfinished,
            session_reset: None,
            notes: self.background.no_job.take().into_iter().collect(),
            terminal: None,
            limits: self.limits.take().map(|mut limits| {
                limits.out_of_memory = exited.out_of_memory;
                limits
            }),
            confinement: exited.confinement.or(self.confinement.take()),
            grantable: grantable(plan, exited.dealings.as_ref()),
            dealings: exited.dealings.unwrap_or_default(),
            changes: None,
            denied: None,
            stored_there: None,
            began_in: self.began_in,
            masks: ShellMasks::default(),
            goes_on: false,
            writers,
            link: None,
        })
    }

    /// What was captured before the keeper was lost.
    pub(super) fn abandon(mut self) -> Option<Run> {
        let err = (self.spools.len() > 1).then(|| self.spools.pop()).flatten();
        let out = self.spools.pop()?.into();
        Some(Run::so_far(out, err.map(RunOutput::from), Duration::ZERO))
    }

    pub(super) fn kill_keeper(&self) {
        if let Some(keeper) = &self.keeper {
            let _ = rustix::process::pidfd_send_signal(keeper, Signal::KILL);
        }
    }
}

/// What of all that a run was refused can be granted to a repeated call.
fn grantable(plan: &Plan, dealings: Option<&Dealings>) -> Option<GrantableAccess> {
    let confinement = plan.restraint.as_ref()?.confinement.as_ref()?;
    GrantableAccess::of(confinement, &dealings?.refused)
}
