//! The job tool with one action per call.

use super::arguments::{Action, JobArguments};
use super::texts;
use super::{JobAnswer, JobToolCall};
use crate::jobs::news::JobWatch;
use crate::jobs::{AfterInput, Job, JobState, Jobs, Met, OutputQuery, OutputStart, Typing, Waited};
use bashd_keeper::counted::counted;
use bashd_keeper::signal;
use serde_json::{Value, json};

/// Lines of output that the answer to a wait shows.
const LINES_AFTER_WAIT: u64 = 20;

/// Bytes of them at most.
const BYTES_AFTER_WAIT: u64 = 4096;

/// Answers one call.
pub(super) async fn answer(call: JobToolCall<'_>, input: &str) -> JobAnswer {
    let (jobs, longest) = (call.results.jobs, call.longest);
    let mut arguments = match JobArguments::parse(input) {
        Ok(arguments) => arguments,
        Err(problem) => return JobAnswer::error(problem),
    };
    arguments.bound(longest);
    if arguments.action == Action::List {
        return list(jobs, call.list().await);
    }
    let found = match call.find(&arguments.names()).await {
        Ok(found) if found.is_empty() => return JobAnswer::error("`job` is missing"),
        Ok(found) => found,
        Err(error) => return JobAnswer::error(error.to_string()),
    };
    match perform(jobs, &arguments, found).await {
        Ok(answer) => answer,
        Err(problem) => JobAnswer::error(problem),
    }
}

async fn perform(
    jobs: &Jobs,
    arguments: &JobArguments,
    found: Vec<Job>,
) -> Result<JobAnswer, String> {
    match arguments.action {
        Action::Wait => wait(jobs, arguments, found).await,
        Action::Kill => kill(jobs, found).await,
        Action::List
        | Action::Output
        | Action::Screen
        | Action::Send
        | Action::Signal
        | Action::Rename => {
            let [job] = found.as_slice() else {
                return Err("this action takes one job at a time".to_owned());
            };
            match arguments.action {
                Action::Output => output(jobs, arguments, job).await,
                Action::Screen => screen(jobs, arguments, job).await,
                Action::Send => send(jobs, arguments, job).await,
                Action::Signal => send_signal(jobs, arguments, job).await,
                _ => rename(jobs, arguments, job),
            }
        }
    }
}

/// Running jobs, and ends that nobody has seen; an end that is listed here counts as seen.
fn list(jobs: &Jobs, mut listed: Vec<Job>) -> JobAnswer {
    let all = listed.len();
    listed.retain(|job| job.state.is_alive() || !jobs.is_acknowledged(job));
    let seen = all - listed.len();
    let mut lines: Vec<_> = listed.iter().map(texts::line).collect();
    match (listed.is_empty(), seen) {
        (true, 0) => lines.push("There are no jobs.".to_owned()),
        (true, _) => {
            let ended = counted(seen as u64, "ended job was", "ended jobs were");
            lines.push(format!("No job is running; {ended} already reported."));
        }
        (false, _) => {}
    }
    for job in listed.iter().filter(|job| job.has_ended()) {
        jobs.acknowledge(job);
    }
    JobAnswer::new(lines.join("\n"), json!({ "jobs": listed }))
}

async fn output(jobs: &Jobs, arguments: &JobArguments, job: &Job) -> Result<JobAnswer, String> {
    let part = match (arguments.offset, arguments.tail) {
        (Some(_), Some(_)) => return Err("give offset or tail, not both".to_owned()),
        (_, Some(lines)) => OutputStart::Tail(lines),
        (offset, None) => OutputStart::From(offset.unwrap_or(0)),
    };
    let default = OutputQuery::default();
    let query = OutputQuery {
        part,
        grep: arguments.lines().await?,
        most_bytes: arguments.max_bytes.unwrap_or(default.most_bytes),
        ..default
    };
    let read = jobs
        .output(job, &query)
        .await
        .map_err(|error| error.to_string())?;
    let state = texts::state(&read.job);
    let mut shown = read.text.clone();
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push('\n');
    }
    let asked_for_more = matches!(query.part, OutputStart::From(offset) if offset > 0);
    let is_unchanged = asked_for_more && read.next_offset == read.offset;
    let match_count = |lines| counted(lines, "line matches", "lines match");
    let line = match read.found {
        Some(found) if found.shown < found.lines => {
            format!(
                "[{}, showing the first {}; {state}]",
                match_count(found.lines),
                found.shown
            )
        }
        Some(found) => format!("[{}; {state}]", match_count(found.lines)),
        None if is_unchanged => format!("[unchanged since offset {}; {state}]", read.offset),
        None => format!(
            "[bytes {} to {} of {}; {state}]",
            read.offset, read.next_offset, read.output_bytes
        ),
    };
    shown.push_str(&line);
    Ok(JobAnswer::new(shown, to_json(&read)))
}

