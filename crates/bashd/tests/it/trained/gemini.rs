//! `gemini`: the shell tools of Gemini CLI.

use super::{call, home, named_file, numbers, tool, with_variable};
use crate::profile_under_test::{
    Contract, copy_profile, end, engine_with_own_profiles, wait_until_nothing_runs,
};
use bashd::jobs::{Jobs, Whose};
use bashd::{Call, CancellationToken, Reply};
use bashd_testkit::Home;
use serde_json::json;
use std::time::Duration;

fn gemini(home: &Home) -> Contract {
    Contract::new(home, "gemini")
}

/// The text of a command without its last line, which names the process group.
async fn shown(contract: &Contract, command: &str) -> String {
    let reply = call(contract, json!({ "command": command })).await;
    assert!(!reply.is_error, "{}", reply.text);
    let (text, group) = reply
        .text
        .rsplit_once("\nProcess Group PGID: ")
        .expect("the contract's form");
    assert!(group.parse::<u32>().is_ok(), "{group}");
    text.to_owned()
}

/// The process that a background call names.
fn pid(reply: &Reply) -> i32 {
    let (_, after) = reply.text.split_once("PID: ").expect("the contract's form");
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("the contract's form")
}

#[tokio::test]
async fn g_01_output_and_the_process_group() {
    let home = Home::new();
    let gemini = gemini(&home);
    assert_eq!(shown(&gemini, "echo hello").await, "Output: hello");
    assert_eq!(shown(&gemini, "true").await, "Output: (empty)");
    assert_eq!(
        shown(&gemini, "printf 'no newline'").await,
        "Output: no newline"
    );
    let reply = call(&gemini, json!({"command": "echo $$"})).await;
    let shell = reply.text.lines().next().unwrap().replace("Output: ", "");
    assert!(
        reply
            .text
            .ends_with(&format!("\nProcess Group PGID: {shell}")),
        "{}",
        reply.text
    );
}

#[tokio::test]
async fn g_02_the_exit_code_is_a_line_if_it_is_not_0() {
    let home = Home::new();
    let gemini = gemini(&home);
    assert_eq!(
        shown(&gemini, "echo out; echo err >&2; exit 3").await,
        "Output: out\nerr\nExit Code: 3"
    );
    assert_eq!(
        shown(&gemini, "nosuchcmd").await,
        "Output: bash: line 1: nosuchcmd: command not found\nExit Code: 127"
    );
}

#[tokio::test]
async fn g_03_a_signal_is_its_number() {
    let home = Home::new();
    assert_eq!(
        shown(&gemini(&home), "kill -9 $$").await,
        "Output: (empty)\nSignal: 9"
    );
}

#[tokio::test]
async fn g_04_each_command_has_its_own_shell_and_no_input() {
    let home = Home::new();
    let gemini = gemini(&home);
    shown(&gemini, "cd /; export X=1").await;
    let here = format!("Output: {}\nx=", home.workspace().display());
    assert_eq!(shown(&gemini, "pwd; echo x=$X").await, here);
    assert_eq!(shown(&gemini, "read x; echo got=$x").await, "Output: got=");
}

#[tokio::test]
async fn g_05_who_is_silent_for_too_long_is_ended_and_who_writes_is_not() {
    let home = Home::new();
    let words = [
        ("silence_s = 300", "silence_s = 3"),
        ("timeout_s = 300", "timeout_s = 3"),
    ];
    copy_profile(&home, "gemini", "impatient", &words);
    let engine = engine_with_own_profiles(&home, home.workspace());
    let impatient = Contract::on(&engine, "impatient");
    let silent = call(
        &impatient,
        json!({"command": "echo a; sleep 300 & sleep 300"}),
    )
    .await;
    assert_eq!(
        silent.text,
        "Command was automatically cancelled because it exceeded the timeout of 0.1 minutes without output. Below is the output before it was cancelled:\na"
    );
    assert!(silent.timed_out);
    wait_until_nothing_runs(&home);
    let nothing = call(&impatient, json!({"command": "sleep 300"})).await;
    assert!(
        nothing
            .text
            .ends_with(" There was no output before it was cancelled.")
    );
    let writes = "for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.5; done";
    let shown = shown(&impatient, writes).await;
    assert_eq!(shown, "Output: 1\n2\n3\n4\n5\n6\n7\n8\n9");
}

