//! One run: what is known of it, slices of its output, and what a person does to it.

use super::rows::NowRow;
use super::tree::{self, TreeProcess};
use crate::watched::CallDeeds;
use bashd::artifact::ArtifactStore;
use bashd::config::Config;
use bashd::jobs::{AfterInput, Job, JobKeyboard, Whose, signal_number};
use bashd::output::{OutputSearch, OutputSlice, SliceQuery, SliceStart};
use bashd::screen::Size;
use bashd::{Error, Stream};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinError;

/// Bytes and lines of one slice at most.
const MOST_BYTES: u64 = 1024 * 1024;
const MOST_LINES: u64 = 20_000;

/// How long a request for output waits for some at most.
const MOST_WAIT: Duration = Duration::from_secs(25);

/// Keyboards that are open at most.
const MOST_KEYBOARDS: usize = 32;

/// Columns and rows of a terminal that a page may ask for.
const SIZES: std::ops::RangeInclusive<u16> = 2..=1000;

/// Who what is done here is recorded as.
const OWNER: &str = "web:0";

/// Reaches the runs of all processes.
pub(super) struct RunDesk {
    deeds: CallDeeds,
    artifacts: ArtifactStore,
    keyboards: Mutex<HashMap<String, Arc<Mutex<JobKeyboard>>>>,
    /// The artifacts of runs, once they were found.
    stored: Mutex<HashMap<String, u64>>,
}

/// Why something was not done.
pub(super) enum NotDone {
    /// There is no such run, or nothing of it.
    Missing(String),
    /// The request is wrong.
    Bad(String),
    /// It could not be done.
    Not(String),
}

impl From<Error> for NotDone {
    fn from(error: Error) -> Self {
        Self::Not(error.to_string())
    }
}

/// Which slice of an output a page wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SliceWish {
    query: SliceQuery,
    stream: Stream,
    wait: Duration,
}

impl SliceWish {
    /// Reads `at=N`, `before=N` or neither, `bytes=N`, `lines=N`, `wait=MS`, `stream=err`.
    pub(super) fn of(query: &str) -> Self {
        let pairs = || query.split('&').filter_map(|pair| pair.split_once('='));
        let number = |name: &str| {
            let found = pairs().find(|(key, _)| *key == name);
            found.and_then(|(_, value)| value.parse::<u64>().ok())
        };
        let start = match (number("at"), number("before")) {
            (Some(at), _) => SliceStart::At(at),
            (None, Some(upto)) => SliceStart::Before(upto),
            (None, None) => SliceStart::Tail,
        };
        let bytes = number("bytes").unwrap_or(MOST_BYTES).min(MOST_BYTES);
        let lines = number("lines").unwrap_or(MOST_LINES).min(MOST_LINES);
        let wait = Duration::from_millis(number("wait").unwrap_or(0));
        Self {
            query: SliceQuery::new(start, bytes, lines),
            stream: if pairs().any(|pair| pair == ("stream", "err")) {
                Stream::Err
            } else {
                Stream::Out
            },
            wait: wait.min(MOST_WAIT),
        }
    }
}

/// A slice, and whether there may be more.
pub(super) struct RunSlice {
    pub(super) slice: OutputSlice,
    pub(super) is_alive: bool,
}

/// What a page sends with a deed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DeedWish {
    text: String,
    close: bool,
    columns: u16,
    rows: u16,
    signal: String,
    pattern: String,
    from: u64,
    stream: String,
}

impl RunDesk {
    pub(super) fn of(config: &Config) -> Self {
        let mut deeds = CallDeeds::of(config);
        deeds.jobs = deeds.jobs.by(OWNER);
        Self {
            deeds,
            artifacts: ArtifactStore::of(config),
            keyboards: Mutex::default(),
            stored: Mutex::default(),
        }
    }

    pub(super) fn deeds(&self) -> &CallDeeds {
        &self.deeds
    }

