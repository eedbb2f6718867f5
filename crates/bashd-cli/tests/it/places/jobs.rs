//! Jobs at a place: begun, listed without a network, fed, waited for, read and ended through the
//! link; and a place at which all calls of an engine run, which they need not know.

use super::{PATIENCE, carrier, engine_with, home_with, on, outposts, reply_of, wait_until};
use bashd::{Call, Request};
use bashd_testkit::{Home, Transcript};
use serde_json::{Value, json};
use std::fs;
use std::time::Instant;

fn home() -> Home {
    home_with(&carrier(), "").keeping_in_state(&["outpost", "places"])
}

fn jobs(home: &Home, arguments: &[&str]) -> Transcript {
    crate::shown(home, &[&["jobs"], arguments].concat())
}

#[test]
fn a_job_at_a_place_is_listed_fed_awaited_read_and_ended() {
    let home = home();
    let script = "echo begun; read -r line; echo got $line; seq 1 100000; sleep 60";
    let begun = on(&home, &["--json", "--background", "--stdin-open", script]).run();
    let reply = reply_of(&begun);
    assert_eq!(reply["place"], "there", "{reply}");
    let text = reply["text"].as_str().unwrap();
    assert!(text.contains("there:bg_1"), "{text}");
    let listed = jobs(&home, &["--json"]);
    let listed: Value = serde_json::from_str(listed.out().trim()).unwrap();
    assert_eq!(
        (&listed["alias"], &listed["state"], &listed["place"]),
        (&json!("there:bg_1"), &json!("running"), &json!("there"))
    );
    let table = jobs(&home, &[]).out();
    assert!(table.contains("there:bg_1  running, last seen"), "{table}");
    let sent = jobs(&home, &["send", "there:bg_1", "hello", "--enter"]);
    assert_eq!(sent.code(), Some(0), "{}", sent.err());
    let waited = jobs(
        &home,
        &[
            "wait",
            "there:bg_1",
            "--regex",
            "^100000$",
            "--timeout",
            "20",
        ],
    );
    assert_eq!(waited.code(), Some(0), "{}{}", waited.out(), waited.err());
    let output = jobs(&home, &["output", "there:bg_1"]).out();
    let expected: Vec<String> = (1..=100_000).map(|number| number.to_string()).collect();
    let expected = format!("begun\ngot hello\n{}\n", expected.join("\n"));
    assert_eq!(output.len(), expected.len());
    assert_eq!(output, expected, "every byte, in several parts");
    let found = jobs(&home, &["output", "there:bg_1", "--grep", "^9999"]).out();
    assert_eq!(found.lines().count(), 11, "{found}");
    let late = jobs(&home, &["wait", "there:bg_1", "--timeout", "0.2"]);
    assert_eq!(late.code(), Some(124), "{}", late.out());
    let killed = jobs(&home, &["kill", "there:bg_1"]);
    assert_eq!(killed.code(), Some(0), "{}", killed.err());
    assert!(!jobs(&home, &[]).out().contains("there:bg_1"));
    let all = jobs(&home, &["--all"]).out();
    assert!(all.contains("there:bg_1  signal 15"), "{all}");
    let missing = jobs(&home, &["output", "there:bg_7"]);
    assert!(
        missing.err().contains("there is no job"),
        "{}",
        missing.err()
    );
}

