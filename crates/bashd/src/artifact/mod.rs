//! Stored output: what a reply did not show in full, by number (`artifact://3`).
//!
//! When a run's output is cut and its profile says so, the files of its spool are named in the
//! run's directory: nothing is copied, so keeping a large output costs no more than keeping a small
//! one. A record beside them says which bytes of the stream are where, and how many newlines come
//! before each mebibyte, so that any range is found at once.
//!
//! ```text
//! STATE/artifacts/next              the next number; never goes back
//! STATE/artifacts/3 -> ../runs/ID   the number's run
//! STATE/runs/ID/artifact            the first bytes
//! STATE/runs/ID/artifact.tail       the last ones, in the order of a ring, where there are more
//! STATE/runs/ID/artifact.rest       what only memory held, since the disk was full
//! STATE/runs/ID/artifact.json       the record
//! STATE/runs/ID/times               when the bytes came, if that was recorded
//! ```
//!
//! Programs that want a plain file get one from [`ArtifactStore::path`], which puts the parts in
//! order first. How long artifacts stay is decided for runs as a whole (`spool.total_bytes`,
//! `spool.max_age_days`): the oldest goes first, and never one that somebody reads.
#![cfg_attr(doctest, doc = include_str!("../../../../docs/artifacts.md"))]

mod counter;
mod grep;
mod keep;
mod order;
mod passage;
mod reader;
mod reads;
mod record;
mod select;
#[cfg(test)]
mod tests;
mod times;

pub use grep::Grep;
pub(crate) use keep::{KeptArtifact, LONGEST_BROUGHT, Writers};
pub use passage::Passage;
pub use reader::{Artifact, Located};
pub use reads::Read;
pub use select::{Item, Range, Selection};

use crate::config::Config;
use crate::jobs::clients;
use crate::place::StoredThere;
use crate::secrets::KnownSecrets;
use bashd_keeper::seal::{SealKey, Unsealed};
use bashd_keeper::spool::{self, Retention};
use record::ArtifactRecord;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The scheme of an artifact's address.
pub const SCHEME: &str = "artifact://";

/// All artifacts of a state directory.
#[derive(Debug, Clone)]
pub struct ArtifactStore {
    links: PathBuf,
    runs: PathBuf,
    retention: Retention,
    /// Where reads are recorded; `None` if nothing is recorded.
    reads: Option<PathBuf>,
    /// Whether the process exits right after it keeps something.
    is_for_one_call: bool,
    /// The owner who looks; `None` sees everything.
    viewer: Option<String>,
    /// What is not shown.
    known: KnownSecrets,
}

/// Why an output is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactKind {
    /// Not all of it was shown.
    #[default]
    Bash,
    /// It was minimized; this is the raw output.
    BashOriginal,
    /// It was recorded, with its times.
    Recording,
}

impl ArtifactKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::BashOriginal => "bash-original",
            Self::Recording => "recording",
        }
    }
}