#[tokio::test]
async fn g_15_who_never_stops_writing_goes_on_in_the_background() {
    let home = home();
    let words = [
        ("longest_s = 540", "longest_s = 2"),
        ("silence_s = 300", "silence_s = 1"),
    ];
    copy_profile(&home, "gemini", "impatient", &words);
    let engine = engine_with_own_profiles(&home, home.workspace());
    let impatient = Contract::on(&engine, "impatient");
    let command = "while sleep 0.1; do echo more; done";
    let reply = call(&impatient, json!({ "command": command })).await;
    let begin = "Command is running in background. PID: ";
    let rest = reply.text.strip_prefix(begin).expect(&reply.text);
    let (pid, output) = rest.split_once(". Initial output:\n").expect(rest);
    assert!(output.starts_with("more\nmore"), "{}", reply.text);
    let pid: i32 = pid.parse().expect("a process");
    let read = json!({"pid": pid, "lines": 1});
    let log = tool(&impatient, "read_background_output", read).await;
    assert!(log.text.ends_with("more"), "{}", log.text);
    let jobs = Jobs::new(engine.config());
    for job in jobs.list(Whose::Everybody) {
        jobs.kill(&job).await.expect("it is ended");
    }
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn g_16_what_its_user_cancels_says_so() {
    let home = Home::new();
    let gemini = gemini(&home);
    for (command, tail) in [
        (
            "echo a; touch begun; sleep 300",
            " Below is the output before it was cancelled:\na",
        ),
        (
            "touch begun; sleep 300",
            " There was no output before it was cancelled.",
        ),
    ] {
        let token = CancellationToken::new();
        let input = json!({ "command": command }).to_string();
        let call = Call::json(input, gemini.request("")).cancel_by(token.clone());
        let begun = home.workspace().join("begun");
        let cancelling = async {
            while !begun.exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            token.cancel();
        };
        let (reply, ()) = tokio::join!(gemini.engine.run(call), cancelling);
        let expected = format!("Command was cancelled by user before it could complete.{tail}");
        assert_eq!((reply.text, reply.cancelled), (expected, true));
        std::fs::remove_file(begun).unwrap();
        wait_until_nothing_runs(&home);
    }
}

#[tokio::test]
async fn g_06_what_is_left_running_is_named_and_keeps_no_call_waiting() {
    let home = home();
    let reply = call(&gemini(&home), json!({"command": "sleep 300 & echo bg"})).await;
    let left = reply.left_behind.first().unwrap().pid;
    let begin = format!("Output: bg\nBackground PIDs: {left}\nProcess Group PGID: ");
    assert!(reply.text.starts_with(&begin), "{}", reply.text);
    end(&reply);
}

#[tokio::test]
async fn g_07_a_background_command_is_called_by_its_process() {
    let home = home();
    let gemini = gemini(&home);
    let reply = call(
        &gemini,
        json!({"command": "sleep 300", "is_background": true}),
    )
    .await;
    let silent = pid(&reply);
    assert_eq!(
        reply.text,
        format!(
            "Command moved to background (PID: {silent}). Output hidden. Press Ctrl+B to view."
        )
    );
    call(&gemini, json!({"command": format!("kill {silent}")})).await;
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn g_08_background_commands_are_listed_with_their_ends() {
    let home = home();
    let gemini = gemini(&home);
    let none = tool(&gemini, "list_background_processes", json!({})).await;
    assert_eq!(none.text, "No background processes found.");
    let waiting = "until [ -e go ]; do sleep 0.05; done; exit 5";
    let first = pid(&call(&gemini, json!({"command": waiting, "is_background": true})).await);
    let second = pid(&call(
        &gemini,
        json!({"command": "sleep 300", "is_background": true}),
    )
    .await);
    let listed = tool(&gemini, "list_background_processes", json!({})).await;
    assert_eq!(
        listed.text,
        format!("- [PID {first}] RUNNING: `{waiting}`\n- [PID {second}] RUNNING: `sleep 300`")
    );
    std::fs::write(home.workspace().join("go"), "").unwrap();
    tool(
        &gemini,
        "read_background_output",
        json!({"pid": first, "delay_ms": 60_000}),
    )
    .await;
    call(&gemini, json!({"command": format!("kill -9 {second}")})).await;
    tool(
        &gemini,
        "read_background_output",
        json!({"pid": second, "delay_ms": 60_000}),
    )
    .await;
    let listed = tool(&gemini, "list_background_processes", json!({})).await;
    assert_eq!(
        listed.text,
        format!(
            "- [PID {first}] EXITED: `{waiting}` (Exit Code: 5)\n- [PID {second}] EXITED: `sleep 300` (Signal: 9)"
        )
    );
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn g_09_the_log_of_a_background_command_is_read_from_its_end() {
    let home = home();
    let gemini = gemini(&home);
    let command = "seq 1 3; until [ -e go ]; do sleep 0.05; done; echo more";
    let started = pid(&call(&gemini, json!({"command": command, "is_background": true})).await);
    std::fs::write(home.workspace().join("go"), "").unwrap();
    let read = |input| tool(&gemini, "read_background_output", input);
    let whole = read(json!({"pid": started, "delay_ms": 60_000})).await;
    assert_eq!(whole.text, "Full Log Output:\n1\n2\n3\nmore");
    let last = read(json!({"pid": started, "lines": 2})).await;
    assert_eq!(last.text, "Showing last 2 of 4 lines:\n3\nmore");
    let foreign = read(json!({"pid": 1})).await;
    assert_eq!(
        foreign.text,
        "Background process history lookup failed for PID 1"
    );
    assert!(foreign.is_error);
    let silent = pid(&call(
        &gemini,
        json!({"command": "sleep 0.5", "is_background": true}),
    )
    .await);
    let empty = read(json!({"pid": silent, "delay_ms": 60_000})).await;
    assert_eq!(empty.text, "Log is empty.");
}

#[tokio::test]
async fn g_10_bad_arguments_are_errors() {
    let home = Home::new();
    let gemini = gemini(&home);
    for (input, text) in [
        (json!({"command": ""}), "Command cannot be empty."),
        (json!({}), "params must have required property 'command'"),
        (json!({"command": 5}), "params/command must be string"),
    ] {
        let reply = call(&gemini, input).await;
        assert_eq!((reply.text.as_str(), reply.is_error), (text, true));
    }
    let missing = call(&gemini, json!({"command": "pwd", "dir_path": "/nowhere"})).await;
    assert!(
        missing.is_error && missing.text.contains("/nowhere"),
        "{}",
        missing.text
    );
}

#[tokio::test]
async fn g_11_long_output_shows_a_fifth_of_its_start_and_names_the_file() {
    let home = home();
    let text = shown(&gemini(&home), "seq 1 20000").await;
    let begin = "Output: Output too large. Showing first 8,000 and last 32,000 characters. For full output see: ";
    assert!(text.starts_with(begin), "{text}");
    assert!(
        text.contains("\n\n... [68894 characters omitted] ...\n\n"),
        "{text}"
    );
    assert!(text.ends_with("\n19999\n20000"), "{text}");
    assert_eq!(named_file(&text, "For full output see: "), numbers());
}

#[tokio::test]
async fn g_12_the_directory_and_the_environment_of_a_command() {
    let home = Home::new();
    std::fs::create_dir(home.workspace().join("sub")).unwrap();
    let gemini = with_variable(&home, "gemini", "GEMINI_API_KEY");
    let input = json!({"command": "pwd; echo $GEMINI_CLI $PAGER $GIT_PAGER $TERM key=$GEMINI_API_KEY", "dir_path": "sub"});
    let reply = call(&gemini, input).await;
    let inside = home.workspace().join("sub");
    let expected = format!(
        "Output: {}\n1 cat cat xterm-256color key=\n",
        inside.display()
    );
    assert!(reply.text.starts_with(&expected), "{}", reply.text);
}

#[tokio::test]
async fn g_14_limits_count_units_of_utf_16() {
    let home = home();
    let gemini = Contract::new(&home, "gemini");
    let text = call(
        &gemini,
        json!({ "command": "printf 'ä%.0s' $(seq 1 40000)" }),
    )
    .await
    .text;
    assert_eq!(text.chars().filter(|one| *one == 'ä').count(), 40_000);
    let text = call(
        &gemini,
        json!({ "command": "printf '🙂%.0s' $(seq 1 25000)" }),
    )
    .await
    .text;
    assert!(
        text.contains("... [10000 characters omitted] ..."),
        "{}",
        text.len()
    );
    assert_eq!(text.chars().filter(|one| *one == '🙂').count(), 20_000);
}