#[test]
fn an_end_at_a_place_is_told_unasked_and_once() {
    let home = home();
    let mut client = crate::mcp::Client::connect(&home, &[]);
    let mut ask = |tool: &str, arguments: &Value| {
        let asked = json!({ "name": tool, "arguments": arguments });
        let answer = client.ask("tools/call", &asked);
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let script = "until [ -e gate ]; do sleep 0.05; done; echo made; exit 6";
    let asked = json!({ "command": script, "background": true, "on": "there" });
    let begun = ask("bash", &asked);
    assert!(begun.contains("there:bg_1"), "{begun}");
    let here = json!({ "command": "echo here" });
    assert_eq!(ask("bash", &here), "here\n", "nothing has ended");
    fs::write(home.home().join("gate"), "").unwrap();
    let mut told = String::new();
    wait_until("the news", || {
        told = ask("bash", &here);
        told.contains("there:bg_1")
    });
    assert!(
        told.ends_with("\n\nhere\n") && told.contains("exit code 6"),
        "{told}"
    );
    assert_eq!(ask("bash", &here), "here\n", "it is told once");
    // Who waits for a job is told of its end, and not once more by a later reply.
    let asked = json!({ "command": "sleep 1", "background": true, "on": "there" });
    let begun = ask("bash", &asked);
    assert!(begun.contains("there:bg_2"), "{begun}");
    let waited = ask("job", &json!({ "action": "wait", "job": "there:bg_2" }));
    assert!(
        waited.contains("there:bg_2: exited with code 0"),
        "{waited}"
    );
    for _ in 0..5 {
        assert_eq!(
            ask("bash", &here),
            "here\n",
            "it was told when it was asked for"
        );
    }
    fs::remove_file(home.home().join("gate")).unwrap();
    client.finish();
}

#[test]
fn an_end_at_a_place_is_a_log_message_by_mcp_and_jobs_ended_by_rpc() {
    let home = home();
    let asked = |status: i32| json!({ "command": format!("sleep 0.5; exit {status}"), "background": true, "on": "there" });
    let mut client = crate::mcp::Client::connect(&home, &[]);
    client.ask("logging/setLevel", &json!({ "level": "notice" }));
    client.request(
        "tools/call",
        &json!({ "name": "bash", "arguments": asked(6) }),
    );
    let log = client.wait_for(|message| message["method"] == "notifications/message");
    let told = &log["params"]["data"];
    assert_eq!(
        (&told["alias"], &told["exit_code"]),
        (&json!("there:bg_1"), &json!(6)),
        "{log}"
    );
    client.finish();
    let mut client = crate::rpc_under_test::Client::start(&home, &[]);
    client.ask(&json!({ "id": "h", "type": "hello", "capabilities": { "jobs": true } }));
    client.say(&json!({ "id": "1", "type": "call", "arguments": asked(5) }));
    let ended = client.next_where(|message| message["type"] == "jobs_ended");
    let text = ended["text"].as_str().unwrap();
    assert!(text.contains("there:bg_1: exited with code 5"), "{text}");
    client.close();
}

#[test]
fn long_output_stays_at_its_place_and_is_read_there() {
    let home = home().keeping_in_state(&["outpost", "places", "runs", "artifacts"]);
    let shown = on(
        &home,
        &["--json", "seq 1 400000; seq 1 1000000 | tail -c 3 >&2"],
    )
    .run();
    let reply = reply_of(&shown);
    let id = reply["artifact"]
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"))
        .to_owned();
    let read = |arguments: &[&str]| {
        let shown = crate::shown(&home, &[&["artifact", "read", &id], arguments].concat());
        assert_eq!(shown.code(), Some(0), "{arguments:?}: {}", shown.err());
        shown.out()
    };
    assert_eq!(
        read(&["--lines", "200000-200002"]),
        "200000\n200001\n200002\n"
    );
    assert_eq!(
        read(&["--grep", "^39999[89]$"]),
        "399998:399998\n399999:399999\n"
    );
    assert!(read(&["--tail", "2"]).starts_with("400000\n"));
    assert_eq!(read(&["--bytes", "0-3"]), "1\n2\n");
    let whole: Vec<String> = (1..=400_000).map(|number| number.to_string()).collect();
    let whole = whole.join("\n") + "\n00\n";
    assert_eq!(read(&[]), whole, "every byte, in several parts");
    let listed = crate::shown(&home, &["artifact", "list", "--json"]);
    let listed: Value = serde_json::from_str(listed.out().trim()).unwrap();
    let told = (&listed["place"], &listed["bytes"], &listed["dropped_bytes"]);
    assert_eq!(told, (&json!("there"), &json!(whole.len()), &json!(0)));
    // What is not reached is said to be there.
    let gone =
        "[places.there]\nkind = 'pipe'\ncommand = ['sh', '-c', 'echo no route >&2; exit 0']\n";
    fs::write(home.config().join("config.toml"), gone).unwrap();
    let shown = crate::shown(&home, &["artifact", "read", &id, "--tail", "1"]);
    assert_eq!(shown.code(), Some(125));
    assert!(
        shown.err().contains("`there`") && shown.err().contains("no route"),
        "{}",
        shown.err()
    );
}

#[test]
fn a_place_that_is_gone_leaves_jobs_unreachable_and_no_status() {
    let home = home();
    let begun = on(&home, &["--background", "sleep 60"]).run();
    assert_eq!(begun.code(), Some(0), "{}", begun.err());
    let file = home.config().join("config.toml");
    let reachable = fs::read_to_string(&file).unwrap();
    let gone =
        "[places.there]\nkind = 'pipe'\ncommand = ['sh', '-c', 'echo no route >&2; exit 0']\n";
    fs::write(&file, gone).unwrap();
    let shown = jobs(&home, &["wait", "there:bg_1", "--timeout", "1"]);
    let text = shown.err();
    assert_eq!(shown.code(), Some(125), "{text}");
    assert!(text.contains("no route"), "{text}");
    assert!(
        text.contains("there:bg_1: unreachable, last seen"),
        "{text}"
    );
    let listed = jobs(&home, &["--json"]).out();
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(
        (&listed["state"], &listed["exit_code"]),
        (&json!("unreachable"), &Value::Null)
    );
    fs::write(&file, reachable).unwrap();
    let shown = jobs(&home, &["show", "there:bg_1"]);
    assert!(shown.out().contains("running"), "{}", shown.out());
    assert!(jobs(&home, &[]).out().contains("there:bg_1  running"));
    assert_eq!(jobs(&home, &["kill", "there:bg_1"]).code(), Some(0));
}

#[test]
fn a_job_outlives_its_outpost() {
    let home = home();
    assert_eq!(
        on(&home, &["--background", "echo on; sleep 60"])
            .run()
            .code(),
        Some(0)
    );
    let first = outposts(&home);
    first.iter().copied().for_each(super::kill);
    wait_until("its end", || {
        outposts(&home).iter().all(|pid| !first.contains(pid))
    });
    let shown = jobs(&home, &["output", "there:bg_1"]);
    assert_eq!(shown.out(), "on\n", "{}", shown.err());
    assert_eq!(jobs(&home, &["kill", "there:bg_1"]).code(), Some(0));
}

#[test]
fn all_calls_of_an_engine_can_run_at_a_place_that_they_do_not_know() {
    let home = Home::new().keeping_in_state(&["outpost", "places"]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine = engine_with(&home, &carrier(), |config| {
            config.default_place = Some("there".to_owned());
        });
        let call = |input: &Value| {
            let defaults = Request::new("").profile("default").owner("rpc:test");
            Call::json(input.to_string(), defaults)
        };
        let here = engine
            .run(call(&json!({"command": "true", "on": "here"})))
            .await;
        let text = here.text;
        assert!(
            text.contains("commands run at the place `there` here"),
            "{text}"
        );
        let first = engine
            .run(call(&json!({"command": "cd /usr; pwd", "session": "s"})))
            .await;
        assert_eq!(
            (&*first.output, first.place.as_deref()),
            ("/usr\n", Some("there"))
        );
        let began = json!({"command": "echo begun; sleep 60", "background": true});
        let began = engine.run(call(&began)).await;
        assert!(began.text.contains("bg_1"), "{}", began.text);
        assert!(!began.text.contains("there:"), "{}", began.text);
        let asked = Instant::now();
        let wait = json!({"action": "wait", "job": "bg_1", "regex": "begun", "timeout": 10});
        let waited = engine.job(call(&wait)).await;
        assert!(
            waited.text.contains("bg_1: found: begun"),
            "{}",
            waited.text
        );
        assert!(asked.elapsed() < PATIENCE);
        let listed = engine.job(call(&json!({"action": "list"}))).await;
        assert!(listed.text.contains("bg_1"), "{}", listed.text);
        let killed = engine
            .job(call(&json!({"action": "kill", "job": "bg_1"})))
            .await;
        assert!(!killed.is_error, "{}", killed.text);
    });
}

