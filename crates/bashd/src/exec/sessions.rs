//! The engine's sessions: one long-lived shell for each key, one call at a time in each.
//!
//! A session in use belongs to its call. When the call's future is dropped, or the keeper does not
//! answer in time, the key is *quarantined* until its keeper has cleaned up: calls run one-shot
//! meanwhile. A session whose shell is gone is told in the reply of the call that found out, since a
//! model would otherwise go on with variables that are not there.

use super::connection::Connection;
use super::handover::Turn as Handover;
use super::keeper::protocol::{self, Call as CallMessage, End, Exited, Gone, Open};
use super::keepers::{self, Keepers};
use super::{
    Call, EndedBy, Failure, HandedOver, Heard, Outcome, Place as CallPlace, Reset, Run, Watch,
    end_when_cancelled, entry, micros,
};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Overlap, Plan, SessionKey, SessionPlan, Stdin};
use rustix::process::Signal;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

/// How long after its deadline a call returns, whatever its keeper does.
const HARD_KILL_GRACE: Duration = Duration::from_secs(5);

/// How long a keeper may take to clean up after a call that nobody waits for any more.
const CLEANING: Duration = Duration::from_secs(30);

/// Seats after which those of sessions that are gone are given up.
const MOST_SEATS: usize = 256;

/// How many sessions there may be, and how long they wait for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// Sessions at a time; 0 for none, so that every call has a shell of its own.
    pub most: usize,
    /// How long a session may go unused; `None` for ever.
    pub idle: Option<Duration>,
}

/// The table of sessions.
pub(crate) struct Sessions {
    limits: SessionLimits,
    seats: Mutex<HashMap<SessionKey, Arc<Seat>>>,
}

/// A key's place in the table.
#[derive(Default)]
struct Seat {
    /// The session; locked by the call that uses it, or by who cleans up after one.
    live: Arc<tokio::sync::Mutex<Option<Live>>>,
    is_quarantined: AtomicBool,
    /// Why the last session is gone, until a reply has told it.
    untold: Mutex<Option<Reset>>,
    /// Where the last session was, if the next one is to begin there.
    directory: Mutex<Option<PathBuf>>,
    last_used: Mutex<Option<Instant>>,
}

/// A session that waits for its next call.
struct Live {
    /// Not registered with any runtime: the next call may come from another one.
    socket: OwnedFd,
    calls: u64,
}

type Place = OwnedMutexGuard<Option<Live>>;

/// Why a call with a session ran without one.
enum Aside {
    Busy,
    Quarantined,
    NoRoom,
    OneCall,
}

impl Aside {
    /// What the caller should know; nothing where it asked for no session and none can stay anyway.
    fn note(&self, session: &SessionPlan) -> Option<String> {
        let why = match self {
            Self::OneCall if !session.is_asked_for => return None,
            Self::Busy => "the session is busy with another call",
            Self::Quarantined => "the session is being cleaned up",
            Self::NoRoom => "there is no room for another session",
            Self::OneCall => "this process ends after its call, so that no session can stay",
        };
        Some(format!("{why}: the command ran in a shell of its own"))
    }
}

impl Sessions {
    pub(crate) fn new(limits: SessionLimits) -> Self {
        Self {
            limits,
            seats: Mutex::default(),
        }
    }

