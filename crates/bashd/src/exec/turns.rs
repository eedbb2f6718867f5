//! Whose turn it is: calls of one session come to it in the order in which they arrived, whatever
//! their plans wait for. In profiles whose calls wait for each other, a session has one call at a
//! time, whatever carries it. The session's shell is only one such vessel: a call in a terminal of
//! ours, of the client's, or in a shell of its own belongs to the same session.

use crate::error::{Error, ErrorKind};
use crate::plan::Overlap;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Number of names above which those that nobody uses are forgotten.
const MOST_NAMES: usize = 64;

/// What even a call may wait that is not to be waited for.
pub(crate) const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// Owner and name of a session.
type WhichSession = (String, String);

/// The sessions in which a call runs or waits.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<WhichSession, Arc<SessionLine>>>);

/// The calls of one session, in the order of their arrival.
#[derive(Debug, Default)]
struct SessionLine {
    calls: Mutex<BTreeMap<u64, CallStanding>>,
    changed: Notify,
}

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallStanding {
    /// It is on its way to its vessel.
    Arrived,
    /// The same, but it goes only when all before it are over.
    Waiting,
    /// It runs, and others wait for its end.
    Running,
}

/// A call's place in the line of its session, until it is dropped.
#[derive(Debug)]
pub(crate) struct TurnTicket {
    line: Arc<SessionLine>,
    number: u64,
}

impl Turns {
    /// A place behind all calls of this session that have arrived so far.
    pub(crate) fn arrive(&self, session: WhichSession) -> TurnTicket {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= MOST_NAMES {
            lines.retain(|_, line| Arc::strong_count(line) > 1);
        }
        let line = Arc::clone(lines.entry(session).or_default());
        let mut calls = line.calls();
        let number = calls.last_key_value().map_or(0, |(last, _)| last + 1);
        calls.insert(number, CallStanding::Arrived);
        drop(calls);
        TurnTicket { line, number }
    }
}

impl SessionLine {
    fn calls(&self) -> MutexGuard<'_, BTreeMap<u64, CallStanding>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_go(&self, number: u64, overlap: Overlap) -> bool {
        let calls = self.calls();
        let mut before = calls
            .range(..number)
            .map(|(_, standing)| standing)
            .enumerate();
        match overlap {
            Overlap::Wait => before.next().is_none(),
            // It overtakes nobody whose way is free, and waits for nobody who does not go yet.
            Overlap::OneShot => before.all(|(at, standing)| match standing {
                CallStanding::Arrived => false,
                CallStanding::Waiting => at > 0,
                CallStanding::Running => true,
            }),
        }
    }
}

impl TurnTicket {
    /// Waits until a call that overlaps others in this way may go to its vessel.
    pub(crate) async fn come(&self, overlap: Overlap) {
        if overlap == Overlap::Wait {
            self.line.calls().insert(self.number, CallStanding::Waiting);
            self.line.changed.notify_waiters();
        }
        loop {
            let mut changed = std::pin::pin!(self.line.changed.notified());
            changed.as_mut().enable();
            if self.line.may_go(self.number, overlap) {
                return;
            }
            changed.await;
        }
    }

    /// The call has its vessel, or its place among those that wait for it.
    pub(crate) fn is_placed(&self) {
        let mut calls = self.line.calls();
        let standing = calls.remove(&self.number);
        if matches!(
            standing,
            Some(CallStanding::Waiting | CallStanding::Running)
        ) {
            calls.insert(self.number, CallStanding::Running);
        }
        drop(calls);
        self.line.changed.notify_waiters();
    }
}

impl Drop for TurnTicket {
    fn drop(&mut self) {
        self.line.calls().remove(&self.number);
        self.line.changed.notify_waiters();
    }
}

/// The answer to a call that the calls before it in its session kept waiting for all its time.
pub(crate) fn busy_for(longest: Duration) -> Error {
    let seconds = longest.as_secs_f64().round();
    let text =
        format!("the session was busy with earlier calls for {seconds} s, and nothing was run");
    Error::new(ErrorKind::Io, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(owner: &str) -> WhichSession {
        (owner.to_owned(), "one".to_owned())
    }

    /// Whether a call may go now.
    async fn may_go(ticket: &TurnTicket, overlap: Overlap) -> bool {
        tokio::select! {
            biased;
            () = ticket.come(overlap) => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn one_at_a_time_in_each_session_and_nothing_is_kept_for_ever() {
        let turns = Turns::default();
        let held = turns.arrive(session(""));
        held.come(Overlap::Wait).await;
        for number in 0..3 * MOST_NAMES {
            // Another owner's session of the same name is another session.
            let other = turns.arrive(session(&number.to_string()));
            assert!(may_go(&other, Overlap::Wait).await);
        }
        let kept = turns.0.lock().unwrap().len();
        assert!(kept <= MOST_NAMES, "{kept} names");
        held.is_placed();
        let second = turns.arrive(session(""));
        assert!(!may_go(&second, Overlap::Wait).await, "two at once");
        drop(held);
        assert!(may_go(&second, Overlap::Wait).await);
    }

    #[tokio::test]
    async fn nobody_is_overtaken_on_the_way_and_who_only_passes_waits_for_no_end() {
        let turns = Turns::default();
        let [person, call, next_call, late_person] = [(); 4].map(|()| turns.arrive(session("")));
        assert!(!may_go(&call, Overlap::Wait).await);
        assert!(!may_go(&late_person, Overlap::OneShot).await);
        assert!(may_go(&person, Overlap::OneShot).await);
        person.is_placed();
        // The next one's way is free: it is not overtaken.
        assert!(!may_go(&late_person, Overlap::OneShot).await);
        assert!(may_go(&call, Overlap::Wait).await);
        assert!(!may_go(&next_call, Overlap::Wait).await);
        assert!(!may_go(&late_person, Overlap::OneShot).await);
        call.is_placed();
        assert!(may_go(&late_person, Overlap::OneShot).await);
        assert!(!may_go(&next_call, Overlap::Wait).await);
        drop(late_person);
        drop(call);
        assert!(may_go(&next_call, Overlap::Wait).await);
    }

    #[tokio::test]
    async fn who_leaves_the_line_lets_those_behind_go() {
        let turns = Turns::default();
        let [first, second, third] = [(); 3].map(|()| turns.arrive(session("")));
        drop(second);
        assert!(!may_go(&third, Overlap::OneShot).await);
        tokio::join!(third.come(Overlap::OneShot), async { drop(first) });
    }
}
