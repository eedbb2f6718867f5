//! How many shells wait: as many as the calls of the last second needed, up to a bound.

use crate::engine_under_test::engine_with;
use crate::profile_under_test::running;
use bashd::{Engine, Request};
use bashd_testkit::Home;
use std::time::{Duration, Instant};

/// A limit that is never reached unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(30);

async fn at_once(engine: &Engine, count: usize) {
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..count {
        let engine = engine.clone();
        calls.spawn(async move { engine.run(Request::new("echo fine")).await });
    }
    for reply in calls.join_all().await {
        assert_eq!(reply.output, "fine\n", "{reply:?}");
    }
}

/// Waits until so many shells wait.
fn until_waiting(home: &Home, is_right: impl Fn(usize) -> bool) {
    let begun = Instant::now();
    loop {
        let count = running(home).len();
        if is_right(count) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{count} shells wait");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test]
async fn as_many_wait_as_there_were_calls_of_late() {
    let home = Home::new();
    let engine = engine_with(&home, |config| config.started_shells = 1);
    at_once(&engine, 1).await;
    until_waiting(&home, |count| count == 1);
    at_once(&engine, 4).await;
    until_waiting(&home, |count| count >= 4);
    // However many calls there are, not that many shells wait.
    at_once(&engine, 40).await;
    until_waiting(&home, |count| count == 16);
    at_once(&engine, 1).await;
}