async fn wait(jobs: &Jobs, arguments: &JobArguments, found: Vec<Job>) -> Result<JobAnswer, String> {
    let wait = arguments.wait().await?;
    let is_single = found.len() == 1;
    // Nobody else is told of an end meanwhile: it is told here.
    let locks: Vec<_> = found.iter().filter_map(JobWatch::begin).collect();
    let waited = jobs.wait(found, &wait).await;
    let mut lines = Vec::new();
    for one in &waited {
        // The caller sees the end here, and need not be told again.
        if one.job.has_ended() {
            jobs.acknowledge(&one.job);
        }
        lines.push(waited_text(one));
    }
    drop(locks);
    let mut output = String::new();
    if let [one] = waited.as_slice()
        && is_single
    {
        let query = OutputQuery::tail(LINES_AFTER_WAIT).at_most(BYTES_AFTER_WAIT);
        if let Ok(tail) = jobs.output(&one.job, &query).await
            && !tail.text.is_empty()
        {
            lines.push(tail.text.clone());
            output = tail.text;
        }
    }
    let result = json!({ "jobs": waited, "output": output });
    Ok(JobAnswer::new(lines.join("\n"), result))
}

fn waited_text(waited: &Waited) -> String {
    let state = texts::state(&waited.job);
    let alias = &waited.job.alias;
    let next = if waited.job.state == JobState::Survivors {
        format!("; next: job kill {alias}")
    } else {
        String::new()
    };
    match (waited.met, &waited.by) {
        (Met::Yes, Some(by)) => format!("{alias}: found: {by} ({state}){next}"),
        (Met::Yes, None) => format!("{alias}: {state}{next}"),
        (Met::Ended, _) => format!("{alias}: ended before the condition was met: {state}{next}"),
        (Met::NotYet, _) => {
            format!("{alias}: condition not met yet: {state}; next: job wait {alias}")
        }
    }
}

async fn send(jobs: &Jobs, arguments: &JobArguments, job: &Job) -> Result<JobAnswer, String> {
    let typing = Typing::text(arguments.text.clone().unwrap_or_default())
        .paste(arguments.paste.clone())
        .keys(arguments.keys.iter().map(String::as_str))?
        .then(if arguments.close {
            AfterInput::Close
        } else {
            AfterInput::StayOpen
        });
    if typing.is_empty() {
        return Err("nothing to send: give text, paste, keys or close".to_owned());
    }
    let sent = jobs.type_at(job, &typing).await;
    let sent = sent.map_err(|error| error.to_string())?;
    let bytes = counted(sent as u64, "byte", "bytes");
    let text = format!("Sent {bytes} to {}.", job.alias);
    Ok(JobAnswer::new(text, json!({ "sent_bytes": sent })))
}

async fn screen(jobs: &Jobs, arguments: &JobArguments, job: &Job) -> Result<JobAnswer, String> {
    let shown = jobs.screen(job, &arguments.screen().await?).await;
    let shown = shown.map_err(|error| error.to_string())?;
    Ok(JobAnswer::new(texts::screen(&shown), to_json(&shown)))
}

async fn send_signal(
    jobs: &Jobs,
    arguments: &JobArguments,
    job: &Job,
) -> Result<JobAnswer, String> {
    let name = arguments.signal.as_deref().ok_or("`signal` is missing")?;
    let number = signal::number(name).ok_or_else(|| format!("there is no signal `{name}`"))?;
    jobs.signal(job, number)
        .await
        .map_err(|error| error.to_string())?;
    let text = format!("Sent {} to {}.", signal::name(number), job.alias);
    Ok(JobAnswer::new(text, json!({ "signal": number })))
}

async fn kill(jobs: &Jobs, found: Vec<Job>) -> Result<JobAnswer, String> {
    let mut lines = Vec::new();
    let mut ended = Vec::new();
    for job in found {
        let was_alive = job.state.is_alive();
        let killed = jobs.kill_as_owner(&job).await;
        let job = killed.map_err(|error| error.to_string())?;
        lines.push(if was_alive {
            format!("{}: {}", job.alias, texts::state(&job))
        } else {
            format!("{} had already ended: {}", job.alias, texts::state(&job))
        });
        ended.push(job);
    }
    Ok(JobAnswer::new(lines.join("\n"), json!({ "jobs": ended })))
}

fn rename(jobs: &Jobs, arguments: &JobArguments, job: &Job) -> Result<JobAnswer, String> {
    let name = arguments.name.as_deref().ok_or("`name` is missing")?;
    jobs.rename(job, name).map_err(|error| error.to_string())?;
    let text = format!("{} is now called {name}.", job.alias);
    Ok(JobAnswer::new(text, json!({ "name": name })))
}

fn to_json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