#[test]
fn a_wait_that_nobody_waits_for_any_more_takes_no_end_along() {
    let home = home();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine = engine_with(&home, &carrier(), |_| {});
        let call = |input: &Value| {
            let defaults = Request::new("").profile("default").owner("rpc:test");
            Call::json(input.to_string(), defaults)
        };
        let script = "until [ -e gate ]; do sleep 0.05; done; exit 6";
        let asked = json!({ "command": script, "background": true, "on": "there" });
        let begun = engine.run(call(&asked)).await;
        assert!(begun.text.contains("there:bg_1"), "{}", begun.text);
        let wait = json!({ "action": "wait", "job": "there:bg_1" });
        let screen = json!({ "action": "output", "job": "there:bg_1" });
        {
            // The second question arrives behind the first.
            let mut waiting = std::pin::pin!(engine.job(call(&wait)));
            tokio::select! {
                biased;
                waited = &mut waiting => panic!("{}", waited.text),
                read = engine.job(call(&screen)) => assert!(!read.is_error, "{}", read.text),
            }
        }
        fs::write(home.home().join("gate"), "").unwrap();
        // A wait that went on there would have its end by now.
        let begun = Instant::now();
        while engine.job(call(&screen)).await.result["job"]["ended_ms"].is_null() {
            assert!(begun.elapsed() < PATIENCE, "it never ended");
        }
        for _ in 0..20 {
            engine.job(call(&screen)).await;
        }
        let known = std::collections::HashSet::new();
        let ends = engine.next_ends_there("default", "rpc:test", &known);
        let ends = tokio::time::timeout(PATIENCE, ends).await;
        let ended: Vec<String> = ends.unwrap().into_iter().map(|job| job.alias).collect();
        assert_eq!(ended, ["there:bg_1"], "nobody was told of it by that wait");
    });
    fs::remove_file(home.home().join("gate")).unwrap();
}

