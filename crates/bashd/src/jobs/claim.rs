//! Short names and limits: which `bg_N` a new job gets, and whether there may be one more.
//!
//! A short name is the lowest that none of its owner's jobs has. It is claimed by a file in the
//! job's directory, under one lock for the whole state directory, before the keeper makes the job.
//! Looking at every directory for each new job would mean a million looks for a thousand jobs, so
//! the names are also in one file (`names`): a line per claim, which counts if its directory still
//! exists. The directories are the source of truth; a missing file is rebuilt from them.

use super::directory::{self, Claim};
use super::state;
use bashd_keeper::spool::write_private;
use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The lock under which names are given.
const NAMES_LOCK: &str = "names.lock";

/// Every name that is taken, a line each.
const NAMES: &str = "names";

/// Lines of removed jobs that the file may have before it is rewritten.
const MOST_STALE: usize = 64;

/// How many unfinished jobs there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// In total.
    pub in_all: usize,
    /// Per owner.
    pub per_owner: usize,
}

/// Why there cannot be another job.
#[derive(Debug)]
pub(crate) enum ClaimFailure {
    /// There are already this many.
    Full(usize),
    /// The state directory cannot be written.
    Io(io::Error),
}

impl ClaimFailure {
    /// Also says where: the caller has to look there.
    fn in_directory(self, runs: &Path) -> Self {
        match self {
            Self::Full(most) => Self::Full(most),
            Self::Io(error) => {
                let text = format!("{error}, in {}", runs.display());
                Self::Io(io::Error::new(error.kind(), text))
            }
        }
    }
}

