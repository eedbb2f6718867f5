//! `voice`: the output, what happened to it, the exit code last.

use super::*;

#[test]
fn v_02_both_streams_in_one_text() {
    let text = ran("voice", "o\n", "e\n").text();
    assert!(text.contains("o\n") && text.contains("e\n"), "{text}");
}

#[test]
fn v_03_stdout_then_newline_then_stderr() {
    assert_eq!(
        ran("voice", "o\n", "e\n").text(),
        "o\n\ne\n\n[Exit code: 0]"
    );
}

#[test]
fn v_04_only_stderr_has_no_leading_newline() {
    assert_eq!(ran("voice", "", "e\n").text(), "e\n\n[Exit code: 0]");
}

#[test]
fn v_05_the_exit_code_is_always_the_last_line() {
    assert_eq!(ran("voice", "", "").text(), "\n[Exit code: 0]");
    assert_eq!(ran("voice", "hi\n", "").text(), "hi\n\n[Exit code: 0]");
    assert_eq!(ran("voice", "hi", "").exit(1).text(), "hi\n[Exit code: 1]");
    let flood = vec![b'a'; 200_000];
    let timed_out = ran("voice", flood, "")
        .signal(15)
        .ended_by(EndedBy::Timeout);
    assert!(timed_out.text().ends_with("\n[Exit code: 143]"));
}

/// The number in the last match of the document's `\[Exit code: (\d+)\]`.
fn last_exit_code(text: &str) -> Option<i32> {
    let (_, after) = text.rsplit_once("[Exit code: ")?;
    after.split_once(']')?.0.parse().ok()
}

#[test]
fn v_06_the_last_match_is_the_exit_code() {
    for code in [0, 1, 2, 126, 127, 255] {
        let text = ran("voice", "x", "").exit(code).text();
        assert_eq!(last_exit_code(&text), Some(code));
    }
    let text = ran("voice", "[Exit code: 9]\n", "").exit(3).text();
    assert_eq!(last_exit_code(&text), Some(3));
}

#[test]
fn v_07_a_non_zero_exit_is_no_error() {
    let reply = ran("voice", "", "no\n").exit(7).reply();
    assert_eq!(reply.text, "no\n\n[Exit code: 7]");
    assert!(!reply.is_error);
    assert_eq!(reply.exit_code, Some(7));
}

