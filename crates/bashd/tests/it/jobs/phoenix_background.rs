//! The background mode of `phoenix`'s document.

use super::workshop::{OWNER, PATIENCE, Workshop};
use crate::profile_under_test::{copy_profile, process, profiles_dir, running};
use bashd::jobs::{Job, JobState};
use bashd::{Call, CancellationToken, Reply};
use regex::Regex;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Runs a command in background mode; the group and the file that the reply names.
async fn background(shop: &Workshop, command: &str) -> (Reply, i32, PathBuf) {
    let input = serde_json::json!({"command": command, "mode": "background"}).to_string();
    let call = Call::json(input, shop.request("").profile("phoenix"));
    let reply = shop.engine.run(call).await;
    let form = Regex::new(
        r"^<pid>(\d+)</pid>\n<output_file>(.+)</output_file>\n<reminder>To stop: kill -9 -(\d+)</reminder>$",
    )
    .expect("a pattern");
    let parts = form
        .captures(&reply.text)
        .unwrap_or_else(|| panic!("not the document's form: {reply:?}"));
    assert_eq!(parts[1], parts[3]);
    let pid = parts[1].parse().expect("a number");
    let file = PathBuf::from(&parts[2]);
    (reply, pid, file)
}

/// Waits until a file ends with this text, and returns the whole of it.
async fn until_ends_with(file: &PathBuf, end: &str) -> String {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(file).expect("the output file");
        if text.ends_with(end) {
            return text;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{text:?} does not end with {end:?}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn p_06_background_returns_at_once_and_ends_at_its_limit() {
    let shop = Workshop::with(|config| {
        let mut directory = config.state_dir.clone();
        for _ in 0..3 {
            directory.pop();
        }
        config.profiles_dir = Some(directory.join(".config/bashd/profiles"));
    });
    copy_profile(
        &shop.home,
        "phoenix",
        "brief",
        &[("timeout_s = 86400", "timeout_s = 2")],
    );
    assert!(profiles_dir(&shop.home).exists());
    let begun = Instant::now();
    let input = r#"{"command":"echo begun; sleep 100","mode":"background"}"#;
    let call = Call::json(input, shop.request("").profile("brief"));
    let reply = shop.engine.run(call).await;
    let job = shop.job_of(&reply);
    assert!(
        begun.elapsed() < PATIENCE && job.state == JobState::Running,
        "{job:?}"
    );
    let text = until_ends_with(&job.output_file, "timed out after 2s]\n").await;
    assert_eq!(
        text,
        "begun\n\n\n[background process killed: timed out after 2s]\n"
    );
    assert_eq!(running(&shop.home), []);
}

#[tokio::test]
async fn p_14_both_streams_are_in_the_file_in_order() {
    let shop = Workshop::new();
    let (_, _, file) = background(&shop, "for i in 1 2 3; do echo o$i; echo e$i >&2; done").await;
    let text = until_ends_with(&file, "completed]\n").await;
    assert!(
        text.starts_with("o1\ne1\no2\ne2\no3\ne3\n\n\n["),
        "{text:?}"
    );
}

#[tokio::test]
async fn p_17_the_end_line_comes_with_the_shells_end_and_children_write_behind_it() {
    let shop = Workshop::new();
    let child = "( until [ -e go ]; do sleep 0.05; done; echo late ) &";
    for (end, line) in [
        ("", "[background process completed]"),
        ("; exit 3", "[background process failed: exit status: 3]"),
    ] {
        let (reply, _, file) = background(&shop, &format!("{child} echo done{end}")).await;
        let ended = format!("done\n\n\n{line}\n");
        assert_eq!(until_ends_with(&file, "]\n").await, ended);
        fs::write(shop.home.workspace().join("go"), "").expect("a file");
        let whole = format!("{ended}late\n");
        assert_eq!(until_ends_with(&file, "late\n").await, whole);
        // Nothing follows when the last of them is gone.
        let job = shop.job_of(&reply);
        let job = shop.until_state(&job, JobState::Exited).await;
        assert_eq!(fs::read_to_string(&file).expect("the file"), whole);
        assert_eq!(job.output_bytes, whole.len() as u64, "{job:?}");
        fs::remove_file(shop.home.workspace().join("go")).expect("a removal");
    }
}

#[tokio::test]
async fn p_15_the_reply_names_the_group_the_file_and_how_to_stop() {
    let shop = Workshop::new();
    let (reply, pid, file) = background(&shop, "sleep 100").await;
    assert!(file.exists() && !reply.is_error);
    let job: Job = shop.job_of(&reply);
    assert_eq!((job.pid, job.output_file.as_path()), (pid, file.as_path()));
    shop.close().await;
}

#[tokio::test]
async fn p_16_the_pid_is_a_group_that_ends_as_one() {
    let shop = Workshop::new();
    let (_, pid, file) = background(&shop, "sleep 100 & sleep 100").await;
    let begun = Instant::now();
    while running(&shop.home).len() < 3 {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let group = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).expect("a kill");
    until_ends_with(
        &file,
        "\n\n[background process failed: signal: 9 (SIGKILL)]\n",
    )
    .await;
    assert_eq!(running(&shop.home), []);
}

#[tokio::test]
async fn p_17_success_ends_the_file() {
    let shop = Workshop::new();
    let (_, _, file) = background(&shop, "echo done").await;
    let text = until_ends_with(&file, "completed]\n").await;
    assert_eq!(text, "done\n\n\n[background process completed]\n");
}

#[tokio::test]
async fn p_18_failure_ends_the_file_with_its_status() {
    let shop = Workshop::new();
    let (_, _, file) = background(&shop, "printf oops; exit 3").await;
    let text = until_ends_with(&file, "3]\n").await;
    assert_eq!(
        text,
        "oops\n\n[background process failed: exit status: 3]\n"
    );
}

#[tokio::test]
async fn p_20_it_survives_its_call_and_the_cancellation_of_it() {
    let shop = Workshop::new();
    let token = CancellationToken::new();
    let input = r#"{"command":"sleep 100","mode":"background"}"#;
    let call = Call::json(input, shop.request("").profile("phoenix")).cancel_by(token.clone());
    let reply = shop.engine.run(call).await;
    token.cancel();
    let job = shop.job_of(&reply);
    assert!(process(job.pid).is_some());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(shop.find(&job.id).state, JobState::Running);
    assert_eq!(job.owner, OWNER);
    shop.close().await;
}

#[tokio::test]
async fn p_28_guards_hold_in_the_background_as_well() {
    let shop = Workshop::new();
    let input = r#"{"command":"touch ran; git add -A","mode":"background"}"#;
    let call = Call::json(input, shop.request("").profile("phoenix"));
    let reply = shop.engine.run(call).await;
    assert!(reply.denied.is_some() && reply.job.is_none(), "{reply:?}");
    assert!(!shop.home.workspace().join("ran").exists());
}

#[tokio::test]
async fn it_is_a_job_however_soon_it_ends() {
    let shop = Workshop::new();
    // All at once, so that many ends come before their calls have asked for a job.
    let starts = (0..20).map(|number| {
        let input = serde_json::json!({"command": format!("exit {number}"), "mode": "background"});
        let call = Call::json(input.to_string(), shop.request("").profile("phoenix"));
        let engine = shop.engine.clone();
        async move { engine.run(call).await }
    });
    let mut running = tokio::task::JoinSet::new();
    for start in starts {
        running.spawn(start);
    }
    let mut codes = Vec::new();
    for reply in running.join_all().await {
        assert!(reply.text.starts_with("<pid>"), "{reply:?}");
        codes.extend(shop.ended(&shop.job_of(&reply)).await.exit_code);
    }
    codes.sort_unstable();
    assert_eq!(codes, (0..20).collect::<Vec<_>>());
}
