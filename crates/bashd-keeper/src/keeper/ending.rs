//! Ending a tree: TERM to everything in it, then KILL until nothing is left.
//!
//! TERM is sent along a walk of the tree. The guarantee comes from elsewhere: a keeper kills its
//! own unreaped children, whose pids cannot be reused, until it has none; since it is a subreaper,
//! every orphan becomes its child sooner or later. The walk before each round only saves a round
//! per level of a deep tree.

use super::restraint::Restrained;
use crate::exit::Exit;
use crate::left_behind::{LeftBehind, LeftReason};
use crate::os::tree::{self, Descend, Member};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::collections::{HashMap, HashSet};

/// Most processes listed; a fork bomb's full list helps nobody.
const MOST_LISTED: usize = 100;

/// Which processes below a keeper belong to a run: all of them, except those from before it and a
/// shell shared with other calls.
#[derive(Debug, Default)]
pub(super) struct RunScope {
    /// Processes that are left alone with everything below them; each with its start time, since a
    /// pid may come to mean another process.
    pub(super) spared: HashMap<Pid, u64>,
    /// A shell that is itself left alone, though what is below it is not.
    pub(super) spared_shell: Option<Pid>,
    /// Likewise the first process of a pid namespace, whose children are the orphans there.
    pub(super) init: Option<Pid>,
    /// Processes of ours that are no part of the run: they end with the keeper.
    pub(super) apart: Vec<Pid>,
}

impl RunScope {
    fn spares(&self, pid: Pid) -> bool {
        self.spared.get(&pid).is_some_and(|&started| {
            tree::stat(pid).is_some_and(|stat| stat.started_ticks == started)
        })
    }

    /// Everything below this process but what holds the shell.
    pub(super) fn beside(held: Option<&Restrained>) -> Self {
        Self {
            init: held.and_then(Restrained::init),
            apart: held.map(Restrained::servants).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Everything born below this process from now on, and the shell.
    pub(super) fn since_now(shell: Pid, held: Option<&Restrained>) -> Self {
        let beside = Self::beside(held);
        let ours = [shell].into_iter().chain(beside.init);
        let ours: Vec<Pid> = ours.chain(beside.apart.iter().copied()).collect();
        let mut spared = HashMap::new();
        tree::for_each_descendant(|member| {
            if !ours.contains(&member.pid)
                && let Some(stat) = tree::stat(member.pid)
            {
                spared.insert(member.pid, stat.started_ticks);
            }
            Descend::Yes
        });
        Self { spared, ..beside }
    }

    /// Whether something below this process is outside the scope.
    pub(super) fn is_partial(&self) -> bool {
        !self.spared.is_empty() || self.spared_shell.is_some()
    }

    /// Whether processes of the run may have a parent that stays: their death is not reported here.
    pub(super) fn has_own_parent(&self) -> bool {
        self.spared_shell.is_some() || self.init.is_some()
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
            if self.spares(member.pid) || self.apart.contains(&member.pid) {
                return Descend::No;
            }
            if ![self.spared_shell, self.init].contains(&Some(member.pid)) {
                visit(member);
            }
            Descend::Yes
        });
    }
}

/// What a round of reaping found.
pub(super) struct Reaped {
    /// How the process in question ended, if it ended just now.
    pub(super) exit: Option<Exit>,
    /// Whether there is no child left.
    pub(super) tree_is_empty: bool,
}

/// Reaps every dead child.
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

/// Asks every process below this one to end, except those already in `asked`.
///
/// A stopped process cannot act on TERM, so it is continued.
pub(super) fn terminate(scope: &RunScope, asked: &mut HashSet<Pid>) {
    scope.for_each(|member| {
        if asked.insert(member.pid) {
            let _ = member.signal(Signal::TERM);
            let _ = member.signal(Signal::CONT);
        }
    });
}

/// Kills everything below this process, once; a caller that needs certainty repeats this.
pub(super) fn kill_round(scope: &RunScope) {
    scope.for_each(|member| {
        let _ = member.signal(Signal::KILL);
    });
    for child in tree::children(rustix::process::getpid()) {
        // The end of a namespace's first process is the end of everything in it.
        let is_init_of_others = scope.is_partial() && scope.init == Some(child);
        let is_shared = scope.spared_shell == Some(child) || scope.apart.contains(&child);
        if !scope.spares(child) && !is_shared && !is_init_of_others {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
    }
}

/// Whether none of its threads runs any more. A dead first thread says nothing about the others.
fn is_dead(pid: Pid) -> bool {
    tree::stat(pid)
        .is_none_or(|stat| stat.is_dead() && tree::threads(pid).iter().all(tree::Stat::is_dead))
}

/// What has become of a process that was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is dead, and its parent has not reaped it yet.
    Dead,
    /// It waits for its turn on a busy machine, to die or to finish dying.
    Dying,
    /// It has run its last instruction, and the kernel has to wait for something before it is gone.
    Leaving,
    /// It cannot be ended, for this reason.
    Stays(LeftReason),
}

