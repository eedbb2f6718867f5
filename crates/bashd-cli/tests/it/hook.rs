//! `bashd hook claude-code`: its answers, and that no failure of ours is an answer that lets a
//! command pass.

use crate::bashd;
use bashd_testkit::{Home, Transcript};
use serde_json::{Value, json};

fn event(command: &str) -> String {
    json!({
        "session_id": "s",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_use_id": "t",
        "tool_input": { "command": command, "description": "d" },
    })
    .to_string()
}

fn hook(home: &Home, arguments: &[&str], event: &str) -> Transcript {
    bashd(home, &[&["hook", "claude-code"], arguments].concat())
        .stdin(event)
        .run()
}

/// Decision and reason, if the hook said something.
fn decision(transcript: &Transcript) -> Option<(String, String)> {
    assert_eq!(transcript.code(), Some(0), "{}", transcript.block());
    if transcript.stdout.is_empty() {
        return None;
    }
    let answer: Value = serde_json::from_slice(&transcript.stdout).unwrap();
    let answer = &answer["hookSpecificOutput"];
    assert_eq!(answer["hookEventName"], "PreToolUse");
    let text = |key: &str| answer[key].as_str().unwrap().to_owned();
    Some((text("permissionDecision"), text("permissionDecisionReason")))
}

#[test]
fn what_is_harmless_is_left_to_the_agent() {
    let home = Home::new();
    for command in ["ls", "git push --force-with-lease", "echo 'rm -rf /'"] {
        assert_eq!(
            decision(&hook(&home, &[], &event(command))),
            None,
            "{command}"
        );
    }
    let other =
        r#"{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/x"}}"#;
    assert_eq!(decision(&hook(&home, &[], other)), None);
}

#[test]
fn what_a_rule_denies_is_denied_with_its_reason() {
    let home = Home::new();
    let (word, reason) = decision(&hook(
        &home,
        &[],
        &event("touch X; mkfs.ext4 /dev/bashd-none"),
    ))
    .unwrap();
    assert_eq!(word, "deny");
    assert!(
        reason.starts_with("no_mkfs: this destroys everything on the device. Use an image"),
        "{reason}"
    );
    let (word, reason) = decision(&hook(&home, &[], &event("touch X; git reset --hard"))).unwrap();
    assert_eq!(word, "ask");
    assert!(reason.starts_with("no_git_reset_hard: "), "{reason}");
    // What no shell reads as it is written is not passed on.
    let (word, reason) = decision(&hook(&home, &[], &event("r\0m -rf x"))).unwrap();
    assert_eq!(word, "deny");
    assert!(reason.starts_with("script_readable: "), "{reason}");
    assert!(!home.workspace().join("X").exists());
    for (arguments, command) in [
        (&["--safe-mode", "strict"][..], "cat > f < g"),
        (&["--interceptor", "--tools", "read"], "cat g"),
    ] {
        let (word, _) = decision(&hook(&home, arguments, &event(command))).unwrap();
        assert_eq!(word, "deny", "{arguments:?}");
    }
    let without = hook(&home, &["--profile", "voice"], &event("rm -rf ~"));
    assert_eq!(decision(&without), None, "that profile has no rules");
}

#[test]
fn what_the_user_wants_to_be_asked_about_is_asked() {
    let home = Home::new();
    let rule = "[[rules]]\nname = \"deploy\"\ndecision = \"ask\"\nmessage = \"really?\"\ncommand = \"deploy\"\n";
    std::fs::write(home.config().join("config.toml"), rule).unwrap();
    let asked = decision(&hook(&home, &[], &event("deploy now")));
    assert_eq!(
        asked,
        Some(("ask".to_owned(), "deploy: really?".to_owned()))
    );
}

#[test]
fn an_event_that_cannot_be_read_is_asked_about() {
    let home = Home::new();
    for bad in [
        "",
        "nonsense",
        "[]",
        "{}",
        "{\"tool_input\":{\"command\":\"ls\"}}",
        "{\"tool_name\":\"Bash\"}",
        "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":7}}",
        "{\"tool_name\":\"Bash\",\"tool_input\":null}",
    ] {
        let (word, reason) =
            decision(&hook(&home, &[], bad)).unwrap_or_else(|| panic!("{bad} passed"));
        assert_eq!(word, "ask", "{bad}");
        assert!(reason.starts_with("bashd "), "{reason}");
    }
    let not_text = bashd(&home, &["hook", "claude-code"])
        .stdin(vec![0xff, 0xfe])
        .run();
    assert_eq!(decision(&not_text).unwrap().0, "ask");
}

#[test]
fn a_bad_configuration_or_profile_is_asked_about() {
    let home = Home::new();
    let (word, reason) = decision(&hook(&home, &["--profile", "nonsense"], &event("ls"))).unwrap();
    assert_eq!(word, "ask");
    assert!(reason.contains("nonsense"), "{reason}");
    let missing = hook(
        &home,
        &["--config", "/nonexistent/config.toml"],
        &event("ls"),
    );
    assert_eq!(decision(&missing).unwrap().0, "ask");
    for text in [
        "profile = [",
        "spool.head_bytes = true",
        "[[rules]]\nname = 1\n",
    ] {
        std::fs::write(home.config().join("config.toml"), text).unwrap();
        let (word, _) =
            decision(&hook(&home, &[], &event("ls"))).unwrap_or_else(|| panic!("{text} passed"));
        assert_eq!(word, "ask", "{text}");
    }
}

#[test]
fn bad_usage_and_other_events_block() {
    let home = Home::new();
    let other =
        r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
    let blocked = hook(&home, &[], other);
    assert_eq!(blocked.code(), Some(2), "{}", blocked.block());
    for arguments in [
        &["hook"][..],
        &["hook", "claude-code", "--nonsense"],
        &["hook", "nonsense"],
        &["hook", "claude-code", "--safe-mode", "x"],
    ] {
        let transcript = bashd(&home, arguments).stdin(event("ls")).run();
        assert_eq!(
            transcript.code(),
            Some(2),
            "{arguments:?}: {}",
            transcript.block()
        );
        assert!(!transcript.stderr.is_empty());
    }
}
