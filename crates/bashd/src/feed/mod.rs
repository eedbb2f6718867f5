//! The feed: what all bashd processes of this user do, as it happens.
//!
//! Every call is told when it comes in, when it waits for a person, and when it has its reply. The
//! ledger is the record; the feed is for those who watch: it holds the last few thousand calls,
//! costs a call a few microseconds, and may be deleted at any time. Two files of JSON lines in the
//! directory `feed`: writers append to `now.jsonl`, and who finds it full makes it `before.jsonl`.
//! A file begins with a line that says its number, so a place in the feed has a name that holds
//! for as long as the file does ([`FeedPlace`]). The format is described in `docs/feed.md`.

mod event;
mod reader;

pub use event::{AskedEffects, CallAsks, CallBegun, CallEnded, CallPlaced, FeedEvent, FeedRecord};
pub(crate) use event::{LONGEST_COMMAND, LONGEST_REASON};
pub use reader::{FeedBatch, FeedPlace, FeedReader};

use crate::appending;
use jiff::Timestamp;
use rustix::fs::FlockOperation;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Bytes after which a file is full: a few thousand calls.
const FULL: u64 = 2 << 20;

/// The file to which events are appended.
const NOW: &str = "now.jsonl";

/// The one before it.
const BEFORE: &str = "before.jsonl";

/// Held by the process that begins a new file.
const LOCK: &str = "lock";

/// The feed of one state directory, to write to.
#[derive(Debug)]
pub struct Feed {
    directory: PathBuf,
    is_on: bool,
    full: u64,
    /// The newest file, as far as this process knows.
    file: Mutex<Option<OwnedFd>>,
}

impl Feed {
    /// The feed in this directory, which is created with the first event.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            is_on: true,
            full: FULL,
            file: Mutex::new(None),
        }
    }

    /// Whether calls are told.
    #[must_use]
    pub(crate) fn switched(mut self, is_on: bool) -> Self {
        self.is_on = is_on;
        self
    }

    /// Says what happened. A feed that can't be written is no reason to fail, or to say more than
    /// the ledger beside it does.
    pub fn tell(&self, record: &FeedRecord) {
        let _ = self.append(record);
    }

    /// Likewise, if it is switched on.
    pub(crate) fn tell_with(&self, record: impl FnOnce() -> FeedRecord) {
        if self.is_on {
            self.tell(&record());
        }
    }

    fn append(&self, record: &FeedRecord) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // Twice: the file may have been full, or removed, and then there is another.
        for _ in 0..2 {
            let file = match slot.take() {
                Some(file) => file,
                None => self.open()?,
            };
            let before = appending::check(&file, line.len() as u64)?;
            let has_room = before.length < self.full;
            if before.is_named && (has_room || self.begin_another(&file)? == NextFile::NotYet) {
                appending::write(&file, &line)?;
                *slot = Some(file);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Opens the newest file, and begins one if there is none.
    fn open(&self) -> io::Result<OwnedFd> {
        let path = self.directory.join(NOW);
        if !path.exists() {
            self.begin()?;
        }
        appending::open(&path)
    }

    /// Puts a file with its first line in place, whole, unless another process was faster.
    fn begin(&self) -> io::Result<()> {
        appending::make_directory(&self.directory)?;
        let now = Timestamp::now().as_microsecond();
        let begun = self.directory.join(format!(
            "begun-{}-{now}",
            rustix::process::getpid().as_raw_nonzero()
        ));
        let first = reader::first_line(now);
        bashd_keeper::spool::write_private(&begun, first.as_bytes())?;
        let linked = fs::hard_link(&begun, self.directory.join(NOW));
        fs::remove_file(&begun)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes a full file the one before, unless another process has, or is about to: a stopped one
    /// must not keep anybody waiting.
    fn begin_another(&self, full: &OwnedFd) -> io::Result<NextFile> {
        let lock = appending::open(&self.directory.join(LOCK))?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(NextFile::NotYet);
        }
        let now = self.directory.join(NOW);
        if is_same(full, &now)? {
            fs::rename(&now, self.directory.join(BEFORE))?;
        }
        Ok(NextFile::Begun)
    }
}

/// Whether there is a new file after a full one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextFile {
    Begun,
    NotYet,
}

/// Whether a file is the one that this name stands for.
fn is_same(file: &OwnedFd, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let held = rustix::fs::fstat(file)?;
    Ok(fs::symlink_metadata(path)
        .is_ok_and(|named| named.ino() == held.st_ino && named.dev() == held.st_dev))
}

#[cfg(test)]
mod tests;
