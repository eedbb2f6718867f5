//! `--tape-record`, `--tape-play` and `tape`: a session is recorded and served again, and nothing
//! runs; with a real agent, too.

use crate::mcp::Client;
use crate::{bashd, shown};
use bashd_testkit::{Home, Transcript, loudly};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// A session of `rpc`, line by line.
fn rpc_lines() -> String {
    let call = json!({"id": 1, "type": "call", "stream": true, "arguments": {"command": "echo one; date +%N"}});
    let schema = json!({"id": 2, "type": "schema"});
    let last = json!({"id": 3, "type": "bash", "command": "echo two >&2; exit 3"});
    format!("{call}\n{schema}\n{last}\n")
}

/// A client that waits for the answer to its call before it closes its end, which would cancel it.
const PATIENT: &str = r#"
import subprocess, sys
server = subprocess.Popen([sys.argv[1], "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdin.write(open(sys.argv[2], "rb").read())
server.stdin.flush()
for line in server.stdout:
    sys.stdout.buffer.write(line)
    if b"\"id\":2" in line:
        server.stdin.close()
sys.exit(server.wait())
"#;

/// A session of `mcp`, as a client has it that waits for nothing.
fn mcp_lines(command: &str) -> String {
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "bash", "arguments": {"command": command}, "_meta": {"progressToken": "p"},
    }});
    format!("{begin}\n{ready}\n{list}\n{call}\n")
}

fn served(home: &Home, arguments: &[&str], lines: &str) -> Transcript {
    bashd(home, arguments).stdin(lines).run()
}

/// The messages of a transcript, by their numbers and then in order.
fn messages(transcript: &Transcript) -> Vec<Value> {
    let text = transcript.out();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut messages: Vec<Value> = lines.collect();
    messages.sort_by_key(|message| message["id"].as_u64());
    messages
}

/// Nothing ran, and nothing was recorded of it.
fn assert_nothing_ran(home: &Home) {
    for name in ["runs", "ledger", "artifacts"] {
        assert!(!home.state().join(name).exists(), "{name} was made");
    }
}

#[test]
fn a_session_is_served_again_to_the_letter_and_nothing_runs() {
    let (home, other) = (Home::new(), Home::new());
    let tape = home.workspace().join("tape");
    let tape = tape.to_str().unwrap();
    for (server, lines) in [
        ("rpc", rpc_lines()),
        ("mcp", mcp_lines("echo hi; date +%N; exit 4")),
    ] {
        let recorded = served(&home, &[server, "--tape-record", tape], &lines);
        assert_eq!(recorded.code(), Some(0), "{}", recorded.err());
        let played = served(&other, &[server, "--tape-play", tape], &lines);
        assert_eq!((played.code(), played.err()), (Some(0), String::new()));
        assert_eq!(messages(&played), messages(&recorded), "{server}");
        assert!(!messages(&played).is_empty());
        let matched = served(
            &other,
            &[server, "--tape-play", tape, "--tape-match"],
            &lines,
        );
        assert_eq!(messages(&matched), messages(&recorded), "{server}");
        assert_nothing_ran(&other);
    }
    home.finish();
    other.finish();
}

