//! A call of a tool that manages jobs, as it travels to the place where the jobs are, and what a
//! place says of itself.

use super::settings::OrderSettings;
use crate::error::Error;
use crate::jobs::FarJob;
use crate::reply::Reply;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A call of a job tool, or of a further tool of a profile.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ManagedCall {
    pub(crate) profile: String,
    /// The profile's text, if it is the user's own.
    pub(crate) profile_text: Option<String>,
    pub(crate) owner: String,
    /// The further tool that is called; `None` for the job tool.
    pub(crate) tool: Option<String>,
    /// Its arguments, as they came.
    pub(crate) input: String,
    pub(crate) longest: Option<Duration>,
    pub(crate) settings: OrderSettings,
    /// The name that stands before the short names of its jobs.
    pub(crate) shown_at: Option<String>,
}

/// What such a call is answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ManagedReply {
    text: String,
    output: String,
    is_error: bool,
    /// JSON.
    result: String,
    exit_code: Option<i32>,
    signal: Option<i32>,
    timed_out: bool,
    job: Option<String>,
    output_bytes: u64,
    /// All jobs of the owner there, if it was looked for them.
    pub(crate) jobs: Option<Vec<FarJob>>,
}

impl ManagedReply {
    /// A reply, as it travels.
    pub(crate) fn of(reply: Reply, jobs: Option<Vec<FarJob>>) -> Self {
        Self {
            result: reply.result.to_string(),
            text: reply.text,
            output: reply.output,
            is_error: reply.is_error,
            exit_code: reply.exit_code,
            signal: reply.signal,
            timed_out: reply.timed_out,
            job: reply.job,
            output_bytes: reply.output_bytes,
            jobs,
        }
    }

    /// What could not be done, and why.
    pub(crate) fn failed(error: &Error) -> Self {
        let reply = Reply {
            text: error.to_string(),
            is_error: true,
            ..Reply::default()
        };
        Self::of(reply, None)
    }

    /// Whether it could not be done.
    pub(crate) fn is_error(&self) -> bool {
        self.is_error
    }

    /// The reply here.
    pub(crate) fn into_reply(self, place: &str) -> Reply {
        Reply {
            result: serde_json::from_str(&self.result).unwrap_or_default(),
            error: self.is_error.then(|| self.text.clone()),
            text: self.text,
            output: self.output,
            is_error: self.is_error,
            exit_code: self.exit_code,
            signal: self.signal,
            timed_out: self.timed_out,
            job: self.job,
            output_bytes: self.output_bytes,
            place: Some(place.to_owned()),
            ..Reply::default()
        }
    }
}

/// What an outpost says about where it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlaceFacts {
    /// Which program the outpost is.
    pub build: String,
    /// The machine's name.
    pub host: String,
    /// The kernel's release.
    pub kernel: String,
    /// The kind of processor.
    pub machine: String,
    /// The user's number.
    pub user: u32,
    /// The user's home.
    pub home: Option<String>,
    /// How the processes of a command are held together.
    pub trees: String,
    /// Whether jobs go on after a logout; `None` if that is not known.
    pub survives_logout: Option<bool>,
    /// Bytes that are free where runs are stored.
    pub free_bytes: u64,
    /// Processes that wait for a processor, on average over a minute.
    pub load: f64,
    /// Processors.
    pub processors: u64,
    /// Commands that run now.
    pub runs: u64,
    /// Jobs that have not ended.
    pub jobs: u64,
    /// What is wrong there.
    pub problems: Vec<String>,
}