    /// Runs a plan in its session, or in a shell of its own if it has none.
    pub(crate) async fn run(
        &self,
        plan: &Plan,
        keepers: &Keepers,
        mut watch: Option<&mut Watch>,
        cancel: &CancellationToken,
    ) -> Result<Outcome, Failure> {
        let Some(session) = &plan.session else {
            return super::run(plan, keepers, watch, cancel).await;
        };
        let taken = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Failure::CancelledBeforeStart),
            taken = self.take(session, keepers) => taken,
        };
        let (seat, mut place) = match taken {
            Ok(taken) => taken,
            Err(aside) => {
                let mut outcome = super::run(plan, keepers, watch, cancel).await?;
                let notes = match &mut outcome {
                    Outcome::Ended(run) => &mut run.notes,
                    Outcome::HandedOver(job) => &mut job.notes,
                };
                notes.extend(aside.note(session));
                return Ok(outcome);
            }
        };
        loop {
            let seated = (Arc::clone(&seat), place);
            let turn = Turn::begin(plan, session, seated, self.limits, keepers).await?;
            match turn.finish(plan, watch.as_deref_mut(), cancel).await? {
                Finish::Ran(run) => return Ok(Outcome::Ended(*run)),
                Finish::HandedOver(job) => return Ok(Outcome::HandedOver(*job)),
                Finish::Gone(reset, same_place) => {
                    seat.remember(reset);
                    place = same_place;
                }
            }
        }
    }

    /// Takes the session's place, or says why the call must do without.
    async fn take(
        &self,
        session: &SessionPlan,
        keepers: &Keepers,
    ) -> Result<(Arc<Seat>, Place), Aside> {
        if keepers.is_for_one_call() {
            return Err(Aside::OneCall);
        }
        let seat = self.seat(&session.key)?;
        if seat.is_quarantined.load(Ordering::Acquire) {
            return Err(Aside::Quarantined);
        }
        let live = Arc::clone(&seat.live);
        let place = match session.overlap {
            Overlap::Wait => live.lock_owned().await,
            Overlap::OneShot => live.try_lock_owned().map_err(|_| Aside::Busy)?,
        };
        // It may have gone bad while we waited.
        if seat.is_quarantined.load(Ordering::Acquire) {
            return Err(Aside::Quarantined);
        }
        *seat
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok((seat, place))
    }

    /// The seat of a key; makes room for it if it has no session yet.
    fn seat(&self, key: &SessionKey) -> Result<Arc<Seat>, Aside> {
        let mut seats = self.seats();
        if let Some(seat) = seats.get(key).filter(|seat| seat.is_used()) {
            return Ok(Arc::clone(seat));
        }
        if seats.len() >= MOST_SEATS {
            seats.retain(|_, seat| !seat.is_given_up());
        }
        while seats.values().filter(|seat| seat.is_used()).count() >= self.limits.most {
            let idle = seats.values().filter_map(Seat::if_idle);
            let (_, mut place, seat) =
                idle.min_by_key(|(since, ..)| *since).ok_or(Aside::NoRoom)?;
            *place = None;
            seat.remember(Reset::Evicted);
        }
        Ok(Arc::clone(seats.entry(key.clone()).or_default()))
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<SessionKey, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Remembers why the session is gone, for the next reply.
    fn remember(&self, reset: Reset) {
        *self.untold() = Some(reset);
    }

    fn directory(&self) -> MutexGuard<'_, Option<PathBuf>> {
        self.directory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn untold(&self) -> MutexGuard<'_, Option<Reset>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has, or will have, a session.
    fn is_used(&self) -> bool {
        self.live.try_lock().map_or(true, |live| live.is_some())
    }

    /// Whether nothing would be lost with it but the memory of a session.
    fn is_given_up(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && !self.is_used()
    }

    /// The place of a session that waits for a call, and since when.
    fn if_idle(self: &Arc<Self>) -> Option<(Option<Instant>, Place, Arc<Self>)> {
        let place = Arc::clone(&self.live).try_lock_owned().ok()?;
        let since = *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        place.is_some().then(|| (since, place, Arc::clone(self)))
    }
}

/// How a call in a session went.
enum Finish {
    Ran(Box<Run>),
    /// It goes on as a job, and the session's shell with it.
    HandedOver(Box<HandedOver>),
    /// The session had ended before, and nothing ran.
    Gone(Reset, Place),
}

/// A call that has its session's shell.
struct Turn {
    /// What is left to do when it is dropped.
    held: Option<Held>,
    calls: u64,
    /// Whether the keeper was there to take the call.
    is_sent: bool,
}

struct Held {
    seat: Arc<Seat>,
    place: Place,
    connection: Connection,
}

