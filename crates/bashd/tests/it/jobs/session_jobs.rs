//! A call of a session that goes to the background takes the session's shell along.

use super::workshop::{OWNER, Workshop};
use bashd::jobs::{Condition, JobState, Whose};
use bashd::request::OnTimeout;
use bashd::{Reply, Request};
use regex::Regex;
use std::fs;
use std::time::Duration;

/// What replies say of a session whose shell went along with a job.
const GONE: &str = "its command continues as a job, in its shell";

/// Waits for a file.
const GATE: &str = "until [ -e \"$GATE\" ]; do sleep 0.05; done";

fn in_session(shop: &Workshop, command: &str) -> Request {
    Request::new(command)
        .owner(OWNER)
        .session("one")
        .env("GATE", shop.home.workspace().join("gate"))
}

async fn run(shop: &Workshop, command: &str) -> Reply {
    shop.engine.run(in_session(shop, command)).await
}

/// Runs a command that does not end within its second.
async fn run_into_the_background(shop: &Workshop, request: Request) -> Reply {
    let request = request
        .timeout(Duration::from_secs(1))
        .on_timeout(OnTimeout::Background);
    shop.engine.run(request).await
}

fn open_gate(shop: &Workshop) {
    fs::write(shop.home.workspace().join("gate"), "").expect("a file");
}

#[tokio::test]
async fn a_job_has_the_sessions_shell_and_the_next_call_begins_where_it_was() {
    let shop = Workshop::new();
    fs::create_dir(shop.home.workspace().join("below")).expect("a directory");
    let before = run(&shop, "x=kept; f() { echo \"f $1\"; }").await;
    assert_eq!((before.exit_code, before.session_reset), (Some(0), None));
    let command = format!("cd below; echo $x; {GATE}; f done; x=changed; (exit 7)");
    let reply = run_into_the_background(&shop, in_session(&shop, &command)).await;
    let job = shop.job_of(&reply);
    assert_eq!(reply.session_reset.as_deref(), Some(GONE), "{reply:?}");
    assert!(!reply.timed_out, "{reply:?}");
    let loss = "variables and functions are lost, the directory is kept";
    assert!(reply.text.contains(loss), "{}", reply.text);
    // The next call has a new shell, in the directory to which the command went.
    let next = run(&shop, "echo \"[$x] ${PWD##*/}\"; y=2").await;
    assert_eq!(next.output, "[] below\n", "{next:?}");
    assert_eq!(next.session_reset.as_deref(), Some(GONE), "{next:?}");
    let after = run(&shop, "echo \"$y ${PWD##*/}\"").await;
    assert_eq!(
        (after.output.as_str(), after.session_reset),
        ("2 below\n", None)
    );
    open_gate(&shop);
    let job = shop.ended(&job).await;
    assert_eq!((job.state, job.exit_code), (JobState::Exited, Some(7)));
    assert_eq!(shop.output(&job).await, "kept\nf done\n");
}

#[tokio::test]
async fn a_directory_for_one_call_is_not_where_the_next_shell_begins() {
    let shop = Workshop::new();
    for name in ["home", "other"] {
        fs::create_dir(shop.home.workspace().join(name)).expect("a directory");
    }
    assert_eq!(run(&shop, "cd home").await.exit_code, Some(0));
    let request = in_session(&shop, &format!("pwd; {GATE}"));
    let request = request.cwd(shop.home.workspace().join("other"));
    let reply = run_into_the_background(&shop, request).await;
    let job = shop.job_of(&reply);
    let next = run(&shop, "echo ${PWD##*/}").await;
    assert_eq!(next.output, "home\n", "{next:?}");
    open_gate(&shop);
    let job = shop.ended(&job).await;
    assert_eq!(job.exit_code, Some(0));
    assert!(shop.output(&job).await.ends_with("/other\n"));
}

