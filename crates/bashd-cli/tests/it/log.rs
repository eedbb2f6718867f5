//! `bashd log`: the ledger as a table and as JSON, filtered, whatever state it is in.

use crate::rpc_under_test::Client;
use crate::{bashd, shown};
use bashd::ledger::{Ledger, Record, RecordedOutcome};
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};

fn record(id: &str, time: &str, command: &str) -> Record {
    let mut record = Record::new(id, time.parse().unwrap(), RecordedOutcome::Exited);
    record.command = command.into();
    record.profile = "default".into();
    record.cwd = "/srv".into();
    record.exit_code = Some(0);
    record.wall_ms = 12;
    record
}

/// A home in which some calls were made.
fn used() -> Home {
    let home = Home::new();
    let config = bashd::config::Config::new(home.state());
    let ledger = Ledger::new(config.ledger, config.ledger_dir());
    let mut failed = record("b", "2026-07-02T08:30:00Z", "cargo TEST\n--all");
    failed.exit_code = Some(101);
    failed.wall_ms = 185_000;
    failed.output_bytes = 1536;
    let mut killed = record(
        "c",
        "2026-07-03T09:00:00Z",
        "printf '\u{1b}[31m'; kill -9 $$",
    );
    (killed.outcome, killed.exit_code, killed.signal) = (RecordedOutcome::Signalled, None, Some(9));
    let mut late = record("d", "2026-07-04T10:00:00Z", "sleep 60");
    (late.outcome, late.exit_code, late.wall_ms) = (RecordedOutcome::TimedOut, None, 30_012);
    late.profile = "voice".into();
    for record in [
        record("a", "2026-06-30T23:59:59Z", "cargo test"),
        failed,
        killed,
        late,
    ] {
        ledger.append(&record).unwrap();
    }
    home
}

