//! `claude-code`: `Bash` and `TaskStop` of Claude Code.

use super::{call, home, named_file, numbers, seen, tool, with_variable};
use crate::profile_under_test::{Contract, end, wait_until_nothing_runs};
use bashd::jobs::Whose;
use bashd::{Call, CancellationToken};
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::time::Duration;

fn claude(home: &Home) -> Contract {
    Contract::new(home, "claude-code")
}

fn ok(text: &str) -> (String, bool) {
    (text.to_owned(), false)
}

fn error(text: &str) -> (String, bool) {
    (text.to_owned(), true)
}

#[tokio::test]
async fn c_01_output_without_blank_lines_at_its_ends() {
    let home = Home::new();
    let claude = claude(&home);
    assert_eq!(seen(&claude, "echo hello").await, ok("hello"));
    assert_eq!(seen(&claude, "printf 'no newline'").await, ok("no newline"));
    assert_eq!(
        seen(&claude, "printf '\\n\\n  lead\\ntrail\\n\\n'").await,
        ok("  lead\ntrail")
    );
}

#[tokio::test]
async fn c_02_no_output_is_said() {
    let home = Home::new();
    let nothing = ok("(Bash completed with no output)");
    assert_eq!(seen(&claude(&home), "true").await, nothing);
}

#[tokio::test]
async fn c_03_the_exit_code_is_the_first_line_of_an_error() {
    let home = Home::new();
    let claude = claude(&home);
    let both = seen(&claude, "echo out; echo err >&2; exit 3").await;
    assert_eq!(both, error("Exit code 3\nout\nerr"));
    let (text, is_error) = seen(&claude, "nosuchcmd").await;
    assert!(text.starts_with("Exit code 127\n"), "{text}");
    assert!(text.ends_with("nosuchcmd: command not found"), "{text}");
    assert!(is_error);
}

#[tokio::test]
async fn c_04_exit_code_1_of_what_searches_and_compares_is_no_error() {
    let home = Home::new();
    let claude = claude(&home);
    let nothing = ok("(Bash completed with no output)");
    for command in [
        "grep nothing /dev/null",
        "true && grep nothing /dev/null",
        "echo a | grep b",
        "test -e nowhere",
        "[ -e nowhere ]",
        "cd . && find . -name x -exec false {} + ; grep -q x /dev/null",
    ] {
        assert_eq!(seen(&claude, command).await, nothing, "{command}");
    }
    assert_eq!(
        seen(&claude, "echo a >a; echo b >b; diff a b").await,
        ok("1c1\n< a\n---\n> b")
    );
    let (text, is_error) = seen(&claude, "grep x /nonexistent").await;
    assert!(text.starts_with("Exit code 2\n") && is_error, "{text}");
    let last = seen(&claude, "grep nothing /dev/null; false").await;
    assert_eq!(last, error("Exit code 1"));
    assert_eq!(
        seen(&claude, "bash -c 'exit 1'").await,
        error("Exit code 1")
    );
}

#[tokio::test]
async fn c_05_the_directory_stays_and_variables_do_not() {
    let home = Home::new();
    let claude = claude(&home);
    seen(&claude, "mkdir sub; cd sub; export X=1").await;
    let inside = format!("{}\nx=", home.workspace().join("sub").display());
    assert_eq!(seen(&claude, "pwd; echo x=$X").await, ok(&inside));
    // A command that fails leaves it as it was.
    assert_eq!(seen(&claude, "cd ..; false").await, error("Exit code 1"));
    assert_eq!(seen(&claude, "pwd; echo x=$X").await, ok(&inside));
}

#[tokio::test]
async fn c_06_a_directory_outside_is_left_again_and_that_is_said() {
    let home = Home::new();
    let claude = claude(&home);
    let reset = format!("Shell cwd was reset to {}", home.workspace().display());
    assert_eq!(seen(&claude, "cd /; pwd").await, ok(&format!("/\n{reset}")));
    assert_eq!(seen(&claude, "cd /").await, ok(&reset));
    let here = home.workspace().display().to_string();
    assert_eq!(seen(&claude, "pwd").await, ok(&here));
}

#[tokio::test]
async fn c_07_a_signal_is_told_as_the_shell_would() {
    let home = Home::new();
    assert_eq!(
        seen(&claude(&home), "kill -9 $$").await,
        error("Exit code 137")
    );
}

