//! `bashd hook`: its answers to every agent, and that no failure of ours is an answer that lets a
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
        &["hook", "cline", "--nonsense"],
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

/// An agent, its event for a command, and what its answer says.
struct Spoken {
    agent: &'static str,
    event: fn(&str) -> Value,
    /// The denial's reason, if it is one.
    denied: fn(&Transcript) -> Option<String>,
}

fn json_of(transcript: &Transcript) -> Value {
    assert_eq!(transcript.code(), Some(0), "{}", transcript.block());
    serde_json::from_slice(&transcript.stdout).unwrap_or_default()
}

fn text_at(transcript: &Transcript, word: &(&str, Value), reason: &str) -> Option<String> {
    let answer = json_of(transcript);
    let is_denial = answer.pointer(word.0) == Some(&word.1);
    let reason = answer.pointer(reason).and_then(Value::as_str);
    is_denial.then(|| reason.unwrap_or_default().to_owned())
}

fn by_status(transcript: &Transcript) -> Option<String> {
    assert_eq!(transcript.out(), "", "{}", transcript.block());
    (transcript.code() == Some(2)).then(|| transcript.err())
}

fn nested(transcript: &Transcript) -> Option<String> {
    let word = ("/hookSpecificOutput/permissionDecision", "deny".into());
    text_at(
        transcript,
        &word,
        "/hookSpecificOutput/permissionDecisionReason",
    )
}

/// The agents that can't ask.
const OTHERS: [Spoken; 8] = [
    Spoken {
        agent: "codex",
        event: |command| json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}),
        denied: nested,
    },
    Spoken {
        agent: "qwen",
        event: |command| json!({"hook_event_name": "PreToolUse", "tool_name": "run_shell_command", "tool_input": {"command": command}}),
        denied: nested,
    },
    Spoken {
        agent: "gemini",
        event: |command| json!({"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "tool_input": {"command": command}}),
        denied: |transcript| text_at(transcript, &("/decision", "deny".into()), "/reason"),
    },
    Spoken {
        agent: "cursor",
        event: |command| json!({"hook_event_name": "beforeShellExecution", "command": command, "cwd": "/"}),
        denied: |transcript| text_at(transcript, &("/permission", "deny".into()), "/user_message"),
    },
    Spoken {
        agent: "cline",
        event: |command| json!({"hookName": "tool_call", "tool_call": {"name": "run_commands", "input": {"commands": ["true", command]}}}),
        denied: |transcript| text_at(transcript, &("/cancel", true.into()), "/errorMessage"),
    },
    Spoken {
        agent: "opencode",
        event: |command| json!({"tool": "bash", "args": {"command": command}}),
        denied: by_status,
    },
    Spoken {
        agent: "crush",
        event: |command| json!({"event": "PreToolUse", "tool_name": "bash", "tool_input": {"command": command}}),
        denied: by_status,
    },
    Spoken {
        agent: "openhands",
        event: |command| json!({"event_type": "PreToolUse", "tool_name": "terminal", "tool_input": {"command": command}}),
        denied: by_status,
    },
];

#[test]
fn every_agent_is_answered_in_its_own_form() {
    let home = Home::new();
    for Spoken {
        agent,
        event,
        denied,
    } in OTHERS
    {
        let answer = |text: &str| bashd(&home, &["hook", agent]).stdin(text).run();
        let passed = answer(&event("ls").to_string());
        assert_eq!((passed.code(), denied(&passed)), (Some(0), None), "{agent}");
        let reason = denied(&answer(&event("mkfs.ext4 /dev/bashd-none").to_string()));
        let reason = reason.unwrap_or_else(|| panic!("{agent} passed"));
        assert!(reason.starts_with("no_mkfs: "), "{agent}: {reason}");
        let asked = answer(&event("git reset --hard").to_string());
        if agent == "cursor" {
            assert_eq!(json_of(&asked)["permission"], "ask");
            continue;
        }
        let reason = denied(&asked).unwrap_or_else(|| panic!("{agent} passed"));
        assert!(
            reason.contains("guard.disable = [\"no_git_reset_hard\"]"),
            "{agent}: {reason}"
        );
    }
}

#[test]
fn what_a_hook_can_not_read_is_denied_to_every_agent() {
    let home = Home::new();
    for Spoken {
        agent,
        event,
        denied,
    } in OTHERS
    {
        let whole = event("ls").to_string();
        let cut = whole.strip_suffix("}").unwrap().to_owned();
        let number = event("ls").to_string().replace("\"ls\"", "7");
        let nothing = "{}".to_owned();
        // All events are read by the same code.
        let huge = (agent == "cline").then(|| event(&"x".repeat(17 << 20)).to_string());
        let nul = event("r\0m -rf x").to_string();
        let list = "[]".to_owned();
        let bad = [String::new(), cut, nothing, number, nul, list];
        for bad in bad.into_iter().chain(huge) {
            let answer = bashd(&home, &["hook", agent]).stdin(bad.clone()).run();
            let start: String = bad.chars().take(80).collect();
            assert!(
                denied(&answer).is_some_and(|reason| !reason.is_empty()),
                "{agent}: {start}"
            );
        }
        let not_text = bashd(&home, &["hook", agent]).stdin(vec![0xff, 0xfe]).run();
        assert!(denied(&not_text).is_some(), "{agent}");
        let arguments = ["hook", agent, "--config", "/nonexistent/config.toml"];
        let unjudged = bashd(&home, &arguments).stdin(whole).run();
        assert!(denied(&unjudged).is_some(), "{agent}");
    }
    // It looks at no status.
    let misused = bashd(&home, &["hook", "cline", "--nonsense"])
        .stdin("{}")
        .run();
    let answer: Value = serde_json::from_slice(&misused.stdout).unwrap();
    assert_eq!(answer["cancel"], true);
}

#[test]
fn what_a_person_allowed_for_good_passes() {
    let home = Home::new().keeping_in_state(&["grants.jsonl"]);
    let Spoken {
        agent,
        event,
        denied,
    } = &OTHERS[0];
    let answer = |text: &str| {
        bashd(&home, &["hook", agent])
            .stdin(event(text).to_string())
            .run()
    };
    assert!(denied(&answer("git reset --hard")).is_some());
    fs_grant(&home, "no_git_reset_hard", "git reset --hard");
    assert_eq!(denied(&answer("git reset --hard")), None);
    assert!(denied(&answer("git reset --hard HEAD~1")).is_some());
}

fn fs_grant(home: &Home, rule: &str, command: &str) {
    let grant = json!({"id": 1, "rule": rule, "command": command, "granted_ms": 1});
    std::fs::create_dir_all(home.state()).unwrap();
    std::fs::write(home.state().join("grants.jsonl"), format!("{grant}\n")).unwrap();
}
