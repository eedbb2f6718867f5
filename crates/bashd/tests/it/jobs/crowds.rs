//! Many jobs, and hostile ones: none is lost, none survives its end, and what that costs.

use super::workshop::{OWNER, PATIENCE, Workshop};
use bashd::jobs::{Condition, Job, JobState, Met, WaitFor, Whose};
use bashd_testkit::repeat::is_soak;
use bashd_testkit::{loudly, repetitions};
use regex::Regex;
use std::fs;
use std::time::{Duration, Instant};

/// Trees that do not want to end. Each says `ready` when it is as nasty as it gets.
const HOSTILE: &[&str] = &[
    "(setsid sleep 300 &); echo ready; sleep 300",
    "nohup sleep 300 >/dev/null 2>&1 & disown; echo ready; sleep 300",
    "trap '' TERM INT HUP; echo ready; while :; do sleep 300; done",
    "(trap '' TERM; sleep 300 & kill -STOP $!; echo ready; kill -STOP $BASHPID) & wait",
    "( ( (setsid bash -c 'trap \"\" TERM; sleep 300 & wait' &) & ) & ); echo ready; sleep 300",
    "python3 -c 'import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  time.sleep(300)\n os._exit(0)\nos.wait()'; echo ready; sleep 300",
    "f() { while :; do (setsid sleep 300 &); sleep 0.05; done; }; trap '' TERM; f & echo ready; wait",
];

#[tokio::test]
async fn hostile_trees_end_whole() {
    let shop = Workshop::new();
    let bystander = shop.start("sleep 86400").await;
    // The grace of 2 s is most of it, so that a batch is ended at once.
    let rounds = repetitions(1000 / HOSTILE.len()).min(143);
    let pattern = Regex::new("ready").expect("a pattern");
    for _ in 0..rounds.div_ceil(4) {
        let mut jobs = Vec::new();
        for script in HOSTILE.iter().cycle().take(HOSTILE.len() * 4) {
            let request = shop.request(*script).background();
            jobs.push(shop.start_request(request).await);
        }
        let ready = Condition::matches(pattern.clone());
        let waited = shop
            .jobs
            .wait(jobs.clone(), &WaitFor::new(ready, PATIENCE))
            .await;
        assert!(waited.iter().all(|one| one.met == Met::Yes), "{waited:?}");
        let mut ends = tokio::task::JoinSet::new();
        for job in jobs {
            let all = shop.jobs.clone();
            ends.spawn(async move { all.kill(&job).await });
        }
        while let Some(ended) = ends.join_next().await {
            let ended = ended.expect("no panic").expect("an end");
            assert_eq!(ended.state, JobState::Killed, "{ended:?}");
            assert!(ended.left_behind.is_empty(), "{ended:?}");
        }
    }
    assert_eq!(shop.find(&bystander.id).state, JobState::Running);
    shop.close().await;
    // The leak check finds what survived, wherever it went.
}

/// Bytes of a process that it does not share, and its share of the rest.
fn pss_kib(pid: i64) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("Pss:"));
    let number = line.and_then(|line| line.split_ascii_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Memory of this process that no file is behind.
fn own_anonymous_kib() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("RssAnon:"));
    let number = line.and_then(|line| line.split_ascii_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn keeper_of(job: &Job) -> i64 {
    let spec = fs::read_to_string(job.output_file.with_file_name("spec.json")).expect("a spec");
    let spec: serde_json::Value = serde_json::from_str(&spec).expect("JSON");
    spec["keeper"].as_i64().expect("a keeper")
}

/// How many processes this user may still start.
fn room_for_processes() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nproc).current;
    let pids = fs::read_to_string("/sys/fs/cgroup/pids.max").unwrap_or_default();
    let of_cgroup = pids.trim().parse().unwrap_or(u64::MAX);
    limit.unwrap_or(u64::MAX).min(of_cgroup)
}

#[tokio::test]
async fn many_jobs_at_once_are_listed_quickly_and_none_is_lost() {
    let count: usize = if is_soak() { 1000 } else { 60 };
    if room_for_processes() < 2 * count as u64 + 200 {
        loudly("RLIMIT_NPROC or pids.max is too low for the test of many jobs");
        return;
    }
    let shop = Workshop::with(|config| {
        config.jobs.limits.in_all = 2000;
        config.jobs.limits.per_owner = 2000;
    });
    let gate = shop.home.workspace().join("gate");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &gate, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a pipe");
    let before = own_anonymous_kib();
    let mut starts = tokio::task::JoinSet::new();
    for number in 0..count {
        let engine = shop.engine.clone();
        // One process for each beside its keeper: a shell that waits for somebody to write.
        let script = format!(": < {}; exit {}", gate.display(), number % 256);
        let request = shop.request(script).background();
        starts.spawn(async move { engine.run(request).await });
        if starts.len() >= 20 {
            let reply = starts
                .join_next()
                .await
                .expect("a start")
                .expect("no panic");
            assert!(reply.job.is_some(), "{reply:?}");
        }
    }
    while let Some(reply) = starts.join_next().await {
        let reply = reply.expect("no panic");
        assert!(reply.job.is_some(), "{reply:?}");
    }
    // The engine holds nothing for a job; what the allocator keeps of a thousand starts is all.
    let grown = own_anonymous_kib().saturating_sub(before);
    if is_soak() {
        assert!(grown <= 16 * count as u64, "{grown} KiB for {count} jobs");
    }
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        let jobs = shop.jobs.list(Whose::Owner(OWNER));
        best = best.min(begun.elapsed());
        assert_eq!(jobs.len(), count);
        assert!(jobs.iter().all(|job| job.state == JobState::Running));
    }
    // 50 ms for 1,000; an unoptimised build on a busy machine gets ten times that.
    assert!(best < Duration::from_millis(500), "{best:?} for {count}");
    let jobs = shop.jobs.list(Whose::Owner(OWNER));
    let pss: u64 = jobs.iter().map(|job| pss_kib(keeper_of(job))).sum();
    let each = pss / count as u64;
    // The more there are, the more they share.
    let most = if is_soak() { 500 } else { 1000 };
    assert!(each <= most, "{each} KiB each");
    println!(
        "{count} jobs: listed in {best:?}, {each} KiB (PSS) in each keeper, {grown} KiB in the engine for all"
    );
    let gate = fs::File::options().read(true).write(true).open(&gate);
    let wait = WaitFor::new(Condition::Exit, Duration::from_mins(3));
    let waited = shop.jobs.wait(jobs, &wait).await;
    assert!(
        waited
            .iter()
            .all(|one| one.met == Met::Yes && one.job.state == JobState::Exited)
    );
    let mut codes: Vec<i32> = waited.iter().filter_map(|one| one.job.exit_code).collect();
    codes.sort_unstable();
    let mut expected: Vec<i32> = (0..count).map(|number| (number % 256) as i32).collect();
    expected.sort_unstable();
    assert_eq!(codes, expected);
    drop(gate);
}
