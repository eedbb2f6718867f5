//! `codex`: `exec_command` and `write_stdin` of Codex.

use super::{call, home, named_file, numbers, tool, with_variable};
use crate::profile_under_test::{Contract, end, wait_until_nothing_runs};
use bashd::Reply;
use bashd_testkit::Home;
use serde_json::{Value, json};

fn codex(home: &Home) -> Contract {
    Contract::new(home, "codex")
}

/// What a reply says, line by line of its head.
#[derive(Debug, PartialEq)]
struct Chunk {
    /// `exited with code N` or `running with session ID N`.
    process: String,
    tokens: u64,
    output: String,
}

/// Reads a reply, whose head must have its lines in their order.
fn chunk(reply: &Reply) -> Chunk {
    assert!(!reply.is_error);
    let (head, output) = reply
        .text
        .split_once("\nOutput:\n")
        .unwrap_or_else(|| panic!("{}", reply.text));
    let lines: Vec<&str> = head.lines().collect();
    let [id, time, process, tokens] = lines.as_slice() else {
        panic!("{head}");
    };
    let id = id.strip_prefix("Chunk ID: ").expect("the contract's form");
    assert!(
        id.len() == 6 && id.chars().all(|digit| digit.is_ascii_hexdigit()),
        "{id}"
    );
    let time = time
        .strip_prefix("Wall time: ")
        .and_then(|time| time.strip_suffix(" seconds"));
    let (_, decimals) = time
        .expect("the contract's form")
        .split_once('.')
        .expect("the contract's form");
    assert_eq!(decimals.len(), 4);
    Chunk {
        process: process
            .strip_prefix("Process ")
            .expect("the contract's form")
            .to_owned(),
        tokens: tokens
            .strip_prefix("Original token count: ")
            .expect("the contract's form")
            .parse()
            .expect("the contract's form"),
        output: output.to_owned(),
    }
}

async fn exec(contract: &Contract, command: &str) -> Chunk {
    chunk(&call(contract, json!({ "cmd": command })).await)
}

async fn write(contract: &Contract, input: Value) -> Reply {
    tool(contract, "write_stdin", input).await
}

fn exited(code: i32, tokens: u64, output: &str) -> Chunk {
    Chunk {
        process: format!("exited with code {code}"),
        tokens,
        output: output.to_owned(),
    }
}

#[tokio::test]
async fn x_01_four_lines_about_the_command_then_its_raw_output() {
    let home = Home::new();
    let codex = codex(&home);
    assert_eq!(exec(&codex, "echo hello").await, exited(0, 2, "hello\n"));
    assert_eq!(exec(&codex, "true").await, exited(0, 0, ""));
    assert_eq!(
        exec(&codex, "printf 'no newline'").await,
        exited(0, 3, "no newline")
    );
    let both = exec(&codex, "echo out; echo err >&2; exit 3").await;
    assert_eq!(both, exited(3, 2, "out\nerr\n"));
    let raw = exec(&codex, "printf '\\n\\n  lead\\ntrail\\n\\n'").await;
    assert_eq!(raw, exited(0, 4, "\n\n  lead\ntrail\n\n"));
}

#[tokio::test]
async fn x_02_a_signal_is_128_and_its_number() {
    let home = Home::new();
    assert_eq!(exec(&codex(&home), "kill -9 $$").await, exited(137, 0, ""));
}

#[tokio::test]
async fn x_03_a_call_yields_and_a_later_one_gets_the_rest() {
    let home = home();
    let codex = codex(&home);
    let command = "echo a; until [ -e go ]; do sleep 0.05; done; echo b";
    let first = call(&codex, json!({"cmd": command, "yield_time_ms": 1500})).await;
    let first = chunk(&first);
    assert_eq!(first.process, "running with session ID 1");
    assert_eq!(first.output, "a\n");
    std::fs::write(home.workspace().join("go"), "").unwrap();
    let rest = write(&codex, json!({"session_id": 1, "yield_time_ms": 60_000})).await;
    assert_eq!(chunk(&rest), exited(0, 1, "b\n"));
    // A session whose end was told is gone.
    let gone = write(&codex, json!({"session_id": 1})).await;
    assert_eq!(gone.text, "write_stdin failed: Unknown process id 1");
    let unknown = write(&codex, json!({"session_id": 99})).await;
    assert_eq!(unknown.text, "write_stdin failed: Unknown process id 99");
}

