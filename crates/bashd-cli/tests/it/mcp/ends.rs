//! Ends of jobs over MCP, what the instructions say, and what happens at a timeout.

use super::client::Client;
use bashd_testkit::Home;
use serde_json::{Value, json};

const PI: [&str; 4] = ["--profile", "pi", "--set", "async.enabled=true"];

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn an_end_stands_at_the_head_of_the_next_reply_once_and_is_a_log_message() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let mut client = Client::connect(&home, &PI);
    let mut other = Client::connect(&home, &PI);
    client.ask("logging/setLevel", &json!({"level": "notice"}));
    let command = "until [ -e gate ]; do sleep 0.05; done; echo made";
    let started = client.bash(&json!({"command": command, "async": true}));
    assert!(
        text(&started).starts_with("Background job bg_1 started"),
        "{started}"
    );
    std::fs::write(home.workspace().join("gate"), "").unwrap();
    let told = client.wait_for(|message| message["method"] == "notifications/message");
    assert_eq!(told["params"]["data"]["alias"], "bg_1", "{told}");
    assert_eq!(told["params"]["data"]["exit_code"], 0, "{told}");
    let elsewhere = other.bash(&json!({"command": "echo mine"}));
    assert!(text(&elsewhere).starts_with("mine\n"), "{elsewhere}");
    let next = client.bash(&json!({"command": "echo next"}));
    let head = "<system-notice>\nBackground job bg_1 has completed. Resume your work using the result below.\n\nmade\n";
    assert!(text(&next).starts_with(head), "{next}");
    assert!(
        text(&next).contains("\n</system-notice>\n\nnext\n"),
        "{next}"
    );
    let after = client.bash(&json!({"command": "echo after"}));
    assert!(text(&after).starts_with("after\n"), "{after}");
    client.finish();
    other.finish();
}

#[test]
fn an_end_stands_at_the_head_of_whichever_tool_answers_next() {
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    let mut client = Client::connect(&home, &PI);
    let long = client.bash(&json!({"command": "seq 1 20000"}));
    let address = &long["_meta"]["bashd/reply"]["artifact"];
    let command = "until [ -e gate ]; do sleep 0.05; done; echo made";
    client.bash(&json!({"command": command, "async": true}));
    let read = json!({"name": "artifact", "arguments": {"id": address, "tail": 1}});
    let before = client.ask("tools/call", &read);
    assert_eq!(text(&before["result"]), "20000\n");
    std::fs::write(home.workspace().join("gate"), "").unwrap();
    client.wait_for(|message| message["method"] == "notifications/message");
    let next = client.ask("tools/call", &read);
    let told = text(&next["result"]);
    assert!(
        told.starts_with("<system-notice>\nBackground job bg_1 has completed."),
        "{told}"
    );
    assert!(told.ends_with("\n</system-notice>\n\n20000\n"), "{told}");
    let after = client.ask("tools/call", &read);
    assert_eq!(text(&after["result"]), "20000\n");
    client.finish();
}

#[test]
fn what_a_poll_told_is_not_told_again() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let mut client = Client::connect(&home, &PI);
    client.bash(&json!({"command": "echo made", "async": true}));
    let poll = json!({"name": "job", "arguments": {"poll": ["bg_1"]}});
    let polled = client.ask("tools/call", &poll);
    assert!(
        text(&polled["result"]).starts_with("## Completed (1)"),
        "{polled}"
    );
    let next = client.bash(&json!({"command": "echo next"}));
    assert!(text(&next).starts_with("next\n"), "{next}");
    client.finish();
}

#[test]
fn the_instructions_are_those_of_the_profile_that_is_served() {
    let home = Home::new();
    let said = |arguments: &[&str]| {
        let mut client = Client::start(&home, arguments);
        let hello = client.initialize(&json!({}));
        client.finish();
        hello["result"]["instructions"].as_str().unwrap().to_owned()
    };
    let default = said(&[]);
    assert!(
        default.contains("the job tool (wait, output, kill)"),
        "{default}"
    );
    assert!(default.contains("background: true") && default.contains("continues as a job"));
    let pi = said(&PI);
    assert!(pi.contains("the job tool (list, poll, cancel)"), "{pi}");
    assert!(
        pi.contains("async: true") && pi.contains("its timeout is ended"),
        "{pi}"
    );
    assert!(
        !pi.contains("background: true") && !pi.contains("kill"),
        "{pi}"
    );
    let without = said(&["--profile", "pi"]);
    assert!(
        !without.contains("job") && !without.contains("async"),
        "{without}"
    );
    let voice = said(&["--profile", "voice"]);
    assert!(!voice.contains("job"), "{voice}");
}

#[test]
fn a_command_over_its_timeout_goes_on_as_a_job_and_its_limit_is_said() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let mut client = Client::connect(&home, &[]);
    let slow = client.bash(&json!({"command": "echo a; sleep 300", "timeout": 1}));
    assert!(
        text(&slow).starts_with("a\n[still running after 1"),
        "{slow}"
    );
    let says = " s, now as job bg_1, which is ended after 24 h; next: job wait bg_1";
    assert!(text(&slow).contains(says), "{slow}");
    let kill = json!({"name": "job", "arguments": {"action": "kill", "job": "bg_1"}});
    client.ask("tools/call", &kill);
    let input = json!({"command": "echo a; sleep 300", "timeout": 1, "on_timeout": "kill"});
    let killed = client.bash(&input);
    assert!(
        text(&killed).ends_with("[timed out after 1 s and was ended]"),
        "{killed}"
    );
    client.finish();
}
