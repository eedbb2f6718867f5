//! The end of a job, delivered once: to the first of its owner's processes that asks.

use super::state::{self, Job};
use super::{BELL, Jobs, Whose, directory};
use crate::error::{Error, ErrorKind, Result};
use rustix::fs::inotify::{CreateFlags, WatchFlags};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// Pause after which it is looked without having been told: keepers that are killed ring no bell.
const LOOK_EVERY: Duration = Duration::from_secs(2);

impl Jobs {
    /// Says that its owner knows of a job's end. The first to say so is told that it was.
    pub fn acknowledge(&self, job: &Job) -> bool {
        let told = job.directory.join(directory::TOLD);
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(told)
            .is_ok()
    }

    /// Whether its owner knows of its end.
    pub fn is_acknowledged(&self, job: &Job) -> bool {
        job.directory.join(directory::TOLD).exists()
    }

    /// The owner's jobs that have ended and whose end nobody has been told; from now on somebody has.
    pub fn take_ended(&self, owner: &str) -> Vec<Job> {
        let untold = state::directories(&self.runs)
            .filter(|path| super::news::may_be_told(path))
            .filter_map(|path| Job::read(&path))
            .filter(|job| Whose::Owner(owner).may_see(job) && job.has_ended());
        untold.filter(|job| self.acknowledge(job)).collect()
    }

    /// The ends of this owner's jobs, as they come.
    pub fn completions(&self, owner: impl Into<String>) -> Result<Completions> {
        let failed = |error: rustix::io::Errno| {
            Error::io(ErrorKind::Job, "watch for the ends of jobs", error.into())
        };
        let _ = crate::output::spool::prepare_runs_directory(&self.runs);
        let bell = self.runs.join(BELL);
        let _ = fs::OpenOptions::new().append(true).create(true).open(&bell);
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let watch = rustix::fs::inotify::init(flags).map_err(failed)?;
        let events = WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE;
        rustix::fs::inotify::add_watch(&watch, &bell, events).map_err(failed)?;
        let watch = crate::exec::os::reactor::register(watch)
            .map_err(|error| Error::io(ErrorKind::Job, "watch for the ends of jobs", error))?;
        Ok(Completions {
            jobs: self.clone(),
            owner: owner.into(),
            watch,
        })
    }
}

/// The ends of an owner's jobs, each delivered to one watcher only.
#[derive(Debug)]
pub struct Completions {
    jobs: Jobs,
    owner: String,
    watch: AsyncFd<OwnedFd>,
}

impl Completions {
    /// Waits for the next jobs that have ended and whose end nobody was told.
    pub async fn next(&mut self) -> Vec<Job> {
        loop {
            let ended = self.jobs.take_ended(&self.owner);
            if !ended.is_empty() {
                return ended;
            }
            let _ = tokio::time::timeout(LOOK_EVERY, self.bell()).await;
        }
    }

    async fn bell(&self) {
        let Ok(mut ready) = self.watch.readable().await else {
            return std::future::pending().await;
        };
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = rustix::fs::inotify::Reader::new(self.watch.get_ref(), &mut space);
        while reader.next().is_ok() {}
        ready.clear_ready();
    }
}
