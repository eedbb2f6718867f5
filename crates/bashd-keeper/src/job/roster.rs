//! The processes that a keeper looks after, written down beside its run.
//!
//! A keeper that is killed (out of memory, by hand) can't end its tree any more, and what had
//! changed its session or its parent is then below nobody who knows it. A process that finds the
//! run without its keeper ends what is written here. A process is the one that was meant if its
//! number *and* its start time are those written down, in the same boot and the same pid namespace;
//! it is signalled by a pidfd that was opened before the comparison, so that no other process can
//! be hit.
//!
//! What was born after the last look is found through what is certain: everything below a process
//! of the run belongs to it, and so does everything in the kernel session of one, since a session
//! can only be entered by being born in it, and the first one below a keeper is its shell's.
//!
//! Nothing may be written at all: the run was younger than a second, or the disk was full. Then its
//! processes are known by its id, which they have in their environment.

use super::directory;
use crate::left_behind::{LeftBehind, LeftReason};
use crate::os::tree::{self, Descend, Stat};
use crate::variables::RUN_VARIABLE;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Which processes a keeper looks after.
pub const ROSTER: &str = "roster.json";

/// Most processes that are written down; the others are found through these.
const MOST_WRITTEN: usize = 4096;

/// How long processes that were killed may take to be gone.
const END_BOUND: Duration = Duration::from_secs(1);

/// How long one round waits before it looks again: something may have forked meanwhile.
const ROUND: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// What a keeper wrote down about its tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roster {
    /// The boot in which it was written.
    pub boot: String,
    /// The pid namespace whose numbers these are.
    pub namespace: u64,
    /// When it was written, in clock ticks since boot.
    pub seen_ticks: u64,
    /// Number and start time of each process that lived then.
    pub members: Vec<(i32, u64)>,
}

impl Roster {
    /// One that names no process: nothing was written down.
    pub fn unwritten() -> Self {
        Self {
            boot: directory::boot_id(),
            namespace: namespace(),
            seen_ticks: 0,
            members: Vec::new(),
        }
    }

    /// Everything that lives below this process now.
    pub fn of_this_process() -> Self {
        let mut members = Vec::new();
        tree::for_each_descendant(|member| {
            if members.len() < MOST_WRITTEN
                && let Some(stat) = tree::stat(member.pid).filter(|stat| !stat.is_dead())
            {
                members.push((member.pid.as_raw_nonzero().get(), stat.started_ticks));
            }
            Descend::Yes
        });
        members.sort_unstable();
        Self {
            boot: directory::boot_id(),
            namespace: namespace(),
            seen_ticks: tree::ticks_since_boot(),
            members,
        }
    }

    /// Reads the roster of a run; `None` if there is none that can be read.
    pub fn read(directory: &Path) -> Option<Self> {
        directory::read(directory, ROSTER)
    }

    /// Kills every process of the run with this id that still lives, and what it started meanwhile.
    /// Returns what could not be ended.
    pub fn end(&self, run: &OsStr) -> Vec<LeftBehind> {
        if self.boot != directory::boot_id() || self.namespace != namespace() {
            return Vec::new(); // the numbers mean nothing here
        }
        let begun = Instant::now();
        loop {
            let living = self.living(run);
            if living.is_empty() {
                return Vec::new();
            }
            let mut killed = Vec::new();
            for process in &living {
                if rustix::process::pidfd_send_signal(&process.fd, Signal::KILL).is_ok() {
                    killed.push(PollFd::new(&process.fd, PollFlags::IN));
                }
            }
            if killed.is_empty() || begun.elapsed() > END_BOUND {
                return living.iter().map(Found::left_behind).collect();
            }
            let _ = rustix::event::poll(&mut killed, Some(&ROUND));
        }
    }

    /// The processes of the run that live, each held by a pidfd.
    fn living(&self, run: &OsStr) -> Vec<Found> {
        let all = tree::all();
        let ours = self.ours(&all, run);
        let held = ours.into_iter().filter_map(|pid| {
            let started = all.get(&pid)?.started_ticks;
            let pid = Pid::from_raw(pid)?;
            let fd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
            // Open first, compare then: from here on the number can't mean another process.
            let stat = tree::stat(pid)?;
            (stat.started_ticks == started && !stat.is_dead()).then_some(Found { pid, fd })
        });
        held.collect()
    }

    /// Which of all processes belong to the run.
    fn ours(&self, all: &HashMap<i32, Stat>, run: &OsStr) -> HashSet<i32> {
        let written: HashMap<i32, u64> = self.members.iter().copied().collect();
        let is_written = |pid: &i32, stat: &Stat| written.get(pid) == Some(&stat.started_ticks);
        // A session whose leader lived at the last look was ours then, and so was who was in it.
        let was_in_session = |stat: &Stat| {
            let led = written.get(&stat.session);
            led.is_some_and(|led| (*led..=self.seen_ticks).contains(&stat.started_ticks))
        };
        let own = std::process::id() as i32;
        let alive = || {
            all.iter()
                .filter(|(pid, stat)| !stat.is_dead() && **pid != own)
        };
        let mut ours: HashSet<i32> = alive()
            .filter(|(pid, stat)| {
                is_written(pid, stat) || was_in_session(stat) || is_told(**pid, run)
            })
            .map(|(pid, _)| *pid)
            .collect();
        loop {
            let sessions: HashSet<i32> = ours
                .iter()
                .filter_map(|pid| Some(all.get(pid)?.session))
                // 0 is every session whose leader this namespace does not see.
                .filter(|session| *session > 0)
                .collect();
            let before = ours.len();
            let joined = alive()
                .filter(|(_, stat)| sessions.contains(&stat.session) || ours.contains(&stat.parent))
                .map(|(pid, _)| *pid);
            let joined: Vec<i32> = joined.collect();
            ours.extend(joined);
            if ours.len() == before {
                return ours;
            }
        }
    }
}

