//! One client with a handshake, on stdin and stdout.

use super::client::{Client, until};
use bashd_testkit::{Home, processes};
use serde_json::{Value, json};
use std::fs;

#[test]
fn it_introduces_itself_and_its_tools() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let hello = client.initialize(&json!({}));
    let hello = &hello["result"];
    assert_eq!(hello["serverInfo"]["name"], "bashd");
    assert!(hello["instructions"].as_str().unwrap().lines().count() <= 10);
    assert!(hello["capabilities"]["tools"].is_object(), "{hello}");
    assert!(hello["capabilities"]["logging"].is_object(), "{hello}");
    assert_eq!(hello["capabilities"]["resources"]["subscribe"], true);
    assert!(hello["capabilities"]["tasks"].is_null(), "{hello}");
    let tools = client.ask("tools/list", &json!({}));
    let bash = &tools["result"]["tools"][0];
    assert_eq!(bash["name"], "bash");
    assert_eq!(bash["annotations"]["destructiveHint"], true);
    assert_eq!(bash["annotations"]["openWorldHint"], true);
    for tool in tools["result"]["tools"].as_array().unwrap() {
        assert_eq!(tool.get("outputSchema"), None, "{tool}");
    }
    assert_eq!(tools["result"]["tools"][1]["name"], "job");
    let artifact = &tools["result"]["tools"][2];
    assert_eq!(artifact["name"], "artifact");
    assert_eq!(artifact["annotations"]["readOnlyHint"], true);
    let (rest, status) = client.finish();
    assert_eq!(rest, Vec::<String>::new());
    assert!(status.success(), "{status}");
}

#[test]
fn the_tool_of_every_profile_is_the_profiles_own() {
    let home = Home::new();
    for profile in ["default", "voice", "harness", "phoenix"] {
        let schema = crate::shown(&home, &["schema", "--profile", profile]).out();
        let schema: Value = serde_json::from_str(&schema).unwrap();
        let mut client = Client::connect(&home, &["--profile", profile]);
        let tools = client.ask("tools/list", &json!({}));
        let tool = &tools["result"]["tools"][0];
        assert_eq!(tool["name"], schema["name"], "{profile}");
        assert_eq!(tool["description"], schema["description"], "{profile}");
        assert_eq!(tool["inputSchema"], schema["input_schema"], "{profile}");
    }
}

#[test]
fn a_result_is_its_text_alone_and_the_fields_are_in_meta() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    let result = client.bash(&json!({"command": "echo o; echo e >&2; exit 3"}));
    assert_eq!(result["content"][0]["text"], "o\ne\n[exit code 3]");
    assert_eq!(result["isError"], false);
    let fields = &result["_meta"]["bashd/reply"];
    assert_eq!(fields["output"], "o\ne\n");
    assert_eq!(fields["exit_code"], 3);
    assert_eq!(fields["result"]["timeout_s"], 120.0);
    assert_eq!(result.get("structuredContent"), None, "{result}");
    for nothing in ["timed_out", "signal", "omitted_bytes", "left_behind"] {
        assert_eq!(fields.get(nothing), None, "{result}");
    }
    let refused = client.bash(&json!({"nonsense": 1}));
    assert_eq!(refused["isError"], true);
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("nonsense"), "{text}");
    // Some clients show their model the whole result of an error.
    assert_eq!(
        refused.to_string().matches("nonsense").count(),
        1,
        "{refused}"
    );
}

