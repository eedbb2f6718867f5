//! A client whose user sees what a command did before it is real.

use super::client::Client;
use crate::effects::held_home;
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::fs;

const RULE: &str = "[[rules]]\nname = 'look'\ndecision = 'ask'\nask = 'effects'\nmessage = 'scripts do anything'\n\
    command = 'sh'\nexamples.deny = ['sh x']\nexamples.allow = ['true']\n";

fn home() -> Home {
    let home = held_home();
    fs::write(home.config().join("config.toml"), RULE).unwrap();
    fs::write(
        home.workspace().join("script"),
        "echo new >made; rm old; echo x >../refused\n",
    )
    .unwrap();
    fs::write(home.workspace().join("old"), "old text\n").unwrap();
    home
}

/// Asks for the script; the question, and the number of the call.
fn asked(client: &mut Client) -> (Value, i64) {
    let params = json!({"name": "bash", "arguments": {"command": "sh script"}});
    let id = client.request("tools/call", &params);
    let asked = client.wait_for(|message| message["method"] == "elicitation/create");
    (asked, id)
}

fn answered(client: &mut Client, asked: &Value, id: i64, result: &Value) -> Value {
    client.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
    let told = client.wait_for(|message| message["id"] == id && message["method"].is_null());
    told["result"].clone()
}

#[test]
fn the_user_sees_the_files_the_difference_and_what_was_refused() {
    let home = home();
    let root = home.workspace();
    let mut client = Client::connect_with(&home, &[], &json!({"elicitation": {}}));
    for (answer, is_allowed) in [
        (
            json!({"action": "accept", "content": {"choice": "deny"}}),
            false,
        ),
        (json!({"action": "decline"}), false),
        (
            json!({"action": "accept", "content": {"choice": "once"}}),
            true,
        ),
    ] {
        let (question, id) = asked(&mut client);
        let text = question["params"]["message"].as_str().unwrap();
        for part in [
            "May what this command did become real?",
            "sh script",
            "scripts do anything (look)",
            "1 created, 1 deleted",
            "A made",
            "D old",
            "+new",
            "-old text",
            "Refused: ",
            "/refused",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let choice = &question["params"]["requestedSchema"]["properties"]["choice"];
        let words = choice.to_string();
        assert!(
            words.contains("\"once\"") && !words.contains("always"),
            "{words}"
        );
        assert!(root.join("old").exists() && !root.join("made").exists());
        let result = answered(&mut client, &question, id, &answer);
        assert_eq!(root.join("made").exists(), is_allowed, "{result}");
        assert_eq!(root.join("old").exists(), !is_allowed, "{result}");
        assert_eq!(
            result["isError"],
            json!(!is_allowed || result["isError"] == true),
            "{result}"
        );
        let reply = &result["_meta"]["bashd/reply"];
        let text = result["content"][0]["text"].as_str().unwrap();
        if is_allowed {
            assert_eq!(reply["changes"]["state"], "applied", "{result}");
            assert!(text.contains("takes it back"), "{text}");
        } else {
            assert_eq!(reply["changes"]["state"], "discarded", "{result}");
            assert!(text.contains("nothing of it is real"), "{text}");
        }
    }
}

#[test]
fn who_can_not_be_asked_or_goes_away_gets_nothing_real() {
    let home = home();
    let made = home.workspace().join("made");
    // It offers no forms.
    let mut client = Client::connect(&home, &[]);
    let result = client.bash(&json!({"command": "sh script"}));
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("nobody could be asked"), "{result}");
    // It asks a server of whose calls all are looked at, and is gone before its user answered.
    let arguments = ["--effects", "ask"];
    let mut leaving = Client::connect_with(&home, &arguments, &json!({"elicitation": {}}));
    let params = json!({"name": "bash", "arguments": {"command": "echo y >made"}});
    leaving.request("tools/call", &params);
    let question = leaving.wait_for(|message| message["method"] == "elicitation/create");
    assert!(
        question["params"]["message"]
            .as_str()
            .unwrap()
            .contains("(effects)"),
        "{question}"
    );
    leaving.close_stdin();
    leaving.wait();
    assert!(!made.exists());
    let listed = crate::shown(&home, &["changes", "--json"]).out();
    assert_eq!(listed, "", "it is discarded");
}
