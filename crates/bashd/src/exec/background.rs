//! Handing a run over: the call returns first, and the run continues as a job.
//!
//! The engine claims a short name, asks the keeper to become a job, and answers with the job only
//! when the keeper has said that it is one. What ends meanwhile is an ordinary ending.

use super::{Conversation, EndedBy, Heard, Reset, RunFailure};
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::jobs::claim::{self, ClaimFailure, ClaimedName};
use crate::output::run_output::RunOutput;
use crate::plan::{ConfinementInForce, LimitsInForce, Otherwise, Plan, Streams};
use bashd_keeper::job::abandoned;
use bashd_keeper::job::directory::{self, JobKind, Spec};
use bashd_keeper::keeper::job_messages::{AnnounceMessage, BackgroundMessage, BackgroundedMessage};
use bashd_keeper::keeper::protocol::EndMessage;
use bashd_keeper::left_behind::{LeftBehind, LeftReason};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// How long a run may take before others can see it.
pub(super) const SEEN_AFTER: Duration = Duration::from_secs(1);

/// How long a keeper may take to turn survivors into a job before the reply goes out without it.
const SURVIVORS_BOUND: Duration = Duration::from_secs(2);

/// A run that continues as a job.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) struct BackgroundedRun {
    /// The job's id.
    pub(crate) id: String,
    /// Its short name, among its owner's jobs.
    pub(crate) alias: String,
    /// The shell, which is also its process group.
    pub(crate) pid: i32,
    /// stdout so far, or both streams.
    pub(crate) out: RunOutput,
    /// stderr so far, if the plan kept the streams separate.
    pub(crate) err: Option<RunOutput>,
    /// How long it has run.
    pub(crate) ran_for: Duration,
    /// The file that its output goes to.
    pub(crate) output_file: PathBuf,
    /// Why the session's shell is gone, if it ran in one.
    pub(crate) session_reset: Option<Reset>,
    /// What the caller should know about how it was run.
    pub(crate) notes: Vec<String>,
    /// The limits in force for it.
    pub(crate) limits: Option<LimitsInForce>,
    /// The confinement in force for it.
    pub(crate) confinement: Option<ConfinementInForce>,
}

/// When a run goes to the background, and how far that has come.
pub(super) struct BackgroundTimer {
    after: Option<Duration>,
    /// When the call is answered at the latest.
    answer_by: Option<Instant>,
    started: Option<Instant>,
    /// The short name: claimed before the start for what is a job from its beginning, else when the
    /// keeper is asked.
    claimed: Option<ClaimedName>,
    /// Whether the keeper was asked.
    is_asked: bool,
    /// Whether it will be announced.
    announces: bool,
    /// Why it was ended instead, if there could be no job.
    pub(super) no_job: Option<String>,
}

impl BackgroundTimer {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            after: plan.backgrounding.map(|when| when.after),
            answer_by: plan.answer_by.map(Instant::from_std),
            started: None,
            claimed: None,
            is_asked: false,
            announces: true,
            no_job: None,
        }
    }

    /// Whether the keeper was asked, and has not said no.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked && self.after.is_some()
    }

    /// Whether the keeper is asked together with the start, so no ending can come first.
    pub(super) fn is_at_once(&self) -> bool {
        self.after == Some(Duration::ZERO)
    }

    /// The shell runs: time counts from now on.
    pub(super) fn begin(&mut self) {
        self.started = Some(Instant::now());
    }

    /// Resolves once, when the keeper should be asked.
    pub(super) async fn comes(&self) {
        match (self.started, self.after, self.is_asked) {
            (Some(started), Some(after), false) => {
                let due = started + after;
                let due = self.answer_by.map_or(due, |latest| due.min(latest));
                tokio::time::sleep_until(due).await;
            }
            _ => std::future::pending().await,
        }
    }

    /// Resolves once, when the run should be announced; never for one that is already a job.
    pub(super) async fn takes_long(&self) {
        match self.started {
            Some(started) if self.announces && !self.is_at_once() => {
                tokio::time::sleep_until(started + SEEN_AFTER).await;
            }
            _ => std::future::pending().await,
        }
    }

    /// The name that was claimed before the start.
    pub(super) fn hold(&mut self, claimed: Option<ClaimedName>) {
        self.claimed = claimed;
    }

    fn give_up(&mut self) {
        self.after = None;
    }
}