#[test]
fn programs_get_few_fields_and_a_schema() {
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    let by_key = ["--set", "mcp.structured=true"];
    for arguments in [&["--structured"][..], &by_key] {
        let mut client = Client::connect(&home, arguments);
        let tools = client.ask("tools/list", &json!({}));
        for tool in tools["result"]["tools"].as_array().unwrap() {
            assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        }
        let told = |result: &Value| {
            let mut fields = result["structuredContent"].clone();
            let output = fields.as_object_mut().unwrap().remove("output");
            let rest = fields.to_string();
            assert!(rest.len() <= 300, "{rest}");
            (output.unwrap_or_default(), fields)
        };
        let result = client.bash(&json!({"command": "echo o; echo e >&2; exit 3"}));
        assert_eq!(result["content"][0]["text"], "o\ne\n[exit code 3]");
        let (output, fields) = told(&result);
        assert_eq!((output, &fields["exit_code"]), (json!("o\ne\n"), &json!(3)));
        for value in fields.as_object().unwrap().values() {
            assert!(value.as_u64() != Some(0) && !value.is_null(), "{fields}");
        }
        assert_eq!(
            told(&client.bash(&json!({"command": "true"}))).1["exit_code"],
            0
        );
        let long = client.bash(&json!({"command": "seq 20000"}));
        assert!(told(&long).1["artifact"].is_string(), "{long}");
        let gate = home.workspace().join("gate");
        let command = format!(
            "echo begun; until [ -e {} ]; do sleep 0.05; done",
            gate.display()
        );
        let started = client.bash(&json!({"command": command, "background": true}));
        let (_, fields) = told(&started);
        fs::write(&gate, "").unwrap();
        let wait = json!({"action": "wait", "job": fields["job"]});
        let waited = client.ask("tools/call", &json!({"name": "job", "arguments": wait}));
        let (output, fields) = told(&waited["result"]);
        assert_eq!(output, "begun\n", "{waited}");
        assert_eq!(fields["jobs"][0]["job"]["exit_code"], 0, "{waited}");
        fs::remove_file(&gate).unwrap();
    }
}

/// Asserts that nothing in it says nothing; a status of 0 does say something.
fn says_something(name: &str, value: &Value) {
    let is_empty = match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0) && name != "exit_code",
        Value::String(text) => text.is_empty(),
        Value::Array(items) => {
            for item in items {
                says_something(name, item);
            }
            items.is_empty()
        }
        Value::Object(members) => {
            members
                .iter()
                .for_each(|(name, member)| says_something(name, member));
            members.is_empty()
        }
        Value::Bool(true) => false,
    };
    assert!(!is_empty, "`{name}` is {value}");
}

#[test]
fn in_every_profile_programs_get_what_says_something_in_300_bytes() {
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    for profile in ["default", "pi", "voice", "harness", "phoenix"] {
        let mut client = Client::connect(&home, &["--structured", "--profile", profile]);
        for (command, output, code) in [
            ("echo o; echo e >&2; exit 3", Some("e\n"), 3),
            ("echo hello", Some("hello\n"), 0),
            ("true", None, 0),
            ("ls /nonexistent", Some("nonexistent"), 2),
            ("cd /; printf 'no newline'", Some("no newline"), 0),
            ("seq 1 20000", Some("\n"), 0),
        ] {
            let result = client.bash(&json!({"command": command}));
            let mut fields = result["structuredContent"].clone();
            says_something("structuredContent", &fields);
            assert_eq!(fields["exit_code"], code, "{profile}: {command}: {result}");
            let told = fields.as_object_mut().unwrap().remove("output");
            let told = told.unwrap_or_default();
            let told = told.as_str().unwrap_or_default();
            assert!(
                told.contains(output.unwrap_or_default()),
                "{profile}: {result}"
            );
            assert_eq!(told.is_empty(), output.is_none(), "{profile}: {result}");
            let rest = fields.to_string();
            assert!(rest.len() <= 300, "{profile}: {command}: {rest}");
        }
    }
}

#[test]
fn flags_decide_what_may_run_and_where() {
    let home = Home::new();
    let mut client = Client::connect(&home, &["--safe-mode", "strict"]);
    let denied = client.bash(&json!({"command": "touch x"}));
    let fields = &denied["_meta"]["bashd/reply"];
    assert!(fields["denied"].is_object(), "{denied}");
    let mut client = Client::connect(&home, &["--interceptor", "--tools", "read"]);
    let denied = client.bash(&json!({"command": "cat README.md"}));
    let tool = &denied["_meta"]["bashd/reply"]["denied"]["suggested_tool"];
    assert_eq!(tool, "read", "{denied}");
    let mut client = Client::connect(&home, &["--cwd", "/"]);
    let result = client.bash(&json!({"command": "pwd"}));
    assert_eq!(result["_meta"]["bashd/reply"]["output"], "/\n");
}

