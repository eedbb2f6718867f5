//! Finding processes: those that carry a test's mark, and those below the test itself.

use crate::keeper_hook::short;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// One process as `/proc` shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// Its process id.
    pub pid: i32,
    /// When it started, in clock ticks since boot: with the id, its identity.
    pub started: u64,
    /// Its parent's process id.
    pub parent: i32,
    /// The letter of its state; `Z` has ended and was not waited for.
    pub state: char,
    /// Its command line, or its name in brackets.
    pub command: String,
}

/// Every process that can be seen.
pub fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(read)
        .collect()
}

/// The processes other than this one whose environment has `name=value`.
///
/// The environment is the one that a process was started with; one that has ended shows none.
pub fn with_variable(name: &str, value: &str) -> Vec<Process> {
    let wanted = format!("{name}={value}");
    let own = std::process::id() as i32;
    all()
        .into_iter()
        .filter(|process| {
            let is_it = has_variable(process.pid, &wanted);
            // One that has ended keeps its name until it is waited for.
            let is_named = || process.state != 'Z' && is_named(process.pid, short(value));
            process.pid != own && is_it.unwrap_or_else(is_named)
        })
        .collect()
}

/// The children of this process, their children, and so on.
pub fn below_this_one() -> Vec<Process> {
    let all = all();
    let mut family = BTreeSet::from([std::process::id() as i32]);
    let mut found = Vec::new();
    loop {
        let next: Vec<&Process> = all
            .iter()
            .filter(|process| family.contains(&process.parent) && !family.contains(&process.pid))
            .collect();
        if next.is_empty() {
            return found;
        }
        family.extend(next.iter().map(|process| process.pid));
        found.extend(next.into_iter().cloned());
    }
}

impl Process {
    /// Whether this is a carrier, an outpost, or what an outpost has ready for its next command: it
    /// stays when a command has ended.
    pub fn is_of_outpost(&self) -> bool {
        let command = &self.command;
        command.contains(" outpost ")
            || command == "bashd-keeper"
            || command.starts_with("bash -c IFS= builtin read -r -d ''")
    }

    /// Waits until this process has ended, or `limit` has passed.
    pub fn wait_for_end(&self, limit: Duration) {
        let Some(pidfd) = self.open() else { return };
        let timeout = Timespec::try_from(limit).expect("a limit that fits a timespec");
        let _ = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&timeout));
    }

    /// Kills this very process, never one that has its id by now.
    pub fn kill(&self) {
        if let Some(pidfd) = self.open() {
            let _ = pidfd_send_signal(&pidfd, Signal::KILL);
        }
    }

    /// Stops this process, and waits until it stands still or has ended: it starts nothing more.
    pub fn hold(&self) {
        let Some(pidfd) = self.open() else { return };
        let _ = pidfd_send_signal(&pidfd, Signal::STOP);
        let is_moving = |process: &Self| !matches!(process.state, 'T' | 't' | 'Z' | 'X');
        while read(self.pid)
            .filter(is_moving)
            .is_some_and(|now| now.started == self.started)
        {
            std::thread::yield_now();
        }
    }

    /// The process ids of its children.
    pub fn children(&self) -> Vec<i32> {
        let of_this = all()
            .into_iter()
            .filter(|process| process.parent == self.pid);
        of_this.map(|process| process.pid).collect()
    }

    fn open(&self) -> Option<std::os::fd::OwnedFd> {
        let pidfd = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        // Open first, compare then: from here on the id cannot mean another process.
        (read(self.pid)?.started == self.started).then_some(pidfd)
    }
}

/// `None` if we may not look, as with a keeper that is not root's.
fn has_variable(pid: i32, wanted: &str) -> Option<bool> {
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut entries = environ.split(|byte| *byte == 0);
    Some(entries.any(|entry| entry == wanted.as_bytes()))
}

fn is_named(pid: i32, name: &str) -> bool {
    let found = fs::read_to_string(format!("/proc/{pid}/comm"));
    found.is_ok_and(|found| found.trim_end() == name)
}

fn read(pid: i32) -> Option<Process> {
    let stat = String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?).into_owned();
    // The name is in parentheses and may hold anything, also parentheses: the last one ends it.
    let (head, tail) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
    Some(Process {
        pid,
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        command: if arguments.trim().is_empty() {
            format!("[{name}]")
        } else {
            arguments.trim().chars().take(200).collect()
        },
    })
}
