//! What happens to an owner's jobs, as it happens: their progress, and that they ended.
//!
//! Ends come in batches: all that have come since the last look are one piece of news, so the
//! receiver is woken once. A job that somebody waits for (`watch`) is left out meanwhile: the
//! waiter hears of it.

use super::completion::{Completions, Delivery};
use super::state::Job;
use super::{Jobs, OutputQuery, Whose};
use crate::errand;
use crate::error::Result;
use bashd_keeper::spool::NEVER_WAITS;
use rustix::fs::FlockOperation;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Time between two looks at the progress of jobs.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Bytes of the end of the output that a look shows.
const TAIL: u64 = 50 * 1024;

/// Locked while somebody waits for the job, and so will hear of its end; or while somebody tells
/// it.
const WATCHED: &str = "watched";

/// News of an owner's jobs.
#[derive(Debug)]
pub enum JobNews {
    /// These have written more.
    Progress(Vec<JobProgress>),
    /// These have ended, and nobody else is told; say when it was passed on.
    Ended(Delivery),
}

/// A job's progress.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JobProgress {
    /// The job.
    pub job: Job,
    /// The end of its output.
    pub tail: String,
}

/// Whether progress is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell {
    /// Only that jobs ended.
    Ends,
    /// Also what they have written, at most every half second.
    EndsAndProgress,
}

/// A wait for a job, during which nobody else is told of its end.
#[derive(Debug)]
pub struct JobWatch {
    _lock: fs::File,
}

impl Jobs {
    /// News of this owner's jobs, as it comes.
    pub fn news(&self, owner: &str, tell: Tell) -> Result<OwnerNews> {
        Ok(OwnerNews {
            jobs: self.clone(),
            owner: owner.to_owned(),
            ends: self.completions(owner)?,
            written: HashMap::new(),
            next_look: (tell == Tell::EndsAndProgress).then(Instant::now),
        })
    }
}

impl JobWatch {
    /// Keeps the end of a job from others until this is dropped.
    pub fn begin(job: &Job) -> Option<Self> {
        let lock = open(&job.directory).ok()?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared).ok()?;
        Some(Self { _lock: lock })
    }
}

/// Takes over telling the end of the job in this directory, unless somebody else has.
pub(super) fn reserve(path: &Path) -> Option<fs::File> {
    let lock = open(path).ok()?;
    let operation = FlockOperation::NonBlockingLockExclusive;
    rustix::fs::flock(&lock, operation).ok().map(|()| lock)
}

fn open(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(NEVER_WAITS);
    options.open(path.join(WATCHED))
}

/// The news of an owner's jobs.
#[derive(Debug)]
pub struct OwnerNews {
    jobs: Jobs,
    owner: String,
    ends: Completions,
    /// How much each job had written when it was last reported.
    written: HashMap<String, u64>,
    next_look: Option<Instant>,
}

impl OwnerNews {
    /// Waits for the next news.
    pub async fn next(&mut self) -> JobNews {
        loop {
            let look = self.next_look;
            tokio::select! {
                biased;
                ended = self.ends.next_delivery() => return JobNews::Ended(ended),
                () = tokio::time::sleep_until(look.unwrap_or_else(Instant::now)), if look.is_some() => {
                    self.next_look = Some(Instant::now() + LOOK_EVERY);
                    let progress = self.look().await;
                    if !progress.is_empty() {
                        return JobNews::Progress(progress);
                    }
                }
            }
        }
    }

    /// What running jobs have written since the last look.
    async fn look(&mut self) -> Vec<JobProgress> {
        let (jobs, owner) = (self.jobs.clone(), self.owner.clone());
        let listed = errand::read(move |_| jobs.list(Whose::Owner(&owner))).await;
        let mut running = listed.unwrap_or_default();
        running.retain(|job| job.state.is_alive() && !job.has_ended() && !job.earlier);
        let mut progress = Vec::new();
        let mut written = HashMap::new();
        for job in running {
            let job = self.jobs.exact(job).await;
            let before = self.written.get(&job.id).copied().unwrap_or(0);
            written.insert(job.id.clone(), job.output_bytes);
            if job.output_bytes > before {
                let query = OutputQuery::tail(u64::MAX).at_most(TAIL);
                // One that just ended is reported as ended.
                if let Ok(output) = self.jobs.output(&job, &query).await {
                    let tail = output.text;
                    progress.push(JobProgress { job, tail });
                }
            }
        }
        self.written = written;
        progress
    }
}
