//! Whose jobs are whose: clients see their own, and take over those of clients that are gone.

use super::workshop::Workshop;
use bashd::jobs::{Clients, Job, Whose};
use bashd::{Call, Reply, Request};
use std::path::Path;
use std::time::Duration;

/// A job of this owner's.
async fn start(shop: &Workshop, owner: &str) -> Job {
    let request = shop.request("sleep 300").owner(owner).background();
    let reply = shop.engine.run(request).await;
    let id = reply
        .job
        .unwrap_or_else(|| panic!("no job: {}", reply.text));
    shop.jobs.find(Whose::Everybody, &id).expect("a job")
}

async fn tool(shop: &Workshop, owner: &str, input: &str) -> Reply {
    let call = Call::json(input, Request::new("").owner(owner));
    shop.engine.job(call).await
}

#[tokio::test]
async fn jobs_of_a_client_that_is_gone_are_earlier_ones_until_somebody_takes_them() {
    let shop = Workshop::new();
    let here = shop.home.workspace();
    let clients = Clients::of(shop.engine.config(), "rpc");
    let (first, second) = (clients.admit(&here), clients.admit(&here));
    let job = start(&shop, first.owner()).await;
    let own = start(&shop, second.owner()).await;
    let sees = |owner: &str, job: &Job| shop.jobs.find(Whose::Owner(owner), &job.id).ok();
    assert!(sees(second.owner(), &job).is_none() && sees(first.owner(), &own).is_none());
    let listed = tool(&shop, second.owner(), r#"{"action":"list"}"#).await;
    assert!(
        !listed.text.contains(&job.id) && listed.text.starts_with("bg_1: "),
        "{listed:?}"
    );
    drop(first);
    let listed = tool(&shop, second.owner(), r#"{"action":"list"}"#).await;
    let line = format!("{} (earlier): running", job.id);
    assert!(listed.text.contains(&line), "{}", listed.text);
    assert_eq!(listed.result["jobs"][0]["earlier"], true, "{listed:?}");
    // Those of another front end, or in another directory, are not its own to take.
    let elsewhere = clients.admit(Path::new("/"));
    let mcp = Clients::of(shop.engine.config(), "mcp");
    let other = mcp.admit(&here);
    assert!(sees(elsewhere.owner(), &job).is_none() && sees(other.owner(), &job).is_none());
    // Its own bg_1 stays bg_1; what it takes over gets a name that is free.
    let third = clients.admit(&here);
    assert!(sees(third.owner(), &job).is_some_and(|job| job.earlier));
    let input = format!(r#"{{"action":"output","job":"{}"}}"#, job.id);
    assert!(!tool(&shop, second.owner(), &input).await.is_error);
    let taken = sees(second.owner(), &job).expect("its own");
    assert_eq!((taken.alias.as_str(), taken.earlier), ("bg_2", false));
    assert!(sees(third.owner(), &job).is_none(), "taken");
    assert!(tool(&shop, third.owner(), &input).await.is_error);
    let input = r#"{"action":"kill","jobs":["bg_1","bg_2"]}"#.to_string();
    assert!(!tool(&shop, second.owner(), &input).await.is_error);
    assert!(
        shop.jobs.take_ended(second.owner()).is_empty(),
        "it ended them itself"
    );
}

#[tokio::test]
async fn the_end_of_a_job_that_was_taken_over_is_told_once() {
    let shop = Workshop::new();
    let here = shop.home.workspace();
    let clients = Clients::of(shop.engine.config(), "rpc");
    let (first, second) = (clients.admit(&here), clients.admit(&here));
    let job = start(&shop, first.owner()).await;
    drop(first);
    let found = shop
        .jobs
        .find(Whose::Owner(second.owner()), "bg_1")
        .expect("by its old name");
    shop.jobs.take_over(second.owner(), found).expect("a job");
    shop.jobs.kill(&job).await.expect("an end");
    let told = shop.jobs.take_ended(second.owner());
    assert_eq!(
        told.iter().map(|job| &job.id).collect::<Vec<_>>(),
        [&job.id]
    );
    assert!(shop.jobs.take_ended(second.owner()).is_empty());
}

#[tokio::test]
async fn a_name_that_two_owners_jobs_have_is_none_of_them() {
    let shop = Workshop::new();
    let (ann, bob) = (start(&shop, "ann").await, start(&shop, "bob").await);
    let problem = shop.jobs.find(Whose::Everybody, "bg_1").expect_err("two");
    let expected = format!(
        "several jobs are called bg_1: {} (ann), {} (bob); name one by its id",
        ann.id, bob.id
    );
    assert_eq!(problem.to_string(), expected);
    shop.close().await;
}

#[tokio::test]
async fn a_call_that_arrived_keeps_its_place_among_its_owners_and_holds_up_nobody_else() {
    let shop = Workshop::new();
    let call = |owner: &str, session: &str, command: &str| {
        let request = Request::new(command).owner(owner).session(session);
        shop.engine.arrive(request)
    };
    let first = call("rpc:a", "s", "x=first");
    let second = call("rpc:a", "s", "echo $x");
    let other = call("rpc:b", "s", "echo other");
    assert_eq!(shop.engine.run(other).await.output, "other\n");
    let second = shop.engine.run(second);
    let (second, _) = tokio::join!(second, shop.engine.run(first));
    // It came to the shell after the first, or found it busy; it did not overtake.
    let is_after = second.output == "first\n";
    let is_beside = second.text.contains("busy with another call");
    assert!(is_after || is_beside, "{second:?}");
    // Where clients share a session, one that has not begun holds up nobody.
    let _never_run = call("rpc:a", "shared:s", "true");
    let other = call("rpc:b", "shared:s", "echo other");
    let other = tokio::time::timeout(Duration::from_secs(20), shop.engine.run(other)).await;
    assert_eq!(other.expect("nobody is in its way").output, "other\n");
}

#[tokio::test]
async fn sessions_are_their_owners_unless_their_name_says_shared() {
    let shop = Workshop::new();
    let run = |owner: &str, session: &str, command: &str| {
        let request = Request::new(command).owner(owner).session(session);
        shop.engine.run(request)
    };
    run("rpc:a", "s", "x=a").await;
    assert_eq!(run("rpc:b", "s", "echo \"[$x]\"").await.output, "[]\n");
    assert_eq!(run("rpc:a", "s", "echo \"[$x]\"").await.output, "[a]\n");
    run("rpc:a", "shared:s", "x=both").await;
    assert_eq!(run("rpc:b", "shared:s", "echo $x").await.output, "both\n");
    shop.engine.forget_owner("rpc:a");
    assert_eq!(run("rpc:a", "s", "echo \"[$x]\"").await.output, "[]\n");
    assert_eq!(run("rpc:a", "shared:s", "echo $x").await.output, "both\n");
}
