//! Short names and limits: which `bg_N` a new job gets, and whether there may be one more.
//!
//! A short name is the lowest that none of its owner's jobs has. It is claimed by a file in the job's
//! directory, under one lock for the whole state directory, before the keeper makes the job; a claim
//! from which no job came is forgotten after a moment.

use super::directory::{self, Claim};
use super::state;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

/// The lock under which names are given.
const NAMES_LOCK: &str = "names.lock";

/// Age after which a claim from which no job came counts for nothing.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(30);

/// How many jobs there may be that have not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// In all.
    pub in_all: usize,
    /// Of one owner.
    pub per_owner: usize,
}

/// Why there can't be one more job.
#[derive(Debug)]
pub(crate) enum Refused {
    /// So many there are already.
    Full(usize),
    /// The state directory refuses.
    Io(io::Error),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(most) => write!(
                f,
                "Background job limit reached ({most}). Wait for running jobs to finish or cancel one."
            ),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Claims a short name for the job that is to live in this directory.
pub(crate) fn claim(directory: &Path, owner: &str, limits: JobLimits) -> Result<String, Refused> {
    let runs = directory
        .parent()
        .ok_or_else(|| io::Error::other("a job needs a directory of runs"))?;
    crate::output::spool::prepare_runs_directory(runs)?;
    let _lock = lock(runs)?;
    let known = known(runs);
    room(&known, owner, limits)?;
    let taken: BTreeSet<&str> = known
        .iter()
        .filter(|known| known.owner == owner)
        .map(|known| known.alias.as_str())
        .collect();
    let alias = (1..=taken.len() + 1)
        .map(|number| format!("bg_{number}"))
        .find(|alias| !taken.contains(alias.as_str()))
        .unwrap_or_default();
    crate::output::spool::prepare_runs_directory(directory)?;
    let claim = Claim {
        owner: owner.to_owned(),
        alias: alias.clone(),
    };
    directory::write_whole(directory, directory::CLAIM, &claim)?;
    Ok(alias)
}

/// Gives a claim up from which no job came.
pub(crate) fn withdraw(directory: &Path) {
    let _ = fs::remove_file(directory.join(directory::CLAIM));
    // Only if nothing else is in it.
    let _ = fs::remove_dir(directory);
}

/// Whether there may be one more job, before anything is started for it.
pub(crate) fn check_room(runs: &Path, owner: &str, limits: JobLimits) -> Result<(), Refused> {
    room(&known(runs), owner, limits)
}

/// A name that is taken.
struct Known {
    owner: String,
    alias: String,
    is_alive: bool,
}

fn known(runs: &Path) -> Vec<Known> {
    let directories = state::directories(runs);
    let claims = directories.filter_map(|path| {
        let Claim { owner, alias } = directory::read(&path, directory::CLAIM)?;
        if !path.join(directory::SPEC).exists() {
            let claimed = fs::metadata(path.join(directory::CLAIM)).ok()?;
            let age = claimed.modified().ok()?.elapsed().unwrap_or_default();
            (age < FORGOTTEN_AFTER).then_some(())?;
        }
        Some(Known {
            owner,
            alias,
            is_alive: directory::is_alive(&path),
        })
    });
    claims.collect()
}

fn room(known: &[Known], owner: &str, limits: JobLimits) -> Result<(), Refused> {
    let alive = || known.iter().filter(|known| known.is_alive);
    if alive().count() >= limits.in_all {
        return Err(Refused::Full(limits.in_all));
    }
    if alive().filter(|known| known.owner == owner).count() >= limits.per_owner {
        return Err(Refused::Full(limits.per_owner));
    }
    Ok(())
}

fn lock(runs: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
    let lock = rustix::fs::open(runs.join(NAMES_LOCK), flags, Mode::RUSR | Mode::WUSR)?;
    rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: JobLimits = JobLimits {
        in_all: 3,
        per_owner: 2,
    };

    #[test]
    fn each_owner_has_the_lowest_free_name() {
        let runs = tempfile::tempdir().unwrap();
        let claim = |id: &str, owner| claim(&runs.path().join(id), owner, LIMITS).unwrap();
        assert_eq!(claim("1", "ann"), "bg_1");
        assert_eq!(claim("2", "ann"), "bg_2");
        assert_eq!(claim("3", "bob"), "bg_1");
        withdraw(&runs.path().join("1"));
        assert_eq!(claim("4", "ann"), "bg_1");
        assert_eq!(claim("5", "ann"), "bg_3");
    }

    #[test]
    fn the_limits_count_what_lives() {
        let runs = tempfile::tempdir().unwrap();
        let claim = |id: &str, owner| claim(&runs.path().join(id), owner, LIMITS);
        let mut locks = Vec::new();
        for (id, owner) in [("1", "ann"), ("2", "ann"), ("3", "bob")] {
            claim(id, owner).unwrap();
            locks.push(directory::take_lock(&runs.path().join(id)).unwrap());
        }
        assert!(matches!(claim("4", "bob"), Err(Refused::Full(3))));
        locks.pop();
        assert!(matches!(claim("4", "ann"), Err(Refused::Full(2))));
        let text = check_room(runs.path(), "ann", LIMITS).unwrap_err();
        assert_eq!(
            text.to_string(),
            "Background job limit reached (2). Wait for running jobs to finish or cancel one."
        );
        claim("4", "bob").unwrap();
    }
}