#[tokio::test]
async fn c_08_long_output_is_a_file_and_a_preview_of_whole_lines() {
    let home = home();
    let (text, is_error) = seen(&claude(&home), "seq 1 20000").await;
    assert!(!is_error);
    let begin = "<persisted-output>\nOutput too large (106.3KB). Full output saved to: ";
    assert!(text.starts_with(begin), "{text}");
    assert!(
        text.contains("\n\nPreview (first 2KB):\n1\n2\n3\n"),
        "{text}"
    );
    assert!(text.ends_with("\n527\n...\n</persisted-output>"), "{text}");
    assert_eq!(named_file(&text, "saved to: "), numbers());
}

#[tokio::test]
async fn c_09_long_output_of_a_failure_shows_both_ends() {
    let home = home();
    let (text, is_error) = seen(&claude(&home), "seq 1 20000; exit 4").await;
    assert!(is_error);
    assert!(text.starts_with("Exit code 4\n1\n2\n3\n"), "{text}");
    assert!(
        text.contains("\n\n... [98894 characters truncated; "),
        "{text}"
    );
    assert!(text.ends_with("\n19999\n20000"), "{text}");
    assert_eq!(named_file(&text, "saved to: "), numbers());
}

#[tokio::test]
async fn c_10_what_takes_too_long_goes_on_in_the_background() {
    let home = home();
    let claude = claude(&home);
    let input = json!({"command": "echo a; sleep 300", "timeout": 2000});
    let reply = call(&claude, input).await;
    let begin = "a\nCommand did not complete within its 2s timeout and was moved to the background (ID: bg_1). Output is being written to: ";
    assert!(reply.text.starts_with(begin), "{}", reply.text);
    assert!(reply.text.ends_with(
        "It is running now: do not start a second copy while it runs. If it is no longer needed, stop it with TaskStop. To check interim output, use Read on that file path."
    ));
    assert!(!reply.is_error);
    assert_eq!(named_file(&reply.text, "written to: "), "a\n");
    tool(&claude, "TaskStop", json!({"task_id": "bg_1"})).await;
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn c_11_a_background_command_returns_at_once() {
    let home = home();
    let claude = claude(&home);
    let input = json!({"command": "sleep 300", "run_in_background": true});
    let reply = call(&claude, input).await;
    let begin = "Command running in background with ID: bg_1. Output is being written to: ";
    assert!(reply.text.starts_with(begin), "{}", reply.text);
    assert!(reply.text.ends_with(
        ". You will be notified when it completes. To check interim output, use Read on that file path."
    ));
    assert!(!reply.is_error);
    tool(&claude, "TaskStop", json!({"task_id": "bg_1"})).await;
}

#[tokio::test]
async fn c_12_the_end_of_a_background_command_is_a_notice() {
    let home = home();
    let claude = claude(&home);
    for (command, description) in [("exit 7", Some("Fails at once")), ("true", None)] {
        let mut input = json!({"command": command, "run_in_background": true});
        input["description"] = description.into();
        call(&claude, input).await;
    }
    let jobs = claude.engine.jobs();
    let mut ended = jobs.list(Whose::Everybody);
    for job in &mut ended {
        let wait = bashd::jobs::WaitFor::new(bashd::jobs::Condition::Exit, Duration::from_mins(1));
        *job = jobs.wait(vec![job.clone()], &wait).await.remove(0).job;
    }
    let text = claude.engine.job_notice("claude-code", &ended).await;
    assert!(
        text.starts_with("<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\n"),
        "{text}"
    );
    assert!(text.contains("<status>failed</status>\n<summary>Background command \"Fails at once\" failed with exit code 7</summary>\n</task-notification>"), "{text}");
    assert!(text.contains("<status>completed</status>\n<summary>Background command \"true\" completed (exit code 0)</summary>\n</task-notification>"), "{text}");
    assert!(
        text.contains("<task-notification>\n<task-id>bg_1</task-id>\n<output-file>/"),
        "{text}"
    );
}

#[tokio::test]
async fn c_13_taskstop_ends_a_command_with_everything_it_started() {
    let home = home();
    let claude = claude(&home);
    let command = "echo \"a\"; sleep 300 & sleep 300";
    call(
        &claude,
        json!({"command": command, "run_in_background": true}),
    )
    .await;
    let reply = tool(&claude, "TaskStop", json!({"task_id": "bg_1"})).await;
    let said: Value = serde_json::from_str(&reply.text).unwrap();
    assert_eq!(
        said,
        json!({
            "message": format!("Successfully stopped task: bg_1 ({command})"),
            "task_id": "bg_1",
            "task_type": "local_bash",
            "command": command,
        })
    );
    wait_until_nothing_runs(&home);
    call(
        &claude,
        json!({"command": "sleep 300", "run_in_background": true}),
    )
    .await;
    let by_its_old_name = tool(&claude, "KillShell", json!({"shell_id": "bg_2"})).await;
    assert!(
        by_its_old_name
            .text
            .contains("Successfully stopped task: bg_2")
    );
}

#[tokio::test]
async fn c_14_taskstop_says_what_can_not_be_stopped() {
    let home = home();
    let claude = claude(&home);
    call(
        &claude,
        json!({"command": "sleep 300", "run_in_background": true}),
    )
    .await;
    tool(&claude, "TaskStop", json!({"task_id": "bg_1"})).await;
    for (input, text) in [
        (json!({"task_id": "nope"}), "No task found with ID: nope"),
        (json!({}), "Missing required parameter: task_id"),
        (
            json!({"task_id": "bg_1"}),
            "Task bg_1 is not running (status: killed)",
        ),
    ] {
        let reply = tool(&claude, "TaskStop", input).await;
        let expected = format!("<tool_use_error>{text}</tool_use_error>");
        assert_eq!((reply.text, reply.is_error), error(&expected));
    }
}

#[tokio::test]
async fn c_15_bad_arguments_are_listed_all_at_once() {
    let home = Home::new();
    let claude = claude(&home);
    for (input, text) in [
        (
            json!({"command": "true", "timeout": "x"}),
            "issue:\nThe parameter `timeout` type is expected as `number` but provided as `string`",
        ),
        (
            json!({"cmd": "true"}),
            "issues:\nThe required parameter `command` is missing\nAn unexpected parameter `cmd` was provided",
        ),
    ] {
        let reply = call(&claude, input).await;
        let expected = format!(
            "<tool_use_error>InputValidationError: Bash failed due to the following {text}</tool_use_error>"
        );
        assert_eq!((reply.text, reply.is_error), error(&expected));
    }
    let larger = call(&claude, json!({"command": "echo 1", "timeout": 9_999_999})).await;
    assert_eq!((larger.text, larger.is_error), ok("1"));
    let unknown = tool(&claude, "Monitor", json!({"command": "true"})).await;
    assert!(
        unknown.text.contains("No such tool available: Monitor"),
        "{}",
        unknown.text
    );
}

#[tokio::test]
async fn c_16_stdin_is_empty_there_is_no_terminal_and_keys_stay_here() {
    let home = Home::new();
    let claude = with_variable(&home, "claude-code", "ANTHROPIC_API_KEY");
    let command = "read x; echo got=$x $CLAUDECODE $GIT_EDITOR key=$ANTHROPIC_API_KEY; tty || true";
    assert_eq!(
        seen(&claude, command).await,
        ok("got= 1 true key=\nnot a tty")
    );
}

#[tokio::test]
async fn c_17_what_its_caller_ends_says_so() {
    let home = Home::new();
    let claude = claude(&home);
    let token = CancellationToken::new();
    let input = json!({"command": "echo a; touch begun; sleep 300"}).to_string();
    let call = Call::json(input, claude.request("")).cancel_by(token.clone());
    let begun = home.workspace().join("begun");
    let cancelling = async {
        while !begun.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        token.cancel();
    };
    let (reply, ()) = tokio::join!(claude.engine.run(call), cancelling);
    assert!(reply.is_error && reply.cancelled);
    assert!(
        reply
            .text
            .contains("a\n<error>Command was aborted before completion</error>"),
        "{}",
        reply.text
    );
}

#[tokio::test]
async fn c_18_what_is_left_running_keeps_no_call_waiting() {
    let home = home();
    let reply = call(&claude(&home), json!({"command": "sleep 300 & echo bg"})).await;
    assert_eq!((reply.text.as_str(), reply.is_error), ("bg", false));
    end(&reply);
}

#[tokio::test]
async fn c_24_limits_count_units_of_utf_16() {
    let home = home();
    let claude = Contract::new(&home, "claude-code");
    // 60,000 bytes, 30,000 units.
    let (text, _) = seen(&claude, "printf 'ä%.0s' $(seq 1 30000)").await;
    assert_eq!(text.chars().count(), 30_000);
    // 15,001 characters, 30,002 units.
    let (text, _) = seen(&claude, "printf '🙂%.0s' $(seq 1 15001)").await;
    assert!(text.starts_with("<persisted-output>\n"), "{text}");
    assert_eq!(text.chars().filter(|one| *one == '🙂').count(), 1000);
    let (text, _) = seen(&claude, "printf '🙂%.0s' $(seq 1 6000); exit 4").await;
    assert!(text.contains("... [2000 characters truncated"), "{text}");
    assert_eq!(text.chars().filter(|one| *one == '🙂').count(), 5000);
}
