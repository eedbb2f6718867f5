//! Requests of the 2026-07-28 revision: no handshake, everything in the request.

use super::client::Client;
use bashd_testkit::Home;
use serde_json::{Value, json};

/// What every such request carries.
pub(super) fn meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

fn call(client: &mut Client, capabilities: &Value, mut params: Value) -> Value {
    params["_meta"] = meta(capabilities);
    let answer = client.ask("tools/call", &params);
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

#[test]
fn a_server_is_discovered_and_called_without_a_handshake() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let found = client.ask("server/discover", &json!({"_meta": meta(&json!({}))}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    assert!(versions.contains(&json!("2025-11-25")), "{found}");
    let params = json!({"name": "bash", "arguments": {"command": "echo hi"}});
    let result = call(&mut client, &json!({}), params);
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["_meta"]["bashd/reply"]["output"], "hi\n");
    let wrong = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "1999-01-01",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let refused = client.ask("tools/list", &wrong);
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
}

#[test]
fn approval_takes_a_second_call_bound_to_the_first() {
    let home = Home::new();
    let rule = "[[rules]]\nname = \"deploys\"\ndecision = \"ask\"\nmessage = \"this deploys\"\ncommand = \"deploy\"\n\
                [rules.examples]\ndeny = [\"deploy now\"]\nallow = [\"echo deploy\"]\n";
    std::fs::write(home.config().join("config.toml"), rule).unwrap();
    let mut client = Client::start(&home, &[]);
    let able = json!({"elicitation": {"form": {}}});
    let arguments = json!({"command": "deploy() { echo deployed; }; deploy now"});
    let first = json!({"name": "bash", "arguments": arguments});
    let asked = call(&mut client, &able, first);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["approval"];
    assert_eq!(question["method"], "elicitation/create");
    let state = &asked["requestState"];
    let yes = json!({"approval": {"action": "accept", "content": {"choice": "once"}}});
    let second = json!({
        "name": "bash", "arguments": arguments, "inputResponses": yes, "requestState": state,
    });
    let done = call(&mut client, &able, second);
    assert_eq!(
        done["_meta"]["bashd/reply"]["output"], "deployed\n",
        "{done}"
    );
    // The same yes is none for another command, nor is one that we did not ask for.
    let other = json!({
        "name": "bash", "arguments": {"command": "deploy elsewhere"},
        "inputResponses": yes, "requestState": state,
    });
    assert_eq!(
        call(&mut client, &able, other)["resultType"],
        "input_required"
    );
    let forged = json!({
        "name": "bash", "arguments": arguments, "inputResponses": yes, "requestState": "forged",
    });
    assert_eq!(
        call(&mut client, &able, forged)["resultType"],
        "input_required"
    );
    // Only a choice is a yes: some clients accept by themselves.
    for answer in [
        json!({"action": "decline"}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": {"choice": "deny"}}),
    ] {
        let no = json!({
            "name": "bash", "arguments": arguments, "requestState": state,
            "inputResponses": {"approval": answer},
        });
        let denied = call(&mut client, &able, no);
        assert!(
            denied["_meta"]["bashd/reply"]["denied"].is_object(),
            "{answer}: {denied}"
        );
    }
}
