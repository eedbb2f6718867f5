//! The shapes of replies: what text and result are made of, by kind, with the profile's words.
//!
//! State comes from the run's fields alone; nothing here looks for markers in output.

use super::Profile;
use super::detailed;
use super::facts::{Did, Facts, Progress, Unrun};
use super::parts::{self, ReplyPart, compose};
use super::reply::{BackgroundedCall, Finished, Readiness, SeenAtTerminal, TerminalProgress};
use super::rules::{BackgroundRules, JobLayout};
use super::texts::{ErrorWhen, OutcomeTexts, ReplyShape};
use crate::event::Stream;
use crate::exec::{EndedBy, Exit};
use crate::jobs::Met;
use crate::jobs::tool::texts::label;
use crate::notice::NoticeKind;
use crate::output::Captured;
use bashd_keeper::left_behind::{LeftBehind, LeftReason};
use bashd_keeper::signal;
use bashd_keeper::template::fill;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Processes that a text lists one by one.
const LISTED_PROCESSES: usize = 5;

/// How refusals are shown.
const REFUSAL: &str = "[{notice}]";

/// Characters of a command line in a text.
const LISTED_COMMAND: usize = 100;

/// The parts of a reply that depend on the profile's shape.
#[derive(Debug)]
pub(super) struct Shaped {
    pub(super) text: String,
    pub(super) result: Value,
    pub(super) is_error: bool,
}

/// A line that a reply adds to the output, and the stream that it is about.
pub(super) struct Remark {
    stream: Stream,
    pub(super) line: String,
}

/// Shapes a call in which nothing ran or we failed; `partial` is what was captured until then.
pub(super) fn of_error(profile: &Profile, why: Unrun, message: &str, partial: &str) -> Shaped {
    let full = before_partial(&format!("{}{message}", profile.reply.error_prefix), partial);
    let (text, result) = match profile.reply.shape {
        ReplyShape::Parts => {
            let facts = facts(profile, Progress::Unrun(why, message));
            let text = match compose(&profile.reply.parts, &facts) {
                text if text.is_empty() => full,
                text => before_partial(&text, partial),
            };
            let result = parts::as_data(&text).unwrap_or_else(|| json!({ "error": message }));
            (text, result)
        }
        ReplyShape::StreamsObject => {
            let result = json!({ "error": full });
            (result.to_string(), result)
        }
        ReplyShape::OutputThenExit
        | ReplyShape::FailureThenOutput
        | ReplyShape::Annotated
        | ReplyShape::Detailed => (full, json!({ "error": message })),
    };
    Shaped {
        text,
        result,
        is_error: profile.reply.unrun_is_error,
    }
}

/// What is known of a call of the tool that runs commands.
fn facts<'a>(profile: &'a Profile, progress: Progress<'a>) -> Facts<'a> {
    Facts {
        profile,
        progress,
        job: None,
        terminal: None,
        tool: &profile.tool.name,
        did: Did::default(),
    }
}

/// Shapes what a call found at the terminal of its session.
pub(super) fn at_terminal(profile: &Profile, seen: &SeenAtTerminal) -> Shaped {
    let progress = match seen.progress {
        TerminalProgress::Ended => Progress::Ended(&seen.finished),
        _ => Progress::Running(&seen.finished),
    };
    let facts = Facts {
        terminal: Some(seen),
        ..facts(profile, progress)
    };
    let mut shaped = of_parts(&profile.reply.parts, &facts);
    shaped.is_error |= seen.progress == TerminalProgress::Busy;
    shaped
}

/// Shapes what the parts of a profile, or of one of its tools, say.
pub(super) fn of_parts(parts: &[ReplyPart], facts: &Facts<'_>) -> Shaped {
    let text = compose(parts, facts);
    let (result, is_error) = match facts.progress {
        Progress::Ended(finished) => (short_result(finished), is_error(facts.profile, finished)),
        Progress::Running(_) => (json!({ "state": "running" }), false),
        Progress::Unrun(_, message) => {
            let is_error = facts.profile.reply.unrun_is_error;
            (json!({ "error": message }), is_error)
        }
    };
    Shaped {
        result: parts::as_data(&text).unwrap_or(result),
        text,
        is_error,
    }
}

