//! Runs whose calls still wait, as another process sees them: followed, answered, ended.

use super::workshop::{PATIENCE, Workshop};
use bashd::Event;
use bashd::jobs::{Job, JobKind, JobState, Jobs, OutputQuery, ScreenQuery, Typing, Whose};
use std::time::{Duration, Instant};

/// Waits until something of a foreground run is so.
async fn until(jobs: &Jobs, what: &str, is_so: impl Fn(&Job) -> bool) -> Job {
    let begun = Instant::now();
    loop {
        let runs = jobs.running().await;
        if let Some(job) = runs.iter().find(|job| is_so(job)) {
            return job.clone();
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: {runs:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn until_nothing_runs(jobs: &Jobs) {
    let begun = Instant::now();
    while !jobs.running().await.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "it is still there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_run_that_takes_long_is_seen_read_and_ended_by_others() {
    let shop = Workshop::new();
    let engine = shop.engine.clone();
    let request = shop.request("echo one; sleep 300").timeout(PATIENCE * 10);
    let call = tokio::spawn(async move { engine.run(request).await });
    let seen = until(&shop.jobs, "seen", |job| job.last_line == "one").await;
    assert_eq!(
        (seen.kind, seen.state, seen.output_bytes),
        (JobKind::Foreground, JobState::Running, 4)
    );
    assert_eq!(seen.command, "echo one; sleep 300");
    assert!(seen.age_ms >= 1000, "{}", seen.age_ms);
    assert!(shop.jobs.list(Whose::Everybody).is_empty(), "no job");
    let found = shop.jobs.find(Whose::Everybody, &seen.id);
    let found = found.expect("found by its id");
    assert!(
        shop.jobs.find(Whose::Owner(&seen.owner), &seen.id).is_err(),
        "a model's own job tool knows jobs only"
    );
    let output = shop.jobs.output(&found, &OutputQuery::default()).await;
    assert_eq!(output.expect("output").text, "one\n");
    shop.jobs.kill(&found).await.expect("an end");
    let reply = call.await.expect("no panic");
    assert!(reply.cancelled && reply.output == "one\n", "{reply:?}");
    until_nothing_runs(&shop.jobs).await;
}

#[tokio::test]
async fn its_terminal_is_followed_typed_at_and_resized() {
    let shop = Workshop::new();
    let script = "trap 'stty size' WINCH; read -rp 'Name: ' name; echo \"hello $name\"; \
        until test -e go; do sleep 0.05; done; exit 3";
    let mut running = shop.engine.stream(shop.request(script).pty());
    let reply = tokio::spawn(async move {
        loop {
            if let Some(Event::Finished(reply)) = running.next().await {
                return reply;
            }
        }
    });
    let seen = until(&shop.jobs, "asking", |job| {
        job.last_line == "Name:" && job.state == JobState::WaitingForInput
    })
    .await;
    assert_eq!(seen.waiting.as_ref().expect("a question").prompt, "Name: ");
    let mut terminal = shop.jobs.terminal(&seen).await.expect("a terminal");
    let mut screen = bashd::screen::Screen::new(terminal.size());
    terminal.keyboard().type_bytes("Ada\r");
    terminal.keyboard().resize(bashd::screen::Size::new(90, 20));
    let until_shown = async {
        while !(screen.text().contains("hello Ada") && screen.text().contains("20 90")) {
            screen.feed(&terminal.next().await.expect("more output"));
        }
    };
    let shown = tokio::time::timeout(PATIENCE, until_shown).await;
    assert!(shown.is_ok(), "{}", screen.text());
    std::fs::write(shop.home.workspace().join("go"), "").expect("written");
    assert_eq!(reply.await.expect("no panic").exit_code, Some(3));
    while terminal.next().await.is_some() {}
    until_nothing_runs(&shop.jobs).await;
}

#[tokio::test]
async fn a_run_that_becomes_a_job_is_seen_as_one_only() {
    let shop = Workshop::new();
    let mut request = shop
        .request("read -r word; echo got $word; sleep 300")
        .stdin_open();
    request.wait_max = Some(Duration::from_secs(3));
    let engine = shop.engine.clone();
    let call = tokio::spawn(async move { engine.run(request).await });
    let seen = until(&shop.jobs, "seen", |job| {
        job.state == JobState::WaitingForInput
    })
    .await;
    let reply = call.await.expect("no panic");
    let job = shop.job_of(&reply);
    assert_eq!(job.id, seen.id);
    assert!(shop.jobs.running().await.is_empty());
    let typed = shop.jobs.type_at(&job, &Typing::text("this\n")).await;
    assert_eq!(typed.expect("sent"), 5);
    let pattern = regex::Regex::new("got this").expect("a pattern");
    shop.wait(&job, bashd::jobs::Condition::matches(pattern))
        .await;
    let screen = shop.jobs.screen(&job, &ScreenQuery::default()).await;
    assert!(screen.is_err(), "it has no terminal");
    shop.close().await;
}

#[tokio::test]
async fn what_a_killed_engine_or_a_short_run_leaves_is_nothing() {
    let shop = Workshop::new();
    for _ in 0..3 {
        assert_eq!(
            shop.engine.run(shop.request("true")).await.exit_code,
            Some(0)
        );
    }
    assert!(!shop.home.state().join("live").exists());
    let engine = shop.engine.clone();
    let request = shop.request("sleep 300");
    let call = tokio::spawn(async move { engine.run(request).await });
    let seen = until(&shop.jobs, "seen", |_| true).await;
    // Dropping the future is what an engine's death is to its keeper.
    call.abort();
    until_nothing_runs(&shop.jobs).await;
    let place = shop.home.state().join("live").join(&seen.id);
    let begun = Instant::now();
    while place.exists() {
        assert!(begun.elapsed() < PATIENCE, "{} stays", place.display());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_call_of_a_session_is_seen_and_ended_and_the_next_one_works() {
    let shop = Workshop::new();
    let engine = shop.engine.clone();
    let mut request = shop.request("echo in a session; sleep 300");
    request.session = Some("mine".to_owned());
    let mut again = request.clone();
    "echo next".clone_into(&mut again.command);
    let call = tokio::spawn(async move { engine.run(request).await });
    let seen = until(&shop.jobs, "seen", |job| job.last_line == "in a session").await;
    assert_eq!(seen.kind, JobKind::Foreground);
    shop.jobs.kill(&seen).await.expect("an end");
    let reply = call.await.expect("no panic");
    assert!(reply.cancelled, "{reply:?}");
    until_nothing_runs(&shop.jobs).await;
    let next = shop.engine.run(again).await;
    assert_eq!((next.output.as_str(), next.exit_code), ("next\n", Some(0)));
}
