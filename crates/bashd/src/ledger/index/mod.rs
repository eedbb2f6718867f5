//! An index of the ledger, with which a million records are searched at once.
//!
//! The ledger stays the truth: the index only says where in its files the records are, and what is
//! found is read from there and compared again. So it may be deleted at any time, and whatever is
//! wrong with it (another version, a damaged file, a month that was replaced) has it made again.
//! It is a `SQLite` database beside the ledger's files, which any number of processes share: who
//! looks catches up first.
//!
//! `store` is the database, `fill` reads what is new, `search` finds.

mod fill;
mod search;
mod store;
#[cfg(test)]
mod tests;

pub use fill::IndexProgress;
pub use search::FoundRecords;

use super::month::Month;
use super::sums::{CallSum, LedgerSums, SumKey, hour_of};
use crate::config::Config;
use crate::profile::library::Library;
use jiff::Timestamp;
use rusqlite::Connection;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Bits of a record's place that are its offset in the file of its month.
const OFFSET_BITS: u32 = 40;

/// An index of the ledger in one directory.
pub struct LedgerIndex {
    directory: PathBuf,
    connection: Connection,
    /// Which file that is: another may come into its place.
    inode: u64,
    library: Library,
}

impl fmt::Debug for LedgerIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LedgerIndex")
            .finish_non_exhaustive()
    }
}

impl LedgerIndex {
    /// The index of this configuration's ledger. An unusable one is begun again.
    pub fn open(config: &Config) -> io::Result<Self> {
        let library = Library::new(config.profiles_dir.clone());
        let library = library.showing_of_the_start(config.head_bytes);
        Self::in_directory(&config.ledger_dir(), library)
    }

    fn in_directory(directory: &Path, library: Library) -> io::Result<Self> {
        let connection = store::open(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
            connection,
            inode: store::inode(directory)?,
            library,
        })
    }

    /// Calls that came in at these times, added up.
    pub fn sums(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> io::Result<LedgerSums> {
        let first = since.map_or(i64::MIN, hour_of);
        // An hour that has begun counts as a whole.
        let last = until.map_or(i64::MAX, |until| {
            hour_of(until - jiff::SignedDuration::from_millis(1))
        });
        let mut sums = LedgerSums::default();
        let mut add = || {
            let mut asked = self.connection.prepare_cached(
                "SELECT hour, o.name, c.name, sum(calls), sum(failed), sum(wall), sum(bytes),
                 sum(saved) FROM sums JOIN names o ON o.id = owner JOIN names c ON c.id = command
                 WHERE hour BETWEEN ?1 AND ?2 GROUP BY hour, owner, command",
            )?;
            let mut rows = asked.query((first, last))?;
            while let Some(row) = rows.next()? {
                let number = |column: usize| {
                    Ok::<u64, rusqlite::Error>(row.get::<_, i64>(column)?.cast_unsigned())
                };
                let key = SumKey {
                    hour: row.get(0)?,
                    owner: row.get(1)?,
                    command: row.get(2)?,
                };
                let sum = CallSum {
                    calls: number(3)?,
                    failed: number(4)?,
                    wall_ms: number(5)?,
                    output_bytes: number(6)?,
                    saved_bytes: row.get(7)?,
                };
                sums.add(key, sum);
            }
            Ok(())
        };
        add().map_err(store::failed)?;
        Ok(sums)
    }

    /// Fails if another index is where this one was.
    fn check_name(&self) -> io::Result<()> {
        if store::inode(&self.directory).ok() == Some(self.inode) {
            return Ok(());
        }
        Err(io::Error::other("the index was removed or made again"))
    }
}

/// Most bytes that a profile shows of an output.
pub(super) fn window_of(library: &Library, profile: &str) -> u64 {
    let profile = library.get(profile);
    profile.map_or(u64::MAX, |profile| profile.output.window.max as u64)
}

/// Where a record is: the later in the ledger, the larger.
fn place(month: Month, offset: u64) -> i64 {
    (month.number() << OFFSET_BITS) | offset.cast_signed()
}

/// The month and the offset in its file.
fn parts_of(place: i64) -> (i64, u64) {
    let offset = place & ((1 << OFFSET_BITS) - 1);
    (place >> OFFSET_BITS, offset.cast_unsigned())
}
