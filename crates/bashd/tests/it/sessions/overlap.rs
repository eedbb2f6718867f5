//! Two calls of one session at a time, eviction, and engines that make one call.

use super::Session;
use crate::engine_under_test::engine;
use crate::profile_under_test::running;
use bashd::exec::SessionLimits;
use bashd::request::By;
use bashd::{Engine, Event, KeeperSource, Request, Running, Surroundings};
use bashd_testkit::Home;
use std::time::{Duration, Instant};

fn engine_with(home: &Home, limits: SessionLimits) -> Engine {
    let mut config = engine(home).config().clone();
    config.sessions = limits;
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine")
}

#[tokio::test]
async fn overlapping_calls_on_one_key_run_concurrently_in_default() {
    let home = Home::new();
    let session = Session::new(&home);
    session.output("x=1; mkfifo gate").await;
    let mut first = session
        .engine
        .stream(session.request("echo ready; cat gate; x=2"));
    while !matches!(first.next().await, Some(Event::Output { .. })) {}
    let second = session.run("echo \"[$x]\"; echo open >gate").await;
    assert!(
        second.text.contains("busy with another call"),
        "{}",
        second.text
    );
    assert_eq!(second.output, "[]\n");
    let first = loop {
        if let Some(Event::Finished(reply)) = first.next().await {
            break reply;
        }
    };
    assert_eq!(
        (&*first.output, first.session_reset.clone()),
        ("ready\nopen\n", None)
    );
    assert_eq!(session.output("echo $x").await, "2\n");
}

#[tokio::test]
async fn the_owner_is_usable_after_an_overlapping_call_times_out() {
    let home = Home::new();
    let session = Session::new(&home);
    session.output("x=1; mkfifo gate").await;
    let mut first = session
        .engine
        .stream(session.request("echo ready; cat gate"));
    while !matches!(first.next().await, Some(Event::Output { .. })) {}
    let second = session.request("sleep 60").timeout(Duration::from_secs(1));
    let second = session.engine.run(second).await;
    assert!(
        second.timed_out && second.session_reset.is_none(),
        "{second:?}"
    );
    std::fs::write(home.workspace().join("gate"), "open\n").expect("a gate");
    while let Some(event) = first.next().await {
        if let Event::Finished(reply) = event {
            assert_eq!(reply.output, "ready\nopen\n");
        }
    }
    assert_eq!(session.output("echo $x").await, "1\n");
}

#[tokio::test]
async fn in_pi_a_second_call_waits() {
    let home = Home::new();
    let engine = engine(&home);
    let request = |command: &str| Request::new(command).profile("pi");
    let first = engine.run(request("echo ready; sleep 0.3; x=done"));
    let second = engine.run(request("echo $x"));
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.exit_code, Some(0), "{first:?}");
    assert!(second.output.contains("done"), "{second:?}");
}

#[tokio::test]
async fn in_pi_what_a_person_runs_does_not_wait() {
    let home = Home::new();
    let engine = engine(&home);
    let request = |command: &str| Request::new(command).profile("pi");
    engine.run(request("x=1; mkfifo gate")).await;
    let mut first = engine.stream(request("echo ready; cat gate; cat gate; x=2"));
    while !matches!(first.next().await, Some(Event::Output { .. })) {}
    let mut person = request("echo \"[$x]\"; echo open >gate");
    person.by = By::Person;
    let mut beside = request("echo \"[$x]\"; echo open >gate");
    beside.by = By::Program;
    for own in [person, beside] {
        let reply = engine.run(own).await;
        assert_eq!(reply.output, "[]\n", "{reply:?}");
    }
    while first.next().await.is_some() {}
    assert_eq!(engine.run(request("echo $x")).await.output, "2\n");
}

/// A call that is ready, and whose command goes on until the gate is opened.
async fn held_by(engine: &Engine, by: By) -> Running {
    let mut request = Request::new("echo ready; cat gate; x=2").profile("pi");
    request.by = by;
    let mut running = engine.stream(request);
    while !matches!(running.next().await, Some(Event::Output { .. })) {}
    running
}

