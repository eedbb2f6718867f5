//! `bashd jobs screen` and keys by `bashd jobs send`: full-screen programs from the command line.

use crate::{bashd, shown};
use bashd_testkit::{Home, loudly};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

/// A job at a terminal; its id.
fn start(home: &Home, command: &str) -> String {
    let reply = shown(home, &["run", "--background", "--pty", "--json", command]);
    let reply: Value = serde_json::from_str(&reply.out()).unwrap();
    reply["job"].as_str().unwrap().to_owned()
}

/// Waits until its screen shows this, and returns it.
fn shows(home: &Home, id: &str, pattern: &str) -> String {
    let words = ["jobs", "screen", id, "--regex", pattern, "--timeout", "40"];
    let screen = bashd(home, &words).limit(Duration::from_mins(1)).run();
    assert_eq!(screen.code(), Some(0), "{pattern}:\n{}", screen.out());
    screen.out()
}

fn send(home: &Home, id: &str, words: &[&str]) {
    let sent = shown(home, &[&["jobs", "send", id], words].concat());
    assert_eq!(sent.code(), Some(0), "{words:?}: {}", sent.err());
}

#[test]
fn vim_and_less_are_driven_from_the_command_line() {
    let home = Home::new().keeping_in_state(&["runs"]);
    for program in ["vim", "less"] {
        if Command::new(program).arg("--version").output().is_err() {
            loudly(&format!("{program} is missing: `jobs screen`"));
            return;
        }
    }
    let vim = start(&home, "vim -u NONE -i NONE -n new");
    shows(&home, &vim, "\"new\" \\[New");
    send(&home, &vim, &["ione", "--enter", "--key", "x"]);
    shows(&home, &vim, "^x$");
    send(
        &home,
        &vim,
        &["--paste", "two", "--key", "Escape", "--key", "Up"],
    );
    // `Up` came in the form that vim asked for, or this would not be the first line.
    send(&home, &vim, &["D"]);
    let picture = shows(&home, &vim, "\\A(o|on)?\nxtwo$");
    assert!(picture.contains("\n~\n"), "{picture}");
    send(&home, &vim, &[":q!", "--enter"]);
    let ended = shown(&home, &["jobs", "wait", &vim, "--timeout", "40"]);
    assert_eq!(ended.code(), Some(0), "{}", ended.err());
    let less = start(&home, "seq 1 99 > numbers; less numbers");
    shows(&home, &less, "^39$");
    send(&home, &less, &["--key", "End"]);
    shows(&home, &less, "^99$");
    send(&home, &less, &["--key", "q"]);
    let ended = shown(&home, &["jobs", "wait", &less, "--timeout", "40"]);
    assert_eq!(ended.code(), Some(0), "{}", ended.err());
}

#[test]
fn a_password_prompt_top_and_what_can_go_wrong() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let asking = start(
        &home,
        "read -rsp 'Password: ' word; echo; echo ${#word}; exit 4",
    );
    shows(&home, &asking, "Password:");
    send(&home, &asking, &["hidden", "--enter"]);
    let shown_then = shows(&home, &asking, "^6$");
    assert!(!shown_then.contains("hidden"), "{shown_then}");
    let top = start(&home, "top -d 60");
    shows(&home, &top, "PID USER");
    let screen = shown(&home, &["jobs", "screen", &top, "--json"]);
    let screen: Value = serde_json::from_str(&screen.out()).unwrap();
    assert_eq!(screen["size"], json!([120, 40]));
    assert_eq!(screen["job"]["terminal"], json!([120, 40]));
    assert!(screen["lines"].as_array().unwrap().len() > 5, "{screen}");
    let late = [
        "jobs",
        "screen",
        &top,
        "--regex",
        "never",
        "--timeout",
        "0.1",
    ];
    assert_eq!(shown(&home, &late).code(), Some(124));
    send(&home, &top, &["--key", "q"]);
    shown(&home, &["jobs", "wait", &top, "--timeout", "40"]);
    let ended = shown(&home, &["jobs", "screen", &top, "--regex", "never"]);
    assert_eq!(ended.code(), Some(1));
    let unknown = shown(&home, &["jobs", "send", &top, "--key", "Foo"]);
    assert_eq!(unknown.code(), Some(125));
    assert!(
        unknown.err().contains("there is no key `Foo`"),
        "{}",
        unknown.err()
    );
    let nothing = shown(&home, &["jobs", "send", &top]);
    assert!(
        nothing.err().contains("nothing to send"),
        "{}",
        nothing.err()
    );
}