fn fate(pid: Pid) -> Fate {
    let is_ours = rustix::process::test_kill_process(pid) != Err(Errno::PERM);
    match fate_of(&tree::threads(pid)) {
        Fate::Dead => Fate::Dead,
        Fate::Dying | Fate::Leaving | Fate::Stays(_) if !is_ours => {
            Fate::Stays(LeftReason::NotPermitted)
        }
        fate => fate,
    }
}

/// Judged by its threads. SIGKILL wakes every sleeper except from uninterruptible sleep; in an
/// exiting process that usually ends soon as well, since it is taking locks that others hold.
fn fate_of(threads: &[tree::Stat]) -> Fate {
    let alive = || threads.iter().filter(|thread| !thread.is_dead());
    if alive().next().is_none() {
        Fate::Dead
    } else if alive().any(|thread| thread.state == 'D' && !thread.is_exiting) {
        Fate::Stays(LeftReason::Unkillable)
    } else if alive().any(|thread| thread.state != 'D') {
        Fate::Dying
    } else {
        Fate::Leaving
    }
}

/// What is left of a killed run, found by one walk.
#[derive(Default)]
pub(super) struct Remains {
    /// Whether something only waits for its turn to die. None of it will run again.
    pub(super) is_dying: bool,
    is_leaving: bool,
    /// What cannot be ended, and why.
    pub(super) unended: Vec<LeftBehind>,
}

impl Remains {
    pub(super) fn of(scope: &RunScope) -> Self {
        let mut remains = Self::default();
        scope.for_each(|member| match fate(member.pid) {
            Fate::Dead => {}
            Fate::Dying => remains.is_dying = true,
            Fate::Leaving => remains.is_leaving = true,
            Fate::Stays(reason) => list(&mut remains.unended, member, reason),
        });
        remains
    }

    /// Whether waiting is pointless. A walk that finds nothing may have missed what moved
    /// meanwhile.
    pub(super) fn is_final(&self) -> bool {
        !self.is_dying && (self.is_leaving || !self.unended.is_empty())
    }
}

/// Lists what is still alive below this process after its shell has ended.
pub(super) fn survivors(scope: &RunScope) -> Vec<LeftBehind> {
    let mut listed = Vec::new();
    scope.for_each(|member| {
        // A process that is about to end is not a survivor.
        let is_over = |thread: &tree::Stat| thread.is_dead() || thread.is_exiting;
        if !tree::threads(member.pid).iter().all(is_over) {
            list(&mut listed, member, LeftReason::Survivor);
        }
    });
    listed
}

fn list(listed: &mut Vec<LeftBehind>, member: &Member, reason: LeftReason) {
    if listed.len() < MOST_LISTED {
        listed.push(LeftBehind {
            pid: member.pid.as_raw_nonzero().get(),
            command: tree::command_line(member.pid),
            age_ms: tree::age_ms(member.pid),
            reason,
            job: None,
            alias: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tree::Stat;

    const RUNS: bool = false;
    const EXITS: bool = true;

    fn thread(state: char, is_exiting: bool) -> Stat {
        Stat {
            name: "bash".into(),
            state,
            parent: 1,
            session: 1,
            is_exiting,
            is_mere_fork: false,
            started_ticks: 1,
        }
    }

    #[test]
    fn what_exits_is_not_unkillable() {
        let fate = |state, is_exiting| fate_of(&[thread(state, is_exiting)]);
        assert_eq!(fate('R', EXITS), Fate::Dying);
        assert_eq!(fate('D', EXITS), Fate::Leaving);
        assert_eq!(fate('R', RUNS), Fate::Dying);
        assert_eq!(fate('S', RUNS), Fate::Dying);
        assert_eq!(fate('D', RUNS), Fate::Stays(LeftReason::Unkillable));
        assert_eq!(fate('Z', EXITS), Fate::Dead);
        assert_eq!(fate_of(&[]), Fate::Dead);
    }

    #[test]
    fn every_thread_counts() {
        let dead = thread('Z', EXITS);
        let fate = |state, is_exiting| fate_of(&[dead.clone(), thread(state, is_exiting)]);
        assert_eq!(fate('D', RUNS), Fate::Stays(LeftReason::Unkillable));
        assert_eq!(fate('S', RUNS), Fate::Dying);
        assert_eq!(fate('D', EXITS), Fate::Leaving);
        assert_eq!(fate('Z', EXITS), Fate::Dead);
    }

    #[test]
    fn a_walk_that_finds_nothing_is_not_the_last() {
        let mut remains = Remains::default();
        assert!(!remains.is_final());
        remains.is_leaving = true;
        assert!(remains.is_final());
        remains.is_dying = true;
        assert!(!remains.is_final());
    }
}
