//! `default`, end to end: directory, environment, stdin, limits, the window, what is left running.

use crate::profile_under_test::{Contract, end, process, records, running};
use bashd::ledger::RecordedOutcome;
use bashd::{Call, CancellationToken, LeftReason, Request};
use bashd_testkit::Home;
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

fn default(home: &Home) -> Contract {
    Contract::new(home, "default")
}

#[tokio::test]
async fn a_request_without_a_profile_gets_the_default_one() {
    let home = Home::new();
    let reply = default(&home).engine.run(Request::new("echo hi")).await;
    assert_eq!(reply.text, "hi\n");
    let records = records(&home);
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].profile, "default");
}

#[tokio::test]
async fn the_directory_of_a_call_is_where_it_runs() {
    let home = Home::new();
    let default = default(&home);
    let below = home.workspace().join("below");
    fs::create_dir(&below).expect("a directory");
    let shown = |path: &std::path::Path| format!("{}\n", path.display());
    assert_eq!(default.text("pwd").await, shown(&home.workspace()));
    for cwd in [
        "below".to_owned(),
        "./below".to_owned(),
        below.display().to_string(),
    ] {
        let input = json!({"command": "pwd -P", "cwd": cwd}).to_string();
        assert_eq!(default.json(&input).await.text, shown(&below), "{cwd}");
    }
    let reply = default.json(r#"{"command":"pwd","cwd":"gone"}"#).await;
    let gone = home.workspace().join("gone");
    let expected = format!(
        "Error: working directory does not exist: {}",
        gone.display()
    );
    assert_eq!((reply.text, reply.is_error), (expected, true));
}

#[tokio::test]
async fn variables_of_a_call_win_over_the_inherited_ones() {
    let home = Home::new();
    let default = default(&home);
    let input = r#"{"command":"echo \"$NEW|$LANG|$EMPTY\"; env | grep -c ^LANG=",
        "env":{"NEW":"a \"b\" $c\nd","LANG":"C","EMPTY":""}}"#;
    assert_eq!(default.json(input).await.text, "a \"b\" $c\nd|C|\n1\n");
    let twice = default
        .request("echo $X")
        .env("X", "first")
        .env("X", "second");
    assert_eq!(default.engine.run(twice).await.text, "second\n");
    assert_eq!(
        default.text("echo ${NEW-unset} $LANG").await,
        "unset C.UTF-8\n"
    );
}

#[tokio::test]
async fn stdin_is_what_was_given_and_else_nothing() {
    let home = Home::new();
    let default = default(&home);
    let input = r#"{"command":"cat","stdin":"two\nlines"}"#;
    assert_eq!(default.json(input).await.text, "two\nlines");
    assert_eq!(default.text("cat").await, "[no output]");
    let empty = default.request("read x; echo $?").stdin("");
    assert_eq!(default.engine.run(empty).await.text, "1\n");
    // Bytes of any kind, more than a pipe holds, read by nobody or in part.
    let bytes: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    let count = default.request("wc -c").stdin(bytes.clone());
    assert_eq!(default.engine.run(count).await.text, "3000000\n");
    for command in ["true", "head -c 1 >/dev/null"] {
        let request = default.request(command).stdin(bytes.clone());
        assert_eq!(default.engine.run(request).await.text, "[no output]");
    }
}