    /// The run of this id. Who names none has all jobs looked at, so it is no matter of a moment.
    async fn find(&self, id: &str) -> Option<Job> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if id.is_empty() || !id.bytes().all(is_letter) {
            return None;
        }
        let (jobs, name) = (self.deeds.jobs.clone(), id.to_owned());
        let finding = tokio::task::spawn_blocking(move || jobs.find(Whose::Everybody, &name));
        // A short name may be another run's by the next look.
        let found = finding.await.ok()?.ok();
        found.filter(|job| job.id == id)
    }

    async fn job(&self, id: &str) -> Result<Job, NotDone> {
        self.find(id).await.ok_or_else(|| {
            NotDone::Missing(
                "it has ended, or can't be reached yet: a second after its start it can\n"
                    .to_owned(),
            )
        })
    }

    /// The artifact with a run's output.
    async fn artifact(&self, id: &str) -> Option<u64> {
        if let Some(known) = self.stored.lock().await.get(id) {
            return Some(*known);
        }
        let (artifacts, run) = (self.artifacts.clone(), id.to_owned());
        let looking = tokio::task::spawn_blocking(move || {
            let listed = artifacts.list().ok()?;
            listed.into_iter().find(|summary| summary.run == run)
        });
        let found = looking.await.ok().flatten()?.id;
        let mut stored = self.stored.lock().await;
        if stored.len() > 1000 {
            stored.clear();
        }
        stored.insert(id.to_owned(), found);
        Some(found)
    }

    /// Everything about a run that the list does not say.
    pub(super) async fn describe(&self, id: &str, row: Option<NowRow>) -> Result<Value, NotDone> {
        let job = self.find(id).await;
        let artifact = match job {
            Some(_) => None,
            None => self.artifact(id).await,
        };
        if job.is_none() && row.is_none() && artifact.is_none() {
            return Err(NotDone::Missing("there is no such call\n".to_owned()));
        }
        let takes = job.as_ref().map_or("nothing", |job| {
            match (job.state.is_alive(), job.terminal, job.stdin_open) {
                (true, Some(_), _) => "keys",
                (true, None, true) => "lines",
                _ => "nothing",
            }
        });
        let output = match (&job, artifact) {
            (Some(_), _) => "job",
            (None, Some(_)) => "artifact",
            (None, None) => "none",
        };
        Ok(json!({
            "row": row,
            "job": job,
            "artifact": artifact,
            "output": output,
            "takes": takes,
        }))
    }

    /// The processes of a run.
    pub(super) async fn tree(&self, id: &str) -> Result<Value, NotDone> {
        Ok(json!({"processes": processes(&self.job(id).await?).await}))
    }

    /// A slice of a run's output; may wait for it to grow.
    pub(super) async fn slice(&self, id: &str, wish: SliceWish) -> Result<RunSlice, NotDone> {
        let Some(job) = self.find(id).await else {
            return self.stored_slice(id, wish).await;
        };
        let slice = self
            .deeds
            .jobs
            .slice(&job, wish.stream, &wish.query)
            .await?;
        let is_alive = job.state.is_alive();
        if !slice.bytes.is_empty() || !is_alive || wish.wait.is_zero() {
            return Ok(RunSlice { slice, is_alive });
        }
        let waiting = self.deeds.jobs.until_grown(&job, slice.written, wish.wait);
        waiting.await;
        let again = self.deeds.jobs.slice(&job, wish.stream, &wish.query).await;
        let now = self.find(id).await;
        Ok(RunSlice {
            // A run whose call was answered meanwhile has left nothing.
            slice: again.unwrap_or(slice),
            is_alive: now.is_some_and(|job| job.state.is_alive()),
        })
    }

    async fn stored_slice(&self, id: &str, wish: SliceWish) -> Result<RunSlice, NotDone> {
        let nothing = || NotDone::Missing("the reply had all of its output\n".to_owned());
        let number = self.artifact(id).await.ok_or_else(nothing)?;
        let artifacts = self.artifacts.clone();
        let reading =
            tokio::task::spawn_blocking(move || artifacts.open(number)?.slice(&wish.query));
        let failed = |why: String| NotDone::Not(why);
        let slice = reading.await.map_err(|error| failed(error.to_string()))?;
        Ok(RunSlice {
            slice: slice.map_err(|error| failed(error.to_string()))?,
            is_alive: false,
        })
    }

    /// Does something to a run, or looks for something in it.
    pub(super) async fn do_to(
        &self,
        id: &str,
        deed: &str,
        wish: DeedWish,
    ) -> Result<Value, NotDone> {
        match deed {
            "search" => self.search(id, &wish).await,
            "input" => self.input(id, &wish).await,
            "size" => self.resize(id, &wish).await,
            "signal" => self.signal(id, &wish).await,
            "end" => self.end(id).await,
            _ => Err(NotDone::Missing("there is nothing here\n".to_owned())),
        }
    }

    async fn search(&self, id: &str, wish: &DeedWish) -> Result<Value, NotDone> {
        let query = OutputSearch::new(&wish.pattern, wish.from).map_err(NotDone::Bad)?;
        let stream = match wish.stream.as_str() {
            "err" => Stream::Err,
            _ => Stream::Out,
        };
        let found = if let Some(job) = self.find(id).await {
            self.deeds.jobs.search(&job, stream, query).await?
        } else {
            let nothing = || NotDone::Missing("nothing of its output is kept\n".to_owned());
            let number = self.artifact(id).await.ok_or_else(nothing)?;
            let artifacts = self.artifacts.clone();
            let searching =
                tokio::task::spawn_blocking(move || artifacts.open(number)?.search(&query));
            let found = searching
                .await
                .map_err(|error| NotDone::Not(error.to_string()))?;
            found.map_err(|error| NotDone::Not(error.to_string()))?
        };
        Ok(json!(found))
    }

    async fn keyboard(&self, job: &Job) -> Result<Arc<Mutex<JobKeyboard>>, NotDone> {
        if let Some(known) = self.keyboards.lock().await.get(&job.id) {
            return Ok(Arc::clone(known));
        }
        // A keeper that stands still keeps nobody from the others' keyboards.
        let opened = Arc::new(Mutex::new(self.deeds.jobs.keyboard(job).await?));
        let mut keyboards = self.keyboards.lock().await;
        if keyboards.len() >= MOST_KEYBOARDS {
            keyboards.clear();
        }
        // What two pages type at once goes one way.
        Ok(Arc::clone(
            keyboards.entry(job.id.clone()).or_insert(opened),
        ))
    }

    async fn input(&self, id: &str, wish: &DeedWish) -> Result<Value, NotDone> {
        let job = self.job(id).await?;
        let bytes = wish.text.as_bytes();
        if job.terminal.is_none() {
            let then = if wish.close {
                AfterInput::Close
            } else {
                AfterInput::StayOpen
            };
            self.deeds.jobs.send(&job, bytes, then).await?;
            return Ok(json!({}));
        }
        let keyboard = self.keyboard(&job).await?;
        let typed = keyboard.lock().await.type_bytes(bytes).await;
        if typed.is_err() {
            self.keyboards.lock().await.remove(id);
        }
        typed?;
        Ok(json!({}))
    }

    async fn resize(&self, id: &str, wish: &DeedWish) -> Result<Value, NotDone> {
        let job = self.job(id).await?;
        if job.terminal.is_none() || !SIZES.contains(&wish.columns) || !SIZES.contains(&wish.rows) {
            return Err(NotDone::Bad("it has no terminal of that size\n".to_owned()));
        }
        let keyboard = self.keyboard(&job).await?;
        let size = Size::new(wish.columns, wish.rows);
        let resized = keyboard.lock().await.resize(size).await;
        if let Err(error) = resized {
            self.keyboards.lock().await.remove(id);
            return Err(NotDone::Not(error.to_string()));
        }
        Ok(json!({}))
    }

    async fn signal(&self, id: &str, wish: &DeedWish) -> Result<Value, NotDone> {
        let unknown = || NotDone::Bad("there is no such signal\n".to_owned());
        let number = signal_number(&wish.signal).ok_or_else(unknown)?;
        let job = self.job(id).await?;
        self.deeds.jobs.signal(&job, number).await?;
        Ok(json!({"said": format!("it got {}", wish.signal), "processes": processes(&job).await}))
    }

    async fn end(&self, id: &str) -> Result<Value, NotDone> {
        let before = match self.find(id).await {
            Some(job) => processes(&job).await,
            None => Vec::new(),
        };
        let said = self.deeds.end(id).await.map_err(NotDone::Not)?;
        let looking = tokio::task::spawn_blocking(move || {
            let after = tree::still_alive(&before);
            json!({"said": said, "before": before, "after": after})
        });
        let failed = |error: JoinError| NotDone::Not(error.to_string());
        looking.await.map_err(failed)
    }
}

/// Looking at all processes of the machine takes a moment.
async fn processes(job: &Job) -> Vec<TreeProcess> {
    let pid = job.pid;
    let looking = tokio::task::spawn_blocking(move || tree::of_shell(pid));
    looking.await.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read_and_bounded() {
        let wish = SliceWish::of("at=7&bytes=99999999999&lines=5&wait=99999999");
        assert_eq!(
            wish.query,
            SliceQuery::new(SliceStart::At(7), MOST_BYTES, 5)
        );
        assert_eq!((wish.wait, wish.stream), (MOST_WAIT, Stream::Out));
        let wish = SliceWish::of("before=9&stream=err&at=x&&=&");
        assert_eq!(wish.query.start, SliceStart::Before(9));
        assert_eq!(wish.stream, Stream::Err);
        assert_eq!(SliceWish::of("").query.start, SliceStart::Tail);
    }
}
