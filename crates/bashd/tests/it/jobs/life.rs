//! From start to end: how a run becomes a job, what it is then, and how it ends.

use super::workshop::{OWNER, PATIENCE, Workshop, engine};
use crate::profile_under_test::running;
use bashd::config::Config;
use bashd::jobs::{Asks, Condition, Job, JobState, Jobs, OutputQuery, Whose};
use bashd::request::OnTimeout;
use bashd_testkit::as_each_user;
use regex::Regex;
use std::fs;
use std::time::Duration;

#[tokio::test]
async fn a_background_call_returns_at_once_and_the_job_goes_on() {
    let shop = Workshop::new();
    make_gate(&shop);
    let reply = shop
        .engine
        .run(
            shop.request("echo begun; read x < gate; echo $x; exit 7")
                .background(),
        )
        .await;
    let job = shop.job_of(&reply);
    assert_eq!((job.state, job.alias.as_str()), (JobState::Running, "bg_1"));
    assert_eq!(reply.exit_code, None);
    assert!(!reply.is_error, "{reply:?}");
    let line = "[started as job bg_1, which is ended after 24 h; next: job wait bg_1, job output bg_1 or job kill bg_1]";
    let (first, told) = reply.text.split_once('[').expect("a line");
    assert_eq!(format!("[{told}"), line);
    // A busy machine may not have come to the first output yet.
    assert!(["begun\n", ""].contains(&first), "{reply:?}");
    let line = Condition::matches(Regex::new("^begun$").expect("a pattern"));
    shop.wait(&job, line).await;
    fs::write(shop.home.workspace().join("gate"), "through\n").expect("a word");
    let job = shop.ended(&job).await;
    assert_eq!((job.state, job.exit_code), (JobState::Exited, Some(7)));
    assert_eq!(shop.output(&job).await, "begun\nthrough\n");
    assert_eq!((job.output_bytes, job.last_line.as_str()), (14, "through"));
}

fn make_gate(shop: &Workshop) {
    let gate = shop.home.workspace().join("gate");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, gate, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a pipe");
}

#[tokio::test]
async fn what_ends_at_once_is_reported_as_ended() {
    let shop = Workshop::new();
    let request = shop.request("echo quick; exit 7").background();
    let reply = shop.engine.run(request).await;
    // A machine that needs 300 ms for that may tell it the other way.
    match &reply.job {
        None => assert_eq!(
            (reply.exit_code, reply.output.as_str()),
            (Some(7), "quick\n")
        ),
        Some(_) => assert_eq!(shop.ended(&shop.job_of(&reply)).await.exit_code, Some(7)),
    }
}

#[tokio::test]
async fn at_the_end_of_the_wait_the_command_goes_on_as_a_job() {
    let shop = Workshop::new();
    let request = shop
        .request("echo so far; sleep 300")
        .timeout(Duration::from_secs(3))
        .on_timeout(OnTimeout::Background);
    let reply = shop.engine.run(request).await;
    let job = shop.job_of(&reply);
    assert!(!reply.timed_out && !reply.is_error, "{reply:?}");
    assert!(
        reply.text.starts_with("so far\n[still running after 3"),
        "{reply:?}"
    );
    assert_eq!(reply.output, "so far\n");
    assert_eq!(job.state, JobState::Running);
    let ended = shop.jobs.kill(&job).await.expect("an end");
    assert_eq!(ended.state, JobState::Killed);
}

#[tokio::test]
async fn a_longest_wait_leaves_the_deadline_where_it_was() {
    let shop = Workshop::new();
    let request = shop
        .request("sleep 300")
        .timeout(Duration::from_secs(3))
        .wait_max(Duration::from_millis(200));
    let reply = shop.engine.run(request).await;
    let job = shop.job_of(&reply);
    let ended = shop.ended(&job).await;
    assert_eq!(ended.state, JobState::Killed);
    assert_eq!(ended.ended_by, Some(bashd::exec::EndedBy::Timeout));
}

