//! The spool of one stream: where a run's output is kept while it runs and after.
//!
//! A spool has a *head*, a plain append-only file with the first bytes of the stream, and a *ring*
//! for the last ones, made when the head is full. The keeper writes (`SpoolWriter`); anybody who
//! has the descriptors reads any range at any time ([`SpoolReader`]). Offsets are those of the
//! original stream, so a reader says "dropped" for what the ring has overwritten, and never shows
//! zero bytes.
//!
//! Stream offset `o` is in the head file at `o` if `o < head`, otherwise in the ring at
//! `(o - head) mod ring`. If the disk refuses a byte (full, read-only, over a limit), nothing more
//! is written to it: the stream is still read and counted, and its last 64 KiB stay in memory for
//! the reply.
//!
//! Both files are anonymous (`O_TMPFILE`): a killed keeper leaves nothing behind. If the file
//! system does not support that, they have names: the keeper unlinks them, and a sweep removes
//! those that are no longer locked.

mod index;
mod reader;
mod retention;
mod segment;
mod storage;
#[cfg(test)]
mod tests;
mod times;
mod writer;

pub use index::{LineIndex, STEP};
pub use reader::Ring;
pub use reader::SpoolReader;
pub use retention::Retention;
pub use retention::{sweep, sweep_if_due, sweep_soon};
pub use segment::{SegmentedFile, SpoolSegment};
pub use storage::{
    NEVER_WAITS, link_descriptor, open_to_read, prepare_runs_directory, read_small, write_private,
};
pub use times::{
    StoredTimes, StreamMoment, StreamMomentKind, TIMES, TimesHeader, TimesOfStream, moments,
};
pub use writer::SpoolWriter;

use crate::capture::Quota;
use std::path::PathBuf;

/// Where and how long output is stored: a keeper's slice of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Storage {
    /// The directory of all runs.
    pub runs: PathBuf,
    /// What is kept of one run, unless its plan says otherwise.
    pub quota: Quota,
    /// What is kept of all runs together.
    pub retention: Retention,
}

/// Bytes that stay in memory if the disk does not take them.
pub const MEMORY_TAIL: u64 = 64 * 1024;

/// Where the memory tail begins in the counter page's file.
const MEMORY_TAIL_AT: u64 = crate::os::counters::PAGE_BYTES as u64;

/// Where the line index begins in the counter page's file.
const INDEX_AT: u64 = MEMORY_TAIL_AT + MEMORY_TAIL;
