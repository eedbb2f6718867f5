//! The job tool of list, poll and cancel, in the words of its document.

use super::JobAnswer;
use super::texts::label;
use crate::config::Config;
use crate::event::Stream;
use crate::exec::{EndedBy, Exit};
use crate::jobs::news::JobWatch;
use crate::jobs::output::OutputSource;
use crate::jobs::{Condition, Job, JobState, Jobs, WaitFor, Whose};
use crate::profile::Profile;
use crate::profile::arguments;
use crate::profile::finished::of_job;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How long an ended job is listed.
const LISTED_FOR: Duration = Duration::from_mins(5);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PollArguments {
    #[serde(default)]
    poll: Option<Vec<String>>,
    #[serde(default)]
    cancel: Option<Vec<String>>,
    #[serde(default)]
    list: bool,
}

/// The JSON schema of [`Arguments`].
pub(super) fn schema() -> Value {
    let ids = |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
    json!({
        "type": "object",
        "properties": {
            "poll": ids("Ids of jobs to wait for; all running jobs if no parameter is given. Returns when one ends."),
            "cancel": ids("Ids of jobs to end."),
            "list": {"type": "boolean", "description": "List all jobs without waiting."},
        },
        "additionalProperties": false,
    })
}

/// Answers one call.
pub(super) async fn answer(
    profile: &Profile,
    config: &Config,
    owner: &str,
    input: &str,
) -> JobAnswer {
    let jobs = &Jobs::new(config);
    let read = arguments::read(&schema(), input)
        .and_then(|given| serde_json::from_value(given).map_err(|error| error.to_string()));
    let arguments: PollArguments = match read {
        Ok(arguments) => arguments,
        Err(problem) => return JobAnswer::error(problem),
    };
    let desk = PollDesk {
        profile,
        jobs,
        whose: Whose::Owner(owner),
    };
    if arguments.list {
        if arguments.poll.is_some() || arguments.cancel.is_some() {
            return JobAnswer::error("`list` cannot be combined with `poll` or `cancel`.");
        }
        return desk.report(Vec::new(), desk.listed()).await;
    }
    let cancelled = match &arguments.cancel {
        Some(ids) => desk.cancel(ids).await,
        None => Vec::new(),
    };
    if arguments.cancel.is_some() && arguments.poll.is_none() {
        return desk.report(cancelled, Vec::new()).await;
    }
    let watched = match &arguments.poll {
        Some(ids) => ids.iter().filter_map(|id| desk.find(id)).collect(),
        None => desk.running(),
    };
    if watched.is_empty() {
        return JobAnswer::new(nothing(arguments.poll.as_deref()), json!({ "jobs": [] }));
    }
    let wait = WaitFor::new(Condition::Exit, config.jobs.poll_wait).any();
    // Nobody else is told of an end meanwhile: it is told here.
    let locks: Vec<_> = watched.iter().filter_map(JobWatch::begin).collect();
    let waited = jobs.wait(watched, &wait).await;
    let seen: Vec<Job> = waited.into_iter().map(|one| one.job).collect();
    for job in seen.iter().filter(|job| job.has_ended()) {
        jobs.acknowledge(job);
    }
    drop(locks);
    desk.report(cancelled, seen).await
}

fn nothing(asked: Option<&[String]>) -> String {
    match asked {
        Some(ids) if !ids.is_empty() => {
            format!("No matching jobs found for IDs: {}", ids.join(", "))
        }
        Some(_) | None => "No running background jobs to wait for.".to_owned(),
    }
}

/// The result of a request to cancel.
struct Cancelled {
    text: String,
    details: Value,
}

struct PollDesk<'a> {
    profile: &'a Profile,
    jobs: &'a Jobs,
    whose: Whose<'a>,
}

