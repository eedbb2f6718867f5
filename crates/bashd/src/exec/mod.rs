//! Carrying out a plan: the only place that makes processes.
//!
//! `keeper` is the process between us and the shell, `keepers` where the engine gets one,
//! `connection` the socket to it, `watch` the growth of its output, `sessions` the shells that live from
//! call to call, `terminal` a run that is the client's. This file asks one keeper to
//! run one plan and waits for its report. The engine never holds the output: it gets descriptors of
//! the spool and reads windows of it.

pub(crate) mod connection;
mod guardian;
mod handover;
pub mod keeper;
mod keepers;
mod keyboard;
pub(crate) mod os;
mod reset;
mod sessions;
pub(crate) mod snapshots;
pub mod terminal;
mod warm;
mod watch;

use crate::artifact::Writers;
use crate::error::{Error, ErrorKind, Result};
use crate::output::spool::SpoolReader;
use crate::plan::{Limits, LimitsInForce, Plan, Stdin, Streams};
use crate::reply::LeftBehind;
use connection::Connection;
pub use guardian::{LEAVE_SCREEN, TerminalGuardian};
pub(crate) use handover::HandedOver;
use handover::Turn;
use keeper::job_messages::Detached;
use keeper::protocol::{self, End, Exited, Failed, Frame, Grown, Release, Spilled, Start, Started};
pub(crate) use keepers::Keepers;
pub use keyboard::Keyboard;
pub(crate) use keyboard::Strokes;
pub use reset::Reset;
use rustix::process::Signal;
use serde_bytes::ByteBuf;
pub use sessions::SessionLimits;
pub(crate) use sessions::Sessions;
use std::convert::Infallible;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
pub(crate) use watch::Watch;

/// How much later than it should have answered the engine gives up waiting for a keeper.
const BACKSTOP: Duration = Duration::from_secs(1);

/// How the shell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It could not be ended in time, so that there is no status.
    Unknown,
}

/// Who ended the run, if it did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The deadline.
    Timeout,
    /// The caller: its token, its dropped future, or its death.
    Cancel,
}

/// A finished run: how it ended, its output, its timings.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// How the shell ended.
    pub exit: Exit,
    /// Who ended it, if it did not end by itself.
    pub ended_by: Option<EndedBy>,
    /// stdout, or both streams merged.
    pub out: SpoolReader,
    /// stderr, where the plan kept the streams apart.
    pub err: Option<SpoolReader>,
    /// From the shell's start to the end of the drain.
    pub ran_for: Duration,
    /// Processes that outlived the run.
    pub left_behind: Vec<LeftBehind>,
    /// Why the session's shell is gone, or why it is another one than before.
    pub session_reset: Option<Reset>,
    /// What the caller should know about how it was run.
    pub notes: Vec<String>,
    /// Where it ran, if in a terminal of the client's.
    pub terminal: Option<ClientRun>,
    /// The limits that held for it.
    pub limits: Option<LimitsInForce>,
    /// Where the session's shell was when the call began.
    pub(crate) began_in: Option<PathBuf>,
    /// Who may still write to the spools.
    pub(crate) writers: Writers,
    /// Closed last: the keeper holds the spool until then, so that freeing a large one is its work
    /// and not that of the engine's thread.
    link: Option<Connection>,
}

impl Run {
    /// A run that goes on, as far as it is now.
    pub(crate) fn so_far(out: SpoolReader, err: Option<SpoolReader>, ran_for: Duration) -> Self {
        Self {
            exit: Exit::Unknown,
            ended_by: None,
            out,
            err,
            ran_for,
            left_behind: Vec::new(),
            session_reset: None,
            notes: Vec::new(),
            terminal: None,
            limits: None,
            began_in: None,
            writers: Writers::Left,
            link: None,
        }
    }
}

/// What came of a plan that was carried out.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The run is over.
    Ended(Run),
    /// It goes on as a job.
    HandedOver(HandedOver),
}

impl Outcome {
    /// Where the command began, if its session knew that and not the plan.
    pub(crate) fn began_in(&self, plan: &Plan) -> Option<&Path> {
        let session = plan.session.as_ref();
        match self {
            Self::Ended(run) if session.is_some_and(|session| session.runs_where_it_is) => {
                run.began_in.as_deref()
            }
            Self::Ended(_) | Self::HandedOver(_) => None,
        }
    }
}