#[test]
fn a_session_is_an_argument_or_the_servers() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let mut client = Client::connect(&home, &[]);
    client.bash(&json!({"command": "x=kept; cd /", "session": "a"}));
    let same = client.bash(&json!({"command": "echo $x $PWD", "session": "a"}));
    assert_eq!(same["_meta"]["bashd/reply"]["output"], "kept /\n", "{same}");
    let other = client.bash(&json!({"command": "echo \"[$x]\""}));
    assert_eq!(other["_meta"]["bashd/reply"]["output"], "[]\n", "{other}");
    let mut client = Client::connect(&home, &["--profile", "phoenix", "--session", "b"]);
    client.bash(&json!({"command": "x=kept"}));
    let same = client.bash(&json!({"command": "echo $x"}));
    assert_eq!(same["_meta"]["bashd/reply"]["output"], "kept\n", "{same}");
}

#[test]
fn progress_tells_time_and_tail_to_who_wants_it() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    let go = home.workspace().join("go");
    let command = format!(
        "echo first; until [ -e {} ]; do sleep 0.05; done",
        go.display()
    );
    let params = json!({
        "name": "bash", "arguments": {"command": command}, "_meta": {"progressToken": "p"},
    });
    let id = client.request("tools/call", &params);
    let one = client.wait_for(|message| message["method"] == "notifications/progress");
    assert_eq!(one["params"]["progressToken"], "p");
    let two = client.wait_for(|message| message["method"] == "notifications/progress");
    let number = |message: &Value| message["params"]["progress"].as_f64().unwrap();
    assert!(number(&two) > number(&one), "{one} {two}");
    let text = two["params"]["message"].as_str().unwrap();
    assert!(
        text.starts_with("running for ") && text.ends_with("first"),
        "{text}"
    );
    fs::write(go, "").unwrap();
    let answer = client.wait_for(|message| message["id"] == id);
    assert_eq!(answer["result"]["_meta"]["bashd/reply"]["exit_code"], 0);
}

#[test]
fn cancellation_ends_the_tree_and_is_not_answered() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    let pid = home.workspace().join("pid");
    let command = format!(
        "setsid sleep 300 & echo $! > {0}.new; mv {0}.new {0}; sleep 300",
        pid.display()
    );
    let id = client.request(
        "tools/call",
        &json!({"name": "bash", "arguments": {"command": command}}),
    );
    until("the command runs", || pid.exists());
    let before = sleeping(&home);
    assert!(before >= 2, "{before} processes sleep");
    client.say(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
    }));
    until("the tree is gone", || sleeping(&home) == 0);
    let alive = client.bash(&json!({"command": "echo alive"}));
    assert_eq!(alive["_meta"]["bashd/reply"]["output"], "alive\n");
    let (rest, _) = client.finish();
    assert_eq!(
        rest,
        Vec::<String>::new(),
        "a cancelled request was answered"
    );
    let log = crate::shown(&home, &["log", "--json"]).out();
    assert!(log.contains("\"cancelled\""), "{log}");
}

/// How many of the home's processes are a `sleep 300`.
fn sleeping(home: &Home) -> usize {
    let all = processes::with_variable(bashd_testkit::keeper_hook::MARK, home.mark());
    all.iter()
        .filter(|process| process.command.contains("sleep 300"))
        .count()
}

#[test]
fn the_server_ends_with_its_stdin_and_takes_commands_along() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    let params = json!({"name": "bash", "arguments": {"command": "trap '' TERM; sleep 300"}});
    client.request("tools/call", &params);
    until("the command runs", || sleeping(&home) > 0);
    let (_, status) = client.finish();
    assert!(status.success(), "{status}");
    until("the tree is gone", || sleeping(&home) == 0);
}

#[test]
fn a_signal_ends_the_server() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    let pid = rustix::process::Pid::from_child(&client.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(client.wait().code(), Some(143));
}

/// A rule that wants to be asked.
fn with_a_rule_that_asks(home: &Home) {
    let rule = r#"
[[rules]]
name = "deploys"
decision = "ask"
message = "this deploys"
command = "deploy"
[rules.examples]
deny = ["deploy now"]
allow = ["echo deploy"]
"#;
    fs::write(home.config().join("config.toml"), rule).unwrap();
}

