//! `codex-shell`: the earlier tools `shell` and `shell_command` of Codex.

use super::{call, home, named_file, numbers, tool};
use crate::profile_under_test::{Contract, wait_until_nothing_runs};
use bashd_testkit::Home;
use serde_json::{Value, json};

fn codex(home: &Home) -> Contract {
    Contract::new(home, "codex-shell")
}

#[tokio::test]
async fn x_12_shell_takes_arguments_and_answers_with_json() {
    let home = Home::new();
    let codex = codex(&home);
    let input = json!({"command": ["bash", "-lc", "echo out; echo \"$1\"; exit 3", "_", "a b"]});
    let reply = call(&codex, input).await;
    let said: Value = serde_json::from_str(&reply.text).unwrap();
    assert_eq!(said["output"], "out\na b\n");
    assert_eq!(said["metadata"]["exit_code"], 3);
    assert!(said["metadata"]["duration_seconds"].is_number());
    assert!(!reply.is_error);
    let inside = call(&codex, json!({"command": ["pwd"], "workdir": "/"})).await;
    assert!(
        inside.text.starts_with(r#"{"output":"/\n","#),
        "{}",
        inside.text
    );
}

#[tokio::test]
async fn x_13_both_end_what_takes_too_long_with_code_124() {
    let home = Home::new();
    let codex = codex(&home);
    let input = json!({"command": ["bash", "-c", "echo a; sleep 300"], "timeout_ms": 2000});
    let reply = call(&codex, input).await;
    let said: Value = serde_json::from_str(&reply.text).unwrap();
    assert_eq!(
        said["output"],
        "command timed out after 2000 milliseconds\na\n"
    );
    assert_eq!(said["metadata"]["exit_code"], 124);
    let input = json!({"command": "echo a; sleep 300", "timeout_ms": 2000});
    let reply = tool(&codex, "shell_command", input).await;
    assert!(
        reply.text.starts_with("Exit code: 124\nWall time: "),
        "{}",
        reply.text
    );
    assert!(
        reply
            .text
            .ends_with(" seconds\nOutput:\ncommand timed out after 2000 milliseconds\na\n"),
        "{}",
        reply.text
    );
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn x_14_shell_command_takes_a_script_and_answers_with_lines() {
    let home = home();
    let codex = codex(&home);
    let reply = tool(
        &codex,
        "shell_command",
        json!({"command": "echo hi; exit 3"}),
    )
    .await;
    assert!(
        reply.text.starts_with("Exit code: 3\nWall time: "),
        "{}",
        reply.text
    );
    assert!(
        reply.text.ends_with(" seconds\nOutput:\nhi\n"),
        "{}",
        reply.text
    );
    let long = tool(&codex, "shell_command", json!({"command": "seq 1 20000"})).await;
    assert!(
        long.text
            .contains("\nTotal output lines: 20000\nOutput:\n1\n2\n"),
        "{}",
        long.text
    );
    assert_eq!(named_file(&long.text, "all of it: "), numbers());
}

#[tokio::test]
async fn x_15_bad_arguments_of_both_are_texts() {
    let home = Home::new();
    let codex = codex(&home);
    let missing = call(&codex, json!({})).await;
    let text = "failed to parse function arguments: missing field `command`";
    assert_eq!((missing.text.as_str(), missing.is_error), (text, false));
    let wrong = tool(&codex, "shell_command", json!({"command": ["ls"]})).await;
    let text =
        "failed to parse function arguments: invalid type: array for `command`, expected string";
    assert_eq!(wrong.text, text);
}
