//! Limits on this process, and so on every command.

use super::check::DoctorCheck;
use crate::settings::ConfigInForce;
use bashd::plan::Resources;
use rustix::process::{Resource, getrlimit};
use std::fs;

/// A call holds about a dozen descriptors: this is enough for about fifty calls at once.
const FEW_FILES: u64 = 1024;

/// Below this, an ordinary build already runs out of processes.
const FEW_PROCESSES: u64 = 512;

/// Pages that one full-grown pipe takes: 1 MiB.
const PAGES_OF_A_PIPE: u64 = 256;

/// How `limits.*` would be enforced.
pub(super) fn of_commands(settings: &ConfigInForce) -> DoctorCheck {
    let name = "limits";
    let config = &settings.config;
    let memory_and_processes = Resources::default().memory_bytes(1).processes(1);
    let wanted = config.resources.or(memory_and_processes);
    let Some(group) = bashd::plan::parent_group(&wanted, &config.cgroups) else {
        let finding = "rlimits, because no control group can be created";
        let consequence = if rustix::process::geteuid().is_root() {
            "limits apply to each process alone; the limit on processes does not apply to root"
        } else {
            "limits apply to each process alone; the limit on processes counts all of this user's"
        };
        // Without configured limits, nothing is missing.
        return if config.resources.is_unlimited() {
            DoctorCheck::good(name, finding, consequence)
        } else {
            DoctorCheck::limited(name, finding, consequence)
        };
    };
    DoctorCheck::good(
        name,
        format!("control groups below {}", group.display()),
        "limits apply to all processes of a command together; running out of memory is reported",
    )
}

pub(super) fn pipe_pages(_settings: &ConfigInForce) -> DoctorCheck {
    let name = "pipe pages";
    let Ok(text) = fs::read_to_string("/proc/sys/fs/pipe-user-pages-soft") else {
        return DoctorCheck::good(name, "unknown", "pipes stay small if they can't grow");
    };
    let pages = text.trim();
    let finding = format!("{pages} per user (pipe-user-pages-soft)");
    match pages.parse::<u64>() {
        Ok(0) => DoctorCheck::good(
            name,
            finding,
            "no limit: pipes with a lot of output grow to 1 MiB",
        ),
        Ok(pages) if pages < PAGES_OF_A_PIPE => DoctorCheck::limited(
            name,
            finding,
            "pipes can't grow: large outputs are read more slowly",
        ),
        _ => DoctorCheck::good(
            name,
            finding,
            "pipes with a lot of output grow to 1 MiB, until the limit is reached",
        ),
    }
}

pub(super) fn processes(_settings: &ConfigInForce) -> DoctorCheck {
    let name = "processes";
    let (finding, is_low) = limit(Resource::Nproc, FEW_PROCESSES);
    if is_low {
        DoctorCheck::limited(
            name,
            finding,
            "low: commands that start many processes will fail",
        )
    } else {
        DoctorCheck::good(name, finding, "enough (RLIMIT_NPROC)")
    }
}

pub(super) fn open_files(_settings: &ConfigInForce) -> DoctorCheck {
    let name = "open files";
    let (finding, is_low) = limit(Resource::Nofile, FEW_FILES);
    if is_low {
        DoctorCheck::limited(
            name,
            finding,
            "low: many calls at once will fail (raise `ulimit -n`)",
        )
    } else {
        DoctorCheck::good(name, finding, "enough (RLIMIT_NOFILE)")
    }
}

/// Threads of this user's bashd processes that wait for a file system which does not answer.
pub(super) fn hung_threads(_settings: &ConfigInForce) -> DoctorCheck {
    let name = "hung threads";
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let counts = processes.map(|process: i32| (process, bashd::hung_in(process)));
    let hung: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(process, count)| format!("process {process} has {count}"))
        .collect();
    if hung.is_empty() {
        let consequence = "no call waits for a file system that does not answer";
        return DoctorCheck::good(name, "none", consequence);
    }
    DoctorCheck::limited(
        name,
        hung.join(", "),
        "a file system does not answer: calls that name it fail at their timeout",
    )
}

fn limit(resource: Resource, few: u64) -> (String, bool) {
    match getrlimit(resource).current {
        Some(limit) => (format!("at most {limit}"), limit < few),
        None => ("no limit".to_owned(), false),
    }
}
