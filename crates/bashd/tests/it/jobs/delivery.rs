//! The end of a job on its way to its owner: told once, and again where that failed.

use super::workshop::{OWNER, PATIENCE, Workshop};
use bashd::jobs::{Completions, Delivery, Jobs};
use std::time::{Duration, Instant};

async fn next(ends: &mut Completions) -> Delivery {
    let delivery = tokio::time::timeout(PATIENCE, ends.next_delivery()).await;
    delivery.expect("an end in time")
}

#[tokio::test]
async fn an_end_that_could_not_be_passed_on_is_told_again_after_a_pause_and_then_never() {
    let shop = Workshop::new();
    let mut ends = shop.jobs.completions(OWNER).expect("a watch");
    let job = shop.start("sleep 0.5; exit 3").await;
    let failing = next(&mut ends).await;
    assert_eq!(failing.ended().len(), 1);
    assert!(!shop.jobs.is_acknowledged(&job));
    // While one tries, nobody else does.
    let others = Jobs::new(shop.engine.config());
    assert!(others.take_ended(OWNER).is_empty());
    let failed = Instant::now();
    drop(failing);
    let second = next(&mut ends).await;
    assert!(failed.elapsed() >= Duration::from_millis(500));
    drop(second);
    let third = next(&mut ends).await;
    // 500 ms after the first, 1 s after the second.
    assert!(failed.elapsed() >= Duration::from_millis(1500));
    let told = third.done();
    assert_eq!(told.len(), 1);
    assert_eq!(
        (told[0].id.as_str(), told[0].exit_code),
        (job.id.as_str(), Some(3))
    );
    assert!(shop.jobs.is_acknowledged(&job));
    assert!(others.take_ended(OWNER).is_empty());
}

#[tokio::test]
async fn what_one_could_not_pass_on_another_may() {
    let shop = Workshop::new();
    let mut ends = shop.jobs.completions(OWNER).expect("a watch");
    let job = shop.start("sleep 0.5").await;
    drop(next(&mut ends).await);
    let others = Jobs::new(shop.engine.config());
    let taken = others.take_ended(OWNER);
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].id, job.id);
    // The first has nothing left to tell.
    let second = shop.start("sleep 0.5").await;
    let told = next(&mut ends).await.done();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].id, second.id);
}

#[tokio::test]
async fn a_poll_waits_as_long_as_it_is_told() {
    let shop = Workshop::with(|config| {
        config.async_enabled = true;
        config.jobs.poll_wait = Duration::from_millis(300);
    });
    shop.start("sleep 300").await;
    let request = shop.request("").profile("pi");
    let call = bashd::Call::json(r#"{"poll":["bg_1"]}"#, request);
    let polled = tokio::time::timeout(PATIENCE, shop.engine.job(call)).await;
    let polled = polled.expect("an answer long before half a minute");
    assert!(
        polled.text.starts_with("## Still Running (1)"),
        "{polled:?}"
    );
    shop.close().await;
}
