//! `openhands`: the `terminal` of `OpenHands`, one shell in a terminal that stays.

use super::{call, home, named_file, numbers};
use crate::profile_under_test::{Contract, running, wait_until_nothing_runs};
use bashd::{Call, Reply};
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// What the contract says at the end of a text about a command that goes on.
const MAY: &str = "You may wait longer to see additional output by sending empty command '', send other commands to interact with the current process, send keys (\"C-c\", \"C-z\", \"C-d\") to interrupt/kill the previous command before sending your new command, or use the timeout parameter in terminal for future commands.";

/// What a call says that wanted a new terminal.
const RESET: &str = "Terminal session has been reset. All previous environment variables and session state have been cleared.";

const ERROR: &str = "[An error occurred during execution.]\n";

const BELOW: &str = "[Below is the output of the previous command.]\n";

fn openhands(home: &Home) -> Contract {
    Contract::new(home, "openhands")
}

async fn run(contract: &Contract, command: &str) -> Reply {
    call(contract, json!({ "command": command })).await
}

/// Types at the command that runs, and waits this many seconds.
async fn input(contract: &Contract, text: &str, timeout: f64) -> Reply {
    let input = json!({"command": text, "is_input": true, "timeout": timeout});
    call(contract, input).await
}

/// Types at the command that runs, until the reply has this text in one of its parts.
async fn until(contract: &Contract, mut reply: Reply, text: &str) -> String {
    let (begun, mut seen) = (Instant::now(), reply.text.clone());
    while !seen.contains(text) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{seen}");
        reply = input(contract, "", 0.2).await;
        seen.push_str(&reply.text);
    }
    seen
}

/// The text of a command that ended with this output and code in the workspace.
fn ended(home: &Home, output: &str, code: i32) -> String {
    completed(home, output, &format!("{code}."), code)
}

fn completed(home: &Home, output: &str, how: &str, code: i32) -> String {
    let directory = home.workspace();
    let directory = directory.canonicalize().unwrap_or(directory);
    let python = std::env::split_paths(&home_path(home))
        .map(|folder| folder.join("python"))
        .find(|program| program.is_file());
    let python = python.map_or_else(String::new, |python| {
        format!("\n[Python interpreter: {}]", python.display())
    });
    format!(
        "{output}\n[The command completed with exit code {how}]\n[Current working directory: {}]{python}\n[Command finished with exit code {code}]",
        directory.display()
    )
}

/// The `PATH` that commands have.
fn home_path(home: &Home) -> std::ffi::OsString {
    let env = home.env();
    let path = env.into_iter().find(|(name, _)| name == "PATH");
    path.map(|(_, value)| value).unwrap_or_default()
}

#[tokio::test]
async fn o_01_output_then_how_it_ended_and_where_the_shell_is() {
    let home = Home::new();
    let openhands = openhands(&home);
    let reply = run(&openhands, "echo hello").await;
    assert_eq!(
        (reply.text, reply.is_error),
        (ended(&home, "hello", 0), false)
    );
    assert_eq!(run(&openhands, "true").await.text, ended(&home, "", 0));
    // A failure is no error of the tool.
    let reply = run(&openhands, "echo out; echo err >&2; (exit 3)").await;
    assert_eq!(
        (reply.text, reply.is_error),
        (ended(&home, "out\nerr", 3), false)
    );
    assert_eq!(reply.exit_code, Some(3));
    let missing = run(&openhands, "nosuchcmd").await.text;
    assert_eq!(
        missing,
        ended(&home, "bash: nosuchcmd: command not found", 127)
    );
    // Blanks at both ends are cut, and the last newline.
    let blanks = run(&openhands, "printf '\\n\\n  lead\\ntrail\\n\\n'")
        .await
        .text;
    assert_eq!(blanks, ended(&home, "lead\ntrail", 0));
}

#[tokio::test]
async fn o_02_one_shell_keeps_variables_functions_and_directory() {
    let home = Home::new();
    let openhands = openhands(&home);
    run(
        &openhands,
        "export A=5 && f() { echo \"f $1\"; } && mkdir sub && cd sub",
    )
    .await;
    let reply = run(&openhands, "echo $A; f x; pwd").await;
    let sub = home.workspace().canonicalize().unwrap().join("sub");
    let sub = sub.display();
    assert!(
        reply
            .text
            .starts_with(&format!("5\nf x\n{sub}\n[The command")),
        "{}",
        reply.text
    );
    assert!(
        reply
            .text
            .contains(&format!("\n[Current working directory: {sub}]"))
    );
}

