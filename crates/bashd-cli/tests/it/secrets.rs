//! A secret stands in no record and in nothing that anybody is shown: canaries through every kind
//! of run, and a look at every file and every answer.

use crate::console::tmux::Tmux;
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
    let serve = |front_end: &str| serve(home, front_end);
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
    // What a call says about itself, in a contract that asks for it.
    let described = json!({
        "command": command("sleep 0.4"), "description": format!("Tell {CANARY}"),
        "run_in_background": true,
    });
    let started = rpc
        .ask(&json!({"id": "d", "type": "call", "profile": "claude-code", "arguments": described}));
    assert!(started["data"]["job"].is_string(), "{started}");
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
    let telling = home.workspace().join(CANARY);
    fs::create_dir(&telling).unwrap();
    let telling = telling.to_str().unwrap();
    run(&["--background", "--cwd", telling], &command("sleep 0.4"));
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
    let names = holding(&home.state(), "[secret API_TOKEN, 15 characters]");
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

/// A secret of the environment, as commands print it: whole, byte by byte, encoded, coloured.
const PRINTING: &str = "echo $API_TOKEN; printf x; for ((n = 0; n < ${#API_TOKEN}; n++)); do printf %s \
    \"${API_TOKEN:n:1}\"; sleep 0.002; done; echo; printf %s $API_TOKEN | base64; \
    printf '%s\\033[31m%s\\n' ${API_TOKEN:0:6} ${API_TOKEN:6}; echo end";

fn hides(what: &str, text: &str) {
    assert!(!text.contains(CANARY), "{what} shows it: {text}");
    assert!(
        !text.contains("Y2FuYXJ5LTdm"),
        "{what} shows it in base64: {text}"
    );
    assert!(
        text.contains("[secret API_TOKEN, 15 characters]"),
        "{what}: {text}"
    );
}

#[test]
fn no_command_line_shows_a_secret() {
    let home = Home::new().keeping_in_state(&["runs", "live", "clients"]);
    let bashd_with = |arguments: &[&str]| bashd(&home, arguments).env("API_TOKEN", CANARY).run();
    let plain = bashd_with(&["run", "--", PRINTING]).out();
    hides("run", &plain);
    assert!(
        plain.contains("x[secret API_TOKEN, 15 characters]\n"),
        "{plain}"
    );
    let reply = bashd_with(&["run", "--json", "--", PRINTING]).out();
    hides("run --json", &reply);
    // What is counted is what was written.
    let reply: serde_json::Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply["output_bytes"], 16 + 17 + 21 + 21 + 4, "{reply}");
    // The documents' profiles show output as it is, unless they are told to hide secrets.
    for profile in ["pi", "voice", "harness", "phoenix", "codex"] {
        let shown = |more: &[&str]| {
            let all = [
                &["run", "--profile", profile],
                more,
                &["--", "echo $API_TOKEN"],
            ]
            .concat();
            bashd_with(&all).out()
        };
        assert!(shown(&[]).contains(CANARY), "{profile}");
        hides(profile, &shown(&["--set", "secrets.output=hide"]));
    }
    let shown = bashd_with(&[
        "run",
        "--set",
        "secrets.output=show",
        "--",
        "echo $API_TOKEN",
    ]);
    assert_eq!(shown.out(), format!("{CANARY}\n"));
    // An error of ours that repeats what it was told.
    let failed = bashd_with(&["run", "--cwd", &format!("/nowhere/{CANARY}"), "--", "true"]);
    hides("an error", &format!("{}{}", failed.out(), failed.err()));
}

