//! Jobs: runs whose call returned first.
//!
//! A job is just a directory below the state directory's `runs` (`directory`): every bashd process
//! sees the same jobs, and any of them can follow or end a job that another one started. A job is
//! *alive* while its keeper holds a lock; it has ended once the keeper has written a status, before
//! anybody hears of it; with neither it is *lost*. The engine holds no descriptor for a job that
//! nobody looks at: a viewer connects to the keeper (`control`), reads (`output`), waits (`wait`),
//! and disconnects again.

pub(crate) mod book;
pub(crate) mod claim;
pub(crate) mod clients;
mod completion;
mod control;
mod earlier;
mod far;
mod news;
mod output;
mod probe;
mod ranges;
mod ready;
mod retry;
mod running;
mod screen;
mod state;
#[cfg(test)]
mod tests;
pub(crate) mod tool;
mod typing;
mod wait;

pub use bashd_keeper::job::directory::{Asks, AwaitedInput, JobKind, Sure};
pub use bashd_keeper::job::end_line::EndLines;
use bashd_keeper::job::{abandoned, directory, recall};
pub use claim::JobLimits;
pub use clients::{ClientEntry, Clients};
pub use completion::{Completions, Delivery};
pub(crate) use far::FarSite;
pub use far::{FarJob, FarJobs};
pub use news::{JobNews, JobProgress, JobWatch, OwnerNews, Tell};
pub use output::{JobOutput, OutputQuery, OutputStart, SearchCount};
pub use ranges::JobKeyboard;
pub use screen::{JobScreen, JobTerminal, ScreenQuery};
pub(crate) use state::directories as run_directories;
pub use state::{Job, JobState};
pub use typing::Typing;
pub use wait::{Condition, Met, Quorum, WaitFor, Waited};

use crate::config::Config;
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::output::veiled::Veil;
use crate::secrets::KnownSecrets;
use bashd_keeper::spool::write_private;
use book::JobBook;
use control::Control;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long a keeper may take to answer.
const ANSWER_BOUND: Duration = Duration::from_secs(10);

/// How long a job may take to end after a request: the grace, and a busy machine.
const END_BOUND: Duration = Duration::from_secs(15);

/// How long a job that could not be asked to end may take to disappear: it was about to.
const LEAVING_BOUND: Duration = Duration::from_secs(1);

/// The jobs of a state directory. Cheap to create; needs no engine.
#[derive(Debug, Clone)]
pub struct Jobs {
    runs: PathBuf,
    book: JobBook,
    known: KnownSecrets,
    /// The name that stands before their short names: that of the place at which they are.
    shown_at: Option<String>,
}

/// Jobs whose directories were found to be gone, and that were found again, until that is said.
static RECALLED: AtomicUsize = AtomicUsize::new(0);

/// Whose jobs are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose<'a> {
    /// Those of one owner, and those that it may take over because their client is gone; other
    /// owners' jobs do not exist.
    Owner(&'a str),
    /// Everybody's; a short name that several have selects none.
    Everybody,
}

impl Jobs {
    /// The jobs below this configuration's state directory.
    pub fn new(config: &Config) -> Self {
        Self {
            runs: config.runs_dir(),
            book: JobBook::of(config),
            known: config.secrets.known.clone(),
            shown_at: None,
        }
    }

    /// The same, written down in the book of an engine.
    pub(crate) fn noted_in(config: &Config, book: JobBook) -> Self {
        Self {
            runs: config.runs_dir(),
            book,
            known: config.secrets.known.clone(),
            shown_at: None,
        }
    }

    /// What must not be shown of a job's output.
    fn veil(&self, job: &Job) -> Veil {
        if job.hides_secrets {
            Veil::over(self.known.now())
        } else {
            Veil::default()
        }
    }

    /// These jobs, as this owner's: what it does to them is recorded as its deed.
    #[must_use]
    pub fn by(&self, owner: &str) -> Self {
        Self {
            book: self.book.by(owner),
            ..self.clone()
        }
    }

    /// These jobs, with the name of their place before their short names.
    #[must_use]
    pub(crate) fn shown_at(mut self, place: Option<String>) -> Self {
        self.shown_at = place;
        self
    }

    /// All jobs that are kept, oldest first.
    pub fn list(&self, whose: Whose<'_>) -> Vec<Job> {
        self.recall();
        let sight = self.sight(whose);
        let jobs = state::directories(&self.runs).filter_map(|path| self.read(&path));
        jobs.filter_map(|job| sight.of(job)).collect()
    }

    /// Has the keepers of jobs whose directories were removed make them again.
    fn recall(&self) {
        if recall::misses_some(&self.runs) {
            let runs = self.runs.clone();
            // A keeper that was stopped does not answer.
            errand::here_or_aside(move || {
                RECALLED.fetch_add(recall::recall(&runs), Ordering::Relaxed);
            });
        }
    }

