//! The engine's sessions: one long-lived shell for each key, one call at a time in each.
//!
//! A session in use belongs to its call. When the call's future is dropped, or the keeper does not
//! answer in time, the key is *quarantined* until its keeper has cleaned up: calls run one-shot
//! meanwhile. The reply of the call that finds a session's shell gone says so, since a model would
//! otherwise rely on variables that no longer exist.

mod entering;
mod turn;

use super::turns::{SHORTEST_WAIT, Turns, busy_for};
use super::{Means, OutputWatch, PlanOutcome, Reset, RunFailure};
use crate::minimize::ShellMasks;
use crate::plan::{Overlap, Plan, SessionKey, SessionPlan, check_way_within};
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;
use turn::{Opening, SessionTurn, Telling, TurnOutcome};

/// Up to this many seats, keepers announce calls that they have prepared. Descriptors that were
/// sent and not yet received count against a limit over all of the user's programs.
const MOST_TOLD_AHEAD: usize = 4;

/// Number of seats above which those of ended sessions are removed.
const MOST_SEATS: usize = 256;

/// Sessions without a seat of which is remembered why they ended.
const MOST_DEPARTED: usize = 4096;

/// How many sessions there may be, and how long they wait for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// How many at a time; 0 for none, so every call gets its own shell.
    pub most: usize,
    /// How long a session may stay unused; `None` means forever.
    pub idle: Option<Duration>,
}

/// The table of sessions.
pub(crate) struct Sessions {
    limits: SessionLimits,
    seats: Mutex<HashMap<SessionKey, Arc<Seat>>>,
    /// Owners and names of sessions that ended, and why, whose seats others have; the oldest first.
    departed: Mutex<VecDeque<((String, String), Reset)>>,
    /// Owners and names of sessions whose shells another process had, and where these were.
    earlier: Mutex<HashMap<(String, String), PathBuf>>,
    /// For calls that wait for each other, in whatever vessel they run.
    pub(crate) turns: Turns,
}

/// A key's place in the table.
#[derive(Default)]
struct Seat {
    /// The session; locked by the call that uses it, or by the task that cleans up after one.
    live: Arc<tokio::sync::Mutex<Option<IdleSession>>>,
    is_quarantined: AtomicBool,
    /// Why the last session is gone, until a reply has said so.
    untold: Mutex<Option<Reset>>,
    /// Where the last session was, if the next one is to begin there.
    directory: Mutex<Option<PathBuf>>,
    last_used: Mutex<Option<Instant>>,
}

/// A session that waits for its next call.
struct IdleSession {
    /// Not registered with any runtime: the next call may come from another one.
    socket: OwnedFd,
    calls: u64,
    /// Its shell, if the keeper has said which process that is.
    shell: Option<i32>,
    /// What its calls left in it that a later status may depend on.
    masks: ShellMasks,
}

impl IdleSession {
    /// Where its shell is.
    fn directory(&self) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{}/cwd", self.shell?)).ok()
    }
}

type SeatGuard = OwnedMutexGuard<Option<IdleSession>>;

/// Why a call with a session ran without one.
enum Aside {
    Busy,
    Quarantined,
    NoRoom,
    OneCall,
}

impl Aside {
    /// What the caller should know; nothing if it asked for no session and none could be kept
    /// anyway.
    fn note(&self, session: &SessionPlan) -> Option<String> {
        let why = match self {
            Self::OneCall if !session.is_asked_for => return None,
            Self::Busy => "the session is busy with another call",
            Self::Quarantined => "the session is being cleaned up",
            Self::NoRoom => "there is no room for another session",
            Self::OneCall => "this process exits after one call, so it cannot keep a session",
        };
        Some(format!("{why}: the command ran in a shell of its own"))
    }
}

impl Sessions {
    pub(crate) fn new(limits: SessionLimits) -> Self {
        Self {
            limits,
            seats: Mutex::default(),
            departed: Mutex::default(),
            earlier: Mutex::default(),
            turns: Turns::default(),
        }
    }

