//! The end of a job, delivered once: to the first of its owner's processes that asks and can pass
//! it on.
//!
//! A delivery holds a lock in the job's directory while it is in progress, so nobody else begins
//! one; if its process dies, the kernel releases the lock. A delivery is recorded for good only
//! once the end was passed on. A failed one is retried, here after a pause (`retry`), or by any
//! other process of the owner.

use super::retry::Attempts;
use super::state::{self, Job};
use super::{JobKind, Jobs, directory, news};
use crate::error::{Error, ErrorKind, Result};
use bashd_keeper::job::BELL;
use bashd_keeper::spool::NEVER_WAITS;
use rustix::fs::inotify::{CreateFlags, WatchFlags};
use std::collections::HashSet;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

/// Interval for checking without a notification: keepers that are killed ring no bell.
const LOOK_EVERY: Duration = Duration::from_secs(2);

impl Jobs {
    /// Records that the owner knows of a job's end. Returns whether this was the first time.
    pub fn acknowledge(&self, job: &Job) -> bool {
        let told = job.directory.join(directory::TOLD);
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(told)
            .is_ok()
    }

    /// Whether its owner knows of its end.
    pub fn is_acknowledged(&self, job: &Job) -> bool {
        job.directory.join(directory::TOLD).exists()
    }

    /// The owner's ended jobs that nobody has been told about; from now on they count as told.
    pub fn take_ended(&self, owner: &str) -> Vec<Job> {
        let untold = self.untold(owner).into_iter();
        let told = untold.filter(|untold| self.acknowledge(&untold.job));
        told.map(|untold| untold.job).collect()
    }

    /// The owner's ended jobs that nobody has been told about, except the one of this reply,
    /// for callers that may fail to pass them on; `None` if there are none.
    pub fn ended(&self, owner: &str, but_for: Option<&str>) -> Option<Delivery> {
        let mut untold = self.untold(owner);
        untold.retain(|untold| Some(untold.job.id.as_str()) != but_for);
        (!untold.is_empty()).then(|| Delivery::new(self, untold, &Arc::default()))
    }

    /// The owner's ended jobs that nobody has been told about; nobody else is told while these are
    /// held.
    fn untold(&self, owner: &str) -> Vec<Untold> {
        let ended = self.untold_jobs(owner).into_iter();
        let reserved = ended.filter_map(|job| {
            let reserved = news::reserve(&job.directory)?;
            // The previous holder may just have told.
            (!self.is_acknowledged(&job)).then_some(Untold { job, reserved })
        });
        reserved.collect()
    }

    fn untold_jobs(&self, owner: &str) -> Vec<Job> {
        let is_own = |job: &Job| job.owner == owner && job.kind != JobKind::Foreground;
        state::directories(&self.runs)
            .filter(|path| !path.join(directory::TOLD).exists() && directory::has_ended(path))
            .filter_map(|path| self.read(&path))
            .filter(|job| is_own(job) && job.has_ended())
            .collect()
    }

    /// The ends of this owner's jobs, as they come.
    pub fn completions(&self, owner: impl Into<String>) -> Result<Completions> {
        let failed = |error: rustix::io::Errno| {
            Error::io(ErrorKind::Job, "watch for jobs to end", error.into())
        };
        let _ = bashd_keeper::spool::prepare_runs_directory(&self.runs);
        let bell = self.runs.join(BELL);
        let mut options = fs::OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        // A FIFO in its place hangs nobody.
        let _ = options.custom_flags(NEVER_WAITS).open(&bell);
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let watch = rustix::fs::inotify::init(flags).map_err(failed)?;
        let events = WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE;
        rustix::fs::inotify::add_watch(&watch, &bell, events).map_err(failed)?;
        let watch = crate::exec::reactor::register(watch)
            .map_err(|error| Error::io(ErrorKind::Job, "watch for jobs to end", error))?;
        Ok(Completions {
            jobs: self.clone(),
            owner: owner.into(),
            watch,
            attempts: Arc::default(),
        })
    }
}

