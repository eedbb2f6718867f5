//! `bashd rpc`: requests, responses and events; what the command line says; how it ends.

use crate::rpc_under_test::{Client, PATIENCE};
use crate::shown;
use bashd_testkit::Home;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

fn wait_for(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(
            begun.elapsed() < PATIENCE,
            "{} does not come",
            path.display()
        );
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn the_older_documents_requests_get_its_replies() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let answer =
        client.ask(&json!({"id": "1", "type": "bash", "command": "printf 'a\\nb'; exit 3"}));
    let expected = json!({
        "id": "1", "type": "response", "command": "bash", "success": true,
        "data": {
            "output": "a\nb", "exitCode": 3, "cancelled": false, "timedOut": false, "truncated": false,
            "totalLines": 2, "totalBytes": 3, "outputLines": 2, "outputBytes": 3,
        },
    });
    assert_eq!(answer, expected);
    client.say(&json!({"type": "bash", "command": "true"}));
    let answer = client.next();
    assert_eq!(answer.get("id"), None);
    assert_eq!(answer["data"]["totalLines"], 0);
    let answer = client.ask(&json!({"id": "2", "type": "bash", "command": "seq 100000"}));
    let data = &answer["data"];
    assert_eq!(
        (&data["truncated"], &data["totalBytes"]),
        (&json!(true), &json!(588_895))
    );
    assert_eq!(data["totalLines"], 100_001);
    assert_eq!(data["outputBytes"], data["output"].as_str().unwrap().len());
    let answer = client.ask(&json!({"id": "3", "type": "bash", "command": "kill -9 $$"}));
    assert_eq!(answer["data"]["exitCode"], 137);
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn lines_that_are_cut_are_told() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--profile", "pi"]);
    let answer =
        client.ask(&json!({"id": "1", "type": "bash", "command": "printf '%01000d\\nb\\n'"}));
    let data = &answer["data"];
    assert_eq!(data["truncated"], true, "{data}");
    assert_eq!(data["columnTruncatedLines"], 1);
    // 768 bytes of it are shown, of which the mark takes three.
    assert_eq!(data["columnDroppedBytes"], 1000 - 765);
    assert_eq!(data["artifactId"], "0");
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn in_pi_commands_share_a_shell_and_run_beside_each_other() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--profile", "pi"]);
    let bash = |id: &str, command: &str| json!({"id": id, "type": "bash", "command": command});
    client.ask(&bash("set", "x=1; mkfifo gate"));
    client.say(&bash("first", ": > ready; cat gate"));
    wait_for(&home.workspace().join("ready"));
    let beside = client.ask(&bash("beside", "echo \"[$x]\"; echo open > gate"));
    assert_eq!(beside["data"]["output"], "[]\n");
    assert_eq!(client.response("first")["data"]["output"], "open\n");
    let after = client.ask(&bash("after", "echo \"[$x]\""));
    assert_eq!(after["data"]["output"], "[1]\n");
    // Run as they were typed: what a model's call would have rewritten stays.
    let limited = client.ask(&bash("limited", "seq 5 | tail -n 2"));
    let data = &limited["data"];
    assert_eq!(
        (&data["output"], &data["totalBytes"]),
        (&json!("4\n5\n"), &json!(4))
    );
    let address = client.ask(&bash("address", "echo local://x skill://none/y"));
    assert_eq!(address["data"]["output"], "local://x skill://none/y\n");
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn abort_bash_ends_all_of_them() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    for id in ["a", "b"] {
        let command = format!("echo before; : > {id}; sleep 300");
        client.say(&json!({"id": id, "type": "bash", "command": command}));
    }
    client.say(&json!({"id": "c", "type": "call", "arguments": {"command": ": > c; sleep 300"}}));
    for id in ["a", "b", "c"] {
        wait_for(&home.workspace().join(id));
    }
    client.say(&json!({"id": "x", "type": "abort_bash"}));
    let expected = json!({"id": "x", "type": "response", "command": "abort_bash", "success": true});
    assert_eq!(client.response("x"), expected);
    for id in ["a", "b"] {
        let data = &client.response(id)["data"];
        assert_eq!(
            (&data["cancelled"], &data["output"], data.get("exitCode")),
            (&json!(true), &json!("[Command cancelled]\nbefore\n"), None)
        );
    }
    let answer = client.ask(&json!({"id": "y", "type": "cancel", "target": "c"}));
    assert_eq!(answer["success"], true);
    assert_eq!(client.response("c")["data"]["cancelled"], true);
    client.close();
}

