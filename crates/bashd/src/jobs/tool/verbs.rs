//! The further tools of a profile: find the job, send, wait, end, read, and say it in the tool's
//! words.

use super::result::exit;
use super::{JobResults, JobToolCall};
use crate::errand;
use crate::event::Stream;
use crate::jobs::news::JobWatch;
use crate::jobs::output::{MUCH, OutputSource};
use crate::jobs::{Condition, Job, Jobs, Typing, WaitFor, Whose};
use crate::output::Source;
use crate::output::in_memory::InMemory;
use crate::output::since::Since;
use crate::output::view::View;
use crate::output::window::Window;
use crate::plan::Streams;
use crate::profile::Profile;
use crate::profile::facts::{Did, Facts, JobFacts, Progress, Unrun};
use crate::profile::finished::{JobEnding, of_views, without_output};
use crate::profile::parts::{ReplyPart, compose};
use crate::profile::reply::{self, Finished};
use crate::profile::rules::JobNaming;
use crate::profile::tools::{FurtherTool, ShownPartRule, ToolRequest, Verb};
use crate::profile::views::Views;
use crate::reply::Reply;
use crate::request::Refusal;
use bashd_keeper::job::directory::{CallTerms, JobKind};
use bashd_keeper::template::fill;
use regex::Regex;
use std::io;
use std::time::{Duration, Instant};

/// Bytes of matching lines that a filter shows at most.
const FILTERED: usize = 1024 * 1024;

/// Bytes that are read at once for a filter.
const STEP: u64 = 64 * 1024;

/// The keys that a pipe has no bytes for.
const KEYS: [(&str, &str); 2] = [("\u{3}", "C-c"), ("\u{4}", "C-d")];

/// Answers one call of a further tool.
pub(crate) async fn answer(
    call: JobToolCall<'_>,
    tool: &FurtherTool,
    input: &str,
    begun: Instant,
) -> Reply {
    let profile = call.results.profile;
    let told = |message: &str| refused(profile, tool, message, begun);
    let request = match tool.read(profile, input) {
        Ok(request) => request,
        Err(refusal) => return told(&words(profile, tool, &refusal)),
    };
    if tool.verb == Verb::List {
        return list(&call, tool, begun).await;
    }
    let Some(name) = &request.job else {
        return told(&tool.texts.missing_job);
    };
    let Some(job) = find(&call, name).await else {
        return told(&fill(&tool.texts.no_job, &[("job", name)]));
    };
    match perform(&call, tool, &request, job).await {
        Ok((job, finished, did)) => {
            let progress = if job.has_ended() {
                call.results.jobs.acknowledge(&job);
                Progress::Ended(&finished)
            } else {
                Progress::Running(&finished)
            };
            let facts = Facts {
                profile,
                progress,
                job: Some(JobFacts::from(&job)),
                terminal: None,
                tool: &tool.name,
                did: Did {
                    took: Some(begun.elapsed()),
                    ..did
                },
            };
            let mut reply = reply::of_further_tool(&tool.parts, &facts, begun.elapsed());
            reply.job = Some(job.id.clone());
            reply
        }
        Err(message) => told(&message),
    }
}

/// Nobody waits for the answer any more.
pub(crate) fn cancelled(profile: &Profile, tool: &FurtherTool, begun: Instant) -> Reply {
    Reply {
        cancelled: true,
        ..refused(
            profile,
            tool,
            &profile.reply.texts.cancelled_before_start,
            begun,
        )
    }
}

fn words(profile: &Profile, tool: &FurtherTool, refusal: &Refusal) -> String {
    profile.refusals.text(refusal, &tool.name)
}

fn refused(profile: &Profile, tool: &FurtherTool, message: &str, begun: Instant) -> Reply {
    let facts = Facts {
        profile,
        progress: Progress::Unrun(Unrun::Refused, message),
        job: None,
        terminal: None,
        tool: &tool.name,
        did: Did::default(),
    };
    reply::of_further_tool(&tool.parts, &facts, begun.elapsed())
}

/// The job that a call means, which is the caller's from now on.
async fn find(call: &JobToolCall<'_>, name: &str) -> Option<Job> {
    let alias = match call.results.profile.background.called {
        JobNaming::Alias => name.to_owned(),
        JobNaming::Number => format!("bg_{name}"),
        JobNaming::Pid => {
            let pid: i32 = name.parse().ok()?;
            let mut listed = call.list().await.into_iter();
            listed.rfind(|job| job.pid == pid)?.id
        }
    };
    let found = call.find(&[&alias]).await.ok()?.pop();
    // What a command left running has no name in these contracts.
    found.filter(|job| job.kind == JobKind::Background)
}

