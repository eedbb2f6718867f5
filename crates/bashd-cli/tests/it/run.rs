//! `bashd run`: the way from the command line to a reply and an exit status, and into the ledger.

use crate::{bashd, shown};
use bashd_testkit::Home;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::time::{Duration, Instant};

fn json(home: &Home, arguments: &[&str]) -> Value {
    let transcript = shown(home, &[&["run", "--json"], arguments].concat());
    serde_json::from_slice(&transcript.stdout).unwrap_or_else(|_| panic!("{}", transcript.block()))
}

#[test]
fn the_text_is_the_reply_and_the_status_the_commands() {
    let home = Home::new();
    insta::assert_snapshot!(shown(&home, &["run", "--profile", "voice", "echo o; echo e >&2; exit 3"]).block(), @r#"
    --- stdout
    o

    e

    [Exit code: 3][no newline]
    --- stderr
    --- status
    exit 3
    "#);
}

#[test]
fn statuses_tell_how_it_ended() {
    let home = Home::new();
    for (arguments, status) in [
        (&["true"][..], 0),
        (&["exit 7"], 7),
        (&["kill -9 $$"], 137),
        (&["--timeout", "1", "sleep 30"], 124),
        (&["--cwd", "/nonexistent", "true"], 125),
        (&["--profile", "nonsense", "true"], 125),
        (&["--input", "{\"nonsense\":1}"], 125),
        (&["  "], 125),
    ] {
        let transcript = shown(&home, &[&["run"], arguments].concat());
        assert_eq!(
            transcript.code(),
            Some(status),
            "{arguments:?}: {}",
            transcript.block()
        );
    }
}

#[test]
fn flags_reach_the_command() {
    let home = Home::new();
    let reply = json(
        &home,
        &[
            "--env",
            "A=1=2",
            "--env",
            "B=",
            "--cwd",
            "/",
            "echo \"$A|$B|$PWD\"",
        ],
    );
    assert_eq!(reply["output"], "1=2||/\n");
    let given = home.workspace().join("given");
    std::fs::write(&given, "from a file").unwrap();
    assert_eq!(
        json(&home, &["--stdin", given.to_str().unwrap(), "cat"])["output"],
        "from a file"
    );
    let piped = bashd(&home, &["run", "--stdin", "-", "cat"])
        .stdin("from a pipe")
        .run();
    assert_eq!(piped.out(), "from a pipe");
}

#[test]
fn a_models_arguments_come_as_json() {
    let home = Home::new();
    let input = "{\"command\": \"echo $((6*7))\"}";
    assert_eq!(json(&home, &["--input", input])["output"], "42\n");
    let piped = bashd(&home, &["run", "--input", "-"]).stdin(input).run();
    assert_eq!(piped.out(), "42\n");
}

#[test]
fn every_call_is_in_the_log() {
    let home = Home::new();
    shown(&home, &["run", "echo one"]);
    shown(&home, &["run", "--profile", "voice", "exit 4"]);
    shown(&home, &["run", "--input", "nonsense"]);
    let log = shown(&home, &["log", "--json"]).out();
    let records: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let shown: Vec<String> = records
        .iter()
        .map(|record| {
            format!(
                "{} {} {}",
                record["profile"], record["outcome"], record["exit_code"]
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "\"default\" \"refused\" null",
            "\"voice\" \"exited\" 4",
            "\"default\" \"exited\" 0",
        ]
    );
    assert_eq!(records[2]["command"], "echo one");
    assert_eq!(records[2]["output_bytes"], 4);
}

#[test]
fn a_ledger_that_can_not_be_written_is_said_and_fails_nothing() {
    let home = Home::new();
    std::fs::create_dir_all(home.state()).unwrap();
    std::fs::write(home.state().join("ledger"), "").unwrap();
    let transcript = shown(&home, &["run", "echo fine"]);
    assert_eq!(
        (transcript.code(), transcript.out()),
        (Some(0), "fine\n".to_owned())
    );
    assert!(
        transcript.err().starts_with("warning: the ledger in "),
        "{}",
        transcript.err()
    );
}

#[test]
fn signals_to_bashd_end_the_command_with_their_status() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let home = Home::new();
        let ready = home.workspace().join("ready");
        let script = "echo before; : > ready; sleep 60";
        let mut child = bashd(&home, &["run", script]).spawn();
        let begun = Instant::now();
        while !ready.exists() {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "the command did not start"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = child.wait().unwrap();
        assert_eq!(ended.code(), Some(status), "{signal:?}");
        let log = shown(&home, &["log", "--json"]).out();
        assert!(log.contains("\"outcome\":\"cancelled\""), "{log}");
    }
}

#[test]
fn who_asked_for_no_session_hears_nothing_of_sessions() {
    let home = Home::new();
    let reply = json(&home, &["--profile", "pi", "echo out"]);
    let text = reply["text"].as_str().unwrap();
    assert!(!text.contains("session"), "{text}");
}
