//! From a reply to a tool's result: text for the model, data for programs.

use bashd::Reply;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject};
use serde_json::{Value, json};
use std::sync::Arc;

/// Where the profile's own structured result stands in `_meta`: models have no use for it twice.
const RESULT: &str = "bashd/result";

/// The result of a call: the reply's text, and its fields.
///
/// `text` and `is_error` have places of their own in the protocol. What is null in a reply is left out:
/// clients pass this object on to models, and a null costs tokens and says nothing.
pub(super) fn of(reply: Reply) -> CallToolResult {
    let mut fields = serde_json::to_value(&reply).unwrap_or_default();
    let result = match fields.as_object_mut() {
        Some(fields) => {
            fields.shift_remove("text");
            fields.shift_remove("is_error");
            fields.retain(|_, value| !value.is_null());
            fields.shift_remove("result")
        }
        None => None,
    };
    let content = vec![ContentBlock::text(reply.text)];
    let mut answer = if reply.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    answer.structured_content = Some(fields);
    answer.meta = result.map(|result| {
        let mut meta = JsonObject::new();
        meta.insert(RESULT.to_owned(), result);
        MetaObject(meta)
    });
    answer
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