/// Does what the tool does with a job.
async fn perform(
    call: &JobToolCall<'_>,
    tool: &FurtherTool,
    request: &ToolRequest,
    mut job: Job,
) -> Result<(Job, Finished, Did), String> {
    let jobs = call.results.jobs;
    let mut did = Did::default();
    let name = request.job.as_deref().unwrap_or_default();
    let state = JobFacts::from(&job).state();
    let not_running = || fill(&tool.texts.not_running, &[("job", name), ("state", state)]);
    if tool.forgets_ended && job.has_ended() && jobs.is_acknowledged(&job) {
        return Err(fill(&tool.texts.no_job, &[("job", name)]));
    }
    let input = request.input.as_deref().filter(|input| !input.is_empty());
    if let Some(input) = input {
        if job.has_ended() {
            return Err(not_running());
        }
        send(call, tool, &job, input).await?;
        did.sent = true;
    }
    if tool.verb == Verb::End {
        if job.has_ended() {
            return Err(not_running());
        }
        let ended = jobs.kill_as_owner(&job).await;
        job = ended.map_err(|error| error.to_string())?;
    }
    let rule = match &tool.poll {
        Some(poll) if input.is_none() => *poll,
        _ => tool.wait,
    };
    if request.block != Some(false) && tool.verb != Verb::End {
        did.waited = tool.verb == Verb::Wait;
        let longest = call.longest.unwrap_or(Duration::MAX);
        let wait = WaitFor::new(Condition::Exit, rule.of(request.wait_ms).min(longest));
        // Nobody else is told of an end meanwhile: it is told here.
        let _told_here = JobWatch::begin(&job);
        let waited = jobs.wait(vec![job.clone()], &wait).await;
        job = waited.into_iter().next().map_or(job, |waited| waited.job);
    }
    let finished = shown(&call.results, tool, request, &job).await?;
    Ok((job, finished, did))
}

/// Types at a job; a key that a pipe has no bytes for is what it means there.
async fn send(
    call: &JobToolCall<'_>,
    tool: &FurtherTool,
    job: &Job,
    input: &str,
) -> Result<(), String> {
    let no_input = |detail: &str| fill(&tool.texts.no_input, &[("detail", detail)]);
    let key = KEYS.iter().find(|(bytes, _)| *bytes == input);
    let typing = match key {
        Some((_, key)) if job.terminal.is_none() => Typing::default().keys([*key])?,
        _ if job.terminal.is_none() && !job.stdin_open => {
            return Err(no_input("its stdin is closed"));
        }
        _ => Typing::text(input),
    };
    let sent = call.results.jobs.type_at(job, &typing).await;
    sent.map(drop).map_err(|error| no_input(&error.to_string()))
}

/// What the tool shows of a job's output.
async fn shown(
    results: &JobResults<'_>,
    tool: &FurtherTool,
    request: &ToolRequest,
    job: &Job,
) -> Result<Finished, String> {
    let unreadable = |error: crate::error::Error| error.to_string();
    let is_apart = results.profile.output.streams == Streams::Apart && job.terminal.is_none();
    let mut streams = vec![
        read_from(results, job, Stream::Out)
            .await
            .map_err(unreadable)?,
    ];
    if is_apart {
        streams.push(
            read_from(results, job, Stream::Err)
                .await
                .map_err(unreadable)?,
        );
    }
    let seen = match tool.shows {
        ShownPartRule::New => Jobs::seen(job),
        ShownPartRule::All | ShownPartRule::Tail => [0, 0],
    };
    let part = OutputPart {
        seen,
        lines: match tool.shows {
            ShownPartRule::Tail => request.lines.or(tool.lines),
            ShownPartRule::All | ShownPartRule::New => None,
        },
        most_bytes: request.max_bytes,
        window: tool.window.clone(),
        filter: request.filter.clone(),
    };
    let (profile, job_read) = (results.profile.clone(), job.clone());
    let reading = move || part.read(&profile, &job_read, &streams);
    let (finished, now_seen) = if job.output_bytes <= MUCH {
        reading()?
    } else {
        let read = errand::read(move |_| reading());
        read.await.map_err(|failure| failure.to_string())??
    };
    if tool.shows == ShownPartRule::New {
        Jobs::saw(job, now_seen);
    }
    Ok(finished)
}

async fn read_from(
    results: &JobResults<'_>,
    job: &Job,
    stream: Stream,
) -> crate::error::Result<OutputSource> {
    let source = OutputSource::open(results.jobs, job, stream).await?;
    Ok(source.so_far())
}

