//! What was, on the page: calls that are looked for, calls added up, everything about one, and its
//! recording; also with an index that is gone, damaged or still being made.

use super::server::{self, Visitor, WebUnderTest};
use crate::shown;
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::fs;

fn looking(home: &Home) -> (WebUnderTest, Visitor) {
    let mut server = WebUnderTest::start(home, &[]);
    let visitor = server.visitor();
    (server, visitor)
}

fn commands(found: &Value) -> Vec<&str> {
    let calls = found["calls"].as_array().unwrap().iter();
    calls
        .map(|call| call["command"].as_str().unwrap())
        .collect()
}

/// Some calls, one of them recorded.
fn run_some(home: &Home) {
    for command in [
        "echo alpha",
        "exit 3",
        "echo ALPHABET; sleep 0.3",
        "seq 1 30000",
    ] {
        shown(home, &["run", command]);
    }
    shown(
        home,
        &[
            "run",
            "--env",
            "GREETING=hello",
            "--record",
            "echo recorded; sleep 300 & true",
        ],
    );
    shown(home, &["jobs", "kill", "bg_1"]);
}

#[test]
fn past_calls_are_found_and_added_up() {
    let home = server::home();
    run_some(&home);
    let (server, visitor) = looking(&home);
    let search = |wish: Value| server.post(&visitor, "/api/past", &wish).json();
    assert_eq!(
        commands(&search(json!({"text": "alpha"}))),
        ["echo ALPHABET; sleep 0.3", "echo alpha"]
    );
    assert_eq!(
        commands(&search(json!({"failed": true, "text": "exit"}))),
        ["exit 3"]
    );
    assert_eq!(
        commands(&search(json!({"longer_ms": 300, "text": "alpha"}))),
        ["echo ALPHABET; sleep 0.3"]
    );
    assert_eq!(
        commands(&search(json!({"larger": 100_000}))),
        ["seq 1 30000"]
    );
    assert_eq!(commands(&search(json!({"client": "mcp"}))), [""; 0]);
    assert_eq!(commands(&search(json!({"until": 1}))), [""; 0]);
    assert_eq!(
        search(json!({"outcome": "managed"}))["calls"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let first = search(json!({"limit": 2}));
    let second = search(json!({"limit": 2, "before": first["next"]}));
    assert_eq!(commands(&second).len(), 2);
    assert_ne!(commands(&first), commands(&second));
    assert_eq!(
        server
            .post(&visitor, "/api/past", &json!({"tex": "slip"}))
            .status,
        400
    );
    // A call whose command goes on as a job has not failed.
    let start = shown(&home, &["run", "--background", "sleep 300"]);
    assert_eq!(start.code(), Some(0), "{}", start.err());
    assert_eq!(
        search(json!({"outcome": "background"}))["calls"][0]["failed"],
        false
    );
    let sums = server.post(&visitor, "/api/past/sums", &json!({})).json();
    assert_eq!(sums["total"]["calls"], 7, "{sums}");
    assert_eq!(sums["total"]["failed"], 1);
    shown(&home, &["jobs", "kill", "bg_2"]);
    // What prints only what it is given has no name of its own.
    assert_eq!(sums["commands"][0]["name"], "other");
}

#[test]
fn a_call_is_shown_whole_and_played() {
    let home = server::home();
    run_some(&home);
    let (server, visitor) = looking(&home);
    let search = |wish: Value| server.post(&visitor, "/api/past", &wish).json();
    let id = |text: &str| {
        search(json!({"text": text}))["calls"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let about = |id: &str| server.get(&visitor, &format!("/api/past/{id}")).json();
    let long = about(&id("seq 1 30000"));
    let shown_text = long["shown"].as_str().unwrap();
    assert!(
        shown_text.starts_with("1\n2\n") && shown_text.contains("artifact://"),
        "{shown_text}"
    );
    assert_eq!(
        (&long["recorded"], &long["stored"]["lines"]),
        (&json!(false), &json!(30000))
    );
    let recorded = about(&id("recorded"));
    assert_eq!(
        recorded["record"]["env"],
        json!([["GREETING", "hello"]]),
        "{recorded}"
    );
    assert!(
        recorded["record"]["left"][0]["command"]
            .as_str()
            .unwrap()
            .contains("sleep 300")
    );
    assert_eq!(recorded["recorded"], true);
    let cast = server.get(&visitor, &format!("/api/past/{}/cast", id("recorded")));
    let head: Value = serde_json::from_str(cast.text().lines().next().unwrap()).unwrap();
    assert_eq!(head["version"], 2);
    assert_eq!(server.get(&visitor, "/api/past/NONE").status, 404);
    assert_eq!(server.get(&visitor, "/api/past/NONE/cast").status, 404);
}

#[test]
fn what_a_rule_said_and_what_was_set_is_recorded_without_secrets() {
    let home = server::home();
    let denied = shown(
        &home,
        &[
            "run",
            "--env",
            "API_TOKEN=c0ffee1234567890deadbeef",
            "mkfs.ext4 /dev/null/nothing",
        ],
    );
    assert_eq!(denied.code(), Some(126), "{}", denied.err());
    let (server, visitor) = looking(&home);
    let found = server
        .post(&visitor, "/api/past", &json!({"text": "mkfs"}))
        .json();
    let id = found["calls"][0]["id"].as_str().unwrap();
    let about = server.get(&visitor, &format!("/api/past/{id}"));
    let text = about.text();
    let record = &about.json()["record"];
    assert_eq!(record["objection"]["decision"], "deny", "{text}");
    assert!(record["objection"]["rule"].is_string());
    assert!(!text.contains("c0ffee"), "{text}");
}

#[cfg(feature = "index")]
#[test]
fn an_index_that_is_gone_or_damaged_is_made_again_while_the_page_is_open() {
    let home = server::home();
    shown(&home, &["run", "echo before"]);
    let (server, visitor) = looking(&home);
    let index = home.state().join("ledger/index.db");
    let finds = |text: &str| {
        let found = server
            .post(&visitor, "/api/past", &json!({"text": text}))
            .json();
        commands(&found).len()
    };
    assert_eq!(finds("before"), 1);
    assert!(index.exists());
    fs::remove_file(&index).unwrap();
    assert_eq!(finds("before"), 1);
    fs::write(
        &index,
        "no database at all, but long enough to be taken for one",
    )
    .unwrap();
    shown(&home, &["run", "echo after"]);
    assert_eq!((finds("before"), finds("after")), (1, 1));
    // A torn line is counted, and hides nothing.
    let ledger = fs::read_dir(home.state().join("ledger")).unwrap().flatten();
    let months = ledger.map(|file| file.path());
    let month = months
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .max()
        .unwrap();
    let mut text = fs::read_to_string(&month).unwrap();
    text.push_str("{\"v\":1,\"id\":\"torn\n");
    fs::write(&month, text).unwrap();
    shown(&home, &["run", "echo last"]);
    let found = server
        .post(&visitor, "/api/past", &json!({"text": "echo"}))
        .json();
    assert_eq!(
        (commands(&found).len(), &found["damaged"]),
        (3, &json!(1)),
        "{found}"
    );
}

#[test]
fn the_log_finds_by_client_end_time_and_size() {
    let home = server::home();
    for command in ["echo small", "seq 1 3000", "exit 4"] {
        shown(&home, &["run", command]);
    }
    let found = |words: &[&str]| {
        let transcript = shown(&home, &[&["log", "--json"], words].concat());
        let text = transcript.out();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .map(|record| record["command"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&["--larger", "10KiB"]), ["seq 1 3000"]);
    assert_eq!(
        found(&["--smaller", "100", "--outcome", "exited"]),
        ["exit 4", "echo small"]
    );
    assert_eq!(found(&["--client", "CLI"]).len(), 3);
    assert_eq!(found(&["--client", "mcp"]).len(), 0);
    assert_eq!(found(&["--longer", "1h"]).len(), 0);
    assert_eq!(found(&["--until", "2020-01-01"]).len(), 0);
    assert_eq!(found(&["--session", "none"]).len(), 0);
    let wrong = shown(&home, &["log", "--outcome", "perhaps"]);
    assert!(wrong.err().contains("timed_out"), "{}", wrong.err());
}
