//! An artifact as one plain file, for programs that read files: `cat artifact://3`.
//!
//! Most already are. For a longer one the parts are put in order after the first, with a line where
//! something is missing; then the record says so, and the other files are removed. Processes that
//! read the artifact meanwhile have the old files open. A crash on the way leaves the old record
//! valid.

use super::keep::{append, append_gap};
use super::reader::Artifact;
use super::record::{ArtifactFile, ArtifactPart, ArtifactRecord};
use crate::output::{Source, StreamPiece};
use bashd_keeper::file_lock::{LockKind, lock_within};
use bashd_keeper::spool::open_to_read;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Bytes of one read.
const BLOCK: u64 = 1024 * 1024;

/// How long the lock is waited for: another process may do the same.
const PATIENCE: Duration = Duration::from_secs(10);

/// Turns the artifact of a directory into one file; returns its path.
pub(super) fn plain_file(directory: &Path) -> io::Result<PathBuf> {
    let directory = fs::canonicalize(directory)?;
    let path = directory.join(ArtifactFile::Head.file());
    let is_plain = |record: &ArtifactRecord| {
        let mut parts = record.parts.iter();
        parts.all(|part| part.place == ArtifactFile::Head) && tells_its_end(record, &path)
    };
    if !is_plain(&ArtifactRecord::load(&directory)?) {
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        lock_within(&file, LockKind::Exclusive, PATIENCE)?;
        // Somebody else may have done it while we waited.
        let record = ArtifactRecord::load(&directory)?;
        if !is_plain(&record) {
            put_in_order(&directory, &file, record)?;
        }
    }
    // A command that reads anything else in its place would wait, or see something else.
    let file = open_to_read(&path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    // Young again: what a command is about to read must not be removed next.
    let _ = file.set_modified(SystemTime::now());
    Ok(path)
}

/// Whether a file goes on after what is kept, where the end of the output is not: it says so there.
fn tells_its_end(record: &ArtifactRecord, path: &Path) -> bool {
    let last = record.parts.last();
    let kept = last.map_or(0, |part| part.at + part.bytes);
    let is_whole = last.map_or(0, ArtifactPart::end) == record.bytes;
    is_whole || fs::metadata(path).is_ok_and(|found| found.len() > kept)
}

fn put_in_order(directory: &Path, file: &File, mut record: ArtifactRecord) -> io::Result<()> {
    let artifact = Artifact::open(directory)?;
    // A disk that was full from the first byte has nothing there: the beginning is elsewhere.
    let in_place = |part: &&ArtifactPart| part.from == 0 && part.place == ArtifactFile::Head;
    let first = artifact.parts().first().filter(in_place);
    let mut end = first.map_or(0, |part| part.bytes);
    let mut offset = end;
    let mut parts: Vec<ArtifactPart> = first.cloned().into_iter().collect();
    while offset < record.bytes {
        for piece in artifact.read(offset..(offset + BLOCK).min(record.bytes))? {
            match piece {
                StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => {
                    offset += count;
                }
                StreamPiece::Kept(bytes) => {
                    let count = bytes.len() as u64;
                    match parts.last_mut() {
                        Some(part) if part.end() == offset => part.bytes += count,
                        last => {
                            let missing = offset - last.map_or(0, |part| part.end());
                            end = append_gap(file, end, missing)?;
                            parts.push(ArtifactPart {
                                from: offset,
                                bytes: count,
                                place: ArtifactFile::Head,
                                at: end,
                            });
                        }
                    }
                    append(file, end, &bytes)?;
                    end += count;
                    offset += count;
                }
            }
        }
    }
    let missing = record.bytes - parts.last().map_or(0, ArtifactPart::end);
    end = append_gap(file, end, missing)?;
    file.set_len(end)?;
    record.parts = parts;
    record.store(directory)?;
    for place in [ArtifactFile::Tail, ArtifactFile::Rest] {
        let _ = fs::remove_file(directory.join(place.file()));
    }
    Ok(())
}
