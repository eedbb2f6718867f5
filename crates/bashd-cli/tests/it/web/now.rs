//! The stream of what happens: calls of every process, resumed from a place, over restarts; and
//! what waits for a person.

use super::server::{self, WebUnderTest};
use crate::person::top::{RULE, run};
use crate::shown;
use bashd_testkit::repeat;
use serde_json::{Value, json};

fn has(word: &'static str, command: &'static str) -> impl Fn(&Value) -> bool {
    move |row| row["command"] == command && row["word"] == word
}

#[test]
fn calls_of_every_process_are_told_as_they_happen() {
    let home = server::home();
    shown(&home, &["run", "echo before"]);
    let mut server = WebUnderTest::start(&home, &[]);
    let visitor = server.visitor();
    let mut now = server.now(&visitor, None);
    assert_eq!(now.next().0, "all");
    shown(&home, &["run", "exit 3"]);
    let failed = now.until(has("exit 3", "exit 3"));
    assert_eq!(
        (&failed["failed"], &failed["state"]),
        (&json!(true), &json!("ended"))
    );
    assert!(failed["owner"].as_str().unwrap().starts_with("cli:"));
    // A job is followed beyond its call, with its last line, to its end.
    shown(&home, &["run", "--background", "echo working; sleep 300"]);
    let job = now.until(|row| row["state"] == "job" && row["last_line"] == "working");
    assert_eq!((&job["bytes"], &job["job"]), (&json!(8), &json!("bg_1")));
    shown(&home, &["jobs", "kill", "bg_1"]);
    let id = job["id"].clone();
    now.until(|row| row["id"] == id && row["state"] == "ended");
}

#[test]
fn a_browser_that_comes_back_after_a_restart_has_lost_nothing() {
    let home = server::home();
    let mut server = WebUnderTest::start(&home, &[]);
    let visitor = server.visitor();
    let mut now = server.now(&visitor, None);
    now.next();
    shown(&home, &["run", "echo seen"]);
    let seen = now.until(has("exit 0", "echo seen"));
    // One that lives on, and one that ends meanwhile, which the feed does not tell.
    shown(&home, &["run", "--background", "echo lives; sleep 300"]);
    shown(
        &home,
        &[
            "run",
            "--background",
            "echo ends; until [ -e over ]; do sleep 0.05; done",
        ],
    );
    // And one that runs until its process is killed, which the feed does not tell either.
    let mut killed = crate::bashd(&home, &["run", "echo doomed; sleep 300"]).spawn();
    // In whatever order and pieces they are told.
    let mut missing = vec![
        ("echo lives", "job"),
        ("echo ends", "job"),
        ("echo doomed", "running"),
    ];
    while !missing.is_empty() {
        let (_, piece) = now.next();
        for row in piece["rows"].as_array().unwrap() {
            let command = row["command"].as_str().unwrap();
            missing
                .retain(|(begins, state)| !command.starts_with(begins) || row["state"] != *state);
        }
    }
    let place = now.place.clone().unwrap();
    let port = server.address.port().to_string();
    server.kill(&home);
    killed.kill().unwrap();
    killed.wait().unwrap();
    for number in 0..5 {
        shown(&home, &["run", &format!("echo missed {number}")]);
    }
    std::fs::write(home.workspace().join("over"), "").unwrap();
    shown(&home, &["jobs", "wait", "bg_2"]);
    let server = WebUnderTest::start_at(&home, &port, &[]);
    let mut now = server.now(&visitor, Some(&place));
    let (name, piece) = now.next();
    assert_eq!(name, "rows");
    let rows = piece["rows"].as_array().unwrap();
    let of = |text: &str| {
        rows.iter()
            .find(|row| row["command"].as_str().unwrap().starts_with(text))
    };
    assert!(of("echo seen").is_none(), "it was told of that: {piece}");
    assert_eq!(of("echo lives").unwrap()["state"], "job", "{piece}");
    assert_eq!(of("echo ends").unwrap()["state"], "ended", "{piece}");
    assert_eq!(of("echo doomed").unwrap()["state"], "lost", "{piece}");
    for number in 0..5 {
        let missed = of(&format!("echo missed {number}"));
        assert_eq!(missed.unwrap()["state"], "ended", "{piece}");
    }
    // What else the page may keep.
    let seen = seen["id"].as_str().unwrap();
    let known = piece["known"].as_array().unwrap();
    assert!(known.contains(&json!(seen)), "{piece}");
    assert_eq!(known.len(), 9, "{piece}");
    shown(&home, &["jobs", "kill", "bg_1"]);
    // A place that the feed does not have (any more) gets everything.
    let mut lost = server.now(&visitor, Some("1:1"));
    let (name, piece) = lost.next();
    assert_eq!(name, "all");
    let rows = piece["rows"].as_array().unwrap();
    assert!(
        rows.iter().any(|row| row["command"] == "echo seen"),
        "{piece}"
    );
}

