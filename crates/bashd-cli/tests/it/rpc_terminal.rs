//! Terminals of an `rpc` client: what it is asked, and what its silence costs.

use crate::rpc_under_test::Client;
use bashd_testkit::Home;
use serde_json::{Value, json};

/// The next request of bashd's with this method.
fn request(client: &mut Client, method: &str) -> Value {
    client.next_where(|message| message["type"] == "request" && message["method"] == method)
}

fn reply(client: &mut Client, request: &Value, result: &Value) {
    client.say(&json!({"id": request["id"], "type": "reply", "result": result}));
}

fn offering(home: &Home) -> Client {
    let mut client = Client::start(home, &[]);
    let answer = client.ask(&json!({"id": 0, "type": "hello", "capabilities": {"terminal": true}}));
    assert_eq!(answer["success"], true);
    client
}

#[test]
fn a_call_runs_in_the_clients_terminal() {
    let home = Home::new();
    let mut client = offering(&home);
    client.say(&json!({"id": "1", "type": "call", "stream": true, "arguments": {"command": "echo hi; exit 3"}}));
    let create = request(&mut client, "terminal/create");
    assert_eq!(create["call"], "1");
    let params = &create["params"];
    assert!(
        params["command"].as_str().unwrap().ends_with("/bash"),
        "{params}"
    );
    assert_eq!(params["args"], json!(["-c", "echo hi; exit 3"]));
    assert_eq!(params["cwd"], home.workspace().to_str().unwrap());
    reply(&mut client, &create, &json!({"terminalId": "term-1"}));
    let announced = client.next_where(|message| message["type"] == "terminal");
    assert_eq!(
        (&announced["id"], &announced["terminalId"]),
        (&json!("1"), &json!("term-1"))
    );
    let wait = request(&mut client, "terminal/wait_for_exit");
    let look = request(&mut client, "terminal/output");
    assert_eq!(look["params"], json!({"terminalId": "term-1"}));
    reply(
        &mut client,
        &look,
        &json!({"output": "h", "truncated": false}),
    );
    reply(&mut client, &wait, &json!({"exitCode": 3, "signal": null}));
    // Looks may be under way while the exit is told; the last one counts.
    loop {
        let asked = client.next_where(|message| message["type"] == "request");
        if asked["method"] == "terminal/release" {
            reply(&mut client, &asked, &json!({}));
            break;
        }
        reply(
            &mut client,
            &asked,
            &json!({"output": "hi\n", "truncated": false}),
        );
    }
    let answer = client.response("1");
    assert_eq!(answer["data"]["output"], "hi\n");
    assert_eq!(answer["data"]["exit_code"], 3);
    assert_eq!(answer["data"]["terminal"], "term-1");
    let here = client.ask(&json!({"id": "2", "type": "call", "terminal": false, "arguments": {"command": "echo here"}}));
    assert_eq!(
        (&here["data"]["output"], &here["data"]["terminal"]),
        (&json!("here\n"), &Value::Null)
    );
    client.close();
}

#[test]
fn a_client_that_refuses_or_talks_nonsense_is_quoted() {
    let home = Home::new();
    let mut client = offering(&home);
    client.say(&json!({"id": "1", "type": "bash", "command": "touch X"}));
    let create = request(&mut client, "terminal/create");
    client.say(&json!({"id": create["id"], "type": "reply", "error": "the user said no"}));
    let answer = client.response("1");
    assert!(
        answer["error"]
            .as_str()
            .unwrap()
            .contains("the user said no"),
        "{answer}"
    );
    client.say(&json!({"id": "2", "type": "bash", "command": "touch X"}));
    let create = request(&mut client, "terminal/create");
    reply(&mut client, &create, &json!({"terminal": 7}));
    let answer = client.response("2");
    assert!(
        answer["error"]
            .as_str()
            .unwrap()
            .contains("terminal/create is invalid"),
        "{answer}"
    );
    assert!(!home.workspace().join("X").exists());
    client.close();
}

#[test]
fn a_client_that_leaves_ends_its_calls() {
    let home = Home::new();
    let mut client = offering(&home);
    client.say(&json!({"id": "1", "type": "bash", "command": "sleep 300"}));
    let create = request(&mut client, "terminal/create");
    reply(&mut client, &create, &json!({"terminalId": "t"}));
    request(&mut client, "terminal/wait_for_exit");
    let (status, rest) = client.close();
    assert_eq!(status.code(), Some(0));
    let answer = rest
        .iter()
        .find(|message| message["type"] == "response")
        .unwrap();
    assert!(
        answer["error"]
            .as_str()
            .unwrap()
            .contains("the client is gone"),
        "{answer}"
    );
}

