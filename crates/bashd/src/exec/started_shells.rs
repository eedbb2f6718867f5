//! Started shells: shells that have already started, and wait for the next call that needs one like
//! them.
//!
//! Each is used once and replaced after the call. The pool follows the last use: a call with
//! another environment or another rc script gets a new shell, and the pool is refilled with shells
//! like that. The directory does not matter: they wait in `/`, and go where they are needed. The
//! keeper compares again before it uses one, and steps aside if anything differs.
//!
//! As many wait as the last second needed, up to a bound: agents that make many calls in a row, or
//! at once, do so again. They are started one after the other, so that they take no core from the
//! calls, and given back when nobody has called for a while.

use crate::plan::{Plan, Quota, Restraint, Streams, Variables};
use bashd_keeper::keeper::protocol::{self, StartedShellMessage};
use bashd_keeper::variables::RUN_VARIABLE;
use rustix::fs::{Mode, OFlags};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Shells that wait at most, however many calls there are.
const MOST: usize = 16;

/// The time whose calls say how many are needed.
const WINDOW: Duration = Duration::from_secs(1);

/// How long there is no call until only those are kept that always wait.
const QUIET: Duration = Duration::from_secs(10);

/// How much the pool lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shortage {
    /// The next call may find none.
    None,
    /// The next call finds one; as many calls as there were of late might not.
    Few,
}

/// The pool.
#[derive(Default)]
pub(super) struct StartedShells {
    /// How many wait at a time when there are few calls.
    size: usize,
    /// What all of them have in common.
    like: Option<Like>,
    /// Those that wait, by their keepers' sockets; the oldest is ready first.
    waiting: VecDeque<OwnedFd>,
    /// The last calls that needed one, as many as may wait.
    calls: VecDeque<Instant>,
    /// As many as were needed since it was quiet.
    needed: usize,
}

/// What a call must have in common with a shell to use it.
struct Like {
    program: PathBuf,
    name: OsString,
    rc_script: Option<PathBuf>,
    streams: Streams,
    quota: Quota,
    /// Without the id of the run.
    env: Variables,
    restraint: Option<Restraint>,
}

impl StartedShells {
    pub(super) fn new(size: usize) -> Self {
        Self {
            size,
            ..Self::default()
        }
    }

    /// Takes a shell that suits a plan.
    pub(super) fn take(&mut self, plan: &Plan) -> Option<OwnedFd> {
        let suits = plan.vessel.may_be_started() && self.like.as_ref()?.suits(plan);
        suits.then(|| self.waiting.pop_front()).flatten()
    }

    /// The shell that the next call gets if it is like the last one.
    pub(super) fn next(&self) -> Option<&OwnedFd> {
        self.waiting.front()
    }

    /// Makes this the plan that shells are started for. Returns whether some are to be started.
    pub(super) fn follow(&mut self, plan: &Plan, now: Instant) -> Option<Shortage> {
        if self.size == 0 || !plan.vessel.may_be_started() {
            return None;
        }
        if !self.like.as_ref().is_some_and(|like| like.suits(plan)) {
            self.waiting.clear();
            self.needed = 0;
            self.calls.clear();
            self.like = Some(Like::of(plan));
        }
        self.note_call(now);
        if self.waiting.len() < self.size {
            return Some(Shortage::None);
        }
        self.are_missing().then_some(Shortage::Few)
    }

    fn note_call(&mut self, now: Instant) {
        if self.is_quiet(now) {
            self.needed = 0;
        }
        if self.calls.len() >= MOST {
            self.calls.pop_front();
        }
        self.calls.push_back(now);
        let recent = |call: &&Instant| now.saturating_duration_since(**call) < WINDOW;
        self.needed = self.needed.max(self.calls.iter().filter(recent).count());
    }

    fn is_quiet(&self, now: Instant) -> bool {
        let last = self.calls.back();
        last.is_none_or(|last| now.saturating_duration_since(*last) >= QUIET)
    }