/// What there is to say about a run in a client's terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRun {
    /// The client's name for the terminal.
    pub id: String,
    /// Whether the client forgot output before it was seen.
    pub lost_output: bool,
}

/// Why there is no finished run.
pub(crate) enum Failure {
    /// The caller cancelled before the command was started.
    CancelledBeforeStart,
    /// We failed; what was captured until then is here.
    Failed(Error, Option<Box<Run>>),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error, None)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Failed(error, _) => error,
            Failure::CancelledBeforeStart => Self::new(ErrorKind::Spawn, "cancelled before start"),
        }
    }
}

/// Makes the directories that a plan wants, for their owner alone.
pub(crate) fn make_directories(plan: &Plan) -> Result<()> {
    for directory in &plan.make_directories {
        let mut builder = std::fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(directory);
        made.map_err(|error| {
            let doing = format!("make {}", directory.display());
            Error::io(ErrorKind::Io, doing, error)
        })?;
    }
    Ok(())
}

/// Runs a plan to its end, or until it is handed over to go on as a job. Dropping the future ends the tree: its keeper sees the socket close.
pub(crate) async fn run(
    plan: &Plan,
    keepers: &Keepers,
    watch: Option<&mut Watch>,
    cancel: &CancellationToken,
) -> Result<Outcome, Failure> {
    let mut overdue = std::pin::pin!(overdue(&plan.limits, cancel));
    let connection = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(Failure::CancelledBeforeStart),
        connection = start(plan, keepers) => connection?,
        () = &mut overdue => {
            keepers.forget_server();
            return Err(no_answer().into());
        }
    };
    // What the next call needs is forked while this command runs.
    keepers.refill();
    keepers.refill_warm(plan);
    let mut watch = watch;
    let strokes = watch.as_mut().and_then(|watch| watch.strokes.take());
    let mut call = Call {
        connection: &connection,
        spools: Vec::new(),
        keeper: None,
        watch,
        plan,
        turn: Turn::new(plan),
        pid: 0,
        limits: None,
        place: Place::Alone,
        began_in: None,
    };
    if call.turn.is_at_once() {
        call.ask_for_handover().await?;
    }
    let result = tokio::select! {
        biased;
        never = end_when_cancelled(cancel, &connection) => match never {},
        never = Strokes::pass_on(strokes, &connection) => match never {},
        result = call.until_exited(overdue) => result,
    };
    match result {
        Ok(Heard::Exited(exited)) => {
            keepers.refill();
            // The keeper of this run alone has nothing more to say that would be waited for.
            call.forget_claim();
            let mut run = call.finish(plan, *exited).await?;
            run.link = Some(connection);
            Ok(Outcome::Ended(run))
        }
        Ok(Heard::Detached(_)) => {
            keepers.refill();
            Ok(Outcome::HandedOver(call.handed_over().await?))
        }
        Err(error) => {
            if error.kind() == ErrorKind::KeeperLost {
                if call.keeper.is_none() {
                    keepers.forget_server();
                }
                call.kill_keeper();
                call.withdraw_announcement();
                keepers.end_orphans();
            }
            Err(Failure::Failed(error, call.abandon().map(Box::new)))
        }
    }
}

/// Has the keeper end the tree when the caller cancels; beside everything else, since a receiver of
/// events may be slow. A keeper that is gone shows elsewhere.
async fn end_when_cancelled(cancel: &CancellationToken, connection: &Connection) -> Infallible {
    cancel.cancelled().await;
    let _ = connection.send(&End::CANCEL, &[]).await;
    std::future::pending().await
}

/// Comes when a keeper should have answered, by its deadline or because it was told to end, and has
/// had some time more. Somebody stopped it, or the machine is stuck.
async fn overdue(limits: &Limits, cancel: &CancellationToken) {
    let _ = tokio::time::timeout(limits.timeout, cancel.cancelled()).await;
    tokio::time::sleep(limits.grace + BACKSTOP).await;
}

fn no_answer() -> Error {
    Error::new(ErrorKind::KeeperLost, "the keeper does not answer")
}