#[tokio::test]
async fn what_runs_in_a_started_shell_can_become_a_job() {
    let shop = Workshop::with(|config| config.started_shells = 1);
    shop.engine.run(shop.request("true")).await;
    let begun = std::time::Instant::now();
    let shell = loop {
        if let Some(shell) = running(&shop.home).first() {
            break shell.pid;
        }
        assert!(begun.elapsed() < PATIENCE, "no shell was started ahead");
        std::thread::sleep(Duration::from_millis(2));
    };
    let request = shop
        .request("sleep 300; echo never")
        .wait_max(Duration::from_millis(200));
    let reply = shop.engine.run(request).await;
    let job = shop.job_of(&reply);
    assert_eq!(job.pid, shell, "{job:?}");
    let ended = shop.jobs.kill(&job).await.expect("an end");
    assert_eq!(ended.state, JobState::Killed);
}

#[tokio::test]
async fn what_ends_within_the_wait_is_an_ordinary_reply() {
    let shop = Workshop::new();
    let request = shop
        .request("echo done; exit 3")
        .timeout(PATIENCE)
        .on_timeout(OnTimeout::Background);
    let reply = shop.engine.run(request).await;
    assert_eq!((reply.exit_code, reply.job), (Some(3), None));
    assert!(shop.jobs.list(Whose::Everybody).is_empty());
}

#[test]
fn a_job_is_ended_with_everything_it_started() {
    as_each_user(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let shop = Workshop::new();
            let hostile = "setsid sleep 300 & (setsid nohup sleep 300 &) ; trap '' TERM; \
                 python3 -c 'import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0: time.sleep(300)' ; \
                 echo ready; while :; do sleep 1; done";
            let job = shop.start(hostile).await;
            shop.wait(&job, Condition::matches(Regex::new("ready").expect("a pattern")))
                .await;
            let ended = shop.jobs.kill(&job).await.expect("an end");
            assert_eq!(ended.state, JobState::Killed);
            assert!(ended.left_behind.is_empty(), "{ended:?}");
        });
    });
}

#[tokio::test]
async fn another_process_finds_follows_and_ends_what_this_one_started() {
    let shop = Workshop::new();
    let job = shop.start("echo one; sleep 300").await;
    // An engine that has nothing of the first but the state directory.
    let other = engine(&shop.home, Config::new(shop.home.state()));
    let seen = other
        .jobs()
        .find(Whose::Owner(OWNER), "bg_1")
        .expect("the job");
    assert_eq!(seen.id, job.id);
    assert!(
        other
            .jobs()
            .find(Whose::Owner("somebody else"), &job.id)
            .is_err()
    );
    let ended = other.jobs().kill(&seen).await.expect("an end");
    assert_eq!(ended.state, JobState::Killed);
    assert_eq!(shop.output(&ended).await, "one\n");
    shop.jobs.remove(&ended).await.expect("a removal");
    assert!(shop.jobs.list(Whose::Everybody).is_empty());
}

#[tokio::test]
async fn no_descriptor_is_held_for_jobs_that_nobody_looks_at() {
    let shop = Workshop::new();
    let count = || fs::read_dir("/proc/self/fd").expect("descriptors").count();
    let first = shop.start("sleep 300").await;
    let before = count();
    for _ in 0..5 {
        shop.start("sleep 300").await;
    }
    shop.jobs.list(Whose::Owner(OWNER));
    shop.output(&first).await;
    assert_eq!(count(), before);
    shop.close().await;
}

