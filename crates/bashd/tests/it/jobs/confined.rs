//! Jobs in a confinement: they keep their namespace, and nothing of it is left at their end.

use super::workshop::Workshop;
use bashd::config::Preset;
use bashd::jobs::{Condition, JobState};
use bashd_testkit::as_each_user;
use regex::Regex;

fn shop() -> Workshop {
    Workshop::with(|config| {
        config.confinement.preset = Some(Preset::Workspace);
        config.minimizer.enabled = false;
    })
}

fn namespace(pid: &str) -> Option<String> {
    let link = std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok()?;
    Some(link.display().to_string())
}

/// Without it, an agent could not try the server that it has just started.
#[test]
fn a_server_that_is_a_job_is_reached_by_the_calls_beside_it() {
    const SERVER: &str = "exec python3 -c 'import socket\n\
        s = socket.create_server((\"127.0.0.1\", 0))\n\
        print(\"port\", s.getsockname()[1], \"ready\", flush=True)\n\
        while True: s.accept()[0].sendall(b\"hello\")'";
    as_each_user(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let shop = shop();
            let job = shop.start(SERVER).await;
            let ready = Condition::matches(Regex::new("ready").expect("a pattern"));
            shop.wait(&job, ready).await;
            let output = shop.output(&job).await;
            let words = output.split_once("port ").map(|(_, rest)| rest);
            let port = words.and_then(|rest| rest.split_once(' '));
            let port: u16 = port.expect("a port").0.parse().expect("a number");
            let ask = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && head -c 5 <&3");
            let reply = shop.engine.run(shop.request(&ask)).await;
            assert_eq!(reply.output, "hello", "{reply:?}");
            let outside = std::net::TcpStream::connect(("127.0.0.1", port));
            assert!(outside.is_err(), "the machine reaches it");
            shop.jobs.kill(&job).await.expect("an end");
        });
    });
}

#[test]
fn a_confined_job_keeps_its_namespace_and_nothing_survives_its_end() {
    as_each_user(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let shop = shop();
            let script = "(setsid sleep 301 &) ; (setsid nohup sleep 301 >/dev/null 2>&1 &) ; touch /usr/x; \
                touch made; echo ready; while :; do sleep 1; done";
            let job = shop.start(script).await;
            let ready = Condition::matches(Regex::new("ready").expect("a pattern"));
            shop.wait(&job, ready).await;
            let output = shop.output(&job).await;
            assert!(output.contains("Read-only file system"), "{output}");
            assert!(shop.home.workspace().join("made").exists());
            let inner = namespace(&job.pid.to_string()).expect("the job's namespace");
            assert_ne!(Some(&inner), namespace("self").as_ref());
            // A call beside it has another, and sees nothing of it.
            let beside = shop.request("readlink /proc/self/ns/pid; pgrep -c sleep; true");
            let reply = shop.engine.run(beside).await;
            assert!(reply.output.ends_with("\n0\n"), "{reply:?}");
            assert!(!reply.output.contains(&inner), "{reply:?}");
            assert_eq!(namespace(&job.pid.to_string()), Some(inner), "it moved");
            let ended = shop.jobs.kill(&job).await.expect("an end");
            assert_eq!(ended.state, JobState::Killed);
            assert!(ended.left_behind.is_empty(), "{ended:?}");
        });
    });
}

#[tokio::test]
async fn what_a_confined_job_leaves_behind_ends_with_it() {
    let shop = shop();
    let job = shop
        .start("(setsid sleep 302 >/dev/null 2>&1 &) ; sleep 0.3; echo over; exit 5")
        .await;
    let ended = shop.ended(&job).await;
    assert_eq!(ended.exit_code, Some(5), "{ended:?}");
    // The home's end looks for what is left.
}

/// What it left ignores TERM: while that is being ended, the call asks for the job.
#[tokio::test]
async fn a_shell_that_ended_by_itself_becomes_a_job_while_its_rest_is_ended() {
    let shop = shop();
    let left = "setsid bash -c 'trap \"\" TERM; touch deaf; while :; do sleep 1; done'";
    let script = format!(
        "({left} >/dev/null 2>&1 &) ; until [ -e deaf ]; do sleep 0.01; done; echo over; exit 5"
    );
    let job = shop.start(script).await;
    let ended = shop.ended(&job).await;
    assert_eq!(ended.exit_code, Some(5), "{ended:?}");
    assert!(ended.left_behind.is_empty(), "{ended:?}");
    assert!(shop.output(&job).await.contains("over"));
}