#[test]
fn v_09_the_missing_command_is_an_error_text() {
    let reply = refused("voice", r#"{"command":5}"#);
    assert_eq!(reply.text, "Error: Missing required parameter 'command'");
    assert!(reply.is_error);
    assert_eq!(reply.error.unwrap(), "Missing required parameter 'command'");
    assert_eq!(
        reply.result,
        json!({"error": "Missing required parameter 'command'"})
    );
}

#[test]
fn v_14_partial_output_then_the_timeout_line() {
    let run = ran("voice", "part\n", "")
        .signal(15)
        .ended_by(EndedBy::Timeout);
    let reply = run.reply();
    assert_eq!(
        reply.text,
        "part\n\n[Process timed out after 30s and was terminated]\n[Exit code: 143]"
    );
    assert!(reply.timed_out && !reply.is_error);
    let run = ran("voice", "", "").signal(15).ended_by(EndedBy::Timeout);
    let text = run.limit(Duration::from_secs(1)).text();
    assert!(text.contains("after 1s and"), "{text}");
}

#[test]
fn v_15_a_signal_is_128_and_its_number() {
    let text = |signal| ran("voice", "", "").signal(signal).text();
    assert_eq!(text(15), "\n[Exit code: 143]");
    assert_eq!(text(9), "\n[Exit code: 137]");
    let reply = ran("voice", "", "").signal(9).reply();
    assert_eq!((reply.exit_code, reply.signal), (None, Some(9)));
}

#[test]
fn v_16_no_status_is_unknown() {
    assert_eq!(
        ran("voice", "", "").without_status().text(),
        "\n[Exit code: unknown]"
    );
}

#[test]
fn v_18_exactly_100_kib_is_untouched_and_one_more_byte_is_not() {
    let text = ran("voice", vec![b'a'; 102_400], "").text();
    assert_eq!(text, format!("{}\n[Exit code: 0]", "a".repeat(102_400)));
    let text = ran("voice", vec![b'a'; 102_401], "").text();
    assert!(text.contains("[Output truncated at 100KB]"));
}

#[test]
fn v_19_the_first_100_kib_then_the_marker_then_the_exit_code() {
    let flood = ["a".repeat(102_400), "b".repeat(10)].concat();
    let reply = ran("voice", flood, "").reply();
    let output = format!("{}\n[Output truncated at 100KB]", "a".repeat(102_400));
    assert_eq!(reply.text, format!("{output}\n[Exit code: 0]"));
    assert_eq!(reply.output, output);
    assert_eq!(reply.output_bytes, 102_410);
    assert_eq!(reply.result["truncated"], true);
}

#[test]
fn v_20_the_limit_holds_for_both_streams_together() {
    let reply = ran("voice", vec![b'a'; 102_400], "#").reply();
    assert!(!reply.text.contains('#'));
    assert!(reply.text.contains("\n[Output truncated at 100KB]\n"));
    assert_eq!((reply.output_bytes, reply.stderr_bytes), (102_401, Some(1)));
    // The newline between the streams is ours, shown or not.
    assert_eq!((reply.omitted_bytes, reply.omitted_lines), (1, 0));
    let reply = ran("voice", vec![b'a'; 102_399], "##\n").reply();
    assert_eq!((reply.omitted_bytes, reply.omitted_lines), (3, 1));
    let reply = ran("voice", vec![b'a'; 102_398], "##\n").reply();
    assert_eq!((reply.omitted_bytes, reply.omitted_lines), (2, 1));
}

#[test]
fn v_21_the_cut_breaks_no_character() {
    let text = ran("voice", "a".repeat(102_399) + "é", "").text();
    let expected = "a".repeat(102_399) + "\n[Output truncated at 100KB]\n[Exit code: 0]";
    assert_eq!(text, expected);
}

#[test]
fn v_22_both_markers_in_the_documents_order() {
    let run = ran("voice", vec![b'a'; 300_000], "");
    let text = run.signal(15).ended_by(EndedBy::Timeout).text();
    let end = "\n[Output truncated at 100KB]\n[Process timed out after 30s and was terminated]\
               \n[Exit code: 143]";
    assert_eq!(text, "a".repeat(102_400) + end);
}

#[test]
fn v_23_a_failed_launch_says_so() {
    let reply = failed("voice", Error::new(ErrorKind::Spawn, "fork: no memory"));
    assert_eq!(
        reply.text,
        "Error: Failed to launch process: fork: no memory"
    );
    assert!(reply.is_error);
    assert_eq!(
        reply.error.unwrap(),
        "Failed to launch process: fork: no memory"
    );
}

#[test]
fn v_24_a_denied_command_is_an_error_text_with_its_rule() {
    let denied = Denied {
        rule: "safe-mode".to_owned(),
        message: "Command not allowed in safe mode".to_owned(),
        suggested_tool: None,
    };
    let reply = reply(
        &profile("voice"),
        &Ending::Denied(denied.clone()),
        Duration::ZERO,
    );
    assert_eq!(reply.text, "Error: Command not allowed in safe mode");
    assert!(reply.is_error);
    assert_eq!((reply.denied, reply.error), (Some(denied), None));
}

#[test]
fn v_38_each_bad_input_has_its_text() {
    let text = |input| refused("voice", input).text;
    assert_eq!(text("{bad"), "Error: Invalid JSON arguments");
    assert_eq!(text("[]"), "Error: Tool arguments must be a JSON object");
    let gone = Error::new(ErrorKind::Cwd, "no such directory: /gone").about("/gone");
    assert_eq!(
        failed("voice", gone).text,
        "Error: Workspace not accessible: '/gone'"
    );
}
