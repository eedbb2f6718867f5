//! Limits that this process, and so every command, lives under.

use super::check::Check;
use crate::settings::Settings;
use rustix::process::{Resource, getrlimit};
use std::fs;

/// A call holds about a dozen descriptors: this is enough for some fifty at once.
const FEW_FILES: u64 = 1024;

/// Below this, an ordinary build already runs out of processes.
const FEW_PROCESSES: u64 = 512;

/// Pages that one full-grown pipe takes: 1 MiB.
const PAGES_OF_A_PIPE: u64 = 256;

pub(super) fn pipe_pages(_settings: &Settings) -> Check {
    let name = "pipe pages";
    let Ok(text) = fs::read_to_string("/proc/sys/fs/pipe-user-pages-soft") else {
        return Check::good(name, "unknown", "pipes stay small where they can't grow");
    };
    let pages = text.trim();
    let finding = format!("{pages} a user (pipe-user-pages-soft)");
    match pages.parse::<u64>() {
        Ok(0) => Check::good(name, finding, "no limit: pipes of floods grow to 1 MiB"),
        Ok(pages) if pages < PAGES_OF_A_PIPE => Check::weaker(
            name,
            finding,
            "pipes can't grow: floods of output are read more slowly",
        ),
        _ => Check::good(
            name,
            finding,
            "pipes of floods grow to 1 MiB until the limit is reached",
        ),
    }
}

pub(super) fn processes(_settings: &Settings) -> Check {
    let name = "processes";
    let (finding, is_low) = limit(Resource::Nproc, FEW_PROCESSES);
    if is_low {
        Check::weaker(
            name,
            finding,
            "few: commands that start many processes will fail",
        )
    } else {
        Check::good(name, finding, "enough (RLIMIT_NPROC)")
    }
}

pub(super) fn open_files(_settings: &Settings) -> Check {
    let name = "open files";
    let (finding, is_low) = limit(Resource::Nofile, FEW_FILES);
    if is_low {
        Check::weaker(
            name,
            finding,
            "few: many calls at once will fail (raise `ulimit -n`)",
        )
    } else {
        Check::good(name, finding, "enough (RLIMIT_NOFILE)")
    }
}

fn limit(resource: Resource, few: u64) -> (String, bool) {
    match getrlimit(resource).current {
        Some(limit) => (format!("at most {limit}"), limit < few),
        None => ("no limit".to_owned(), false),
    }
}
