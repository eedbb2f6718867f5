//! `openhands`: commands that outlast their calls, or never stop writing: no call waits for ever,
//! every end is found, and others see what runs.

use super::call;
use crate::profile_under_test::{
    Contract, copy_profile, engine_with_own_profiles, records, running, wait_until_nothing_runs,
};
use bashd::Reply;
use bashd::config::Config;
use bashd::feed::{FeedEvent, FeedReader};
use bashd::jobs::{Job, Jobs};
use bashd::ledger::{Record, RecordedOutcome};
use bashd_testkit::Home;
use serde_json::json;
use std::time::{Duration, Instant};

/// How long anything may take that is not to take for ever.
const PATIENCE: Duration = Duration::from_secs(30);

async fn run(contract: &Contract, command: &str) -> Reply {
    call(contract, json!({ "command": command })).await
}

/// A command that outlasts its call.
async fn outlasting(contract: &Contract, command: &str) {
    let reply = call(contract, json!({"command": command, "timeout": 0.5})).await;
    assert!(reply.text.contains("timed out after 0.5"), "{}", reply.text);
}

/// Waits until this is so, and returns it.
async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>, what: &str) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The runs that others see.
async fn seen(home: &Home) -> Vec<Job> {
    Jobs::new(&Config::new(home.state())).running().await
}

/// The calls of this command that the feed knows, and how they ended.
fn in_feed(home: &Home, command: &str) -> Vec<Option<RecordedOutcome>> {
    let feed = Config::new(home.state()).feed_dir();
    let batch = FeedReader::new(feed).read().expect("a feed");
    let mut calls: Vec<(String, Option<RecordedOutcome>)> = Vec::new();
    for (_, record) in batch.records {
        match record.event {
            FeedEvent::Begun(begun) if begun.command == command => calls.push((record.id, None)),
            FeedEvent::Ended(ended) => {
                let call = calls.iter_mut().find(|(id, _)| *id == record.id);
                if let Some((_, outcome)) = call {
                    *outcome = Some(ended.outcome);
                }
            }
            _ => {}
        }
    }
    calls.into_iter().map(|(_, outcome)| outcome).collect()
}

/// The records of this command.
fn recorded(home: &Home, command: &str) -> Vec<Record> {
    let mut records = records(home);
    records.retain(|record| record.command == command);
    records
}

#[tokio::test]
async fn o_21_who_never_stops_writing_keeps_no_call_waiting() {
    let home = Home::new();
    let words = [
        ("longest_s = 240", "longest_s = 2"),
        ("silence_s = 30", "silence_s = 1"),
    ];
    copy_profile(&home, "openhands", "quick", &words);
    let engine = engine_with_own_profiles(&home, home.workspace());
    let quick = Contract::on(&engine, "quick");
    // One writes now and then, the other as much as it can.
    for writer in ["while sleep 0.2; do echo more; done", "yes"] {
        let begun = Instant::now();
        let reply = run(&quick, writer).await;
        assert!(
            begun.elapsed() < PATIENCE,
            "{writer}: {:?}",
            begun.elapsed()
        );
        let says = "\n[The command timed out after 2.0 seconds. You may wait longer";
        assert!(reply.text.contains(says), "{writer}: {}", reply.text);
        // Reading on and typing at it have the same bound.
        let again = run(&quick, "").await;
        assert!(again.text.contains(says), "{writer}: {}", again.text);
        let key = json!({"command": "C-c", "is_input": true});
        let ended = call(&quick, key).await;
        assert!(
            ended.text.contains("CTRL+C was sent."),
            "{writer}: {}",
            ended.text
        );
    }
    assert_eq!(run(&quick, "echo next").await.exit_code, Some(0));
}

#[tokio::test]
async fn o_22_an_end_is_found_though_a_flood_follows_it() {
    let home = Home::new();
    let openhands = Contract::new(&home, "openhands");
    // The flood begins once nobody looks: it pushes the mark of the end out of what is kept.
    let command = "until [ -e go ]; do sleep 0.05; done; (until [ -e stop ]; do head -c 60000000 /dev/zero | tr '\\0' x; touch flooded; done &) ; (exit 6)";
    outlasting(&openhands, command).await;
    std::fs::write(home.workspace().join("go"), "").unwrap();
    let flooded = home.workspace().join("flooded");
    until(async || flooded.exists().then_some(()), "the flood").await;
    let next = until(
        async || {
            let reply = run(&openhands, "echo new").await;
            (!reply.text.contains("NOT executed")).then_some(reply)
        },
        "the end of the first command",
    )
    .await;
    assert_eq!(next.exit_code, Some(0), "{}", next.text);
    std::fs::write(home.workspace().join("stop"), "").unwrap();
    let ends = recorded(&home, command);
    assert_eq!(ends.last().and_then(|record| record.exit_code), Some(6));
}

