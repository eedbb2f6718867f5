//! Waiting for jobs: until they end, print a line, answer, or fall silent; for one of several or
//! for all.

use super::control::{Control, Told};
use super::output::{LineCutter, MUCH, OutputSource};
use super::probe::{self, Url};
use super::state::Job;
use super::{Jobs, directory};
use crate::errand::{self, CalledBack};
use crate::error::Result;
use crate::event::Stream;
use regex::Regex;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Interval for polling what sends no notification: ports, addresses, keepers that cannot be
/// reached.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long a job that has ended may look alive, since somebody settles it.
const SETTLED_WITHIN: Duration = Duration::from_secs(4);

/// Bytes that a follower is shown at once.
const FOLLOWED_AT_ONCE: u64 = 64 * 1024;

/// What a wait is for, and for how long.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WaitFor {
    /// The condition.
    pub condition: Condition,
    /// How many of the jobs must meet it.
    pub quorum: Quorum,
    /// Longest time.
    pub timeout: Duration,
}

impl WaitFor {
    /// A wait for all jobs.
    pub fn new(condition: Condition, timeout: Duration) -> Self {
        Self {
            condition,
            quorum: Quorum::All,
            timeout,
        }
    }

    /// A wait for one of the jobs to end.
    #[must_use]
    pub fn any(mut self) -> Self {
        self.quorum = Quorum::Any;
        self
    }
}

/// How many of several jobs must meet the condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quorum {
    /// One is enough.
    Any,
    /// All must meet it.
    All,
}

/// What can be waited for. A job that ends first ends the wait for it as well.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Condition {
    /// Its shell ends.
    Exit,
    /// A line of its output matches, from this offset on.
    Matches {
        /// The pattern.
        pattern: Regex,
        /// Where to begin.
        from: u64,
    },
    /// Something listens on a port of this machine.
    Port(u16),
    /// An address answers, with any status.
    Answers(Url),
    /// It writes nothing for this long.
    Silent(Duration),
}

impl Condition {
    /// A line matches this pattern, wherever it is.
    pub fn matches(pattern: Regex) -> Self {
        Self::Matches { pattern, from: 0 }
    }

    /// This `http://` address answers; the error says what is wrong with it.
    pub fn answers(url: &str) -> std::result::Result<Self, String> {
        Url::parse(url).map(Self::Answers)
    }
}

/// The result of waiting for one job.
#[derive(Debug, Clone, serde::Serialize)]
#[non_exhaustive]
pub struct Waited {
    /// Whether the condition was met.
    pub met: Met,
    /// The line that matched, or the status with which the address answered.
    pub by: Option<String>,
    /// The job, after the wait.
    pub job: Job,
}

/// Whether the condition was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Met {
    /// It did.
    Yes,
    /// The job ended first.
    Ended,
    /// Not in that time; the job keeps running.
    NotYet,
}