#[tokio::test]
async fn in_pi_a_call_waits_for_its_turn_no_longer_than_its_own_time() {
    let home = Home::new();
    let engine = engine(&home);
    let request = |command: &str| Request::new(command).profile("pi");
    engine.run(request("x=1; mkfifo gate")).await;
    // A call is waited for in the line of the session; what a person runs, at its shell.
    for by in [By::Model, By::Person] {
        let mut first = held_by(&engine, by).await;
        let second = Duration::from_secs(1);
        for late in [
            request("touch ran").timeout(second),
            request("touch ran").wait_max(second),
        ] {
            let begun = Instant::now();
            let reply = engine.run(late).await;
            let took = begun.elapsed();
            let words = "the session was busy with earlier calls for 1 s, and nothing was run";
            assert!(reply.is_error && reply.text.contains(words), "{reply:?}");
            assert!(took >= second, "{took:?}");
            assert!(took < Duration::from_secs(20), "{took:?}");
        }
        std::fs::write(home.workspace().join("gate"), "open\n").expect("a gate");
        while first.next().await.is_some() {}
        assert_eq!(engine.run(request("echo $x; x=1")).await.output, "2\n");
    }
    assert!(!home.workspace().join("ran").exists());
}

#[tokio::test]
async fn unused_sessions_are_ended_by_age() {
    let home = Home::new();
    let engine = engine_with(
        &home,
        SessionLimits {
            most: 16,
            idle: Some(Duration::from_millis(200)),
        },
    );
    let session = Session::on(&engine, "one");
    session.output("x=1").await;
    crate::profile_under_test::wait_until_nothing_runs(&home);
    let reply = session.run("echo \"[$x]\"").await;
    assert_eq!(reply.output, "[]\n", "{reply:?}");
    let told = reply.session_reset.as_deref();
    assert_eq!(told, Some("it was idle for too long"));
}

#[tokio::test]
async fn the_longest_unused_makes_room() {
    let home = Home::new();
    let engine = engine_with(
        &home,
        SessionLimits {
            most: 2,
            idle: None,
        },
    );
    let [a, b, c] = ["a", "b", "c"].map(|name| Session::on(&engine, name));
    a.output("x=a").await;
    b.output("x=b").await;
    a.output("true").await;
    c.output("x=c").await;
    assert_eq!(a.output("echo $x").await, "a\n");
    let reply = b.run("echo \"[$x]\"").await;
    assert_eq!(reply.output, "[]\n");
    let told = reply.session_reset.as_deref();
    assert_eq!(told, Some("it made room for other sessions"));
    let begun = std::time::Instant::now();
    while running(&home).len() > 2 && begun.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(running(&home).len(), 2);
}

#[tokio::test]
async fn with_a_limit_of_zero_every_call_has_a_shell_of_its_own() {
    let home = Home::new();
    let engine = engine_with(
        &home,
        SessionLimits {
            most: 0,
            idle: None,
        },
    );
    let session = Session::on(&engine, "one");
    session.output("x=1").await;
    assert_eq!(session.output("echo \"[$x]\"").await, "[]\n");
}

#[tokio::test]
async fn a_bad_name_is_refused() {
    let home = Home::new();
    let engine = engine(&home);
    for name in ["", " ", "a\nb", &"x".repeat(200)] {
        let reply = engine.run(Request::new("true").session(name)).await;
        assert!(
            reply.error.is_some_and(|error| error.contains("`session`")),
            "{name:?}"
        );
    }
}

#[tokio::test]
async fn a_session_that_gave_way_long_ago_still_says_so_when_it_comes_back() {
    /// More than there are seats.
    const OTHERS: usize = 270;
    let home = Home::new();
    let limits = SessionLimits {
        most: 1,
        idle: None,
    };
    let engine = engine_with(&home, limits);
    let run = |name: String| engine.run(Request::new("echo \"[$x]\"; x=1").session(name));
    assert_eq!(run("first".to_owned()).await.session_reset, None);
    for number in 0..OTHERS {
        let reply = run(format!("other-{number}")).await;
        assert_eq!(reply.session_reset, None, "{reply:?}");
    }
    let back = run("first".to_owned()).await;
    assert_eq!(back.output, "[]\n");
    assert!(back.session_reset.is_some(), "{back:?}");
}
