//! `bashd schema`: the tool definition of each profile.

use crate::shown;
use bashd_testkit::Home;

#[test]
fn every_profile_has_a_definition() {
    let home = Home::new();
    for profile in ["default", "voice", "harness", "phoenix", "pi"] {
        let transcript = shown(&home, &["schema", "--profile", profile]);
        assert_eq!(transcript.code(), Some(0), "{}", transcript.err());
        let definition: serde_json::Value = serde_json::from_slice(&transcript.stdout).unwrap();
        for part in ["name", "description", "input_schema"] {
            assert!(!definition[part].is_null(), "{profile} has no {part}");
        }
    }
}

#[test]
fn the_configured_profile_is_the_default() {
    let home = Home::new();
    let named = shown(&home, &["schema", "--profile", "phoenix"]).out();
    assert_eq!(
        shown(&home, &["schema", "--set", "profile=phoenix"]).out(),
        named
    );
    assert_ne!(shown(&home, &["schema"]).out(), named);
}

#[test]
fn an_unknown_profile_is_answered_with_the_known_ones() {
    let home = Home::new();
    insta::assert_snapshot!(shown(&home, &["schema", "--profile", "x"]).block(), @r#"
    --- stdout
    --- stderr
    usage error: there is no profile `x`
    hint: one of: default, voice, harness, phoenix, pi, anthropic-bash, openai-shell, openai-local-shell, claude-code, claude-code-2.1, claude-code-2.0, gemini, codex, codex-shell, codex-shell-command, openhands
    --- status
    exit 125
    "#);
}
