//! `openai-shell`: the tools `shell` and `local_shell` of the Responses API.

use super::{call, home, named_file, numbers, tool};
use crate::profile_under_test::{Contract, end, wait_until_nothing_runs};
use bashd::Reply;
use bashd_testkit::Home;
use serde_json::{Value, json};

fn shell(home: &Home) -> Contract {
    Contract::new(home, "openai-shell")
}

/// The output of a call: its text is the JSON of its result.
fn output(reply: &Reply) -> Value {
    let said: Value = serde_json::from_str(&reply.text).expect("the contract's form");
    assert_eq!(said, reply.result);
    assert!(!reply.is_error);
    said["output"].clone()
}

async fn one(contract: &Contract, command: &str) -> Value {
    output(&call(contract, json!({"commands": [command]})).await)
}

fn exit(stdout: &str, stderr: &str, code: i32) -> Value {
    let outcome = json!({"type": "exit", "exit_code": code});
    json!({"stdout": stdout, "stderr": stderr, "outcome": outcome})
}

#[tokio::test]
async fn s_01_each_command_has_its_streams_apart_and_its_exit_code() {
    let home = Home::new();
    let shell = shell(&home);
    assert_eq!(
        one(&shell, "echo hello").await,
        json!([exit("hello\n", "", 0)])
    );
    assert_eq!(one(&shell, "true").await, json!([exit("", "", 0)]));
    let both = one(&shell, "echo out; echo err >&2; exit 3").await;
    assert_eq!(both, json!([exit("out\n", "err\n", 3)]));
    let missing = one(&shell, "nosuchcmd").await;
    let text = "bash: line 1: nosuchcmd: command not found\n";
    assert_eq!(missing, json!([exit("", text, 127)]));
    let text = "quote \" backslash \\ bell \u{7} größe\n";
    let strange = one(&shell, "printf 'quote \" backslash \\\\ bell \\a größe\\n'").await;
    assert_eq!(strange, json!([exit(text, "", 0)]));
}

#[tokio::test]
async fn s_02_commands_run_one_after_the_other_with_an_entry_each() {
    let home = Home::new();
    let commands = json!({"commands": ["echo a >f", "cat f; exit 2", "cd /; pwd", "pwd"]});
    let here = format!("{}\n", home.workspace().display());
    assert_eq!(
        output(&call(&shell(&home), commands).await),
        json!([
            exit("", "", 0),
            exit("a\n", "", 2),
            exit("/\n", "", 0),
            exit(&here, "", 0)
        ])
    );
}

#[tokio::test]
async fn s_03_a_timeout_has_its_output_so_far_and_ends_the_call() {
    let home = Home::new();
    let shell = shell(&home);
    let commands = ["echo a; sleep 300 & sleep 300", "touch never"];
    let entries = output(&call(&shell, json!({"commands": commands, "timeout_ms": 1500})).await);
    let timeout = json!({"stdout": "a\n", "stderr": "", "outcome": {"type": "timeout"}});
    assert_eq!(entries, json!([timeout]));
    wait_until_nothing_runs(&home);
    assert!(!home.workspace().join("never").exists());
    let none = call(&shell, json!({"commands": ["echo 1"], "timeout_ms": 0})).await;
    assert_eq!(output(&none), json!([exit("1\n", "", 0)]));
}

