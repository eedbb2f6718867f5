//! `harness`: an object with both streams, or one with an error.

use super::*;

#[test]
fn m_03_success_has_exactly_three_keys_in_order() {
    let reply = ran("harness", "hello world\n", "").reply();
    assert_eq!(
        reply.text,
        r#"{"stdout":"hello world\n","stderr":"","exitCode":0}"#
    );
    assert_eq!(
        reply.result,
        json!({"stdout": "hello world\n", "stderr": "", "exitCode": 0})
    );
    assert!(!reply.is_error);
}

#[test]
fn m_04_an_error_has_exactly_one_key() {
    let reply = refused("harness", r#"{"command":" "}"#);
    assert_eq!(reply.text, r#"{"error":"command is required"}"#);
    assert_eq!(reply.result, json!({"error": "command is required"}));
    assert!(reply.is_error);
    assert_eq!(reply.error.unwrap(), "command is required");
}

#[test]
fn m_06_the_streams_are_apart() {
    let reply = ran("harness", "o\n", "e\n").reply();
    assert_eq!(
        reply.result,
        json!({"stdout": "o\n", "stderr": "e\n", "exitCode": 0})
    );
    assert_eq!(reply.output, "o\ne\n");
    assert_eq!(ran("harness", "o", "e").reply().output, "o\ne");
}

#[test]
fn m_09_a_timeout_is_an_error_with_the_limit() {
    let run = ran("harness", "", "").signal(15).ended_by(EndedBy::Timeout);
    assert_eq!(
        run.json(),
        json!({"error": "command timed out after 30 seconds"})
    );
    let run = ran("harness", "", "").signal(15).ended_by(EndedBy::Timeout);
    let reply = run.limit(Duration::from_millis(1500)).reply();
    assert_eq!(reply.result["error"], "command timed out after 1.5 seconds");
    assert!(reply.is_error && reply.timed_out && reply.error.is_none());
}

#[test]
fn m_10_partial_output_follows_the_timeout_after_a_blank_line() {
    let run = ran("harness", "o\n", "e\n")
        .signal(15)
        .ended_by(EndedBy::Timeout);
    let error = "command timed out after 30 seconds\n\no\ne\n";
    assert_eq!(run.json(), json!({ "error": error }));
}

#[test]
fn m_16_a_failure_keeps_the_success_shape() {
    for code in [1, 2, 42, 255] {
        let reply = ran("harness", "x", "y").exit(code).reply();
        assert_eq!(
            reply.result,
            json!({"stdout": "x", "stderr": "y", "exitCode": code})
        );
        assert!(!reply.is_error);
    }
    assert_eq!(ran("harness", "", "").signal(9).json()["exitCode"], 137);
    assert_eq!(
        ran("harness", "", "").without_status().json()["exitCode"],
        -1
    );
}

#[test]
fn m_17_command_not_found_is_an_error() {
    let message = "/bin/bash: line 1: nope: command not found";
    let reply = ran("harness", "", format!("{message}\n")).exit(127).reply();
    assert_eq!(reply.result, json!({ "error": message }));
    assert!(reply.is_error);
    assert_eq!((reply.exit_code, reply.error), (Some(127), None));
}

#[test]
fn m_17_a_flood_before_it_does_not_cut_the_error_off() {
    let flood = format!("{}nope: command not found\n", "noise\n".repeat(200_000));
    let reply = ran("harness", "", flood).exit(127).json();
    assert_eq!(reply, json!({"error": "nope: command not found"}));
}

#[test]
fn m_17_with_output_or_without_message_it_is_an_ordinary_failure() {
    let with_output = ran("harness", "x\n", "nope\n").exit(127).json();
    assert_eq!(
        with_output,
        json!({"stdout": "x\n", "stderr": "nope\n", "exitCode": 127})
    );
    let silent = ran("harness", "", "").exit(127).json();
    assert_eq!(silent, json!({"stdout": "", "stderr": "", "exitCode": 127}));
    let blank = ran("harness", "", "\n").exit(127).json();
    assert_eq!(
        blank,
        json!({"stdout": "", "stderr": "\n", "exitCode": 127})
    );
}

#[test]
fn m_18_permission_denied_is_an_error() {
    let run = ran("harness", "", "bash: ./x: Permission denied\n").exit(126);
    assert_eq!(run.json(), json!({"error": "bash: ./x: Permission denied"}));
}

#[test]
fn m_19_exactly_1_mib_is_untouched_and_one_more_byte_is_cut() {
    let stdout = |bytes: usize| {
        let result = ran("harness", vec![b'a'; bytes], "").json();
        result["stdout"].as_str().unwrap().to_owned()
    };
    assert_eq!(stdout(1_048_576), "a".repeat(1_048_576));
    let cut = stdout(1_048_577);
    assert_eq!(cut, "a".repeat(1_048_561) + "... (truncated)");
    assert_eq!(cut.len(), 1_048_576);
}

#[test]
fn m_20_stderr_has_a_limit_of_its_own() {
    let result = ran("harness", "intact", vec![b'e'; 2_000_000]).json();
    assert_eq!(result["stdout"], "intact");
    let stderr = result["stderr"].as_str().unwrap();
    assert_eq!(stderr.len(), 1_048_576);
    assert!(stderr.ends_with("... (truncated)"));
}

#[test]
fn m_21_the_suffix_counts_and_no_character_breaks() {
    for shift in 0..4 {
        let flood = ["a".repeat(shift), "😀".repeat(300_000)].concat();
        let result = ran("harness", flood, "").json();
        let stdout = result["stdout"].as_str().unwrap();
        assert!(stdout.len() <= 1_048_576 && stdout.len() > 1_048_576 - 4);
        assert!(stdout.ends_with("😀... (truncated)"));
        assert!(!stdout.contains('\u{FFFD}'));
    }
}

#[test]
fn m_24_an_empty_command_is_an_error_object() {
    for input in ["{}", r#"{"command":""}"#] {
        assert_eq!(
            refused("harness", input).text,
            r#"{"error":"command is required"}"#
        );
    }
}

#[test]
fn m_25_a_failed_start_is_an_error_object() {
    let reply = failed("harness", Error::new(ErrorKind::Shell, "no /bin/bash here"));
    let error = "failed to execute command: no /bin/bash here";
    assert_eq!(reply.result, json!({ "error": error }));
    assert!(reply.is_error);
}

#[test]
fn m_30_invalid_json_is_an_error_object() {
    let reply = refused("harness", "{bad");
    let error = reply.result["error"].as_str().unwrap();
    assert!(error.starts_with("invalid input: "), "{error}");
    assert_eq!(reply.result.as_object().unwrap().len(), 1);
}

#[test]
fn m_31_cancelled_is_told_apart_by_its_field() {
    let before = reply(
        &profile("harness"),
        &Ending::CancelledBeforeStart,
        Duration::ZERO,
    );
    assert_eq!(before.text, r#"{"error":"command cancelled"}"#);
    assert!(before.cancelled && before.is_error && before.exit_code.is_none());
    let during = ran("harness", "part", "")
        .signal(15)
        .ended_by(EndedBy::Cancel)
        .reply();
    assert_eq!(during.result, json!({"error": "command cancelled\n\npart"}));
    assert!(during.cancelled && !during.timed_out);
}