/// A job whose end the holder of this must tell.
#[derive(Debug)]
struct Untold {
    job: Job,
    reserved: fs::File,
}

/// Ends of jobs on their way to their owner: nobody else tells them meanwhile. If dropped without
/// [`done`](Self::done), they were not told, and will be told again.
#[derive(Debug)]
#[must_use = "what is not `done` is delivered again"]
pub struct Delivery {
    jobs: Jobs,
    ended: Vec<Job>,
    reserved: Vec<fs::File>,
    attempts: Arc<Mutex<Attempts>>,
}

impl Delivery {
    fn new(jobs: &Jobs, untold: Vec<Untold>, attempts: &Arc<Mutex<Attempts>>) -> Self {
        let (ended, reserved) = untold
            .into_iter()
            .map(|untold| (untold.job, untold.reserved))
            .unzip();
        Self {
            jobs: jobs.clone(),
            ended,
            reserved,
            attempts: Arc::clone(attempts),
        }
    }

    /// The jobs that have ended.
    pub fn ended(&self) -> &[Job] {
        &self.ended
    }

    /// The owner now knows about them.
    pub fn done(mut self) -> Vec<Job> {
        let ended = std::mem::take(&mut self.ended);
        for job in &ended {
            let mut attempts = lock(&self.attempts);
            attempts.has_succeeded(&job.id);
            if !self.jobs.acknowledge(job) && !self.jobs.is_acknowledged(job) {
                attempts.remember(&job.id);
            }
        }
        self.reserved.clear();
        ended
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let now = Instant::now();
        for job in &self.ended {
            lock(&self.attempts).has_failed(&job.id, now);
        }
    }
}

fn lock(attempts: &Mutex<Attempts>) -> MutexGuard<'_, Attempts> {
    attempts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ends of an owner's jobs, each delivered to one watcher only.
#[derive(Debug)]
pub struct Completions {
    jobs: Jobs,
    owner: String,
    watch: AsyncFd<OwnedFd>,
    attempts: Arc<Mutex<Attempts>>,
}

impl Completions {
    /// Waits for the next ended jobs that nobody was told about; from now on they count as told.
    pub async fn next(&mut self) -> Vec<Job> {
        self.next_delivery().await.done()
    }

    /// Waits for the next ended jobs that nobody was told about, for callers that may fail to pass
    /// them on. Nothing is lost if this is dropped while it waits.
    pub async fn next_delivery(&mut self) -> Delivery {
        loop {
            let (untold, look_again) = self.due(Instant::now());
            if !untold.is_empty() {
                return Delivery::new(&self.jobs, untold, &self.attempts);
            }
            let _ = tokio::time::timeout_at(look_again, self.bell()).await;
        }
    }

    /// Waits for ended jobs that nobody was told about and that are not among these. They stay
    /// untold: this is for callers that only say that there is something to tell.
    pub async fn next_untold(&mut self, known: &HashSet<String>) -> Vec<Job> {
        loop {
            let mut ended = self.jobs.untold_jobs(&self.owner);
            ended.retain(|job| !known.contains(&job.id));
            if !ended.is_empty() {
                return ended;
            }
            let _ = tokio::time::timeout(LOOK_EVERY, self.bell()).await;
        }
    }

    /// What may be told now, and when to look again.
    fn due(&self, now: Instant) -> (Vec<Untold>, Instant) {
        let mut look_again = now + LOOK_EVERY;
        let mut untold = self.jobs.untold(&self.owner);
        let mut attempts = lock(&self.attempts);
        let ids = untold.iter().map(|untold| untold.job.id.as_str());
        attempts.forget_but(&ids.collect(), now);
        untold.retain(|untold| {
            let later = attempts.not_before(&untold.job.id, now);
            look_again = later.map_or(look_again, |later| later.min(look_again));
            later.is_none() && !attempts.was_told(&untold.job.id)
        });
        (untold, look_again)
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
