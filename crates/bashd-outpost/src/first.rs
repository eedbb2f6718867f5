//! The first process of a container or pod of our own, with the outpost below it.
//!
//! Its stdin and stdout are the first carrier. It reaps what others leave, ends with the outpost,
//! which leaves after an idle time, and gives all processes time to end when it is told to.

use super::{OutpostWork, pass_on, reach, state_dirs};
use bashd::outpost::{self, NOBODY_HERE};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// How long an outpost may take to be there for those who join it.
const APPEARS: Duration = Duration::from_secs(15);

/// The same where there was one before: in what is lent nobody starts another.
const APPEARS_AGAIN: Duration = Duration::from_secs(2);

/// Pause between two looks for it.
const LOOK: Duration = Duration::from_millis(10);

/// What processes get between the request to end and the end; podman and docker wait for 10 s.
pub(super) const GRACE: Duration = Duration::from_secs(8);

/// Reaches the outpost that the first process started, or is about to start.
pub(super) fn join(work: &OutpostWork) -> io::Result<UnixStream> {
    let begun = Instant::now();
    loop {
        for state in state_dirs(work) {
            if let Ok(stream) = outpost::join(&state.join("outpost"), work.build.as_deref()) {
                return Ok(stream);
            }
        }
        let own = work.state_dir.as_ref().filter(|_| work.leased);
        let was_here = own.is_some_and(|state| outpost::was_here(&state.join("outpost")));
        if begun.elapsed() > if was_here { APPEARS_AGAIN } else { APPEARS } {
            let why = if was_here {
                "it has ended"
            } else {
                "the first process started none"
            };
            return Err(io::Error::other(format!("{NOBODY_HERE}: {why}")));
        }
        thread::sleep(LOOK);
    }
}

/// Is that process.
pub(super) fn hold(work: &OutpostWork) -> io::Result<()> {
    // Also where something else is the first one.
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
    let mut building = tokio::runtime::Builder::new_current_thread();
    let runtime = building.enable_all().build()?;
    runtime.block_on(async {
        let mut told = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        let mut children = signal(SignalKind::child())?;
        let stream = reach(work)?;
        thread::Builder::new().spawn(move || pass_on(&stream))?;
        let mut until: Option<tokio::time::Instant> = None;
        // A child may have ended before anybody listened.
        while has_children() {
            let late = until.unwrap_or_else(|| tokio::time::Instant::now() + GRACE);
            tokio::select! {
                _ = children.recv() => {}
                _ = told.recv() => until = Some(end_all(until)),
                _ = interrupted.recv() => until = Some(end_all(until)),
                () = tokio::time::sleep_until(late), if until.is_some() => break,
            }
        }
        match until {
            // That is no success, and whoever keeps us shows its status.
            Some(_) => Err(io::Error::other("it was told to end")),
            None => Ok(()),
        }
    })
}

/// Asks all processes to end; until when they have time.
fn end_all(until: Option<tokio::time::Instant>) -> tokio::time::Instant {
    let own = getpid();
    // Only here are all others ours.
    if own.is_init() {
        let found = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = found.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for pid in pids.filter_map(Pid::from_raw).filter(|pid| *pid != own) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
    until.unwrap_or_else(|| tokio::time::Instant::now() + GRACE)
}

/// Reaps those that have ended; whether any is left.
pub(super) fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
