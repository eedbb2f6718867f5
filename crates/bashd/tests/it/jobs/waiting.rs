//! Waiting, each with a real server or a real process.

use super::workshop::{PATIENCE, Workshop};
use bashd::jobs::{Condition, JobState, Met, WaitFor};
use regex::Regex;
use std::net::TcpListener;
use std::time::Duration;

/// A port that nobody listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

fn server(port: u16) -> String {
    format!("sleep 0.5; exec python3 -u -m http.server {port} --bind 127.0.0.1")
}

#[tokio::test]
async fn until_a_port_listens_or_an_address_answers() {
    let shop = Workshop::new();
    let port = free_port();
    let job = shop.start(server(port)).await;
    let url = format!("http://127.0.0.1:{port}/");
    shop.wait(&job, Condition::answers(&url).expect("an address"))
        .await;
    shop.wait(&job, Condition::Port(port)).await;
    let line = Regex::new(r#""GET / HTTP/1.1" 200"#).expect("a pattern");
    let job = shop.wait(&job, Condition::matches(line)).await;
    assert_eq!(job.state, JobState::Running);
    shop.close().await;
}

#[tokio::test]
async fn a_job_that_ends_first_ends_the_wait() {
    let shop = Workshop::new();
    let job = shop.start("sleep 0.5; echo other").await;
    let pattern = Regex::new("never").expect("a pattern");
    for condition in [Condition::matches(pattern), Condition::Port(free_port())] {
        let wait = WaitFor::new(condition, PATIENCE);
        let waited = shop.jobs.wait(vec![job.clone()], &wait).await;
        assert_eq!(waited[0].met, Met::Ended, "{waited:?}");
        assert_eq!(waited[0].job.state, JobState::Exited);
    }
}

#[tokio::test]
async fn until_one_of_several_or_until_all() {
    let shop = Workshop::new();
    let slow = shop.start("sleep 300").await;
    let quick = shop.start("sleep 0.5; exit 4").await;
    let both = vec![slow.clone(), quick.clone()];
    let any = WaitFor::new(Condition::Exit, PATIENCE).any();
    let waited = shop.jobs.wait(both.clone(), &any).await;
    assert_eq!((waited[0].met, waited[1].met), (Met::NotYet, Met::Yes));
    assert_eq!(waited[1].job.exit_code, Some(4));
    let all = WaitFor::new(Condition::Exit, Duration::from_millis(100));
    let waited = shop.jobs.wait(both.clone(), &all).await;
    assert_eq!(waited[0].met, Met::NotYet);
    assert_eq!(waited[0].job.state, JobState::Running);
    shop.jobs.kill(&slow).await.expect("an end");
    let all = WaitFor::new(Condition::Exit, PATIENCE);
    let waited = shop.jobs.wait(both, &all).await;
    assert!(waited.iter().all(|one| one.met == Met::Yes), "{waited:?}");
}

#[tokio::test]
async fn until_it_falls_silent() {
    let shop = Workshop::new();
    let job = shop
        .start("for i in 1 2 3 4 5; do echo $i; sleep 0.2; done; sleep 300")
        .await;
    shop.wait(&job, Condition::Silent(Duration::from_secs(2)))
        .await;
    assert_eq!(shop.output(&job).await, "1\n2\n3\n4\n5\n");
    shop.close().await;
}