/// Which part of a job's output is read.
struct OutputPart {
    seen: [u64; 2],
    lines: Option<u64>,
    most_bytes: Option<usize>,
    window: Option<Window>,
    /// Only lines that match are wanted.
    filter: Option<Regex>,
}

impl OutputPart {
    /// The part as the profile shows it, and how far the streams go.
    fn read(
        &self,
        profile: &Profile,
        job: &Job,
        streams: &[OutputSource],
    ) -> Result<(Finished, [u64; 2]), String> {
        let failed = |error: std::io::Error| error.to_string();
        let mut views = Vec::new();
        for (source, stream) in streams.iter().zip([Stream::Out, Stream::Err]) {
            views.push(source.view(stream).ok_or("the output is gone")?);
        }
        let length = |number: usize| views.get(number).map_or(0, |view| view.source().len());
        let now_seen = [length(0), length(1)];
        let mut rests = Vec::new();
        for (view, from) in views.iter().zip(self.seen) {
            rests.push(Since::new(view.source(), from).map_err(failed)?);
        }
        let mut matching = Vec::new();
        if let Some(filter) = &self.filter {
            for rest in &rests {
                matching.push(matching_lines(rest, filter).map_err(failed)?);
            }
        }
        let matching: Vec<_> = matching.iter().map(|text| InMemory(text)).collect();
        let mut shown: Box<dyn Iterator<Item = View<'_>>> = match &self.filter {
            Some(_) => Box::new(matching.iter().map(|text| View::of_shown(text))),
            None => Box::new(rests.iter().map(|rest| View::of_shown(rest))),
        };
        let out = shown.next().ok_or("the output is gone")?;
        let views = Views::of_streams(out, shown.next());
        let call = CallTerms {
            tail: self.lines,
            ..CallTerms::default()
        };
        let ending = JobEnding {
            exit: exit(job),
            ended_by: job.ended_by,
            ran_for: Duration::from_millis(job.ran_ms()),
            limit: job.limit,
            call: &call,
            most_bytes: self.most_bytes,
            window: self.window.as_ref(),
        };
        let finished = of_views(profile, &views, &ending, || None).map_err(failed)?;
        Ok((finished, now_seen))
    }
}

/// The lines of a stream that match.
fn matching_lines(source: &dyn Source, filter: &Regex) -> io::Result<String> {
    let (mut found, mut line, mut at) = (String::new(), Vec::new(), 0);
    while at < source.len() && found.len() < FILTERED {
        let end = source.len().min(at + STEP);
        for piece in source.read(at..end)? {
            let Some(bytes) = piece.shown() else {
                continue;
            };
            for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                line.extend_from_slice(part);
                if part.ends_with(b"\n") || line.len() >= FILTERED {
                    push_matching(&mut found, &line, filter);
                    line.clear();
                }
            }
        }
        at = end;
    }
    push_matching(&mut found, &line, filter);
    Ok(found)
}

fn push_matching(found: &mut String, line: &[u8], filter: &Regex) {
    let line = String::from_utf8_lossy(line);
    if !line.is_empty() && filter.is_match(line.trim_end_matches('\n')) {
        found.push_str(&line);
    }
}

/// A line for each job that the caller started in the background.
async fn list(call: &JobToolCall<'_>, tool: &FurtherTool, begun: Instant) -> Reply {
    let profile = call.results.profile;
    let (jobs, owner) = (call.results.jobs.clone(), call.owner.to_owned());
    let listed = errand::read(move |_| jobs.list(Whose::Owner(&owner)));
    let mut listed = listed.await.unwrap_or_default();
    listed.retain(|job| job.kind == JobKind::Background);
    let lines = listed.iter().map(|job| about(profile, job, &tool.parts));
    let lines: Vec<String> = lines.collect();
    let text = if lines.is_empty() {
        tool.none.clone()
    } else {
        lines.join("\n")
    };
    Reply {
        text,
        result: serde_json::json!({ "jobs": listed }),
        wall_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        ..Reply::default()
    }
}

/// What these parts say of a job without its output.
pub(super) fn about(profile: &Profile, job: &Job, parts: &[ReplyPart]) -> String {
    let ending = JobEnding {
        exit: exit(job),
        ended_by: job.ended_by,
        ran_for: Duration::from_millis(job.ran_ms()),
        limit: job.limit,
        call: &job.call,
        most_bytes: None,
        window: None,
    };
    let nothing = without_output(&ending);
    let progress = if job.has_ended() {
        Progress::Ended(&nothing)
    } else {
        Progress::Running(&nothing)
    };
    let facts = Facts {
        profile,
        progress,
        job: Some(JobFacts::from(job)),
        terminal: None,
        tool: &profile.tool.name,
        did: Did::default(),
    };
    compose(parts, &facts)
}
