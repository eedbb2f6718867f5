//! A secret stands in no record: one canary through every kind of run, and a look at every file.

use crate::rpc_under_test::Client;
use crate::{bashd, mcp};
use bashd_testkit::Home;
use serde_json::json;
use std::fs;
use std::path::Path;

/// The value of a variable with a secret name; in the environment, and written into commands.
const CANARY: &str = "canary-7f3a9c51";

/// One that only a command's own text gives to a secret name.
const GIVEN: &str = "given-51c9a3f7";

/// Every file below a directory whose bytes, or whose name, have this text.
fn holding(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(holding(&path, text));
        }
        // A link is what it says: it may lead to a file of whoever opens it.
        let bytes = if kind.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            target.into_os_string().into_encoded_bytes()
        } else if kind.is_file() {
            fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        } else {
            Vec::new()
        };
        let has = |bytes: &[u8]| bytes.windows(text.len()).any(|at| at == text.as_bytes());
        if has(&bytes) || has(path.as_os_str().as_encoded_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Says nothing of its secrets on its output, which is kept as it is.
fn command(rest: &str) -> String {
    format!(": {CANARY}; export OTHER_PASSWORD={GIVEN}; {rest}")
}

/// The same by calls of servers: in a session, as a job, stored, denied, and as a prompt.
fn through_servers(home: &Home) {
    let serve = |front_end: &str| {
        let server = bashd(home, &[front_end]).env("API_TOKEN", CANARY);
        server.stdin("").spawn()
    };
    let calls = [
        json!({"command": command("kept=1"), "session": "s"}),
        json!({"command": command("cd /nowhere"), "session": "s"}),
        json!({"command": command("sleep 60"), "session": "s", "timeout": 1}),
        json!({"command": command("exit 3"), "session": "s"}),
        json!({"command": command("seq 100000")}),
        json!({"command": command("sleep 0.4"), "background": true}),
        json!({"command": command("true"), "env": {"MY_SECRET": GIVEN}}),
        json!({"command": command("cat"), "stdin": "text"}),
    ];
    let mut rpc = Client::of(serve("rpc"));
    rpc.listen();
    for (id, arguments) in calls.iter().enumerate() {
        rpc.ask(&json!({"id": id, "type": "call", "arguments": arguments}));
    }
    rpc.ask(&json!({"id": "b", "type": "bash", "command": command("true")}));
    rpc.ask(&json!({"id": "l", "type": "job", "arguments": {"action": "list"}}));
    rpc.ask(&json!({"id": "k", "type": "job", "arguments": {"action": "kill", "job": "bg_1"}}));
    drop(rpc.stdin.take());
    rpc.ended();
    let mut mcp = mcp::Client::of(serve("mcp"));
    mcp.initialize(&json!({}));
    for arguments in &calls {
        mcp.bash(arguments);
    }
    mcp.finish();
    let mut acp = mcp::Client::of(serve("acp"));
    acp.ask(
        "initialize",
        &json!({"protocolVersion": 1, "clientCapabilities": {}}),
    );
    let session = acp.ask(
        "session/new",
        &json!({"cwd": home.workspace(), "mcpServers": []}),
    );
    let session = &session["result"]["sessionId"];
    for text in [command("kept=1"), command("seq 100000"), command("exit 3")] {
        let prompt = json!([{"type": "text", "text": text}]);
        let answer = acp.ask(
            "session/prompt",
            &json!({"sessionId": session, "prompt": prompt}),
        );
        assert!(answer["result"].is_object(), "{answer}");
    }
    acp.finish();
}

#[test]
fn no_record_of_any_kind_of_run_has_a_secret() {
    let home = Home::new().keeping_in_state(&["runs", "live", "clients"]);
    let run = |arguments: &[&str], text: &str| {
        let all = [&["run"], arguments, &["--", text]].concat();
        bashd(&home, &all).env("API_TOKEN", CANARY).run()
    };
    run(&[], &command("true"));
    run(&["--json"], &command("seq 100000"));
    run(&[], &command("if"));
    run(&["--timeout", "0.2"], &command("sleep 60"));
    run(&["--profile", "pi"], &command("seq 100000"));
    run(&["--cwd", "/nowhere"], &command("true"));
    // Jobs: from the beginning, by their timeout, and of what a shell left.
    run(&["--background"], &command("true"));
    run(&["--background"], &command("sleep 0.5 & sleep 0.4"));
    let late = command("sleep 1.5");
    run(&["--timeout", "0.2", "--on-timeout", "background"], &late);
    let left = command(&format!("sh -c 'sleep 300; : {CANARY}' {CANARY} & exit"));
    run(&[], &left);
    run(&["--background"], &left);
    through_servers(&home);
    // Announced while its call waits: its directory is there for a moment only.
    let seen = home.workspace().join("seen");
    let look = format!(
        "sleep 1.4; cp -r {} {}",
        home.state().display(),
        seen.display()
    );
    run(&[], &command(&look));
    assert!(
        !holding(&seen, "\"kind\":\"foreground\"").is_empty(),
        "nothing was announced"
    );
    for place in [home.state(), seen] {
        for secret in [CANARY, GIVEN] {
            let found = holding(&place, secret);
            assert!(found.is_empty(), "{secret} is in {found:?}");
        }
    }
    let names = holding(&home.state(), "[value of API_TOKEN]");
    assert!(
        names.iter().any(|name| name.ends_with("spec.json")),
        "{names:?}"
    );
    assert!(
        names.iter().any(|name| name.ends_with("status.json")),
        "{names:?}"
    );
    assert!(
        names.iter().any(|name| name.contains(".jsonl")),
        "{names:?}"
    );
    let listed = bashd(&home, &["jobs", "--json"]).run();
    for line in listed.out().lines() {
        let job: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let id = job["id"].as_str().expect("an id");
        bashd(&home, &["jobs", "kill", id]).run();
    }
}
