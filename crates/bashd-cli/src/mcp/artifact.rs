//! The tool that reads stored output, as clients of MCP see it.

use super::result::{self, ResultForm};
use crate::serve::stored::{self, DESCRIPTION, NAME};
use bashd::Engine;
use bashd::artifact::ArtifactStore;
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// The tool's definition.
pub(super) fn tool(form: ResultForm) -> Tool {
    let output = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Its address"},
            "output": {"type": "string", "description": "The part that was asked for"},
            "truncated": {"type": "boolean", "description": "There is more than this call returned"},
            "bytes": count("Bytes that the command wrote"),
            "lines": count("Newlines that the command wrote"),
            "dropped_bytes": count("Bytes that were not kept"),
        },
    });
    let tool = Tool::new(NAME, DESCRIPTION, result::object(stored::input()))
        .with_title("Read stored output")
        .with_annotations(
            ToolAnnotations::new()
                .read_only(true)
                .destructive(false)
                .idempotent(true)
                .open_world(false),
        );
    form.announced(tool, || result::object(output))
}

fn count(about: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": about})
}

/// Answers one call. It reads and searches files, so it must not run on the runtime's own thread.
pub(super) fn answer(
    stored: (&Engine, &ArtifactStore),
    form: ResultForm,
    arguments: JsonObject,
) -> CallToolResult {
    match stored::read(stored, arguments) {
        Ok(part) => form.with_data(result::of_text(part.text, false), part.data),
        Err(complaint) => result::of_text(format!("Error: {complaint}"), true),
    }
}
