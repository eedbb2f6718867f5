//! Deadlines, cancelling and lost keepers: what ends, what stays, and that the next call works.

use super::Session;
use crate::engine_under_test::engine;
use crate::profile_under_test::{end, process, running, wait_until_nothing_runs};
use bashd::{Call, CancellationToken, Event, Request};
use bashd_testkit::Home;
use std::time::{Duration, Instant};

/// Finds the keeper's pid where the guard, which denies `kill $PPID`, can't see it coming.
const FIND_KEEPER: &str = "read -r _ _ _ keeper _ < /proc/$$/stat";

/// A server that says so when it is there, and nothing more.
const SERVER: &str = "sleep 300 >/dev/null 2>&1 & echo $!";

#[tokio::test]
async fn a_timeout_leaves_the_server_of_an_earlier_call() {
    let home = Home::new();
    let session = Session::new(&home);
    let server = session.run(SERVER).await;
    let pid: i32 = server.output.trim().parse().expect("a pid");
    for _ in 0..3 {
        session.output("true").await;
    }
    let hog = "x=1; sleep 60 & setsid sleep 60 & (trap '' TERM; sleep 60) & echo ready; sleep 60";
    let request = session.request(hog).timeout(Duration::from_secs(3));
    let begun = Instant::now();
    let reply = session.engine.run(request).await;
    assert!(reply.timed_out && reply.output == "ready\n", "{reply:?}");
    assert_eq!(
        reply.session_reset.as_deref(),
        Some("the command timed out")
    );
    assert!(
        begun.elapsed() < Duration::from_secs(25),
        "{:?}",
        begun.elapsed()
    );
    assert!(process(pid).is_some(), "the server of call 1 is gone");
    let left: Vec<_> = running(&home);
    assert_eq!(left.len(), 1, "only the server: {left:?}");
    assert_eq!(session.output("echo \"[$x]\"").await, "[]\n");
    end(&server);
}

#[tokio::test]
async fn state_is_reset_after_abort_and_the_session_is_restored() {
    let home = Home::new();
    let session = Session::new(&home);
    session.output("x=1").await;
    let token = CancellationToken::new();
    let call = session.request("sleep 60 & echo ready; sleep 60");
    let mut running_call = session
        .engine
        .stream(Call::from(call).cancel_by(token.clone()));
    let reply = loop {
        match running_call.next().await.expect("an event") {
            Event::Output { text, .. } if text.contains("ready") => token.cancel(),
            Event::Finished(reply) => break *reply,
            _ => {}
        }
    };
    assert!(reply.cancelled, "{reply:?}");
    assert_eq!(
        reply.session_reset.as_deref(),
        Some("the command was cancelled")
    );
    assert_eq!(running(&home), []);
    assert_eq!(session.output("echo \"[$x]\"; y=2").await, "[]\n");
    assert_eq!(session.output("echo $y").await, "2\n");
}

#[tokio::test]
async fn a_dropped_future_ends_its_command_and_the_next_call_works() {
    let home = Home::new();
    let session = Session::new(&home);
    session.output("x=1").await;
    let mut call = session
        .engine
        .stream(session.request("echo ready; sleep 60"));
    while !matches!(call.next().await, Some(Event::Output { .. })) {}
    drop(call);
    // Until the keeper has cleaned up the call runs in a shell of its own; both are right.
    let reply = session.run("echo \"[$x]\"").await;
    assert_eq!(reply.output, "[]\n", "{reply:?}");
    wait_until_the_session_keeps(&session).await;
    assert_eq!(running(&home).len(), 1, "only the session's shell");
}

/// Waits until the key is out of quarantine.
async fn wait_until_the_session_keeps(session: &Session) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        session.run("marked=yes").await;
        if session.run("echo $marked").await.output == "yes\n" {
            return;
        }
    }
    panic!("the session never came back");
}