/// Shapes a run that came to its end, whatever that was.
pub(super) fn of_run(profile: &Profile, finished: &Finished) -> Shaped {
    match profile.reply.shape {
        ReplyShape::StreamsObject => streams_object(profile, finished),
        ReplyShape::OutputThenExit => Shaped {
            text: output_then_exit(profile, finished),
            result: short_result(finished),
            is_error: is_error(profile, finished),
        },
        ReplyShape::FailureThenOutput => Shaped {
            text: failure_then_output(profile, finished),
            result: short_result(finished),
            is_error: is_error(profile, finished),
        },
        ReplyShape::Annotated => Shaped {
            text: annotated(profile, finished),
            result: full_result(finished),
            is_error: is_error(profile, finished),
        },
        ReplyShape::Detailed => detailed::of_run(profile, finished),
        ReplyShape::Parts => {
            let facts = facts(profile, Progress::Ended(finished));
            of_parts(&profile.reply.parts, &facts)
        }
    }
}

/// Shapes a call whose command goes on as a job.
pub(super) fn of_job(profile: &Profile, handed: &BackgroundedCall) -> Shaped {
    if profile.reply.shape == ReplyShape::Parts {
        let facts = Facts {
            job: Some(handed.into()),
            ..facts(profile, Progress::Running(&handed.so_far))
        };
        return of_parts(&profile.reply.parts, &facts);
    }
    let rules = &profile.background;
    let seconds = format!("{:.1}", handed.so_far.ran_for.as_secs_f64());
    let output_file = handed.output_file.display().to_string();
    let values = [
        ("job", handed.alias.as_str()),
        ("id", &handed.id),
        ("pid", &handed.pid.to_string()),
        ("output_file", &output_file),
        ("label", &label(&handed.command)),
        ("command", &handed.command),
        ("seconds", seconds.trim_end_matches(".0")),
        ("limit", &whole_time(handed.limit)),
    ];
    let template = if handed.waits {
        &rules.backgrounded
    } else {
        &rules.started
    };
    let told = fill(template, &values);
    let told = match &handed.until {
        Some(until) => format!("{told}\n{}", readiness(rules, until)),
        None => told,
    };
    let text = match (rules.layout, handed.waits) {
        (JobLayout::Lines, false) => told,
        // What came of the wait has the output.
        (JobLayout::OutputFirst, _) if handed.until.is_some() => told,
        (JobLayout::Lines, true) | (JobLayout::OutputFirst, _) => {
            let mut text = partial_output(profile, &handed.so_far);
            start_line(&mut text);
            text + &told
        }
        (JobLayout::Paragraphs, _) => {
            let output = output(&handed.so_far.captured).trim_end().to_owned();
            let remarks = remarks(profile, &handed.so_far).into_iter().map(|r| r.line);
            let parts = std::iter::once(output).chain(remarks).chain([told]);
            let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
            parts.join("\n\n")
        }
    };
    let running = json!({"state": "running", "jobId": handed.alias, "type": "bash"});
    let mut details = detailed::timeouts(&handed.so_far);
    details.insert("async".to_owned(), running.clone());
    let until = handed.until.as_ref();
    let mut result = json!({
        "details": details,
        "async": running,
        "job": handed.id,
        "alias": handed.alias,
        "state": "running",
        "pid": handed.pid,
        "output_file": output_file,
        "output_bytes": handed.so_far.written.bytes,
    });
    if let Some(until) = until {
        result["until"] = json!({ "met": until.met, "by": until.by });
    }
    Shaped {
        text,
        result,
        is_error: false,
    }
}

/// What came of the wait for a job to be ready: the end of its output, and a line.
fn readiness(rules: &BackgroundRules, until: &Readiness) -> String {
    let template = match until.met {
        Met::Yes => &rules.ready,
        Met::Ended => &rules.ended_first,
        Met::NotYet => &rules.not_ready,
    };
    let seconds = format!("{:.1}", until.after.as_secs_f64());
    let by = until.by.as_deref().unwrap_or("nothing more is written");
    let values = [
        ("by", by),
        ("seconds", seconds.as_str()),
        ("state", until.state.as_str()),
    ];
    let mut text = until.tail.clone();
    start_line(&mut text);
    text + &fill(template, &values)
}

