//! What we send to a client: responses, events, and the older document's form of a reply.

use super::message::Misunderstood;
use bashd::jobs::{Job, JobProgress};
use bashd::{Event, Reply, Stream};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The response to a request that succeeded.
pub(super) fn success(id: Option<&Value>, command: &str, data: Option<Value>) -> Value {
    let mut response = begin(id, "response");
    response.insert("command".into(), command.into());
    response.insert("success".into(), true.into());
    if let Some(data) = data {
        response.insert("data".into(), data);
    }
    Value::Object(response)
}

/// The response to a request that failed.
pub(super) fn failure(id: Option<&Value>, command: &str, error: &str) -> Value {
    let mut response = begin(id, "response");
    response.insert("command".into(), command.into());
    response.insert("success".into(), false.into());
    response.insert("error".into(), error.into());
    Value::Object(response)
}

/// The response to a line that is not a message.
pub(super) fn misunderstood(why: &Misunderstood) -> Value {
    failure(why.id.as_ref(), &why.command, &why.reason)
}

fn begin(id: Option<&Value>, what: &str) -> Map<String, Value> {
    let mut message = Map::new();
    if let Some(id) = id {
        message.insert("id".into(), id.clone());
    }
    message.insert("type".into(), what.into());
    message
}

/// An event of a call, as a message.
pub(super) fn event(id: Option<&Value>, event: &Event) -> Option<Value> {
    let (what, fields) = match event {
        Event::Started { pid } => ("started", json!({ "pid": pid })),
        Event::Terminal { id } => ("terminal", json!({ "terminalId": id })),
        Event::Output {
            stream,
            offset,
            text,
        } => {
            let stream = match stream {
                Stream::Out => "out",
                Stream::Err => "err",
            };
            let fields = json!({ "stream": stream, "offset": offset, "text": text });
            ("output", fields)
        }
        Event::Finished(reply) => {
            let fields = json!({
                "exit_code": reply.exit_code,
                "signal": reply.signal,
                "timed_out": reply.timed_out,
                "cancelled": reply.cancelled,
                "output_bytes": reply.output_bytes,
                "wall_ms": reply.wall_ms,
            });
            ("finished", fields)
        }
        _ => return None,
    };
    let mut message = begin(id, what);
    if let Value::Object(fields) = fields {
        message.extend(fields);
    }
    Some(Value::Object(message))
}

/// The message that one of the client's jobs has ended, with what its call would have answered.
pub(super) fn job_ended(job: &Job, reply: &Reply) -> Value {
    let mut message = begin(None, "job_ended");
    message.insert("job".into(), serde_json::to_value(job).unwrap_or_default());
    message.insert("text".into(), reply.text.clone().into());
    let details = reply.result.get("details").cloned().unwrap_or_else(
        || json!({"async": {"state": job.outcome(), "jobId": job.alias, "type": "bash"}}),
    );
    message.insert("details".into(), details);
    message.insert("artifact".into(), json!(reply.artifact));
    Value::Object(message)
}

/// What to tell a model about jobs that ended together.
pub(super) fn jobs_ended(ids: &[&str], text: &str) -> Value {
    let mut message = begin(None, "jobs_ended");
    message.insert("jobs".into(), ids.to_vec().into());
    message.insert("text".into(), text.into());
    Value::Object(message)
}

/// The progress of one of the client's jobs.
pub(super) fn job_progress(progress: &JobProgress) -> Value {
    let mut message = begin(None, "job_progress");
    let job = &progress.job;
    message.insert("job".into(), serde_json::to_value(job).unwrap_or_default());
    message.insert("text".into(), progress.tail.clone().into());
    let details = json!({"async": {"state": "running", "jobId": job.alias, "type": "bash"}});
    message.insert("details".into(), details);
    Value::Object(message)
}

/// A reply to a full tool call: every field of `docs/reply.md`.
pub(super) fn full(id: Option<&Value>, command: &str, reply: &Reply) -> Value {
    match serde_json::to_value(reply) {
        Ok(data) => success(id, command, Some(data)),
        Err(error) => failure(id, command, &error.to_string()),
    }
}

/// The older document's fields about lines that the profile cut.
const CUT_LINES: [&str; 2] = ["columnDroppedBytes", "columnTruncatedLines"];

