//! From a reply to a tool's result: its text for the model, its fields for programs.
//!
//! Several agents show their model nothing but `structuredContent` where there is one. So a result
//! is its text alone, and its fields are in `_meta`, which models are not shown; a server for
//! programs gives them as `structuredContent` ([`ResultForm`]).
//!
//! There are two ways to write it: rmcp's own, and the whole answer as a line. The line is written
//! directly from the reply; rmcp would build a tree first, which takes several times as long.

use crate::serve::field_type;
use bashd::{Reply, ReplyField};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, RequestId, Tool};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The key of the reply's fields in `_meta`.
const REPLY: &str = "bashd/reply";

/// The fields that have places of their own in the protocol.
const ELSEWHERE: &[&str] = &["text", "is_error"];

/// Likewise, if the profile's own result has another place, too.
const ELSEWHERE_IF_STRUCTURED: &[&str] = &["text", "is_error", "result"];

/// What the text of an error says already. Some agents show their model the whole result of an
/// error, `_meta` included: it would read everything twice.
const SAID_BY_ERRORS: &[&str] = &["text", "is_error", "output", "error", "result", "denied"];

/// What a program is told of a job; the rest is in the resource `job://{id}`.
const OF_A_JOB: &[&str] = &[
    "id",
    "alias",
    "name",
    "state",
    "command",
    "exit_code",
    "signal",
    "ended_by",
    "output_bytes",
];

/// How many bytes an answer usually has besides its text and its output.
const AROUND: usize = 1024;

/// Where the fields of a reply go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultForm {
    /// Into `_meta`: the model reads the text.
    Text,
    /// Into `structuredContent`, which the tools announce.
    Structured,
}

impl ResultForm {
    /// The tool with its output schema, if its results have one.
    pub(super) fn announced(self, tool: Tool, schema: impl FnOnce() -> JsonObject) -> Tool {
        match self {
            Self::Text => tool,
            Self::Structured => tool.with_raw_output_schema(Arc::new(schema())),
        }
    }

    /// The result with data of another kind than a reply's.
    pub(super) fn with_data(self, mut answer: CallToolResult, data: Value) -> CallToolResult {
        match self {
            Self::Text => answer.meta = Some(meta(data)),
            Self::Structured => answer.structured_content = Some(compact(data)),
        }
        answer
    }
}

/// The result of a call: the reply's text, and its fields.
pub(super) fn of(reply: Reply, form: ResultForm) -> CallToolResult {
    let structured = structured(&reply, form);
    let fields = serde_json::to_value(MetaReply::of(&reply, form)).unwrap_or_default();
    let mut answer = of_text(reply.text, reply.is_error);
    answer.structured_content = structured;
    answer.meta = Some(meta(fields));
    answer
}

/// The result of a call of the job tool.
pub(super) fn of_job(reply: Reply, form: ResultForm) -> CallToolResult {
    match form {
        ResultForm::Text => of(reply, form),
        ResultForm::Structured => {
            let answer = of_text(reply.text, reply.is_error);
            let mut data = match reply.result {
                Value::Object(members) => members,
                other => object(json!({ "result": other })),
            };
            if let Some(text) = data.shift_remove("text") {
                data.insert("output".to_owned(), text);
            }
            form.with_data(answer, briefly(data.into()))
        }
    }
}

/// A result of text alone.
pub(super) fn of_text(text: String, is_error: bool) -> CallToolResult {
    let content = vec![ContentBlock::text(text)];
    if is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    }
}

fn meta(fields: Value) -> MetaObject {
    MetaObject(JsonObject::from_iter([(REPLY.to_owned(), fields)]))
}

/// The line that answers a call of a client with a handshake, without its newline.
pub(super) fn line(id: &RequestId, reply: &Reply, form: ResultForm) -> Option<Vec<u8>> {
    let answer = ToolAnswer {
        jsonrpc: "2.0",
        id,
        result: Answered {
            content: [ContentText {
                kind: "text",
                text: &reply.text,
            }],
            structured_content: structured(reply, form),
            is_error: reply.is_error,
            meta: Meta {
                reply: MetaReply::of(reply, form),
            },
        },
    };
    let mut line = Vec::with_capacity(reply.text.len() + reply.output.len() + AROUND);
    serde_json::to_writer(&mut line, &answer).ok()?;
    Some(line)
}