#[test]
fn what_does_not_run_is_a_failure_with_its_reason() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let answer = client
        .ask(&json!({"id": "1", "type": "bash", "command": "touch X; mkfs.ext4 /dev/bashd-none"}));
    assert_eq!(answer["success"], false);
    assert_eq!(answer["denied"]["rule"], "no_mkfs");
    assert!(
        answer["error"]
            .as_str()
            .unwrap()
            .contains("Use an image file")
    );
    let answer = client.ask(&json!({"id": "2", "type": "bash", "command": "  "}));
    assert_eq!(
        (&answer["success"], answer["error"].is_string()),
        (&json!(false), true)
    );
    let answer = client
        .ask(&json!({"id": "3", "type": "call", "arguments": {"command": "touch X; mkfs.ext4 /dev/bashd-none"}}));
    assert_eq!(
        answer["success"], true,
        "the call was made, and has a reply"
    );
    assert_eq!(answer["data"]["denied"]["rule"], "no_mkfs");
    assert!(!home.workspace().join("X").exists());
    client.close();
}

#[test]
fn a_call_has_the_reply_of_run_in_every_profile() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    for profile in ["default", "voice", "harness", "phoenix"] {
        let input = json!({"command": "echo out; echo err >&2; exit 4"});
        let printed = shown(
            &home,
            &[
                "run",
                "--json",
                "--profile",
                profile,
                "--input",
                &input.to_string(),
            ],
        );
        let mut expected: Value = serde_json::from_slice(&printed.stdout).unwrap();
        let mut answer = client
            .ask(&json!({"id": profile, "type": "call", "profile": profile, "arguments": input}));
        for reply in [&mut expected, &mut answer["data"]] {
            reply["wall_ms"] = json!(0);
        }
        assert_eq!(answer["data"], expected, "{profile}");
    }
    let answer =
        client.ask(&json!({"id": "n", "type": "call", "profile": "nonsense", "arguments": {}}));
    assert!(
        answer["data"]["error"]
            .as_str()
            .unwrap()
            .contains("nonsense")
    );
    client.close();
}

#[test]
fn events_come_in_order_and_offsets_leave_nothing_out() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--profile", "harness"]);
    let command = "seq 50000; seq 3 >&2";
    client.say(
        &json!({"id": "1", "type": "call", "stream": true, "arguments": {"command": command}}),
    );
    let started = client.next();
    assert_eq!(
        (&started["type"], started["pid"].is_number()),
        (&json!("started"), true)
    );
    let mut texts = [String::new(), String::new()];
    let finished = loop {
        let message = client.next();
        assert_eq!(message["id"], "1");
        if message["type"] != "output" {
            break message;
        }
        let so_far = &mut texts[usize::from(message["stream"] == "err")];
        assert_eq!(message["offset"], so_far.len());
        so_far.push_str(message["text"].as_str().unwrap());
    };
    let lines: Vec<String> = (1..=50000).map(|line| format!("{line}\n")).collect();
    let expected = lines.concat();
    assert_eq!(texts, [expected, "1\n2\n3\n".to_owned()]);
    assert_eq!(
        (&finished["type"], &finished["exit_code"]),
        (&json!("finished"), &json!(0))
    );
    assert_eq!(client.next()["type"], "response");
    client.close();
}

