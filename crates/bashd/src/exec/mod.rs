//! Carrying out a plan: the only place that makes processes.
//!
//! `keeper` is the process between us and the shell, `keepers` is where the engine gets one,
//! `stock` holds those for calls to come, `connection` is the socket to a keeper, `conversation`
//! reads what it sends, `outcome` is the result, `watch` follows the output as it grows, `sessions`
//! are the shells that live across calls, `terminal` runs a plan in a terminal of the client. This
//! file asks one keeper to run one plan and waits for its report. The engine never holds the
//! output: it gets descriptors of the spool and reads windows of it.

mod alarm;
mod background;
mod confined_spares;
pub(crate) mod connection;
mod conversation;
pub(crate) mod excerpts;
mod guardian;
mod keepers;
mod keyboard;
mod outcome;
pub(crate) mod reactor;
mod sessions;
mod silence;
mod started_shells;
mod stock;
pub mod terminal;
mod terminal_mark;
pub(crate) mod terminal_seats;
pub(crate) mod terminal_shell;
mod turns;
mod watch;

use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::near;
use crate::plan::{Limits, Plan, StdinSource, Vessel};
use background::BackgroundTimer;
pub(crate) use background::BackgroundedRun;
pub use bashd_keeper::exit::{EndedBy, Exit};
use bashd_keeper::keeper::protocol::{
    self, Beginning, EndMessage, FailedMessage, MessageFrame, StartMessage,
};
pub use bashd_keeper::reset::Reset;
use connection::KeeperConnection;
use conversation::{Conversation, Heard, KeeperUse, beginning};
pub use guardian::{LEAVE_SCREEN, PLAIN_MODES, TerminalGuardian};
pub(crate) use keepers::{ExpectedCalls, Keepers};
pub use keyboard::Keyboard;
pub(crate) use keyboard::Strokes;
pub use outcome::{ClientRun, Run};
pub(crate) use outcome::{PlanOutcome, RunFailure};
use serde_bytes::ByteBuf;
pub use sessions::SessionLimits;
pub(crate) use sessions::Sessions;
use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::pin::Pin;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
pub(crate) use turns::{SHORTEST_WAIT, TurnTicket, busy_for};
pub(crate) use watch::OutputWatch;

/// How long past its due time the engine waits before it gives up on a keeper.
const BACKSTOP: Duration = Duration::from_secs(1);

/// What plans are carried out with.
pub(crate) struct Means<'a> {
    pub(crate) keepers: &'a Keepers,
    pub(crate) sessions: &'a Sessions,
    /// The call's place in the line of its session.
    pub(crate) ticket: Option<&'a TurnTicket>,
}

impl Means<'_> {
    /// The call has its vessel: those behind it may come.
    fn is_placed(&self) {
        if let Some(ticket) = self.ticket {
            ticket.is_placed();
        }
    }
}

/// Carries a plan out, in what it says. Dropping the future ends the tree.
pub(crate) async fn run(
    plan: &Plan,
    means: Means<'_>,
    watch: Option<&mut OutputWatch>,
    cancel: &CancellationToken,
) -> Result<PlanOutcome, RunFailure> {
    make_directories(plan, cancel).await?;
    match &plan.vessel {
        Vessel::OwnShell | Vessel::StartedShell | Vessel::Terminal(_) => {
            means.is_placed();
            run_alone(plan, means.keepers, watch, cancel).await
        }
        Vessel::Session(session) => {
            let sessions = means.sessions;
            sessions.run((plan, session), means, watch, cancel).await
        }
        Vessel::ClientTerminal(host, changes) => {
            means.is_placed();
            let run = terminal::run(plan, (host, changes), watch, cancel).await;
            run.map(PlanOutcome::Ended)
        }
    }
}

/// Makes the directories that a plan wants, for their owner alone. They may be configured to be
/// where nobody answers: then the call ends as if its own directory did not.
async fn make_directories(plan: &Plan, cancel: &CancellationToken) -> Result<(), RunFailure> {
    for directory in &plan.make_directories {
        let place = directory.clone();
        let making = move || {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(0o700).create(place)
        };
        let doing = || format!("make {}", directory.display());
        let failed = |error| RunFailure::from(Error::io(ErrorKind::Io, doing(), error));
        if near::is_near_or_missing(directory) {
            making().map_err(failed)?;
            continue;
        }
        let longest = plan.limits.timeout;
        let done = tokio::select! {
            biased;
            done = errand::go(directory, making) => done,
            () = cancel.cancelled() => return Err(RunFailure::CancelledBeforeStart),
            () = tokio::time::sleep(longest) => {
                let late = io::Error::other("its file system does not answer");
                return Err(failed(late));
            }
        };
        done.unwrap_or_else(|failure| Err(failure.into()))
            .map_err(failed)?;
    }
    Ok(())
}

