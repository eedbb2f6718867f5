//! The engine and jobs: the job tool's answers, notices about ends, and the end of an owner's
//! sessions.

use super::{Engine, EngineCore, default_owner, owner_of};
use crate::call::Call;
use crate::errand;
use crate::jobs::book::JobBook;
use crate::jobs::tool::JobToolCall;
use crate::jobs::tool::result::JobResults;
use crate::jobs::{Job, Jobs, Whose, claim, tool};
use crate::plan::{self, Backgrounding, Otherwise};
use crate::profile::Profile;
use crate::profile::reply::{self, Ending};
use crate::reply::Reply;
use crate::request::{Refusal, RefusalKind, Request};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

impl Engine {
    /// Answers one call of the profile's job tool, for the owner that the call names.
    pub async fn job(&self, call: impl Into<Call>) -> Reply {
        let begun = Instant::now();
        let call = call.into();
        let profile = match self.0.profile(call.profile()) {
            Ok(profile) => profile,
            Err(missing) => {
                let profile = self.0.fallback(call.profile());
                return reply::reply(&profile, &missing.into(), begun.elapsed());
            }
        };
        let owner = call.owner().map_or_else(default_owner, str::to_owned);
        if let Some(reply) = self.0.managed_elsewhere(&profile, None, &call).await {
            let place = reply.place.as_deref().unwrap_or_default();
            self.look_for_ends_again(&profile.name, &owner, place);
            return reply;
        }
        let jobs = self.jobs().by(&owner);
        let asked = JobToolCall {
            results: self.results(&profile, &jobs),
            config: &self.0.config,
            owner: &owner,
            longest: call.wait_max(),
        };
        let mut answer = tokio::select! {
            biased;
            answer = tool::answer(asked, call.raw_text()) => answer,
            () = call.cancel.cancelled() => tool::JobAnswer::cancelled(),
        };
        if answer.lists() {
            answer.add_lines(self.0.far_lines(&owner).await);
        }
        self.0.warn(jobs.take_loss());
        reply::of_job_tool(answer, begun.elapsed())
    }

    /// What a model of that profile is told, unasked, about its jobs that have ended.
    pub async fn job_notice(&self, profile: &str, ended: &[Job]) -> String {
        let found = self.0.profile(profile);
        let profile = found.unwrap_or_else(|_| self.0.fallback(profile));
        tool::notice::text(self.results(&profile, &self.jobs()), ended).await
    }

    /// What the call of a job would have answered under that profile, had it waited until now: of
    /// one that has not ended, that it goes on.
    pub async fn job_reply(&self, profile: &str, job: &Job) -> Reply {
        let found = self.0.profile(profile);
        let profile = found.unwrap_or_else(|_| self.0.fallback(profile));
        self.results(&profile, &self.jobs()).reply(job).await
    }

    pub(super) fn results<'a>(&'a self, profile: &'a Profile, jobs: &'a Jobs) -> JobResults<'a> {
        JobResults {
            profile,
            jobs,
            artifacts: &self.0.artifacts,
        }
    }

    /// The jobs of this engine's state directory, whichever process started them.
    pub fn jobs(&self) -> Jobs {
        let (ledger, feed) = (Arc::clone(&self.0.ledger), Arc::clone(&self.0.feed));
        Jobs::noted_in(&self.0.config, JobBook::new(ledger, feed))
    }

    /// Where the shell is of the session in which this request would run, if there is one and no
    /// call uses it.
    pub fn session_directory(&self, request: &Request) -> Option<PathBuf> {
        let name = request.session.as_deref().unwrap_or_default();
        let owner = owner_of(request);
        let owner = plan::owner_of_session(name, &owner);
        self.0.sessions.directory_of(owner, name)
    }

    /// Goes on with the session of this request whose shell another process had: the next shell
    /// begins in this directory, if it exists, and the reply's `session_reset` says that it is
    /// another one.
    pub fn continue_session(&self, request: &Request, directory: impl Into<PathBuf>) {
        let name = request.session.as_deref().unwrap_or_default();
        let owner = owner_of(request);
        let owner = plan::owner_of_session(name, &owner);
        self.0.sessions.continue_in(owner, name, directory.into());
    }

    /// A text as it may be written down: without the values of variables whose names are secret,
    /// and without what it assigns to such names itself.
    pub fn without_secrets(&self, text: &str) -> String {
        self.0.ledger.secrets().hide(text).into_owned()
    }

    /// Ends the sessions of an owner that makes no more calls: its client is gone. Its jobs go on.
    pub fn forget_owner(&self, owner: &str) {
        self.0.sessions.end_of(owner);
        self.0.held_sessions.end_of(owner);
        self.0.terminals.end_of(owner);
    }
}

impl EngineCore {
    /// Refuses a call that wants a job when the limit is reached.
    pub(super) async fn check_room(
        &self,
        owner: &str,
        backgrounding: Option<Backgrounding>,
    ) -> Result<(), Ending> {
        let wants_job = backgrounding.is_some_and(|when| when.otherwise == Otherwise::Fail);
        if !wants_job {
            return Ok(());
        }
        let limits = self.config.jobs.limits;
        let (runs, owner) = (self.config.runs_dir(), owner.to_owned());
        // There may be thousands of jobs to look at.
        let looked = errand::read(move |_| claim::check_room(&runs, &owner, limits)).await;
        let room = looked.unwrap_or_else(|failure| Err(io::Error::from(failure).into()));
        room.map_err(|full| {
            let kind = match full {
                claim::ClaimFailure::Full(_) => RefusalKind::TooManyJobs,
                claim::ClaimFailure::Io(_) => RefusalKind::InvalidValue,
            };
            Ending::Refused(Refusal::new(kind, full.to_string()))
        })
    }

    /// Waits until a job that was just started is ready, if its call wants that.
    pub(super) async fn when_ready(
        &self,
        mut ending: Ending,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Ending {
        if let (Some(until), Ending::Backgrounded(call)) = (&request.until, &mut ending) {
            let mut until = until.clone();
            until.timeout = until.timeout.min(request.wait_max.unwrap_or(Duration::MAX));
            let jobs = Jobs::new(&self.config);
            if let Ok(job) = jobs.find(Whose::Everybody, &call.id) {
                call.until = jobs.readiness(job, &until, cancel).await;
            }
        }
        ending
    }
}