#[tokio::test]
async fn s_04_the_limit_of_the_call_is_followed_and_passed_back() {
    let home = home();
    let input = json!({"commands": ["seq 1 20000"], "max_output_length": 20});
    let reply = call(&shell(&home), input).await;
    assert_eq!(reply.result["max_output_length"], 20);
    let entries = output(&reply);
    let stdout = entries[0]["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("1\n2\n3\n4\n5\n\n["), "{stdout}");
    assert!(stdout.ends_with("]\n999\n20000\n"), "{stdout}");
    assert_eq!(named_file(stdout, "all of it: "), numbers());
    let input = json!({"commands": ["true"], "max_output_length": null});
    let without = call(&shell(&home), input).await;
    assert_eq!(without.result["max_output_length"], Value::Null);
}

#[tokio::test]
async fn s_05_a_bad_action_is_an_entry_with_exit_code_1() {
    let home = Home::new();
    let shell = shell(&home);
    for (input, text) in [
        (json!({}), "invalid action: `commands` is required"),
        (
            json!({"commands": []}),
            "invalid action: `commands` is missing or empty",
        ),
        (
            json!({"commands": "ls"}),
            "invalid action: `commands` must be an array of strings, not a string",
        ),
        (
            json!({"commands": ["ls"], "x": 1}),
            "invalid action: there is no field `x`; there are commands, timeout_ms, max_output_length",
        ),
    ] {
        let reply = call(&shell, input).await;
        assert_eq!(output(&reply), json!([exit("", text, 1)]));
    }
}

#[tokio::test]
async fn s_06_a_signal_is_128_and_its_number() {
    let home = Home::new();
    assert_eq!(
        one(&shell(&home), "kill -9 $$").await,
        json!([exit("", "", 137)])
    );
}

#[tokio::test]
async fn s_07_a_denied_command_is_an_entry_with_the_reason_and_ends_the_call() {
    let home = Home::new();
    let commands = json!({"commands": ["echo a", "git push --force", "touch never"]});
    let entries = output(&call(&shell(&home), commands).await);
    assert_eq!(entries[0], exit("a\n", "", 0));
    assert_eq!(
        entries[1]["outcome"],
        json!({"type": "exit", "exit_code": 1})
    );
    let reason = entries[1]["stderr"].as_str().unwrap();
    assert!(reason.contains("overwrites"), "{reason}");
    assert_eq!(entries.as_array().unwrap().len(), 2);
    assert!(!home.workspace().join("never").exists());
}

#[tokio::test]
async fn s_08_what_is_left_running_or_reads_stdin_keeps_no_call_waiting() {
    let home = home();
    let shell = shell(&home);
    let reply = call(&shell, json!({"commands": ["sleep 300 & echo bg"]})).await;
    assert_eq!(output(&reply), json!([exit("bg\n", "", 0)]));
    end(&reply);
    assert_eq!(
        one(&shell, "read x; echo got=$x").await,
        json!([exit("got=\n", "", 0)])
    );
}

#[tokio::test]
async fn s_09_local_shell_runs_a_program_with_exactly_these_arguments() {
    let home = Home::new();
    let shell = shell(&home);
    let words = ["printf", "%s\n", "a b", "$HOME", "it's", "", "*"];
    let reply = tool(&shell, "local_shell", json!({ "command": words })).await;
    assert_eq!(output(&reply), "a b\n$HOME\nit's\n\n*\n");
    assert_eq!(reply.result["metadata"]["exit_code"], 0);
    let action = json!({
        "type": "exec",
        "command": ["bash", "-lc", "echo $A; pwd; exit 3"],
        "env": {"A": "b c"},
        "timeout_ms": null,
        "working_directory": "/",
        "user": null,
    });
    let reply = tool(&shell, "local_shell", action).await;
    assert_eq!(output(&reply), "b c\n/\n");
    assert_eq!(reply.result["metadata"]["exit_code"], 3);
}

#[tokio::test]
async fn s_10_local_shell_ends_what_takes_too_long() {
    let home = Home::new();
    let input = json!({"command": ["sleep", "300"], "timeout_ms": 300});
    let reply = tool(&shell(&home), "local_shell", input).await;
    assert_eq!(output(&reply), "command timed out after 300 milliseconds\n");
    assert_eq!(reply.result["metadata"]["exit_code"], 124);
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn s_13_limits_count_characters() {
    let home = home();
    let input =
        |most: u64| json!({"commands": ["printf 'ä🙂%.0s' 1 2 3 4 5"], "max_output_length": most});
    let shell = shell(&home);
    let whole = output(&call(&shell, input(10)).await);
    assert_eq!(whole[0]["stdout"], "ä🙂".repeat(5));
    let cut = output(&call(&shell, input(4)).await);
    let cut = cut[0]["stdout"].as_str().expect("a text").to_owned();
    assert!(cut.starts_with("ä🙂\n[6 characters left out here"), "{cut}");
    assert!(cut.ends_with("]\nä🙂"), "{cut}");
}