/// Sends the plan to a keeper. One that died while it was waiting is replaced; the command can't
/// have run, since the message did not go out.
async fn start(plan: &Plan, keepers: &Keepers) -> Result<Connection> {
    let failed = |error| Error::io(ErrorKind::Spawn, "talk to the keeper", error);
    let message = start_message(plan);
    let stdin = match &plan.stdin {
        Stdin::Null => None,
        Stdin::Bytes(bytes) => Some(protocol::memory_file(bytes).map_err(failed)?),
    };
    let fds: Vec<_> = [Some(plan.cwd.fd.as_fd()), stdin.as_ref().map(AsFd::as_fd)]
        .into_iter()
        .flatten()
        .collect();
    // A started shell, then the spare; whoever died while it was waiting is passed over.
    let mut warm = keepers.take_warm(plan);
    for _ in 0..2 {
        let connection = match warm.take() {
            Some(connection) => connection,
            None => keepers.take().await?,
        };
        match connection.send(&message, &fds).await {
            Ok(()) => return Ok(connection),
            Err(error) if keepers::is_gone(&error) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let connection = keepers.take().await?;
    match connection.send(&message, &fds).await {
        Ok(()) => Ok(connection),
        Err(error) if keepers::is_gone(&error) => {
            Err(why_gone(&connection).await.unwrap_or(failed(error)))
        }
        Err(error) => Err(failed(error)),
    }
}

/// What was said about a keeper that is not there.
async fn why_gone(connection: &Connection) -> Option<Error> {
    let frame = connection.receive().await.ok().flatten()?;
    frame.is::<Failed>().then(|| failure(&frame).ok()).flatten()
}

fn failure(frame: &Frame) -> std::io::Result<Error> {
    let Failed { doing, errno } = frame.body()?;
    let error = std::io::Error::from_raw_os_error(errno);
    Ok(Error::io(ErrorKind::Spawn, doing, error))
}

/// A variable as it stands in an environment.
fn entry((name, value): &(OsString, OsString)) -> ByteBuf {
    let mut entry = name.clone();
    entry.push("=");
    entry.push(value);
    ByteBuf::from(entry.into_vec())
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn start_message(plan: &Plan) -> Start {
    let bytes = |string: &OsString| ByteBuf::from(string.clone().into_vec());
    Start {
        program: plan.shell.program.clone().into_os_string().into_vec(),
        argv: std::iter::once(&plan.shell.name)
            .chain(&plan.shell.args)
            .map(bytes)
            .collect(),
        script: plan.script_of_new_shell().map(ByteBuf::from),
        warm: plan.suits_warm_shell().then(|| {
            let script = plan.script.clone().unwrap_or_default();
            ByteBuf::from(script.into_bytes())
        }),
        env: plan.env.iter().map(entry).collect(),
        stdin: plan.stdin != Stdin::Null,
        streams: plan.streams,
        quota: plan.quota,
        timeout_us: micros(plan.limits.timeout),
        grace_us: micros(plan.limits.grace),
        drain_silence_us: micros(plan.limits.drain_silence),
        drain_total_us: micros(plan.limits.drain_total),
        survivors: plan.limits.survivors,
        terminal: plan.terminal,
        stdin_open: plan.stdin_open,
        restraint: plan.restraint.clone(),
        detaches: Turn::new(plan).is_at_once(),
    }
}

/// What ends the engine's part in a run.
enum Heard {
    /// It is over.
    Exited(Box<Exited>),
    /// It is a job now; the session whose shell went along was in this directory.
    Detached(Option<PathBuf>),
}

/// One call's conversation with its keeper.
struct Call<'a> {
    connection: &'a Connection,
    spools: Vec<SpoolReader>,
    /// A pidfd of the keeper, for when it does not answer.
    keeper: Option<OwnedFd>,
    watch: Option<&'a mut Watch>,
    plan: &'a Plan,
    /// When the run is to be handed over, and how far that is.
    turn: Turn,
    /// The shell, once it runs.
    pid: i32,
    /// The limits that hold, once it runs.
    limits: Option<LimitsInForce>,
    /// Whether the keeper is this call's alone.
    place: Place,
    /// Where the session's shell was when the call began.
    began_in: Option<PathBuf>,
}

/// Whether a call has a keeper of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It has: what it leaves running can be made a job.
    Alone,
    /// It shares one with the other calls of its session.
    Session,
}

impl Call<'_> {
    /// Hears the keeper out. Only the time spent waiting for it counts: when it is overdue
    /// after a slow receiver of events, what the keeper has said meanwhile is heard first.
    async fn until_exited(
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
                        watch.show_held();
                    }
                    continue;
                }
                () = &mut overdue => return Err(no_answer()),
                () = self.turn.takes_long() => {
                    self.announce().await;
                    continue;
                }
                () = self.turn.comes() => {
                    self.ask_for_handover().await?;
                    continue;
                }
            };
            let deaf = |error| Error::io(ErrorKind::KeeperLost, "hear the keeper", error);
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

    async fn hear(&mut self, frame: Frame) -> Result<Option<Heard>> {
        let broken = |error| Error::io(ErrorKind::KeeperLost, "understand the keeper", error);
        if frame.is::<Exited>() {
            let exited = frame.body().map_err(broken)?;
            return Ok(Some(Heard::Exited(Box::new(exited))));
        } else if frame.is::<Detached>() {
            let detached: Detached = frame.body().map_err(broken)?;
            return self.hear_detached(detached).await;
        } else if frame.is::<Started>() {
            self.begin(frame).map_err(broken)?;
            self.follow().await;
        } else if frame.is::<Spilled>() {
            let Spilled { stream } = frame.body().map_err(broken)?;
            if let (Some(spool), Some(ring)) =
                (self.spools.get(stream), frame.fds.into_iter().next())
            {
                spool.set_ring(ring);
            }
        } else if frame.is::<Grown>() {
            self.follow().await;
        } else if frame.is::<Failed>() {
            return Err(failure(&frame).map_err(broken)?);
        }
        Ok(None)
    }

    /// The shell runs: take the descriptors of its spools.
    fn begin(&mut self, frame: Frame) -> std::io::Result<()> {
        let started: Started = frame.body()?;
        let mut fds = frame.fds.into_iter();
        for has_head in started.heads {
            let page = fds.next().ok_or(std::io::ErrorKind::UnexpectedEof)?;
            let head = if has_head { fds.next() } else { None };
            self.spools.push(SpoolReader::new(page, head)?);
        }
        self.keeper = fds.next();
        self.pid = started.pid;
        self.limits = started.limits;
        let directory = started.directory.map(OsString::from_vec);
        self.began_in = directory.map(PathBuf::from);
        self.turn.begin();
        if let Some(watch) = &mut self.watch {
            watch.begin(started.pid);
        }
        Ok(())
    }

    /// Passes on what was written since the last look, and asks to be told of more.
    async fn follow(&mut self) {
        if let Some(watch) = &mut self.watch {
            let query = watch.pass_on(&self.spools).await;
            let _ = self.connection.send(&query, &[]).await;
        }
    }

    async fn finish(mut self, plan: &Plan, mut exited: Exited) -> Result<Run> {
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
            watch.finish().await;
        }
        let is_kept = match self.place {
            Place::Alone => self.keep_survivors(&mut exited.left_behind).await,
            Place::Session => false,
        };
        if !exited.left_behind.is_empty() && !is_kept {
            let directory = plan.directory.clone();
            let _ = self.connection.send(&Release { directory }, &[]).await;
        }
        let err = (plan.streams == Streams::Apart)
            .then(|| spools.pop())
            .flatten();
        let out = spools.pop().ok_or_else(|| {
            Error::new(
                ErrorKind::KeeperLost,
                "the keeper ended a run that it had not started",
            )
        })?;
        // Something that outlived the run may open a pipe again by its path.
        let writers = if exited.is_closed && exited.left_behind.is_empty() {
            Writers::Gone
        } else {
            Writers::Left
        };
        Ok(Run {
            exit: exited.exit,
            ended_by: exited.ended_by,
            out,
            err,
            ran_for: Duration::from_micros(exited.ran_for_us),
            left_behind: exited.left_behind,
            session_reset: None,
            notes: Vec::new(),
            terminal: None,
            limits: self.limits.take().map(|mut limits| {
                limits.out_of_memory = exited.out_of_memory;
                limits
            }),
            began_in: self.began_in,
            writers,
            link: None,
        })
    }

    /// What was captured before the keeper was lost.
    fn abandon(mut self) -> Option<Run> {
        let err = (self.spools.len() > 1).then(|| self.spools.pop()).flatten();
        Some(Run::so_far(self.spools.pop()?, err, Duration::ZERO))
    }

    fn kill_keeper(&self) {
        if let Some(keeper) = &self.keeper {
            let _ = rustix::process::pidfd_send_signal(keeper, Signal::KILL);
        }
    }
}
