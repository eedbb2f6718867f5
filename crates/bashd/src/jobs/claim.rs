//! Short names and limits: which `bg_N` a new job gets, and whether there may be one more.
//!
//! A short name is the lowest that none of its owner's jobs has. It is claimed by a file in the
//! job's directory, under one lock for the whole state directory, before the keeper makes the job.
//! Looking at every directory for each new job would mean a million looks for a thousand jobs, so
//! the names are also in one file (`names`): a line per claim, which counts if its directory still
//! exists. The directories are the source of truth; a missing file is rebuilt from them. A claim
//! counts as a job that lives from the moment at which it is made, so that no two calls get the
//! last place.

use super::directory::{self, CallTerms, Claim};
use super::{clients, state};
use bashd_keeper::spool::{NEVER_WAITS, read_small, write_private};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The lock under which names are given.
const NAMES_LOCK: &str = "names.lock";

/// Every name that is taken, a line each.
const NAMES: &str = "names";

/// How long the lock may be held by others: each of them needs it for milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lines of removed jobs that the file may have before it is rewritten.
const MOST_STALE: usize = 64;

/// How many unfinished jobs there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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

/// A name that is taken for a job, which counts as one from now on; given up when this is dropped
/// before a keeper was asked to make the job.
#[derive(Debug)]
pub(crate) struct ClaimedName {
    /// The short name.
    pub(crate) alias: String,
    directory: PathBuf,
    is_used: bool,
    /// The claim's own lock, until there is a keeper that holds the job's.
    _held: OwnedFd,
}

impl ClaimedName {
    /// A keeper was asked to make the job: what becomes of the claim is known from its answer.
    pub(crate) fn used(mut self) -> Self {
        self.is_used = true;
        self
    }
}

impl Drop for ClaimedName {
    fn drop(&mut self) {
        if !self.is_used {
            withdraw(&self.directory);
        }
    }
}

/// Claims a short name for the job that will live in this directory.
pub(crate) fn claim(
    directory: &Path,
    owner: &str,
    call: &CallTerms,
    limits: JobLimits,
) -> Result<ClaimedName, ClaimFailure> {
    let no_directory = || io::Error::other("a job needs a runs directory");
    let runs = directory.parent().ok_or_else(no_directory)?;
    let claimed = claim_in(runs, directory, (owner, call), limits);
    claimed.map_err(|refused| refused.in_directory(runs))
}

fn claim_in(
    runs: &Path,
    directory: &Path,
    (owner, call): (&str, &CallTerms),
    limits: JobLimits,
) -> Result<ClaimedName, ClaimFailure> {
    bashd_keeper::spool::prepare_runs_directory(runs)?;
    let _lock = lock(runs)?;
    let known = known(runs);
    room(runs, &known, owner, limits)?;
    bashd_keeper::spool::prepare_runs_directory(directory)?;
    let claim = Claim {
        owner: owner.to_owned(),
        alias: free_alias(&known, owner),
        home: home(runs, owner),
        call: call.clone(),
    };
    let held = write(runs, directory, &claim)
        .and_then(|()| directory::lock_file(&directory.join(directory::CLAIM), PATIENCE));
    let held = held.inspect_err(|_| withdraw(directory))?;
    Ok(ClaimedName {
        alias: claim.alias,
        directory: directory.to_owned(),
        is_used: false,
        _held: held,
    })
}

/// The lowest short name that none of an owner's jobs has.
fn free_alias(known: &[TakenName], owner: &str) -> String {
    let own = known.iter().filter(|known| known.owner == owner);
    let taken: BTreeSet<&str> = own.map(|known| known.alias.as_str()).collect();
    (1..=taken.len() + 1)
        .map(|number| format!("bg_{number}"))
        .find(|alias| !taken.contains(alias.as_str()))
        .unwrap_or_default()
}

/// The directory in which an owner's client works, as a claim has it.
fn home(runs: &Path, owner: &str) -> Option<String> {
    clients::home(runs, owner).map(|home| home.to_string_lossy().into_owned())
}

fn write(runs: &Path, directory: &Path, claim: &Claim) -> io::Result<()> {
    let id = directory.file_name().unwrap_or_default();
    directory::write_whole(directory, directory::CLAIM, claim)?;
    note(
        runs,
        &TakenName {
            id: id.to_string_lossy().into_owned(),
            owner: claim.owner.clone(),
            alias: claim.alias.clone(),
        },
    )
}

/// Gives a job to another owner, if it still is whose it was: only one of those who want it gets
/// it. Its short name becomes one that is free among the new owner's.
pub(crate) fn take_over(directory: &Path, from: &str, owner: &str) -> io::Result<bool> {
    let runs = directory.parent().unwrap_or(directory);
    let _lock = lock(runs)?;
    let claim: Option<Claim> = directory::read(directory, directory::CLAIM);
    let claim = claim.unwrap_or_else(|| Claim {
        owner: from.to_owned(),
        ..Claim::default()
    });
    if claim.owner != from {
        return Ok(false);
    }
    let claim = Claim {
        owner: owner.to_owned(),
        alias: free_alias(&known(runs), owner),
        home: home(runs, owner),
        call: claim.call,
    };
    write(runs, directory, &claim)?;
    Ok(true)
}

/// Gives up a claim that led to no job.
pub(crate) fn withdraw(directory: &Path) {
    let _ = fs::remove_file(directory.join(directory::CLAIM));
    // Only if nothing else is in it.
    let _ = fs::remove_dir(directory);
}