#[test]
fn cancelling_asks_the_client_to_kill_before_the_last_look() {
    let home = Home::new();
    let mut client = offering(&home);
    client.say(&json!({"id": "1", "type": "call", "arguments": {"command": "sleep 300"}}));
    let create = request(&mut client, "terminal/create");
    reply(&mut client, &create, &json!({"terminalId": "t"}));
    let wait = request(&mut client, "terminal/wait_for_exit");
    client.say(&json!({"id": "2", "type": "cancel", "target": "1"}));
    let kill = request(&mut client, "terminal/kill");
    reply(&mut client, &kill, &json!({}));
    reply(
        &mut client,
        &wait,
        &json!({"exitCode": null, "signal": "SIGKILL"}),
    );
    let mut last = Value::Null;
    loop {
        let asked = client.next_where(|message| message["type"] == "request");
        if asked["method"] == "terminal/release" {
            reply(&mut client, &asked, &json!({}));
            break;
        }
        reply(&mut client, &asked, &json!({"output": "partial"}));
        last = asked;
    }
    assert_eq!(last["method"], "terminal/output");
    let answer = client.response("1");
    assert_eq!(answer["data"]["cancelled"], true);
    assert_eq!(
        (&answer["data"]["exit_code"], &answer["data"]["output"]),
        (&json!(137), &json!("partial"))
    );
    client.close();
}

#[test]
fn the_clients_user_is_asked_for_what_a_call_needs() {
    let home = Home::new();
    let outside = home.home().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let file = outside.join("file");
    std::fs::write(&file, "old").unwrap();
    let configuration = format!(
        "[confinement]\npreset = \"read-only\"\nreport = \"all\"\nread = [\"/\", \"{}\"]\n",
        outside.display()
    );
    std::fs::write(home.config().join("config.toml"), configuration).unwrap();
    let mut client = Client::start(&home, &[]);
    client.ask(&json!({"id": "h", "type": "hello", "capabilities": {"approve": true}}));
    let command = format!("echo new > {}", file.display());
    let refused =
        client.ask(&json!({"id": "1", "type": "call", "arguments": {"command": command}}));
    let mut needs = refused["data"]["grantable"].clone();
    assert_eq!(needs["write"], json!([file]), "{refused}");
    needs["reason"] = json!("it is to be new");
    for (id, approved) in [("2", false), ("3", true)] {
        client.say(
            &json!({"id": id, "type": "call", "arguments": {"command": command, "needs": needs}}),
        );
        let asked = request(&mut client, "approve");
        let message = asked["params"]["message"].as_str().unwrap();
        let thing = format!("write {}", file.display());
        assert!(
            message.contains(&thing) && message.contains("it is to be new"),
            "{asked}"
        );
        assert_eq!(asked["params"]["rule"], "confinement", "{asked}");
        reply(&mut client, &asked, &json!({"approved": approved}));
        let answer = client.response(id);
        assert_eq!(answer["data"]["denied"].is_null(), approved, "{answer}");
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, if approved { "new\n" } else { "old" });
    }
    client.close();
}

#[test]
fn the_clients_user_is_asked_where_a_rule_says_so() {
    let home = Home::new();
    let rules = "[[rules]]\nname = \"ask_me\"\ncommand = [\"touch\"]\ndecision = \"ask\"\nmessage = \"really?\"\n";
    std::fs::write(home.config().join("config.toml"), rules).unwrap();
    let mut client = Client::start(&home, &[]);
    let call = |id, file: &str| json!({"id": id, "type": "call", "arguments": {"command": format!("touch {file}")}});
    let answer = client.ask(&call("0", "nobody"));
    assert_eq!(
        answer["data"]["denied"]["rule"], "ask_me",
        "nobody can be asked"
    );
    client.ask(&json!({"id": "h", "type": "hello", "capabilities": {"approve": true}}));
    for (id, file, approved) in [("1", "yes", true), ("2", "no", false)] {
        client.say(&call(id, file));
        let asked = request(&mut client, "approve");
        let expected =
            json!({"command": format!("touch {file}"), "rule": "ask_me", "message": "really?"});
        assert_eq!((&asked["params"], &asked["call"]), (&expected, &json!(id)));
        reply(&mut client, &asked, &json!({"approved": approved}));
        assert_eq!(client.response(id)["data"]["denied"].is_null(), approved);
    }
    client.close();
    let exists = ["nobody", "yes", "no"].map(|file| home.workspace().join(file).exists());
    assert_eq!(exists, [false, true, false]);
}