#[test]
fn people_get_a_table() {
    let home = used();
    insta::assert_snapshot!(shown(&home, &["log"]).out(), @r#"
    TIME                 ID                    PROFILE   OWNER               SESSION   RESULT       TOOK   OUTPUT  CWD                   COMMAND
    2026-07-04 10:00:00  d                     voice     -                   -         timed out   30.0s       0B  /srv                  sleep 60
    2026-07-03 09:00:00  c                     default   -                   -         signal 9     12ms       0B  /srv                  printf '�[31m'; kill -9 $$
    2026-07-02 08:30:00  b                     default   -                   -         exit 101    3m05s   1.5KiB  /srv                  cargo TEST↵--all
    2026-06-30 23:59:59  a                     default   -                   -         exit 0       12ms       0B  /srv                  cargo test
    "#);
}

#[test]
fn programs_get_one_record_a_line() {
    let home = used();
    let lines = shown(&home, &["log", "--json", "--limit", "1"]).out();
    insta::assert_snapshot!(lines, @r#"{"v":1,"id":"d","time":"2026-07-04T10:00:00.000Z","profile":"voice","command":"sleep 60","command_truncated":false,"cwd":"/srv","outcome":"timed_out","exit_code":null,"signal":null,"error":null,"wall_ms":30012,"ran_ms":null,"output_bytes":0,"output_lines":0}"#);
}

fn ids(home: &Home, arguments: &[&str]) -> String {
    let transcript = shown(home, &[&["log", "--json"], arguments].concat());
    assert_eq!(
        (transcript.code(), transcript.err()),
        (Some(0), String::new())
    );
    let id = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        record["id"].as_str().unwrap().to_owned()
    };
    transcript.out().lines().map(id).collect()
}

#[test]
fn filters_choose() {
    let home = used();
    assert_eq!(ids(&home, &[]), "dcba");
    assert_eq!(ids(&home, &["--limit", "2"]), "dc");
    assert_eq!(ids(&home, &["--limit", "0"]), "dcba");
    assert_eq!(ids(&home, &["--failed"]), "dcb");
    assert_eq!(ids(&home, &["--since", "2026-07-03"]), "dc");
    assert_eq!(ids(&home, &["--since", "2026-07-02 08:30"]), "dcb");
    assert_eq!(ids(&home, &["Cargo T"]), "ba");
    assert_eq!(ids(&home, &["--failed", "cargo"]), "b");
    assert_eq!(ids(&home, &["nothing like it"]), "");
}

#[test]
fn nothing_found_is_said_and_no_failure() {
    let home = Home::new();
    insta::assert_snapshot!(shown(&home, &["log"]).block(), @r#"
    --- stdout
    --- stderr
    bashd: no calls have been recorded yet · make one: bashd run COMMAND
    --- status
    exit 0
    "#);
    let off = shown(&home, &["log", "--set", "ledger.enabled=false"]);
    assert_eq!(
        off.err(),
        "bashd: no calls are recorded: `ledger.enabled` is false · change it: bashd config edit\n"
    );
    assert_eq!(
        shown(&used(), &["log", "zzz"]).err(),
        "bashd: no recorded call matches · all of them: bashd log --limit 0\n"
    );
}

#[test]
fn damage_is_passed_over_and_said() {
    let home = used();
    let month = home.state().join("ledger/2026-07.jsonl");
    let mut file = fs::OpenOptions::new().append(true).open(month).unwrap();
    file.write_all(b"\0\xff garbage\n{\"v\":1,\"id\":\"torn")
        .unwrap();
    let transcript = shown(&home, &["log"]);
    assert_eq!(transcript.code(), Some(0));
    assert_eq!(transcript.out().lines().count(), 5);
    assert_eq!(
        transcript.err(),
        "warning: skipped 2 damaged lines of the ledger\n"
    );
}

#[test]
fn what_was_altered_or_removed_is_found() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let bashd = |arguments: &[&str]| crate::bashd(&home, arguments).run();
    let verify = || bashd(&["log", "--verify"]);
    let whole = verify();
    assert_eq!(whole.code(), Some(0), "nothing is nothing wrong");
    for _ in 0..3 {
        bashd(&["run", "--", "true"]);
    }
    bashd(&["run", "--json", "--", "seq 50000"]);
    let started = bashd(&["run", "--background", "--json", "--", "sleep 0.5; exit 3"]);
    let reply: serde_json::Value = serde_json::from_str(&started.out()).unwrap();
    bashd(&["jobs", "wait", reply["job"].as_str().unwrap()]);
    let whole = verify();
    assert_eq!(whole.code(), Some(0), "{}", whole.out());
    assert!(
        whole
            .out()
            .starts_with("checked 5 records in 5 chains, and "),
        "{}",
        whole.out()
    );
    let altered = |path: &std::path::Path, from: &str, to: &str, told: &str| {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
        let found = verify();
        assert_eq!(found.code(), Some(1), "{}", found.out());
        assert!(found.out().contains(told), "{}", found.out());
        fs::write(path, text).unwrap();
    };
    let files = |directory: &str, end: &str| -> Vec<_> {
        let below = fs::read_dir(home.state().join(directory))
            .unwrap()
            .flatten();
        let paths = below.flat_map(|entry| {
            let path = entry.path();
            let inner = fs::read_dir(&path).into_iter().flatten().flatten();
            inner
                .map(|entry| entry.path())
                .chain([path])
                .collect::<Vec<_>>()
        });
        paths
            .filter(|path| path.to_string_lossy().ends_with(end))
            .collect()
    };
    altered(
        &files("ledger", ".jsonl")[0],
        "\"exited\"",
        "\"denied\"",
        "line 1 (record 1 of",
    );
    altered(
        &files("runs", "/status.json")[0],
        "\"exit\"",
        "\"Exit\"",
        "the end of job",
    );
    altered(
        &files("runs", "/artifact.json")[0],
        "\"lines\":50000",
        "\"lines\":9",
        "the artifact of",
    );
    // Not what is said of it, but what it holds.
    let artifact = &files("runs", "/artifact.json")[0];
    let beside = fs::read_dir(artifact.parent().unwrap()).unwrap().flatten();
    let mut beside = beside.map(|entry| entry.path());
    let holds = |path: &std::path::PathBuf| {
        fs::read_to_string(path).is_ok_and(|text| text.contains("\n777\n"))
    };
    let output = beside.find(holds).unwrap();
    altered(&output, "\n777\n", "\n778\n", "the artifact of");
    altered(&files("ledger", ".chains")[0], " 1 ", " 2 ", "is missing");
    assert_eq!(verify().code(), Some(0), "all is as it was");
}

/// The events that `log --follow --json` prints, up to the end of the last of these commands.
fn followed(home: &Home, arguments: &[&str], commands: &[&[&str]]) -> Vec<serde_json::Value> {
    let all: Vec<&str> = ["log", "--follow", "--json"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    let mut follower = bashd(home, &all).spawn();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut events: Vec<serde_json::Value> = Vec::new();
    // The first call may come before the follower looks: it is made again until it is seen.
    let mut wait_for_end = |command: &str| {
        loop {
            let line = lines.next().unwrap().unwrap();
            let event: serde_json::Value = serde_json::from_str(&line).unwrap();
            events.push(event);
            let has_ended = |id: &serde_json::Value| {
                let of_it = |event: &&serde_json::Value| event["id"] == *id;
                let mut all = events.iter().filter(of_it);
                all.any(|event| event["event"] == "ended")
            };
            let begun = events.iter().find(|event| event["command"] == command);
            if begun.is_some_and(|begun| has_ended(&begun["id"])) {
                return;
            }
        }
    };
    for command in commands {
        bashd(home, command).run();
        wait_for_end(command.last().unwrap());
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
    events
}

#[test]
fn calls_are_followed_as_they_happen_and_from_any_place() {
    let home = Home::new();
    // Something must be there, or the follower might begin after the first call.
    bashd(&home, &["run", "echo before"]).run();
    let place = followed(&home, &["--from", "1:1"], &[&["run", "exit 3"]]);
    let [.., begun, ended] = place.as_slice() else {
        panic!("two events, not {place:?}");
    };
    assert_eq!(begun["event"], "begun");
    assert_eq!(begun["command"], "exit 3");
    assert_eq!(begun["profile"], "default");
    assert!(
        begun["owner"].as_str().unwrap().starts_with("cli:"),
        "{begun}"
    );
    assert_eq!(ended["id"], begun["id"]);
    assert_eq!(ended["outcome"], "exited");
    assert_eq!(ended["exit_code"], 3);

    let from = ended["place"].as_str().unwrap();
    let later = followed(&home, &["--from", from], &[&["run", "echo after"]]);
    let commands: Vec<_> = later
        .iter()
        .filter_map(|event| event["command"].as_str())
        .collect();
    assert_eq!(commands, ["echo after"], "nothing is told twice");
    let nonsense = shown(&home, &["log", "--follow", "--from", "here"]);
    assert_eq!(nonsense.code(), Some(125));
    assert!(
        nonsense.err().contains("two numbers with a colon"),
        "{}",
        nonsense.err()
    );
}

#[test]
fn a_feed_that_is_switched_off_says_so_and_has_nothing() {
    let home = Home::new();
    fs::write(
        home.config().join("config.toml"),
        "[feed]\nenabled = false\n",
    )
    .unwrap();
    assert_eq!(shown(&home, &["run", "echo hello"]).out(), "hello\n");
    let refused = shown(&home, &["log", "--follow"]);
    assert!(
        refused.err().contains("`feed.enabled` is false"),
        "{}",
        refused.err()
    );
    assert!(!home.state().join("feed").exists());
}

#[test]
fn who_did_what_to_a_job_is_recorded_and_who_only_looked_is_not() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let mut client = Client::start(&home, &[]);
    let start = json!({"command": "cat; sleep 300", "background": true, "stdin_open": true});
    let started = |client: &mut Client| {
        let answer = client.ask(&json!({"id": "s", "type": "call", "arguments": start}));
        answer["data"]["job"].as_str().unwrap().to_owned()
    };
    let job = |client: &mut Client, arguments: Value| {
        client.ask(&json!({"id": "j", "type": "job", "arguments": arguments}))
    };
    let (first, second) = (started(&mut client), started(&mut client));
    for looking in ["list", "output", "wait"] {
        job(
            &mut client,
            json!({"action": looking, "job": "bg_1", "timeout": 1}),
        );
    }
    for deed in [
        json!({"action": "send", "job": "bg_1", "text": "canary-of-a-password\n"}),
        json!({"action": "signal", "job": "bg_1", "signal": "WINCH"}),
        json!({"action": "rename", "job": "bg_1", "name": "mine"}),
        json!({"action": "kill", "job": "bg_1"}),
        json!({"action": "send", "job": "bg_1", "text": "too late"}),
    ] {
        job(&mut client, deed);
    }
    // Somebody else, on the command line.
    assert_eq!(
        shown(&home, &["jobs", "kill", &second]).code(),
        Some(0),
        "{second}"
    );
    assert_eq!(shown(&home, &["jobs", "rm", &second]).code(), Some(0));
    let log = shown(&home, &["log", "--json"]).out();
    assert!(!log.contains("canary"), "{log}");
    let records = log.lines().map(|line| serde_json::from_str(line).unwrap());
    let deeds: Vec<Value> = records
        .filter(|record: &Value| record["job"].is_string())
        .collect();
    let told = |record: &Value| {
        let who = record["owner"].as_str().unwrap().split(':').next().unwrap();
        let [id, command, outcome] =
            ["job", "command", "outcome"].map(|field| record[field].as_str().unwrap().to_owned());
        let id = if id == first { "first" } else { "second" };
        format!("{who} {id} {command}: {outcome}")
    };
    let mut told: Vec<String> = deeds.iter().map(told).collect();
    told.reverse();
    assert_eq!(
        told,
        [
            "rpc first job send bg_1: managed",
            "rpc first job signal SIGWINCH bg_1: managed",
            "rpc first job rename bg_1: managed",
            "rpc first job kill bg_1: managed",
            "rpc first job send bg_1: failed",
            "cli second job kill bg_2: managed",
            "cli second job rm bg_2: managed",
        ],
        "{log}"
    );
    let feed = fs::read_to_string(home.state().join("feed/now.jsonl")).unwrap();
    let told = |event: &str, words: &str| {
        let mut lines = feed.lines();
        lines.any(|line| line.contains(event) && line.contains(words))
    };
    assert!(told("\"begun\"", "job kill bg_2"), "{feed}");
    assert!(told("\"managed\"", &second), "{feed}");
    let verified = shown(&home, &["log", "--verify"]);
    assert_eq!(verified.code(), Some(0), "{}", verified.out());
    client.close();
}