impl Jobs {
    /// Waits for jobs; the answers are in their order.
    pub async fn wait(&self, jobs: Vec<Job>, wait: &WaitFor) -> Vec<Waited> {
        let mut answers: Vec<_> = jobs.iter().map(|_| (Met::NotYet, None)).collect();
        let mut waits = JoinSet::new();
        for (number, job) in jobs.iter().cloned().enumerate() {
            let (condition, all) = (wait.condition.clone(), self.clone());
            waits.spawn(async move { (number, all.until(&job, &condition).await) });
        }
        let collect = async {
            while let Some(joined) = waits.join_next().await {
                let Ok((number, answer)) = joined else {
                    continue;
                };
                let is_met = answer.0 == Met::Yes;
                if let Some(slot) = answers.get_mut(number) {
                    *slot = answer;
                }
                if wait.quorum == Quorum::Any && is_met {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(wait.timeout, collect).await;
        let answered = jobs.into_iter().zip(answers);
        let mut waited = Vec::new();
        for (job, (met, by)) in answered {
            let has_ended = match wait.condition {
                Condition::Exit => met == Met::Yes,
                _ => met == Met::Ended,
            };
            let job = if has_ended {
                self.settled(job).await
            } else {
                self.again(&job).await.unwrap_or(job)
            };
            waited.push(Waited { met, by, job });
        }
        waited
    }

    /// A job that has ended. One whose keeper was killed looks alive for as long as somebody
    /// settles it.
    async fn settled(&self, job: Job) -> Job {
        let begun = Instant::now();
        loop {
            let again = self.again(&job).await;
            match again {
                Ok(again) if !again.has_ended() && begun.elapsed() < SETTLED_WITHIN => {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                again => return again.unwrap_or(job),
            }
        }
    }

    async fn until(&self, job: &Job, condition: &Condition) -> (Met, Option<String>) {
        match condition {
            Condition::Exit => {
                self.until_ended(job).await;
                (Met::Yes, None)
            }
            Condition::Matches { pattern, from } => {
                let line = self.until_match(job, pattern, *from).await;
                line.map_or((Met::Ended, None), |line| (Met::Yes, Some(line)))
            }
            Condition::Port(_) | Condition::Answers(_) => self.until_answer(job, condition).await,
            Condition::Silent(silence) => {
                let is_silent = self.until_silent(job, *silence).await;
                (if is_silent { Met::Yes } else { Met::Ended }, None)
            }
        }
    }

    /// Waits until the shell has ended and its status is written.
    async fn until_ended(&self, job: &Job) {
        loop {
            match Job::read(&job.directory) {
                Some(job) if !job.has_ended() => {
                    if let Ok(mut control) = Control::open(&job).await
                        && control.attach().await.is_ok()
                        && Job::read(&job.directory).is_some_and(|job| !job.has_ended())
                    {
                        control.more_than(u64::MAX, u64::MAX, &[]).await;
                    } else {
                        tokio::time::sleep(LOOK_EVERY).await;
                    }
                }
                Some(_) | None => return,
            }
        }
    }

    /// Asks again and again until there is an answer, or nothing of the job is alive.
    async fn until_answer(&self, job: &Job, condition: &Condition) -> (Met, Option<String>) {
        loop {
            let was_alive = directory::is_alive(&job.directory);
            if let Some(answer) = ask(condition).await {
                return (Met::Yes, Some(answer));
            }
            if !was_alive {
                return (Met::Ended, None);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn until_match(&self, job: &Job, pattern: &Regex, from: u64) -> Option<String> {
        let mut search = LineSearch {
            lines: LineCutter::from(from),
            pattern: pattern.clone(),
        };
        loop {
            let mut reading = OutputSource::open(self, job, Stream::Out).await.ok()?;
            loop {
                let upto = reading.view(Stream::Out)?.source().len();
                let written = reading.raw(Stream::Out)?.len();
                let is_much = upto.saturating_sub(search.lines.offset()) > MUCH;
                let found = if is_much {
                    let looked = errand::read(move |called_back| {
                        let found = search.look(&reading, upto, called_back);
                        (found, search, reading)
                    });
                    let found;
                    (found, search, reading) = looked.await.ok()?;
                    found
                } else {
                    search.look(&reading, upto, &CalledBack::default())
                };
                if let Some(line) = found.ok()? {
                    return Some(line);
                }
                match &mut reading {
                    // There will never be more than this.
                    OutputSource::Stored(..) => return None,
                    OutputSource::Live(control, readers, _) => {
                        match control.more_than(written, u64::MAX, readers).await {
                            Told::Grown | Told::Exited => {}
                            Told::Gone => break,
                        }
                    }
                }
            }
        }
    }

    /// Whether it fell silent before it ended.
    async fn until_silent(&self, job: &Job, silence: Duration) -> bool {
        let written = std::fs::metadata(&job.output_file).and_then(|file| file.modified());
        let since = written.ok().and_then(|time| time.elapsed().ok());
        let mut left = silence.saturating_sub(since.unwrap_or_default());
        while let Ok(OutputSource::Live(mut control, readers, _)) =
            OutputSource::open(self, job, Stream::Out).await
        {
            loop {
                match tokio::time::timeout(left, control.next(&readers)).await {
                    Err(_) => return true,
                    Ok(Told::Grown) => left = silence,
                    Ok(Told::Exited) => {}
                    Ok(Told::Gone) => break,
                }
            }
        }
        false
    }

    /// Follows a job's output from an offset: hands out its text as it comes, until the job has
    /// ended or the viewer has seen enough.
    pub async fn follow(
        &self,
        job: &Job,
        mut from: u64,
        mut show: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Job> {
        let query = |from| super::OutputQuery::since(from).at_most(FOLLOWED_AT_ONCE);
        loop {
            let mut control = Control::open(job).await.ok();
            if let Some(open) = &mut control
                && open.attach().await.is_err()
            {
                control = None;
            }
            loop {
                let output = self.output(job, &query(from)).await?;
                if !output.text.is_empty() && show(&output.text).is_break() {
                    return Ok(output.job);
                }
                let has_moved = output.next_offset > from;
                from = output.next_offset;
                let has_ended =
                    !output.job.state.is_alive() && !directory::is_alive(&job.directory);
                // What may be the beginning of a secret is held back while there may be more.
                if from < output.output_bytes && (has_moved || has_ended) {
                    continue;
                }
                if has_ended {
                    return Ok(output.job);
                }
                if let Some(open) = &mut control {
                    let written = output.output_bytes;
                    if let Told::Gone = open.more_than(written, u64::MAX, &[]).await {
                        break;
                    }
                } else {
                    tokio::time::sleep(LOOK_EVERY).await;
                    break;
                }
            }
        }
    }
}

/// A search for a line in output that grows.
struct LineSearch {
    lines: LineCutter,
    pattern: Regex,
}

impl LineSearch {
    /// The line that matches, up to an offset, if there is one.
    fn look(
        &mut self,
        reading: &OutputSource,
        upto: u64,
        called_back: &CalledBack,
    ) -> io::Result<Option<String>> {
        let Self { lines, pattern } = self;
        let mut found = None;
        let mut look = |line: &str| {
            let is_match = pattern.is_match(line);
            if is_match {
                found = Some(line.to_owned());
            }
            is_match
        };
        let view = reading.view(Stream::Out);
        let view = view.ok_or(io::ErrorKind::NotFound)?;
        if !lines.read(view.source(), upto, called_back, &mut look)? {
            lines.rest(&mut look);
        }
        Ok(found)
    }
}

/// What a port or an address answers now.
async fn ask(condition: &Condition) -> Option<String> {
    match condition {
        Condition::Port(port) => probe::port_listens(*port).await.then(|| port.to_string()),
        Condition::Answers(url) => probe::http_answers(url).await.map(|code| code.to_string()),
        Condition::Exit | Condition::Matches { .. } | Condition::Silent(_) => None,
    }
}