/// A time limit in words: `24 h`, `2 m`, `90 s`.
fn whole_time(limit: Duration) -> String {
    match limit.as_secs() {
        seconds if seconds >= 3600 && seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds >= 120 && seconds % 60 == 0 => format!("{} m", seconds / 60),
        _ => format!("{} s", limit.as_secs_f64()),
    }
}

/// The text that the profile shows of the output, without anything around it.
pub(super) fn output(captured: &Captured) -> String {
    match captured {
        Captured::One(capture) => capture.text.clone(),
        Captured::Apart { out, err } => {
            let mut text = out.text.clone();
            if !err.text.is_empty() {
                start_line(&mut text);
                text.push_str(&err.text);
            }
            text
        }
    }
}

/// The output with the remarks about it at its end.
pub(super) fn partial_output(profile: &Profile, finished: &Finished) -> String {
    let mut text = output(&finished.captured);
    for remark in remarks(profile, finished) {
        start_line(&mut text);
        text.push_str(&remark.line);
    }
    text
}

fn output_then_exit(profile: &Profile, finished: &Finished) -> String {
    let texts = &profile.reply.texts;
    let mut lines = vec![output(&finished.captured)];
    lines.extend(remarks(profile, finished).into_iter().map(|r| r.line));
    lines.extend(ended_text(texts, finished));
    lines.push(exit_text(texts, finished));
    lines.join("\n")
}

fn failure_then_output(profile: &Profile, finished: &Finished) -> String {
    let texts = &profile.reply.texts;
    let body = partial_output(profile, finished);
    match ended_text(texts, finished) {
        Some(ended) if body.is_empty() => ended,
        Some(ended) => format!("{ended}\n{body}"),
        None if finished.exit == Exit::Code(0) => body,
        None => format!("{}\n{body}", exit_text(texts, finished)),
    }
}

fn annotated(profile: &Profile, finished: &Finished) -> String {
    let texts = &profile.reply.texts;
    let mut text = partial_output(profile, finished);
    let outcome = ended_text(texts, finished).or_else(|| match finished.exit {
        Exit::Code(0) => None,
        Exit::Signal(number) if !texts.signal.is_empty() => {
            let values = [
                ("signal", &*number.to_string()),
                ("name", signal::name(number)),
            ];
            Some(fill(&texts.signal, &values))
        }
        Exit::Code(_) | Exit::Signal(_) | Exit::Unknown => Some(exit_text(texts, finished)),
    });
    if let Some(outcome) = outcome {
        start_line(&mut text);
        text.push_str(&outcome);
    }
    if text.is_empty() {
        text.push_str(&texts.empty);
    }
    text
}

fn streams_object(profile: &Profile, finished: &Finished) -> Shaped {
    let texts = &profile.reply.texts;
    let (mut out, mut err) = match &finished.captured {
        Captured::One(both) => (both.text.clone(), String::new()),
        Captured::Apart { out, err } => (out.text.clone(), err.text.clone()),
    };
    if is_error(profile, finished) {
        let partial = partial_output(profile, finished);
        return match ended_text(texts, finished) {
            Some(message) => of_error(profile, Unrun::Failed, &message, &partial),
            None if is_not_runnable(finished) => {
                let message = message_left_out(finished).unwrap_or(partial.trim());
                of_error(profile, Unrun::Failed, message, "")
            }
            None => of_error(
                profile,
                Unrun::Failed,
                &exit_text(texts, finished),
                &partial,
            ),
        };
    }
    for remark in remarks(profile, finished) {
        let text = match remark.stream {
            Stream::Out => &mut out,
            Stream::Err => &mut err,
        };
        start_line(text);
        text.push_str(&remark.line);
    }
    let no_status = || texts.no_status.parse::<i32>().ok();
    let result = json!({
        "stdout": out,
        "stderr": err,
        "exitCode": finished.status().or_else(no_status),
    });
    Shaped {
        text: result.to_string(),
        result,
        is_error: false,
    }
}

