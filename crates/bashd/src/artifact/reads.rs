//! Who read stored output again: a line for each time, kept beside the ledger and longer than the
//! artifact.
//!
//! What a model reads of the raw output of a minimized call is a cost of minimizing it, so it is
//! counted. It does not belong in the ledger: reading runs no command.

use super::ArtifactStore;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A longer file becomes the old one, and the previous old one is removed.
const LONGEST: u64 = 1024 * 1024;

/// The file's name, and that of the one before it.
const NAMES: [&str; 2] = ["reads.jsonl", "reads.old.jsonl"];

/// A part of an artifact that somebody read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Read {
    /// When, in milliseconds since 1970.
    pub time_ms: u64,
    /// The artifact's number.
    pub artifact: u64,
    /// Bytes of text that were shown.
    pub bytes: u64,
}

impl ArtifactStore {
    /// Records that this many bytes of an artifact were shown. A failure is ignored.
    pub fn note_read(&self, artifact: u64, bytes: usize) {
        let Some(directory) = &self.reads else { return };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let read = Read {
            time_ms: now.unwrap_or_default().as_millis() as u64,
            artifact,
            bytes: bytes as u64,
        };
        let _ = append(directory, &read);
    }

    /// Every recorded read.
    pub fn reads(&self) -> io::Result<Vec<Read>> {
        let mut reads = Vec::new();
        for path in self.reads.iter().flat_map(|directory| paths(directory)) {
            let file = match fs::File::open(path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for line in io::BufReader::new(file).lines() {
                // A torn line is not a read.
                reads.extend(serde_json::from_str::<Read>(&line?).ok());
            }
        }
        Ok(reads)
    }
}

fn paths(directory: &Path) -> [PathBuf; 2] {
    NAMES.map(|name| directory.join(name))
}

fn append(directory: &Path, read: &Read) -> io::Result<()> {
    let mut line = serde_json::to_vec(read)?;
    line.push(b'\n');
    let [path, old] = paths(directory);
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() >= LONGEST) {
        fs::rename(&path, old)?;
    }
    super::check_limit(LONGEST, line.len() as u64)?;
    let flags =
        OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::open(path, flags | OFlags::NONBLOCK, Mode::RUSR | Mode::WUSR)?;
    rustix::io::write(&file, &line)?;
    Ok(())
}