#[test]
fn who_offers_elicitation_is_asked() {
    let home = Home::new().keeping_in_state(&["grants.jsonl", "grants.lock"]);
    with_a_rule_that_asks(&home);
    let mut client = Client::connect_with(&home, &[], &json!({"elicitation": {}}));
    let arguments = json!({"command": "deploy() { echo deployed; }; deploy now"});
    let params = json!({"name": "bash", "arguments": arguments});
    let once = json!({"choice": "once"});
    for (action, content, is_denied) in [
        ("accept", Some(&once), false),
        // An answer without a choice is none: nobody may have seen the form.
        ("accept", Some(&json!({})), true),
        ("accept", None, true),
        ("accept", Some(&json!({"choice": "deny"})), true),
        ("accept", Some(&json!({"choice": "yes"})), true),
        ("accept", Some(&json!({"choice": true})), true),
        ("decline", Some(&once), true),
        ("cancel", None, true),
    ] {
        let id = client.request("tools/call", &params);
        let question = client.wait_for(|message| message["method"] == "elicitation/create");
        let text = question["params"]["message"].as_str().unwrap();
        assert!(
            text.contains("deploy now") && text.contains("this deploys"),
            "{text}"
        );
        let form = &question["params"]["requestedSchema"];
        assert_eq!(form["required"], json!(["choice"]), "{question}");
        assert_eq!(
            form["properties"]["choice"].get("default"),
            None,
            "{question}"
        );
        let mut result = json!({"action": action});
        if let Some(content) = content {
            result["content"] = content.clone();
        }
        client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
        let answer = client.wait_for(|message| message["id"] == id && message["method"].is_null());
        let fields = &answer["result"]["_meta"]["bashd/reply"];
        assert_eq!(fields["denied"].is_object(), is_denied, "{answer}");
    }
    // For the session and for good means exactly this command, and this rule.
    for choice in ["session", "always"] {
        let command = format!("deploy() {{ echo deployed; }}; deploy {choice}");
        let params = json!({"name": "bash", "arguments": {"command": command}});
        let id = client.request("tools/call", &params);
        let question = client.wait_for(|message| message["method"] == "elicitation/create");
        let result = json!({"action": "accept", "content": {"choice": choice}});
        client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
        client.wait_for(|message| message["id"] == id && message["method"].is_null());
        let again = client.ask("tools/call", &params);
        assert_eq!(
            again["result"]["content"][0]["text"], "deployed\n",
            "{again}"
        );
        let other = format!("{command} # and more");
        let params = json!({"name": "bash", "arguments": {"command": other}});
        client.request("tools/call", &params);
        let question = client.wait_for(|message| message["method"] == "elicitation/create");
        let result = json!({"action": "decline"});
        client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    }
    let mut next = Client::connect(&home, &[]);
    for (choice, is_denied) in [("session", true), ("always", false)] {
        let command = format!("deploy() {{ echo deployed; }}; deploy {choice}");
        let result = next.bash(&json!({ "command": command }));
        assert_eq!(result["isError"], is_denied, "{result}");
    }
}

#[test]
fn where_nobody_can_be_asked_it_is_denied_with_the_reason() {
    let home = Home::new();
    with_a_rule_that_asks(&home);
    let mut client = Client::connect(&home, &[]);
    let result = client.bash(&json!({"command": "deploy now"}));
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("this deploys"), "{text}");
}

#[test]
fn log_messages_come_from_the_level_that_was_set() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    client.bash(&json!({"command": "true"}));
    let set = client.ask("logging/setLevel", &json!({"level": "debug"}));
    assert!(set["result"].is_object(), "{set}");
    client.request(
        "tools/call",
        &json!({"name": "bash", "arguments": {"command": "exit 4"}}),
    );
    let told = client.wait_for(|message| message["method"] == "notifications/message");
    assert_eq!(told["params"]["level"], "debug");
    assert_eq!(told["params"]["data"]["exit_code"], 4);
}
