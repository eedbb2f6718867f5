//! Tests of results: both ways to write one, in both forms.

use super::*;
use bashd::{Config, Engine, KeeperSource, NoKeeper, Request, Surroundings};
use rmcp::model::{ServerJsonRpcMessage, ServerResult};

/// A reply as an engine makes it; there is no other way to have one.
async fn reply() -> Reply {
    reply_to("true").await
}

async fn reply_to(command: &str) -> Reply {
    let directory = tempfile::tempdir().unwrap();
    let surroundings = Surroundings {
        cwd: directory.path().to_owned(),
        env: Vec::new(),
    };
    let keeper = KeeperSource::Unavailable(NoKeeper::because("none"));
    let config = Config::new(directory.path().join("state"));
    let engine = Engine::new(config, surroundings, keeper).unwrap();
    engine.run(Request::new(command)).await
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

const FORMS: [ResultForm; 2] = [ResultForm::Text, ResultForm::Structured];

#[tokio::test]
async fn the_line_is_what_rmcp_writes() {
    for (id, form) in [
        (RequestId::Number(7), ResultForm::Text),
        (RequestId::String("ä\"".into()), ResultForm::Structured),
    ] {
        for reply in replies().await {
            let line = line(&id, &reply, form).unwrap();
            let mut result = of(reply, form);
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

/// The fields of a reply that say something.
fn saying(reply: &Reply, but: &[&str]) -> Value {
    let mut fields = object(serde_json::to_value(reply).unwrap());
    fields.retain(|name, _| !but.contains(&name.as_str()));
    let result = fields.shift_remove("result").filter(|it| !it.is_null());
    let mut fields = object(compact(fields.into()));
    // The profile's own result is passed on as it is.
    if let Some(result) = result {
        fields.insert("result".to_owned(), result);
    }
    fields.into()
}

#[tokio::test]
async fn a_result_is_its_text_and_the_fields_are_where_models_do_not_look() {
    for reply in replies().await {
        let answer = of(reply.clone(), ResultForm::Text);
        assert_eq!(answer.structured_content, None);
        let fields = answer.meta.unwrap().0.shift_remove(REPLY).unwrap();
        let elsewhere = if reply.is_error {
            SAID_BY_ERRORS
        } else {
            ELSEWHERE
        };
        assert_eq!(fields, saying(&reply, elsewhere));
    }
}

#[tokio::test]
async fn programs_get_every_field_that_says_something() {
    for reply in replies().await {
        let answer = of(reply.clone(), ResultForm::Structured);
        let fields = answer.structured_content.unwrap();
        assert_eq!(fields, saying(&reply, ELSEWHERE_IF_STRUCTURED));
        let schema = schema();
        let listed = schema["properties"].as_object().unwrap();
        let fields = Reply::FIELDS.iter().map(|field| field.name);
        let fields = fields.filter(|name| !ELSEWHERE_IF_STRUCTURED.contains(name));
        assert!(listed.keys().eq(fields));
    }
}

#[tokio::test]
async fn the_text_of_an_error_is_sent_once() {
    let reply = reply_to("git push --force").await;
    // Without what JSON writes in another way.
    let message = reply.denied.as_ref().unwrap().message.clone();
    let message = message.split('"').next().unwrap().to_owned();
    let answer = of(reply, ResultForm::Text);
    let whole = serde_json::to_string(&answer).unwrap();
    assert_eq!(whole.matches(&message).count(), 1, "{whole}");
    let denied = r#""denied":{"rule":"no_force_push"}"#;
    assert!(whole.contains(denied), "{whole}");
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
    assert_eq!(schema["type"], name, "{value}: {schema}");
    for (name, member) in value.as_object().into_iter().flatten() {
        assert_fits(member, &schema["properties"][name]);
    }
    for item in value.as_array().into_iter().flatten() {
        assert_fits(item, &schema["items"]);
    }
}

#[tokio::test]
async fn what_is_answered_is_as_the_schema_says() {
    let schema = Value::Object(schema());
    for mut reply in replies().await {
        let left = json!({"pid": 1, "command": "x", "age_ms": 1, "reason": "survivor"});
        reply.left_behind = serde_json::from_value(json!([left])).unwrap();
        let limits = json!({"kind": "rlimits", "out_of_memory": false});
        reply.limits = Some(serde_json::from_value(limits).unwrap());
        let answer = of(reply, ResultForm::Structured);
        assert_fits(&answer.structured_content.unwrap(), &schema);
    }
}

#[test]
fn types_are_in_the_schema_and_nothing_is_required() {
    let schema = schema();
    let members = &schema["properties"];
    let about = "From request to reply, in milliseconds";
    let count = json!({"type": "integer", "minimum": 0, "description": about});
    assert_eq!(members["wall_ms"], count);
    assert_eq!(members["exit_code"]["type"], "integer");
    assert!(
        !Value::Object(schema.clone())
            .to_string()
            .contains("required")
    );
    let left = &members["left_behind"]["items"];
    assert_eq!(left["properties"]["job"]["type"], "string");
    let words = json!(["survivor", "not_permitted", "unkillable"]);
    assert_eq!(left["properties"]["reason"]["enum"], words);
}

#[tokio::test]
async fn a_jobs_result_has_few_fields_for_programs() {
    let job = json!({
        "id": "01", "alias": "bg_1", "owner": "mcp:0", "state": "exited", "command": "true",
        "cwd": "/", "exit_code": 0, "signal": null, "output_bytes": 3, "last_line": "out",
    });
    let mut reply = reply().await;
    reply.result = json!({"jobs": [{"met": "yes", "by": null, "job": job}], "output": "out"});
    let data = of_job(reply.clone(), ResultForm::Structured).structured_content;
    let brief = json!({
        "id": "01", "alias": "bg_1", "state": "exited", "command": "true", "exit_code": 0,
        "output_bytes": 3,
    });
    let expected = json!({"jobs": [{"met": "yes", "job": brief}], "output": "out"});
    assert_eq!(data, Some(expected));
    for form in FORMS {
        let answer = of_job(reply.clone(), form);
        assert_eq!(
            answer.structured_content.is_some(),
            form == ResultForm::Structured
        );
    }
}
