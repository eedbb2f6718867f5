//! Edits and their undoing: what is not ours stays to the byte.

use super::*;
use serde_json::json;

/// Edits as agents need them.
fn edits() -> Vec<ConfigEdit> {
    vec![
        ConfigEdit::member(
            &["mcpServers", "bashd"],
            json!({"command": "b", "args": ["mcp"]}),
        ),
        ConfigEdit::only_element(
            &["hooks", "PreToolUse"],
            "hook x",
            json!({"matcher": "Bash", "hooks": [{"command": "b hook x"}]}),
        ),
        ConfigEdit::element(&["permissions", "deny"], json!("Bash")),
        ConfigEdit::element(&["permissions", "deny"], json!("Monitor")),
    ]
}

/// JSON as people and agents write it.
const JSONS: &[&str] = &[
    "{}",
    "{}\n",
    "{\n}\n",
    "{ }",
    "{\"a\":1}",
    "{\"a\": 1, \"mcpServers\": {\"x\": {\"command\": \"y\"}}}",
    "{\n  \"a\": 1\n}\n",
    "{\n  \"a\": 1,\n}\n",
    "{\n\t\"a\": [1, 2],\n\t\"mcpServers\": {\n\t\t\"x\": {}\n\t}\n}",
    "{\r\n    \"a\": 1,\r\n    \"permissions\": {\r\n        \"deny\": [\r\n            \"Read\"\r\n        ]\r\n    }\r\n}\r\n",
    "// first\n{\n  // inside\n  \"a\": 1, // one, and {\n  /* two */ \"b\": \"}, // no\" /* three */\n  // last\n}\n// after\n",
    "{\n  \"a\": 1 // said\n}\n",
    "{\n  \"a\": 1, // said\n}\n",
    "{\n  \"hooks\": {\"PreToolUse\": []},\n  \"permissions\": {\"deny\": [\"Read\"], \"allow\": []}\n}\n",
    "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Write\"\n      }\n    ]\n  },\n  \"permissions\": {\n    \"deny\": [\n      \"Read\",\n    ],\n  },\n}\n",
    "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
    "{\"mcpServers\": {/* none */}}",
    "{\n  \"täg\": \"ü — 日本\",\n  \"mcpServers\": {}\n}\n",
];

#[test]
fn json_is_as_before_once_the_edits_are_taken_out() {
    for before in JSONS {
        let (after, put) = ConfigFormat::Json.put(before, &edits()).unwrap();
        let root = ConfigFormat::Json.read(&after).unwrap();
        for edit in edits() {
            assert_eq!(edit.state(&root), EditState::Present, "{before}\n{after}");
        }
        // Every comment is still there, in its line.
        for line in before.lines().filter(|line| line.contains("//")) {
            let (code, comment) = line.split_once("//").unwrap();
            let code = code.trim_end_matches([',', ' ']);
            let is_kept = |line: &str| line.starts_with(code) && line.ends_with(comment);
            let is_kept = |line: &str| is_kept(line) || line.contains("/* three */");
            assert!(after.lines().any(is_kept), "{line}\n{after}");
        }
        let (undone, changed) = ConfigFormat::Json.take(&after, &put).unwrap();
        assert!(changed.is_empty(), "{changed:?}");
        let blank =
            |text: &str| text.trim() == "{}" || text.trim_matches(['{', '}', '\n', ' ']).is_empty();
        assert!(
            undone == *before || (blank(before) && blank(&undone)),
            "{before:?}\n{after}\n{undone:?}"
        );
        let (again, put) = ConfigFormat::Json.put(&after, &edits()).unwrap();
        assert_eq!((again.as_str(), put.len()), (after.as_str(), 0));
    }
}