#[tokio::test]
async fn returns_promptly_and_quarantines_the_key_when_clean_up_stalls() {
    let home = Home::new();
    let session = Session::new(&home);
    let request = session.request(&format!(
        "echo $PPID >keeper; {FIND_KEEPER}; kill -STOP $keeper; sleep 60"
    ));
    let begun = Instant::now();
    let reply = session
        .engine
        .run(request.timeout(Duration::from_secs(3)))
        .await;
    let elapsed = begun.elapsed();
    assert!(reply.timed_out, "{reply:?}");
    assert!(
        elapsed >= Duration::from_secs(8) && elapsed < Duration::from_secs(30),
        "{elapsed:?}"
    );
    let aside = session.run("echo $$").await;
    assert!(aside.text.contains("being cleaned up"), "{}", aside.text);
    let keeper = std::fs::read_to_string(home.workspace().join("keeper")).expect("a pid");
    let keeper = keeper.trim().parse().expect("a pid");
    let keeper = rustix::process::Pid::from_raw(keeper).expect("a pid");
    rustix::process::kill_process(keeper, rustix::process::Signal::CONT).expect("a keeper");
    wait_until_the_session_keeps(&session).await;
}

#[tokio::test]
async fn a_killed_keeper_is_told_and_the_next_call_works() {
    let home = Home::new();
    let session = Session::new(&home);
    session.output("x=1").await;
    let kill = format!("echo before; {FIND_KEEPER}; kill -9 $keeper; sleep 60");
    let reply = session.run(&kill).await;
    assert!(reply.error.is_some(), "{reply:?}");
    let next = session.run("echo \"[$x]\"").await;
    assert_eq!(
        (&*next.output, next.exit_code),
        ("[]\n", Some(0)),
        "{next:?}"
    );
    // Where it was killed before it could say that the command runs, the next reply tells it.
    let told = reply.session_reset.or(next.session_reset);
    assert_eq!(told.as_deref(), Some("its keeper was lost"));
}

#[tokio::test]
async fn a_shell_killed_between_two_calls_is_told_by_the_next() {
    let home = Home::new();
    let session = Session::new(&home);
    let pid: i32 = session
        .output("x=1; echo $$")
        .await
        .trim()
        .parse()
        .expect("a pid");
    process(pid).expect("the shell").kill();
    process(pid).inspect(|shell| shell.wait_for_end(Duration::from_secs(10)));
    let reply = session.run("echo \"[$x]\"").await;
    assert_eq!(
        (&*reply.output, reply.exit_code),
        ("[]\n", Some(0)),
        "{reply:?}"
    );
    let told = reply.session_reset.as_deref();
    assert_eq!(told, Some("its shell was killed by signal 9"));
}

#[tokio::test]
async fn an_engine_that_goes_takes_its_sessions_and_leaves_their_servers() {
    let home = Home::new();
    let server = {
        let engine = engine(&home);
        let session = Session::on(&engine, "one");
        Session::on(&engine, "two").output("trap '' TERM HUP").await;
        session.run(SERVER).await
    };
    let pid: i32 = server.output.trim().parse().expect("a pid");
    let begun = Instant::now();
    while running(&home).len() > 1 && begun.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(
        running(&home)
            .iter()
            .map(|left| left.pid)
            .collect::<Vec<_>>(),
        [pid]
    );
    end(&server);
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn survivors_are_ended_where_the_configuration_says_so_and_the_shell_stays() {
    let home = Home::new();
    let mut config = engine(&home).config().clone();
    config.survivors = Some(bashd::plan::Survivors::End);
    let surroundings = bashd::Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    let engine =
        bashd::Engine::new(config, surroundings, bashd::KeeperSource::Hook).expect("an engine");
    let session = Session::on(&engine, "one");
    let reply = session.run("x=1; sleep 60 & setsid sleep 60 & true").await;
    assert_eq!(
        (reply.exit_code, reply.session_reset.clone()),
        (Some(0), None),
        "{reply:?}"
    );
    assert_eq!(reply.left_behind, []);
    assert_eq!(session.output("echo $x").await, "1\n");
    assert_eq!(running(&home).len(), 1, "only the shell");
}

#[tokio::test]
async fn nothing_of_a_session_is_left_by_one_shot_calls_beside_it() {
    let home = Home::new();
    let session = Session::new(&home);
    session.output("x=1").await;
    let alone = session.engine.run(Request::new("echo \"[$x]\"")).await;
    assert_eq!(alone.output, "[]\n");
    assert_eq!(alone.session_reset, None);
}
