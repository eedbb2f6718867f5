//! Tests of inputs: what each profile accepts, and the words in which it refuses.

use super::*;
use crate::plan::StdinSource;
use crate::request::{Accepted, DeadlineKind};
use std::ffi::OsString;
use std::time::Duration;

fn profile(name: &str) -> Profile {
    Profile::builtin(name).unwrap().unwrap()
}

fn parsed(name: &str, input: &str) -> Request {
    parse(&profile(name), input).unwrap()
}

fn accepted(name: &str, input: &str) -> Accepted {
    validate(&profile(name), &parsed(name, input)).unwrap()
}

/// The kind of a refusal and the profile's words for it.
fn refused(name: &str, input: &str) -> (RefusalKind, String) {
    let profile = profile(name);
    let refusal = parse(&profile, input).unwrap_err();
    (
        refusal.kind,
        profile.refusals.text(&refusal, &profile.tool.name),
    )
}

#[test]
fn v_08_command_or_cmd_whichever_is_not_blank() {
    let run = |input| parsed("voice", input).command;
    assert_eq!(run(r#"{"command":"ls"}"#), "ls");
    assert_eq!(run(r#"{"cmd":"ls"}"#), "ls");
    assert_eq!(run(r#"{"cmd":"b","command":"a"}"#), "a");
    assert_eq!(run(r#"{"command":"  ","cmd":"ls"}"#), "ls");
    assert_eq!(run(r#"{"command":5,"cmd":"ls"}"#), "ls");
    assert_eq!(run(r#"{"command":" ls "}"#), " ls ");
}

#[test]
fn v_09_missing_blank_or_no_string() {
    let text = "Missing required parameter 'command'";
    for input in [
        "{}",
        r#"{"command":""}"#,
        r#"{"command":"  "}"#,
        r#"{"command":5}"#,
        r#"{"command":null}"#,
        r#"" ""#,
    ] {
        let expected = (RefusalKind::MissingCommand, text.to_owned());
        assert_eq!(refused("voice", input), expected, "{input}");
    }
}

#[test]
fn v_12_the_limit_is_30_seconds() {
    let accepted = accepted("voice", r#"{"command":"ls"}"#);
    assert_eq!(accepted.timeout, Duration::from_secs(30));
}

#[test]
fn v_38_inputs_that_are_no_object() {
    assert_eq!(parsed("voice", r#""ls -l""#).command, "ls -l");
    assert_eq!(refused("voice", "{bad").1, "Invalid JSON arguments");
    for input in ["[]", "5", "null", "true"] {
        let text = "Tool arguments must be a JSON object";
        assert_eq!(refused("voice", input).1, text, "{input}");
    }
}

#[test]
fn m_24_an_empty_or_blank_command_is_required() {
    for input in [
        "{}",
        r#"{"command":""}"#,
        r#"{"command":" \n\t"}"#,
        r#"{"command":null}"#,
    ] {
        let expected = (
            RefusalKind::MissingCommand,
            "command is required".to_owned(),
        );
        assert_eq!(refused("harness", input), expected, "{input}");
    }
}

#[test]
fn m_30_invalid_input_says_why() {
    let (kind, text) = refused("harness", "{bad");
    assert_eq!(kind, RefusalKind::InvalidJson);
    assert!(
        text.starts_with("invalid input: key must be a string"),
        "{text}"
    );
    assert_eq!(
        refused("harness", r#"{"command":123}"#),
        (
            RefusalKind::WrongType,
            "invalid input: `command` must be a string, not a number".to_owned()
        )
    );
    assert_eq!(
        refused("harness", r#""ls""#).1,
        "invalid input: expected an object, not a string"
    );
}

#[test]
fn p_02_an_omitted_mode_is_default() {
    let omitted = accepted("phoenix", r#"{"command":"ls"}"#);
    assert_eq!(
        omitted,
        accepted("phoenix", r#"{"command":"ls","mode":"default"}"#)
    );
    assert_eq!(
        omitted,
        accepted("phoenix", r#"{"command":"ls","mode":null}"#)
    );
}

#[test]
fn p_03_an_unknown_mode_and_the_old_booleans_are_refused() {
    assert_eq!(
        refused("phoenix", r#"{"command":"ls","mode":"fast"}"#),
        (
            RefusalKind::InvalidValue,
            "Invalid input: `mode` must be one of default, slow, background, not `fast`".to_owned()
        )
    );
    assert_eq!(
        refused("phoenix", r#"{"command":"ls","slow_ok":true}"#),
        (
            RefusalKind::UnknownParameter,
            "Invalid input: unknown parameter `slow_ok`".to_owned()
        )
    );
}

#[test]
fn p_04_default_mode_has_30_seconds() {
    let accepted = accepted("phoenix", r#"{"command":"ls","mode":"default"}"#);
    assert_eq!(accepted.timeout, Duration::from_secs(30));
    assert_eq!(profile("phoenix").limits.timeout_s, 30);
}

#[test]
fn p_05_slow_mode_has_15_minutes() {
    let accepted = accepted("phoenix", r#"{"command":"ls","mode":"slow"}"#);
    assert_eq!(accepted.timeout, Duration::from_mins(15));
}

#[test]
fn p_06_background_mode_has_24_hours() {
    let phoenix = profile("phoenix");
    let mode = phoenix.modes.iter().find(|mode| mode.name == "background");
    assert_eq!(mode.unwrap().timeout_s, 24 * 60 * 60);
    let request = parsed("phoenix", r#"{"command":"ls","mode":"background"}"#);
    let accepted = validate(&phoenix, &request).unwrap();
    assert_eq!(accepted.timeout, Duration::from_hours(24));
    assert_eq!(accepted.ends, DeadlineKind::AtTimeout);
    let backgrounding = accepted.backgrounding.unwrap();
    assert_eq!(
        (backgrounding.after, backgrounding.waits),
        (Duration::ZERO, false)
    );
}

#[test]
fn how_long_a_call_waits_and_what_ends_its_command() {
    let second = Duration::from_secs(1);
    let settled = |input: &str| {
        let accepted = validate(&profile("default"), &parsed("default", input)).unwrap();
        let after = accepted
            .backgrounding
            .map(|backgrounding| backgrounding.after);
        (accepted.timeout, accepted.ends, after)
    };
    for (input, expected) in [
        (
            r#"{"command":"a","timeout":9}"#,
            (9 * second, DeadlineKind::AtTimeout, None),
        ),
        (
            r#"{"command":"a","timeout":9,"on_timeout":"background"}"#,
            (9 * second, DeadlineKind::AtJobLimit, Some(9 * second)),
        ),
        (
            r#"{"command":"a","timeout":9,"on_timeout":"background","wait_max":4}"#,
            (9 * second, DeadlineKind::AtJobLimit, Some(4 * second)),
        ),
        (
            r#"{"command":"a","timeout":9,"on_timeout":"kill","wait_max":4}"#,
            (9 * second, DeadlineKind::AtTimeout, Some(4 * second)),
        ),
        (
            r#"{"command":"a","timeout":9,"on_timeout":"kill","wait_max":10}"#,
            (9 * second, DeadlineKind::AtTimeout, None),
        ),
        (
            r#"{"command":"a","background":true}"#,
            (
                120 * second,
                DeadlineKind::AtJobLimit,
                Some(300 * second / 1000),
            ),
        ),
        (
            r#"{"command":"a","background":true,"timeout":9,"on_timeout":"kill"}"#,
            (
                9 * second,
                DeadlineKind::AtTimeout,
                Some(300 * second / 1000),
            ),
        ),
    ] {
        assert_eq!(settled(input), expected, "{input}");
    }
    assert_eq!(
        refused("default", r#"{"command":"a","on_timeout":"dance"}"#).1,
        "`on_timeout` must be one of background, kill, not `dance`"
    );
}

#[test]
fn p_08_a_long_command_is_not_refused() {
    let input = format!(r#"{{"command":"echo {}"}}"#, "x".repeat(400_000));
    assert_eq!(parsed("phoenix", &input).command.len(), 400_005);
}

#[test]
fn p_34_empty_is_refused_and_a_comment_is_a_command() {
    for input in [r#"{"command":""}"#, r#"{"command":"  "}"#] {
        assert_eq!(refused("phoenix", input).1, "Command cannot be empty");
    }
    assert_eq!(
        parsed("phoenix", r##"{"command":"# nothing"}"##).command,
        "# nothing"
    );
}

#[test]
fn an_unknown_parameter_is_refused_in_each_profiles_words() {
    let input = r#"{"command":"ls","colour":1}"#;
    let texts = [
        (
            "default",
            "there is no parameter `colour`; there are command, cwd, env, timeout, on_timeout, wait_max, background, until, stdin, pty, session, stdin_open, needs, repeatable, effects, on, record",
        ),
        ("voice", "Unknown parameter 'colour'"),
        ("harness", "invalid input: unknown parameter \"colour\""),
        ("phoenix", "Invalid input: unknown parameter `colour`"),
    ];
    for (name, text) in texts {
        let expected = (RefusalKind::UnknownParameter, text.to_owned());
        assert_eq!(refused(name, input), expected);
    }
}

#[test]
fn the_default_profile_sets_everything() {
    let request = parsed(
        "default",
        r#"{"command":"a","cwd":"/x","env":{"B":"2","A":"1"},"timeout":1.5,"stdin":"in"}"#,
    );
    assert_eq!(request.profile, "default");
    assert_eq!(request.cwd, Some("/x".into()));
    let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    assert_eq!(request.env, [pair("B", "2"), pair("A", "1")]);
    assert_eq!(request.timeout, Some(Duration::from_millis(1500)));
    assert!(matches!(request.stdin, StdinSource::Bytes(bytes) if bytes == b"in"));
    assert_eq!(request.mode, None);
}

#[test]
fn a_timeout_outside_its_range_is_clamped_and_said() {
    let lowered = "timeout lowered to 3600 s, the maximum";
    let raised = "timeout raised to 1 s, the minimum";
    for (value, seconds, notice) in [
        ("3600", 3600, None),
        ("1", 1, None),
        ("3601", 3600, Some(lowered)),
        ("1e300", 3600, Some(lowered)),
        ("0.5", 1, Some(raised)),
        ("0", 1, Some(raised)),
        ("-7", 1, Some(raised)),
    ] {
        let accepted = accepted(
            "default",
            &format!(r#"{{"command":"a","timeout":{value}}}"#),
        );
        assert_eq!(accepted.timeout, Duration::from_secs(seconds), "{value}");
        let told = accepted.notices.iter().map(|notice| notice.text.as_str());
        assert_eq!(told.collect::<Vec<_>>(), Vec::from_iter(notice), "{value}");
    }
    let unsaid = accepted("default", r#"{"command":"a"}"#);
    assert_eq!(
        (unsaid.timeout, unsaid.notices.len()),
        (Duration::from_mins(2), 0)
    );
}

#[test]
fn wrong_types_are_named() {
    for (input, text) in [
        (
            r#"{"command":"a","timeout":"5"}"#,
            "`timeout` must be a number, not a string",
        ),
        (
            r#"{"command":"a","env":[]}"#,
            "`env` must be an object, not an array",
        ),
        (
            r#"{"command":"a","env":{"A":1}}"#,
            "`env.A` must be a string, not a number",
        ),
        (
            r#"{"command":["a"]}"#,
            "`command` must be a string, not an array",
        ),
        (
            r#"{"command":"a","stdin":true}"#,
            "`stdin` must be a string, not a boolean",
        ),
    ] {
        assert_eq!(
            refused("default", input),
            (RefusalKind::WrongType, text.to_owned())
        );
    }
}

#[test]
fn nul_bytes_are_refused_where_no_process_can_take_them() {
    for input in [
        r#"{"command":"a\u0000b"}"#,
        r#"{"command":"a","cwd":"/\u0000"}"#,
        r#"{"command":"a","env":{"A":"\u0000"}}"#,
        r#"{"command":"a","env":{"A\u0000":"b"}}"#,
    ] {
        assert_eq!(refused("default", input).0, RefusalKind::NulByte, "{input}");
    }
    let stdin = parsed("default", r#"{"command":"a","stdin":"\u0000"}"#).stdin;
    assert!(matches!(stdin, StdinSource::Bytes(bytes) if bytes == [0]));
}

#[test]
fn environment_names_are_checked() {
    for name in ["", "1A", "A-B", "A=B", "É", "A B"] {
        let input = format!(r#"{{"command":"a","env":{{"{name}":"x"}}}}"#);
        let text = format!("invalid environment variable name `{name}`");
        assert_eq!(
            refused("default", &input),
            (RefusalKind::InvalidEnvName, text)
        );
    }
    parsed("default", r#"{"command":"a","env":{"_a1":"","A_B":"x"}}"#);
}

#[test]
fn reserved_parameters_are_not_available_yet() {
    let mut profile = profile("default");
    profile.input.reserved = vec!["later".to_owned()];
    let refusal = parse(&profile, r#"{"command":"a","later":true}"#).unwrap_err();
    let expected = (RefusalKind::NotAvailable, "parameter `later`".to_owned());
    assert_eq!((refusal.kind, refusal.detail), expected);
}

#[test]
fn a_host_may_set_what_the_model_may_not() {
    let request = Request::new("ls")
        .timeout(Duration::from_millis(300))
        .cwd("/");
    for name in ["voice", "harness", "phoenix"] {
        let accepted = validate(&profile(name), &request).unwrap();
        assert_eq!(accepted.timeout, Duration::from_millis(300));
        assert!(parse(&profile(name), r#"{"command":"ls","timeout":1}"#).is_err());
    }
    let zero = Request::new("ls").timeout(Duration::ZERO);
    let refusal = validate(&profile("voice"), &zero).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::InvalidValue);
    let mode = Request::new("ls").mode("slow");
    let refusal = validate(&profile("voice"), &mode).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::UnknownParameter);
}