impl Turn {
    async fn begin(
        plan: &Plan,
        session: &SessionPlan,
        (seat, mut place): (Arc<Seat>, Place),
        limits: SessionLimits,
        keepers: &Keepers,
    ) -> Result<Self, Failure> {
        let (connection, calls) = if let Some(Live { socket, calls }) = place.take() {
            (Connection::new(socket).map_err(cannot_talk)?, calls + 1)
        } else {
            let begins_in = seat.directory().take().filter(|path| path.is_dir());
            (open(plan, session, begins_in, limits, keepers).await?, 1)
        };
        let text = protocol::memory_file(&[&*session.text, &[0]].concat()).map_err(cannot_talk)?;
        let stdin = match &plan.stdin {
            Stdin::Null => None,
            Stdin::Bytes(bytes) => Some(protocol::memory_file(bytes).map_err(cannot_talk)?),
        };
        let fds: Vec<_> = [Some(text.as_fd()), stdin.as_ref().map(AsFd::as_fd)]
            .into_iter()
            .flatten()
            .collect();
        let is_sent = match connection.send(&message(plan, session, calls), &fds).await {
            Ok(()) => true,
            Err(error) if keepers::is_gone(&error) => false,
            Err(error) => return Err(cannot_talk(error).into()),
        };
        let held = Some(Held {
            seat,
            place,
            connection,
        });
        Ok(Self {
            held,
            calls,
            is_sent,
        })
    }

    /// Hears the call out, and puts the session back if it still is one.
    async fn finish(
        mut self,
        plan: &Plan,
        watch: Option<&mut Watch>,
        cancel: &CancellationToken,
    ) -> Result<Finish, Failure> {
        let is_sent = self.is_sent;
        let Some(held) = &self.held else {
            return Err(lost().into());
        };
        let mut call = Call {
            connection: &held.connection,
            spools: Vec::new(),
            keeper: None,
            watch,
            plan,
            turn: Handover::new(plan),
            pid: 0,
            limits: None,
            place: CallPlace::Session,
            began_in: None,
        };
        let heard = tokio::select! {
            biased;
            never = end_when_cancelled(cancel, &held.connection) => match never {},
            heard = hear(&mut call, is_sent) => heard,
            by = overdue(plan, cancel) => Ok(Word::Late(by)),
        };
        match heard {
            Ok(Word::Gone(reset)) => self.gone(reset),
            Ok(Word::Exited(exited)) => {
                let is_whole = call.ended_first().await;
                let reset = exited.reset.or((!is_whole).then_some(Reset::Lost));
                let run = call.finish(plan, *exited).await;
                let untold = held.seat.untold().take();
                self.put_back(reset);
                let mut run = run?;
                run.session_reset = reset.or(untold);
                Ok(Finish::Ran(Box::new(run)))
            }
            Ok(Word::Detached(directory)) => {
                let job = call.handed_over().await;
                *held.seat.directory() = directory;
                held.seat.remember(Reset::BecameJob);
                // The place is free, and the connection closes: the shell is the job's.
                self.held = None;
                let mut job = job?;
                job.session_reset = Some(Reset::BecameJob);
                Ok(Finish::HandedOver(Box::new(job)))
            }
            Ok(Word::Late(by)) => {
                let (keeper, run) = (call.keeper.take(), call.abandon());
                self.quarantine(keeper);
                let mut run = run.ok_or_else(lost)?;
                run.ended_by = Some(by);
                run.session_reset = Some(match by {
                    EndedBy::Timeout => Reset::TimedOut,
                    EndedBy::Cancel => Reset::Cancelled,
                });
                Ok(Finish::Ran(Box::new(run)))
            }
            Err(error) => {
                let mut run = call.abandon().map(Box::new);
                match &mut run {
                    Some(run) => run.session_reset = Some(Reset::Lost),
                    None => held.seat.remember(Reset::Lost),
                }
                self.held = None;
                Err(Failure::Failed(error, run))
            }
        }
    }

    fn gone(mut self, reset: Reset) -> Result<Finish, Failure> {
        match self.held.take() {
            Some(held) => Ok(Finish::Gone(reset, held.place)),
            None => Err(lost().into()),
        }
    }

