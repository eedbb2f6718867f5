//! Finding jobs again whose directories were removed while they ran.

use super::directory::{CONTROL, LOCK, OUTPUT, SPEC};
use crate::keeper::job_messages::AttachMessage;
use crate::keeper::protocol;
use crate::runtime;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What the own directory of a job's keeper begins with.
pub(crate) const KIND: &str = "job-";

/// The link in it to the job's directory.
pub(crate) const RUN: &str = "run";

/// How long a keeper may take to make its directory again.
const BOUND: Timespec = Timespec {
    tv_sec: 2,
    tv_nsec: 0,
};

/// Whether there are such keepers. Waits for nobody.
pub fn misses_some(runs: &Path) -> bool {
    missed(runs).next().is_some()
}

/// Has every keeper whose job's directory below `runs` is gone, or incomplete, make it again;
/// returns how many did.
pub fn recall(runs: &Path) -> usize {
    missed(runs).filter(|(own, job)| ask(own, job)).count()
}

/// The own directory of each keeper that is missed, and its job's.
fn missed(runs: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    let state = runs.parent().unwrap_or(runs);
    let places = runtime::existing(state).into_iter();
    let entries = places.flat_map(|place| fs::read_dir(place).into_iter().flatten().flatten());
    let own = entries.filter(|entry| entry.file_name().as_bytes().starts_with(KIND.as_bytes()));
    own.filter_map(|entry| is_missed(&entry.path(), runs).map(|job| (entry.path(), job)))
}

/// Whether the directory of a job that runs lacks something by which others know and reach it.
/// Without its lock it would count as lost, and be ended.
pub(crate) fn is_incomplete(job: &Path) -> bool {
    let needed = [SPEC, LOCK, CONTROL, OUTPUT];
    needed.iter().any(|name| !job.join(name).exists())
}

/// The job's directory, if it should be below `runs` and is not, or not all of it.
fn is_missed(own: &Path, runs: &Path) -> Option<PathBuf> {
    let job = fs::read_link(own.join(RUN)).ok()?;
    let is_gone = job.parent() == Some(runs) && is_incomplete(&job);
    (is_gone && runtime::is_held(own)).then_some(job)
}

/// Speaks to a keeper; whether its directory is whole then.
fn ask(own: &Path, job: &Path) -> bool {
    speak_to(own).is_ok() && !is_incomplete(job)
}

fn speak_to(own: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(own, flags, Mode::empty())?;
    let address = format!("/proc/self/fd/{}/{CONTROL}", folder.as_raw_fd());
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(address)?)?;
    protocol::send(&socket, &AttachMessage {}, &[])?;
    let mut answer = [PollFd::new(&socket, PollFlags::IN)];
    rustix::event::poll(&mut answer, Some(&BOUND))?;
    Ok(())
}