/// A process of a run that its keeper left.
struct Found {
    pid: Pid,
    fd: OwnedFd,
}

impl Found {
    fn left_behind(&self) -> LeftBehind {
        let is_ours = rustix::process::test_kill_process(self.pid) != Err(rustix::io::Errno::PERM);
        LeftBehind {
            pid: self.pid.as_raw_nonzero().get(),
            command: tree::command_line(self.pid),
            age_ms: tree::age_ms(self.pid),
            reason: if is_ours {
                LeftReason::Unkillable
            } else {
                LeftReason::NotPermitted
            },
            job: None,
            alias: None,
        }
    }
}

/// Whether a process has this id of a run in its environment, as it was when it was executed.
fn is_told(pid: i32, run: &OsStr) -> bool {
    let entry = [RUN_VARIABLE.as_bytes(), b"=", run.as_bytes()].concat();
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    !run.is_empty()
        && environment
            .split(|&byte| byte == 0)
            .any(|found| found == entry)
}

/// Identifies the pid namespace of this process; 0 if that is not known.
fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |metadata| metadata.ino())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "processes that the test ends")]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    /// A shell that has said how far it is.
    fn shell(script: &str) -> (Child, Vec<i32>) {
        let mut child = Command::new("setsid")
            .args(["bash", "-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let pids = line.split_whitespace().map(|pid| pid.parse().unwrap());
        (child, pids.collect())
    }

    fn stat(pid: i32) -> Option<Stat> {
        tree::stat(Pid::from_raw(pid)?).filter(|stat| !stat.is_dead())
    }

    fn roster(members: &[(i32, u64)]) -> Roster {
        Roster {
            boot: directory::boot_id(),
            namespace: namespace(),
            seen_ticks: tree::ticks_since_boot(),
            members: members.to_vec(),
        }
    }

    fn noted(pid: i32) -> (i32, u64) {
        (pid, stat(pid).unwrap().started_ticks)
    }

    #[test]
    fn what_was_written_down_ends_with_all_that_it_started() {
        let (mut child, pids) =
            shell("sleep 300 & a=$!; setsid sleep 300 & echo $$ $a $!; wait; wait");
        let roster = roster(&[noted(pids[0]), noted(pids[2])]);
        assert_eq!(roster.end(OsStr::new("")), []);
        child.wait().unwrap();
        assert!(pids.iter().all(|pid| stat(*pid).is_none()), "{pids:?}");
    }

    #[test]
    fn what_was_not_written_down_is_known_by_the_id_of_its_run() {
        let run = format!("test{}", std::process::id());
        let script = format!("BASHD_RUN={run} setsid sleep 300 & echo $$ $!; wait");
        let (mut child, pids) = shell(&script);
        // The subshell may not have become the program yet.
        while !is_told(pids[1], OsStr::new(&run)) {
            assert!(stat(pids[1]).is_some());
        }
        let unwritten = Roster::unwritten();
        assert_eq!(unwritten.end(OsStr::new("")), []);
        assert_eq!(unwritten.end(OsStr::new("test")), []);
        assert!(stat(pids[1]).is_some());
        assert_eq!(unwritten.end(OsStr::new(&run)), []);
        assert!(stat(pids[1]).is_none());
        child.wait().unwrap();
    }

    #[test]
    fn another_process_with_the_same_number_is_left_alone() {
        let (mut child, pids) = shell("echo $$; sleep 300");
        let (pid, started) = noted(pids[0]);
        let right = roster(&[(pid, started)]);
        let other_start = roster(&[(pid, started + 1)]);
        let other_boot = Roster {
            boot: "another".into(),
            ..right.clone()
        };
        let other_namespace = Roster {
            namespace: right.namespace + 1,
            ..right.clone()
        };
        for wrong in [other_start, other_boot, other_namespace] {
            assert_eq!(wrong.end(OsStr::new("")), []);
            assert!(stat(pid).is_some());
        }
        assert_eq!(right.end(OsStr::new("")), []);
        child.wait().unwrap();
    }

    #[test]
    fn who_came_into_a_session_later_is_not_taken_for_its_own() {
        let (mut child, pids) = shell("sleep 300 & echo $$ $!; wait");
        let (shell, sleep) = (pids[0], pids[1]);
        let (_, started) = noted(shell);
        // As if the shell had been another one, which ended before these two began.
        let earlier = Roster {
            seen_ticks: started - 1,
            ..roster(&[(shell, started - 2)])
        };
        assert_eq!(earlier.end(OsStr::new("")), []);
        assert!(stat(shell).is_some() && stat(sleep).is_some());
        // The shell is gone, and was there at the last look: who is in its session is known by it.
        let last = roster(&[noted(shell)]);
        rustix::process::kill_process(Pid::from_raw(shell).unwrap(), Signal::KILL).unwrap();
        child.wait().unwrap();
        assert_eq!(last.end(OsStr::new("")), []);
        assert!(stat(sleep).is_none());
    }
}