    /// Whether fewer wait than should. Those that are confined each have a view, which takes long
    /// to build: of these only as many wait as always do.
    pub(super) fn are_missing(&self) -> bool {
        let Some(like) = &self.like else { return false };
        let most = if like.is_confined() { 0 } else { MOST };
        self.waiting.len() < self.needed.clamp(self.size, most.max(self.size))
    }

    /// When some are to be given back, if no call comes before.
    pub(super) fn end(&self) -> Option<Instant> {
        let last = self.calls.back().filter(|_| self.waiting.len() > self.size);
        last.and_then(|last| last.checked_add(QUIET))
    }

    /// Gives back what a busy time needed.
    pub(super) fn let_go_of_many(&mut self, now: Instant) {
        if self.waiting.len() > self.size && self.is_quiet(now) {
            self.needed = 0;
            self.waiting.drain(self.size..);
        }
    }

    /// Gives up those that wait.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Has one more shell started, if one is missing, or all of those that always wait.
    pub(super) fn fill(&mut self, fork: impl Fn() -> io::Result<OwnedFd>) {
        while self.are_missing() {
            let Some(like) = &self.like else { return };
            match like.start(&fork) {
                Ok(socket) => self.waiting.push_back(socket),
                Err(_) => return, // the next call finds out why
            }
            if self.waiting.len() >= self.size {
                return;
            }
        }
    }
}

impl Like {
    fn is_confined(&self) -> bool {
        let restraint = self.restraint.as_ref();
        restraint.is_some_and(|restraint| restraint.confinement.is_some())
    }

    fn of(plan: &Plan) -> Self {
        Self {
            program: plan.shell.program.clone(),
            name: plan.shell.name.clone(),
            rc_script: plan.rc_script.clone(),
            streams: plan.streams,
            quota: plan.quota,
            env: plan.env_of_shell(),
            restraint: plan.restraint.clone(),
        }
    }

    fn suits(&self, plan: &Plan) -> bool {
        (&self.program, &self.name) == (&plan.shell.program, &plan.shell.name)
            && self.rc_script == plan.rc_script
            && (self.streams, self.quota) == (plan.streams, plan.quota)
            && self.restraint == plan.restraint
            && plan.env.equals_but_for(RUN_VARIABLE, &self.env)
    }

    /// Has a keeper start a shell like this, where it is in nobody's way.
    fn start(&self, fork: impl Fn() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let cwd = rustix::fs::open("/", flags, Mode::empty())?;
        let socket = fork()?;
        protocol::send(&socket, &self.message(), &[cwd.as_fd()])?;
        Ok(socket)
    }

    fn message(&self) -> StartedShellMessage {
        StartedShellMessage {
            program: self.program.clone().into_os_string().into_vec(),
            name: self.name.clone().into_vec(),
            env: self.env.clone(),
            streams: self.streams,
            quota: self.quota,
            rc_script: self.rc_script.clone(),
            restraint: self.restraint.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bashd_keeper::keeper::socket_pair;

    #[test]
    fn as_many_are_needed_as_there_were_calls_in_a_second_and_they_are_given_back() {
        let mut shells = StartedShells::new(1);
        let begun = Instant::now();
        let after = |milliseconds| begun + Duration::from_millis(milliseconds);
        for number in 0..5 {
            shells.note_call(after(2000 * number));
        }
        assert_eq!(shells.needed, 1, "calls with pauses need one");
        for number in 0..40 {
            shells.note_call(after(9000 + number));
            assert!(shells.needed <= MOST, "{}", shells.needed);
        }
        assert_eq!(shells.needed, MOST);
        let last = after(9039);
        assert_eq!(shells.end(), None, "nothing waits");
        for _ in 0..5 {
            shells.waiting.push_back(socket_pair().unwrap().0);
        }
        let end = shells.end().unwrap();
        assert_eq!(end, last + QUIET);
        shells.let_go_of_many(end.checked_sub(Duration::from_millis(1)).unwrap());
        assert_eq!(shells.waiting.len(), 5);
        shells.let_go_of_many(end);
        assert_eq!((shells.waiting.len(), shells.end()), (1, None));
        shells.note_call(end);
        assert_eq!(shells.needed, 1, "what was needed then is over");
    }
}