/// Whether there may be another job, before anything is started for it.
pub(crate) fn check_room(runs: &Path, owner: &str, limits: JobLimits) -> Result<(), ClaimFailure> {
    // Without the lock nothing is tidied: somebody may be adding a name just now.
    room(runs, &names(runs).0, owner, limits)
}

/// A name that is taken.
#[derive(Serialize, Deserialize)]
struct TakenName {
    id: String,
    owner: String,
    alias: String,
}

/// The names of all jobs that are still kept; tidies their file. Needs the lock.
fn known(runs: &Path) -> Vec<TakenName> {
    let (kept, is_untidy) = names(runs);
    if is_untidy {
        let _ = write_anew(runs, &kept);
    }
    kept
}

/// The names of all jobs that are still kept, and whether their file should be written anew.
fn names(runs: &Path) -> (Vec<TakenName>, bool) {
    let text = read_small(&runs.join(NAMES)).ok();
    let Some(text) = text.and_then(|text| String::from_utf8(text).ok()) else {
        return (found(runs), true);
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
    // The last line of a job counts: somebody may have taken it over.
    let mut seen = HashSet::with_capacity(count);
    let mut is_there = |known: &TakenName| {
        there.contains(std::ffi::OsStr::new(&known.id)) && seen.insert(known.id.clone())
    };
    let mut kept: Vec<TakenName> = all
        .into_iter()
        .rev()
        .filter(|known| is_there(known))
        .collect();
    kept.reverse();
    let is_untidy = count > kept.len() + MOST_STALE;
    (kept, is_untidy)
}

/// The names as the directories have them.
fn found(runs: &Path) -> Vec<TakenName> {
    let claims = state::directories(runs).filter_map(|path| {
        let Claim { owner, alias, .. } = directory::read(&path, directory::CLAIM)?;
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
        .custom_flags(NEVER_WAITS)
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
        let counts = |known: &&TakenName| {
            let directory = runs.join(&known.id);
            directory::is_locked(&directory.join(directory::CLAIM))
                || directory::is_alive(&directory)
        };
        jobs.filter(counts).take(most).count() >= most
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
    let held = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(
            error.kind(),
            format!("somebody holds the lock {NAMES_LOCK}"),
        ),
        _ => error,
    };
    directory::lock_file(&runs.join(NAMES_LOCK), PATIENCE).map_err(held)
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

    /// The name that a job gets whose keeper never comes.
    fn name_of(directory: &Path, owner: &str, limits: JobLimits) -> String {
        let claimed = claim(directory, owner, &CallTerms::default(), limits);
        claimed.unwrap().used().alias.clone()
    }

    #[test]
    fn a_claim_counts_before_there_is_a_keeper() {
        let runs = tempfile::tempdir().unwrap();
        let claim = |id: &str| claim(&runs.path().join(id), "ann", &CallTerms::default(), LIMITS);
        let held = (claim("1").unwrap(), claim("2").unwrap());
        assert!(matches!(claim("3"), Err(ClaimFailure::Full(2))));
        drop(held);
        claim("3").unwrap();
        assert!(!runs.path().join("1").exists() && !runs.path().join("3").exists());
    }

    #[test]
    fn a_look_without_the_lock_writes_no_names() {
        let runs = tempfile::tempdir().unwrap();
        check_room(runs.path(), "ann", LIMITS).unwrap();
        assert!(!runs.path().join(NAMES).exists());
        name_of(&runs.path().join("1"), "ann", LIMITS);
        assert!(runs.path().join(NAMES).exists());
    }

    #[test]
    fn a_job_is_taken_over_once_under_a_name_that_is_free() {
        let runs = tempfile::tempdir().unwrap();
        let jobs = ["1", "2", "3"].map(|id| runs.path().join(id));
        assert_eq!(name_of(&jobs[0], "ann", MANY), "bg_1");
        assert_eq!(name_of(&jobs[1], "bob", MANY), "bg_1");
        assert!(take_over(&jobs[0], "ann", "bob").unwrap());
        assert!(!take_over(&jobs[0], "ann", "eve").unwrap());
        let claim: Claim = directory::read(&jobs[0], directory::CLAIM).unwrap();
        assert_eq!(
            (claim.owner.as_str(), claim.alias.as_str()),
            ("bob", "bg_2")
        );
        assert_eq!(name_of(&jobs[2], "ann", MANY), "bg_1");
    }

    #[test]
    fn each_owner_has_the_lowest_free_name() {
        let runs = tempfile::tempdir().unwrap();
        let claim = |id: &str, owner| name_of(&runs.path().join(id), owner, LIMITS);
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
        let claim = |id: &str| name_of(&runs.path().join(id), "ann", MANY);
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
            assert_eq!(name_of(&directory, "ann", MANY), "bg_1");
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
        let refused = claim(&runs.join("1"), "ann", &CallTerms::default(), LIMITS).unwrap_err();
        let text = refused.to_string();
        assert!(
            text.ends_with(&format!(", in {}", runs.display())),
            "{text}"
        );
    }

    #[test]
    fn the_limits_count_what_lives() {
        let runs = tempfile::tempdir().unwrap();
        let claim =
            |id: &str, owner| claim(&runs.path().join(id), owner, &CallTerms::default(), LIMITS);
        let mut locks = Vec::new();
        for (id, owner) in [("1", "ann"), ("2", "ann"), ("3", "bob")] {
            drop(claim(id, owner).unwrap().used());
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