#[tokio::test]
async fn a_timeout_out_of_range_is_moved_and_told() {
    let home = Home::new();
    let default = default(&home);
    for (timeout, notice, held) in [
        ("99999", "timeout lowered to 3600 s, the maximum", 3600.0),
        ("1e300", "timeout lowered to 3600 s, the maximum", 3600.0),
        ("0", "timeout raised to 1 s, the minimum", 1.0),
        ("-5", "timeout raised to 1 s, the minimum", 1.0),
    ] {
        let input = format!(r#"{{"command":"echo hi","timeout":{timeout}}}"#);
        let reply = default.json(&input).await;
        assert_eq!(reply.text, format!("hi\n[bashd: {notice}]"));
        assert_eq!(reply.result["notices"], json!([notice]));
        assert_eq!(reply.result["timeout_s"], json!(held));
        assert!(!reply.is_error);
    }
    let within = default.json(r#"{"command":"echo hi","timeout":2.5}"#).await;
    assert_eq!(within.text, "hi\n");
    assert_eq!(within.result["timeout_s"], json!(2.5));
    let unsaid = default.run("echo hi").await;
    assert_eq!(unsaid.result["timeout_s"], json!(120.0));
}

#[tokio::test]
async fn a_timeout_ends_the_tree_and_is_data() {
    let home = Home::new();
    let default = default(&home);
    let started = Instant::now();
    let input = r#"{"command":"echo part; sleep 60 & sleep 60","timeout":3}"#;
    let reply = default.json(input).await;
    assert!(started.elapsed() >= Duration::from_secs(3));
    assert_eq!(reply.text, "part\n[timed out after 3 s and was ended]");
    assert!(reply.timed_out && reply.is_error && reply.error.is_none());
    assert_eq!(reply.result["timed_out"], true);
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn output_is_in_true_order_and_outcomes_are_short_lines() {
    let home = Home::new();
    let default = default(&home);
    for (command, text) in [
        (
            "for i in 1 2 3; do echo o$i; echo e$i >&2; done",
            "o1\ne1\no2\ne2\no3\ne3\n",
        ),
        ("true", "[no output]"),
        ("printf hi; exit 3", "hi\n[exit code 3]"),
        ("kill -9 $$", "[killed by signal 9, SIGKILL]"),
        ("printf '\\377x'", "\u{FFFD}x"),
    ] {
        assert_eq!(default.text(command).await, text, "{command}");
    }
}

#[tokio::test]
async fn a_real_flood_shows_its_ends_and_exact_counts() {
    let home = Home::new();
    let reply = default(&home).run("seq -w 1 1000000").await;
    let line = |number: u32| format!("{number:07}\n");
    let head: String = (1..=1024).map(line).collect();
    let tail: String = (1_000_000 - 3071..=1_000_000).map(line).collect();
    let (bytes, lines) = (8_000_000 - 32_768, 1_000_000 - 4096);
    let omission = "\n[bashd: 7967232 bytes (995904 lines) left out here; \
         the output is stored as artifact://0]\n";
    assert!(reply.text == head + omission + &tail);
    assert_eq!(
        (reply.output_bytes, reply.output_lines),
        (8_000_000, 1_000_000)
    );
    assert_eq!(reply.result["omitted_bytes"], bytes);
    assert_eq!(reply.result["omitted_lines"], lines);
    assert_eq!(reply.dropped_bytes, 0);
}

#[tokio::test]
async fn only_the_default_profile_tells_the_command_its_run() {
    let home = Home::new();
    let default = default(&home);
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(default.text("echo $BASHD_RUN").await.trim().to_owned());
    }
    let recorded: Vec<String> = records(&home).into_iter().map(|record| record.id).collect();
    assert_eq!(ids, recorded);
    assert_ne!(ids[0], ids[1]);
    for profile in ["voice", "harness", "phoenix"] {
        let contract = Contract::on(&default.engine, profile);
        let reply = contract.run("echo ${BASHD_RUN-unset}").await;
        assert_eq!(reply.output, "unset\n", "{profile}");
    }
}

#[tokio::test]
async fn what_is_left_running_is_listed_and_stays() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let default = default(&home);
    let reply = default.run("sleep 60 & echo $!").await;
    let pid: i32 = reply.output.trim().parse().expect("a pid");
    let [left] = reply.left_behind.as_slice() else {
        panic!("{reply:?}")
    };
    assert_eq!((left.pid, left.reason), (pid, LeftReason::Survivor));
    // On a busy machine it may still be a copy of the shell, whose command line also says it.
    let line = format!("{pid}\n[left running as job bg_1: process {pid}, ");
    let text = &reply.text;
    assert!(
        text.starts_with(&line) && text.contains("sleep 60"),
        "{text}"
    );
    assert!(
        text.ends_with("]\n[next: job output bg_1 or job kill bg_1]"),
        "{text}"
    );
    assert!(process(pid).is_some());
    assert_eq!(default.text("echo next").await, "next\n");
    assert!(process(pid).is_some());
    end(&reply);
}

#[tokio::test]
async fn every_call_has_one_record_whatever_became_of_it() {
    let home = Home::new();
    let default = default(&home);
    default.run("echo hi").await;
    default.run("kill -9 $$").await;
    default.json("{bad").await;
    let gone = default.request("true").cwd("gone");
    default.engine.run(gone).await;
    default.json(r#"{"command":"sleep 60","timeout":1}"#).await;
    Contract::on(&default.engine, "nope").run("true").await;
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let call = Call::from(default.request("true")).cancel_by(cancelled);
    default.engine.run(call).await;
    let outcomes: Vec<RecordedOutcome> =
        records(&home).iter().map(|record| record.outcome).collect();
    let expected = [
        RecordedOutcome::Exited,
        RecordedOutcome::Signalled,
        RecordedOutcome::Refused,
        RecordedOutcome::Failed,
        RecordedOutcome::TimedOut,
        RecordedOutcome::Refused,
        RecordedOutcome::Cancelled,
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(default.engine.take_warnings(), [""; 0]);
}

#[tokio::test]
async fn the_reply_says_how_long_it_took() {
    let home = Home::new();
    let reply = default(&home).run("sleep 0.2").await;
    assert!((200..60_000).contains(&reply.wall_ms), "{}", reply.wall_ms);
}
