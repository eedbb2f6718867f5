//! The ledger: one record per call, appended to a file of JSON lines per month.
//!
//! Several processes share it without a lock. A record is one `write` to a file opened with
//! `O_APPEND`, so the kernel keeps records apart; a reader skips what is torn (a disk that filled
//! up in the middle of a line, a crash). There is no index and nothing to repair: any file may be
//! deleted at any time. The process that begins a new month removes old ones.
//!
//! A failing ledger never fails a call: [`Ledger::record`] reports it once and continues. The
//! format is described in `docs/ledger.md`.

mod entry;
mod month;
mod read;
mod record;
mod reverse_lines;
mod secrets;

pub(crate) use entry::LedgerEntry;
pub use jiff::Timestamp;
pub use read::{RecordQuery, Records, Which};
pub use record::{MinimizedOutput, Record, RecordedOutcome};

use bashd_keeper::seen_clock::SeenClock;
use month::Month;
use rustix::fs::{FileType, Mode, OFlags};
use secrets::Secrets;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What is recorded, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LedgerSettings {
    /// Whether anything is recorded at all.
    pub enabled: bool,
    /// How long after its end a month is kept; `None` means forever.
    pub retention: Option<Duration>,
    /// The longest command text of a record, in bytes.
    pub max_command_bytes: usize,
}

/// The ledger in one directory.
#[derive(Debug)]
pub struct Ledger {
    settings: LedgerSettings,
    directory: PathBuf,
    /// What is never written.
    secrets: Secrets,
    /// The directory that has the notes about the clock.
    clock: Option<PathBuf>,
    failure_said: AtomicBool,
}

impl Ledger {
    /// A ledger in `directory`, which is created with the first record.
    pub fn new(settings: LedgerSettings, directory: impl Into<PathBuf>) -> Self {
        Self {
            settings,
            directory: directory.into(),
            secrets: Secrets::default(),
            clock: None,
            failure_said: AtomicBool::new(false),
        }
    }

    /// Never writes the values that variables with secret names have here.
    pub(crate) fn hiding(mut self, env: &[(OsString, OsString)]) -> Self {
        self.secrets = Secrets::of(env);
        self
    }

    /// A text as it may be written.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        self.secrets.hide(text).into_owned()
    }

    /// Ignores jumps of the clock, which are noted in the directory of runs.
    pub(crate) fn watching_the_clock(mut self, runs: PathBuf) -> Self {
        self.clock = Some(runs);
        self
    }

    /// Appends a record, unless the ledger is disabled. Takes microseconds.
    pub fn append(&self, record: &Record) -> io::Result<()> {
        if !self.settings.enabled {
            return Ok(());
        }
        let line = record.to_line(self.settings.max_command_bytes)?;
        let month = Month::of(record.time);
        let file = self.open(&self.directory.join(month.file_name()))?;
        let length = check(&file, line.len() as u64)?;
        let written = rustix::io::retry_on_intr(|| rustix::io::write(&file, &line))?;
        if written < line.len() {
            let message = format!("only {written} of {} bytes could be written", line.len());
            return Err(io::Error::new(io::ErrorKind::WriteZero, message));
        }
        if length == 0 {
            // Only a new month can make an old one due. Failing to remove the old one is no
            // complaint about the record, which is written.
            let _ = self.sweep(record.time);
        }
        Ok(())
    }

    /// Appends a record; a failure is reported in a sentence the first time, and never again.
    pub fn record(&self, record: &Record) -> Option<String> {
        let error = self.append(record).err()?;
        if self.failure_said.swap(true, Ordering::Relaxed) {
            return None;
        }
        Some(format!(
            "the ledger in {} can't be written ({error}); calls continue unrecorded",
            self.directory.display()
        ))
    }

    /// Reads the records that `filter` wants, newest first.
    pub fn read(&self, filter: RecordQuery) -> io::Result<Records> {
        Records::open(&self.directory, filter)
    }

    /// Removes the months that ended longer ago than the retention; returns how many.
    pub fn sweep(&self, now: Timestamp) -> io::Result<usize> {
        let Some(retention) = self.settings.retention else {
            return Ok(0);
        };
        let clock = self.clock.as_deref().map(SeenClock::look);
        let mut removed = 0;
        for (month, path) in month::files(&self.directory)? {
            if month.ended_before(now, retention, clock.as_ref()) {
                fs::remove_file(path)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Opens a month's file, and creates it and the directory if they are missing.
    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        // NONBLOCK: a FIFO in the file's place must not hang a call. It has no effect on files.
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::CLOEXEC
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK;
        let mode = Mode::RUSR | Mode::WUSR;
        match rustix::fs::open(path, flags, mode) {
            Err(rustix::io::Errno::NOENT) => {
                fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(&self.directory)?;
                Ok(rustix::fs::open(path, flags, mode)?)
            }
            opened => Ok(opened?),
        }
    }
}

/// Refuses anything that is not an append to our own file; returns the file's length.
///
/// A write beyond `RLIMIT_FSIZE` would kill the host by SIGXFSZ, so the limit is checked first: the
/// library must not touch signal handlers.
fn check(file: &OwnedFd, more: u64) -> io::Result<u64> {
    let status = rustix::fs::fstat(file)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    let length = status.st_size as u64;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_some_and(|limit| length.saturating_add(more) > limit) {
        return Err(rustix::io::Errno::FBIG.into());
    }
    Ok(length)
}

#[cfg(test)]
mod tests;
