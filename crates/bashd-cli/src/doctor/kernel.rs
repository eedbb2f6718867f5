//! What the kernel offers to track a process tree and to end it.

use super::check::DoctorCheck;
use crate::for_people;
use crate::settings::ConfigInForce;
use rustix::fs::Access;
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use std::fs;
use std::path::PathBuf;

/// The oldest kernel that has everything: `close_range` came with 5.9.
const OLDEST: (u32, u32) = (5, 9);

pub(super) fn version(_settings: &ConfigInForce) -> DoctorCheck {
    let name = "kernel";
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    match parse(&release) {
        Some(version) if version >= OLDEST => {
            DoctorCheck::good(name, release, "bashd needs 5.9 or newer")
        }
        Some(_) => DoctorCheck::missing(name, release, "bashd needs Linux 5.9 or newer"),
        None => DoctorCheck::limited(
            name,
            release,
            "the version is not understood; bashd needs Linux 5.9 or newer",
        ),
    }
}

fn parse(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

pub(super) fn pidfd(_settings: &ConfigInForce) -> DoctorCheck {
    let name = "pidfd";
    match pidfd_open(getpid(), PidfdFlags::empty()) {
        Ok(_) => DoctorCheck::good(
            name,
            "works",
            "a signal never reaches another process that reuses a pid",
        ),
        Err(error) => DoctorCheck::missing(
            name,
            error.to_string(),
            "process trees can't be ended safely here",
        ),
    }
}

pub(super) fn subreaper(_settings: &ConfigInForce) -> DoctorCheck {
    let name = "subreaper";
    match rustix::process::child_subreaper() {
        Ok(_) => DoctorCheck::good(
            name,
            "works",
            "children that daemonize stay in the process tree",
        ),
        Err(error) => DoctorCheck::missing(
            name,
            error.to_string(),
            "children that daemonize would escape from the process tree",
        ),
    }
}

pub(super) fn children_file(_settings: &ConfigInForce) -> DoctorCheck {
    let name = "/proc children";
    match fs::read("/proc/thread-self/children") {
        Ok(_) => DoctorCheck::good(
            name,
            "readable",
            "bashd finds the processes of a tree without scanning /proc",
        ),
        Err(error) => DoctorCheck::missing(
            name,
            error.to_string(),
            "bashd can't find the processes of a tree: mount /proc, on a kernel with PROC_CHILDREN",
        ),
    }
}

pub(super) fn cgroup(_settings: &ConfigInForce) -> DoctorCheck {
    let name = "cgroup v2";
    let Some(directory) = own_cgroup() else {
        return DoctorCheck::good(
            name,
            "not mounted",
            "not needed: bashd tracks process trees without it",
        );
    };
    let is_writable = rustix::fs::access(directory.join("cgroup.procs"), Access::WRITE_OK).is_ok();
    let finding = format!(
        "{}, {}",
        directory.display(),
        if is_writable { "writable" } else { "read-only" }
    );
    DoctorCheck::good(
        name,
        finding,
        "not needed: bashd tracks process trees without it",
    )
}

/// The directory of our own group in the unified hierarchy.
fn own_cgroup() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let directory = PathBuf::from("/sys/fs/cgroup").join(group);
    directory.join("cgroup.procs").exists().then_some(directory)
}

pub(super) fn ptrace(_settings: &ConfigInForce) -> DoctorCheck {
    let name = "ptrace scope";
    match fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope") {
        Ok(scope) => {
            let finding = format!("yama: {}", scope.trim());
            DoctorCheck::good(
                name,
                finding,
                "bashd is not affected; debuggers in commands may be refused",
            )
        }
        Err(_) => DoctorCheck::good(
            name,
            "no yama",
            "bashd is not affected; debuggers in commands work",
        ),
    }
}

/// If process 1 reaps late, dead processes remain; they are not leaks of ours.
pub(super) fn first_process(_settings: &ConfigInForce) -> DoctorCheck {
    let name = "process 1";
    let program = fs::read_to_string("/proc/1/comm").unwrap_or_else(|_| "unknown".to_owned());
    let dead = dead_children_of_first();
    let zombies = for_people::count(dead, "zombie");
    let finding = format!("{}, {zombies}", program.trim());
    if dead == 0 {
        DoctorCheck::good(name, finding, "it reaps orphans")
    } else {
        let consequence =
            "it reaps orphans late: a pid may belong to a dead process (use an init like tini)";
        DoctorCheck::limited(name, finding, consequence)
    }
}

fn dead_children_of_first() -> usize {
    let Ok(entries) = fs::read_dir("/proc") else {
        return 0;
    };
    let stats = entries
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    // "PID (NAME) STATE PPID …", where NAME may hold anything, parentheses too.
    stats
        .filter(|stat| {
            stat.rsplit_once(") ")
                .is_some_and(|(_, rest)| rest.starts_with("Z 1 "))
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read() {
        assert_eq!(parse("5.9.0"), Some((5, 9)));
        assert_eq!(parse("6.12-rc1+"), Some((6, 12)));
        assert_eq!(parse("5.15.0-1051-azure"), Some((5, 15)));
        assert_eq!(parse("six"), None);
        assert!(Some((5, 8)) < Some(OLDEST) && Some((6, 1)) > Some(OLDEST));
    }
}
