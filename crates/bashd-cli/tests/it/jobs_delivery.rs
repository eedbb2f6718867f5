//! The ends of jobs and clients that go away: nothing is lost, nothing is told twice.

use crate::rpc_socket::serving;
use crate::rpc_under_test::{PATIENCE, messages};
use bashd_testkit::Home;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// A client that wants to hear of its jobs.
fn connect(path: &Path) -> (UnixStream, Receiver<Value>) {
    let mut stream = UnixStream::connect(path).unwrap();
    let lines = messages(stream.try_clone().unwrap());
    let hello = json!({"id": "h", "type": "hello", "capabilities": {"jobs": true}});
    writeln!(stream, "{hello}").unwrap();
    let greeting = lines.recv_timeout(PATIENCE).unwrap();
    assert_eq!(greeting["success"], true, "{greeting}");
    (stream, lines)
}

#[test]
fn an_end_that_its_client_did_not_get_is_told_the_next_one_once() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let (mut server, path) = serving(&home);
    let (mut first, lines) = connect(&path);
    let gate = home.workspace().join("gate");
    let command = format!("until [ -e {} ]; do sleep 0.05; done", gate.display());
    let arguments = json!({"command": command, "background": true});
    let call = json!({"id": "1", "type": "call", "arguments": arguments});
    writeln!(first, "{call}").unwrap();
    let answer = lines.recv_timeout(PATIENCE).unwrap();
    let id = answer["data"]["job"].as_str().unwrap().to_owned();
    let told = home.state().join("runs").join(&id).join("told");
    // It is still there, and does not listen any more.
    first.shutdown(Shutdown::Read).unwrap();
    std::fs::write(gate, "").unwrap();
    let begun = Instant::now();
    while first.write_all(b"\n").is_ok() {
        assert!(begun.elapsed() < PATIENCE, "it was not given up");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!told.exists(), "it was told nobody");
    let (mut second, lines) = connect(&path);
    // It finds the job as an earlier one; who reads it takes it over, and is told of its end.
    let arguments = json!({"action": "output", "job": id});
    let read = json!({"id": "1", "type": "job", "arguments": arguments});
    writeln!(second, "{read}").unwrap();
    let answer = lines.recv_timeout(PATIENCE).unwrap();
    assert_eq!(answer["data"]["is_error"], false, "{answer}");
    let ended = lines.recv_timeout(PATIENCE).unwrap();
    assert_eq!(
        (&ended["type"], &ended["job"]["id"]),
        (&json!("job_ended"), &json!(id))
    );
    let notice = lines.recv_timeout(PATIENCE).unwrap();
    assert_eq!(
        (&notice["type"], &notice["jobs"]),
        (&json!("jobs_ended"), &json!([id]))
    );
    while !told.exists() {
        assert!(begun.elapsed() < PATIENCE, "that it was told is not noted");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    server.ended();
    assert_eq!(lines.iter().collect::<Vec<_>>(), [] as [Value; 0]);
    drop(second);
}

#[test]
fn an_end_that_a_wait_or_a_kill_answers_is_not_told_before() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let (mut server, path) = serving(&home);
    let (mut client, lines) = connect(&path);
    let mut ask = |message: &Value| writeln!(client, "{message}").unwrap();
    let next = || lines.recv_timeout(PATIENCE).unwrap();
    let mut told = Vec::new();
    for round in 0..8 {
        let gate = home.workspace().join(format!("gate{round}"));
        let command = format!("until [ -e {} ]; do sleep 0.02; done", gate.display());
        let arguments = json!({"command": command, "background": true});
        ask(&json!({"id": "start", "type": "call", "arguments": arguments}));
        let job = loop {
            let message = next();
            if message["id"] == "start" {
                break message["data"]["job"].clone();
            }
            told.push(message);
        };
        let action = if round % 2 == 0 { "wait" } else { "kill" };
        ask(&json!({"id": action, "type": "job", "arguments": {"action": action, "job": job}}));
        if action == "wait" {
            // Asked after it, answered before it: by then the wait has begun.
            ask(&json!({"id": "by", "type": "bash", "command": "true"}));
            while next()["id"] != "by" {}
            std::fs::write(gate, "").unwrap();
        }
        loop {
            let message = next();
            if message["id"] == action {
                assert_eq!(message["data"]["is_error"], false, "{message}");
                break;
            }
            told.push(message);
        }
    }
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    server.ended();
    told.extend(lines.iter());
    assert_eq!(told, [] as [Value; 0]);
}
