//! The tool that reads stored output: a range, the end, or the lines that match. Protocols offer
//! it in their own forms.

use bashd::Engine;
use bashd::artifact::{self, ArtifactStore, Grep, Passage, Range, Selection};
use bashd::profile::arguments;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

/// The tool's name.
pub(crate) const NAME: &str = "artifact";

/// Bytes of text that one call returns at most: what a reply shows of a command.
const LIMIT: usize = 32 * 1024;

/// The last line that every reader of JSON can express.
const LAST_LINE: u64 = (1 << 53) - 1;

/// Lines around a match at most: more than an answer has room for.
const MOST_CONTEXT: u64 = 1000;

/// Characters of a pattern: who reads it needs time for each.
const MOST_PATTERN: usize = 4096;

/// What a model is told about it.
pub(crate) const DESCRIPTION: &str = "\
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

/// A part of stored output: as a model reads it, and as data.
pub(crate) struct StoredPart {
    pub(crate) text: String,
    pub(crate) data: Value,
}

/// What a call may say.
pub(crate) fn input() -> Value {
    json!({
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": text("The address of the stored output, for example artifact://3."),
            "from_line": number((1, LAST_LINE), "First line to return, counted from 1."),
            "to_line": number((1, LAST_LINE), "Last line to return."),
            "tail": number((1, LAST_LINE), "Return this many lines from the end instead of a range."),
            "grep": pattern("Return only lines that match this regular expression, each with its number."),
            "context": number((0, MOST_CONTEXT), "Also return this many lines around each match."),
        },
        "additionalProperties": false,
    })
}

fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

fn pattern(about: &str) -> Value {
    json!({"type": "string", "maxLength": MOST_PATTERN, "description": about})
}

fn number((least, most): (u64, u64), about: &str) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most, "description": about})
}

/// Answers one call. It reads and searches files, and may wait for a place, so it must run on a
/// thread of the runtime's that may block.
pub(crate) fn read(
    (engine, store): (&Engine, &ArtifactStore),
    arguments: Map<String, Value>,
) -> Result<StoredPart, String> {
    let mut arguments = arguments;
    arguments::check(&input(), &arguments.clone().into())?;
    arguments.retain(|_, value| !value.is_null());
    let arguments: ArtifactArguments = serde_json::from_value(arguments.into()).map_err(told)?;
    let id = artifact::parse_id(&arguments.id)
        .ok_or_else(|| format!("`{}` is not an address like artifact://3", arguments.id))?;
    let selection = selection(&arguments)?;
    let there = store.stored_there(id).map_err(told)?;
    let (Passage { text, truncated }, about) = if let Some((there, about)) = there {
        let reading = engine.passage_there(&there, &selection, LIMIT);
        (Handle::current().block_on(reading).map_err(told)?, about)
    } else {
        let stored = store.open(id).map_err(told)?;
        let passage = stored.passage(&selection, LIMIT).map_err(told)?;
        (passage, stored.summary())
    };
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
    Ok(StoredPart { text: shown, data })
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