#[test]
fn fifty_browsers_follow_at_once() {
    let home = server::home();
    let mut server = WebUnderTest::start(&home, &[]);
    let visitor = server.visitor();
    let count = if repeat::is_soak() { 200 } else { 50 };
    let mut streams: Vec<_> = (0..count).map(|_| server.now(&visitor, None)).collect();
    for stream in &mut streams {
        stream.next();
    }
    shown(&home, &["run", "echo for all"]);
    for stream in &mut streams {
        stream.until(has("exit 0", "echo for all"));
    }
}

#[test]
fn a_question_is_answered_once_and_everybody_sees_it() {
    let home = server::home();
    let path = shown(&home, &["config", "path"]).out();
    let path = std::path::Path::new(path.trim_end());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, RULE).unwrap();
    let mut server = WebUnderTest::start(&home, &[]);
    let visitor = server.visitor();
    // No page is open, so nobody can be asked.
    assert_eq!(run(&home, "made-up").wait().unwrap().code(), Some(126));
    let mut now = server.now(&visitor, None);
    let mut other = server.now(&visitor, None);
    now.next();
    let asking = run(&home, "cd / && made-up x");
    let row = now.until(|row| row["state"] == "asks");
    let id = row["id"].as_str().unwrap();
    assert_eq!(row["question"]["rule"], "asks");
    assert_eq!(row["question"]["part"], json!([8, 17]));
    assert_eq!(other.until(|row| row["state"] == "asks")["id"], id);
    let ask = |answer: &str| {
        server.post(
            &visitor,
            &format!("/api/asks/{id}"),
            &json!({"answer": answer}),
        )
    };
    assert_eq!(ask("perhaps").status, 400, "a slip is no answer");
    assert_eq!(ask("once").json()["said"], "allowed");
    // Only the first counts.
    assert_eq!(ask("deny").status, 409);
    let output = asking.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(127), "it ran");
    for stream in [&mut now, &mut other] {
        stream.until(|row| row["id"] == id && row["state"] == "ended");
    }
    let denied = run(&home, "made-up again");
    let row = now.until(|row| row["state"] == "asks");
    let path = format!("/api/asks/{}", row["id"].as_str().unwrap());
    let said = server
        .post(&visitor, &path, &json!({"answer": "deny"}))
        .json();
    assert_eq!(said["said"], "denied");
    assert_eq!(denied.wait_with_output().unwrap().status.code(), Some(126));
    // Once all pages are closed, nobody is waited for.
    drop((now, other));
    let begun = std::time::Instant::now();
    while run(&home, "made-up").wait().unwrap().code() != Some(126) {
        assert!(begun.elapsed() < server::LIMIT);
    }
}

#[test]
fn what_a_command_did_can_be_read_while_it_is_asked_about() {
    let home = server::home();
    let mut server = WebUnderTest::start(&home, &[]);
    let visitor = server.visitor();
    let mut now = server.now(&visitor, None);
    now.next();
    let ask = |command: &str| {
        let words = ["run", "--effects", "ask", command];
        crate::bashd(&home, &words).stdin("").spawn()
    };
    let mut asking = ask("echo '<b>new' >made; exit 3");
    let row = now.until(|row| row["state"] == "asks");
    let effects = &row["question"]["effects"];
    assert_eq!(effects["changed"], "1 created", "{row}");
    assert_eq!(effects["ending"], "it failed with status 3", "{row}");
    let path = format!("/api/asks/{}", row["id"].as_str().unwrap());
    let lines = server.get(&visitor, &path).json();
    let has = |tone: &str, text: &str| {
        let line = json!({"tone": tone, "text": text});
        assert!(
            lines["lines"].as_array().unwrap().contains(&line),
            "{lines}"
        );
    };
    has("good", "A made");
    has("good", "+<b>new");
    assert_eq!(
        server
            .post(&visitor, &path, &json!({"answer": "once"}))
            .status,
        200
    );
    assert_eq!(asking.wait().unwrap().code(), Some(3));
    assert!(home.workspace().join("made").exists());
    // Nobody asks about it any more.
    let id = row["id"].clone();
    now.until(|row| row["id"] == id && row["state"] == "ended");
    assert_eq!(server.get(&visitor, &path).status, 404);
    let mut denied = ask("rm made");
    let row = now.until(|row| row["state"] == "asks" && row["command"] == "rm made");
    let path = format!("/api/asks/{}", row["id"].as_str().unwrap());
    assert_eq!(
        server
            .post(&visitor, &path, &json!({"answer": "deny"}))
            .status,
        200
    );
    assert_eq!(denied.wait().unwrap().code(), Some(126));
    assert!(home.workspace().join("made").exists());
}
