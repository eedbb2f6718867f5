//! From a reply to a tool's result: text for the model, data for programs.
//!
//! There are two forms: rmcp's own, and the whole answer as a line. The line is written directly from the
//! reply; rmcp would build a tree first, which takes several times as long.

use bashd::{FieldType, Nothing, Reply, ReplyField};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, RequestId};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The key of the profile's own structured result in `_meta`: models need not see it twice.
const RESULT: &str = "bashd/result";

/// The fields of a reply that have places of their own in the protocol.
const ELSEWHERE: &[&str] = &["text", "is_error", "result"];

/// How many bytes an answer usually has besides its text and its output.
const AROUND: usize = 1024;

/// The result of a call: the reply's text, and its fields.
pub(super) fn of(reply: Reply) -> CallToolResult {
    let fields = serde_json::to_value(reply.without(ELSEWHERE)).unwrap_or_default();
    let mut answer = of_text(reply.text, reply.is_error);
    answer.structured_content = Some(fields);
    if !reply.result.is_null() {
        let mut meta = JsonObject::new();
        meta.insert(RESULT.to_owned(), reply.result);
        answer.meta = Some(MetaObject(meta));
    }
    answer
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

/// The line that answers a call of a client with a handshake, without its newline.
pub(super) fn line(id: &RequestId, reply: &Reply) -> Option<Vec<u8>> {
    let meta = (!reply.result.is_null()).then_some(Meta {
        result: &reply.result,
    });
    let answer = ToolAnswer {
        jsonrpc: "2.0",
        id,
        result: Answered {
            content: [ContentText {
                kind: "text",
                text: &reply.text,
            }],
            structured_content: reply.without(ELSEWHERE),
            is_error: reply.is_error,
            meta,
        },
    };
    let mut line = Vec::with_capacity(reply.text.len() + reply.output.len() + AROUND);
    serde_json::to_writer(&mut line, &answer).ok()?;
    Some(line)
}

#[derive(Serialize)]
struct ToolAnswer<'a, S> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: Answered<'a, S>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'a, S> {
    content: [ContentText<'a>; 1],
    structured_content: S,
    is_error: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
}

#[derive(Serialize)]
struct ContentText<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Meta<'a> {
    #[serde(rename = "bashd/result")]
    result: &'a Value,
}

/// What `structuredContent` holds.
pub(super) fn schema() -> Arc<JsonObject> {
    let mut fields = Reply::FIELDS.to_vec();
    fields.retain(|field| !ELSEWHERE.contains(&field.name));
    for field in &mut fields {
        // As `Reply::without` writes them.
        if field.without == Nothing::Null {
            field.without = Nothing::Absent;
        }
    }
    Arc::new(object(of_object(&fields)))
}

fn of_object(fields: &[ReplyField]) -> Value {
    let property = |field: &ReplyField| (field.name.to_owned(), property(field));
    let required = fields
        .iter()
        .filter(|field| field.without != Nothing::Absent)
        .map(|field| field.name);
    json!({
        "type": "object",
        "properties": fields.iter().map(property).collect::<JsonObject>(),
        "required": required.collect::<Vec<_>>(),
    })
}

fn property(field: &ReplyField) -> Value {
    let mut property = of_type(field.holds);
    property["description"] = json!(field.about());
    if field.without == Nothing::Null {
        property["type"] = json!([property["type"], "null"]);
        if let Some(words) = property.get_mut("enum").and_then(Value::as_array_mut) {
            words.push(Value::Null);
        }
    }
    property
}

fn of_type(holds: FieldType) -> Value {
    match holds {
        FieldType::Text => json!({"type": "string"}),
        FieldType::Flag => json!({"type": "boolean"}),
        FieldType::Integer => json!({"type": "integer"}),
        FieldType::Count => json!({"type": "integer", "minimum": 0}),
        FieldType::OneOf(words) => json!({"type": "string", "enum": words}),
        FieldType::List(of) => json!({"type": "array", "items": of_type(*of)}),
        FieldType::Object(fields) => of_object(fields),
    }
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
    use bashd::{Config, Engine, KeeperSource, NoKeeper, Request, Surroundings};
    use rmcp::model::{ServerJsonRpcMessage, ServerResult};

    /// A reply as an engine makes it; there is no other way to have one.
    async fn reply() -> Reply {
        let directory = tempfile::tempdir().unwrap();
        let surroundings = Surroundings {
            cwd: directory.path().to_owned(),
            env: Vec::new(),
        };
        let keeper = KeeperSource::Unavailable(NoKeeper::because("none"));
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
            let schema = schema();
            let listed = schema["properties"].as_object().unwrap();
            assert_eq!(names, listed.keys().cloned().collect::<Vec<_>>());
        }
    }

    /// Asserts that a value is as its schema says.
    fn assert_fits(value: &Value, schema: &Value) {
        let name = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let said = &schema["type"];
        let is_said = said == name
            || said
                .as_array()
                .is_some_and(|any| any.contains(&json!(name)));
        assert!(is_said, "{value}: {schema}");
        if let Value::Object(members) = value {
            for required in schema["required"].as_array().unwrap() {
                assert!(
                    members.contains_key(required.as_str().unwrap()),
                    "{required}"
                );
            }
            for (name, member) in members {
                assert_fits(member, &schema["properties"][name]);
            }
        }
        for item in value.as_array().into_iter().flatten() {
            assert_fits(item, &schema["items"]);
        }
    }

    #[tokio::test]
    async fn what_is_answered_is_as_the_schema_says() {
        let schema = Value::Object((*schema()).clone());
        for mut reply in replies().await {
            let left = json!({"pid": 1, "command": "x", "age_ms": 1, "reason": "survivor"});
            reply.left_behind = serde_json::from_value(json!([left])).unwrap();
            let limits = json!({"kind": "rlimits", "out_of_memory": false});
            reply.limits = Some(serde_json::from_value(limits).unwrap());
            let answer = of(reply).structured_content.unwrap();
            assert_fits(&answer, &schema);
        }
    }

    #[test]
    fn types_and_what_may_be_missing_are_in_the_schema() {
        let schema = schema();
        let (members, required) = (&schema["properties"], &schema["required"]);
        let is_required = |name: &str| required.as_array().unwrap().contains(&json!(name));
        let about = "From request to reply, in milliseconds";
        let count = json!({"type": "integer", "minimum": 0, "description": about});
        assert_eq!(members["wall_ms"], count);
        assert!(is_required("wall_ms") && is_required("omitted_bytes"));
        assert_eq!(members["exit_code"]["type"], "integer");
        assert!(!is_required("exit_code") && !is_required("limits"));
        assert_eq!(members["denied"]["required"], json!(["rule", "message"]));
        let left = &members["left_behind"]["items"];
        assert_eq!(left["properties"]["job"]["type"], json!(["string", "null"]));
        let words = json!(["survivor", "not_permitted", "unkillable"]);
        assert_eq!(left["properties"]["reason"]["enum"], words);
    }
}
