//! What the page about places promises beside replies: every action on a job, what is refused,
//! commands and jobs whose engine was killed, secrets of either side, the console.

use super::{carrier, engine_with, home_with, on, reply_of, spawned, wait_until};
use crate::console::tmux::Tmux;
use crate::rpc_under_test::Client;
use bashd::{Call, Event, Request};
use bashd_testkit::{Home, Transcript};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

fn home() -> Home {
    home_with(&carrier(), "").keeping_in_state(&["outpost", "places"])
}

fn jobs(home: &Home, arguments: &[&str]) -> Transcript {
    crate::shown(home, &[&["jobs"], arguments].concat())
}

/// Begins a job at the place.
fn begin(home: &Home, arguments: &[&str]) {
    let begun = on(home, &[&["--background"], arguments].concat()).run();
    assert_eq!(begun.code(), Some(0), "{}{}", begun.out(), begun.err());
}

#[test]
fn every_action_on_a_job_works_at_a_place_or_is_refused_by_name() {
    let home = home();
    begin(
        &home,
        &["for i in 1 2 3; do echo $i; sleep 0.3; done; exit 4"],
    );
    let followed = jobs(&home, &["follow", "there:bg_1"]);
    assert_eq!(followed.out(), "1\n2\n3\n", "{}", followed.err());
    assert!(
        followed.err().contains("there:bg_1 ended, status 4"),
        "{}",
        followed.err()
    );
    let script =
        "printf '\\033[2J\\033[3;5Hat three, five'; read -r word; echo got $word; sleep 60";
    begin(&home, &["--pty", script]);
    let screen = jobs(&home, &["screen", "there:bg_2", "--regex", "five"]);
    assert!(
        screen.out().contains("    at three, five"),
        "{}{}",
        screen.out(),
        screen.err()
    );
    let renamed = jobs(&home, &["rename", "there:bg_2", "shell"]);
    assert_eq!(renamed.code(), Some(0), "{}", renamed.err());
    let sent = jobs(&home, &["send", "there:shell", "hello", "--enter"]);
    assert_eq!(sent.code(), Some(0), "{}", sent.err());
    let screen = jobs(&home, &["screen", "there:shell", "--regex", "got hello"]);
    assert!(screen.out().contains("got hello"), "{}", screen.out());
    for refused in [
        &["attach", "there:shell"][..],
        &["rm", "there:bg_1"],
        &["rm", "there:bg_1", "--json"],
    ] {
        let shown = jobs(&home, refused);
        assert_eq!(shown.code(), Some(125), "{refused:?}: {}", shown.out());
        let said = "typing at a job and removing it are not available at places";
        assert!(shown.err().contains(said), "{}", shown.err());
    }
    let ended = jobs(&home, &["send", "there:shell", "--signal", "KILL"]);
    assert_eq!(ended.code(), Some(0), "{}", ended.err());
    let waited = jobs(&home, &["wait", "there:shell"]);
    assert!(
        waited.out().contains("signal 9"),
        "{}{}",
        waited.out(),
        waited.err()
    );
}

#[test]
fn what_is_not_there_yet_is_refused_before_anything_runs() {
    let home = home_with(&["false"], "");
    for (input, said) in [
        (
            json!({"command": "sleep 9", "background": true, "until": {"port": 1}}),
            "waiting until a job is ready",
        ),
        (
            json!({"command": "touch ran", "effects": "hold"}),
            "holding or undoing effects",
        ),
        (
            json!({"command": "touch ran", "effects": "undoable"}),
            "holding or undoing effects",
        ),
    ] {
        let mut input = input;
        input["on"] = "there".into();
        let shown = crate::shown(&home, &["run", "--input", &input.to_string()]);
        let text = shown.out() + &shown.err();
        assert!(
            text.contains(said) && text.contains("is not available at places yet"),
            "{text}"
        );
    }
}

/// Waits for a number in a file of the test's `TMPDIR`.
fn number(home: &Home, name: &str) -> i32 {
    let file = home.tmp().join(name);
    let read = || fs::read_to_string(&file).unwrap_or_default();
    wait_until(name, || read().ends_with('\n'));
    let number = read().trim().parse().unwrap();
    fs::remove_file(file).unwrap();
    number
}

#[test]
fn what_a_killed_engine_began_there_ends_if_nobody_comes_back_and_its_jobs_do_not() {
    let [program, outpost, idle, _] = carrier();
    let patient = [program, outpost, idle, "0.3", "--orphaned", "1"];
    let home = home_with(&patient, "").keeping_in_state(&["outpost", "places"]);
    let mut client = Client::start(&home, &[]);
    let script = "echo $$ >\"$TMPDIR/job\"; echo on; exec sleep 600";
    let job = json!({"command": script, "background": true, "on": "there"});
    let told = client.ask(&json!({"id": 1, "type": "call", "arguments": job}));
    assert!(
        told["data"]["text"].to_string().contains("there:bg_1"),
        "{told}"
    );
    let job = Pid::from_raw(number(&home, "job")).unwrap();
    kill_process(Pid::from_child(&client.child), Signal::KILL).unwrap();
    client.child.wait().unwrap();
    let script = "echo $$ >\"$TMPDIR/shell\"; exec sleep 600";
    let mut child = spawned(&on(&home, &["--timeout", "600", script]).stdin(""));
    let shell = Pid::from_raw(number(&home, "shell")).unwrap();
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    let begun = Instant::now();
    wait_until("its end", || test_kill_process(shell).is_err());
    // It had its time: somebody might have come back.
    assert!(begun.elapsed() > Duration::from_millis(900));
    assert!(test_kill_process(job).is_ok(), "a job is nobody's call");
    let output = jobs(&home, &["output", "there:bg_1"]);
    assert_eq!(output.out(), "on\n", "{}", output.err());
    assert_eq!(jobs(&home, &["kill", "there:bg_1"]).code(), Some(0));
}