    /// What is to be said of a state directory that was removed while jobs ran; once.
    pub fn take_loss(&self) -> Option<String> {
        let count = RECALLED.swap(0, Ordering::Relaxed);
        let jobs = if count == 1 {
            "1 job was"
        } else {
            &*format!("{count} jobs were")
        };
        (count > 0).then(|| {
            format!(
                "{} was removed while jobs ran: {jobs} found again, whatever else was recorded is lost",
                self.runs.display()
            )
        })
    }

    /// How many jobs a newer bashd has created, which this one cannot read.
    pub fn count_newer(&self) -> usize {
        let newer = |path: &PathBuf| directory::newer_version(path).is_some();
        state::directories(&self.runs).filter(newer).count()
    }

    /// The job of that id, short name or given name. An owner's own jobs come before those that it
    /// may take over.
    pub fn find(&self, whose: Whose<'_>, name: &str) -> Result<Job> {
        self.recall();
        let here = self.shown_at.as_ref().and_then(|place| {
            let rest = name.strip_prefix(place.as_str())?;
            rest.strip_prefix(':')
        });
        let given = name;
        let name = here.unwrap_or(name);
        // The id names the directory: no need to look at the others.
        let is_plain = !name.contains('/') && !name.starts_with('.');
        let by_id = Some(self.runs.join(name))
            .filter(|_| is_plain)
            .and_then(|path| self.read(&path))
            .or_else(|| self.read_running(name).filter(|_| is_plain))
            .and_then(|job| self.sight(whose).of(job));
        if let Some(job) = by_id {
            return Ok(job);
        }
        let all = self.list(whose);
        match called(&all, [name, given]).as_slice() {
            [job] => Ok((*job).clone()),
            [] => {
                let newer = is_plain.then(|| directory::newer_version(&self.runs.join(name)));
                let text = match newer.flatten() {
                    Some(_) => {
                        format!(
                            "job {name} was created by a newer bashd, and only that version can read it"
                        )
                    }
                    None => format!("there is no job {name}"),
                };
                Err(Error::new(ErrorKind::NoSuchJob, text).about(name))
            }
            several => {
                let each = several
                    .iter()
                    .map(|job| format!("{} ({})", job.id, job.owner));
                let each = each.collect::<Vec<_>>().join(", ");
                let text = format!("several jobs are called {name}: {each}; name one by its id");
                Err(Error::new(ErrorKind::NoSuchJob, text).about(name))
            }
        }
    }