    /// Runs a plan in its session, or in a shell of its own if the session can't be used.
    pub(super) async fn run(
        &self,
        (plan, session): (&Plan, &SessionPlan),
        means: Means<'_>,
        mut watch: Option<&mut OutputWatch>,
        cancel: &CancellationToken,
    ) -> Result<PlanOutcome, RunFailure> {
        let left = plan
            .answer_by
            .map(|latest| latest.saturating_duration_since(Instant::now()));
        let longest = plan.limits.timeout.min(left.unwrap_or(Duration::MAX));
        let longest = longest.max(SHORTEST_WAIT);
        let taken = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(RunFailure::CancelledBeforeStart),
            taken = self.take(session, &means) => taken,
            // What a person runs in the shell has no place in the line.
            () = tokio::time::sleep(longest) => return Err(busy_for(longest).into()),
        };
        means.is_placed();
        let keepers = means.keepers;
        let (seat, mut place) = match taken {
            Ok(taken) => taken,
            Err(aside) => {
                if let Some(directory) = &session.enters {
                    let longest = plan.limits.timeout;
                    check_way_within(&plan.cwd.path, directory, longest).await?;
                }
                let mut outcome = super::run_alone(plan, keepers, watch, cancel).await?;
                let notes = match &mut outcome {
                    PlanOutcome::Ended(run) => &mut run.notes,
                    PlanOutcome::Backgrounded(job) => &mut job.notes,
                };
                notes.extend(aside.note(session));
                return Ok(outcome);
            }
        };
        if session.is_restarted {
            seat.restart(&mut place);
        }
        let opening = Opening {
            limits: self.limits,
            keepers,
        };
        if let Some(directory) = &session.enters {
            let seated = (Arc::clone(&seat), place);
            place = entering::check((plan, session), directory, seated, opening, cancel).await?;
        }
        loop {
            let seated = (Arc::clone(&seat), place);
            let telling = Telling {
                is_watched: watch.is_some(),
                tells_ahead: self.seats().len() <= MOST_TOLD_AHEAD,
            };
            let turn = SessionTurn::begin(plan, session, seated, opening, telling).await?;
            match turn.finish(plan, watch.as_deref_mut(), cancel).await? {
                TurnOutcome::Ran(run) => return Ok(PlanOutcome::Ended(*run)),
                TurnOutcome::Backgrounded(job) => return Ok(PlanOutcome::Backgrounded(*job)),
                TurnOutcome::Gone(reset, same_place) => {
                    seat.remember(reset);
                    place = same_place;
                }
            }
        }
    }

    /// Takes the session's place, or says why the call must do without it.
    async fn take(
        &self,
        session: &SessionPlan,
        means: &Means<'_>,
    ) -> Result<(Arc<Seat>, SeatGuard), Aside> {
        if means.keepers.is_for_one_call() {
            return Err(Aside::OneCall);
        }
        let seat = self.seat(&session.key)?;
        if seat.is_quarantined.load(Ordering::Acquire) {
            return Err(Aside::Quarantined);
        }
        let live = Arc::clone(&seat.live);
        let place = match session.overlap {
            Overlap::Wait => {
                let mut place = std::pin::pin!(live.lock_owned());
                // From the first look on it has its place among those that wait for the shell.
                poll_fn(|context| {
                    let polled = place.as_mut().poll(context);
                    means.is_placed();
                    polled
                })
                .await
            }
            Overlap::OneShot => live.try_lock_owned().map_err(|_| Aside::Busy)?,
        };
        // It may have been quarantined while we waited.
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
            self.clear(&mut seats);
        }
        let is_set_up_anew = end_those_set_up_otherwise(&seats, key);
        while seats.values().filter(|seat| seat.is_used()).count() >= self.limits.most {
            let idle = seats.values().filter_map(Seat::if_idle);
            let (_, mut place, seat) =
                idle.min_by_key(|(since, ..)| *since).ok_or(Aside::NoRoom)?;
            *place = None;
            seat.remember(Reset::Evicted);
        }
        let seat = seats.entry(key.clone()).or_insert_with(|| {
            let seat = Seat::default();
            *seat.untold() = self.was_told_nothing(key);
            Arc::new(seat)
        });
        if is_set_up_anew {
            seat.remember(Reset::NewRcScript);
        }
        if let Some(directory) = self.earlier_of((&key.owner, &key.name)) {
            seat.remember(Reset::Continued);
            *seat.directory() = Some(directory);
        }
        Ok(Arc::clone(seat))
    }

    /// Takes seats away whose sessions have ended; what was not told of that is remembered.
    fn clear(&self, seats: &mut HashMap<SessionKey, Arc<Seat>>) {
        let mut departed = self.departed();
        seats.retain(|key, seat| {
            if !seat.is_given_up() {
                return true;
            }
            if let Some(reset) = *seat.untold() {
                departed.push_back(((key.owner.clone(), key.name.clone()), reset));
            }
            false
        });
        let too_many = departed.len().saturating_sub(MOST_DEPARTED);
        departed.drain(..too_many);
    }

    /// Why the last session of this key is gone, if nobody was told.
    fn was_told_nothing(&self, key: &SessionKey) -> Option<Reset> {
        let mut departed = self.departed();
        let is_it = |((owner, name), _): &((String, String), Reset)| {
            (owner, name) == (&key.owner, &key.name)
        };
        let at = departed.iter().rposition(is_it)?;
        departed.remove(at).map(|(_, reset)| reset)
    }

    fn departed(&self) -> MutexGuard<'_, VecDeque<((String, String), Reset)>> {
        self.departed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is, or was, a session of this name, and if so whether a call uses it.
    pub(crate) fn is_busy(&self, owner: &str, name: &str) -> Option<bool> {
        let seats = self.seats();
        let mut named = seats
            .iter()
            .filter(|(key, _)| (&*key.owner, &*key.name) == (owner, name))
            .peekable();
        named.peek()?;
        Some(named.any(|(_, seat)| seat.live.try_lock().is_err()))
    }

    /// Where an owner's session of this name is, while it waits for its next call.
    /// Whether there is one that waits for its next call, or has one.
    pub(crate) fn has_some(&self) -> bool {
        // Its keeper ends one that was idle for too long.
        let is_there = |seat: &Arc<Seat>| match (seat.if_idle(), self.limits.idle) {
            (Some((Some(since), ..)), Some(longest)) => since.elapsed() < longest,
            (Some(_), _) => true,
            (None, _) => seat.is_used(),
        };
        self.seats().values().any(is_there)
    }

    /// Where its shell is, if no call uses it.
    pub(crate) fn directory_of(&self, owner: &str, name: &str) -> Option<PathBuf> {
        let seats = self.seats();
        let mut own = seats
            .iter()
            .filter(|(key, _)| (&*key.owner, &*key.name) == (owner, name));
        own.find_map(|(_, seat)| seat.live.try_lock().ok()?.as_ref()?.directory())
    }

    /// Goes on with a session whose shell another process had: its next shell begins in this
    /// directory, and the reply says that it is another one.
    pub(crate) fn continue_in(&self, owner: &str, name: &str, directory: PathBuf) {
        let whose = (owner.to_owned(), name.to_owned());
        self.earlier().insert(whose, directory);
    }

    /// Ends the shell of a session that no call uses; the next one begins in this directory, or in
    /// its first one.
    pub(crate) fn begin_again_in(&self, owner: &str, name: &str, directory: Option<&Path>) {
        let seats = self.seats();
        let own = seats
            .iter()
            .filter(|(key, _)| (&*key.owner, &*key.name) == (owner, name));
        for (_, seat) in own {
            if let Ok(mut live) = seat.live.try_lock() {
                *live = None;
                *seat.directory() = directory.map(Path::to_owned);
                *seat.untold() = None;
            }
        }
    }

    /// Ends the sessions of an owner that is gone. One that a call still uses is left to its idle
    /// time.
    pub(crate) fn end_of(&self, owner: &str) {
        self.departed()
            .retain(|((departed, _), _)| departed != owner);
        self.earlier().retain(|(other, _), _| other != owner);
        self.seats().retain(|key, seat| {
            if key.owner != owner {
                return true;
            }
            match seat.live.try_lock() {
                Ok(mut live) => {
                    *live = None;
                    false
                }
                Err(_) => true,
            }
        });
    }

    fn earlier(&self) -> MutexGuard<'_, HashMap<(String, String), PathBuf>> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn earlier_of(&self, (owner, name): (&str, &str)) -> Option<PathBuf> {
        self.earlier().remove(&(owner.to_owned(), name.to_owned()))
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<SessionKey, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the session that a new one replaces because its rc file changed, if there is one.
fn end_those_set_up_otherwise(seats: &HashMap<SessionKey, Arc<Seat>>, key: &SessionKey) -> bool {
    let others = seats
        .iter()
        .filter(|(other, _)| other.differs_by_rc_script(key));
    let mut has_ended = false;
    for (_, mut place, _) in others.filter_map(|(_, seat)| seat.if_idle()) {
        *place = None;
        has_ended = true;
    }
    has_ended
}

impl Seat {
    /// Remembers why the session is gone, for the next reply.
    fn remember(&self, reset: Reset) {
        *self.untold() = Some(reset);
    }

    /// Ends the session that waits in this place, if any, and forgets where the last one was.
    fn restart(&self, place: &mut SeatGuard) {
        **place = None;
        *self.directory() = None;
        self.remember(Reset::Restarted);
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

    /// Whether dropping it would lose only the record of a former session.
    fn is_given_up(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && !self.is_used()
    }

    /// The place of a session that waits for a call, and how long it has waited.
    fn if_idle(self: &Arc<Self>) -> Option<(Option<Instant>, SeatGuard, Arc<Self>)> {
        let place = Arc::clone(&self.live).try_lock_owned().ok()?;
        let since = *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        place.is_some().then(|| (since, place, Arc::clone(self)))
    }
}