#[test]
fn calls_run_side_by_side_and_one_is_cancelled_alone() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    client.say(&json!({"id": "slow", "type": "call", "arguments": {"command": "until [ -e go ]; do sleep 0.01; done; echo slow"}}));
    client
        .say(&json!({"id": "gone", "type": "call", "arguments": {"command": ": > up; sleep 300"}}));
    client.say(&json!({"id": "quick", "type": "call", "arguments": {"command": "echo quick"}}));
    assert_eq!(client.response("quick")["data"]["output"], "quick\n");
    wait_for(&home.workspace().join("up"));
    client.say(&json!({"id": 7, "type": "cancel", "target": "gone"}));
    assert_eq!(client.response("gone")["data"]["cancelled"], true);
    std::fs::write(home.workspace().join("go"), "").unwrap();
    assert_eq!(client.response("slow")["data"]["output"], "slow\n");
    let answer = client.ask(&json!({"id": "z", "type": "cancel", "target": "gone"}));
    assert_eq!(
        answer["error"],
        "no call with the id \"gone\" is in progress"
    );
    client.close();
}

#[test]
fn hello_and_schema_tell_what_there_is() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--profile", "voice"]);
    let answer = client.ask(&json!({"id": 1, "type": "hello"}));
    assert_eq!(answer["data"]["protocol"], 1);
    assert_eq!(answer["data"]["profile"], "voice");
    let answer = client.ask(&json!({"id": 2, "type": "schema"}));
    assert!(answer["data"]["input_schema"]["properties"]["command"].is_object());
    let answer = client.ask(&json!({"id": 3, "type": "schema", "profile": "default"}));
    assert!(answer["data"]["input_schema"]["properties"]["timeout"].is_object());
    let answer = client.ask(&json!({"id": 4, "type": "schema", "profile": "nonsense"}));
    assert_eq!(answer["success"], false);
    client.close();
}

#[test]
fn the_command_line_holds_for_every_call() {
    let home = Home::new();
    let mut client = Client::start(
        &home,
        &["--profile", "voice", "--safe-mode", "compat", "--cwd", "/"],
    );
    let answer = client.ask(&json!({"id": 1, "type": "call", "arguments": {"command": "touch X"}}));
    assert_eq!(
        answer["data"]["text"],
        "Error: Command not allowed in safe mode"
    );
    client.close();
    let mut client = Client::start(&home, &["--cwd", "/"]);
    let answer = client.ask(&json!({"id": 2, "type": "bash", "command": "pwd"}));
    assert_eq!(answer["data"]["output"], "/\n");
    client.close();
    let mut client = Client::start(&home, &["--interceptor", "--tools", "read,search"]);
    let answer = client.ask(&json!({"id": 1, "type": "call", "arguments": {"command": "cat f"}}));
    assert_eq!(answer["data"]["denied"]["suggested_tool"], "read");
    client.close();
}

#[test]
fn requests_that_were_piped_in_are_all_answered() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    for id in 0..50 {
        client.say(
            &json!({"id": id, "type": "bash", "command": "echo $BASHPID >/dev/null; echo hi"}),
        );
    }
    client.say_raw(br#"{"id":"last","type":"bash","command":"echo without newline"}"#);
    let (status, answers) = client.close();
    assert_eq!((status.code(), answers.len()), (Some(0), 51));
    assert!(
        answers.iter().all(|answer| answer["success"] == true),
        "{answers:?}"
    );
}

#[test]
fn when_stdin_closes_calls_have_a_while_and_then_end() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--linger", "0.2"]);
    client.say(&json!({"id": "1", "type": "bash", "command": ": > up; sleep 300"}));
    wait_for(&home.workspace().join("up"));
    let (status, answers) = client.close();
    assert_eq!(status.code(), Some(0));
    assert_eq!(answers[0]["data"]["cancelled"], true);
}

