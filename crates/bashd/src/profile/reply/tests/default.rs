//! `default`, and what applies in every profile.

use super::*;
use crate::config::Config;
use crate::event::Stream;
use crate::profile::schema::definition;
use crate::request::RefusalKind;

#[test]
fn the_default_text_says_only_what_is_worth_it() {
    let text = |run: Ran| run.text();
    assert_eq!(text(ran("default", "hi\n", "")), "hi\n");
    assert_eq!(text(ran("default", "hi", "")), "hi");
    assert_eq!(text(ran("default", "", "")), "[no output]");
    assert_eq!(text(ran("default", "hi", "").exit(3)), "hi\n[exit code 3]");
    assert_eq!(
        text(ran("default", "", "").signal(9)),
        "[killed by signal 9, SIGKILL]"
    );
    let run = ran("default", "part\n", "")
        .signal(15)
        .ended_by(EndedBy::Timeout);
    assert_eq!(text(run), "part\n[timed out after 120 s and was ended]");
    let run = ran("default", "", "").signal(15).ended_by(EndedBy::Cancel);
    assert_eq!(text(run), "[cancelled and ended]");
    assert_eq!(
        text(ran("default", "", "").without_status()),
        "[exit code unknown]"
    );
}

#[test]
fn the_default_profile_tells_notices_and_processes() {
    let run = ran("default", "started\n", "")
        .notice(Notice::request("timeout lowered to 3600 s, the maximum"))
        .left(42, "sleep 30\nx", LeftReason::Survivor)
        .left(43, "sudo x", LeftReason::NotPermitted);
    assert_eq!(
        run.text(),
        "started\n[bashd: timeout lowered to 3600 s, the maximum]\n\
         [left running: process 42, sleep 30 x]\n\
         [could not be ended (it belongs to another user): process 43, sudo x]"
    );
    let many = (0..9).fold(ran("default", "", ""), |run, pid| {
        run.left(pid, "x", LeftReason::Survivor)
    });
    assert!(many.text().ends_with("process 4, x]\n[and 4 more]"));
}

#[test]
fn the_default_window_counts_exactly_what_it_leaves_out() {
    let flood = "0123456\n".repeat(10_000);
    let reply = ran("default", flood.as_str(), "").reply();
    let expected = format!(
        "{}\n[bashd: 47232 bytes (5904 lines) left out here]\n{}",
        "0123456\n".repeat(1024),
        "0123456\n".repeat(3072)
    );
    assert_eq!(reply.text, expected);
    assert_eq!(reply.result["omitted_bytes"], 47_232);
    assert_eq!(reply.result["omitted_lines"], 5904);
    assert_eq!((reply.output_bytes, reply.output_lines), (80_000, 10_000));
}

#[test]
fn the_default_result_is_the_outcome_as_data() {
    let run = ran("default", "x\n", "")
        .signal(15)
        .ended_by(EndedBy::Timeout);
    let reply = run.left(7, "d", LeftReason::Unkillable).reply();
    let expected = json!({
        "exit_code": null,
        "signal": 15,
        "timed_out": true,
        "cancelled": false,
        "timeout_s": 120.0,
        "output_bytes": 2,
        "output_lines": 1,
        "omitted_bytes": 0,
        "omitted_lines": 0,
        "dropped_bytes": 0,
        "left_behind": [{"pid": 7, "command": "d", "age_ms": 5, "reason": "unkillable", "job": null}],
        "notices": [],
    });
    assert_eq!(reply.result, expected);
    assert!(reply.is_error);
    assert!(!ran("default", "", "").exit(1).reply().is_error);
}

