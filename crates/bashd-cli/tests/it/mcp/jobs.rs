//! Background jobs over MCP.

use super::client::Client;
use bashd_testkit::Home;
use serde_json::{Value, json};

fn home() -> Home {
    Home::new().keeping_in_state(&["runs", "artifacts"])
}

fn job(client: &mut Client, arguments: &Value) -> Value {
    let answer = client.ask(
        "tools/call",
        &json!({"name": "job", "arguments": arguments}),
    );
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

/// Starts a job; gives its id.
fn start(client: &mut Client, command: &str) -> String {
    let result = client.bash(&json!({"command": command, "background": true}));
    let id = &result["_meta"]["bashd/reply"]["job"];
    id.as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

#[test]
fn the_tool_is_the_profiles_own() {
    let home = home();
    let profile = bashd::Profile::builtin("default").unwrap().unwrap();
    let schema =
        bashd::profile::schema::job_definition(&profile, &bashd::Config::new(home.state()))
            .unwrap();
    let mut client = Client::connect(&home, &[]);
    let tools = client.ask("tools/list", &json!({}));
    let tool = &tools["result"]["tools"][1];
    assert_eq!(tool["name"], schema["name"]);
    assert_eq!(tool["description"], schema["description"]);
    assert_eq!(tool["inputSchema"], schema["input_schema"]);
}

#[test]
fn a_job_is_started_waited_for_and_ended() {
    let home = home();
    let mut client = Client::connect(&home, &[]);
    let id = start(&mut client, "echo ready; sleep 300");
    let waited = job(
        &mut client,
        &json!({"action": "wait", "job": id, "regex": "ready"}),
    );
    assert_eq!(waited["isError"], false, "{waited}");
    assert_eq!(waited.get("structuredContent"), None, "{waited}");
    let output = &waited["_meta"]["bashd/reply"]["result"]["output"];
    assert_eq!(output, "ready\n", "{waited}");
    let listed = job(&mut client, &json!({"action": "list"}));
    let text = listed["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("sleep 300"), "{text}");
    let killed = job(&mut client, &json!({"action": "kill", "job": id}));
    assert_eq!(killed["isError"], false, "{killed}");
    let unknown = job(&mut client, &json!({"action": "kill", "job": "bg_99"}));
    assert_eq!(unknown["isError"], true, "{unknown}");
}

#[test]
fn a_job_outlives_its_server_and_is_found_by_the_next() {
    let home = home();
    let mut client = Client::connect(&home, &[]);
    let id = start(&mut client, "sleep 300");
    let (_, status) = client.finish();
    assert!(status.success());
    let mut client = Client::connect(&home, &[]);
    let read = client.ask("resources/read", &json!({"uri": format!("job://{id}")}));
    let state = read["result"]["contents"][0]["text"].as_str().unwrap();
    let state: Value = serde_json::from_str(state).unwrap();
    assert_eq!(state["state"], "running", "{state}");
    job(&mut client, &json!({"action": "kill", "job": id}));
}

#[test]
fn a_call_returns_after_its_longest_wait_with_a_job() {
    let home = home();
    let mut client = Client::connect(&home, &[]);
    let result = client.bash(&json!({"command": "echo so far; sleep 300", "wait_max": 1}));
    let fields = &result["_meta"]["bashd/reply"];
    let id = fields["job"].as_str().unwrap_or_else(|| panic!("{result}"));
    assert_eq!(fields["output"], "so far\n");
    job(&mut client, &json!({"action": "kill", "job": id}));
}

#[test]
fn without_a_word_a_call_returns_after_the_servers_longest_wait() {
    let home = home();
    let mut client = Client::connect(&home, &["--wait-max", "1"]);
    let result = client.bash(&json!({"command": "echo so far; sleep 300"}));
    let fields = &result["_meta"]["bashd/reply"];
    let id = fields["job"].as_str().unwrap_or_else(|| panic!("{result}"));
    assert_eq!(fields["output"], "so far\n");
    assert_eq!(result["isError"], false, "{result}");
    job(&mut client, &json!({"action": "kill", "job": id}));
    // The call's own word counts more, and profiles without such a wait hold the request open.
    let result = client.bash(&json!({"command": "sleep 1.3; echo done", "wait_max": 60}));
    assert_eq!(
        result["_meta"]["bashd/reply"]["output"], "done\n",
        "{result}"
    );
    let mut client = Client::connect(&home, &["--wait-max", "1", "--profile", "phoenix"]);
    let result = client.bash(&json!({"command": "sleep 1.3; echo done"}));
    assert_eq!(
        result["_meta"]["bashd/reply"]["output"], "done\n",
        "{result}"
    );
}

#[test]
fn a_wait_keeps_to_the_servers_longest_wait_and_names_the_next_step() {
    let home = home();
    let mut client = Client::connect(&home, &["--wait-max", "1"]);
    let id = start(&mut client, "sleep 300");
    let begun = std::time::Instant::now();
    let waited = job(
        &mut client,
        &json!({"action": "wait", "job": id, "timeout": 600}),
    );
    assert!(begun.elapsed() < std::time::Duration::from_secs(100));
    let text = waited["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("bg_1: condition not met yet: running for "),
        "{text}"
    );
    assert!(text.ends_with(" s; next: job wait bg_1"), "{text}");
    job(&mut client, &json!({"action": "kill", "job": id}));
    // An end that was told is not listed again.
    let listed = job(&mut client, &json!({"action": "list"}));
    assert_eq!(
        listed["content"][0]["text"],
        "No job is running; 1 ended job was already reported."
    );
}

#[test]
fn cancelling_a_wait_leaves_the_job_alone() {
    let home = home();
    let mut client = Client::connect(&home, &[]);
    let id = start(&mut client, "echo begun; sleep 300");
    job(
        &mut client,
        &json!({"action": "wait", "job": id, "regex": "begun"}),
    );
    let arguments = json!({"action": "wait", "job": id, "timeout": 60});
    let params = json!({"name": "job", "arguments": arguments, "_meta": {"progressToken": 1}});
    let request = client.request("tools/call", &params);
    let told = client.wait_for(|message| message["method"] == "notifications/progress");
    let told = told["params"]["message"].as_str().unwrap();
    assert!(
        told.starts_with("bg_1: running for ") && told.ends_with(" s, 6 bytes of output\nbegun"),
        "{told}"
    );
    client.say(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request},
    }));
    let listed = job(&mut client, &json!({"action": "list"}));
    let text = listed["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("running"), "{text}");
    job(&mut client, &json!({"action": "kill", "job": id}));
}

#[test]
fn clients_hear_of_the_jobs_that_they_subscribed_to() {
    let home = home();
    let mut client = Client::connect(&home, &[]);
    let go = home.workspace().join("go");
    let command = format!(
        "until [ -e {} ]; do sleep 0.05; done; echo more",
        go.display()
    );
    let id = start(&mut client, &command);
    let address = format!("job://{id}");
    let listed = client.ask("resources/list", &json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], address, "{listed}");
    client.ask("resources/subscribe", &json!({"uri": address}));
    std::fs::write(go, "").unwrap();
    let updated = client.wait_for(|message| message["method"] == "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], address);
    job(&mut client, &json!({"action": "wait", "job": id}));
}

#[test]
fn a_program_that_needs_a_terminal_has_one_and_is_driven() {
    let home = home();
    let mut client = Client::connect(&home, &[]);
    let result = client.bash(&json!({"command": "test -t 0 && stty size", "pty": true}));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("40 120\n"), "{result}");
    let command = "read -rsp 'Password: ' word; echo; echo \"${#word} letters\"; sleep 300";
    let arguments = json!({"command": command, "pty": true, "background": true});
    let id = client.bash(&arguments)["_meta"]["bashd/reply"]["job"].clone();
    let shows = |client: &mut Client, pattern: &str| {
        let screen = json!({"action": "screen", "job": id, "regex": pattern, "timeout": 30});
        let shown = job(client, &screen);
        assert_eq!(shown["isError"], false, "{shown}");
        shown["content"][0]["text"].as_str().unwrap().to_owned()
    };
    shows(&mut client, "^Password:");
    let keys = json!({"action": "send", "job": id, "text": "secret", "keys": ["Enter"]});
    job(&mut client, &keys);
    let text = shows(&mut client, "letters$");
    assert!(
        text.contains("\n6 letters\n") && !text.contains("secret"),
        "{text}"
    );
    job(&mut client, &json!({"action": "kill", "job": id}));
}