#[test]
fn an_end_that_was_seen_while_its_owner_asked_for_another_is_still_told() {
    let home = home();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine = engine_with(&home, &carrier(), |_| {});
        let call = |input: &Value| {
            let defaults = Request::new("").profile("default").owner("rpc:test");
            Call::json(input.to_string(), defaults)
        };
        for _ in 0..2 {
            let script = "until [ -e gate ]; do sleep 0.05; done; exit 6";
            let asked = json!({ "command": script, "background": true, "on": "there" });
            assert!(!engine.run(call(&asked)).await.is_error);
        }
        fs::write(home.home().join("gate"), "").unwrap();
        // Both have ended when the answer about one of them comes.
        let wait = json!({ "action": "wait", "job": "there:bg_2" });
        let state = || {
            let known = bashd::jobs::FarJobs::of(engine.config()).list();
            known.iter().all(|job| !job.is_alive)
        };
        let begun = Instant::now();
        while !state() {
            assert!(begun.elapsed() < PATIENCE, "they never ended");
            let waited = engine.job(call(&wait)).await;
            assert!(waited.text.contains("there:bg_2"), "{}", waited.text);
        }
        let known = std::collections::HashSet::new();
        let ends = engine.next_ends_there("default", "rpc:test", &known);
        let ends = tokio::time::timeout(PATIENCE, ends).await;
        let ended: Vec<String> = ends.unwrap().into_iter().map(|job| job.alias).collect();
        assert_eq!(ended, ["there:bg_1"]);
    });
    fs::remove_file(home.home().join("gate")).unwrap();
}

#[test]
fn an_end_that_was_not_told_can_be_asked_for_again() {
    let noted = super::noted_carrier();
    let more = "patience_seconds = 0\nconnect_seconds = 1\n";
    let home = home_with(&noted, more).keeping_in_state(&["outpost", "places"]);
    let script = "touch \"$TMPDIR/begun\"; read -r _ < \"$TMPDIR/go\"; echo done; exit 7";
    let go = home.tmp().join("go");
    let made = std::process::Command::new("mkfifo").arg(&go).status();
    assert!(made.unwrap().success());
    let asked = ["--json", "--timeout", "1.5", script];
    let child = super::spawned(&on(&home, &asked).stdin(""));
    wait_until("the command", || home.tmp().join("begun").exists());
    // A network that is stalled: its carrier is there, and says nothing.
    let stopped = super::carriers(&home)[0];
    super::stop(stopped);
    fs::write(&go, "now\n").unwrap();
    let (text, status) = super::ended(child);
    let reply: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (status, &reply["exit_code"]),
        (Some(125), &Value::Null),
        "{text}"
    );
    let error = reply["error"].as_str().unwrap();
    let name = error.split("`bashd jobs show ").nth(1).unwrap();
    let name = name.split('`').next().unwrap();
    let shown = jobs(&home, &["show", name]);
    assert_eq!(
        shown.out(),
        format!("{name}: exit 7\ndone\n"),
        "{}",
        shown.err()
    );
    super::kill(stopped);
    // Nobody wants to know any more, so that the outpost can leave.
    assert_eq!(jobs(&home, &["kill", name]).code(), Some(0));
    for left in ["begun", "go", "carriers"] {
        fs::remove_file(home.tmp().join(left)).unwrap();
    }
}
