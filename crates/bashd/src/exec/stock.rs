//! The keepers for calls to come: one spare, and those of shells started ahead.
//!
//! Asking for one takes the engine's core from the call being served, and wakes the fork server,
//! which forks on another core. So an alarm asks a little later; or at once if calls follow each
//! other so closely that the next one would find its keeper not ready.

use super::alarm::Alarm;
use super::confined_spares::ConfinedSpares;
use super::started_shells::{Shortage, StartedShells};
use crate::plan::Plan;
use bashd_keeper::confinement::SharedConfinement;
use bashd_keeper::keeper::protocol::{self, ForkMessage, PrepareMessage, SoonMessage};
use bashd_keeper::keeper::{StartedServer, socket_pair};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Signal, pidfd_send_signal};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How much later the next spare is asked for: most short calls are over by then.
const HOLD_SPARE: Duration = Duration::from_micros(2400);

/// Likewise for the keeper of a shell that is started ahead. A call in such a shell is over by
/// then; and the next one must find it ready, which takes a while longer.
const HOLD_SHELL: Duration = Duration::from_micros(600);

/// Pause between the starts of two shells, if many are wanted: one has started by then.
const NEXT_SHELL: Duration = Duration::from_millis(2);

/// Likewise for views, while calls come at once: then they are for the next calls that do, and what
/// is built meanwhile takes the cores from these.
const HOLD_MANY: Duration = Duration::from_millis(60);

/// The minor version of the protocol since which a keeper remembers its confinement.
const RETENTIVE: u16 = 7;

/// Calls that follow each other so closely came at once.
const AT_ONCE: Duration = Duration::from_micros(500);

/// Time from its fork until a keeper is ready.
const BIRTH: Duration = Duration::from_micros(900);

/// When a keeper is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForkMoment {
    /// For a call, or while one is being served.
    InACall,
    /// When no short call needs the cores any more.
    Later,
}

#[derive(Default)]
pub(super) struct Stock {
    /// The fork server.
    pub(super) server: Option<StartedServer>,
    /// The socket to a keeper that was forked ahead.
    spare: Option<OwnedFd>,
    /// Those with a view that is built ahead.
    confined: ConfinedSpares,
    /// Whether calls are confined.
    pub(super) confines: bool,
    started_shells: StartedShells,
    /// When the next spare is to be asked for.
    spare_due: Option<Instant>,
    /// When the next views are to be built.
    confined_due: Option<Instant>,
    /// When the next shells are to be started.
    shell_due: Option<Instant>,
    /// When the last call got its keeper.
    last_call: Option<Instant>,
    /// Time between that call and the one before it: the next may come just as soon.
    pace: Option<Duration>,
    /// Rings when something is due; without it, everything is due at once.
    alarm: Option<Alarm>,
}