#[tokio::test]
async fn survivors_are_a_job_that_can_be_ended_later() {
    let shop = Workshop::new();
    let reply = shop.engine.run(shop.request("sleep 300 & echo done")).await;
    assert_eq!((reply.exit_code, reply.job.as_deref()), (Some(0), None));
    let id = reply.left_behind.first().and_then(|left| left.job.clone());
    let job = shop.find(&id.expect("a job of survivors"));
    assert_eq!(job.state, JobState::Survivors);
    assert_eq!(job.left_behind.len(), 1);
    let ended = shop.jobs.kill(&job).await.expect("an end");
    assert_eq!(ended.state, JobState::Killed);
}

#[tokio::test]
async fn a_job_whose_shell_left_something_behind_is_in_that_state_until_it_is_gone() {
    let shop = Workshop::new();
    let job = shop.start("sleep 0.5; sleep 300 & echo started").await;
    let job = shop.ended(&job).await;
    assert_eq!((job.state, job.exit_code), (JobState::Survivors, Some(0)));
    let ended = shop.jobs.kill(&job).await.expect("an end");
    assert_eq!((ended.state, ended.exit_code), (JobState::Exited, Some(0)));
    assert_eq!(shop.output(&ended).await, "started\n");
}

#[tokio::test]
async fn full_limits_turn_down_before_anything_runs() {
    let shop = Workshop::with(|config| config.jobs.limits.per_owner = 1);
    shop.start("sleep 300").await;
    let reply = shop
        .engine
        .run(shop.request("touch ran").background())
        .await;
    let text = "Background job limit reached (1). Wait for running jobs to finish or cancel one.";
    assert_eq!(reply.error.as_deref(), Some(text));
    assert!(!shop.home.workspace().join("ran").exists());
    // A wait that could not be handed over ends as by its limit.
    let request = shop
        .request("echo so far; sleep 300")
        .timeout(Duration::from_secs(3))
        .on_timeout(OnTimeout::Background);
    let reply = shop.engine.run(request).await;
    assert!(reply.timed_out && reply.job.is_none(), "{reply:?}");
    assert_eq!(reply.output, "so far\n");
    shop.close().await;
}

#[tokio::test]
async fn an_end_is_delivered_once_to_its_owner() {
    let shop = Workshop::new();
    let mut ends = shop.jobs.completions(OWNER).expect("a watch");
    let job = shop.start("sleep 0.5; echo over").await;
    let ended = tokio::time::timeout(PATIENCE, ends.next())
        .await
        .expect("an end in time");
    assert_eq!(ended.len(), 1);
    assert_eq!(
        (ended[0].id.as_str(), ended[0].exit_code),
        (job.id.as_str(), Some(0))
    );
    let others = Jobs::new(&Config::new(shop.home.state()));
    assert!(others.take_ended(OWNER).is_empty());
}

#[tokio::test]
async fn output_beyond_the_quota_is_counted_and_its_end_is_kept() {
    let shop = Workshop::with(|config| {
        config.jobs.output_bytes = 64 * 1024;
        config.quota.head = 16 * 1024;
        config.quota.ring = 64 * 1024;
    });
    let job = shop.start("sleep 0.4; seq 1 60000; sleep 300").await;
    shop.wait(
        &job,
        Condition::matches(Regex::new("^60000$").expect("a pattern")),
    )
    .await;
    let exact = shop.jobs.exact(shop.find(&job.id)).await;
    let total = (1..=60_000)
        .map(|n: u32| n.to_string().len() as u64 + 1)
        .sum::<u64>();
    assert_eq!(exact.output_bytes, total);
    assert!(exact.dropped_bytes > 0);
    let live = shop
        .jobs
        .output(&job, &OutputQuery::tail(2))
        .await
        .expect("output");
    assert_eq!(live.text, "59999\n60000\n");
    let file = fs::read_to_string(&job.output_file).expect("the file");
    assert!(
        file.contains("[bashd: the output continues; "),
        "it says where the rest is"
    );
    let ended = shop.jobs.kill(&job).await.expect("an end");
    assert_eq!(ended.output_bytes, total);
    assert_eq!(ended.dropped_bytes, exact.dropped_bytes);
    let stored = shop
        .jobs
        .output(&ended, &OutputQuery::tail(2))
        .await
        .expect("output");
    assert_eq!(
        (stored.text.as_str(), stored.dropped_bytes),
        ("59999\n60000\n", live.dropped_bytes)
    );
    let file = fs::read_to_string(&job.output_file).expect("the file");
    assert!(file.ends_with("59999\n60000\n"), "the tail is in order");
}