/// Whether the profile counts this run as a tool error.
pub(super) fn is_error(profile: &Profile, finished: &Finished) -> bool {
    profile.reply.error_when.iter().any(|when| match when {
        ErrorWhen::TimedOut => finished.ended_by == Some(EndedBy::Timeout),
        ErrorWhen::Cancelled => finished.ended_by == Some(EndedBy::Cancel),
        ErrorWhen::Failed => finished.exit != Exit::Code(0) && !finished.is_benign,
        ErrorWhen::NotRunnable => finished.ended_by.is_none() && is_not_runnable(finished),
    })
}

/// Whether the run produced only the shell's message that it found nothing to run. A program
/// may exit with the same status, and mean something else.
fn is_not_runnable(finished: &Finished) -> bool {
    let Captured::Apart { out, err } = &finished.captured else {
        return false;
    };
    matches!(finished.exit, Exit::Code(126 | 127))
        && finished.missing_program.is_some()
        && out.bytes == 0
        && !err.text.trim().is_empty()
}

/// The message of such a run, if the window over stderr leaves it out.
fn message_left_out(finished: &Finished) -> Option<&str> {
    let Captured::Apart { err, .. } = &finished.captured else {
        return None;
    };
    let said = finished.missing_program.as_deref()?;
    (err.omitted.is_some() && !said.is_empty()).then_some(said)
}

pub(super) fn ended_text(texts: &OutcomeTexts, finished: &Finished) -> Option<String> {
    ended_in(&texts.timed_out, &texts.cancelled, finished)
}

/// What ended a run in a terminal that wrote nothing, if there are other words for that.
pub(super) fn ended_silently(texts: &OutcomeTexts, finished: &Finished) -> Option<String> {
    let (timed_out, cancelled) = (
        &texts.timed_out_silent_in_terminal,
        &texts.cancelled_silent_in_terminal,
    );
    let ended = ended_in(timed_out, cancelled, finished);
    ended.filter(|text| finished.in_terminal && !text.is_empty())
}

fn ended_in(timed_out: &str, cancelled: &str, finished: &Finished) -> Option<String> {
    match finished.ended_by? {
        EndedBy::Timeout => {
            let seconds = finished.timeout.as_secs_f64().to_string();
            Some(fill(timed_out, &[("seconds", &seconds)]))
        }
        EndedBy::Cancel => Some(cancelled.to_owned()),
        EndedBy::Place => Some("the place at which it ran was ended".to_owned()),
    }
}

pub(super) fn exit_text(texts: &OutcomeTexts, finished: &Finished) -> String {
    let code = finished.status().map(|status| status.to_string());
    let code = code.unwrap_or_else(|| texts.no_status.clone());
    fill(&texts.exit, &[("code", &code)])
}

/// What is worth saying besides the outcome, as far as the profile has words for it.
pub(super) fn remarks(profile: &Profile, finished: &Finished) -> Vec<Remark> {
    let texts = &profile.reply.texts;
    let notices = finished.notices.iter().filter_map(|notice| {
        let (template, stream) = match notice.kind {
            NoticeKind::OutputLost(stream)
                if finished.terminal.is_some() && !texts.terminal_truncated.is_empty() =>
            {
                (texts.terminal_truncated.as_str(), stream)
            }
            NoticeKind::OutputLost(stream) => (texts.output_lost.as_str(), stream),
            NoticeKind::Request => (texts.notice.as_str(), Stream::Err),
            // A line of its own, where the profile has room for notices at all.
            NoticeKind::Refusal if !texts.notice.is_empty() => (REFUSAL, Stream::Err),
            NoticeKind::NoTerminal | NoticeKind::Refusal => return None,
        };
        let line = fill(template, &[("notice", &notice.text)]);
        Some(Remark { stream, line })
    });
    let listed = finished.left_behind.iter().take(LISTED_PROCESSES);
    let processes = listed.map(|process| left_text(texts, process));
    let unlisted = finished.left_behind.len().saturating_sub(LISTED_PROCESSES);
    let more = (unlisted > 0).then(|| {
        let count = unlisted.to_string();
        fill(&texts.left_more, &[("count", &count)])
    });
    let job = finished
        .left_behind
        .iter()
        .find_map(|process| process.alias.as_deref());
    let next = job.map(|job| fill(&texts.left_next, &[("job", job)]));
    let processes = processes.chain(more).chain(next).map(|line| Remark {
        stream: Stream::Err,
        line,
    });
    let told = notices.chain(processes);
    told.filter(|remark| !remark.line.is_empty()).collect()
}

