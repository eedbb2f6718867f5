//! A run whose keeper was killed: whoever finds it first ends what is left, and writes how it ended.
//!
//! The run's lock is free then, and is taken while this happens: nobody else does it meanwhile, and
//! others see the run as alive until it is settled.

use super::directory::{self, JobKind, JobStatus, Lost, Spec, StoredStream};
use super::end_line;
use super::roster::{ROSTER, Roster};
use crate::capture::Streams;
use crate::exit::Exit;
use crate::spool::{SpoolSegment, write_private};
use rustix::fs::FlockOperation;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Settles a run that has no keeper any more. Does nothing if it has one, if somebody else settles
/// it, or if there is nothing to settle. Returns whether it did something.
pub fn settle(path: &Path) -> io::Result<bool> {
    if !is_abandoned(path) {
        return Ok(false);
    }
    let lock = fs::File::open(path.join(directory::LOCK))?;
    // Readers hold it for a moment, and whoever settles it for a second at most.
    rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
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
    let left_behind = Roster::read(path).map_or_else(Vec::new, |roster| roster.end());
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
    directory::write_durably(path, directory::STATUS, &status)?;
    for name in [ROSTER, directory::WAITING, directory::CONTROL] {
        let _ = fs::remove_file(path.join(name));
    }
    if let Some(runs) = path.parent() {
        let _ = write_private(&runs.join(super::BELL), &[]);
    }
    drop(lock);
    Ok(true)
}

/// The status of a run of which nobody knows how it ended; also completes its output.
fn lost_status(path: &Path, spec: &Spec) -> io::Result<JobStatus> {
    let lost = Lost::of(spec);
    let streams = streams(path, spec);
    append_end_line(path, spec, lost)?;
    Ok(JobStatus {
        version: directory::VERSION,
        exit: Exit::Unknown,
        ended_by: None,
        ended_ms: directory::now_ms(),
        ran_for_us: directory::since_ms(spec.started_ms).as_micros() as u64,
        streams,
        terminal: spec.terminal,
        left_behind: Vec::new(),
        out_of_memory: false,
        lost: Some(lost),
    })
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

/// What its files have. How many lines, and what was beyond them, nobody knows any more.
fn streams(path: &Path, spec: &Spec) -> Vec<StoredStream> {
    let names: &[&str] = match spec.streams {
        Streams::Merged => &[directory::OUTPUT],
        Streams::Apart => &[directory::OUTPUT, directory::STDERR],
    };
    let stream = |name: &&str| {
        let size = fs::metadata(path.join(name)).map_or(0, |metadata| metadata.len());
        let bytes = size.min(spec.head_bytes);
        StoredStream {
            bytes,
            lines: 0,
            dropped: 0,
            segments: vec![SpoolSegment {
                from: 0,
                upto: bytes,
                at: 0,
            }],
        }
    };
    names.iter().map(stream).collect()
}

fn append_end_line(path: &Path, spec: &Spec, lost: Lost) -> io::Result<()> {
    let Some(lines) = &spec.end_lines else {
        return Ok(());
    };
    let line = end_line::lost_line(lines, lost.reason());
    for name in [directory::OUTPUT, directory::STDERR] {
        match fs::OpenOptions::new().append(true).open(path.join(name)) {
            Ok(mut file) => file.write_all(line.as_bytes())?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