impl fmt::Display for ClaimFailure {
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

impl From<io::Error> for ClaimFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Claims a short name for the job that will live in this directory.
pub(crate) fn claim(
    directory: &Path,
    owner: &str,
    limits: JobLimits,
) -> Result<String, ClaimFailure> {
    let no_directory = || io::Error::other("a job needs a runs directory");
    let runs = directory.parent().ok_or_else(no_directory)?;
    claim_in(runs, directory, owner, limits).map_err(|refused| refused.in_directory(runs))
}

fn claim_in(
    runs: &Path,
    directory: &Path,
    owner: &str,
    limits: JobLimits,
) -> Result<String, ClaimFailure> {
    let id = directory.file_name().unwrap_or_default();
    bashd_keeper::spool::prepare_runs_directory(runs)?;
    let _lock = lock(runs)?;
    let known = known(runs);
    room(runs, &known, owner, limits)?;
    let taken: BTreeSet<&str> = known
        .iter()
        .filter(|known| known.owner == owner)
        .map(|known| known.alias.as_str())
        .collect();
    let alias = (1..=taken.len() + 1)
        .map(|number| format!("bg_{number}"))
        .find(|alias| !taken.contains(alias.as_str()))
        .unwrap_or_default();
    bashd_keeper::spool::prepare_runs_directory(directory)?;
    let claim = Claim {
        owner: owner.to_owned(),
        alias: alias.clone(),
    };
    directory::write_whole(directory, directory::CLAIM, &claim)
        .inspect_err(|_| withdraw(directory))?;
    let known = TakenName {
        id: id.to_string_lossy().into_owned(),
        owner: claim.owner,
        alias: claim.alias,
    };
    note(runs, &known).inspect_err(|_| withdraw(directory))?;
    Ok(alias)
}

/// Gives up a claim that led to no job.
pub(crate) fn withdraw(directory: &Path) {
    let _ = fs::remove_file(directory.join(directory::CLAIM));
    // Only if nothing else is in it.
    let _ = fs::remove_dir(directory);
}

/// Whether there may be another job, before anything is started for it.
pub(crate) fn check_room(runs: &Path, owner: &str, limits: JobLimits) -> Result<(), ClaimFailure> {
    room(runs, &known(runs), owner, limits)
}

/// A name that is taken.
#[derive(Serialize, Deserialize)]
struct TakenName {
    id: String,
    owner: String,
    alias: String,
}

/// The names of all jobs that are still kept.
fn known(runs: &Path) -> Vec<TakenName> {
    let Ok(text) = fs::read_to_string(runs.join(NAMES)) else {
        let known = found(runs);
        let _ = write_anew(runs, &known);
        return known;
    };
    let there: HashSet<OsString> = fs::read_dir(runs)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    // A torn line belongs to a claim that never succeeded.
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let all: Vec<TakenName> = lines.collect();
    let count = all.len();
    let is_there = |known: &TakenName| there.contains(std::ffi::OsStr::new(&known.id));
    let kept: Vec<TakenName> = all.into_iter().filter(is_there).collect();
    if count > kept.len() + MOST_STALE {
        let _ = write_anew(runs, &kept);
    }
    kept
}

/// The names as the directories have them.
fn found(runs: &Path) -> Vec<TakenName> {
    let claims = state::directories(runs).filter_map(|path| {
        let Claim { owner, alias } = directory::read(&path, directory::CLAIM)?;
        let id = path.file_name()?.to_string_lossy().into_owned();
        Some(TakenName { id, owner, alias })
    });
    claims.collect()
}

fn note(runs: &Path, known: &TakenName) -> io::Result<()> {
    let mut line = serde_json::to_vec(known)?;
    line.push(b'\n');
    let mut file = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(runs.join(NAMES))?;
    file.write_all(&line)
}

fn write_anew(runs: &Path, known: &[TakenName]) -> io::Result<()> {
    let mut text = Vec::new();
    for known in known {
        serde_json::to_writer(&mut text, known)?;
        text.push(b'\n');
    }
    let aside = runs.join(format!(".{NAMES}.{}", std::process::id()));
    write_private(&aside, &text)?;
    fs::rename(aside, runs.join(NAMES))
}

/// Whether another may live. Which of them are alive is checked only if there might be too many.
fn room(
    runs: &Path,
    known: &[TakenName],
    owner: &str,
    limits: JobLimits,
) -> Result<(), ClaimFailure> {
    let is_full = |jobs: &mut dyn Iterator<Item = &TakenName>, most: usize| {
        let alive = jobs.filter(|known| directory::is_alive(&runs.join(&known.id)));
        alive.take(most).count() >= most
    };
    let is_owned = |known: &&TakenName| known.owner == owner;
    if known.len() >= limits.in_all && is_full(&mut known.iter(), limits.in_all) {
        return Err(ClaimFailure::Full(limits.in_all));
    }
    let of_owner = known.iter().filter(is_owned).count();
    if of_owner >= limits.per_owner && is_full(&mut known.iter().filter(is_owned), limits.per_owner)
    {
        return Err(ClaimFailure::Full(limits.per_owner));
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

    const MANY: JobLimits = JobLimits {
        in_all: 1000,
        per_owner: 1000,
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
    fn the_names_are_those_of_the_directories() {
        let runs = tempfile::tempdir().unwrap();
        let claim = |id: &str| claim(&runs.path().join(id), "ann", MANY).unwrap();
        assert_eq!((claim("1"), claim("2")), ("bg_1".into(), "bg_2".into()));
        // Somebody removed a job, or the file, or tore it.
        fs::remove_dir_all(runs.path().join("1")).unwrap();
        assert_eq!(claim("3"), "bg_1");
        fs::remove_file(runs.path().join(NAMES)).unwrap();
        assert_eq!(claim("4"), "bg_3");
        let mut text = fs::read(runs.path().join(NAMES)).unwrap();
        text.extend(b"{\"id\":\"5");
        fs::write(runs.path().join(NAMES), text).unwrap();
        assert_eq!(claim("5"), "bg_4");
    }

    #[test]
    fn names_of_jobs_that_are_gone_do_not_pile_up() {
        let runs = tempfile::tempdir().unwrap();
        for number in 0..3 * MOST_STALE {
            let directory = runs.path().join(number.to_string());
            assert_eq!(claim(&directory, "ann", MANY).unwrap(), "bg_1");
            withdraw(&directory);
        }
        let text = fs::read_to_string(runs.path().join(NAMES)).unwrap();
        assert!(text.lines().count() <= MOST_STALE + 2);
    }

    #[test]
    fn a_refusal_names_the_directory() {
        let place = tempfile::tempdir().unwrap();
        let runs = place.path().join("runs");
        fs::write(&runs, "a file").unwrap();
        let refused = claim(&runs.join("1"), "ann", LIMITS).unwrap_err();
        let text = refused.to_string();
        assert!(
            text.ends_with(&format!(", in {}", runs.display())),
            "{text}"
        );
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
        assert!(matches!(claim("4", "bob"), Err(ClaimFailure::Full(3))));
        locks.pop();
        assert!(matches!(claim("4", "ann"), Err(ClaimFailure::Full(2))));
        let text = check_room(runs.path(), "ann", LIMITS).unwrap_err();
        assert_eq!(
            text.to_string(),
            "Background job limit reached (2). Wait for running jobs to finish or cancel one."
        );
        claim("4", "bob").unwrap();
    }
}
