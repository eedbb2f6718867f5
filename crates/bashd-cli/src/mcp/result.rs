//! From a reply to a tool's result: text for the model, data for programs.
//!
//! Two forms of the same: rmcp's own, and the whole answer as a line. The line is written from the
//! reply at once; rmcp's would be a tree of it first, and take several times as long.

use bashd::plan::LimitsInForce;
use bashd::{Denied, LeftBehind, Reply};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, RequestId};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::sync::Arc;

/// Where the profile's own structured result stands in `_meta`: models have no use for it twice.
const RESULT: &str = "bashd/result";

/// Bytes that an answer usually has beside its text and its output.
const AROUND: usize = 1024;

/// The result of a call: the reply's text, and its fields.
pub(super) fn of(reply: Reply) -> CallToolResult {
    let fields = serde_json::to_value(Structured(&reply)).unwrap_or_default();
    let content = vec![ContentBlock::text(reply.text)];
    let mut answer = if reply.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    answer.structured_content = Some(fields);
    if !reply.result.is_null() {
        let mut meta = JsonObject::new();
        meta.insert(RESULT.to_owned(), reply.result);
        answer.meta = Some(MetaObject(meta));
    }
    answer
}

/// The line that answers a call of a client with a handshake, without its newline.
pub(super) fn line(id: &RequestId, reply: &Reply) -> Option<Vec<u8>> {
    let meta = (!reply.result.is_null()).then_some(Meta {
        result: &reply.result,
    });
    let answer = Answer {
        jsonrpc: "2.0",
        id,
        result: Answered {
            content: [Text {
                kind: "text",
                text: &reply.text,
            }],
            structured_content: Structured(reply),
            is_error: reply.is_error,
            meta,
        },
    };
    let mut line = Vec::with_capacity(reply.text.len() + reply.output.len() + AROUND);
    serde_json::to_writer(&mut line, &answer).ok()?;
    Some(line)
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: Answered<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'a> {
    content: [Text<'a>; 1],
    structured_content: Structured<'a>,
    is_error: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
}

#[derive(Serialize)]
struct Text<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Meta<'a> {
    #[serde(rename = "bashd/result")]
    result: &'a Value,
}

/// What of a reply stands in `structuredContent`.
struct Structured<'a>(&'a Reply);

impl Serialize for Structured<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fields::serialize(self.0, serializer)
    }
}

/// The fields of a reply, but for those that have places of their own in the protocol. What is null
/// in a reply is left out: clients pass this object on to models, and a null costs tokens and says
/// nothing.
#[derive(Serialize)]
#[serde(remote = "Reply")]
struct Fields {
    output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    timed_out: bool,
    cancelled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    denied: Option<Denied>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    output_bytes: u64,
    output_lines: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_bytes: Option<u64>,
    omitted_bytes: u64,
    omitted_lines: u64,
    dropped_bytes: u64,
    wall_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    left_behind: Vec<LeftBehind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_reset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<LimitsInForce>,
}

