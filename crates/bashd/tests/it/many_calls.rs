//! Thousands of calls one after the other, and many at once: every reply is the right one.

use crate::engine_under_test::engine;
use crate::profile_under_test::{Contract, running};
use bashd::{Engine, Event, Reply};
use bashd_testkit::{Home, repetitions};
use tokio::task::JoinSet;

const PROFILES: [&str; 4] = ["default", "harness", "phoenix", "voice"];

/// Calls that run at the same time.
const AT_ONCE: usize = 50;

/// The command of call `number`: output, environment, stdin, directory and status are its own.
async fn call(engine: Engine, number: usize) -> (usize, Reply) {
    let profile = PROFILES[number % PROFILES.len()];
    let request = Contract::on(&engine, profile)
        .request(format!(
            "cat; echo \"$NUMBER {number}\"; exit {}",
            number % 100
        ))
        .env("NUMBER", number.to_string())
        .stdin(format!("in {number}\n"));
    (number, engine.run(request).await)
}

fn check(number: usize, reply: &Reply) {
    let expected = format!("in {number}\n{number} {number}\n");
    assert_eq!(reply.output, expected);
    assert_eq!(reply.exit_code, Some((number % 100) as i32));
    assert_eq!(reply.error, None);
}

#[tokio::test]
async fn thousands_of_calls_in_a_row_all_have_their_reply() {
    let home = Home::new();
    let engine = engine(&home);
    for number in 0..repetitions(5000) {
        let (number, reply) = call(engine.clone(), number).await;
        check(number, &reply);
    }
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn many_calls_at_once_all_have_their_own_reply() {
    let home = Home::new();
    let engine = engine(&home);
    for round in 0..repetitions(40) {
        let mut calls = JoinSet::new();
        for number in 0..AT_ONCE {
            calls.spawn(call(engine.clone(), round * AT_ONCE + number));
        }
        let mut replies = 0;
        while let Some(ended) = calls.join_next().await {
            let (number, reply) = ended.expect("no panic");
            check(number, &reply);
            replies += 1;
        }
        assert_eq!(replies, AT_ONCE);
    }
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn events_of_calls_at_once_do_not_mix() {
    let home = Home::new();
    let engine = engine(&home);
    let mut calls = JoinSet::new();
    for number in 0..AT_ONCE {
        let profile = PROFILES[number % PROFILES.len()];
        let command = format!("for i in $(seq 200); do echo {number}; done");
        let mut call = engine.stream(Contract::on(&engine, profile).request(command));
        calls.spawn(async move {
            let mut told = String::new();
            while let Some(event) = call.next().await {
                if let Event::Output { text, .. } = event {
                    told.push_str(&text);
                }
            }
            assert_eq!(told, format!("{number}\n").repeat(200));
        });
    }
    while let Some(ended) = calls.join_next().await {
        ended.expect("the events of one call");
    }
}

#[tokio::test]
async fn a_long_call_does_not_hold_up_short_ones() {
    let home = Home::new();
    let engine = engine(&home);
    let command = "until [ -e go ]; do sleep 0.01; done; echo long";
    let long = Contract::on(&engine, "default").request(command);
    let long = tokio::spawn({
        let engine = engine.clone();
        async move { engine.run(long).await }
    });
    for number in 0..20 {
        let (number, reply) = call(engine.clone(), number).await;
        check(number, &reply);
    }
    assert!(!long.is_finished());
    std::fs::write(home.workspace().join("go"), "").expect("a file");
    assert_eq!(long.await.expect("no panic").output, "long\n");
}