#[tokio::test]
async fn o_23_what_goes_on_is_seen_by_others_and_its_end_is_recorded() {
    let home = Home::new();
    let openhands = Contract::new(&home, "openhands");
    let command = "echo a; until [ -e go ]; do sleep 0.05; done; (exit 7)";
    outlasting(&openhands, command).await;
    let look = async || seen(&home).await.into_iter().next();
    let job = until(look, "the run").await;
    assert_eq!(job.command, command);
    assert_eq!(in_feed(&home, command), [None]);
    let [call_record] = &recorded(&home, command)[..] else {
        panic!("one record of the call");
    };
    assert_eq!(call_record.outcome, RecordedOutcome::GoesOn);
    assert_eq!(job.id, call_record.id);
    // Nobody calls; all the same its end is known.
    std::fs::write(home.workspace().join("go"), "").unwrap();
    let look = async || recorded(&home, command).get(1).cloned();
    let end = until(look, "the end's record").await;
    assert_eq!(
        (end.outcome, end.exit_code),
        (RecordedOutcome::Exited, Some(7))
    );
    assert_eq!(end.job.as_ref(), Some(&call_record.id));
    assert_eq!(in_feed(&home, command), [Some(RecordedOutcome::Exited)]);
    until(
        async || seen(&home).await.is_empty().then_some(()),
        "it is gone",
    )
    .await;
    // The model still learns of it, once.
    let read = run(&openhands, "").await;
    assert_eq!(read.exit_code, Some(7), "{}", read.text);
    assert_eq!(recorded(&home, command).len(), 2);
}

#[tokio::test]
async fn o_24_others_can_end_what_goes_on_and_a_reset_is_recorded() {
    let home = Home::new();
    let openhands = Contract::new(&home, "openhands");
    outlasting(&openhands, "sleep 1000").await;
    let look = async || seen(&home).await.into_iter().next();
    let job = until(look, "the run").await;
    let jobs = Jobs::new(&Config::new(home.state()));
    jobs.kill(&job).await.expect("it is ended");
    wait_until_nothing_runs(&home);
    let look = async || recorded(&home, "sleep 1000").get(1).cloned();
    let end = until(look, "the end's record").await;
    // TERM ends the command, whose shell still reports it.
    let how = (end.outcome, end.exit_code);
    assert_eq!(how, (RecordedOutcome::Exited, Some(143)));
    assert_eq!(run(&openhands, "echo back").await.exit_code, Some(0));
    // What is typed is not recorded, only that something was.
    outlasting(&openhands, "sleep 2000").await;
    call(
        &openhands,
        json!({"command": "hunter2", "is_input": true, "timeout": 0.1}),
    )
    .await;
    call(&openhands, json!({"command": "", "reset": true})).await;
    assert!(running(&home).is_empty());
    let all = records(&home);
    let outcome = |command: &str| {
        let found = all.iter().rfind(|record| record.command == command);
        found.map(|record| record.outcome)
    };
    assert_eq!(outcome("terminal send"), Some(RecordedOutcome::Managed));
    assert_eq!(outcome("terminal reset"), Some(RecordedOutcome::Managed));
    assert_eq!(outcome("sleep 2000"), Some(RecordedOutcome::Cancelled));
    assert!(!format!("{all:?}").contains("hunter2"));
}

#[tokio::test]
async fn o_25_a_socket_as_stdin_has_no_shell_read_the_users_rc() {
    let home = Home::new();
    std::fs::write(home.home().join(".bashrc"), "export FROM_RC=yes\n").unwrap();
    let openhands = Contract::new(&home, "openhands");
    let reply = run(&openhands, "echo \"rc=$FROM_RC\"; cat <&0 & wait $!").await;
    assert!(reply.text.starts_with("rc=\n"), "{}", reply.text);
}