    /// The job of each of these names, after one look at all; none of a name that several have.
    pub fn find_each<'names>(
        &self,
        whose: Whose<'_>,
        names: impl Iterator<Item = &'names str>,
    ) -> Vec<Option<Job>> {
        let all = self.list(whose);
        let find = |name: &str| match called(&all, [name; 2]).as_slice() {
            [job] => Some((*job).clone()),
            _ => None,
        };
        names.map(find).collect()
    }

    /// Sends bytes to the command's stdin, then perhaps its end.
    pub async fn send(&self, job: &Job, bytes: &[u8], then: AfterInput) -> Result<()> {
        let sending = self.pass(job, bytes, then);
        self.book.noted(job, "send", sending).await
    }

    async fn pass(&self, job: &Job, bytes: &[u8], then: AfterInput) -> Result<()> {
        let mut control = Control::open(job).await?;
        control.input(bytes, then).await
    }

    /// Sends a signal to every process of the job.
    pub async fn signal(&self, job: &Job, signal: i32) -> Result<()> {
        let what = format!("signal {}", bashd_keeper::signal::name(signal));
        let signalling = async { Control::open(job).await?.signal(signal).await };
        self.book.noted(job, &what, signalling).await
    }

    /// Ends the whole tree: TERM, grace, KILL; waits until that is done.
    pub async fn kill(&self, job: &Job) -> Result<Job> {
        self.book.noted(job, "kill", self.end_tree(job)).await
    }

    async fn end_tree(&self, job: &Job) -> Result<Job> {
        if job.state.is_alive() {
            let asked = ask_to_end(job).await;
            let bound = asked.as_ref().map_or(LEAVING_BOUND, |()| END_BOUND);
            let ended = tokio::time::timeout(bound, self.until_gone(job)).await;
            if ended.is_err() {
                asked?;
                let text = format!(
                    "job {} did not end; its processes may be unkillable",
                    job.id
                );
                return Err(Error::new(ErrorKind::Job, text).about(&job.id));
            }
        }
        match job.kind {
            JobKind::Background | JobKind::Survivors => self.again(job).await,
            // Nothing is kept of it: its call is told how it ended.
            JobKind::Foreground => Ok(job.clone()),
        }
    }

    /// Ends the whole tree for its owner, who need not be told of it again.
    pub async fn kill_as_owner(&self, job: &Job) -> Result<Job> {
        // Nobody else tells the end before it counts as told.
        let _watch = news::JobWatch::begin(job);
        let ended = self.kill(job).await?;
        self.acknowledge(&ended);
        Ok(ended)
    }

    /// Waits until nothing of a job is alive.
    async fn until_gone(&self, job: &Job) {
        /// A message announces the status; this waits only for the keeper itself to exit.
        const LOOK_EVERY: Duration = Duration::from_millis(5);
        while directory::is_alive(&job.directory) {
            let is_settled = Job::read(&job.directory)
                .is_none_or(|job| job.ended_ms.is_some() && job.left_behind.is_empty());
            if is_settled && !directory::is_alive(&job.directory) {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Gives a job a name by which it can also be found.
    pub fn rename(&self, job: &Job, name: &str) -> Result<()> {
        let renaming = || Self::give_name(job, name);
        self.book.noted_at_once(job, "rename", renaming)
    }

    fn give_name(job: &Job, name: &str) -> Result<()> {
        let is_good = |character: char| character.is_alphanumeric() || "-_. ".contains(character);
        let has_length = (1..=64).contains(&name.chars().count());
        if !has_length || !name.chars().all(is_good) || name.starts_with("bg_") {
            let text = format!(
                "`{name}` is not a valid job name: use 1 to 64 letters, digits, spaces, - _ . and do not start with bg_"
            );
            return Err(Error::new(ErrorKind::Job, text).about(name));
        }
        let failed = |error| Error::io(ErrorKind::Job, "rename the job", error);
        let aside = job.directory.join(format!(".name.{}", std::process::id()));
        write_private(&aside, name.as_bytes()).map_err(failed)?;
        fs::rename(aside, job.directory.join(directory::NAME)).map_err(failed)
    }

    /// How far the owner has been shown its streams.
    pub(crate) fn seen(job: &Job) -> [u64; 2] {
        directory::read(&job.directory, directory::SEEN).unwrap_or_default()
    }

    /// Remembers how far the owner has been shown its streams. A failure only shows some of it
    /// again.
    pub(crate) fn saw(job: &Job, seen: [u64; 2]) {
        let aside = job.directory.join(format!(".seen.{}", std::process::id()));
        let text = format!("[{},{}]", seen[0], seen[1]);
        let written = write_private(&aside, text.as_bytes());
        let _ = written.and_then(|()| fs::rename(aside, job.directory.join(directory::SEEN)));
    }

    /// Forgets a job that has ended: its output, its status, everything.
    ///
    /// Its keeper may exit a moment after it has reported the end: this waits for that.
    pub async fn remove(&self, job: &Job) -> Result<()> {
        self.book.noted(job, "rm", self.forget(job)).await
    }

    async fn forget(&self, job: &Job) -> Result<()> {
        if !job.state.is_alive() {
            let _ = tokio::time::timeout(LEAVING_BOUND, self.until_gone(job)).await;
        }
        if directory::is_alive(&job.directory) {
            let text = format!("job {} is still running; end it first", job.alias);
            return Err(Error::new(ErrorKind::Job, text).about(&job.id));
        }
        let failed = |error| Error::io(ErrorKind::Job, "remove the job", error);
        fs::remove_dir_all(&job.directory).map_err(failed)
    }

    /// This job in its current state.
    pub async fn again(&self, job: &Job) -> Result<Job> {
        if !abandoned::is_abandoned(&job.directory) {
            return self.read_again(job);
        }
        // What is left of it is ended first, which takes a while.
        let (job, jobs) = (job.clone(), self.clone());
        let failed = |failure: errand::ErrandFailure| {
            Err(Error::io(ErrorKind::Job, "read the job", failure.into()))
        };
        let settled = errand::read(move |_| jobs.read_again(&job)).await;
        settled.unwrap_or_else(failed)
    }

    fn read_again(&self, job: &Job) -> Result<Job> {
        self.read(&job.directory).ok_or_else(|| {
            let text = format!("job {} is gone: its directory was removed", job.id);
            Error::new(ErrorKind::NoSuchJob, text).about(&job.id)
        })
    }

    /// The job of a directory, as it may be shown.
    fn read(&self, path: &Path) -> Option<Job> {
        let mut job = Job::read(path)?;
        if let Some(place) = &self.shown_at {
            job.alias = format!("{place}:{}", job.alias);
        }
        let veil = self.veil(&job);
        let is_growing = job.state.is_alive();
        job.last_line = veil.line(std::mem::take(&mut job.last_line), is_growing);
        if let Some(waiting) = &mut job.waiting {
            waiting.prompt = veil.text(std::mem::take(&mut waiting.prompt));
        }
        Some(job)
    }
}

async fn ask_to_end(job: &Job) -> Result<()> {
    Control::open(job).await?.end().await
}

/// The number of a signal by its name, with or without `SIG`, or by its number.
pub fn signal_number(name: &str) -> Option<i32> {
    bashd_keeper::signal::number(name)
}

/// What follows the input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AfterInput {
    /// More may come.
    #[default]
    StayOpen,
    /// The end of the input.
    Close,
}

/// The jobs with one of these names. An owner's own come before those that it may take over.
fn called<'jobs>(all: &'jobs [Job], names: [&str; 2]) -> Vec<&'jobs Job> {
    let is_it = |job: &&Job| names.iter().any(|name| job.is_called(name));
    let mut called: Vec<&Job> = all.iter().filter(is_it).collect();
    if called.iter().any(|job| !job.earlier) {
        called.retain(|job| !job.earlier);
    }
    called
}