    fn put_back(&mut self, reset: Option<Reset>) {
        if let Some(mut held) = self.held.take()
            && reset.is_none()
        {
            *held.place = Some(Live {
                socket: held.connection.into_socket(),
                calls: self.calls,
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

impl Drop for Turn {
    /// The call's future was dropped: its command ends, and the next call must not meet it.
    fn drop(&mut self) {
        if let Some(held) = &self.held {
            held.seat.remember(Reset::Cancelled);
            let _ = held.connection.send_now(&End {
                by: EndedBy::Cancel,
            });
            self.quarantine(None);
        }
    }
}

/// Waits until a keeper has ended its call, or is gone.
async fn until_clean(connection: &Connection) {
    while let Ok(Some(frame)) = connection.receive().await {
        if frame.is::<Exited>() {
            return;
        }
    }
}

enum Word {
    Exited(Box<Exited>),
    /// The call goes on as a job; the session was in this directory.
    Detached(Option<PathBuf>),
    /// The session had ended before the call; nothing ran.
    Gone(Reset),
    /// The keeper did not end the call in time.
    Late(EndedBy),
}

/// Hears the keeper out. One that was gone when it was spoken to may have said why.
async fn hear(call: &mut Call<'_>, is_sent: bool) -> Result<Word> {
    let deaf = |error| Error::io(ErrorKind::KeeperLost, "hear the keeper", error);
    match call.connection.receive().await.map_err(deaf)? {
        Some(frame) if frame.is::<Gone>() => {
            let reset = frame.body::<Gone>().map_or(Reset::Lost, |gone| gone.reset);
            return Ok(Word::Gone(reset));
        }
        _ if !is_sent => return Ok(Word::Gone(Reset::Lost)),
        Some(frame) => {
            if let Some(heard) = call.hear(frame).await? {
                return Ok(heard.into());
            }
        }
        None => return Err(lost()),
    }
    let never = std::pin::pin!(std::future::pending());
    Ok(call.until_exited(never).await?.into())
}

impl From<Heard> for Word {
    fn from(heard: Heard) -> Self {
        match heard {
            Heard::Exited(exited) => Self::Exited(exited),
            Heard::Detached(directory) => Self::Detached(directory),
        }
    }
}

/// Comes when a call must return, whatever its keeper does, and says who ended it.
async fn overdue(plan: &Plan, cancel: &CancellationToken) -> EndedBy {
    let cancelled = tokio::time::timeout(plan.limits.timeout, cancel.cancelled()).await;
    tokio::time::sleep(HARD_KILL_GRACE).await;
    match cancelled {
        Ok(()) => EndedBy::Cancel,
        Err(_) => EndedBy::Timeout,
    }
}

/// Has a keeper start the session's shell; what follows is queued until it runs.
async fn open(
    plan: &Plan,
    session: &SessionPlan,
    begins_in: Option<PathBuf>,
    limits: SessionLimits,
    keepers: &Keepers,
) -> Result<Connection> {
    let key = &session.key;
    let directory = begins_in.unwrap_or_else(|| session.home.clone());
    let message = Open {
        program: key.program.clone().into_os_string().into_vec(),
        env: key.env.iter().map(entry).collect(),
        directory: directory.into_os_string().into_vec(),
        snapshot: key.snapshot.clone(),
        idle_us: limits.idle.map_or(0, micros),
        restraint: plan.restraint.clone(),
    };
    for attempt in 0..2 {
        let connection = keepers.take().await?;
        match connection.send(&message, &[plan.cwd.fd.as_fd()]).await {
            Ok(()) => {
                keepers.refill();
                return Ok(connection);
            }
            // A spare that somebody killed while it waited.
            Err(error) if keepers::is_gone(&error) && attempt == 0 => {}
            Err(error) => return Err(cannot_talk(error)),
        }
    }
    Err(lost())
}

fn message(plan: &Plan, session: &SessionPlan, number: u64) -> CallMessage {
    CallMessage {
        number,
        stdin: plan.stdin != Stdin::Null,
        directory: session.directory,
        streams: plan.streams,
        quota: plan.quota,
        timeout_us: micros(plan.limits.timeout),
        grace_us: micros(plan.limits.grace),
        drain_silence_us: micros(plan.limits.drain_silence),
        drain_total_us: micros(plan.limits.drain_total),
        survivors: plan.limits.survivors,
    }
}

fn cannot_talk(error: std::io::Error) -> Error {
    Error::io(ErrorKind::Spawn, "talk to the keeper", error)
}

fn lost() -> Error {
    Error::new(ErrorKind::KeeperLost, "the session's keeper was lost")
}