#[tokio::test]
async fn o_03_over_its_timeout_a_command_goes_on_and_is_read_on() {
    let home = Home::new();
    let openhands = openhands(&home);
    let command = "echo a; until [ -e go ]; do sleep 0.05; done; echo b; (exit 4)";
    let first = call(&openhands, json!({"command": command, "timeout": 2})).await;
    let expected = format!("a\n[The command timed out after 2.0 seconds. {MAY}]");
    assert_eq!((first.text, first.is_error), (expected, false));
    assert_eq!(first.exit_code, None);
    // Nothing new: the same, with the words before it.
    let none = input(&openhands, "", 0.5).await;
    let expected = format!("{BELOW}\n[The command timed out after 0.5 seconds. {MAY}]");
    assert_eq!(none.text, expected);
    std::fs::write(home.workspace().join("go"), "").unwrap();
    let rest = call(&openhands, json!({ "command": "" })).await;
    assert_eq!(rest.text, ended(&home, "b", 4));
}

#[tokio::test]
async fn o_04_without_new_output_for_the_profiles_time_a_command_goes_on() {
    let home = Home::new();
    let words = [
        ("silence_s = 30", "silence_s = 1"),
        ("timeout_s = 30", "timeout_s = 1"),
    ];
    crate::profile_under_test::copy_profile(&home, "openhands", "quick", &words);
    let engine = crate::profile_under_test::engine_with_own_profiles(&home, home.workspace());
    let quick = Contract::on(&engine, "quick");
    let silent = format!("\n[The command has no new output after 1 seconds. {MAY}]");
    // Output keeps the call waiting beyond that time.
    let command =
        "for i in 1 2 3 4 5; do echo $i; sleep 0.4; done; until [ -e go ]; do sleep 0.05; done";
    let first = run(&quick, command).await;
    assert_eq!(first.text, format!("1\n2\n3\n4\n5{silent}"));
    let again = run(&quick, "").await;
    assert_eq!(again.text, format!("{BELOW}{silent}"));
    std::fs::write(home.workspace().join("go"), "").unwrap();
    assert!(
        run(&quick, "")
            .await
            .text
            .starts_with("\n[The command completed")
    );
}

#[tokio::test]
async fn o_05_while_a_command_runs_no_other_is_run() {
    let home = Home::new();
    let openhands = openhands(&home);
    let command = "echo a; until [ -e go ]; do sleep 0.05; done";
    call(&openhands, json!({"command": command, "timeout": 1})).await;
    let busy = run(&openhands, "touch not-run").await;
    let expected = format!(
        "{ERROR}{BELOW}\n[Your command \"touch not-run\" is NOT executed. The previous command is still running - You CANNOT send new commands until the previous command is completed. By setting `is_input` to `true`, you can interact with the current process: {MAY}]"
    );
    assert_eq!((busy.text, busy.is_error), (expected, true));
    std::fs::write(home.workspace().join("go"), "").unwrap();
    assert_eq!(run(&openhands, "").await.text, ended(&home, "", 0));
    assert!(!home.workspace().join("not-run").exists());
    assert_eq!(
        run(&openhands, "echo next").await.text,
        ended(&home, "next", 0)
    );
}

#[tokio::test]
async fn o_06_a_line_and_keys_reach_the_command_that_runs() {
    let home = Home::new();
    let openhands = openhands(&home);
    call(
        &openhands,
        json!({"command": "read -p 'name? ' x; echo \"got=$x\"", "timeout": 1}),
    )
    .await;
    // What the terminal shows of the line itself is not shown again.
    let answer = input(&openhands, "Ada", 20.0).await;
    assert_eq!(answer.text, ended(&home, "got=Ada", 0));
    // The variable is the shell's own.
    assert_eq!(
        run(&openhands, "echo $x").await.text,
        ended(&home, "Ada", 0)
    );
    call(&openhands, json!({"command": "cat", "timeout": 1})).await;
    let echoed = until(&openhands, input(&openhands, "one", 0.3).await, "one").await;
    assert!(echoed.contains("The command timed out after"), "{echoed}");
    let end = input(&openhands, "C-d", 20.0).await;
    assert_eq!(end.text, completed(&home, "", "0. CTRL+D was sent.", 0));
}