fn left_text(texts: &OutcomeTexts, process: &LeftBehind) -> String {
    let (template, reason) = match process.reason {
        LeftReason::Survivor => (&texts.left_running, "left deliberately"),
        LeftReason::NotPermitted => (&texts.left_unended, "it belongs to another user"),
        LeftReason::Unkillable => (&texts.left_unended, "it does not respond to SIGKILL"),
    };
    let command: String = process
        .command
        .chars()
        .take(LISTED_COMMAND)
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect();
    let pid = process.pid.to_string();
    let job = process.alias.as_deref();
    let as_job = job.map(|job| format!(" as job {job}")).unwrap_or_default();
    fill(
        template,
        &[
            ("pid", &pid),
            ("command", &command),
            ("reason", reason),
            ("as_job", &as_job),
        ],
    )
}

/// The outcome in four fields, for shapes whose document knows only a text.
fn short_result(finished: &Finished) -> Value {
    json!({
        "exit_code": finished.status(),
        "timed_out": finished.ended_by == Some(EndedBy::Timeout),
        "cancelled": finished.ended_by == Some(EndedBy::Cancel),
        "truncated": omitted(&finished.captured).0 > 0,
    })
}

/// The whole outcome as data.
fn full_result(finished: &Finished) -> Value {
    let (exit_code, signal) = match finished.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
        Exit::Unknown => (None, None),
    };
    let (omitted_bytes, omitted_lines) = omitted(&finished.captured);
    let notices: Vec<_> = finished.notices.iter().map(|notice| &notice.text).collect();
    let fields = [
        ("exit_code", json!(exit_code)),
        ("signal", json!(signal)),
        (
            "timed_out",
            json!(finished.ended_by == Some(EndedBy::Timeout)),
        ),
        (
            "cancelled",
            json!(finished.ended_by == Some(EndedBy::Cancel)),
        ),
        ("timeout_s", json!(finished.timeout.as_secs_f64())),
        ("output_bytes", json!(finished.written.bytes)),
        ("output_lines", json!(finished.written.lines)),
        ("omitted_bytes", json!(omitted_bytes)),
        ("omitted_lines", json!(omitted_lines)),
        ("dropped_bytes", json!(finished.dropped_bytes)),
        ("left_behind", json!(finished.left_behind)),
        ("notices", json!(notices)),
    ];
    // `json!` would let the map grow four times, which costs more than everything else in a short
    // reply.
    let mut result = Map::with_capacity(fields.len());
    result.extend(fields.map(|(name, value)| (name.to_owned(), value)));
    result.into()
}

/// Bytes and newlines that the windows left out.
pub(super) fn omitted(captured: &Captured) -> (u64, u64) {
    let texts = match captured {
        Captured::One(both) => [Some(both), None],
        Captured::Apart { out, err } => [Some(out), Some(err)],
    };
    let texts = texts.into_iter().flatten();
    let omitted = texts.filter_map(|capture| capture.omitted);
    omitted.fold((0, 0), |(bytes, lines), omitted| {
        (bytes + omitted.bytes, lines + omitted.lines)
    })
}

fn before_partial(message: &str, partial: &str) -> String {
    if partial.is_empty() {
        message.to_owned()
    } else {
        format!("{message}\n\n{partial}")
    }
}

/// Makes sure that what comes next begins a line.
pub(super) fn start_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
