//! A run whose keeper was killed: the first process that finds it ends what is left of it, and
//! writes how it ended.
//!
//! The run's lock is free then, and is taken while this happens: nobody else does it meanwhile, and
//! others see the run as alive until it is settled.

use super::directory::{self, JobKind, JobStatus, Lost, Spec, StoredStream};
use super::end_line;
use super::roster::{ROSTER, Roster};
use crate::capture::Streams;
use crate::exit::Exit;
use crate::file_lock::{LockKind, lock_within};
use crate::left_behind::LeftBehind;
use crate::spool::{SpoolSegment, open_to_read, write_private};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// How long the lock of a run that has no keeper is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Settles a run that has no keeper any more. Does nothing if it has one, if somebody else settles
/// it, or if there is nothing to settle. Returns whether it did something.
pub fn settle(path: &Path) -> io::Result<bool> {
    if !is_abandoned(path) {
        return Ok(false);
    }
    let lock = open_to_read(&path.join(directory::LOCK))?;
    // Readers hold it for a moment, and a process that settles the run for a second at most. Who
    // holds it for longer was stopped, or means no good: the next look tries again.
    lock_within(&lock, LockKind::Exclusive, PATIENCE)?;
    // Somebody may have done it since we looked.
    if !needs_settling(path) {
        return Ok(false);
    }
    let Some(spec) = directory::read::<Spec>(path, directory::SPEC) else {
        return Ok(false);
    };
    if spec.version > directory::VERSION {
        return Ok(false);
    }
    let left_behind = end_processes(path);
    if spec.kind == JobKind::Foreground {
        // Its call is told what happened; nobody looks for it here.
        fs::remove_dir_all(path)?;
        return Ok(true);
    }
    let status = match directory::read::<JobStatus>(path, directory::STATUS) {
        // Its shell had ended before: what is lost is the keeper of what it left running.
        Some(status) => status,
        None => lost_status(path, &spec)?,
    };
    let status = JobStatus {
        left_behind,
        ..status
    };
    directory::write_sealed(path, directory::STATUS, &status)?;
    for name in [ROSTER, directory::WAITING, directory::CONTROL] {
        let _ = fs::remove_file(path.join(name));
    }
    if let Some(runs) = path.parent() {
        let _ = write_private(&runs.join(super::BELL), &[]);
    }
    drop(lock);
    Ok(true)
}

/// Ends what lives of a run that has no keeper any more. Returns what could not be ended.
pub fn end_processes(path: &Path) -> Vec<LeftBehind> {
    let roster = Roster::read(path).unwrap_or_else(Roster::unwritten);
    roster.end(path.file_name().unwrap_or_default())
}

/// The status of a run of which nobody knows how it ended; also completes its output.
fn lost_status(path: &Path, spec: &Spec) -> io::Result<JobStatus> {
    let lost = Lost::of(spec);
    let line = spec.end_lines.as_ref();
    let line = line.map_or_else(String::new, |lines| {
        end_line::lost_line(lines, lost.reason())
    });
    let names: &[&str] = match spec.streams {
        Streams::Merged => &[directory::OUTPUT],
        Streams::Apart => &[directory::OUTPUT, directory::STDERR],
    };
    let streams = names
        .iter()
        .map(|name| completed(&path.join(name), &line, spec.head_bytes));
    Ok(JobStatus {
        version: directory::VERSION,
        exit: Exit::Unknown,
        ended_by: None,
        ended_ms: directory::now_ms(),
        ran_for_us: directory::since_ms(spec.started_ms).as_micros() as u64,
        streams: streams.collect::<io::Result<_>>()?,
        terminal: spec.terminal,
        left_behind: Vec::new(),
        out_of_memory: false,
        dealings: None,
        lost: Some(lost),
    })
}

/// Appends the end line to an output file, unless somebody got as far as that before, and says what
/// the command wrote. Nobody knows any more how many lines, and what was beyond the file.
fn completed(path: &Path, line: &str, head_bytes: u64) -> io::Result<StoredStream> {
    let mut file = match fs::OpenOptions::new().read(true).append(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(StoredStream::default()),
        Err(error) => return Err(error),
    };
    let size = file.metadata()?.len();
    let before = size.saturating_sub(line.len() as u64);
    let mut end = vec![0; (size - before) as usize];
    file.read_exact_at(&mut end, before)?;
    let is_there = end == line.as_bytes();
    if !is_there {
        file.write_all(line.as_bytes())?;
    }
    let bytes = if is_there { before } else { size }.min(head_bytes);
    Ok(StoredStream {
        bytes,
        lines: 0,
        dropped: 0,
        segments: vec![SpoolSegment {
            from: 0,
            upto: bytes,
            at: 0,
        }],
    })
}

/// Settles every run of this directory that has no keeper any more.
pub fn settle_all(runs: &Path) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let _ = settle(&entry.path());
    }
}

/// Settles the runs of a keeper that was killed, among all of this directory.
pub fn settle_those_of(keeper: i32, runs: &Path) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_its = || {
            let spec: Option<Spec> = directory::read(&path, directory::SPEC);
            spec.is_some_and(|spec| spec.keeper == keeper)
        };
        if needs_settling(&path) && is_its() {
            let _ = settle(&path);
        }
    }
}

/// Whether a run has something that only a keeper would have written away, and has no keeper.
pub fn is_abandoned(path: &Path) -> bool {
    needs_settling(path) && !directory::is_alive(path)
}

fn needs_settling(path: &Path) -> bool {
    path.join(ROSTER).exists()
        || path.join(directory::SPEC).exists() && !path.join(directory::STATUS).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_completed_once_however_often_it_is_tried() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("output");
        fs::write(&path, "begun\n").unwrap();
        for _ in 0..3 {
            let stream = completed(&path, "\n[lost]\n", 100).unwrap();
            assert_eq!((stream.bytes, stream.kept()), (6, 6));
            assert_eq!(fs::read_to_string(&path).unwrap(), "begun\n\n[lost]\n");
        }
        assert_eq!(completed(&path, "", 4).unwrap().bytes, 4);
        let missing = completed(&place.path().join("stderr"), "x", 4).unwrap();
        assert_eq!(missing, StoredStream::default());
    }
}
