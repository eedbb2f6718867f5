//! A client's line as a message.
//!
//! rmcp reads any message by trying each kind in turn on a copy of it. Most messages are calls of
//! tools: they are read directly here, with the same result as by rmcp.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, JsonObject,
    JsonRpcMessage, JsonRpcRequest, RequestId, RequestMetaObject,
};
use serde::Deserialize;
use std::borrow::Cow;

/// Bytes of a message at most, by whichever way it comes.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;

/// A call of a tool and nothing more: a message with other fields is left to rmcp, since what
/// `serde_json` skips it does not look at (bytes that are no text, numbers that are out of range).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpToolCall {
    #[serde(rename = "jsonrpc")]
    _version: Version,
    id: RequestId,
    #[serde(rename = "method")]
    _method: Method,
    params: McpToolParams,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpToolParams {
    #[serde(rename = "_meta", default)]
    meta: Option<RequestMetaObject>,
    name: Cow<'static, str>,
    arguments: Option<JsonObject>,
}

#[derive(Deserialize)]
enum Version {
    #[serde(rename = "2.0")]
    Two,
}

#[derive(Deserialize)]
enum Method {
    #[serde(rename = "tools/call")]
    ToolsCall,
}

/// The message of a line.
pub(super) fn read(line: &[u8]) -> Result<ClientJsonRpcMessage, serde_json::Error> {
    serde_json::from_slice(line)
        .map_or_else(|_| serde_json::from_slice(line), |call| Ok(of_call(call)))
}

fn of_call(call: McpToolCall) -> ClientJsonRpcMessage {
    let mut params = CallToolRequestParams::new(call.params.name);
    params.arguments = call.params.arguments;
    let mut request = CallToolRequest::new(params);
    if let Some(meta) = call.params.meta {
        request.extensions.insert(meta);
    }
    let request = ClientRequest::CallToolRequest(request);
    JsonRpcMessage::Request(JsonRpcRequest::new(call.id, request))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is the same of both readings; extensions have no equality.
    fn facts(message: &ClientJsonRpcMessage) -> String {
        let written = serde_json::to_string(message).unwrap();
        format!("{written} {message:?}")
    }

    #[test]
    fn calls_are_read_as_by_rmcp() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{"command":"true","a":[1,2.5,null,"\u00e9"]}}}"#,
            r#"{"method":"tools/call","params":{"arguments":{"z":1,"a":2},"name":"bash"},"id":"x","jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"bash"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":null,"_meta":null}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","_meta":{"progressToken":7,"other":{"x":1}}}}"#,
        ] {
            let call = serde_json::from_slice::<McpToolCall>(line.as_bytes());
            let call = of_call(call.unwrap_or_else(|error| panic!("{line}: {error}")));
            let theirs = serde_json::from_str(line).unwrap();
            assert_eq!(facts(&call), facts(&theirs), "{line}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_wherever_they_are() {
        let start =
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","x":""#;
        let line = [start.as_slice(), b"\xff", br#""}}"#].concat();
        assert!(read(&line).is_err());
    }

    #[test]
    fn everything_else_is_left_to_rmcp() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":3}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","requestState":"s"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","unknown":true,"inputResponses":{"q":{"action":"accept"}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","unknown":1e999}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash"},"more":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash"},"result":{}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"bash"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"bash"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"bash"}}"#,
            r#"["tools/call"]"#,
            "nonsense",
        ] {
            assert!(serde_json::from_str::<McpToolCall>(line).is_err(), "{line}");
            let theirs = serde_json::from_str::<ClientJsonRpcMessage>(line);
            match (read(line.as_bytes()), theirs) {
                (Ok(ours), Ok(theirs)) => assert_eq!(facts(&ours), facts(&theirs), "{line}"),
                (Err(ours), Err(theirs)) => assert_eq!(ours.to_string(), theirs.to_string()),
                (ours, theirs) => panic!("{line}: {ours:?} {theirs:?}"),
            }
        }
    }
}
