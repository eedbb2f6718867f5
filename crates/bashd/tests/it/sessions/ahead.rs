//! The next call is prepared while nobody waits: whatever call comes then, its reply is right.

use super::Session;
use bashd::{Event, Reply, Request};
use bashd_testkit::Home;
use std::path::Path;
use std::time::{Duration, Instant};

/// Whether this is the file for the text of a call that has not come.
fn is_empty_text(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let is_text = name.contains("/session-") && name.ends_with('t');
    is_text && std::fs::metadata(path).is_ok_and(|found| found.len() == 0)
}

/// Makes a call, and waits until its keeper has prepared the next: the file for its text is there.
async fn prepared(session: &Session) {
    let keeper = session.output("echo $PPID").await;
    let directory = format!("/proc/{}/fd", keeper.trim());
    let has_text = || {
        let links = std::fs::read_dir(&directory).expect("a keeper");
        let mut links = links.flatten().map(|fd| std::fs::read_link(fd.path()));
        links.any(|link| link.is_ok_and(|link| is_empty_text(&link)))
    };
    let begun = Instant::now();
    while !has_text() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "nothing is prepared"
        );
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Waits until the engine was told of the next calls of so many sessions, by the descriptors that
/// are under way to it; those of its spare keeper are as well.
async fn until_told_of(sessions: usize) {
    let mut told = usize::MAX;
    for _ in 0..3000 {
        let infos = std::fs::read_dir("/proc/self/fdinfo").expect("descriptors");
        let infos = infos
            .flatten()
            .flat_map(|info| std::fs::read_to_string(info.path()));
        told = infos.filter(|info| has_descriptors(info)).count();
        if told == sessions + 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{told} sockets have descriptors, not those of {sessions} sessions and of the spare");
}

/// Whether descriptors wait in a socket.
fn has_descriptors(info: &str) -> bool {
    let mut counts = info
        .lines()
        .filter_map(|line| line.strip_prefix("scm_fds:"));
    counts.any(|count| count.trim() != "0")
}

/// Runs a call that somebody watches: its reply, and how often it began.
async fn watched(session: &Session, request: Request) -> (Reply, usize) {
    let mut running = session.engine.stream(request);
    let mut starts = 0;
    loop {
        match running.next().await.expect("a last event") {
            Event::Started { .. } => starts += 1,
            Event::Finished(reply) => return (*reply, starts),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_call_of_any_form_runs_once_and_in_the_session() {
    let home = Home::new();
    let session = Session::new(&home);
    session.output("n=0").await;
    let count = "echo $((++n))";
    prepared(&session).await;
    assert_eq!(session.output(count).await, "1\n", "one like the last");
    prepared(&session).await;
    let (reply, starts) = watched(&session, session.request(count)).await;
    assert_eq!((&*reply.output, starts), ("2\n", 1), "one that is watched");
    prepared(&session).await;
    let reads = session
        .request("read line; echo $line $((++n))")
        .stdin("in");
    assert_eq!(
        session.engine.run(reads).await.output,
        "in 3\n",
        "one that reads"
    );
    prepared(&session).await;
    let elsewhere = session.request("pwd; echo $((++n))").cwd("/");
    assert_eq!(
        session.engine.run(elsewhere).await.output,
        "/\n4\n",
        "one elsewhere"
    );
    prepared(&session).await;
    let long = format!("{count} #{}", "x".repeat(100_000));
    assert_eq!(session.output(&long).await, "5\n", "one with a long text");
    prepared(&session).await;
    assert_eq!(
        session.output("pwd").await.trim(),
        home.workspace().to_str().unwrap()
    );
}

#[tokio::test]
async fn a_call_begins_as_well_where_the_engine_was_told_of_nothing() {
    let home = Home::new();
    let engine = crate::engine_under_test::engine(&home);
    let names = ["a", "b", "c", "d", "e", "f"];
    let sessions = names.map(|name| Session::on(&engine, name));
    for session in &sessions {
        prepared(session).await;
        session.output(&format!("x={}", session.name)).await;
    }
    until_told_of(4).await;
    for session in &sessions {
        prepared(session).await;
        assert_eq!(session.output("echo $x").await.trim(), session.name);
    }
    until_told_of(0).await;
    for session in &sessions {
        assert_eq!(session.output("echo $x").await.trim(), session.name);
    }
}

#[tokio::test]
async fn a_shell_that_died_after_it_was_prepared_is_replaced() {
    for is_watched in [false, true] {
        let home = Home::new();
        let session = Session::new(&home);
        let shell: i32 = session.output("x=1; echo $$").await.trim().parse().unwrap();
        prepared(&session).await;
        let shell = rustix::process::Pid::from_raw(shell).unwrap();
        rustix::process::kill_process(shell, rustix::process::Signal::KILL).unwrap();
        let begun = Instant::now();
        while rustix::process::test_kill_process(shell).is_ok() {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "nobody collects the shell"
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let request = session.request("echo \"[$x]\"");
        let (reply, starts) = if is_watched {
            watched(&session, request).await
        } else {
            (session.engine.run(request).await, 1)
        };
        assert_eq!((reply.exit_code, starts), (Some(0), 1), "{reply:?}");
        assert_eq!(reply.output, "[]\n");
        assert!(reply.session_reset.is_some(), "{reply:?}");
    }
}
