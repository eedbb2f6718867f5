//! What a span says of a call, by the conventions of OpenTelemetry for processes, for generative AI
//! (`gen_ai.*`) and for MCP (`mcp.*`) where they have a name for it, and else under `bashd.*`.

use super::SpanSettings;
use crate::ledger::{Record, RecordedOutcome};
use crate::minimize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Bytes of a command in a span at most.
const LONGEST_COMMAND: usize = 4096;

/// Kinds of spans: work inside, and a request that was served.
const INTERNAL: u32 = 1;
const SERVER: u32 = 2;

/// Codes of a status.
const OK: u32 = 1;
const ERROR: u32 = 2;

pub(super) fn text(name: &str, value: &str) -> Value {
    json!({"key": name, "value": {"stringValue": value}})
}

/// Whole numbers are texts in OTLP's JSON.
pub(super) fn number(name: &str, value: i64) -> Value {
    json!({"key": name, "value": {"intValue": value.to_string()}})
}

/// The span of a call.
pub(super) fn of(record: &Record, settings: &SpanSettings) -> Value {
    let begun = record.time.as_nanosecond();
    let ended = begun + i128::from(record.wall_ms) * 1_000_000;
    let front_end = record.owner.split(':').next().unwrap_or_default();
    let is_mcp = front_end == "mcp";
    // What is known again belongs to the same trace: the calls of a client's session.
    let trace = match &record.session {
        Some(session) => format!("{}\0{session}", record.owner),
        None => record.id.clone(),
    };
    let failure = failure_of(record);
    let status = match &failure {
        None => json!({"code": OK}),
        Some((_, why)) => json!({"code": ERROR, "message": why}),
    };
    let name = if is_mcp {
        "tools/call bash".to_owned()
    } else {
        "execute_tool bash".to_owned()
    };
    json!({
        "traceId": hex(&trace, 16),
        "spanId": hex(&record.id, 8),
        "name": name,
        "kind": if front_end == "cli" { INTERNAL } else { SERVER },
        "startTimeUnixNano": begun.to_string(),
        "endTimeUnixNano": ended.to_string(),
        "attributes": attributes(record, settings, failure.map(|(kind, _)| kind)),
        "status": status,
    })
}

fn attributes(record: &Record, settings: &SpanSettings, failure: Option<String>) -> Vec<Value> {
    let mut all = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", "bash"),
        text("gen_ai.tool.type", "function"),
        text("gen_ai.tool.call.id", &record.id),
        text("bashd.profile", &record.profile),
        text("bashd.owner", &record.owner),
        text("bashd.outcome", &outcome(record.outcome)),
        text(
            "bashd.command.name",
            &minimize::command_name(&record.command),
        ),
        number("bashd.output.bytes", record.output_bytes.cast_signed()),
        number("bashd.output.lines", record.output_lines.cast_signed()),
    ];
    if record.owner.starts_with("mcp:") {
        all.push(text("mcp.method.name", "tools/call"));
    }
    let session = record.session.as_deref().filter(|name| !name.is_empty());
    all.extend(session.map(|name| text("bashd.session", name)));
    all.extend(
        record
            .place
            .as_deref()
            .map(|place| text("bashd.place", place)),
    );
    all.extend(record.job.as_deref().map(|job| text("bashd.job", job)));
    all.extend(
        record
            .exit_code
            .map(|code| number("process.exit.code", i64::from(code))),
    );
    all.extend(
        record
            .signal
            .map(|signal| number("bashd.signal", i64::from(signal))),
    );
    all.extend(
        record
            .ran_ms
            .map(|ran| number("bashd.ran_ms", ran.cast_signed())),
    );
    all.extend(
        record
            .minimized
            .as_ref()
            .map(|of| number("bashd.output.shown_bytes", of.shown_bytes.cast_signed())),
    );
    all.extend(
        record
            .objection
            .as_ref()
            .map(|of| text("bashd.rule", &of.rule)),
    );
    all.extend(failure.map(|kind| text("error.type", &kind)));
    if settings.commands {
        let command = crate::ledger::record::cut(&record.command, LONGEST_COMMAND);
        all.push(text("process.command_line", command));
        all.push(text("process.working_directory", &record.cwd));
    }
    all
}

/// What kind of failure it was, and why. A status that is not 0 is an answer of the command, yet
/// who looks for trouble looks for it.
fn failure_of(record: &Record) -> Option<(String, String)> {
    if !record.failed() {
        return None;
    }
    let kind = outcome(record.outcome);
    let kind = match (record.outcome, record.exit_code) {
        (RecordedOutcome::Exited, Some(code)) => format!("exit_{code}"),
        _ => kind,
    };
    // An error's text may name files: only a rule's name is told without being asked for.
    let why = record.objection.as_ref().map(|of| of.rule.clone());
    Some((kind.clone(), why.unwrap_or(kind)))
}

fn outcome(outcome: RecordedOutcome) -> String {
    let word = serde_json::to_value(outcome).ok();
    word.and_then(|word| word.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// The beginning of a text's digest.
fn hex(text: &str, bytes: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let beginning = digest.iter().take(bytes);
    beginning.fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