#[tokio::test]
async fn o_07_control_c_interrupts_and_the_shell_stays() {
    let home = Home::new();
    let openhands = openhands(&home);
    run(&openhands, "export A=5").await;
    call(
        &openhands,
        json!({"command": "sleep 1000; echo after", "timeout": 1}),
    )
    .await;
    let ended_by_key = input(&openhands, "C-c", 20.0).await;
    let expected = completed(&home, "^C", "130. CTRL+C was sent.", 130);
    assert_eq!(
        (ended_by_key.text, ended_by_key.is_error),
        (expected, false)
    );
    assert_eq!(run(&openhands, "echo $A").await.text, ended(&home, "5", 0));
    // The same in a loop, which the key ends as a whole.
    call(
        &openhands,
        json!({"command": "while :; do sleep 0.1; done", "timeout": 1}),
    )
    .await;
    let text = input(&openhands, "CTRL+c", 20.0).await.text;
    assert!(
        text.contains("[Command finished with exit code 130]"),
        "{text}"
    );
}

#[tokio::test]
async fn o_08_control_z_stops_a_command_that_the_shell_can_continue() {
    let home = Home::new();
    let openhands = openhands(&home);
    call(&openhands, json!({"command": "sleep 1000", "timeout": 1})).await;
    let stopped = input(&openhands, "C-z", 20.0).await.text;
    assert!(stopped.contains("Stopped"), "{stopped}");
    assert!(
        stopped.contains("exit code 148. CTRL+Z was sent."),
        "{stopped}"
    );
    let jobs = run(&openhands, "jobs %1").await.text;
    assert!(jobs.contains("sleep 1000"), "{jobs}");
    let text = run(&openhands, "bg %1; kill %1; wait %1; echo \"status $?\"")
        .await
        .text;
    assert!(text.contains("status 143"), "{text}");
}

#[tokio::test]
async fn o_09_an_interpreter_is_typed_at_line_by_line() {
    let home = Home::new();
    let openhands = openhands(&home);
    let prompt = call(
        &openhands,
        json!({"command": "bash --norc --noprofile", "timeout": 2}),
    )
    .await;
    assert!(
        prompt.text.contains("timed out after 2.0 seconds"),
        "{}",
        prompt.text
    );
    let text = until(
        &openhands,
        input(&openhands, "echo $((6*7))", 0.5).await,
        "42",
    )
    .await;
    assert!(text.contains(BELOW), "{text}");
    // An arrow repeats the line before, as at any terminal.
    let _ = input(&openhands, "UP", 0.2).await;
    until(&openhands, input(&openhands, "ENTER", 0.5).await, "42").await;
    let left = input(&openhands, "exit 7", 20.0).await.text;
    assert!(
        left.ends_with("[Command finished with exit code 7]"),
        "{left}"
    );
}

#[tokio::test]
async fn o_10_nothing_to_read_or_to_type_at_is_said() {
    let home = Home::new();
    let openhands = openhands(&home);
    let none = run(&openhands, "").await;
    let expected = format!("{ERROR}No previous running command to retrieve logs from.");
    assert_eq!((none.text, none.is_error), (expected, true));
    let none = call(&openhands, json!({"command": "y", "is_input": true})).await;
    let expected = format!("{ERROR}No previous running command to interact with.");
    assert_eq!((none.text, none.is_error), (expected, true));
    // Input that comes too late is no command.
    run(&openhands, "true").await;
    let late = call(
        &openhands,
        json!({"command": "touch late", "is_input": true}),
    )
    .await;
    assert!(late.is_error && !home.workspace().join("late").exists());
}

