//! What the call of a job would have answered, had it waited: the same text, and the same data.

use crate::artifact::ArtifactStore;
use crate::errand;
use crate::event::Stream;
use crate::exec::Exit;
use crate::jobs::output::{MUCH, OutputSource};
use crate::jobs::{Job, Jobs};
use crate::profile::Profile;
use crate::profile::finished::{JobEnding, of_job, of_running_job};
use crate::profile::reply::BackgroundedCall;
use crate::reply::Reply;
use serde_json::{Value, json};
use std::time::Duration;

/// Where results are read from and stored.
#[derive(Clone, Copy)]
pub(crate) struct JobResults<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) jobs: &'a Jobs,
    pub(crate) artifacts: &'a ArtifactStore,
}

impl JobResults<'_> {
    /// The reply of a job that has ended, or that it goes on; its details say which job it is.
    pub(crate) async fn reply(&self, job: &Job) -> Reply {
        let mut reply = match self.now(job).await {
            Ok(reply) => reply,
            Err(text) => Reply {
                text,
                is_error: true,
                ..Reply::default()
            },
        };
        reply.job = Some(job.id.clone());
        if let Some(details) = reply.result.get_mut("details") {
            details["async"] = async_details(job);
        }
        reply
    }

    /// The text of that reply.
    pub(super) async fn text(&self, job: &Job) -> String {
        self.reply(job).await.text
    }

    async fn now(&self, job: &Job) -> Result<Reply, String> {
        let reading = OutputSource::open(self.jobs, job, Stream::Out).await;
        let reading = reading.map_err(|error| error.to_string())?.so_far();
        if job.output_bytes <= MUCH {
            return told(self.profile, self.artifacts, job, &reading);
        }
        let (profile, artifacts, job) = (self.profile.clone(), self.artifacts.clone(), job.clone());
        let read = errand::read(move |_| told(&profile, &artifacts, &job, &reading));
        read.await
            .unwrap_or_else(|failure| Err(failure.to_string()))
    }
}

/// What the call of a job is told: how it ended, or how far it is.
fn told(
    profile: &Profile,
    artifacts: &ArtifactStore,
    job: &Job,
    reading: &OutputSource,
) -> Result<Reply, String> {
    let view = reading.view(Stream::Out).ok_or_else(String::new)?;
    let ending = JobEnding {
        exit: exit(job),
        ended_by: job.ended_by,
        ran_for: Duration::from_millis(job.ran_ms()),
        limit: job.limit,
        call: &job.call,
        most_bytes: None,
        window: None,
    };
    if !job.has_ended() {
        let told = of_running_job(profile, view, &ending, |so_far| BackgroundedCall {
            so_far,
            id: job.id.clone(),
            alias: job.alias.clone(),
            pid: job.pid,
            output_file: job.output_file.clone(),
            command: job.command.clone(),
            limit: job.limit,
            waits: true,
            until: None,
        });
        return told.map_err(|error| error.to_string());
    }
    let raw = reading.raw(Stream::Out).ok_or_else(String::new)?;
    let keep = || artifacts.keep_job(profile, job, raw);
    of_job(profile, view, &ending, keep).map_err(|error| error.to_string())
}

/// Which job a call became, and its state.
pub(crate) fn async_details(job: &Job) -> Value {
    json!({ "state": job.outcome(), "jobId": job.alias, "type": "bash" })
}

pub(super) fn exit(job: &Job) -> Exit {
    match (job.exit_code, job.signal) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}
