//! The job tool of list, poll and cancel, in the words of its document.

use super::arguments::MOST_JOBS;
use super::texts::label;
use super::{JobAnswer, JobToolCall};
use crate::jobs::news::JobWatch;
use crate::jobs::{Condition, Job, WaitFor};
use crate::profile::arguments;
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
    let ids = |description: &str| json!({"type": "array", "items": {"type": "string"}, "maxItems": MOST_JOBS, "description": description});
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
pub(super) async fn answer(call: JobToolCall<'_>, input: &str) -> JobAnswer {
    let jobs = call.results.jobs;
    let read = arguments::read(&schema(), input)
        .and_then(|given| serde_json::from_value(given).map_err(|error| error.to_string()));
    let arguments: PollArguments = match read {
        Ok(arguments) => arguments,
        Err(problem) => return JobAnswer::error(problem),
    };
    let desk = PollDesk(call);
    if arguments.list {
        if arguments.poll.is_some() || arguments.cancel.is_some() {
            return JobAnswer::error("`list` cannot be combined with `poll` or `cancel`.");
        }
        return desk.report(Vec::new(), desk.listed().await).await;
    }
    let cancelled = match &arguments.cancel {
        Some(ids) => desk.cancel(ids).await,
        None => Vec::new(),
    };
    if arguments.cancel.is_some() && arguments.poll.is_none() {
        return desk.report(cancelled, Vec::new()).await;
    }
    let watched = match &arguments.poll {
        Some(ids) => desk.found(ids).await,
        None => desk.running().await,
    };
    if watched.is_empty() {
        return JobAnswer::new(nothing(arguments.poll.as_deref()), json!({ "jobs": [] }));
    }
    let wait = WaitFor::new(Condition::Exit, call.config.jobs.poll_wait).any();
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

struct PollDesk<'a>(JobToolCall<'a>);

impl PollDesk<'_> {
    async fn find(&self, id: &str) -> Option<Job> {
        self.0.find(&[id]).await.ok()?.pop()
    }

    async fn found(&self, ids: &[String]) -> Vec<Job> {
        let mut found = Vec::new();
        for id in ids {
            found.extend(self.find(id).await);
        }
        found
    }

    /// What runs, and what ended a short while ago.
    async fn listed(&self) -> Vec<Job> {
        let mut all = self.0.list().await;
        let is_recent = |job: &Job| {
            let ended = job.ended_ms.map(super::super::directory::since_ms);
            ended.is_none_or(|since| since < LISTED_FOR)
        };
        all.retain(|job| job.state.is_alive() || is_recent(job));
        all
    }

    async fn running(&self) -> Vec<Job> {
        let mut all = self.0.list().await;
        all.retain(|job| !job.has_ended() && job.state.is_alive() && !job.earlier);
        all
    }

    async fn cancel(&self, ids: &[String]) -> Vec<Cancelled> {
        let mut done = Vec::new();
        for id in ids {
            let (text, status) = match self.find(id).await {
                None => (format!("Background job not found: {id}"), "not_found"),
                Some(job) if !job.state.is_alive() => {
                    let status = status(&job);
                    (
                        format!("Background job {id} is already {status}."),
                        "already_completed",
                    )
                }
                Some(job) => match self.0.results.jobs.kill_as_owner(&job).await {
                    Ok(_) => (format!("Cancelled background job {id}."), "cancelled"),
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
        let (earlier, own): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.earlier);
        let (ended, running): (Vec<_>, Vec<_>) = own
            .into_iter()
            .partition(|job| job.has_ended() || !job.state.is_alive());
        let mut details = Vec::new();
        let (cancelled_ones, completed): (Vec<_>, Vec<_>) =
            ended.into_iter().partition(|job| status(job) == CANCELLED);
        for (title, ended) in [("Completed", completed), ("Cancelled jobs", cancelled_ones)] {
            if ended.is_empty() {
                continue;
            }
            let mut blocks = vec![format!("## {title} ({})", ended.len())];
            for job in &ended {
                let text = self.0.results.text(job).await;
                blocks.push(block(job, &text));
                details.push(detail(job, Some(&text)));
            }
            parts.push(blocks.join("\n\n"));
        }
        let running_line =
            |job: &Job| format!("- `{}` [bash] — {}", job.alias, label(&job.command));
        parts.extend(section("Still Running", &running, running_line));
        // Polling or cancelling a job takes it over.
        parts.extend(section("Earlier", &earlier, |job| {
            let (id, status) = (&job.id, status(job));
            format!("- `{id}` [bash] — {status} — {}", label(&job.command))
        }));
        details.extend(running.iter().chain(&earlier).map(|job| detail(job, None)));
        let cancelled: Vec<_> = cancelled.into_iter().map(|one| one.details).collect();
        let text = if parts.is_empty() {
            nothing(None)
        } else {
            parts.join("\n\n")
        };
        JobAnswer::new(text, json!({ "jobs": details, "cancelled": cancelled }))
    }
}

/// A heading, and a line for each job; nothing without jobs.
fn section(title: &str, jobs: &[Job], line: impl Fn(&Job) -> String) -> Option<String> {
    let lines: Vec<_> = jobs.iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("## {title} ({})\n\n{}", lines.len(), lines.join("\n")))
}

const FAILED: &str = "failed";
const CANCELLED: &str = "cancelled";

fn status(job: &Job) -> &'static str {
    job.outcome()
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
        "id": if job.earlier { &job.id } else { &job.alias },
        "type": "bash",
        "status": status,
        "label": label(&job.command),
        "durationMs": job.ran_ms(),
    });
    if job.earlier {
        detail["earlier"] = json!(true);
    }
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