#[tokio::test]
async fn killing_it_ends_the_shell_and_spares_what_earlier_calls_left() {
    let shop = Workshop::new();
    let server = run(&shop, "sleep 300 >/dev/null 2>&1 & echo $!").await;
    let pid: i32 = server.output.trim().parse().expect("a pid");
    let command = "sleep 300 & (setsid sleep 300 &); echo ready; sleep 300";
    let reply = run_into_the_background(&shop, in_session(&shop, command)).await;
    let job = shop.job_of(&reply);
    let ready = Condition::matches(Regex::new("ready").expect("a pattern"));
    let job = shop.wait(&job, ready).await;
    let ended = shop.jobs.kill(&job).await.expect("an end");
    assert_eq!(ended.state, JobState::Killed, "{ended:?}");
    assert!(ended.left_behind.is_empty(), "{ended:?}");
    let server = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(server, rustix::process::Signal::KILL).expect("it lives");
    // The leak check finds what else survived.
}

#[tokio::test]
async fn what_it_leaves_running_is_the_job_until_it_is_gone() {
    let shop = Workshop::new();
    let command = format!("{GATE}; sleep 300 & echo left");
    let reply = run_into_the_background(&shop, in_session(&shop, &command)).await;
    let job = shop.job_of(&reply);
    open_gate(&shop);
    let job = shop.ended(&job).await;
    assert_eq!((job.state, job.exit_code), (JobState::Survivors, Some(0)));
    let ended = shop.jobs.kill(&job).await.expect("an end");
    assert_eq!((ended.state, ended.exit_code), (JobState::Exited, Some(0)));
    assert_eq!(shop.output(&ended).await, "left\n");
}

#[tokio::test]
async fn a_command_that_ends_in_the_moment_of_its_handover_is_one_or_the_other() {
    let shop = Workshop::new();
    for round in 0..6 {
        let command = format!("sleep 0.3; echo {round}");
        let request = in_session(&shop, &command)
            .timeout(Duration::from_millis(290 + 4 * round))
            .on_timeout(OnTimeout::Background);
        let reply = shop.engine.run(request).await;
        match &reply.job {
            Some(_) => {
                let job = shop.ended(&shop.job_of(&reply)).await;
                assert_eq!(job.exit_code, Some(0), "{job:?}");
                assert_eq!(shop.output(&job).await, format!("{round}\n"));
            }
            None => assert_eq!(reply.output, format!("{round}\n"), "{reply:?}"),
        }
        let next = run(&shop, "echo next").await;
        assert_eq!(next.output, "next\n", "{next:?}");
    }
    // Nothing but whole jobs is left.
    let kept = fs::read_dir(shop.home.state().join("runs")).expect("runs");
    let directories = kept.flatten().filter(|entry| entry.path().is_dir()).count();
    assert_eq!(directories, shop.jobs.list(Whose::Everybody).len());
}

#[tokio::test]
async fn a_full_house_ends_a_sessions_call_at_its_timeout() {
    let shop = Workshop::with(|config| config.jobs.limits.per_owner = 1);
    shop.start("sleep 300").await;
    let reply = run_into_the_background(&shop, in_session(&shop, "echo early; sleep 300")).await;
    assert!(reply.timed_out && reply.job.is_none(), "{reply:?}");
    assert_eq!(
        reply.session_reset.as_deref(),
        Some("the command timed out")
    );
    assert_eq!(run(&shop, "echo works").await.output, "works\n");
    shop.close().await;
}

#[tokio::test]
async fn a_job_of_a_session_outlives_its_engine() {
    let mut shop = Workshop::new();
    let command = format!("{GATE}; echo over; exit 9");
    let reply = run_into_the_background(&shop, in_session(&shop, &command)).await;
    let job = shop.job_of(&reply);
    let config = bashd::config::Config::new(shop.home.state());
    shop.engine = super::workshop::engine(&shop.home, config);
    assert_eq!(shop.find(&job.id).state, JobState::Running);
    open_gate(&shop);
    let job = shop.ended(&job).await;
    assert_eq!((job.state, job.exit_code), (JobState::Exited, Some(9)));
}