impl PollDesk<'_> {
    fn find(&self, id: &str) -> Option<Job> {
        self.jobs.find(self.whose, id).ok()
    }

    /// What runs, and what ended a short while ago.
    fn listed(&self) -> Vec<Job> {
        let mut all = self.jobs.list(self.whose);
        let is_recent = |job: &Job| {
            let ended = job.ended_ms.map(super::super::directory::since_ms);
            ended.is_none_or(|since| since < LISTED_FOR)
        };
        all.retain(|job| job.state.is_alive() || is_recent(job));
        all
    }

    fn running(&self) -> Vec<Job> {
        let mut all = self.jobs.list(self.whose);
        all.retain(|job| !job.has_ended() && job.state.is_alive());
        all
    }

    async fn cancel(&self, ids: &[String]) -> Vec<Cancelled> {
        let mut done = Vec::new();
        for id in ids {
            let (text, status) = match self.find(id) {
                None => (format!("Background job not found: {id}"), "not_found"),
                Some(job) if !job.state.is_alive() => {
                    let status = status(&job);
                    (
                        format!("Background job {id} is already {status}."),
                        "already_completed",
                    )
                }
                Some(job) => match self.jobs.kill(&job).await {
                    Ok(job) => {
                        self.jobs.acknowledge(&job);
                        (format!("Cancelled background job {id}."), "cancelled")
                    }
                    Err(error) => (error.to_string(), "not_found"),
                },
            };
            let details = json!({ "id": id, "status": status });
            done.push(Cancelled { text, details });
        }
        done
    }

    async fn report(&self, cancelled: Vec<Cancelled>, jobs: Vec<Job>) -> JobAnswer {
        let mut parts = Vec::new();
        if !cancelled.is_empty() {
            let bullets: Vec<_> = cancelled
                .iter()
                .map(|one| format!("- {}", one.text))
                .collect();
            parts.push(format!(
                "## Cancelled ({})\n\n{}",
                bullets.len(),
                bullets.join("\n")
            ));
        }
        let (ended, running): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .partition(|job| job.has_ended() || !job.state.is_alive());
        let mut details = Vec::new();
        if !ended.is_empty() {
            let mut blocks = vec![format!("## Completed ({})", ended.len())];
            for job in &ended {
                let text = result_text(self.profile, self.jobs, job).await;
                blocks.push(block(job, &text));
                details.push(detail(job, Some(&text)));
            }
            parts.push(blocks.join("\n\n"));
        }
        if !running.is_empty() {
            let lines = running
                .iter()
                .map(|job| format!("- `{}` [bash] — {}", job.alias, label(&job.command)));
            let lines: Vec<_> = lines.collect();
            parts.push(format!(
                "## Still Running ({})\n\n{}",
                lines.len(),
                lines.join("\n")
            ));
        }
        details.extend(running.iter().map(|job| detail(job, None)));
        let cancelled: Vec<_> = cancelled.into_iter().map(|one| one.details).collect();
        let text = if parts.is_empty() {
            nothing(None)
        } else {
            parts.join("\n\n")
        };
        JobAnswer::new(text, json!({ "jobs": details, "cancelled": cancelled }))
    }
}

/// What the call would have answered if it had waited.
pub(super) async fn result_text(profile: &Profile, jobs: &Jobs, job: &Job) -> String {
    let reading = OutputSource::open(jobs, job, Stream::Out).await;
    let ran_for = Duration::from_millis(job.ran_ms());
    let text = match &reading {
        Ok(reading) => reading
            .view(Stream::Out)
            .and_then(|view| of_job(profile, &view, exit(job), job.ended_by, ran_for).ok()),
        Err(error) => Some(error.to_string()),
    };
    text.unwrap_or_default()
}

fn exit(job: &Job) -> Exit {
    match (job.exit_code, job.signal) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

const FAILED: &str = "failed";

fn status(job: &Job) -> &'static str {
    if job.state.is_alive() && !job.has_ended() {
        return "running";
    }
    match (job.state, job.ended_by, job.exit_code) {
        (_, Some(EndedBy::Cancel), _) => "cancelled",
        (JobState::Exited | JobState::Survivors, None, Some(0)) => "completed",
        _ => FAILED,
    }
}

fn block(job: &Job, text: &str) -> String {
    let (status, text) = (status(job), text.trim_end());
    let result = match job.lost_because {
        // What a failed call would have answered is its error.
        None if status == FAILED => format!("Error: {text}"),
        None => format!("```\n{text}\n```"),
        Some(reason) => format!("```\n{text}\n```\nError: {reason}"),
    };
    let label = label(&job.command);
    format!(
        "### {} [bash] — {status}\nLabel: {label}\n{result}",
        job.alias
    )
}

fn detail(job: &Job, text: Option<&str>) -> Value {
    let status = status(job);
    let mut detail = json!({
        "id": job.alias,
        "type": "bash",
        "status": status,
        "label": label(&job.command),
        "durationMs": job.ran_ms(),
    });
    if let Some(text) = text {
        let key = if status == FAILED {
            "errorText"
        } else {
            "resultText"
        };
        detail[key] = json!(text);
    }
    detail
}
