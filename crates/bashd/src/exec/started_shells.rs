//! Started shells: shells that have already started, and wait for the next call that needs one like
//! them.
//!
//! Each is used once and replaced after the call. The pool follows the last use: a call with
//! another environment or another rc script gets a new shell, and the pool is refilled with shells
//! like that. The directory does not matter: they wait in `/`, and go where they are needed. The
//! keeper compares again before it uses one, and steps aside if anything differs.

use crate::plan::{Plan, Quota, Restraint, Streams, Variables};
use bashd_keeper::keeper::protocol::{self, StartedShellMessage};
use bashd_keeper::variables::RUN_VARIABLE;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The pool.
#[derive(Default)]
pub(super) struct StartedShells {
    /// How many wait at a time.
    size: usize,
    /// What all of them have in common.
    like: Option<Like>,
    /// Those that wait, by their keepers' sockets.
    waiting: Vec<OwnedFd>,
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
        suits.then(|| self.waiting.pop()).flatten()
    }

    /// The shell that the next call gets if it is like the last one.
    pub(super) fn next(&self) -> Option<&OwnedFd> {
        self.waiting.last()
    }

    /// Makes this the plan that shells are started for. Returns whether some are to be started.
    pub(super) fn follow(&mut self, plan: &Plan) -> bool {
        if self.size == 0 || !plan.vessel.may_be_started() {
            return false;
        }
        if !self.like.as_ref().is_some_and(|like| like.suits(plan)) {
            self.waiting.clear();
            self.like = Some(Like::of(plan));
        }
        self.waiting.len() < self.size
    }

    /// Gives up those that wait.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Has shells started, up to the size of the pool.
    pub(super) fn fill(&mut self, fork: impl Fn() -> io::Result<OwnedFd>) {
        let Some(like) = &self.like else { return };
        while self.waiting.len() < self.size {
            match like.start(&fork) {
                Ok(socket) => self.waiting.push(socket),
                Err(_) => return, // the next call finds out why
            }
        }
    }
}

impl Like {
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
