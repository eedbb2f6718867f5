//! What goes wrong around jobs: the state is clear, and nothing hangs.

use super::workshop::{OWNER, PATIENCE, Workshop};
use bashd::jobs::{Condition, JobState, WaitFor, Whose};
use bashd_testkit::loudly;
use regex::Regex;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

#[tokio::test]
async fn a_state_directory_that_can_not_be_written_makes_no_job_and_leaves_nothing_running() {
    let shop = Workshop::new();
    shop.engine.run(shop.request("true")).await;
    let runs = shop.home.state().join("runs");
    if rustix::process::getuid().is_root() {
        // Root may write anywhere: a file where the directory should be refuses root as well.
        fs::rename(&runs, shop.home.workspace().join("runs")).expect("a rename");
        fs::write(&runs, "").expect("a file");
    } else {
        fs::set_permissions(&runs, fs::Permissions::from_mode(0o500)).expect("a mode");
    }
    let reply = shop
        .engine
        .run(shop.request("sleep 300").background())
        .await;
    assert!(reply.job.is_none() && reply.error.is_some(), "{reply:?}");
    if rustix::process::getuid().is_root() {
        fs::remove_file(&runs).expect("a removal");
        fs::rename(shop.home.workspace().join("runs"), &runs).expect("a rename");
    } else {
        fs::set_permissions(&runs, fs::Permissions::from_mode(0o700)).expect("a mode");
    }
    let reply = shop.engine.run(shop.request("echo works")).await;
    assert_eq!(reply.output, "works\n", "{reply:?}");
}

#[tokio::test]
async fn a_job_whose_directory_was_deleted_is_found_again_and_can_be_ended() {
    let shop = Workshop::new();
    let job = shop.start("echo begun; sleep 300").await;
    fs::remove_dir_all(job.output_file.parent().expect("a directory")).expect("a removal");
    let found = shop.jobs.find(Whose::Owner(OWNER), &job.id);
    let found = found.expect("its keeper still knows it");
    assert_eq!(found.state, JobState::Running, "{found:?}");
    let ended = shop.jobs.kill(&found).await.expect("an end");
    assert_eq!(ended.state, JobState::Killed, "{ended:?}");
    let wait = WaitFor::new(Condition::Exit, PATIENCE);
    let waited = shop.jobs.wait(vec![job], &wait).await;
    assert_eq!(waited.len(), 1);
}

#[tokio::test]
async fn a_job_that_several_end_at_once_has_ended_for_all_of_them() {
    let shop = Workshop::new();
    let mut ends = tokio::task::JoinSet::new();
    for _ in 0..5 {
        let job = shop.start("sleep 300").await;
        for _ in 0..4 {
            let (jobs, job) = (shop.jobs.clone(), job.clone());
            ends.spawn(async move { jobs.kill(&job).await });
        }
    }
    while let Some(ended) = ends.join_next().await {
        let ended = ended.expect("no panic").expect("an end");
        assert_eq!(ended.state, JobState::Killed, "{ended:?}");
    }
}

#[tokio::test]
async fn a_clock_that_was_set_back_makes_no_age_negative() {
    let shop = Workshop::new();
    let job = shop.start("sleep 300").await;
    let path = job.output_file.with_file_name("spec.json");
    let text = fs::read_to_string(&path).expect("a spec");
    let mut spec: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let started = spec["started_ms"].as_u64().expect("a time");
    spec["started_ms"] = serde_json::json!(started + 3_600_000);
    fs::write(&path, spec.to_string()).expect("a spec");
    let later = shop.find(&job.id);
    assert_eq!((later.state, later.age_ms), (JobState::Running, 0));
    let ended = shop.jobs.kill(&later).await.expect("an end");
    assert_eq!(ended.state, JobState::Killed);
    assert!(ended.ran_ms() < 3_600_000, "{ended:?}");
}

#[tokio::test]
async fn a_reboot_is_told_by_the_boot_id() {
    let shop = Workshop::new();
    let job = shop.start("sleep 300").await;
    let path = job.output_file.with_file_name("spec.json");
    let text = fs::read_to_string(&path).expect("a spec");
    let spec: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let other = text.replace(spec["boot"].as_str().expect("a boot"), "another");
    shop.jobs.kill(&job).await.expect("an end");
    fs::write(&path, other).expect("a spec");
    fs::remove_file(job.output_file.with_file_name("status.json")).expect("a removal");
    let lost = shop.find(&job.id);
    assert_eq!(lost.state, JobState::Lost);
    assert_eq!(lost.lost_because, Some("the machine was restarted"));
}

#[tokio::test]
async fn what_is_half_written_or_from_elsewhere_is_no_job() {
    let shop = Workshop::new();
    let runs = shop.home.state().join("runs");
    for (name, text) in [("torn", "{\"version\":1,"), ("empty", ""), ("else", "[]")] {
        fs::create_dir_all(runs.join(name)).expect("a directory");
        fs::write(runs.join(name).join("spec.json"), text).expect("a file");
    }
    assert!(shop.jobs.list(Whose::Everybody).is_empty());
    let job = shop.start("sleep 300").await;
    assert_eq!(job.alias, "bg_1");
    shop.close().await;
}

#[tokio::test]
async fn a_host_without_descriptors_still_answers() {
    let shop = Workshop::new();
    let job = shop.start("echo begun; sleep 300").await;
    shop.wait(
        &job,
        Condition::matches(Regex::new("begun").expect("a pattern")),
    )
    .await;
    let mut hogs = Vec::new();
    while let Ok(file) = fs::File::open("/dev/null") {
        hogs.push(file);
        if hogs.len() > 200_000 {
            loudly("descriptors do not run out here");
            break;
        }
    }
    let wait = WaitFor::new(Condition::Exit, Duration::from_millis(300));
    let waited = shop.jobs.wait(vec![job.clone()], &wait).await;
    assert_eq!(waited.len(), 1, "it returned");
    assert!(shop.jobs.kill(&job).await.is_err());
    drop(hogs);
    let ended = shop.jobs.kill(&shop.find(&job.id)).await.expect("an end");
    assert_eq!(ended.state, JobState::Killed);
}