#[tokio::test]
async fn o_11_several_commands_on_lines_are_refused_and_blocks_are_not() {
    let home = Home::new();
    let openhands = openhands(&home);
    let several = run(&openhands, "echo a\necho b").await;
    let expected = format!(
        "{ERROR}Cannot execute multiple commands at once.\nPlease run each command separately OR chain them into a single command via && or ;\nProvided commands:\n(1) echo a\n(2) echo b"
    );
    assert_eq!((several.text, several.is_error), (expected, true));
    let block = run(&openhands, "for x in 1 2\ndo\n  echo $x\ndone").await;
    assert_eq!(block.text, ended(&home, "1\n2", 0));
    let document = run(&openhands, "cat <<'E'\nit's $x\nE").await;
    assert_eq!(document.text, ended(&home, "it's $x", 0));
    let unfinished = run(&openhands, "echo 'a").await.text;
    assert!(unfinished.contains("unexpected EOF"), "{unfinished}");
    assert_eq!(
        run(&openhands, "echo next").await.text,
        ended(&home, "next", 0)
    );
}

#[tokio::test]
async fn o_12_data_instead_of_a_command_is_refused_with_a_hint() {
    let home = Home::new();
    let refused = run(&openhands(&home), "[{\"a\": 1}]").await;
    assert!(refused.is_error);
    let begins = format!(
        "{ERROR}[Tool-argument error] The `command` argument looks like a Python/JSON list literal, not a shell command. It starts with: '[{{\"a\": 1}}]'\n"
    );
    assert!(refused.text.starts_with(&begins), "{}", refused.text);
}

#[tokio::test]
async fn o_13_a_reset_ends_what_runs_and_begins_again() {
    let home = Home::new();
    let openhands = openhands(&home);
    run(&openhands, "export A=5 && cd /").await;
    call(&openhands, json!({"command": "sleep 1000", "timeout": 0.5})).await;
    let reset = call(&openhands, json!({"command": "", "reset": true})).await;
    assert_eq!((reset.text.as_str(), reset.is_error), (RESET, false));
    wait_until_nothing_runs(&home);
    let with_command = call(
        &openhands,
        json!({"command": "echo \"A=$A\"", "reset": true}),
    )
    .await;
    assert_eq!(
        with_command.text,
        format!("{RESET}\n\n{}", ended(&home, "A=", 0))
    );
    let both = json!({"command": "x", "reset": true, "is_input": true});
    let both = call(&openhands, both).await;
    assert_eq!(
        both.text,
        format!("{ERROR}Cannot use reset=True with is_input=True")
    );
}

#[tokio::test]
async fn o_14_long_output_keeps_both_ends_and_names_a_file() {
    let home = home();
    let openhands = openhands(&home);
    let text = run(&openhands, "seq 1 20000").await.text;
    let (head, rest) = text.split_once("<response clipped><NOTE>").unwrap();
    assert!(head.starts_with("1\n2\n3\n"));
    let note = "Due to the max output limit, only part of the full response has been shown to you. The complete output has been saved to ";
    assert!(rest.starts_with(note), "{rest}");
    let line = head.lines().count() + 1;
    let after = format!(
        " - you can use other tools to view the full content (truncated part starts around line {line}).</NOTE>"
    );
    assert!(rest.contains(&after), "{rest}");
    assert!(rest.contains("\n19999\n20000\n[The command completed with exit code 0.]"));
    let file = named_file(&text, "has been saved to ");
    assert_eq!(file.replace('\r', ""), numbers());
    // Characters count, and not bytes: these are 60,000 bytes.
    let wide = run(&openhands, "printf 'ä%.0s' $(seq 1 30000)").await.text;
    assert!(!wide.contains("clipped"), "{}", wide.len());
    let wider = run(&openhands, "printf '🙂%.0s' $(seq 1 30001)").await.text;
    assert!(wider.contains("<response clipped>"));
    assert_eq!(wider.chars().take_while(|one| *one == '🙂').count(), 14_860);
}