#[test]
fn neither_stored_output_nor_a_job_shows_a_secret() {
    let home = Home::new().keeping_in_state(&["runs", "live", "clients"]);
    let bashd_with = |arguments: &[&str]| bashd(&home, arguments).env("API_TOKEN", CANARY).run();
    // Stored output, by range, by line and by search.
    bashd_with(&["run", "--", &format!("{PRINTING}; seq 20000; {PRINTING}")]);
    for part in [
        &[][..],
        &["--tail", "5"],
        &["--lines", "1-6"],
        &["--grep", "secret|end"],
        &["--json"],
    ] {
        let read = bashd_with(&[&["artifact", "read", "0"], part].concat()).out();
        hides(&format!("artifact read {part:?}"), &read);
    }
    let raw = bashd_with(&["artifact", "read", "0", "--raw"]);
    assert_eq!(raw.out(), "");
    assert!(
        raw.err().contains("stdout is not a terminal"),
        "{}",
        raw.err()
    );
    // A job, while it runs and afterwards.
    let script = format!(
        "{PRINTING}; printf ${{API_TOKEN:0:9}}; while ! test -e go; do sleep 0.02; done; echo ${{API_TOKEN:9}}"
    );
    let job = bashd_with(&["run", "--json", "--background", "--", &script]).out();
    let job: serde_json::Value = serde_json::from_str(&job).unwrap();
    let id = job["job"].as_str().expect("a job").to_owned();
    bashd_with(&["jobs", "wait", &id, "--regex", "^end", "--timeout", "30"]);
    let so_far = bashd_with(&["jobs", "output", &id]).out();
    hides("jobs output", &so_far);
    assert!(
        !so_far.contains("canary"),
        "the beginning of a secret is shown: {so_far}"
    );
    let listed = bashd_with(&["jobs", "--json"]).out();
    assert!(!listed.contains("canary-7f"), "{listed}");
    fs::write(home.workspace().join("go"), "").unwrap();
    bashd_with(&["jobs", "wait", &id, "--timeout", "30"]);
    let all = bashd_with(&["jobs", "output", &id]).out();
    assert!(
        all.ends_with("end\n[secret API_TOKEN, 15 characters]\n"),
        "{all}"
    );
    hides("jobs follow", &bashd_with(&["jobs", "follow", &id]).out());
    for list in [
        &["log"][..],
        &["log", "--json"],
        &["top", "--once"],
        &["top", "--json", "--once"],
        &["artifact", "list"],
    ] {
        let shown = bashd_with(list).out();
        assert!(!shown.contains(CANARY), "{list:?}: {shown}");
    }
}

/// A value that a host registers.
const REGISTERED: &str = "registered value";

/// Asserts that no record has one of these values: output alone has.
fn no_record_has(home: &Home, secrets: &[&str]) {
    for secret in secrets {
        let found = holding(&home.state(), secret);
        let is_output = |path: &String| {
            path.ends_with("/artifact") || path.ends_with("/output") || path.contains("/artifact.")
        };
        assert!(found.iter().all(is_output), "{secret} is in {found:?}");
    }
}

fn serve(home: &Home, front_end: &str) -> std::process::Child {
    let server = bashd(home, &[front_end]).env("API_TOKEN", CANARY);
    server.stdin("").spawn()
}

#[test]
fn rpc_shows_no_secret() {
    let home = Home::new().keeping_in_state(&["runs", "live", "clients"]);
    let own = "own-value-3141592";
    let registered = REGISTERED;
    let long = format!("{PRINTING}; seq 20000; {PRINTING}");
    let mut rpc = Client::of(serve(&home, "rpc"));
    rpc.listen();
    let answer =
        rpc.ask(&json!({"id": "s", "type": "secret", "name": "HOST", "value": registered}));
    assert_eq!(answer["success"], true, "{answer}");
    let answer = rpc.ask(&json!({"id": "t", "type": "secret", "name": "HOST", "value": "short"}));
    let error = "the secret HOST can't be hidden: it has fewer than 8 characters";
    assert_eq!(answer["error"], error, "{answer}");
    rpc.say(
        &json!({"id": "1", "type": "call", "stream": true, "arguments": {"command": PRINTING}}),
    );
    let mut told = String::new();
    let answer = loop {
        let message = rpc.next();
        if message["type"] == "response" {
            break message;
        }
        told.push_str(message["text"].as_str().unwrap_or_default());
        assert!(!message.to_string().contains(CANARY), "{message}");
    };
    hides("a call", &answer.to_string());
    hides("the events of a call", &told);
    // Live, two letters of it may have been shown before it was known to be one.
    let marks = told.matches("[secret API_TOKEN, 15 characters]\n").count();
    assert!(
        marks >= 2 && !told.contains(CANARY.get(..3).unwrap_or_default()),
        "{told}"
    );
    let arguments = json!({"command": format!("echo $MINE; echo {registered}"), "env": {"MINE": "x", "MY_TOKEN": own}, });
    let answer = rpc.ask(&json!({"id": "2", "type": "call", "arguments": arguments}));
    assert_eq!(
        answer["data"]["output"],
        "x\n[secret HOST, 16 characters]\n"
    );
    let answer = rpc.ask(&json!({"id": "3", "type": "call", "arguments": {"command": "echo $MY_TOKEN", "env": {"MY_TOKEN": own}}}));
    assert_eq!(
        answer["data"]["output"],
        "[secret MY_TOKEN, 17 characters]\n"
    );
    hides(
        "bash",
        &rpc.ask(&json!({"id": "4", "type": "bash", "command": PRINTING}))
            .to_string(),
    );
    let stored = rpc.ask(&json!({"id": "5", "type": "call", "arguments": {"command": long}}));
    let address = stored["data"]["artifact"].clone();
    let read = json!({"id": address, "tail": 6});
    hides(
        "artifact",
        &rpc.ask(&json!({"id": "6", "type": "artifact", "arguments": read}))
            .to_string(),
    );
    drop(rpc.stdin.take());
    rpc.ended();
    no_record_has(&home, &[CANARY, own, registered]);
}

