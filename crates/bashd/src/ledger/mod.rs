//! The ledger: one record per call, appended to a file of JSON lines per month.
//!
//! Several processes share it without a lock. A record is one `write` to a file opened with
//! `O_APPEND`, so the kernel keeps records apart; a reader skips what is torn (a disk that filled
//! up in the middle of a line, a crash). There is nothing to repair: any file may be deleted at any
//! time. The process that begins a new month removes old ones. An index beside it (`index`) only
//! finds faster what is here.
//!
//! A failing ledger never fails a call: [`Ledger::record`] reports it once and continues. The
//! format is described in `docs/ledger.md`.

mod chain;
mod entry;
#[cfg(feature = "index")]
pub mod index;
mod month;
pub(crate) mod outlasting;
mod query;
mod read;
pub(crate) mod record;
mod reverse_lines;
mod sums;
mod verify;

pub(crate) use entry::LedgerEntry;
pub use jiff::Timestamp;
pub use query::{RecordQuery, Which};
pub use read::Records;
pub use record::{LeftProcess, MinimizedOutput, Record, RecordedObjection, RecordedOutcome};
pub use sums::{CallSum, LedgerSums};
pub(crate) use verify::LedgerState;

use crate::appending;
use crate::secrets::{KnownSecrets, Secrets};
use bashd_keeper::seal::SealKey;
use bashd_keeper::seen_clock::SeenClock;
use chain::Chain;
use month::Month;
use record::ChainMark;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
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
    known: KnownSecrets,
    /// The directory that has the notes about the clock.
    clock: Option<PathBuf>,
    /// What the records of this process are part of.
    chain: Option<Chain>,
    /// Who else is told of every record.
    listener: Option<RecordListener>,
    failure_said: AtomicBool,
}

/// Somebody who is told of the record of every call, whether or not it is written. It must not
/// wait: calls wait for it.
#[derive(Clone)]
pub struct RecordListener(pub Arc<dyn Fn(&Record) + Send + Sync>);

impl std::fmt::Debug for RecordListener {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("RecordListener")
    }
}

impl Ledger {
    /// A ledger in `directory`, which is created with the first record.
    pub fn new(settings: LedgerSettings, directory: impl Into<PathBuf>) -> Self {
        Self {
            settings,
            directory: directory.into(),
            known: KnownSecrets::default(),
            clock: None,
            chain: None,
            listener: None,
            failure_said: AtomicBool::new(false),
        }
    }

    /// Never writes what is known here to be secret.
    pub(crate) fn hiding(mut self, known: KnownSecrets) -> Self {
        self.known = known;
        self
    }

    /// What it never writes, nor may any other record of the engine.
    pub(crate) fn secrets(&self) -> Arc<Secrets> {
        self.known.now()
    }

    /// Ignores jumps of the clock, which are noted in the directory of runs.
    pub(crate) fn watching_the_clock(mut self, runs: PathBuf) -> Self {
        self.clock = Some(runs);
        self
    }

    /// Tells somebody else of every record, too.
    pub(crate) fn telling(mut self, listener: Option<RecordListener>) -> Self {
        self.listener = listener;
        self
    }

    /// Makes a chain of what is recorded from now on, under the key of this state directory.
    pub(crate) fn chained(mut self, state: PathBuf) -> Self {
        self.chain = Some(Chain::of(state));
        self
    }

    /// Appends a record, unless the ledger is disabled. Takes microseconds.
    pub fn append(&self, record: &Record) -> io::Result<()> {
        if let Some(RecordListener(tell)) = &self.listener {
            tell(record);
        }
        if !self.settings.enabled {
            return Ok(());
        }
        let month = Month::of(record.time);
        match &self.chain {
            Some(chain) => chain.extend(&self.directory, month, |mark| self.write(record, mark)),
            None => self.write(record, None).map(drop),
        }
    }

    /// Writes a line; returns it.
    fn write(&self, record: &Record, mark: Option<ChainMark>) -> io::Result<Vec<u8>> {
        let line = record.to_line(self.settings.max_command_bytes, mark)?;
        let month = Month::of(record.time);
        let file = appending::open(&self.directory.join(month.file_name()))?;
        let before = appending::check(&file, line.len() as u64)?;
        appending::write(&file, &line)?;
        if before.length == 0 {
            // Only a new month can make an old one due. Failing to remove the old one is no
            // complaint about the record, which is written.
            let _ = self.sweep(record.time);
        }
        Ok(line)
    }

    /// Whether every record is there as it was written.
    pub(crate) fn verify(&self, key: &SealKey) -> io::Result<LedgerState> {
        LedgerState::look(&self.directory, key)
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
                let _ = fs::remove_file(self.directory.join(month.chains_name()));
                removed += 1;
            }
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests;