fn structured(reply: &Reply, form: ResultForm) -> Option<Value> {
    if form == ResultForm::Text {
        return None;
    }
    let fields = serde_json::to_value(reply.compact(ELSEWHERE_IF_STRUCTURED)).unwrap_or_default();
    Some(compact(fields))
}

#[derive(Serialize)]
struct ToolAnswer<'a, F> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: Answered<'a, F>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'a, F> {
    content: [ContentText<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Value>,
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: Meta<F>,
}

#[derive(Serialize)]
struct ContentText<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Meta<F> {
    #[serde(rename = "bashd/reply")]
    reply: F,
}

/// What `_meta` holds of a reply.
#[derive(Serialize)]
#[serde(untagged)]
enum MetaReply<'a, F> {
    /// Every field.
    Whole(F),
    /// What the text of an error does not say.
    OfError {
        #[serde(flatten)]
        fields: F,
        #[serde(skip_serializing_if = "Option::is_none")]
        denied: Option<DeniedBy<'a>>,
    },
    /// The profile's own result; the fields are in `structuredContent`.
    Result { result: &'a Value },
}

/// Which rule denied a command.
#[derive(Serialize)]
struct DeniedBy<'a> {
    rule: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggested_tool: Option<&'a str>,
}

impl<'a> MetaReply<'a, ()> {
    fn of(reply: &'a Reply, form: ResultForm) -> MetaReply<'a, impl Serialize> {
        let denied = reply.denied.as_ref().map(|denied| DeniedBy {
            rule: &denied.rule,
            suggested_tool: denied.suggested_tool.as_deref(),
        });
        match form {
            ResultForm::Structured => MetaReply::Result {
                result: &reply.result,
            },
            ResultForm::Text if reply.is_error => MetaReply::OfError {
                fields: reply.compact(SAID_BY_ERRORS),
                denied,
            },
            ResultForm::Text => MetaReply::Whole(reply.compact(ELSEWHERE)),
        }
    }
}

/// The value without members that say nothing; a status of 0 says something.
fn compact(value: Value) -> Value {
    let says_nothing = |name: &str, value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => name != "exit_code" && number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) => false,
    };
    match value {
        Value::Object(members) => {
            let mut members: JsonObject = members
                .into_iter()
                .map(|(name, member)| (name, compact(member)))
                .collect();
            members.retain(|name, member| !says_nothing(name, member));
            members.into()
        }
        Value::Array(items) => items.into_iter().map(compact).collect(),
        other => other,
    }
}

/// The value with only the facts of each job that a program needs to go on.
fn briefly(value: Value) -> Value {
    match value {
        Value::Object(mut members) => {
            if members.contains_key("alias") && members.contains_key("owner") {
                members.retain(|name, _| OF_A_JOB.contains(&name.as_str()));
            }
            let members = members.into_iter();
            let brief: JsonObject = members
                .map(|(name, member)| (name, briefly(member)))
                .collect();
            brief.into()
        }
        Value::Array(items) => items.into_iter().map(briefly).collect(),
        other => other,
    }
}

/// What `structuredContent` holds: nothing is required, since what says nothing is left out.
pub(super) fn schema() -> JsonObject {
    let mut fields = Reply::FIELDS.to_vec();
    fields.retain(|field| !ELSEWHERE_IF_STRUCTURED.contains(&field.name));
    object(of_object(&fields))
}

fn of_object(fields: &[ReplyField]) -> Value {
    let property = |field: &ReplyField| {
        let mut property = field_type::schema(field.holds, of_object);
        property["description"] = json!(field.about());
        (field.name.to_owned(), property)
    };
    json!({
        "type": "object",
        "properties": fields.iter().map(property).collect::<JsonObject>(),
    })
}

/// The members of a JSON object.
pub(super) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests;