impl Conversation<'_> {
    /// Asks the keeper to become a job.
    pub(super) async fn ask_for_backgrounding(&mut self) -> Result<()> {
        let claimed = match self.background.claimed.take() {
            Some(claimed) => Ok(claimed),
            None => claim_name(self.plan)
                .await
                .map_err(|error| error.to_string()),
        };
        let asked = match claimed {
            Ok(claimed) => self.send_to_background(JobKind::Background, claimed).await,
            Err(reason) => Err(reason),
        };
        match asked {
            Ok(claimed) => {
                self.background.claimed = Some(claimed);
                self.background.is_asked = true;
            }
            Err(reason) => self.go_on_without(&reason).await?,
        }
        Ok(())
    }

    /// Has the keeper make the run visible to others, since it takes a while.
    pub(super) async fn announce(&mut self) {
        self.background.announces = false;
        let announce = announcement(self.plan);
        let _ = self.connection.send(&announce, &[]).await;
    }

    /// Ends what a lost keeper has left, and removes its visible traces. Nobody else may do so: its
    /// fork server may be gone as well.
    pub(super) async fn clean_up(&self) {
        let is_announced = !self.background.announces;
        let directory = live_directory(&self.plan.directory);
        // What does not end, and who holds its lock, takes seconds.
        let cleaned = errand::read(move |_| {
            if is_announced {
                let _ = abandoned::settle(&directory);
                let _ = std::fs::remove_dir_all(&directory);
            }
            abandoned::end_processes(&directory);
        });
        let _ = cleaned.await;
    }

    fn spec(&self, kind: JobKind) -> Spec {
        spec_of(self.plan, kind)
    }

    /// Sends the message for a short name.
    async fn send_to_background(
        &self,
        kind: JobKind,
        claimed: ClaimedName,
    ) -> Result<ClaimedName, String> {
        let job = &self.plan.job;
        let mut spec = self.spec(kind);
        spec.alias.clone_from(&claimed.alias);
        let message = BackgroundMessage {
            directory: self.plan.directory.clone(),
            spec,
            // Survivors keep the limits of the call: nobody asked for more.
            head_bytes: match kind {
                JobKind::Background => job.head_bytes,
                JobKind::Survivors | JobKind::Foreground => 0,
            },
            end_lines: job
                .end_lines
                .clone()
                .filter(|_| kind == JobKind::Background),
            secrets: (*job.secrets).clone(),
        };
        match self.connection.send(&message, &[]).await {
            Ok(()) => Ok(claimed.used()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The keeper's answer: it is a job, or why it is not.
    pub(super) async fn hear_backgrounded(
        &mut self,
        backgrounded: BackgroundedMessage,
    ) -> Result<Option<Heard>> {
        match backgrounded.error {
            None => Ok(Some(Heard::Backgrounded(backgrounded.directory))),
            Some(reason) => {
                claim::withdraw(&self.plan.directory);
                self.go_on_without(&reason).await?;
                Ok(None)
            }
        }
    }

    async fn go_on_without(&mut self, reason: &str) -> Result<()> {
        self.background.give_up();
        match self.plan.backgrounding.map(|when| when.otherwise) {
            // Dropping the connection ends the tree.
            None | Some(Otherwise::Fail) => Err(no_job(reason)),
            Some(Otherwise::End) => {
                let note = format!("it was to go on as a job, which could not be made: {reason}");
                self.background.no_job = Some(note);
                let by = EndedBy::Timeout;
                let _ = self.connection.send(&EndMessage { by }, &[]).await;
                Ok(())
            }
            Some(Otherwise::Wait) => Ok(()),
        }
    }

    /// What the call returns about a run that continues.
    pub(super) async fn backgrounded(mut self) -> Result<BackgroundedRun> {
        if let Some(watch) = &mut self.watch {
            watch.pass_on(&self.spools).await;
        }
        let err = (self.plan.streams == Streams::Apart)
            .then(|| self.spools.pop())
            .flatten();
        let out = self.spools.pop().ok_or_else(|| {
            Error::new(
                ErrorKind::KeeperLost,
                "a run that was never started became a job",
            )
        })?;
        Ok(BackgroundedRun {
            id: self.plan.job.spec.id.clone(),
            alias: (self.background.claimed)
                .map_or_else(String::new, |claimed| claimed.alias.clone()),
            pid: self.pid,
            out: out.into(),
            err: err.map(RunOutput::from),
            ran_for: self
                .background
                .started
                .map_or(Duration::ZERO, |at| at.elapsed()),
            output_file: self.plan.directory.join(directory::OUTPUT),
            session_reset: None,
            notes: Vec::new(),
            limits: self.limits.take(),
            confinement: self.confinement.take(),
        })
    }

    /// Gives up the name that was claimed for a job that was never made.
    pub(super) fn forget_claim(&mut self) {
        let claimed = self.background.claimed.take();
        if claimed.is_some() && self.background.is_asked() {
            claim::withdraw(&self.plan.directory);
        }
    }

    /// The command ended while its keeper was asked to become a job: the name is free again, and
    /// the keeper's report is read. Returns whether there was one; if not, nothing is known about
    /// the run.
    pub(super) async fn ended_first(&mut self) -> bool {
        if !self.background.is_asked() {
            return true;
        }
        self.forget_claim();
        let answer = tokio::time::timeout(SURVIVORS_BOUND, self.until_backgrounded()).await;
        matches!(answer, Ok(Some(_)))
    }

    /// Turns what a finished shell deliberately left running into a job, and adds its name to the
    /// list. Returns whether that worked; if not, the processes just stay.
    pub(super) async fn keep_survivors(&self, left_behind: &mut [LeftBehind]) -> bool {
        let is_survivor = |process: &&mut LeftBehind| process.reason == LeftReason::Survivor;
        if !left_behind.iter_mut().any(|process| is_survivor(&process)) {
            return false;
        }
        let Ok(claimed) = claim_name(self.plan).await else {
            return false;
        };
        let Ok(claimed) = self.send_to_background(JobKind::Survivors, claimed).await else {
            return false;
        };
        let kept = tokio::time::timeout(SURVIVORS_BOUND, self.until_backgrounded()).await;
        if !matches!(kept, Ok(Some(BackgroundedMessage { error: None, .. }))) {
            claim::withdraw(&self.plan.directory);
            return false;
        }
        for process in left_behind.iter_mut().filter(is_survivor) {
            process.job = Some(self.plan.job.spec.id.clone());
            process.alias = Some(claimed.alias.clone());
        }
        true
    }

    async fn until_backgrounded(&self) -> Option<BackgroundedMessage> {
        loop {
            let frame = self.connection.receive().await.ok()??;
            if let Ok(backgrounded) = frame.body_if() {
                return Some(backgrounded);
            }
        }
    }
}

/// Claims the name of the job that a run is from its beginning: one that may not be is never
/// started.
pub(super) async fn claim_ahead(plan: &Plan) -> Result<Option<ClaimedName>, RunFailure> {
    if plan.backgrounding.map(|when| when.otherwise) != Some(Otherwise::Fail) {
        return Ok(None);
    }
    let claimed = claim_name(plan).await;
    claimed.map(Some).map_err(|failure| match failure {
        ClaimFailure::Full(_) => RunFailure::TooManyJobs(failure.to_string()),
        ClaimFailure::Io(_) => no_job(&failure.to_string()).into(),
    })
}

fn no_job(reason: &str) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("the job could not be created: {reason}"),
    )
}

/// Claims a name, by an errand: another process may hold the lock under which names are given.
async fn claim_name(plan: &Plan) -> Result<ClaimedName, ClaimFailure> {
    let (directory, job) = (plan.directory.clone(), plan.job.clone());
    let claimed =
        errand::read(move |_| claim::claim(&directory, &job.spec.owner, &job.call, job.limits));
    let failed = |failure: errand::ErrandFailure| Err(ClaimFailure::Io(failure.into()));
    claimed.await.unwrap_or_else(failed)
}

fn spec_of(plan: &Plan, kind: JobKind) -> Spec {
    Spec {
        kind,
        streams: plan.streams,
        terminal: plan.vessel.terminal(),
        ..plan.job.written_spec()
    }
}

/// What makes a run visible to others while it is under way.
pub(super) fn announcement(plan: &Plan) -> AnnounceMessage {
    AnnounceMessage {
        directory: live_directory(&plan.directory),
        spec: spec_of(plan, JobKind::Foreground),
    }
}

/// Where a visible run is found: the directory that it would have as a job.
fn live_directory(directory: &Path) -> PathBuf {
    let runs = directory.parent().unwrap_or(directory);
    directory::live(runs).join(directory.file_name().unwrap_or_default())
}
