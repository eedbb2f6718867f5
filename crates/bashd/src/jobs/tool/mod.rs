//! The tool with which a model manages its jobs: its definition and its answers.
//!
//! The profile chooses the form ([`JobToolKind`]): one action per call (`actions`), or the list,
//! poll and cancel of another document (`poll`).

mod actions;
mod arguments;
pub(crate) mod notice;
mod poll;
pub(crate) mod texts;

use super::{Jobs, Whose};
use crate::call::Call;
use crate::config::Config;
use crate::profile::Profile;
use crate::profile::rules::JobToolKind;
use serde_json::{Value, json};

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

/// Answers one call of a profile's job tool; only this owner's jobs exist for it.
pub(crate) async fn answer(
    profile: &Profile,
    config: &Config,
    owner: &str,
    call: &Call,
) -> JobAnswer {
    let input = call.raw_text();
    let jobs = &Jobs::new(config);
    let Some(tool) = &profile.job_tool else {
        return JobAnswer::error(format!("profile `{}` has no job tool", profile.name));
    };
    match tool.kind {
        JobToolKind::Actions => {
            actions::answer(jobs, Whose::Owner(owner), input, call.wait_max()).await
        }
        JobToolKind::Poll if !is_enabled(config) => JobAnswer::error(DISABLED),
        JobToolKind::Poll => poll::answer(profile, config, owner, input).await,
    }
}