/// A tape that nobody reads yet stands for a file system that does not answer.
#[test]
fn a_tape_that_takes_nothing_delays_nobody_and_is_whole_when_it_does() {
    let home = Home::new();
    let tape = home.workspace().join("tape");
    let made = Command::new("mkfifo").arg(&tape).status();
    assert!(made.unwrap().success());
    // Who writes to it could not even open it before somebody has it open to read.
    let mut options = File::options();
    let mut tape_end = options.read(true).write(true).open(&tape).unwrap();
    let mut client = Client::connect(&home, &["--tape-record", tape.to_str().unwrap()]);
    let mut last = Value::Null;
    // More than a pipe holds.
    for _ in 0..10 {
        let asked = json!({"command": "head -c 20000 /dev/zero | tr '\\0' x"});
        last = client.bash(&asked);
        assert_eq!(last["content"][0]["text"].as_str().unwrap().len(), 20_000);
    }
    let ended = std::thread::spawn(move || client.finish());
    let (mut lines, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
    let is_whole = |lines: &[u8]| {
        let text = lines.strip_suffix(b"\n").unwrap_or_default();
        let line = text
            .rsplit(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let message: Value = serde_json::from_slice(line).unwrap_or_default();
        message["server"]["result"] == last && text.len() > 200_000
    };
    while !is_whole(&lines) {
        let count = tape_end.read(&mut buffer).unwrap();
        lines.extend(&buffer[..count]);
    }
    let (_, status) = ended.join().unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn another_session_is_told_what_differs() {
    let (home, other) = (Home::new(), Home::new());
    let tape = home.workspace().join("tape");
    let tape = tape.to_str().unwrap();
    served(
        &home,
        &["mcp", "--tape-record", tape],
        &mcp_lines("echo hi"),
    );
    let played = served(
        &other,
        &["mcp", "--tape-play", tape],
        &mcp_lines("rm -rf /"),
    );
    assert_eq!(played.code(), Some(1));
    let last = messages(&played).pop().unwrap();
    let text = last["error"]["message"].as_str().unwrap();
    for part in [
        "request 3",
        "\"command\": \"echo hi\"",
        "\"command\": \"rm -rf /\"",
    ] {
        assert!(text.contains(part), "{text}");
        assert!(played.err().contains(part), "{}", played.err());
    }
    let lines = mcp_lines("echo hi");
    let (fewer, _) = lines.trim_end().rsplit_once('\n').unwrap();
    let played = served(&other, &["mcp", "--tape-play", tape], &format!("{fewer}\n"));
    assert_eq!(played.code(), Some(1));
    assert!(
        played.err().contains("did not ask 1 request"),
        "{}",
        played.err()
    );
    let wrong = served(&other, &["rpc", "--tape-play", tape], "");
    assert_eq!(wrong.code(), Some(125));
    assert!(wrong.err().contains("of `bashd mcp`"), "{}", wrong.err());
    assert_nothing_ran(&other);
    home.finish();
    other.finish();
}

#[test]
fn a_tape_has_no_secrets_and_is_played_without_them() {
    let home = Home::new();
    let tape = home.workspace().join("tape");
    let path = tape.to_str().unwrap();
    let (own, brought, told) = ("own-4f1c88d2e9", "brought-7a30bb1c", "told-99d1e0aa52");
    // Under a name in small letters, too.
    let small = "small-5e0d7c41fa";
    let secret = json!({"id": 1, "type": "secret", "name": "DB", "value": told});
    let call = json!({"id": 2, "type": "call", "arguments": {
        "command": format!("echo $MY_TOKEN $CALL_TOKEN {told}; echo done"), "env": {"CALL_TOKEN": brought, "db_password": small},
    }});
    let lines = format!("{secret}\n{call}\n");
    let server = bashd(&home, &["rpc", "--tape-record", path]).env("MY_TOKEN", own);
    let recorded = server.stdin(lines.clone()).run();
    assert!(recorded.out().contains("done"), "{}", recorded.out());
    let text = std::fs::read_to_string(&tape).unwrap();
    for value in [own, brought, told, small] {
        assert!(!text.contains(value), "{value} is on the tape: {text}");
    }
    // Neither the variable nor the values are known here.
    let other = Home::new();
    let played = served(&other, &["rpc", "--tape-play", path], &lines);
    assert_eq!((played.code(), played.err()), (Some(0), String::new()));
    assert!(played.out().contains("done"));
    home.finish();
    other.finish();
}

#[test]
fn a_client_records_and_plays_by_variables_and_is_told_if_no_server_answered() {
    let (home, other) = (Home::new(), Home::new());
    let tape = home.workspace().join("tape");
    let tape = tape.to_str().unwrap();
    let lines = home.workspace().join("lines");
    std::fs::write(&lines, mcp_lines("echo hi; echo ${BASHD_TAPE_RECORD-none}")).unwrap();
    let client = format!("python3 -c '{PATIENT}' {BASHD} {}", lines.display());
    let twice = format!("{client}; {client}");
    let recorded = shown(&home, &["tape", "record", tape, "--", "sh", "-c", &twice]);
    assert_eq!(recorded.code(), Some(0), "{}", recorded.err());
    assert!(recorded.err().contains("2 servers"), "{}", recorded.err());
    // Commands have no tape of their own.
    assert!(recorded.out().contains("hi\\nnone"), "{}", recorded.out());
    let played = shown(&other, &["tape", "play", tape, "--", "sh", "-c", &twice]);
    assert_eq!((played.code(), played.err()), (Some(0), String::new()));
    assert_eq!(played.out(), recorded.out());
    assert_nothing_ran(&other);
    std::fs::write(&lines, mcp_lines("echo other")).unwrap();
    let diverged = shown(&other, &["tape", "play", tape, "--", "sh", "-c", &client]);
    assert_eq!(diverged.code(), Some(1));
    assert!(diverged.err().contains("echo other"), "{}", diverged.err());
    let alone = shown(
        &other,
        &["tape", "record", tape, "--", "sh", "-c", "exit 0"],
    );
    assert_eq!(alone.code(), Some(1));
    assert!(
        alone.err().contains("no server of bashd was started"),
        "{}",
        alone.err()
    );
    let failed = shown(
        &other,
        &["tape", "record", tape, "--", "sh", "-c", "exit 7"],
    );
    assert_eq!(failed.code(), Some(7));
    home.finish();
    other.finish();
}

/// The agent's own loop, with a model that is scripted.
fn agent(home: &Home, tape: &[&str], target: &Path) -> (Transcript, Value) {
    let steps = json!([
        {"tool": "bash", "arguments": {"command": "echo hello; date +%N; exit 3"}},
        {"tool": "bash", "arguments": {"command": "seq 1 5; date +%N"}},
    ]);
    let scratch = home.workspace().join("tmp");
    std::fs::create_dir_all(&scratch).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents/agents.py");
    let workspace = home.workspace();
    let words = [
        script.to_str().unwrap(),
        "claude-code",
        BASHD,
        "--",
        workspace.to_str().unwrap(),
    ];
    let client = ["--", "python3"];
    let transcript = bashd(home, &[&["tape"], tape, &client, &words].concat())
        .env("AGENTS_TARGET", target)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TMPDIR", scratch)
        .stdin(steps.to_string())
        .limit(Duration::from_mins(2))
        .run();
    let seen = serde_json::from_str(&transcript.out());
    let seen = seen.unwrap_or_else(|_| panic!("{}\n{}", transcript.out(), transcript.err()));
    (transcript, seen)
}

#[test]
fn a_real_agents_loop_is_played_to_the_same_transcript_and_nothing_runs() {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("..");
    if !target.join("agents/claude-code.installed").exists() {
        return loudly("claude-code is not installed: its loop is NOT recorded and played here");
    }
    let (home, other) = (Home::new(), Home::new());
    let tape = home.workspace().join("tape");
    let tape = tape.to_str().unwrap();
    let (recorded, first) = agent(&home, &["record", tape], &target);
    assert_eq!(recorded.code(), Some(0), "{}", recorded.err());
    assert_eq!(first["results"].as_array().unwrap().len(), 2, "{first}");
    let (played, again) = agent(&other, &["play", tape], &target);
    assert_eq!(played.code(), Some(0), "{}", played.err());
    // The nanoseconds in it are those of the first time.
    assert_eq!(again["results"], first["results"]);
    assert_eq!(again["tools"], first["tools"]);
    assert_nothing_ran(&other);
    home.finish();
    other.finish();
}
