//! Requests of one session run in the order in which they arrived, whatever their plans wait for.

use crate::rpc_under_test::Client;
use bashd_testkit::Home;
use serde_json::{Value, json};

/// A command that is judged by an errand, since it is long.
fn long(command: &str) -> String {
    format!(": {}; {command}", "x".repeat(200_000))
}

fn call(id: &str, command: &str) -> Value {
    json!({"id": id, "type": "call", "arguments": {"command": command}})
}

fn bash(id: &str, command: &str) -> Value {
    json!({"id": id, "type": "bash", "command": command})
}

fn output(answer: &Value) -> &str {
    let output = answer["data"]["output"].as_str();
    output.unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_persons_command_is_not_overtaken_by_the_call_behind_it() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--profile", "pi"]);
    client.ask(&bash("before", "round=none"));
    for round in 0..10 {
        let sets = long(&format!("round={round}"));
        client.say(&bash("first", &sets));
        client.say(&call("second", "echo $round"));
        let second = client.response("second");
        assert_eq!(output(&second), format!("{round}\n"), "{second}");
        client.response("first");
    }
    client.close();
}

#[test]
fn a_call_is_not_overtaken_by_the_persons_command_behind_it() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--profile", "pi"]);
    let shell = client.ask(&call("before", "round=none; echo $$"));
    let shell = output(&shell).trim_end().to_owned();
    for round in 0..10 {
        let sets = long(&format!("round={round}"));
        client.say(&call("first", &sets));
        client.say(&bash("second", "echo $$ [$round]"));
        let second = client.response("second");
        client.response("first");
        // It runs beside the call, in a shell of its own, or after it.
        let (pid, found) = output(&second).trim_end().split_once(' ').unwrap();
        assert!(
            pid != shell || found == format!("[{round}]"),
            "{round}: {second}"
        );
    }
    client.close();
}

#[test]
fn a_job_begins_with_what_the_call_before_it_set() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let arguments = ["--profile", "pi", "--set", "async.enabled=true"];
    let mut client = Client::start(&home, &arguments);
    client.ask(&call("before", "round=none"));
    for round in 0..5 {
        let sets = long(&format!("round={round}"));
        client.say(&call("first", &sets));
        let command = "echo found $round";
        let job = json!({"id": "second", "type": "call", "arguments": {"command": command, "async": true}});
        let started = client.ask(&job);
        let id = started["data"]["job"].clone();
        let polled = client.ask(&json!({"id": "p", "type": "job", "arguments": {"poll": [id]}}));
        let text = polled["data"]["text"].as_str().unwrap();
        assert!(
            text.contains(&format!("found {round}\n")),
            "{round}: {polled}"
        );
        client.response("first");
    }
    client.close();
}
