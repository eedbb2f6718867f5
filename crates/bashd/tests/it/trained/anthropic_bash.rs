//! `anthropic-bash`: the bash tool of the Anthropic API.

use super::{call, home, named_file, numbers, seen, tool, with_variable};
use crate::profile_under_test::{Contract, end, wait_until_nothing_runs};
use bashd_testkit::Home;
use serde_json::json;

fn bash(home: &Home) -> Contract {
    Contract::new(home, "anthropic-bash")
}

fn ok(text: &str) -> (String, bool) {
    (text.to_owned(), false)
}

fn error(text: &str) -> (String, bool) {
    (text.to_owned(), true)
}

#[tokio::test]
async fn a_02_both_streams_in_their_order_as_plain_text() {
    let home = Home::new();
    let bash = bash(&home);
    assert_eq!(seen(&bash, "echo hello").await, ok("hello"));
    assert_eq!(seen(&bash, "true").await, ok(""));
    assert_eq!(seen(&bash, "printf 'no newline'").await, ok("no newline"));
    assert_eq!(
        seen(&bash, "echo a; echo b >&2; echo c").await,
        ok("a\nb\nc")
    );
    assert_eq!(
        seen(&bash, "printf '\\n\\n  lead\\ntrail\\n\\n'").await,
        ok("\n\n  lead\ntrail")
    );
}

#[tokio::test]
async fn a_03_a_failure_is_an_error_with_its_output_or_its_code() {
    let home = Home::new();
    let bash = bash(&home);
    let failed = seen(&bash, "echo out; echo err >&2; (exit 3)").await;
    assert_eq!(failed, error("out\nerr"));
    assert_eq!(seen(&bash, "(exit 7)").await, error("(exit code 7)"));
}

#[tokio::test]
async fn a_04_what_bash_prints_about_an_unknown_command_is_the_error() {
    let home = Home::new();
    let (text, is_error) = seen(&bash(&home), "nonexistentcommand").await;
    assert!(
        text.ends_with("nonexistentcommand: command not found"),
        "{text}"
    );
    assert!(is_error);
}

#[tokio::test]
async fn a_05_one_shell_for_all_calls() {
    let home = Home::new();
    let bash = bash(&home);
    seen(&bash, "mkdir sub; cd sub; export X=1; f() { echo f; }").await;
    let inside = home.workspace().join("sub");
    assert_eq!(
        seen(&bash, "pwd; echo $X; f").await,
        ok(&format!("{}\n1\nf", inside.display()))
    );
}

#[tokio::test]
async fn a_06_restart_begins_with_a_new_shell_and_says_so() {
    let home = Home::new();
    let bash = bash(&home);
    seen(&bash, "cd /; X=1").await;
    let reply = call(&bash, json!({"restart": true})).await;
    assert_eq!((reply.text, reply.is_error), ok("Bash session restarted"));
    let here = format!("{}\nx=", home.workspace().display());
    assert_eq!(seen(&bash, "pwd; echo x=$X").await, ok(&here));
    let both = call(&bash, json!({"restart": true, "command": "echo both"})).await;
    assert_eq!(both.text, "both");
}

#[tokio::test]
async fn a_07_a_timeout_ends_everything_and_the_next_call_runs() {
    let home = Home::new();
    let bash = bash(&home);
    let is_ready = |reply: &bashd::Reply| reply.text.starts_with("a\n");
    let (reply, limit) = bash
        .timed_out("echo a; sleep 300 & sleep 300", is_ready)
        .await;
    let seconds = limit.as_secs_f64();
    let expected = format!("a\nError: command did not finish within {seconds} seconds");
    assert_eq!((reply.text, reply.is_error), error(&expected));
    wait_until_nothing_runs(&home);
    assert_eq!(seen(&bash, "echo again").await, ok("again"));
}

#[tokio::test]
async fn a_08_long_output_shows_both_ends_and_names_the_file_with_all_of_it() {
    let home = home();
    let (text, is_error) = seen(&bash(&home), "seq 1 20000").await;
    assert!(!is_error);
    assert!(text.starts_with("1\n2\n3\n"), "{text}");
    assert!(text.ends_with("\n19999\n20000"), "{text}");
    assert!(text.contains("\n\n... Output truncated (20000 total lines; "));
    assert_eq!(named_file(&text, "all of it: "), numbers());
}

#[tokio::test]
async fn a_09_a_bad_call_is_an_error_and_nothing_runs() {
    let home = Home::new();
    let bash = bash(&home);
    for (input, text) in [
        (json!({}), "Error: no command provided."),
        (json!({"command": ""}), "Error: no command provided."),
        (
            json!({"command": 5}),
            "Error: `command` must be a string, not a number",
        ),
        (json!({"cmd": "ls"}), "Error: unknown parameter cmd"),
    ] {
        let reply = call(&bash, input).await;
        assert_eq!((reply.text, reply.is_error), error(text));
    }
    let other = tool(&bash, "other", json!({"command": "ls"})).await;
    assert_eq!(
        (other.text, other.is_error),
        error("Error: Tool other is invalid")
    );
}

#[tokio::test]
async fn a_10_what_reads_stdin_finds_its_end_and_does_not_hang() {
    let home = Home::new();
    assert_eq!(seen(&bash(&home), "read x; echo got=$x").await, ok("got="));
}

#[tokio::test]
async fn a_11_commands_get_no_keys_of_the_api_and_no_escape_sequences() {
    let home = Home::new();
    let bash = with_variable(&home, "anthropic-bash", "ANTHROPIC_API_KEY");
    let (text, _) = seen(
        &bash,
        "echo key=$ANTHROPIC_API_KEY term=$TERM; printf '\\033[31mred\\n'",
    )
    .await;
    assert_eq!(text, "key= term=dumb\nred");
}

#[tokio::test]
async fn a_12_a_shell_that_ends_itself_is_replaced_without_a_restart() {
    let home = Home::new();
    let bash = bash(&home);
    assert_eq!(seen(&bash, "exit 7").await, error("(exit code 7)"));
    assert_eq!(seen(&bash, "kill -9 $$").await, error("(exit code 137)"));
    assert_eq!(seen(&bash, "echo again").await, ok("again"));
}

#[tokio::test]
async fn a_13_calls_of_one_turn_run_in_their_order_in_the_same_shell() {
    let home = Home::new();
    let bash = bash(&home);
    let (first, second) = tokio::join!(
        seen(&bash, "X=first; sleep 0.3; echo 1"),
        seen(&bash, "echo $X")
    );
    assert_eq!((first, second), (ok("1"), ok("first")));
}

#[tokio::test]
async fn a_14_a_process_that_was_left_running_keeps_no_call_waiting() {
    let home = home();
    let bash = bash(&home);
    let reply = call(&bash, json!({"command": "sleep 300 & echo bg"})).await;
    assert_eq!((reply.text.as_str(), reply.is_error), ("bg", false));
    end(&reply);
}