impl Stock {
    /// Exactly one keeper.
    pub(super) fn of_one(keeper: OwnedFd) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            spare: Some(keeper),
            ..Self::default()
        }))
    }

    /// Nothing yet.
    pub(super) fn with_alarm() -> Arc<Mutex<Self>> {
        Arc::new_cyclic(|stock| {
            let stock = Weak::clone(stock);
            let alarm = Alarm::new(move || Self::ring(&stock));
            Mutex::new(Self {
                alarm: alarm.ok(),
                ..Self::default()
            })
        })
    }

    pub(super) fn lock(stock: &Mutex<Self>) -> MutexGuard<'_, Self> {
        // Every state is valid, even one left by a thread that panicked.
        stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, keeps this many started shells at hand.
    pub(super) fn keep_started_shells(&mut self, size: usize) {
        self.started_shells = StartedShells::new(size);
    }

    pub(super) fn take_spare(&mut self, now: Instant) -> Option<OwnedFd> {
        self.note_call(now);
        self.spare_due = None; // without one, the call asks
        self.spare.take()
    }

    /// Takes the spare whose view was built for this confinement.
    pub(super) fn take_confined(
        &mut self,
        confinement: Option<&SharedConfinement>,
        now: Instant,
    ) -> Option<OwnedFd> {
        let at_once = self
            .last_call
            .is_some_and(|last| now.duration_since(last) < AT_ONCE);
        let spare = self.confined.take(confinement?, at_once)?;
        self.note_call(now);
        Some(spare)
    }

    /// Has the only keeper build a view.
    pub(super) fn prepare_only_one(&mut self, confinement: &SharedConfinement) {
        if let Some(keeper) = &self.spare {
            let confinement = confinement.clone();
            let _ = protocol::send(keeper, &PrepareMessage { confinement }, &[]);
        }
    }

    /// Whether keepers remember which confinement they were told: older ones do not.
    pub(super) fn has_retentive_keepers(&self) -> bool {
        let server = self.server.as_ref();
        server.is_some_and(|server| server.minor >= RETENTIVE)
    }

    /// Makes sure that a spare with a view for this confinement is on its way.
    pub(super) fn want_confined(&mut self, confinement: &SharedConfinement, now: Instant) {
        self.confines = true;
        let is_missing = self.confined.follow(confinement, now);
        if self.pace.is_some_and(|pace| pace < AT_ONCE) {
            // What is built while many calls begin takes the cores from them.
            let due = self.confined_due.take_if(|_| !is_missing);
            let due = due.or_else(|| is_missing.then_some(now + HOLD_MANY));
            self.confined_due = due;
            self.set_alarm(now);
        } else if is_missing && self.confined_due.is_none() {
            self.confined_due = Some(self.due(HOLD_SPARE, now));
            self.see_to(now);
        }
    }

    pub(super) fn take_started_shell(&mut self, plan: &Plan, now: Instant) -> Option<OwnedFd> {
        let shell = self.started_shells.take(plan)?;
        self.note_call(now);
        Some(shell)
    }

    /// Says to the keeper that a confined call will probably get that the call has come.
    pub(super) fn alert(&self, id: &str, now: Instant) {
        let is_at_once = self
            .last_call
            .is_some_and(|last| now.duration_since(last) < AT_ONCE);
        if !self.confines || is_at_once || !self.has_retentive_keepers() {
            return;
        }
        let next = self.started_shells.next().or_else(|| self.confined.next());
        if let Some(keeper) = next {
            let id = id.to_owned();
            // If it does not hear of it, it looks later.
            let _ = protocol::send(keeper, &SoonMessage { id }, &[]);
        }
    }

    fn note_call(&mut self, now: Instant) {
        self.pace = self.last_call.map(|last| now.duration_since(last));
        self.last_call = Some(now);
    }

    /// Makes sure that a spare is on its way.
    pub(super) fn want_spare(&mut self, now: Instant) {
        if self.spare.is_none() && self.spare_due.is_none() {
            self.spare_due = Some(self.due(HOLD_SPARE, now));
            self.see_to(now);
        }
    }

    /// Makes sure that shells are started for plans like this one.
    pub(super) fn want_started_shell(&mut self, plan: &Plan, now: Instant) {
        match self.started_shells.follow(plan, now) {
            Some(Shortage::None) if self.shell_due.is_none_or(|due| due > now + HOLD_SHELL) => {
                self.shell_due = Some(self.due(HOLD_SHELL, now));
                self.see_to(now);
            }
            // They are for the next calls in a row: these have the cores first.
            Some(Shortage::Few) => {
                self.shell_due = Some(now + HOLD_SPARE);
                self.set_alarm(now);
            }
            _ => {}
        }
    }

    fn due(&self, hold: Duration, now: Instant) -> Instant {
        let is_awaited = self.pace.is_some_and(|pace| pace < hold + BIRTH);
        if is_awaited { now } else { now + hold }
    }

    fn see_to(&mut self, now: Instant) {
        self.ask_for_what_is_due(now, ForkMoment::InACall);
        if !self.set_alarm(now) {
            self.ask_for_what_is_due(now + HOLD_SPARE.max(HOLD_SHELL), ForkMoment::InACall);
        }
    }

    fn ring(stock: &Weak<Mutex<Self>>) -> ControlFlow<()> {
        let Some(stock) = stock.upgrade() else {
            return ControlFlow::Break(());
        };
        let (mut stock, now) = (Self::lock(&stock), Instant::now());
        stock.ask_for_what_is_due(now, ForkMoment::Later);
        stock.set_alarm(now);
        ControlFlow::Continue(())
    }

    /// Sets the alarm for what comes next; `false` if something is due and there is no alarm.
    fn set_alarm(&self, now: Instant) -> bool {
        let due = [
            self.spare_due,
            self.shell_due,
            self.confined_due,
            self.confined.end(),
            self.started_shells.end(),
        ];
        let next = due.into_iter().flatten().min();
        next.is_none_or(|next| {
            let after = next.saturating_duration_since(now);
            self.alarm.as_ref().is_some_and(|alarm| alarm.set(after))
        })
    }

    fn ask_for_what_is_due(&mut self, now: Instant, asked: ForkMoment) {
        if self.spare_due.take_if(|due| *due <= now).is_some() {
            self.spare = self.ask_for_fork(asked).ok();
        }
        if self.confined_due.take_if(|due| *due <= now).is_some() {
            let mut confined = std::mem::take(&mut self.confined);
            confined.fill(now, || self.ask_for_fork(asked));
            self.confined = confined;
        }
        self.confined.let_go_of_old(now);
        if self.shell_due.take_if(|due| *due <= now).is_some() {
            let mut shells = std::mem::take(&mut self.started_shells);
            shells.fill(|| self.ask_for_fork(asked));
            if shells.are_missing() {
                self.shell_due = Some(now + NEXT_SHELL);
            }
            self.started_shells = shells;
        }
        self.started_shells.let_go_of_many(now);
    }

    /// Has the first spare forked.
    pub(super) fn ask_for_spare(&mut self) {
        self.spare = self.ask_for_fork(ForkMoment::InACall).ok();
    }

    /// Asks the server for a keeper without waiting for it: what we send to the keeper meanwhile is
    /// queued.
    pub(super) fn ask_for_fork(&self, asked: ForkMoment) -> io::Result<OwnedFd> {
        let server = self.server.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let (near, far) = socket_pair()?;
        let message = ForkMessage {
            is_calm: asked == ForkMoment::Later,
            confines: self.confines,
        };
        protocol::send(&server.socket, &message, &[far.as_fd()])?;
        Ok(near)
    }

    /// Whether there is a server that can be asked.
    pub(super) fn has_server(&self) -> bool {
        let is_gone = |server: &StartedServer| {
            let mut polled = [PollFd::new(&server.socket, PollFlags::RDHUP)];
            let now = Timespec::default();
            rustix::event::poll(&mut polled, Some(&now)).is_ok_and(|count| count > 0)
        };
        self.server.as_ref().is_some_and(|server| !is_gone(server))
    }

    /// Ends a server that does not answer, and gives up the keepers that it may never have forked.
    pub(super) fn end_server(&mut self) {
        if let Some(StartedServer {
            process: Some(process),
            ..
        }) = &self.server
        {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        (self.server, self.spare, self.spare_due) = (None, None, None);
        self.confined.forget();
        self.started_shells.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the server was told.
    #[derive(Debug, PartialEq, Eq)]
    enum Told {
        Fork { is_calm: bool },
        Nothing,
    }

    fn told(server: &OwnedFd) -> Told {
        match protocol::receive(server) {
            Ok(Some(frame)) => {
                let ForkMessage { is_calm, .. } = frame.body_if().unwrap();
                Told::Fork { is_calm }
            }
            _ => Told::Nothing,
        }
    }

    fn of(socket: OwnedFd) -> StartedServer {
        StartedServer {
            socket,
            process: None,
            minor: protocol::MINOR,
        }
    }

    /// A stock with an alarm that the test rings by hand.
    fn stock() -> (Stock, OwnedFd) {
        let (near, server) = socket_pair().unwrap();
        let alarm = Alarm::new(|| ControlFlow::Continue(())).unwrap();
        let stock = Stock {
            server: Some(of(near)),
            alarm: Some(alarm),
            ..Stock::default()
        };
        (stock, server)
    }

    /// Waits for something that must happen.
    fn until(mut is_so: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(30), "it never comes");
            std::thread::yield_now();
        }
    }

    const LATER: Told = Told::Fork { is_calm: true };
    const AT_ONCE: Told = Told::Fork { is_calm: false };

    #[test]
    fn a_spare_is_asked_for_later_until_calls_come_in_a_row() {
        let (mut stock, server) = stock();
        let first = Instant::now();
        assert!(stock.take_spare(first).is_none());
        stock.want_spare(first);
        stock.want_spare(first + HOLD_SPARE / 3); // its end wants it as well
        assert_eq!(told(&server), Told::Nothing);
        stock.ask_for_what_is_due(first + HOLD_SPARE, ForkMoment::Later);
        assert_eq!(told(&server), LATER);
        assert_eq!(told(&server), Told::Nothing);

        // What another call has taken over is not asked for.
        let second = first + HOLD_SPARE * 2;
        assert!(stock.take_spare(second).is_some());
        stock.want_spare(second);
        let third = second + HOLD_SPARE / 2;
        assert!(stock.take_spare(third).is_none());
        stock.ask_for_what_is_due(second + HOLD_SPARE, ForkMoment::Later);
        assert_eq!(told(&server), Told::Nothing);

        // Calls in a row do not wait; after a pause they do again.
        stock.want_spare(third);
        assert_eq!(told(&server), AT_ONCE);
        let fourth = third + HOLD_SPARE + BIRTH;
        assert!(stock.take_spare(fourth).is_some());
        stock.want_spare(fourth);
        assert_eq!(told(&server), Told::Nothing);
    }

    /// An older keeper leaves out what it does not know, and would confine nothing.
    #[test]
    fn only_keepers_that_understand_it_are_told_that_a_confined_call_has_come() {
        for (minor, is_told) in [(RETENTIVE, true), (RETENTIVE - 1, false)] {
            let (mut stock, _server) = stock();
            let (near, keeper) = socket_pair().unwrap();
            stock.server.as_mut().unwrap().minor = minor;
            let confinement = super::super::confined_spares::tests::confinement("one");
            let now = Instant::now();
            stock.alert("before", now);
            stock.want_confined(&confinement, now);
            let near = std::cell::Cell::new(Some(near));
            let fork = || {
                near.take()
                    .ok_or_else(|| io::ErrorKind::NotConnected.into())
            };
            stock.confined.fill(now, fork);
            let prepared: PrepareMessage =
                protocol::receive(&keeper).unwrap().unwrap().body().unwrap();
            assert_eq!(prepared.confinement, confinement);
            stock.alert("one", now);
            assert_eq!(stock.has_retentive_keepers(), is_told);
            match protocol::receive(&keeper) {
                Ok(Some(frame)) => {
                    let SoonMessage { id } = frame.body_if().unwrap();
                    assert!(is_told && id == "one");
                }
                _ => assert!(!is_told),
            }
        }
    }

    #[test]
    fn without_an_alarm_nothing_waits() {
        let (mut stock, server) = stock();
        stock.alarm = None;
        stock.want_spare(Instant::now());
        assert_eq!(told(&server), AT_ONCE);
        assert!(stock.spare.is_some());
    }

    #[test]
    fn the_alarm_asks_and_leaves_with_its_stock() {
        let (near, server) = socket_pair().unwrap();
        let stock = Stock::with_alarm();
        {
            let mut stock = Stock::lock(&stock);
            stock.server = Some(of(near));
            stock.want_spare(Instant::now());
        }
        let mut asked = Told::Nothing;
        until(|| {
            asked = told(&server);
            asked != Told::Nothing
        });
        assert_eq!(asked, LATER);
        drop(stock); // it may just be ringing
        until(|| matches!(protocol::receive(&server), Ok(None)));
    }
}
