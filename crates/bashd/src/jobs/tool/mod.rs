//! The tool with which a model manages its jobs: its definition and its answers.
//!
//! The profile chooses the form ([`JobToolKind`]): one action per call (`actions`), or the list,
//! poll and cancel of another document (`poll`).

mod actions;
mod arguments;
pub(crate) mod notice;
mod poll;
pub(crate) mod result;
pub(crate) mod texts;
pub(crate) mod verbs;

use super::{Job, Whose};
use crate::config::Config;
use crate::errand;
use crate::error::Result;
use crate::profile::Profile;
use crate::profile::rules::JobToolKind;
pub(crate) use arguments::{until, until_schema};
use result::JobResults;
use serde_json::{Value, json};
use std::time::Duration;

/// The answer of a tool whose jobs are disabled.
const DISABLED: &str = "Async execution is disabled; no background jobs are available.";

/// What a job tool answers.
#[derive(Debug)]
pub(crate) struct JobAnswer {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    pub(crate) result: Value,
}

impl JobAnswer {
    fn new(text: impl Into<String>, result: Value) -> Self {
        Self {
            text: text.into(),
            is_error: false,
            result,
        }
    }

    /// Whether it is a list of all jobs.
    pub(crate) fn lists(&self) -> bool {
        !self.is_error
            && self.result.as_object().is_some_and(|told| told.len() == 1)
            && self.result["jobs"].is_array()
    }

    /// Adds jobs that are elsewhere.
    pub(crate) fn add_lines(&mut self, lines: Vec<String>) {
        for line in lines {
            self.text.push('\n');
            self.text.push_str(&line);
        }
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn cancelled() -> Self {
        Self::error("cancelled; the jobs keep running")
    }

    fn error(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            result: json!({ "error": text }),
            text,
            is_error: true,
        }
    }
}

/// The definition of a profile's job tool for an LLM API, if it has one; left out if all that it
/// manages is disabled.
pub(crate) fn definition(profile: &Profile, config: &Config) -> Option<Value> {
    let tool = profile.job_tool.as_ref()?;
    if tool.kind == JobToolKind::Poll && !is_enabled(config) {
        return None;
    }
    let input_schema = match tool.kind {
        JobToolKind::Actions => arguments::schema(),
        JobToolKind::Poll => poll::schema(),
    };
    Some(json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": input_schema,
    }))
}

/// Whether calls of a profile whose jobs depend on the configuration can become jobs.
fn is_enabled(config: &Config) -> bool {
    config.async_enabled || config.auto_background.is_some()
}

/// Who calls a profile's job tool, and what the answer is made of.
#[derive(Clone, Copy)]
pub(crate) struct JobToolCall<'a> {
    pub(crate) results: JobResults<'a>,
    pub(crate) config: &'a Config,
    /// Whose jobs are meant; others do not exist, but for earlier ones.
    pub(crate) owner: &'a str,
    /// How long the answer may take at most.
    pub(crate) longest: Option<Duration>,
}

impl JobToolCall<'_> {
    /// The jobs that the caller sees, oldest first. There may be thousands.
    async fn list(&self) -> Vec<Job> {
        let (jobs, owner) = (self.results.jobs.clone(), self.owner.to_owned());
        let listed = errand::read(move |_| jobs.list(Whose::Owner(&owner)));
        listed.await.unwrap_or_default()
    }

    /// The jobs of these names, which are the caller's from now on.
    async fn find(&self, names: &[&str]) -> Result<Vec<Job>> {
        let mut found = Vec::new();
        for name in names {
            found.push(self.results.jobs.take(self.owner, name).await?);
        }
        Ok(found)
    }
}

/// Answers one call of a profile's job tool.
pub(crate) async fn answer(call: JobToolCall<'_>, input: &str) -> JobAnswer {
    let profile = call.results.profile;
    let Some(tool) = &profile.job_tool else {
        return JobAnswer::error(format!("profile `{}` has no job tool", profile.name));
    };
    match tool.kind {
        JobToolKind::Actions => actions::answer(call, input).await,
        JobToolKind::Poll if !is_enabled(call.config) => JobAnswer::error(DISABLED),
        JobToolKind::Poll => poll::answer(call, input).await,
    }
}
