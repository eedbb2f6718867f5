//! Cancelling a call at every stage, and dropping its future: whatever the command did, its tree
//! ends.

use crate::engine_under_test::engine;
use crate::profile_under_test::{
    Contract, copy_profile, end, engine_with_own_profiles, process, records, running,
    wait_until_nothing_runs,
};
use bashd::ledger::RecordedOutcome;
use bashd::{Call, CancellationToken, Engine, Event, Reply, Request, Running};
use bashd_testkit::{Home, repetitions};
use std::time::{Duration, Instant};

/// What a tree that obeys TERM may take to end, on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// A tree of several sessions; says `ready` when it is there.
const TREE: &str = "sleep 60 & setsid sleep 60 & (sleep 60 & sleep 60) & echo ready; wait";

/// The same, and nothing of it reacts to TERM.
const STUBBORN: &str = "trap '' TERM; sleep 60 & setsid sleep 60 & echo ready; \
    while :; do sleep 60; done";

/// A call that can be cancelled, heard until it said `ready`; and its shell's pid.
async fn ready(engine: &Engine, request: Request) -> (Running, CancellationToken, i32) {
    let token = CancellationToken::new();
    let mut call = engine.stream(Call::from(request).cancel_by(token.clone()));
    let mut shell = 0;
    loop {
        match call.next().await.expect("more events") {
            Event::Started { pid } => shell = pid,
            Event::Output { text, .. } if text.contains("ready\n") => return (call, token, shell),
            Event::Output { .. } => {}
            other => panic!("not ready: {other:?}"),
        }
    }
}

/// Hears a call to its end.
async fn finished(mut call: Running) -> Reply {
    loop {
        if let Event::Finished(reply) = call.next().await.expect("more events") {
            return *reply;
        }
    }
}

