//! What commands may use up: by control groups where they can be made, else by each process's own
//! limits.

use super::workshop::Workshop;
use bashd::Reply;
use bashd::config::Config;
use bashd::plan::{Cgroups, LimitKind, Resources, parent_group};
use bashd_testkit::unprivileged::is_nobody;
use bashd_testkit::{as_each_user, loudly};
use std::time::Duration;

/// Enough for python to start, and less than it is asked to take.
const MEMORY: u64 = 128 << 20;

/// What a process is told that has used up its processor time.
const SIGXCPU: i32 = 24;

/// Takes 512 MiB and uses them.
const GREEDY: &str = "exec python3 -c 'x = bytearray(512 << 20); print(len(x))'";

fn without_groups(config: &mut Config) {
    config.cgroups = Cgroups::Unused;
}

async fn run(shop: &Workshop, command: &str, limits: Resources) -> Reply {
    let request = shop.request(command).resources(limits);
    shop.engine
        .run(request.timeout(Duration::from_mins(1)))
        .await
}

#[tokio::test]
async fn memory_of_each_process_is_bounded_and_the_reply_says_how() {
    let shop = Workshop::with(without_groups);
    let limits = Resources::default().memory_bytes(MEMORY);
    let reply = run(&shop, GREEDY, limits).await;
    assert_eq!(reply.exit_code, Some(1), "{reply:?}");
    assert!(reply.output.contains("MemoryError"), "{reply:?}");
    let held = reply.limits.as_ref().expect("limits");
    assert_eq!(
        (held.kind, held.memory_bytes, held.out_of_memory),
        (LimitKind::Rlimits, Some(MEMORY), false)
    );
    let free = run(&shop, GREEDY, Resources::default()).await;
    assert_eq!((free.exit_code, free.limits), (Some(0), None));
}

#[tokio::test]
async fn processor_time_of_each_process_is_bounded() {
    let shop = Workshop::with(without_groups);
    let limits = Resources::default().cpu_seconds(1);
    let reply = run(&shop, "exec bash -c 'while :; do :; done'", limits).await;
    assert_eq!(reply.signal, Some(SIGXCPU), "{reply:?}");
    assert!(!reply.timed_out, "{reply:?}");
    let held = reply.limits.expect("limits");
    assert_eq!(held.cpu_seconds, Some(1));
}

#[test]
fn processes_are_counted_by_user_and_not_for_root() {
    as_each_user(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let shop = Workshop::with(without_groups);
            let limits = Resources::default().processes(1);
            let script =
                "exec python3 -c 'import os; os._exit(0) if os.fork() == 0 else os.wait()'";
            let reply = run(&shop, script, limits).await;
            let held = reply.limits.as_ref().expect("limits");
            if is_nobody() {
                assert_eq!(
                    (reply.exit_code, held.processes),
                    (Some(1), Some(1)),
                    "{reply:?}"
                );
                assert!(reply.output.contains("BlockingIOError"), "{reply:?}");
            } else if rustix::process::geteuid().is_root() {
                assert_eq!(
                    (reply.exit_code, held.processes),
                    (Some(0), None),
                    "{reply:?}"
                );
            }
        });
    });
}

#[tokio::test]
async fn configured_limits_hold_for_jobs_and_sessions_as_well() {
    let shop = Workshop::with(|config| {
        without_groups(config);
        config.resources = Resources::default().cpu_seconds(77).memory_bytes(MEMORY);
    });
    let script = "ulimit -t; ulimit -d";
    let expected = format!("77\n{}\n", MEMORY / 1024);
    let job = shop.start(format!("{script}; sleep 300")).await;
    let held = job.limits.as_ref().expect("limits");
    assert_eq!(
        (held.kind, held.cpu_seconds),
        (LimitKind::Rlimits, Some(77))
    );
    let ready = regex::Regex::new("131072").expect("a pattern");
    let job = shop
        .wait(&job, bashd::jobs::Condition::matches(ready))
        .await;
    assert_eq!(shop.output(&job).await, expected);
    let of_session = shop.engine.run(shop.request(script).session("one")).await;
    assert_eq!(of_session.output, expected, "{of_session:?}");
    assert_eq!(of_session.limits.expect("limits").cpu_seconds, Some(77));
    // A call may ask for others; a shell that lives on can't take them.
    let request = shop.request(script).session("one");
    let request = request.resources(Resources::default().cpu_seconds(5));
    let other = shop.engine.run(request).await;
    assert!(other.output.starts_with("5\n"), "{other:?}");
    assert!(other.text.contains("a shell of its own"), "{other:?}");
    shop.close().await;
}

#[tokio::test]
async fn a_control_group_holds_all_processes_together_and_tells_of_want_of_memory() {
    let shop = Workshop::new();
    let limits = Resources::default().memory_bytes(MEMORY).processes(64);
    if parent_group(&limits, &shop.engine.config().cgroups).is_none() {
        loudly(
            "no control group with memory and pids can be made: limits by groups are NOT tested",
        );
        return;
    }
    let reply = run(&shop, GREEDY, limits).await;
    let held = reply.limits.as_ref().expect("limits");
    assert_eq!(held.kind, LimitKind::Cgroup);
    assert!(held.out_of_memory, "{reply:?}");
    assert!(reply.text.contains("out of memory"), "{reply:?}");
    assert_eq!(held.processes, Some(64));
    let job = shop.start(format!("sleep 0.5; {GREEDY}")).await;
    let ended = shop.ended(&job).await;
    assert!(ended.out_of_memory, "{ended:?}");
}