/// What only the place knows, and what only this side does.
const THERE: &str = "tr0ub4dor-there-91";
const HERE: &str = "c0rrect-here-17";

/// A carrier whose outpost has a credential.
fn with_credential() -> Vec<&'static str> {
    let script = "export THERE_TOKEN=tr0ub4dor-there-91; exec \"$@\"";
    [&["sh", "-c", script, "sh"], &carrier()[..]].concat()
}

#[test]
fn secrets_of_there_and_of_here_are_in_nothing_that_is_shown() {
    let home = home_with(&with_credential(), "pass = [\"HERE_TOKEN\"]\n").keeping_in_state(&[
        "outpost",
        "places",
        "runs",
        "artifacts",
    ]);
    let ask = |arguments: &[&str]| on(&home, arguments).env("HERE_TOKEN", HERE).run().out();
    let shown = ask(&["echo $HERE_TOKEN; echo $THERE_TOKEN; printf %s $THERE_TOKEN | base64"]);
    assert_eq!(
        shown,
        "[secret HERE_TOKEN, 15 characters]\n[secret THERE_TOKEN, 18 characters]\n\
         [secret THERE_TOKEN, 24 characters]\n",
        "the last one as it is written in base64"
    );
    let shown = ask(&["--set", "secrets.output=show", "echo $THERE_TOKEN"]);
    assert_eq!(
        shown.trim(),
        THERE,
        "what the configuration says holds there"
    );
    // What is stored there, in several parts; the last one begins in the middle of one that only
    // this side knows.
    let script = "for i in $(seq 1 20); do seq 1 20000; echo $THERE_TOKEN; echo $HERE_TOKEN; done";
    let reply: Value = serde_json::from_str(&ask(&["--json", script])).unwrap();
    let text = reply["text"].as_str().unwrap();
    assert!(!text.contains(THERE) && !text.contains(HERE), "{text}");
    let lines: Vec<String> = (1..=20_000).map(|line| format!("{line}\n")).collect();
    let lines = lines.concat();
    let marks = "[secret THERE_TOKEN, 18 characters]\n[secret HERE_TOKEN, 15 characters]\n";
    let expected = [&*lines, marks].concat().repeat(20);
    let id = reply["artifact"].as_str().unwrap();
    let read = crate::bashd(&home, &["artifact", "read", id]);
    let read = read.env("HERE_TOKEN", HERE).run().out();
    assert_eq!(read.len(), expected.len(), "{reply}");
    assert!(read == expected, "another text");
    // What is brought here has stars where the place does not tell.
    let reply: Value =
        serde_json::from_str(&ask(&["--json", "seq 1 20000; echo $THERE_TOKEN"])).unwrap();
    let id = reply["artifact"].as_str().unwrap();
    let read = crate::shown(&home, &["artifact", "read", id, "--tail", "1"]).out();
    assert_eq!(read.trim(), "*".repeat(THERE.len()));
    begin(&home, &["echo $THERE_TOKEN; sleep 60"]);
    let waited = jobs(&home, &["wait", "there:bg_1", "--regex", "secret"]);
    assert_eq!(waited.code(), Some(0), "{}", waited.out());
    let output = jobs(&home, &["output", "there:bg_1"]).out();
    assert_eq!(output.trim(), "[secret THERE_TOKEN, 18 characters]");
    assert_eq!(jobs(&home, &["kill", "there:bg_1"]).code(), Some(0));
}

#[test]
fn secrets_of_there_are_in_no_live_output() {
    let home = Home::new().keeping_in_state(&["outpost"]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine = engine_with(&home, &with_credential(), |_| {});
        let script = "for i in 1 2 3; do echo a $THERE_TOKEN b; sleep 0.2; done";
        let request = Request::new(script).profile("default").on("there");
        let mut run = engine.stream(Call::from(request));
        let mut live = String::new();
        while let Some(event) = run.next().await {
            if let Event::Output { text, .. } = event {
                live.push_str(&text);
            }
        }
        assert_eq!(live, "a [secret THERE_TOKEN, 18 characters] b\n".repeat(3));
    });
}

#[test]
fn a_console_runs_its_commands_at_its_place() {
    let script = "export ONLY_THERE=7; exec \"$@\"";
    let carrier = [&["sh", "-c", script, "sh"], &carrier()[..]].concat();
    let home = home_with(&carrier, "").keeping_in_state(&["outpost", "places", "runs"]);
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    tmux.line(&format!(
        "{} console --on there",
        env!("CARGO_BIN_EXE_bashd")
    ));
    tmux.command("!echo it is $((ONLY_THERE * 6)); cd /usr; kept=1");
    tmux.until("\nit is 42\n");
    tmux.command("!echo $PWD, $((kept + 1))");
    tmux.until("\n/usr, 2\n");
    tmux.command("echo a call with $((ONLY_THERE + 1))");
    tmux.until("\na call with 8\n");
    tmux.command("!exit 3");
    tmux.until("Exit: 3");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
    let reply = reply_of(&on(&home, &["--json", "exit 5"]).run());
    assert_eq!(reply["exit_code"], 5, "{reply}");
}