#[tokio::test]
async fn cancelled_before_the_start_nothing_runs() {
    let home = Home::new();
    let engine = engine(&home);
    for (profile, text) in [
        ("voice", "Error: Command was cancelled before it started"),
        ("harness", r#"{"error":"command cancelled"}"#),
        ("phoenix", "[command cancelled]"),
        ("default", "Error: cancelled before it started"),
    ] {
        let token = CancellationToken::new();
        token.cancel();
        let request = Contract::on(&engine, profile).request("touch ran");
        let reply = engine.run(Call::from(request).cancel_by(token)).await;
        assert_eq!(reply.text, text);
        assert!(reply.cancelled && reply.is_error && reply.error.is_none());
    }
    assert!(!home.workspace().join("ran").exists());
}

#[tokio::test]
async fn cancelled_while_running_the_tree_ends_and_the_output_stays() {
    let home = Home::new();
    let engine = engine(&home);
    for (profile, text, is_error) in [
        (
            "voice",
            "ready\n\n[Process was cancelled and terminated]\n[Exit code: 143]",
            false,
        ),
        (
            "harness",
            r#"{"error":"command cancelled\n\nready\n"}"#,
            true,
        ),
        ("phoenix", "[command cancelled]\nready\n", true),
        ("default", "ready\n[cancelled and ended]", true),
    ] {
        let request = Contract::on(&engine, profile).request(TREE);
        let (call, token, _) = ready(&engine, request).await;
        let cancelled_at = Instant::now();
        token.cancel();
        let reply = finished(call).await;
        assert!(cancelled_at.elapsed() < SOON, "{profile}");
        assert_eq!((reply.text.as_str(), reply.is_error), (text, is_error));
        assert!(reply.cancelled && !reply.timed_out, "{profile}");
        assert_eq!(running(&home), [], "{profile}");
    }
}

#[tokio::test]
async fn cancelled_what_ignores_term_is_killed_after_the_grace() {
    let home = Home::new();
    let engine = engine(&home);
    let (call, token, _) = ready(&engine, Request::new(STUBBORN)).await;
    let cancelled_at = Instant::now();
    token.cancel();
    let reply = finished(call).await;
    let elapsed = cancelled_at.elapsed();
    assert!(elapsed >= Duration::from_secs(2), "{elapsed:?}");
    assert!(elapsed < Duration::from_secs(2) + SOON, "{elapsed:?}");
    assert_eq!((reply.signal, reply.cancelled), (Some(9), true));
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn cancelled_in_the_middle_of_a_flood() {
    let home = Home::new();
    let engine = engine(&home);
    let request = Request::new("echo ready; yes").timeout(Duration::from_mins(1));
    let (call, token, _) = ready(&engine, request).await;
    let cancelled_at = Instant::now();
    token.cancel();
    let reply = finished(call).await;
    let elapsed = cancelled_at.elapsed();
    assert!(reply.cancelled, "{}", reply.output_bytes);
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
}

/// `default` with a drain so long that a test can do something in it.
fn slowly_draining(home: &Home) -> Contract {
    let words = [
        ("drain_silence_ms = 20", "drain_silence_ms = 50000"),
        ("drain_total_ms = 100", "drain_total_ms = 50000"),
    ];
    copy_profile(home, "default", "draining", &words);
    let engine = engine_with_own_profiles(home, home.workspace());
    Contract::on(&engine, "draining")
}

/// A call whose shell has exited while something of its tree lives.
async fn draining(contract: &Contract) -> (Running, CancellationToken) {
    let request = contract.request("sleep 60 & echo ready");
    let (call, token, shell) = ready(&contract.engine, request).await;
    if let Some(shell) = process(shell) {
        shell.wait_for_end(Duration::from_secs(10));
    }
    assert_eq!(process(shell), None);
    (call, token)
}

#[tokio::test]
async fn cancelled_while_draining_what_was_left_ends_as_well() {
    let home = Home::new();
    let contract = slowly_draining(&home);
    let (call, token) = draining(&contract).await;
    assert_eq!(running(&home).len(), 1);
    token.cancel();
    let reply = finished(call).await;
    assert_eq!(reply.text, "ready\n[cancelled and ended]");
    assert_eq!((reply.exit_code, reply.cancelled), (Some(0), true));
    assert_eq!(reply.left_behind, []);
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn dropped_while_draining_what_was_left_ends_as_well() {
    let home = Home::new();
    let contract = slowly_draining(&home);
    let (call, _) = draining(&contract).await;
    assert_eq!(running(&home).len(), 1);
    drop(call);
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn cancelled_after_the_reply_survivors_stay() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let engine = engine(&home);
    let token = CancellationToken::new();
    let call = Call::from(Request::new("sleep 60 & echo ready")).cancel_by(token.clone());
    let reply = engine.run(call).await;
    token.cancel();
    assert!(!reply.cancelled);
    // The engine works on, and would have heard it by now.
    assert_eq!(engine.run(Request::new("echo next")).await.output, "next\n");
    let left = reply.left_behind.first().expect("a survivor");
    assert!(process(left.pid).is_some());
    end(&reply);
}

#[tokio::test]
async fn dropping_a_stream_ends_its_tree() {
    let home = Home::new();
    let engine = engine(&home);
    for tree in [TREE, STUBBORN] {
        let (call, _, shell) = ready(&engine, Request::new(tree)).await;
        assert!(process(shell).is_some());
        drop(call);
        wait_until_nothing_runs(&home);
    }
    assert_eq!(engine.run(Request::new("echo next")).await.output, "next\n");
}

#[tokio::test]
async fn dropping_a_run_ends_its_tree() {
    let home = Home::new();
    let engine = engine(&home);
    let is_there = home.workspace().join("ready");
    let command = "sleep 60 & setsid sleep 60 & touch ready; wait";
    let mut call = Box::pin(engine.run(Request::new(command)));
    while !is_there.exists() {
        let turn = tokio::time::timeout(Duration::from_millis(5), &mut call).await;
        assert!(turn.is_err(), "{turn:?}");
    }
    assert!(!running(&home).is_empty());
    drop(call);
    wait_until_nothing_runs(&home);
    assert_eq!(engine.run(Request::new("echo next")).await.output, "next\n");
}

#[tokio::test]
async fn a_dropped_call_has_its_record_too() {
    let home = Home::new();
    let engine = engine(&home);
    let (call, _, _) = ready(&engine, Request::new(TREE).profile("phoenix")).await;
    assert!(!home.state().join("ledger").exists());
    drop(call);
    let [record] = <[_; 1]>::try_from(records(&home)).expect("one record");
    assert_eq!(record.outcome, RecordedOutcome::Cancelled);
    assert_eq!(
        (record.command.as_str(), record.profile.as_str()),
        (TREE, "phoenix")
    );
    assert_eq!(record.cwd, home.workspace().display().to_string());
    // A stream that nobody ever asked for an event is no call.
    drop(engine.stream(Request::new("true")));
    assert_eq!(records(&home).len(), 1);
    wait_until_nothing_runs(&home);
}

/// A moment of a call's life: before the first poll, and later and later.
async fn after(turn: usize) {
    match turn % 8 {
        0 => {}
        few @ 1..4 => {
            for _ in 0..few {
                tokio::task::yield_now().await;
            }
        }
        more => {
            let micros = (turn * 137 % 4000 + 100 * more) as u64;
            tokio::time::sleep(Duration::from_micros(micros)).await;
        }
    }
}

#[tokio::test]
async fn cancelled_at_any_moment_the_reply_is_true_and_nothing_stays() {
    let home = Home::new();
    let engine = engine(&home);
    for turn in 0..repetitions(2000) {
        let token = CancellationToken::new();
        let request = Request::new("echo out; sleep 60");
        let call = Call::from(request).cancel_by(token.clone());
        let (reply, ()) = tokio::join!(engine.run(call), async {
            after(turn).await;
            token.cancel();
        });
        assert!(
            reply.cancelled && reply.error.is_none(),
            "{turn}: {reply:?}"
        );
        assert!(
            ["", "out\n"].contains(&reply.output.as_str()),
            "{turn}: {reply:?}"
        );
    }
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn dropped_at_any_moment_nothing_stays() {
    let home = Home::new();
    let engine = engine(&home);
    for turn in 0..repetitions(2000) {
        let call = engine.run(Request::new("echo out; sleep 60"));
        tokio::select! {
            biased;
            reply = call => panic!("{turn}: {reply:?}"),
            () = after(turn) => {}
        }
    }
    wait_until_nothing_runs(&home);
    assert_eq!(engine.run(Request::new("echo next")).await.output, "next\n");
}
