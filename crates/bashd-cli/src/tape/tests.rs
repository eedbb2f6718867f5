//! Tapes made by hand: what is the same, what differs, and who is answered when.

use super::compare::{essence, is_same};
use super::player::{Matching, TapePlayer};
use super::script::TapeScript;
use super::*;
use bashd::secrets::{KnownSecrets, Secrets};
use serde_json::{Value, json};
use std::io::{Read, Write};

fn script(entries: &[Value]) -> TapeScript {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{}", json!({"bashd_tape": 1, "protocol": "mcp"})).unwrap();
    for entry in entries {
        writeln!(file, "{entry}").unwrap();
    }
    // As a server that was killed leaves it.
    write!(file, "{{\"server\": {{\"jsonrpc\"").unwrap();
    TapeScript::load(file.path(), TapedProtocol::Mcp).unwrap()
}

fn request(id: u64, command: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "bash", "arguments": {"command": command}, "_meta": {"progressToken": id},
    }})
}

fn reply(id: u64, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"text": text}})
}

/// A tape of two calls, of which the first asks something and tells its progress.
fn two_calls() -> TapeScript {
    let question = json!({"jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": {}});
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
        "progressToken": 1, "progress": 1,
    }});
    script(&[
        json!({"client": request(1, "one")}),
        json!({"server": question}),
        json!({"client": {"jsonrpc": "2.0", "id": 0, "result": {"action": "accept"}}}),
        json!({"client": request(2, "two")}),
        json!({"server": progress}),
        json!({"server": reply(2, "two")}),
        json!({"server": reply(1, "one")}),
    ])
}

fn hear(player: &mut TapePlayer<'_>, message: &Value) -> Vec<Value> {
    player.hear(message.to_string().as_bytes())
}

#[test]
fn answers_have_the_numbers_of_who_asks_and_wait_for_answers_to_questions() {
    let secrets = Secrets::default();
    let mut player = TapePlayer::new(two_calls(), Matching::Strict, &secrets);
    let asked = hear(&mut player, &request(71, "one"));
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["method"], "elicitation/create");
    assert_eq!(hear(&mut player, &request(72, "two")), [reply(72, "two")]);
    let pong = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"});
    assert_eq!(hear(&mut player, &pong)[0]["id"], 9);
    let answer = json!({"jsonrpc": "2.0", "id": 0, "result": {"action": "accept"}});
    let told = hear(&mut player, &answer);
    assert_eq!(told[0]["params"]["progressToken"], 71);
    assert_eq!(told[1], reply(71, "one"));
    assert_eq!(player.problem(), None);
}

#[test]
fn another_request_is_an_error_with_a_diff_and_so_is_all_that_follows() {
    let secrets = Secrets::default();
    let mut player = TapePlayer::new(two_calls(), Matching::Strict, &secrets);
    let told = hear(&mut player, &request(1, "rm -rf x"));
    let text = told[0]["error"]["message"].as_str().unwrap().to_owned();
    for part in [
        "request 1",
        "-    \"command\": \"one\"",
        "+    \"command\": \"rm -rf x\"",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed(&text).contains(&squeezed(part)), "{text}");
    }
    assert_eq!(
        hear(&mut player, &request(2, "one"))[0]["error"]["message"],
        text
    );
    assert_eq!(player.problem(), Some(text));
}

#[test]
fn what_was_not_asked_is_said_at_the_end() {
    let secrets = Secrets::default();
    let mut player = TapePlayer::new(two_calls(), Matching::Strict, &secrets);
    hear(&mut player, &request(1, "one"));
    let problem = player.problem().unwrap();
    assert!(
        problem.contains("1 request") && problem.contains("two"),
        "{problem}"
    );
}