#[test]
fn the_edits_of_a_file_that_others_wrote_again_are_taken_out() {
    let before =
        "{\n  \"z\": 1,\n  \"permissions\": {\n    \"deny\": [\n      \"Read\"\n    ]\n  }\n}";
    let (after, put) = ConfigFormat::Json.put(before, &edits()).unwrap();
    // As an agent does: other keys, its own formatting.
    let mut root = ConfigFormat::Json.read(&after).unwrap();
    root["startups"] = json!(5);
    root["mcpServers"]["other"] = json!({});
    let rewritten = serde_json::to_string_pretty(&root).unwrap();
    let (undone, _) = ConfigFormat::Json.take(&rewritten, &put).unwrap();
    let expected = json!({"z": 1, "permissions": {"deny": ["Read"]}, "mcpServers": {"other": {}}, "startups": 5});
    assert_eq!(undone, serde_json::to_string_pretty(&expected).unwrap());
}

#[test]
fn what_others_changed_of_ours_stays() {
    let (after, put) = ConfigFormat::Json.put("{}", &edits()).unwrap();
    let changed = after.replace("\"command\": \"b\"", "\"command\": \"mine\"");
    let (undone, remains) = ConfigFormat::Json.take(&changed, &put).unwrap();
    assert_eq!(remains, ["mcpServers.bashd"]);
    assert!(
        undone.contains("mine") && !undone.contains("hook x"),
        "{undone}"
    );
}

#[test]
fn a_broken_or_foreign_configuration_is_refused() {
    for (text, reason) in [
        ("", "empty"),
        ("[]", "object"),
        ("{", ""),
        ("{\"a\": 1 \"b\": 2}", ""),
        ("{'a': 1}", ""),
        ("{\"a\": 1, \"a\": 2}", "`a` occurs twice"),
        (
            "{\"mcpServers\": {\"bashd\": {\"command\": \"other\"}}}",
            "`mcpServers.bashd` is already there",
        ),
        ("{\"mcpServers\": []}", "`mcpServers` is not"),
        ("{\"mcpServers\": null}", "`mcpServers` is not"),
        ("{\"hooks\": {\"PreToolUse\": {}}}", "not a list"),
        (
            "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"command\": \"/old/b hook x\"}]}]}}",
            "already has a hook",
        ),
    ] {
        let refused = ConfigFormat::Json.put(text, &edits()).unwrap_err();
        assert!(refused.contains(reason), "{text}: {refused}");
    }
}

/// TOML as people write it.
const TOMLS: &[&str] = &[
    "",
    "# nothing\n",
    "model = \"x\"\n",
    "model = \"x\" # why\n\n[features]\n# said\nother = true\n\n[mcp_servers.x]\ncommand = 'y'\nargs = [\n  'a', # one\n]\n# end\n",
    "[features]\nother=true\n[mcp_servers]\n",
    "[mcp_servers.x]\r\ncommand = \"y\"\r\n",
    "mcp_servers = { x = { command = \"y\" } }\n",
    "[[list]]\na = 1\n[[list]]\na = 2\n",
];

#[test]
fn toml_is_as_before_once_the_edits_are_taken_out() {
    let entry = json!({"command": "b", "args": ["mcp"], "tool_timeout_sec": 3600});
    let edits = [
        ConfigEdit::member(&["mcp_servers", "bashd"], entry),
        ConfigEdit::member(&["features", "shell_tool"], json!(false)),
    ];
    for before in TOMLS {
        let (after, put) = ConfigFormat::Toml.put(before, &edits).unwrap();
        let root = ConfigFormat::Toml.read(&after).unwrap();
        for edit in &edits {
            assert_eq!(edit.state(&root), EditState::Present, "{before}\n{after}");
        }
        for line in before.lines() {
            assert!(
                after.contains(line.trim_end_matches(['}', ' '])),
                "{line}\n{after}"
            );
        }
        let (undone, _) = ConfigFormat::Toml.take(&after, &put).unwrap();
        assert_eq!(undone, *before, "{after}");
        let (again, put) = ConfigFormat::Toml.put(&after, &edits).unwrap();
        assert_eq!((again.as_str(), put.len()), (after.as_str(), 0));
    }
    for (text, reason) in [
        ("a = ", ""),
        (
            "[features]\nshell_tool = true\n",
            "`features.shell_tool` is already there",
        ),
        ("mcp_servers = 1\n", "`mcp_servers` is not"),
    ] {
        let refused = ConfigFormat::Toml.put(text, &edits).unwrap_err();
        assert!(refused.contains(reason), "{text}: {refused}");
    }
}