/// An artifact's entry in a list.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Its number.
    pub id: u64,
    /// Its address.
    pub address: String,
    /// The id of its run, as in the ledger.
    pub run: String,
    /// The profile of the call.
    pub profile: String,
    /// Why it is stored: `bash`, `bash-original` for the raw output of a call that was minimized,
    /// or `recording`.
    pub kind: ArtifactKind,
    /// When it was stored, in milliseconds since 1970.
    pub created_ms: u64,
    /// Bytes that the command wrote.
    pub bytes: u64,
    /// Newlines that the command wrote.
    pub lines: u64,
    /// Bytes of it that are not kept.
    pub dropped_bytes: u64,
    /// The place at which it is stored, if not here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl ArtifactStore {
    /// The artifacts of this configuration's state directory.
    pub fn of(config: &Config) -> Self {
        Self {
            links: config.state_dir.join("artifacts"),
            runs: config.runs_dir(),
            retention: config.retention,
            reads: config.ledger.enabled.then(|| config.ledger_dir()),
            is_for_one_call: false,
            viewer: None,
            known: config.secrets.known.clone(),
        }
    }

    /// This store as the owner sees it: without what other connected clients have stored.
    #[must_use]
    pub fn seen_by(&self, owner: &str) -> Self {
        Self {
            viewer: Some(owner.to_owned()),
            ..self.clone()
        }
    }

    /// Fails as if there were none, if it is another client's, or not the one that this process
    /// gave the number to.
    fn look(&self, id: u64) -> io::Result<()> {
        let record = ArtifactRecord::load(&self.link(id)).map_err(|error| missing(id, error))?;
        if counter::means_another(&self.links, id, &record.run) {
            return Err(missing(id, io::ErrorKind::NotFound.into()));
        }
        let Some(viewer) = &self.viewer else {
            return Ok(());
        };
        match record.owner {
            Some(owner) if owner != *viewer && clients::is_there(&self.runs, &owner) => {
                Err(missing(id, io::ErrorKind::NotFound.into()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Likewise, for a process that exits after one call.
    pub(crate) fn for_one_call(mut self, is_for_one_call: bool) -> Self {
        self.is_for_one_call = is_for_one_call;
        self
    }

    /// Every artifact, oldest number first.
    pub fn list(&self) -> io::Result<Vec<Summary>> {
        let mut found = Vec::new();
        for id in self.ids()? {
            match ArtifactRecord::load(&self.link(id)) {
                Ok(record) => found.push(record.summary()),
                // Swept, or not there yet: neither belongs in a list.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// The numbers that are in use, lowest first.
    pub fn ids(&self) -> io::Result<Vec<u64>> {
        let entries = match fs::read_dir(&self.links) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut ids: Vec<u64> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|id| self.link(*id).join(record::NAME).exists() && self.look(*id).is_ok())
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Opens an artifact; one that is open is never swept.
    pub fn open(&self, id: u64) -> io::Result<Artifact> {
        self.look(id)?;
        let artifact = Artifact::open(&self.link(id)).map_err(|error| missing(id, error))?;
        Ok(artifact.veiled(&self.known))
    }

    /// Where an artifact is stored, if not here, and what is known of it.
    pub fn stored_there(&self, id: u64) -> io::Result<Option<(StoredThere, Summary)>> {
        self.look(id)?;
        let record = ArtifactRecord::load(&self.link(id)).map_err(|error| missing(id, error))?;
        Ok((record.there.clone()).map(|there| (there, record.summary())))
    }

    /// Opens the artifact of the run with this id.
    pub fn open_run(&self, run: &str) -> io::Result<Artifact> {
        let artifact = Artifact::open(&self.directory_of(run))?;
        Ok(artifact.veiled(&self.known))
    }

    /// Where the run with this id has what is stored of it.
    pub(crate) fn directory_of(&self, run: &str) -> PathBuf {
        // An id is one name: whatever else it may be leads nowhere.
        let name = Path::new(run).file_name().unwrap_or_default();
        self.runs.join(name)
    }

    /// Whether somebody holds what is needed to store another, so that it may have to wait.
    pub(crate) fn is_held_up(&self) -> bool {
        counter::is_held(&self.links)
    }

    /// The path of a plain file with everything that is kept of an artifact, in order, with a line
    /// where something is missing. Using it makes the artifact young again.
    pub fn path(&self, id: u64) -> io::Result<PathBuf> {
        self.look(id)?;
        order::plain_file(&self.link(id)).map_err(|error| missing(id, error))
    }

    /// Removes an artifact. Its number is not reused.
    pub fn remove(&self, id: u64) -> io::Result<()> {
        let link = self.link(id);
        if let Ok(directory) = fs::canonicalize(&link) {
            keep::clear(&directory);
        }
        fs::remove_file(&link).map_err(|error| missing(id, error))
    }

    /// Removes links whose run was swept, then what is too old or too much.
    fn sweep(&self) -> io::Result<()> {
        spool::sweep(&self.runs, self.retention)?;
        for entry in fs::read_dir(&self.links)?.flatten() {
            let is_number = entry.file_name().to_str().map(str::parse::<u64>);
            if matches!(is_number, Some(Ok(_))) && !entry.path().exists() {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    fn link(&self, id: u64) -> PathBuf {
        self.links.join(id.to_string())
    }
}

/// The address of an artifact: `artifact://3`.
pub fn address(id: u64) -> String {
    format!("{SCHEME}{id}")
}

/// The number in `3` or `artifact://3`.
pub fn parse_id(text: &str) -> Option<u64> {
    let digits = text.strip_prefix(SCHEME).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

fn missing(id: u64, error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::NotFound {
        let text = format!("there is no artifact {id}");
        return io::Error::new(io::ErrorKind::NotFound, text);
    }
    error
}

/// Makes sure that this many more bytes may be written to a file of this `length`.
///
/// A write beyond `RLIMIT_FSIZE` would kill the host by SIGXFSZ, so the limit is checked first.
fn check_limit(length: u64, more: u64) -> io::Result<()> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_some_and(|limit| length.saturating_add(more) > limit) {
        return Err(rustix::io::Errno::FBIG.into());
    }
    Ok(())
}

/// What is wrong with the artifact in this directory, if anything.
pub(crate) fn check(directory: &Path, key: &SealKey) -> io::Result<Option<Unsealed>> {
    ArtifactRecord::check(directory, key)
}

/// Creates a directory accessible to its owner only.
fn prepare(directory: &Path) -> io::Result<()> {
    spool::prepare_runs_directory(directory)
}
