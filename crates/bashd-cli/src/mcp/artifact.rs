//! The tool that reads stored output: a range, the end, or the lines that match.

use super::result::{self, ResultForm};
use bashd::artifact::{self, ArtifactStore, Grep, Passage, Range, Selection};
use bashd::profile::arguments;
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

/// The tool's name.
pub(super) const NAME: &str = "artifact";

/// Bytes of text that one call returns at most: what a reply shows of a command.
const LIMIT: usize = 32 * 1024;

/// The last line that every reader of JSON can express.
const LAST_LINE: u64 = (1 << 53) - 1;

/// Lines around a match at most: more than an answer has room for.
const MOST_CONTEXT: u64 = 1000;

const DESCRIPTION: &str = "\
Reads the stored output of an earlier command, including what its reply did not show. Give the address \
from the reply (artifact://3) and a part: lines, tail or grep. Returns at most 32 KiB at a time.";

/// The arguments of a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArtifactArguments {
    id: String,
    from_line: Option<u64>,
    to_line: Option<u64>,
    tail: Option<u64>,
    grep: Option<String>,
    #[serde(default)]
    context: usize,
}

/// The tool's definition.
pub(super) fn tool(form: ResultForm) -> Tool {
    let output = json!({
        "type": "object",
        "properties": {
            "id": text("Its address"),
            "output": text("The part that was asked for"),
            "truncated": {"type": "boolean", "description": "There is more than this call returned"},
            "bytes": count("Bytes that the command wrote"),
            "lines": count("Newlines that the command wrote"),
            "dropped_bytes": count("Bytes that were not kept"),
        },
    });
    let tool = Tool::new(NAME, DESCRIPTION, result::object(input()))
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

/// What a call may say.
fn input() -> Value {
    json!({
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": text("The address of the stored output, for example artifact://3."),
            "from_line": number((1, LAST_LINE), "First line to return, counted from 1."),
            "to_line": number((1, LAST_LINE), "Last line to return."),
            "tail": number((1, LAST_LINE), "Return this many lines from the end instead of a range."),
            "grep": text("Return only lines that match this regular expression, each with its number."),
            "context": number((0, MOST_CONTEXT), "Also return this many lines around each match."),
        },
        "additionalProperties": false,
    })
}

fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

fn number((least, most): (u64, u64), about: &str) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most, "description": about})
}

fn count(about: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": about})
}

/// Answers one call. It reads and searches files, so it must not run on the runtime's own thread.
pub(super) fn answer(
    store: &ArtifactStore,
    form: ResultForm,
    arguments: JsonObject,
) -> CallToolResult {
    read(store, form, arguments)
        .unwrap_or_else(|complaint| result::of_text(format!("Error: {complaint}"), true))
}

fn read(
    store: &ArtifactStore,
    form: ResultForm,
    arguments: JsonObject,
) -> Result<CallToolResult, String> {
    let mut arguments = arguments;
    arguments::check(&input(), &arguments.clone().into())?;
    arguments.retain(|_, value| !value.is_null());
    let arguments: ArtifactArguments = serde_json::from_value(arguments.into()).map_err(told)?;
    let id = artifact::parse_id(&arguments.id)
        .ok_or_else(|| format!("`{}` is not an address like artifact://3", arguments.id))?;
    let selection = selection(&arguments)?;
    let stored = store.open(id).map_err(told)?;
    let Passage { text, truncated } = stored.passage(&selection, LIMIT).map_err(told)?;
    let about = stored.summary();
    let shown = match (text.is_empty(), truncated) {
        (true, _) => "[nothing found]".to_owned(),
        (false, true) => format!("{text}\n[there is more: a call returns at most {LIMIT} bytes]"),
        (false, false) => text.clone(),
    };
    store.note_read(id, shown.len());
    let data = json!({
        "id": about.address,
        "output": text,
        "truncated": truncated,
        "bytes": about.bytes,
        "lines": about.lines,
        "dropped_bytes": about.dropped_bytes,
    });
    Ok(form.with_data(result::of_text(shown, false), data))
}

fn selection(arguments: &ArtifactArguments) -> Result<Selection, String> {
    let range = match (arguments.tail, arguments.from_line, arguments.to_line) {
        (Some(lines), None, None) => Range::Tail(lines),
        (Some(_), _, _) => return Err("give a tail or a range of lines, not both".to_owned()),
        (None, None, None) => Range::Whole,
        (None, from, to) => Range::Lines(from.unwrap_or(1), to),
    };
    let grep = arguments.grep.as_deref().map(Grep::new).transpose();
    let grep = grep.map_err(|reason| format!("`grep`: {reason}"))?;
    let grep = grep.map(|grep| grep.with_context(arguments.context));
    Ok(Selection { range, grep })
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}