#[test]
fn lost_output_is_told_in_every_profile() {
    let lost = || Notice::output_lost(Stream::Out, "5 bytes of output were lost (disk full)");
    let text = |name| ran(name, "o", "").notice(lost()).text();
    let line = "[bashd: 5 bytes of output were lost (disk full)]";
    assert_eq!(text("default"), format!("o\n{line}"));
    assert_eq!(text("phoenix"), format!("o\n{line}"));
    assert_eq!(text("voice"), format!("o\n{line}\n[Exit code: 0]"));
    let result = ran("harness", "o", "e").notice(lost()).json();
    assert_eq!(result["stdout"], format!("o\n{line}"));
    assert_eq!(result["stderr"], "e");
    let of_err = Notice::output_lost(Stream::Err, "gone");
    let result = ran("harness", "o", "e").notice(of_err).json();
    assert_eq!(result["stderr"], "e\n[bashd: gone]");
    let run = ran("harness", "o", "")
        .signal(15)
        .ended_by(EndedBy::Timeout);
    let error = format!("command timed out after 30 seconds\n\no\n{line}");
    assert_eq!(run.notice(lost()).json(), json!({ "error": error }));
}

#[test]
fn notices_and_processes_stay_out_of_texts_that_have_no_room() {
    for name in ["voice", "harness", "phoenix"] {
        let plain = ran(name, "o", "").reply();
        let run = ran(name, "o", "").notice(Notice::request("a clamp"));
        let told = run.left(1, "x", LeftReason::Survivor).reply();
        assert_eq!(told.text, plain.text);
        assert_eq!(told.left_behind.len(), 1);
    }
}

#[test]
fn what_was_captured_before_our_failure_is_shown() {
    for (name, text) in [
        ("voice", "Error: Process was lost: silence\n\npart\n"),
        (
            "harness",
            "{\"error\":\"failed to execute command: silence\\n\\npart\\n\"}",
        ),
        ("phoenix", "Command execution failed: silence\n\npart\n"),
        ("default", "Error: the command was lost: silence\n\npart\n"),
    ] {
        let run = ran(name, "part\n", "").without_status();
        let error = Error::new(ErrorKind::KeeperLost, "silence");
        let ending = Ending::Failed(error, Some(Box::new(run.finished)));
        let reply = reply(&run.profile, &ending, Duration::ZERO);
        assert_eq!(reply.text, text);
        assert_eq!((reply.output.as_str(), reply.output_bytes), ("part\n", 5));
        assert!(reply.is_error && reply.error.is_some());
    }
}

#[test]
fn every_refusal_is_an_error_that_names_its_detail() {
    use RefusalKind::{InvalidValue, NotAvailable, NulByte, UnknownParameter, UnknownProfile};
    for name in Profile::names() {
        for kind in [
            UnknownParameter,
            InvalidValue,
            NulByte,
            UnknownProfile,
            NotAvailable,
        ] {
            let ending = Ending::Refused(Refusal::new(kind, "the-detail"));
            let profile = profile(name);
            let reply = reply(&profile, &ending, Duration::ZERO);
            assert!(reply.text.contains("the-detail"), "{name} {kind:?}");
            // Some APIs have no flag for errors.
            let expected = profile.reply.unrun_is_error;
            assert_eq!(reply.is_error, expected, "{name} {kind:?}");
        }
    }
}

#[test]
fn m_01_every_profile_names_its_tool_bash() {
    for name in ["default", "voice", "harness", "phoenix", "pi"] {
        assert_eq!(
            definition(&profile(name), "/", &Config::new("/state"))["name"],
            "bash"
        );
    }
}

#[test]
fn the_wall_time_is_in_milliseconds() {
    assert_eq!(ran("default", "", "").reply().wall_ms, 7);
}

#[test]
fn the_docs_name_every_field_and_no_other() {
    let page = include_str!("../../../../../../docs/reply.md");
    let table = page.split_once("| field | type | meaning |").unwrap().1;
    let table = table.split_once("\n\n").unwrap().0;
    let documented = table
        .lines()
        .filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    let reply = serde_json::to_value(ran("default", "", "").reply()).unwrap();
    let fields = reply.as_object().unwrap().keys().map(String::as_str);
    assert_eq!(documented.collect::<Vec<_>>(), fields.collect::<Vec<_>>());
}