#[test]
fn by_matching_the_order_is_free_and_the_last_answers_again() {
    let secrets = Secrets::default();
    let tape = script(&[
        json!({"client": request(1, "date")}),
        json!({"server": reply(1, "first")}),
        json!({"client": request(2, "date")}),
        json!({"server": reply(2, "second")}),
        json!({"client": request(3, "ls")}),
        json!({"server": reply(3, "files")}),
    ]);
    let mut player = TapePlayer::new(tape, Matching::Any, &secrets);
    for (command, text) in [
        ("ls", "files"),
        ("date", "first"),
        ("date", "second"),
        ("date", "second"),
    ] {
        assert_eq!(hear(&mut player, &request(5, command)), [reply(5, text)]);
    }
    let told = hear(&mut player, &request(6, "lsof"));
    assert!(
        told[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("nearest")
    );
    assert!(player.problem().is_some());
}

#[test]
fn what_is_only_for_the_transport_does_not_count_and_a_secret_is_any_text() {
    let taped = essence(&request(
        1,
        "curl -H 'token: [secret KEY, 12 characters]' x [secret B, 9 characters]",
    ));
    for (command, expected) in [
        ("curl -H 'token: abc' x def", true),
        (
            "curl -H 'token: [secret KEY, 12 characters]' x [secret B, 9 characters]",
            true,
        ),
        ("curl -H 'token: abc' y def", false),
        ("curl -H 'token: ' x def", false),
        ("curl -H 'token: abc' x ", false),
    ] {
        assert_eq!(
            is_same(&taped, &essence(&request(9, command))),
            expected,
            "{command}"
        );
    }
}

#[test]
fn a_tape_of_something_else_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (text, part) in [
        ("", "not a tape"),
        ("hello\n", "not a tape"),
        ("{\"bashd_tape\": 2, \"protocol\": \"mcp\"}\n", "version 2"),
        (
            "{\"bashd_tape\": 1, \"protocol\": \"rpc\"}\n",
            "of `bashd rpc`",
        ),
    ] {
        let path = directory.path().join("tape");
        std::fs::write(&path, text).unwrap();
        let error = TapeScript::load(&path, TapedProtocol::Mcp).err().unwrap();
        assert!(error.to_string().contains(part), "{error}");
    }
}

/// What a tape has of these messages of a client.
fn taped(messages: &[Value]) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tape");
    let recorder =
        TapeRecorder::create(&path, TapedProtocol::Mcp, KnownSecrets::default()).unwrap();
    let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
    let lines = lines.join("\n") + "\n";
    let mut heard = TapedIn(lines.as_bytes(), Arc::new(recorder));
    heard.read_to_end(&mut Vec::new()).unwrap();
    heard.1.finish();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().skip(1);
    lines
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["client"].take())
        .collect()
}

#[test]
fn what_stands_under_the_name_of_a_secret_is_hidden_however_ordinary_it_is() {
    let told = taped(&[
        json!({"env": {"db_password": "swordfish", "lang": "english"}, "command": "echo swordfish"}),
        json!({"login": {"password": "hunter2", "api_key": "disabled", "user": "disabled"}}),
        json!({"env": [{"name": "mail_password", "value": "sesamestreet"}], "said": "sesamestreet"}),
    ]);
    let text = serde_json::to_string(&told).unwrap();
    for hidden in ["swordfish", "hunter2", "sesamestreet"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    assert_eq!(
        told[0]["env"]["db_password"],
        "[secret db_password, 9 characters]"
    );
    assert_eq!(
        told[1]["login"]["api_key"],
        "[secret api_key, 8 characters]"
    );
    // A word that is a key by chance is still a word elsewhere.
    assert_eq!(told[1]["login"]["user"], "disabled");
    assert_eq!(told[0]["env"]["lang"], "english");
}

#[test]
fn what_links_a_request_with_its_notices_stays() {
    let token = "1f0c3a52-77b1-4f0e-9a51-0e8b7c1d2e3f";
    let told = taped(&[json!({"params": {"_meta": {"progressToken": token}}})]);
    assert_eq!(told[0]["params"]["_meta"]["progressToken"], token);
}