/// Runs a plan under a keeper of its own, to its end or until it goes on as a job. When the future
/// is dropped, the keeper sees the socket close and ends the tree.
pub(crate) async fn run_alone(
    plan: &Plan,
    keepers: &Keepers,
    watch: Option<&mut OutputWatch>,
    cancel: &CancellationToken,
) -> Result<PlanOutcome, RunFailure> {
    let mut overdue = std::pin::pin!(overdue(&plan.limits, cancel));
    let claimed = background::claim_ahead(plan).await?;
    let beginning = beginning(plan, watch.as_deref());
    let connection = start(plan, keepers, beginning, cancel, overdue.as_mut()).await?;
    let mut watch = watch;
    let strokes = watch.as_mut().and_then(|watch| watch.strokes.take());
    let mut call = Conversation::new(plan, &connection, watch, KeeperUse::Alone);
    call.background.hold(claimed);
    if call.background.is_at_once() {
        call.ask_for_backgrounding().await?;
    }
    let result = tokio::select! {
        biased;
        never = end_when_cancelled(cancel, &connection) => match never {},
        never = Strokes::pass_on(strokes, &connection) => match never {},
        result = call.until_exited(overdue) => result,
    };
    match result {
        Ok(Heard::Exited(exited)) => {
            keepers.refill(plan);
            // This run's own keeper has nothing more to say that is worth waiting for.
            call.forget_claim();
            let mut run = call.finish(plan, *exited).await?;
            run.link = Some(connection);
            Ok(PlanOutcome::Ended(run))
        }
        // Only sessions can end before their calls.
        Ok(Heard::Gone(_)) => Err(no_answer().into()),
        Ok(Heard::Backgrounded(_)) => {
            keepers.refill(plan);
            Ok(PlanOutcome::Backgrounded(call.backgrounded().await?))
        }
        Err(error) => {
            if error.kind() == ErrorKind::KeeperLost {
                if call.keeper.is_none() {
                    keepers.end_server();
                }
                call.kill_keeper();
                call.clean_up().await;
                keepers.end_orphans();
            }
            Err(RunFailure::Failed(error, call.abandon().map(Box::new)))
        }
    }
}

/// Has the keeper end the tree when the caller cancels. Runs beside everything else, since a
/// receiver of events may be slow. A keeper that is gone is noticed elsewhere.
async fn end_when_cancelled(
    cancel: &CancellationToken,
    connection: &KeeperConnection,
) -> Infallible {
    cancel.cancelled().await;
    let _ = connection.send(&EndMessage::CANCEL, &[]).await;
    std::future::pending().await
}

/// Resolves when a keeper should have answered, by its deadline or because it was told to end, and
/// the extra time is over. Somebody stopped it, or the machine is stuck.
async fn overdue(limits: &Limits, cancel: &CancellationToken) {
    let _ = tokio::time::timeout(limits.timeout, cancel.cancelled()).await;
    // A shell that ends at the last moment is followed by the drain.
    tokio::time::sleep(limits.grace.max(limits.drain_total) + BACKSTOP).await;
}

fn no_answer() -> Error {
    Error::new(ErrorKind::KeeperLost, "the keeper does not answer")
}

/// Sends the plan to a keeper. One that was never forked is replaced: the command cannot have run.
async fn start(
    plan: &Plan,
    keepers: &Keepers,
    beginning: Beginning,
    cancel: &CancellationToken,
    mut overdue: Pin<&mut impl Future<Output = ()>>,
) -> Result<KeeperConnection, RunFailure> {
    for _ in 0..2 {
        let connection = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(RunFailure::CancelledBeforeStart),
            connection = send_start(plan, keepers, beginning) => connection?,
            () = &mut overdue => {
                keepers.end_server();
                return Err(no_answer().into());
            }
        };
        // The keeper for the next call is forked while this command runs.
        keepers.refill(plan);
        keepers.refill_started_shells(plan);
        // From here on something may run: cancelling is the keeper's work.
        if keepers.is_born(&connection).await {
            return Ok(connection);
        }
    }
    Err(no_answer().into())
}

