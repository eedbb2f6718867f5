//! `claude-code-2.0` and `claude-code-2.1`: tools of Claude Code that models still call.

use super::{call, home, seen, tool};
use crate::profile_under_test::{Contract, wait_until_nothing_runs};
use bashd_testkit::Home;
use serde_json::json;
use std::time::{Duration, Instant};

/// How long something may take that must happen.
const PATIENCE: Duration = Duration::from_mins(1);

fn first(home: &Home) -> Contract {
    Contract::new(home, "claude-code-2.0")
}

fn second(home: &Home) -> Contract {
    Contract::new(home, "claude-code-2.1")
}

/// A text without the time in it.
fn timeless(text: &str) -> String {
    match text.split_once("\n\n<timestamp>") {
        Some((before, time)) => {
            assert!(time.ends_with("Z</timestamp>"), "{time}");
            before.to_owned()
        }
        None => panic!("no time: {text}"),
    }
}

#[tokio::test]
async fn c_19_stdout_comes_before_stderr_and_the_timeout_ends_a_command() {
    let home = Home::new();
    let claude = first(&home);
    let both = seen(&claude, "echo err >&2; echo out; exit 3").await;
    assert_eq!(both, ("Exit code 3\nout\nerr".to_owned(), true));
    let input = json!({"command": "echo a; sleep 300", "timeout": 2000});
    let reply = call(&claude, input).await;
    assert_eq!(reply.text, "Exit code 143\nCommand timed out after 2s\na");
    assert!(reply.is_error);
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn c_20_bashoutput_shows_what_is_new_and_how_it_ended() {
    let home = home();
    let claude = first(&home);
    let command =
        "echo one; echo e >&2; until [ -e go ]; do sleep 0.05; done; echo two; echo three; exit 4";
    let started = call(
        &claude,
        json!({"command": command, "run_in_background": true}),
    )
    .await;
    assert_eq!(started.text, "Command running in background with ID: bg_1");
    let (mut shown, begun) = (String::new(), Instant::now());
    while !shown.contains("one") || !shown.contains("<stderr>\ne\n") {
        assert!(begun.elapsed() < PATIENCE, "{shown}");
        let reply = tool(&claude, "BashOutput", json!({"bash_id": "bg_1"})).await;
        assert!(
            reply.text.starts_with("<status>running</status>"),
            "{}",
            reply.text
        );
        shown.push_str(&reply.text);
    }
    std::fs::write(home.workspace().join("go"), "").unwrap();
    let mut last = String::new();
    while !last.contains("<status>failed</status>") {
        assert!(begun.elapsed() < PATIENCE, "{shown}");
        let input = json!({"bash_id": "bg_1", "filter": "^t(wo|en)$"});
        last = tool(&claude, "BashOutput", input).await.text;
        shown.push_str(&last);
    }
    assert!(last.contains("\n\n<exit_code>4</exit_code>"), "{last}");
    assert!(shown.contains("<stdout>\ntwo\n</stdout>"), "{shown}");
    assert!(!shown.contains("three"), "{shown}");
    assert_eq!(shown.matches("one").count(), 1, "{shown}");
    let again = tool(&claude, "BashOutput", json!({"bash_id": "bg_1"})).await;
    assert_eq!(
        timeless(&again.text),
        "<status>failed</status>\n\n<exit_code>4</exit_code>"
    );
    for (input, text) in [
        (json!({"bash_id": "x"}), "No shell found with ID: x"),
        (
            json!({"bash_id": "bg_1", "filter": "("}),
            "Invalid regex pattern \"(\": ",
        ),
    ] {
        let reply = tool(&claude, "BashOutput", input).await;
        assert!(
            reply.is_error && reply.text.contains(text),
            "{}",
            reply.text
        );
    }
}

#[tokio::test]
async fn c_21_killshell_ends_a_shell_once() {
    let home = home();
    let claude = first(&home);
    call(
        &claude,
        json!({"command": "sleep 300", "run_in_background": true}),
    )
    .await;
    let killed = tool(&claude, "KillShell", json!({"shell_id": "bg_1"})).await;
    assert_eq!(
        killed.text,
        r#"{"message":"Successfully killed shell: bg_1 (sleep 300)","shell_id":"bg_1"}"#
    );
    let again = tool(&claude, "KillShell", json!({"shell_id": "bg_1"})).await;
    assert_eq!(
        again.text,
        "<tool_use_error>Shell bg_1 is not running, so cannot be killed (status: killed)</tool_use_error>"
    );
    let shown = tool(&claude, "BashOutput", json!({"bash_id": "bg_1"})).await;
    assert!(
        shown.text.starts_with("<status>killed</status>"),
        "{}",
        shown.text
    );
}

#[tokio::test]
async fn c_22_taskoutput_waits_and_says_whether_it_is_ready() {
    let home = home();
    let claude = second(&home);
    let command = "echo a; until [ -e go ]; do sleep 0.05; done; exit 5";
    call(
        &claude,
        json!({"command": command, "run_in_background": true}),
    )
    .await;
    let about = "\n\n<task_id>bg_1</task_id>\n\n<task_type>local_bash</task_type>\n\n<status>";
    for (input, status) in [
        (json!({"task_id": "bg_1", "block": false}), "not_ready"),
        (json!({"task_id": "bg_1", "timeout": 100}), "timeout"),
    ] {
        let reply = tool(&claude, "TaskOutput", input).await;
        let expected = format!("<retrieval_status>{status}</retrieval_status>{about}running");
        assert!(reply.text.starts_with(&expected), "{}", reply.text);
    }
    std::fs::write(home.workspace().join("go"), "").unwrap();
    let ended = tool(&claude, "AgentOutputTool", json!({"task_id": "bg_1"})).await;
    assert_eq!(
        ended.text,
        format!(
            "<retrieval_status>success</retrieval_status>{about}failed</status>\n\n<exit_code>5</exit_code>\n\n<output>\na\n</output>"
        )
    );
    call(
        &claude,
        json!({"command": "seq 1 20000", "run_in_background": true}),
    )
    .await;
    let long = tool(&claude, "TaskOutput", json!({"task_id": "bg_2"})).await;
    assert!(
        long.text.contains("<output>\n[Truncated. Full output: /"),
        "{}",
        long.text
    );
    assert!(long.text.ends_with("\n20000\n</output>"), "{}", long.text);
}

#[tokio::test]
async fn c_25_tools_answer_to_all_their_names() {
    let home = home();
    for (profile, names) in [
        ("claude-code", &["TaskStop", "KillShell", "KillBash"][..]),
        ("claude-code-2.1", &["TaskStop", "KillShell", "KillBash"]),
        ("claude-code-2.0", &["KillShell", "KillBash"]),
        (
            "claude-code-2.1",
            &["TaskOutput", "AgentOutputTool", "BashOutputTool"],
        ),
    ] {
        let claude = Contract::new(&home, profile);
        for name in names {
            let key = if profile.ends_with("2.0") {
                "shell_id"
            } else {
                "task_id"
            };
            let reply = tool(&claude, name, json!({ key: "nope" })).await;
            assert!(
                reply.is_error && reply.text.contains("nope"),
                "{name}: {}",
                reply.text
            );
        }
    }
}
