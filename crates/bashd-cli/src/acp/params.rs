//! What is wrong with the parameters of a request, told with their names: the protocol's crate
//! tells only what it expected.

use bashd::profile::arguments;
use serde_json::{Value, json};

/// The answer to a request whose parameters are of the wrong type or missing.
pub(super) fn refusal(line: &str) -> Option<Value> {
    let message: Value = serde_json::from_str(line).ok()?;
    let id = message
        .get("id")
        .filter(|id| id.is_string() || id.is_number())?;
    let schema = schema(message["method"].as_str()?)?;
    let reason = match &message["params"] {
        Value::Null => arguments::check_known(&schema, &json!({})),
        given @ Value::Object(_) => arguments::check_known(&schema, given),
        _ => Err("the parameters must be an object".to_owned()),
    };
    let error = json!({"code": -32602, "message": "Invalid params", "data": reason.err()?});
    Some(json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

/// What a request of this method must have.
fn schema(method: &str) -> Option<Value> {
    let text = json!({"type": "string"});
    let servers = json!({"type": "array"});
    let (required, properties) = match method {
        "session/new" => (json!(["cwd"]), json!({"cwd": text, "mcpServers": servers})),
        "session/load" | "session/resume" => (
            json!(["sessionId", "cwd"]),
            json!({"sessionId": text, "cwd": text, "mcpServers": servers}),
        ),
        "session/prompt" => (
            json!(["sessionId", "prompt"]),
            json!({"sessionId": text, "prompt": {"type": "array"}}),
        ),
        _ => return None,
    };
    Some(json!({"type": "object", "required": required, "properties": properties}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_is_named_and_what_it_may_be() {
        for (method, params, expected) in [
            (
                "session/new",
                json!({"cwd": 5, "mcpServers": []}),
                Some("`cwd` must be a string, not 5"),
            ),
            (
                "session/prompt",
                json!({"sessionId": "s", "prompt": "ls"}),
                Some("`prompt` must be a list, not \"ls\""),
            ),
            (
                "session/prompt",
                json!({}),
                Some("`sessionId` is missing; it must be a string"),
            ),
            (
                "session/load",
                json!([1]),
                Some("the parameters must be an object"),
            ),
            ("session/new", json!({"cwd": "/", "further": 1}), None),
            ("initialize", json!({}), None),
        ] {
            let line = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
            let refusal = refusal(&line.to_string());
            let data = refusal
                .as_ref()
                .and_then(|refusal| refusal["error"]["data"].as_str());
            assert_eq!(data, expected, "{line}");
        }
        for line in [
            "nonsense",
            "[]",
            r#"{"method": "session/new", "params": 5}"#,
        ] {
            assert_eq!(refusal(line), None);
        }
    }
}
