//! What is wrong with the parameters of a request that could not be read: rmcp hands it on without
//! a reason.

use bashd::profile::arguments;
use serde_json::{Value, json};

/// What is wrong, with the parameter's name and what it may be.
pub(super) fn complaint(method: &str, params: Option<&Value>) -> String {
    let schema = schema(method);
    let given = match params {
        None | Some(Value::Null) => &json!({}),
        Some(given @ Value::Object(_)) => given,
        Some(_) => return format!("{method}: the parameters must be an object"),
    };
    match arguments::check_known(&schema, given) {
        Err(reason) => format!("{method}: {reason}"),
        Ok(()) => format!("{method}: the parameters can't be read"),
    }
}

/// What requests that we answer must have, as far as it can be wrong.
fn schema(method: &str) -> Value {
    let (required, mut properties) = match method {
        "tools/call" => (
            json!(["name"]),
            json!({"name": {"type": "string"}, "arguments": {"type": "object"}}),
        ),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            (json!(["uri"]), json!({"uri": {"type": "string"}}))
        }
        "logging/setLevel" => {
            let levels = [
                "debug",
                "info",
                "notice",
                "warning",
                "error",
                "critical",
                "alert",
                "emergency",
            ];
            let level = json!({"type": "string", "enum": levels});
            (json!(["level"]), json!({ "level": level }))
        }
        "initialize" => (
            json!(["protocolVersion", "capabilities", "clientInfo"]),
            json!({
                "protocolVersion": {"type": "string"},
                "capabilities": {"type": "object"},
                "clientInfo": {"type": "object"},
            }),
        ),
        _ => (json!([]), json!({"cursor": {"type": "string"}})),
    };
    properties["_meta"] = json!({"type": "object"});
    json!({"type": "object", "required": required, "properties": properties})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_is_named_and_what_it_may_be() {
        for (method, params, expected) in [
            (
                "tools/call",
                json!({}),
                "tools/call: `name` is missing; it must be a string",
            ),
            (
                "tools/call",
                json!({"name": "bash", "arguments": "ls", "task": {}}),
                "tools/call: `arguments` must be an object, not \"ls\"",
            ),
            (
                "resources/read",
                json!({"uri": 5}),
                "resources/read: `uri` must be a string, not 5",
            ),
            (
                "logging/setLevel",
                json!({"level": "loud"}),
                "logging/setLevel: `level` must be one of `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert` and `emergency`, not \"loud\"",
            ),
            (
                "tools/list",
                json!([]),
                "tools/list: the parameters must be an object",
            ),
            (
                "tools/list",
                json!({"_meta": 1}),
                "tools/list: `_meta` must be an object, not 1",
            ),
            (
                "tools/list",
                json!({}),
                "tools/list: the parameters can't be read",
            ),
        ] {
            assert_eq!(complaint(method, Some(&params)), expected);
        }
    }
}