/// What `structuredContent` holds.
pub(super) fn schema() -> Arc<JsonObject> {
    let text = |about: &str| json!({"type": "string", "description": about});
    let flag = |about: &str| json!({"type": "boolean", "description": about});
    let count = |about: &str| json!({"type": "integer", "minimum": 0, "description": about});
    let number = |about: &str| json!({"type": "integer", "description": about});
    let left_behind = json!({
        "type": "array",
        "description": "Processes that outlived the call",
        "items": {
            "type": "object",
            "properties": {
                "pid": number("Its process id"),
                "command": text("Its command line"),
                "age_ms": count("Milliseconds since it started"),
                "reason": {"type": "string", "enum": ["survivor", "not_permitted", "unkillable"]},
            },
            "required": ["pid", "command", "age_ms", "reason"],
        },
    });
    let denied = json!({
        "type": "object",
        "description": "The rule that denied the command; nothing ran",
        "properties": {
            "rule": text("Its name"),
            "message": text("What it says"),
            "suggested_tool": text("The tool to use instead"),
        },
        "required": ["rule", "message"],
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "output": text("The output, cut to its window"),
            "exit_code": number("The command's exit status; absent when there is none"),
            "signal": number("The signal that ended the shell"),
            "timed_out": flag("The deadline ended the command"),
            "cancelled": flag("The caller ended the command"),
            "denied": denied,
            "error": text("Why bashd itself failed, or what was wrong with the request"),
            "output_bytes": count("Bytes that the command wrote, shown or not"),
            "output_lines": count("Newlines that the command wrote, shown or not"),
            "stderr_bytes": count("Bytes on stderr, where the streams are apart"),
            "dropped_bytes": count("Bytes that are no longer kept"),
            "wall_ms": count("From request to reply, in milliseconds"),
            "artifact": text("Handle of the stored full output"),
            "job": text("Handle of the background job"),
            "left_behind": left_behind,
            "omitted_bytes": count("Bytes that the output leaves out"),
            "omitted_lines": count("Newlines that the output leaves out"),
            "session_reset": text("Why the session has lost its state"),
            "terminal": text("The terminal of the client in which it ran"),
        },
        "required": [
            "output", "timed_out", "cancelled", "output_bytes", "output_lines", "dropped_bytes",
            "wall_ms", "left_behind",
        ],
    });
    Arc::new(object(schema))
}

/// The members of a JSON object.
pub(super) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bashd::{Config, Engine, Error, ErrorKind, KeeperSource, Request, Surroundings};
    use rmcp::model::{ServerJsonRpcMessage, ServerResult};

    /// A reply as an engine makes it; there is no other way to have one.
    async fn reply() -> Reply {
        let directory = tempfile::tempdir().unwrap();
        let surroundings = Surroundings {
            cwd: directory.path().to_owned(),
            env: Vec::new(),
        };
        let keeper = KeeperSource::Unavailable(Error::new(ErrorKind::Keeper, "none"));
        let config = Config::new(directory.path().join("state"));
        let engine = Engine::new(config, surroundings, keeper).unwrap();
        engine.run(Request::new("true")).await
    }

    /// Replies with little in them, and with much.
    async fn replies() -> [Reply; 3] {
        let few = reply().await;
        let mut many = few.clone();
        many.text = "\u{1b}[1m \"quoted\" \\ größe\n\u{2028}".to_owned();
        many.output = many.text.clone();
        (many.exit_code, many.signal) = (Some(-1), Some(9));
        (many.stderr_bytes, many.output_bytes) = (Some(u64::MAX), 7);
        (many.is_error, many.error) = (false, Some("error".to_owned()));
        (many.artifact, many.job) = (Some("artifact://1".to_owned()), Some("1".to_owned()));
        (many.session_reset, many.terminal) = (Some("reset".to_owned()), Some("t".to_owned()));
        many.result = json!({"a": null, "b": [1.5, "x"]});
        let mut none = few.clone();
        (none.error, none.result) = (None, Value::Null);
        [few, many, none]
    }

    #[tokio::test]
    async fn the_line_is_what_rmcp_writes() {
        for id in [RequestId::Number(7), RequestId::String("ä\"".into())] {
            for reply in replies().await {
                let line = line(&id, &reply).unwrap();
                let mut result = of(reply);
                // As rmcp does for clients with a handshake.
                result.result_type = None;
                let result = ServerResult::CallToolResult(result);
                let message = ServerJsonRpcMessage::response(result, id.clone());
                assert_eq!(
                    String::from_utf8(line).unwrap(),
                    serde_json::to_string(&message).unwrap()
                );
            }
        }
    }

    #[tokio::test]
    async fn every_field_of_a_reply_has_its_place() {
        for reply in replies().await {
            let mut expected = object(serde_json::to_value(&reply).unwrap());
            for elsewhere in ["text", "is_error", "result"] {
                expected.shift_remove(elsewhere).unwrap();
            }
            let names: Vec<String> = expected.keys().cloned().collect();
            expected.retain(|_, value| !value.is_null());
            assert_eq!(Some(Value::Object(expected)), of(reply).structured_content);
            let listed = include_str!("result.rs");
            for name in names {
                assert!(listed.contains(&format!("\n    {name}: ")), "{name}");
            }
        }
    }
}