/// A reply to `bash`, in the older document's fields. There, a command that did not run is a
/// failure, and one that was ended has no status: a line before its output says who ended it.
pub(super) fn bash(id: Option<&Value>, reply: &Reply, limit: Duration) -> Value {
    let is_refusal = reply.error.is_some() || reply.denied.is_some();
    if is_refusal {
        let denied = reply.denied.as_ref().map(|denied| denied.message.clone());
        let reason = reply.error.clone().or(denied).unwrap_or_default();
        let mut response = failure(id, "bash", &reason);
        if let (Some(denied), Value::Object(fields)) = (&reply.denied, &mut response) {
            fields.insert("denied".into(), json!(denied));
        }
        return response;
    }
    let mut data = Map::new();
    let annotation = if reply.timed_out {
        let seconds = limit.as_secs_f64();
        format!("[Command timed out after {seconds} seconds]\n")
    } else if reply.cancelled {
        "[Command cancelled]\n".to_owned()
    } else {
        String::new()
    };
    data.insert("output".into(), (annotation + &reply.output).into());
    // The older document knows only one word for "ended from outside".
    let cancelled = reply.cancelled || reply.timed_out;
    // As shells count: a signal is 128 + n.
    let signal = reply.signal.map(|signal| 128 + signal);
    if let Some(status) = reply.exit_code.or(signal).filter(|_| !cancelled) {
        data.insert("exitCode".into(), status.into());
    }
    data.insert("cancelled".into(), cancelled.into());
    data.insert("timedOut".into(), reply.timed_out.into());
    let cut_lines =
        CUT_LINES.map(|field| (field, reply.result.pointer(&format!("/summary/{field}"))));
    let is_cut = reply.omitted_bytes > 0 || cut_lines.iter().any(|(_, count)| count.is_some());
    data.insert("truncated".into(), is_cut.into());
    let total_lines = reply.output_lines + u64::from(reply.output_bytes > 0);
    data.insert("totalLines".into(), total_lines.into());
    data.insert("totalBytes".into(), reply.output_bytes.into());
    let shown = &reply.output;
    let lines = shown.matches('\n').count() + usize::from(!shown.is_empty());
    data.insert("outputLines".into(), lines.into());
    data.insert("outputBytes".into(), shown.len().into());
    if reply.omitted_bytes > 0 {
        data.insert("elidedBytes".into(), reply.omitted_bytes.into());
        data.insert("elidedLines".into(), reply.omitted_lines.into());
    }
    for (field, count) in cut_lines {
        if let Some(count) = count {
            data.insert(field.into(), count.clone());
        }
    }
    if let Some(artifact) = &reply.artifact {
        let id = artifact.strip_prefix("artifact://").unwrap_or(artifact);
        data.insert("artifactId".into(), id.into());
    }
    if let Some(terminal) = &reply.terminal {
        data.insert("terminalId".into(), terminal.clone().into());
    }
    success(id, "bash", Some(Value::Object(data)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_a_bash_is_a_line_before_its_output_and_then_there_is_no_status() {
        let limit = Duration::from_mins(5);
        let mut reply = Reply::default();
        reply.output = "so far\n".to_owned();
        reply.exit_code = Some(143);
        let data = |reply: &Reply| bash(None, reply, limit)["data"].clone();
        assert_eq!(data(&reply)["exitCode"], 143);
        assert_eq!(data(&reply)["output"], "so far\n");
        reply.timed_out = true;
        let timed_out = data(&reply);
        let text = "[Command timed out after 300 seconds]\nso far\n";
        assert_eq!(timed_out["output"], text);
        assert_eq!(
            (&timed_out["cancelled"], timed_out.get("exitCode")),
            (&json!(true), None)
        );
        // What the command wrote is counted, not the line.
        assert_eq!(
            (&timed_out["outputBytes"], &timed_out["outputLines"]),
            (&json!(7), &json!(2))
        );
        (reply.timed_out, reply.cancelled) = (false, true);
        (reply.exit_code, reply.signal) = (None, Some(15));
        let cancelled = data(&reply);
        assert_eq!(cancelled["output"], "[Command cancelled]\nso far\n");
        assert_eq!(cancelled.get("exitCode"), None);
    }
}
