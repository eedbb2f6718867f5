//! Ending a tree: TERM to everything in it, then KILL until nothing is left.
//!
//! TERM goes over a walk of the tree. The guarantee is another one: a keeper kills its own unreaped
//! children, whose pids can't be reused, until it has none; since it is a subreaper, every orphan
//! becomes its child sooner or later. The walk before each round only spares a round per level of a
//! deep tree.

use crate::exec::Exit;
use crate::exec::os::tree::{self, Descend, Member};
use crate::reply::{LeftBehind, LeftReason};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::collections::{HashMap, HashSet};

/// Processes listed at most; a fork bomb's list helps nobody.
const MOST_LISTED: usize = 100;

/// What of the processes below a keeper belongs to a run: all of them, but for what was there before
/// it and the shell that it shares with other calls.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Processes that are left alone with everything below them; with the time at which each started,
    /// since a pid may come to mean another process.
    pub(super) spared: HashMap<Pid, u64>,
    /// A shell that is left alone itself, while what is below it is not.
    pub(super) spared_shell: Option<Pid>,
}

impl Scope {
    fn spares(&self, pid: Pid) -> bool {
        self.spared.get(&pid).is_some_and(|&started| {
            tree::stat(pid).is_some_and(|stat| stat.started_ticks == started)
        })
    }

    /// Everything that is born from now on below this process, and the shell.
    pub(super) fn since_now(shell: Pid) -> Self {
        let mut spared = HashMap::new();
        tree::for_each_descendant(|member| {
            if member.pid != shell
                && let Some(stat) = tree::stat(member.pid)
            {
                spared.insert(member.pid, stat.started_ticks);
            }
            Descend::Yes
        });
        Self {
            spared,
            spared_shell: None,
        }
    }

    /// Whether something below this process is not in it.
    pub(super) fn is_partial(&self) -> bool {
        !self.spared.is_empty() || self.spared_shell.is_some()
    }

    /// Whether nothing of the run lives.
    pub(super) fn is_empty(&self) -> bool {
        let mut is_empty = true;
        self.for_each(|member| is_empty &= is_dead(member.pid));
        is_empty
    }

    /// Visits every process of the run, parents first.
    pub(super) fn for_each(&self, mut visit: impl FnMut(&Member)) {
        tree::for_each_descendant(|member| {
            if self.spares(member.pid) {
                return Descend::No;
            }
            if self.spared_shell != Some(member.pid) {
                visit(member);
            }
            Descend::Yes
        });
    }
}

/// What a look at the dead children found.
pub(super) struct Reaped {
    /// How the process that was asked about ended, if it did now.
    pub(super) exit: Option<Exit>,
    /// Whether there is no child left.
    pub(super) tree_is_empty: bool,
}

/// Collects every dead child.
pub(super) fn reap(shell: Pid) -> Reaped {
    let mut exit = None;
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == shell => exit = Some(exit_of(status)),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => {
                return Reaped {
                    exit,
                    tree_is_empty: false,
                };
            }
            Err(_) => {
                return Reaped {
                    exit,
                    tree_is_empty: true,
                };
            }
        }
    }
}

fn exit_of(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

/// Asks every process below this one to end; those in `asked` already were.
///
/// A stopped process can't act on TERM, so that it is continued.
pub(super) fn terminate(scope: &Scope, asked: &mut HashSet<Pid>) {
    scope.for_each(|member| {
        if asked.insert(member.pid) {
            let _ = member.signal(Signal::TERM);
            let _ = member.signal(Signal::CONT);
        }
    });
}

/// Kills everything below this process, once; whoever needs certainty comes again.
pub(super) fn kill_round(scope: &Scope) {
    scope.for_each(|member| {
        let _ = member.signal(Signal::KILL);
    });
    for child in tree::children(rustix::process::getpid()) {
        if !scope.spares(child) && scope.spared_shell != Some(child) {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
    }
}

fn is_dead(pid: Pid) -> bool {
    tree::stat(pid).is_none_or(|stat| matches!(stat.state, 'Z' | 'X'))
}

/// Whether anything below this process only waits for its turn to die: it has been killed, is ours
/// to kill, and does not sleep uninterruptibly.
pub(super) fn something_is_dying(scope: &Scope) -> bool {
    let mut found = false;
    scope.for_each(|member| {
        let is_stuck = tree::stat(member.pid).is_none_or(|stat| stat.state == 'D');
        let is_ours = rustix::process::test_kill_process(member.pid) != Err(Errno::PERM);
        found |= is_ours && !is_stuck;
    });
    found
}

/// Lists what lives below this process. `None` as reason: find out why it could not be ended.
pub(super) fn left_behind(scope: &Scope, reason: Option<LeftReason>) -> Vec<LeftBehind> {
    let mut listed = Vec::new();
    scope.for_each(|member| {
        if is_dead(member.pid) || listed.len() == MOST_LISTED {
            return;
        }
        let reason =
            reason.unwrap_or_else(|| match rustix::process::test_kill_process(member.pid) {
                Err(Errno::PERM) => LeftReason::NotPermitted,
                _ => LeftReason::Unkillable,
            });
        listed.push(LeftBehind {
            pid: member.pid.as_raw_nonzero().get(),
            command: tree::command_line(member.pid),
            age_ms: tree::age_ms(member.pid),
            reason,
            job: None,
        });
    });
    listed
}