#[test]
fn jobs_over_rpc_show_no_secret() {
    let home = Home::new().keeping_in_state(&["runs", "live", "clients"]);
    let own = "own-value-3141592";
    let mut rpc = Client::of(serve(&home, "rpc"));
    rpc.listen();
    // A value that only a call's variables had is hidden when its job is read later.
    let waits = "while ! test -e go; do sleep 0.02; done; echo $MY_TOKEN; echo $API_TOKEN";
    let arguments = json!({"command": waits, "env": {"MY_TOKEN": own}, "background": true});
    let job = rpc.ask(&json!({"id": "7", "type": "call", "arguments": arguments}));
    let job = job["data"]["job"].clone();
    fs::write(home.workspace().join("go"), "").unwrap();
    rpc.ask(&json!({"id": "8", "type": "job", "arguments": {"action": "wait", "job": job}}));
    let output =
        rpc.ask(&json!({"id": "9", "type": "job", "arguments": {"action": "output", "job": job}}));
    hides("job", &output.to_string());
    assert!(!output.to_string().contains(own), "{output}");
    let listed = rpc.ask(&json!({"id": "10", "type": "job", "arguments": {"action": "list"}}));
    assert!(!listed.to_string().contains(CANARY), "{listed}");
    // The screen of a terminal.
    let arguments = json!({"command": "echo $API_TOKEN; read x", "pty": true, "background": true});
    let job = rpc.ask(&json!({"id": "11", "type": "call", "arguments": arguments}));
    let job = job["data"]["job"].clone();
    let screen = json!({"action": "screen", "job": job, "regex": "secret API"});
    hides(
        "a screen",
        &rpc.ask(&json!({"id": "12", "type": "job", "arguments": screen}))
            .to_string(),
    );
    rpc.ask(&json!({"id": "13", "type": "job", "arguments": {"action": "kill", "job": job}}));
    drop(rpc.stdin.take());
    rpc.ended();
    no_record_has(&home, &[CANARY, own]);
}

#[test]
fn mcp_shows_no_secret() {
    let home = Home::new().keeping_in_state(&["runs", "live", "clients"]);
    let registered = REGISTERED;
    let long = format!("{PRINTING}; seq 20000; {PRINTING}");
    let mut mcp = mcp::Client::of(serve(&home, "mcp"));
    mcp.initialize(&json!({"experimental": {"bashd/secrets": {"HOST": registered}}}));
    hides("mcp", &mcp.bash(&json!({"command": PRINTING})).to_string());
    let shown = mcp
        .bash(&json!({"command": format!("echo {registered}")}))
        .to_string();
    assert!(shown.contains("[secret HOST, 16 characters]"), "{shown}");
    let stored = mcp.bash(&json!({"command": long}));
    hides("mcp, cut", &stored.to_string());
    let stored = stored.to_string();
    let (_, number) = stored.split_once("artifact://").expect("an address");
    let number: String = number.chars().take_while(char::is_ascii_digit).collect();
    let address = format!("artifact://{number}");
    let read = json!({"name": "artifact", "arguments": {"id": address, "tail": 6}});
    hides(
        "the tool artifact",
        &mcp.ask("tools/call", &read).to_string(),
    );
    mcp.finish();
    no_record_has(&home, &[CANARY, registered]);
}

#[test]
fn at_a_terminal_its_user_reads_what_was_written() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (100, 30)) else {
        return;
    };
    let program = env!("CARGO_BIN_EXE_bashd");
    bashd(&home, &["run", "seq 20000; echo $API_TOKEN"])
        .env("API_TOKEN", CANARY)
        .run();
    fs::write(home.workspace().join("token"), CANARY).unwrap();
    tmux.go_to(&home.workspace());
    tmux.start_console("API_TOKEN=$(cat token)");
    tmux.command("!echo $API_TOKEN; seq 9; echo $API_TOKEN");
    let shown = tmux.until("9\n[secret API_TOKEN, 15 characters]");
    assert!(!shown.contains(CANARY), "{shown}");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
    tmux.line(&format!("clear; {program} artifact read 0 --tail 1 --raw"));
    tmux.until(CANARY);
    tmux.line(&format!(
        "clear; {program} artifact read 0 --tail 1 --raw | cat"
    ));
    tmux.until("stdout is not a terminal");
    tmux.line(&format!(
        "clear; {program} run --pty -- {program} artifact read 0 --raw"
    ));
    // The rest of it is on the next line.
    tmux.until("this is a command that");
}