#[test]
fn a_client_that_is_gone_takes_its_calls_along() {
    let home = Home::new();
    let mut client = Client::start_deaf(&home, &["--linger", "600"]);
    client.say(&json!({"id": "1", "type": "bash", "command": ": > up; sleep 300"}));
    wait_for(&home.workspace().join("up"));
    drop(client.child.stdout.take());
    drop(client.stdin.take());
    assert_eq!(client.ended().code(), Some(0));
}

#[test]
fn signals_end_it_and_what_runs() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let home = Home::new();
        let mut client = Client::start(&home, &[]);
        client.say(&json!({"id": "1", "type": "bash", "command": ": > up; sleep 300"}));
        wait_for(&home.workspace().join("up"));
        kill_process(Pid::from_child(&client.child), signal).unwrap();
        assert_eq!(client.response("1")["data"]["cancelled"], true);
        assert_eq!(client.ended().code(), Some(status), "{signal:?}");
    }
}

#[test]
fn jobs_outlive_the_client_that_started_them_and_the_next_one_finds_them() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let mut client = Client::start(&home, &[]);
    let command =
        "echo up; for i in {1..3000}; do [ -e go ] && break; sleep 0.01; done; echo down; exit 3";
    let started = client.ask(
        &json!({"id": 1, "type": "call", "arguments": {"command": command, "background": true}}),
    );
    let job = started["data"]["job"].as_str().unwrap().to_owned();
    client.close();
    let mut client = Client::start(&home, &[]);
    client.ask(&json!({"id": 1, "type": "hello", "capabilities": {"jobs": true}}));
    let listed = client.ask(&json!({"id": 2, "type": "job", "arguments": {"action": "list"}}));
    let text = listed["data"]["text"].as_str().unwrap();
    assert!(
        text.starts_with(&format!("{job} (earlier): running")),
        "{text}"
    );
    let wait = json!({"action": "wait", "job": job, "regex": "up", "timeout": 30});
    let waited = client.ask(&json!({"id": 3, "type": "job", "arguments": wait}));
    assert_eq!(waited["data"]["is_error"], false, "{waited}");
    let wait = json!({"action": "wait", "job": job, "regex": "never", "timeout": 300});
    client.say(&json!({"id": "4", "type": "job", "arguments": wait}));
    client.ask(&json!({"id": 5, "type": "cancel", "target": "4"}));
    assert_eq!(
        client.response("4")["success"],
        true,
        "a wait can be cancelled"
    );
    std::fs::write(home.workspace().join("go"), "").unwrap();
    let ended = client.next_where(|message| message["type"] == "job_ended");
    let ended = &ended["job"];
    assert_eq!(
        (&ended["id"], &ended["exit_code"]),
        (&json!(job), &json!(3))
    );
    client.close();
}

#[test]
fn a_session_keeps_its_shell_from_call_to_call() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--session", "s"]);
    for (id, command) in [("1", "A=kept; cd /"), ("2", "echo $A $PWD")] {
        client.ask(&json!({"id": id, "type": "call", "arguments": {"command": command}}));
    }
    let answer = client.ask(&json!({"id": "3", "type": "bash", "command": "echo $A $PWD"}));
    assert_eq!(answer["data"]["output"], "kept /\n");
    client.close();
}

#[test]
fn no_signal_is_ignored_in_a_servers_commands() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    let command = "grep -E 'Sig(Blk|Ign)' /proc/self/status";
    let answer = client.ask(&json!({"id": "1", "type": "bash", "command": command}));
    let nothing = "0000000000000000";
    let expected = format!("SigBlk:\t{nothing}\nSigIgn:\t{nothing}\n");
    assert_eq!(answer["data"]["output"], expected, "{answer}");
    // Not even those two that the C library keeps for itself.
    let command = "bash -c 'kill -32 $$; echo lives'; bash -c 'kill -33 $$; echo lives'; echo $?";
    let answer = client.ask(&json!({"id": "2", "type": "bash", "command": command}));
    let output = answer["data"]["output"].as_str().unwrap();
    let lives = output.lines().any(|line| line == "lives");
    assert!(!lives && output.ends_with("161\n"), "{answer}");
}