#[tokio::test]
async fn o_15_a_shell_that_ends_is_replaced_and_leaves_nothing() {
    let home = Home::new();
    let openhands = openhands(&home);
    run(&openhands, "export A=5; sleep 1000 &").await;
    let left = run(&openhands, "exit 3").await;
    assert!(
        left.text
            .contains("[The command completed with exit code 3.]"),
        "{}",
        left.text
    );
    assert_eq!(left.session_reset.as_deref(), Some("its shell exited"));
    wait_until_nothing_runs(&home);
    assert_eq!(
        run(&openhands, "echo \"A=$A\"").await.text,
        ended(&home, "A=", 0)
    );
    let killed = run(&openhands, "kill -9 $$").await;
    assert!(killed.text.contains("exit code 137."), "{}", killed.text);
    assert_eq!(
        run(&openhands, "echo back").await.text,
        ended(&home, "back", 0)
    );
}

#[tokio::test]
async fn o_16_what_runs_in_the_background_keeps_no_call_waiting_and_loses_nothing() {
    let home = Home::new();
    let openhands = openhands(&home);
    let begun = Instant::now();
    let reply = run(
        &openhands,
        "{ until [ -e go ]; do sleep 0.05; done; echo later; touch done; } & echo now",
    )
    .await;
    assert!(
        reply.text.contains("now\n[The command completed"),
        "{}",
        reply.text
    );
    assert!(begun.elapsed() < Duration::from_secs(20));
    std::fs::write(home.workspace().join("go"), "").unwrap();
    let waiting = run(
        &openhands,
        "until [ -e done ]; do sleep 0.05; done; wait; echo end",
    )
    .await
    .text;
    assert!(
        waiting.contains("later\n") && waiting.contains("end\n"),
        "{waiting}"
    );
}

#[tokio::test]
async fn o_17_the_guard_judges_every_command() {
    let home = Home::new();
    let denied = run(&openhands(&home), "rm -rf /").await;
    assert!(
        denied.denied.is_some() && denied.is_error,
        "{}",
        denied.text
    );
    assert!(denied.text.starts_with(ERROR), "{}", denied.text);
}

#[tokio::test]
async fn o_18_bad_arguments_are_said() {
    let home = Home::new();
    let openhands = openhands(&home);
    for (input, named) in [
        (json!({"command": 5}), "command"),
        (json!({"command": "x", "is_input": 3}), "is_input"),
        (json!({"command": "x", "timeout": "soon"}), "timeout"),
        (json!({"command": "x", "nonsense": 1}), "nonsense"),
    ] {
        let reply = call(&openhands, input).await;
        assert!(
            reply.is_error && reply.text.contains(named),
            "{}",
            reply.text
        );
        assert!(reply.text.starts_with(ERROR), "{}", reply.text);
    }
    // The earlier tool gave a word instead of a truth value.
    let word: Value = json!({"command": "y", "is_input": "true"});
    assert!(
        call(&openhands, word)
            .await
            .text
            .contains("to interact with")
    );
}

#[tokio::test]
async fn o_19_a_cancelled_call_ends_its_command() {
    let home = Home::new();
    let openhands = openhands(&home);
    let token = CancellationToken::new();
    let input = json!({"command": "echo begun; sleep 1000"}).to_string();
    let call = Call::json(input, openhands.request("")).cancel_by(token.clone());
    let cancelling = async {
        let begun = Instant::now();
        while !running(&home)
            .iter()
            .any(|process| process.command.contains("sleep 1000"))
        {
            assert!(begun.elapsed() < Duration::from_secs(30));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        token.cancel();
    };
    let (reply, ()) = tokio::join!(openhands.engine.run(call), cancelling);
    assert!(reply.cancelled, "{}", reply.text);
    wait_until_nothing_runs(&home);
    assert_eq!(
        run(&openhands, "echo next").await.text,
        ended(&home, "next", 0)
    );
}

#[tokio::test]
async fn o_20_a_client_that_is_gone_leaves_nothing_running() {
    let home = Home::new();
    let openhands = openhands(&home);
    let mut defaults = openhands.request("");
    defaults.owner = Some("client:1".to_owned());
    let input = json!({"command": "sleep 1000", "timeout": 1}).to_string();
    let reply = openhands.engine.run(Call::json(input, defaults)).await;
    assert!(
        reply.text.contains("timed out after 1.0 seconds"),
        "{}",
        reply.text
    );
    assert!(!running(&home).is_empty());
    openhands.engine.forget_owner("client:1");
    // The task that follows the command lets go of its shell.
    tokio::task::yield_now().await;
    wait_until_nothing_runs(&home);
}
