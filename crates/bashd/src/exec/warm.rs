//! Warm shells: shells that have already started, and wait for the next call that needs one like them.
//!
//! Each is used once, and replaced after the call. The pool follows what was used last: a call in
//! another directory, with another environment or another snapshot gets a cold shell, and the pool is
//! filled with its like. The keeper compares again before it uses one, and steps aside if anything is
//! different.

use super::keeper::protocol::{self, Warm as WarmMessage};
use crate::plan::environment::RUN_VARIABLE;
use crate::plan::{Plan, Quota, Streams, Variables};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The pool.
#[derive(Default)]
pub(super) struct WarmShells {
    /// How many wait at a time.
    size: usize,
    waiting: Mutex<Vec<Waiting>>,
}

/// A shell that waits, by its keeper's socket.
struct Waiting {
    socket: OwnedFd,
    like: Like,
}

/// What a call must have for a shell to suit it.
#[derive(PartialEq, Eq)]
struct Like {
    program: PathBuf,
    cwd: PathBuf,
    snapshot: Option<PathBuf>,
    streams: Streams,
    quota: Quota,
    /// Without the id of the run.
    env: Variables,
}

impl WarmShells {
    pub(super) fn new(size: usize) -> Self {
        Self {
            size,
            waiting: Mutex::default(),
        }
    }

    /// Takes a shell that suits a plan.
    pub(super) fn take(&self, plan: &Plan) -> Option<OwnedFd> {
        if !plan.suits_warm_shell() {
            return None;
        }
        let mut waiting = self.waiting();
        let at = waiting.iter().position(|shell| shell.like.suits(plan))?;
        Some(waiting.swap_remove(at).socket)
    }

    /// Has shells started for calls like this one, up to the size of the pool.
    pub(super) fn refill(&self, plan: &Plan, fork: impl Fn() -> std::io::Result<OwnedFd>) {
        if self.size == 0 || !plan.suits_warm_shell() {
            return;
        }
        let mut waiting = self.waiting();
        waiting.retain(|shell| shell.like.suits(plan));
        while waiting.len() < self.size {
            let like = Like::of(plan);
            let Ok(socket) = fork() else { return };
            let sent = protocol::send(&socket, &like.message(plan), &[plan.cwd.fd.as_fd()]);
            if sent.is_err() {
                return; // the next call finds out why
            }
            waiting.push(Waiting { socket, like });
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Like {
    fn of(plan: &Plan) -> Self {
        Self {
            program: plan.shell.program.clone(),
            cwd: plan.cwd.path.clone(),
            snapshot: plan.snapshot.clone(),
            streams: plan.streams,
            quota: plan.quota,
            env: plan.env_of_shell(),
        }
    }

    fn suits(&self, plan: &Plan) -> bool {
        self.program == plan.shell.program
            && self.cwd == plan.cwd.path
            && self.snapshot == plan.snapshot
            && (self.streams, self.quota) == (plan.streams, plan.quota)
            && plan.env.equals_but_for(RUN_VARIABLE, &self.env)
    }

    fn message(&self, plan: &Plan) -> WarmMessage {
        WarmMessage {
            program: self.program.clone().into_os_string().into_vec(),
            name: plan.shell.name.clone().into_vec(),
            env: self.env.clone(),
            streams: self.streams,
            quota: self.quota,
            snapshot: self.snapshot.clone(),
        }
    }
}