#[tokio::test]
async fn x_04_an_interrupt_reaches_a_command_without_a_terminal() {
    let home = home();
    let codex = codex(&home);
    call(&codex, json!({"cmd": "sleep 300", "yield_time_ms": 250})).await;
    let input = json!({"session_id": 1, "chars": "\u{3}", "yield_time_ms": 30_000});
    assert_eq!(chunk(&write(&codex, input).await), exited(130, 0, ""));
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn x_05_text_for_a_closed_stdin_is_refused() {
    let home = home();
    let codex = codex(&home);
    call(&codex, json!({"cmd": "sleep 300", "yield_time_ms": 250})).await;
    let reply = write(&codex, json!({"session_id": 1, "chars": "x\n"})).await;
    assert_eq!(
        reply.text,
        "write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open"
    );
    write(
        &codex,
        json!({"session_id": 1, "chars": "\u{3}", "yield_time_ms": 30_000}),
    )
    .await;
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn x_06_a_terminal_can_be_typed_at_and_interrupted() {
    let home = home();
    let codex = codex(&home);
    let input = json!({"cmd": "read x; echo got $x; sleep 300", "tty": true, "yield_time_ms": 500});
    let begun = chunk(&call(&codex, input).await);
    assert_eq!(begun.process, "running with session ID 1");
    let typed = json!({"session_id": 1, "chars": "hey\n", "yield_time_ms": 5000});
    let shown = chunk(&write(&codex, typed).await);
    assert!(shown.output.contains("got hey\r\n"), "{shown:?}");
    let ended = json!({"session_id": 1, "chars": "\u{3}", "yield_time_ms": 30_000});
    let ended = chunk(&write(&codex, ended).await);
    assert!(ended.process.starts_with("exited with code "), "{ended:?}");
    assert!(ended.output.contains("^C"), "{ended:?}");
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn x_07_a_bad_directory_and_bad_arguments_are_texts() {
    let home = Home::new();
    let codex = codex(&home);
    for (input, text) in [
        (
            json!({"cmd": "pwd", "workdir": "/nowhere"}),
            r#"exec_command failed: CreateProcess { message: "Rejected(\"Failed to create unified exec process: No such file or directory (os error 2)\")" }"#,
        ),
        (
            json!({}),
            "failed to parse function arguments: missing field `cmd`",
        ),
        (
            json!({"cmd": 5}),
            "failed to parse function arguments: invalid type: number for `cmd`, expected string",
        ),
    ] {
        let reply = call(&codex, input).await;
        assert_eq!((reply.text.as_str(), reply.is_error), (text, false));
    }
    let other = tool(&codex, "shell", json!({"command": ["ls"]})).await;
    assert_eq!(other.text, "unsupported call: shell");
}

#[tokio::test]
async fn x_08_long_output_loses_its_middle_and_names_the_file() {
    let home = home();
    let codex = codex(&home);
    let long = exec(&codex, "seq 1 20000").await;
    assert_eq!(long.tokens, 27224);
    let begin = "Warning: truncated output (original token count: 27224)\nTotal output lines: 20000\n\n1\n2\n";
    assert!(long.output.starts_with(begin), "{}", long.output);
    assert!(
        long.output.contains("…17224 tokens truncated; "),
        "{}",
        long.output
    );
    assert!(long.output.ends_with("\n20000\n"));
    assert_eq!(named_file(&long.output, "all of it: "), numbers());
    let less = call(
        &codex,
        json!({"cmd": "seq 1 20000", "max_output_tokens": 50}),
    )
    .await;
    let less = chunk(&less);
    assert!(
        less.output.contains("…27174 tokens truncated; "),
        "{}",
        less.output
    );
}

#[tokio::test]
async fn x_09_a_forbidden_command_says_why() {
    let home = Home::new();
    let reply = call(&codex(&home), json!({"cmd": "git push --force"})).await;
    assert!(reply.text.starts_with("rejected: "), "{}", reply.text);
}

#[tokio::test]
async fn x_10_each_command_has_its_own_shell_and_environment() {
    let home = Home::new();
    let codex = with_variable(&home, "codex", "OPENAI_API_KEY");
    exec(&codex, "cd /; export X=1").await;
    let shown = exec(
        &codex,
        "pwd; echo x=$X $NO_COLOR $PAGER $CODEX_CI $LC_ALL key=$OPENAI_API_KEY",
    )
    .await;
    let here = home.workspace();
    let expected = format!("{}\nx= 1 cat 1 C.UTF-8 key=\n", here.display());
    assert_eq!(shown.output, expected);
    assert_eq!(exec(&codex, "read x; echo got=$x").await.output, "got=\n");
}

#[tokio::test]
async fn x_11_what_is_left_running_keeps_no_call_waiting() {
    let home = home();
    let reply = call(&codex(&home), json!({"cmd": "sleep 300 & echo bg"})).await;
    assert_eq!(chunk(&reply), exited(0, 1, "bg\n"));
    end(&reply);
}

#[tokio::test]
async fn x_17_parameters_of_its_own_sandbox_and_shell_are_accepted() {
    let home = Home::new();
    let input = json!({
        "cmd": "echo hello", "shell": "/bin/bash", "login": false,
        "sandbox_permissions": "require_escalated", "justification": "why not", "prefix_rule": ["echo"],
    });
    let reply = call(&codex(&home), input).await;
    assert_eq!(chunk(&reply), exited(0, 2, "hello\n"));
}

#[tokio::test]
async fn x_18_waits_are_moved_into_their_range() {
    let home = home();
    let codex = codex(&home);
    // Less than 250 ms is 250 ms: a quick command has ended by then, and a slow one yields.
    let quick = call(
        &codex,
        json!({"cmd": "echo quick; sleep 300", "yield_time_ms": 1}),
    )
    .await;
    assert_eq!(chunk(&quick).process, "running with session ID 1");
    // An empty `write_stdin` waits 5 s at least, or until the end.
    let begun = std::time::Instant::now();
    let polled = write(&codex, json!({"session_id": 1, "yield_time_ms": 1})).await;
    assert_eq!(chunk(&polled).process, "running with session ID 1");
    assert!(begun.elapsed() >= std::time::Duration::from_secs(5));
    let interrupt = json!({"session_id": 1, "chars": "\u{3}", "yield_time_ms": 30_000});
    assert_eq!(
        chunk(&write(&codex, interrupt).await).process,
        "exited with code 130"
    );
    wait_until_nothing_runs(&home);
}
