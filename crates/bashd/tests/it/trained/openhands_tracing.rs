//! `openhands`: what `set -v` and `set -x` show of commands.

use super::call;
use crate::profile_under_test::Contract;
use bashd_testkit::Home;
use serde_json::json;

#[tokio::test]
async fn what_shows_commands_shows_nothing_of_ours() {
    let home = Home::new();
    let openhands = Contract::new(&home, "openhands");
    for (command, output) in [
        ("set -v", ""),
        ("echo hi", "echo hi\nhi"),
        ("(exit 3)", "(exit 3)"),
        ("set +v", "set +v"),
        ("echo off", "off"),
        ("set -x", ""),
        ("echo on", "++ echo on\non"),
        ("set -v", "++ set -v"),
        (
            "echo both; echo $- | tr -dc vx",
            "echo both; echo $- | tr -dc vx\n++ echo both\nboth",
        ),
        ("set +vx", "set +vx\n++ set +vx"),
        ("echo \"[${S7f-}]\"", "[]"),
    ] {
        let reply = call(&openhands, json!({ "command": command })).await;
        let shown = reply.text.split("\n[The command completed").next().unwrap();
        if command.starts_with("echo both") {
            // The two sides of a pipe are shown in any order.
            assert!(
                shown.starts_with(output) && shown.contains("\nvx"),
                "{shown}"
            );
        } else {
            assert_eq!(shown, output, "{command}: {}", reply.text);
        }
        assert!(!reply.text.contains("builtin"), "{}", reply.text);
        let code = if command == "(exit 3)" { 3 } else { 0 };
        assert_eq!(reply.exit_code, Some(code), "{command}");
    }
}