#[tokio::test]
async fn input_is_sent_and_a_job_that_waits_for_it_says_so() {
    let shop = Workshop::new();
    let command = "printf 'Name? '; read name; echo \"Hello $name\"; cat; echo end";
    let request = shop.request(command).background().stdin_open();
    let job = shop.start_request(request).await;
    let job = shop.until_state(&job, JobState::WaitingForInput).await;
    assert_eq!(
        job.waiting.as_ref().map(|waiting| waiting.prompt.as_str()),
        Some("Name? ")
    );
    let open = bashd::jobs::AfterInput::StayOpen;
    shop.jobs.send(&job, b"Ann\n", open).await.expect("a line");
    shop.wait(
        &job,
        Condition::matches(Regex::new("Hello Ann").expect("a pattern")),
    )
    .await;
    let close = bashd::jobs::AfterInput::Close;
    shop.jobs
        .send(&job, b"more\n", close)
        .await
        .expect("the end");
    let job = shop.ended(&job).await;
    assert_eq!(shop.output(&job).await, "Name? Hello Ann\nmore\nend\n");
    assert_eq!(job.state, JobState::Exited);
    assert!(shop.jobs.send(&job, b"late", open).await.is_err());
}

#[tokio::test]
async fn a_terminal_that_hides_what_is_typed_wants_a_password() {
    let shop = Workshop::new();
    let command =
        "read -rp 'User: ' user; read -rsp 'Password: ' secret; echo; echo \"$user $secret\"";
    let job = shop
        .start_request(shop.request(command).background().pty())
        .await;
    let open = bashd::jobs::AfterInput::StayOpen;
    for (prompt, asks, answer) in [
        ("User: ", Asks::Input, "ann\n"),
        ("Password: ", Asks::Password, "pass\n"),
    ] {
        let is_asked = |job: &Job| {
            let waiting = job.waiting.as_ref();
            waiting.is_some_and(|waiting| waiting.prompt.ends_with(prompt))
        };
        let begun = std::time::Instant::now();
        let waiting = loop {
            let now = shop.jobs.again(&job).await.expect("the job");
            if now.state == JobState::WaitingForInput && is_asked(&now) {
                break now;
            }
            assert!(begun.elapsed() < PATIENCE, "{now:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        assert_eq!(waiting.waiting.expect("a question").asks, asks);
        let sent = shop.jobs.send(&job, answer.as_bytes(), open).await;
        sent.expect("a line");
    }
    let job = shop.ended(&job).await;
    assert!(shop.output(&job).await.contains("ann pass"));
}

#[tokio::test]
async fn a_killed_keeper_leaves_a_job_that_is_lost() {
    let shop = Workshop::new();
    let job = shop.start("echo begun; sleep 300").await;
    shop.wait(
        &job,
        Condition::matches(Regex::new("begun").expect("a pattern")),
    )
    .await;
    let spec = fs::read_to_string(job.output_file.with_file_name("spec.json")).expect("a spec");
    let spec: serde_json::Value = serde_json::from_str(&spec).expect("JSON");
    let keeper = spec["keeper"].as_i64().expect("a keeper") as i32;
    let keeper = rustix::process::Pid::from_raw(keeper).expect("a pid");
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).expect("a kill");
    let lost = shop.until_state(&job, JobState::Lost).await;
    assert_eq!((lost.exit_code, lost.signal), (None, None));
    assert!(lost.lost_because.is_some());
    assert_eq!(shop.output(&lost).await, "begun\n");
}