/// Sends the plan to a keeper. One that died while waiting is replaced: the command cannot have
/// run, since the message was never sent.
async fn send_start(
    plan: &Plan,
    keepers: &Keepers,
    beginning: Beginning,
) -> Result<KeeperConnection> {
    let failed = |error| Error::io(ErrorKind::Spawn, "write to the keeper", error);
    let mut message = start_message(plan, beginning);
    let stdin = open_stdin(&plan.stdin).map_err(failed)?;
    let fds: Vec<_> = [Some(plan.cwd.fd.as_fd()), stdin.as_ref().map(AsFd::as_fd)]
        .into_iter()
        .flatten()
        .collect();
    // A started shell first, then the spare; one that died while waiting is skipped.
    let mut started = keepers.take_started_shell(plan);
    for _ in 0..2 {
        let connection = match started.take() {
            Some(connection) => connection,
            None => keepers.take(plan).await?,
        };
        confine_as_told(&mut message, plan, &connection);
        match connection.send(&message, &fds).await {
            Ok(()) => return Ok(connection),
            Err(error) if keepers::is_gone(&error) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let connection = keepers.take(plan).await?;
    confine_as_told(&mut message, plan, &connection);
    match connection.send(&message, &fds).await {
        Ok(()) => Ok(connection),
        Err(error) if keepers::is_gone(&error) => {
            Err(why_gone(&connection).await.unwrap_or(failed(error)))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Leaves the confinement out of the message if its keeper knows it.
fn confine_as_told(message: &mut StartMessage, plan: &Plan, connection: &KeeperConnection) {
    let confinement = (plan.restraint.as_ref()).and_then(|held| held.confinement.as_ref());
    message.is_confined_as_told =
        confinement.is_some_and(|confinement| connection.knows(confinement));
    message.restraint.clone_from(&plan.restraint);
    if let Some(restraint) = &mut message.restraint
        && message.is_confined_as_told
    {
        restraint.confinement = None;
    }
}

/// What the keeper passes to the command as stdin, unless it is to read nothing.
fn open_stdin(stdin: &StdinSource) -> std::io::Result<Option<OwnedFd>> {
    match stdin {
        StdinSource::Null => Ok(None),
        StdinSource::Bytes(bytes) => protocol::memory_file(bytes).map(Some),
        StdinSource::Open(file) => file.try_clone().map(Some),
    }
}

/// The error about a keeper that is gone.
async fn why_gone(connection: &KeeperConnection) -> Option<Error> {
    loop {
        let frame = connection.receive().await.ok().flatten()?;
        if frame.is::<FailedMessage>() {
            return failure(&frame).ok();
        }
    }
}

fn failure(frame: &MessageFrame) -> std::io::Result<Error> {
    let FailedMessage { doing, errno } = frame.body()?;
    let error = std::io::Error::from_raw_os_error(errno);
    Ok(Error::io(ErrorKind::Spawn, doing, error))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn start_message(plan: &Plan, beginning: Beginning) -> StartMessage {
    let bytes = |string: &OsString| ByteBuf::from(string.clone().into_vec());
    StartMessage {
        program: plan.shell.program.clone().into_os_string().into_vec(),
        argv: std::iter::once(&plan.shell.name)
            .chain(&plan.shell.args)
            .map(bytes)
            .collect(),
        script: plan.script_of_new_shell().map(ByteBuf::from),
        for_started_shell: (plan.vessel.may_be_started())
            .then(|| plan.script_of_started_shell())
            .flatten()
            .map(|script| ByteBuf::from(script.into_bytes())),
        env: plan.env.clone(),
        stdin: !plan.stdin.is_null(),
        streams: plan.streams,
        quota: plan.quota,
        timeout_us: micros(plan.limits.timeout),
        grace_us: micros(plan.limits.grace),
        drain_silence_us: micros(plan.limits.drain_silence),
        drain_total_us: micros(plan.limits.drain_total),
        drain_finish_us: micros(plan.limits.drain_finish),
        survivors: plan.limits.survivors,
        terminal: plan.vessel.terminal(),
        stdin_open: plan.stdin_open,
        restraint: None,
        is_confined_as_told: false,
        id: plan.id().to_owned(),
        goes_to_background: BackgroundTimer::new(plan).is_at_once(),
        beginning,
        records: plan.records,
    }
}
