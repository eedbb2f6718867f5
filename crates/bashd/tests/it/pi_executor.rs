//! `pi`, end to end: how commands run and end, in sessions as its documents have them.

use crate::engine_under_test::{engine, engine_without_sessions};
use crate::profile_under_test::{Contract, running, wait_until_nothing_runs};
use bashd::{Call, CancellationToken, Event, Reply, Request, Running};
use bashd_testkit::Home;
use std::fs;
use std::time::Duration;

fn pi(home: &Home) -> Contract {
    Contract::new(home, "pi")
}

/// Hears a call out, and cancels it when its command has said something.
async fn cancelled_when_ready(pi: &Contract, script: &str) -> Reply {
    let token = CancellationToken::new();
    let call = Call::from(pi.request(script)).cancel_by(token.clone());
    finish(pi.engine.stream(call), || token.cancel()).await
}

/// The reply of a call that says nothing after it; `at_output` happens when its command speaks.
async fn finish(mut call: Running, mut at_output: impl FnMut()) -> Reply {
    while let Some(event) = call.next().await {
        match event {
            Event::Output { .. } => at_output(),
            Event::Finished(reply) => {
                assert!(
                    call.next().await.is_none(),
                    "something came after the reply"
                );
                return *reply;
            }
            _ => {}
        }
    }
    panic!("no reply");
}

#[tokio::test]
async fn executor_a_failure_is_not_cancelled() {
    let home = Home::new();
    let reply = pi(&home).run("echo out; exit 7").await;
    assert_eq!((reply.exit_code, reply.cancelled), (Some(7), false));
    assert_eq!((&*reply.output, reply.timed_out), ("out\n", false));
    assert_eq!(reply.session_reset.as_deref(), Some("its shell exited"));
}

#[tokio::test]
async fn executor_a_symlinked_directory_is_honoured_as_given() {
    let home = Home::new();
    let (real, link) = (home.workspace().join("real"), home.workspace().join("link"));
    fs::create_dir(&real).expect("a directory");
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    let expected = format!("{}\n{}\n", link.display(), real.display());
    for engine in [engine(&home), engine_without_sessions(&home)] {
        let request = Request::new("pwd; pwd -P").profile("pi").cwd(&link);
        let reply = engine.run(request).await;
        assert_eq!(reply.output, expected);
    }
}

#[tokio::test]
async fn executor_cd_bare_cd_and_cd_back_persist() {
    let home = Home::new();
    let pi = pi(&home);
    fs::create_dir(home.workspace().join("d")).expect("a directory");
    let (workspace, own) = (home.workspace(), home.home());
    for (command, place) in [
        ("cd d", workspace.join("d")),
        ("cd", own.clone()),
        ("cd -", workspace.join("d")),
        ("cd .. && true", workspace.clone()),
        ("(cd /)", workspace.clone()),
    ] {
        pi.run(command).await;
        assert_eq!(
            pi.run("pwd").await.output,
            format!("{}\n", place.display()),
            "{command}"
        );
    }
}

#[tokio::test]
async fn executor_what_a_call_started_is_killed_on_timeout_and_on_abort() {
    let home = Home::new();
    let pi = pi(&home);
    let script = "sleep 300 & (trap '' TERM; setsid sleep 300 & disown); echo ready; wait";
    let (reply, _) = pi
        .timed_out(script, |reply| reply.output == "ready\n")
        .await;
    assert_eq!(
        reply.session_reset.as_deref(),
        Some("the command timed out")
    );
    wait_until_nothing_runs(&home);
    let reply = cancelled_when_ready(&pi, script).await;
    assert!(reply.cancelled && !reply.timed_out, "{reply:?}");
    wait_until_nothing_runs(&home);
}

#[tokio::test]
async fn executor_no_output_comes_after_a_timeout_or_an_abort() {
    let home = Home::new();
    let pi = pi(&home);
    // It goes on writing until it is killed.
    let script = "trap '' TERM; while :; do echo more; done";
    let request = pi.request(script).timeout(Duration::from_secs(1));
    let timed_out = finish(pi.engine.stream(request), || ()).await;
    assert!(timed_out.timed_out, "{timed_out:?}");
    let cancelled = cancelled_when_ready(&pi, script).await;
    assert!(cancelled.cancelled, "{cancelled:?}");
    wait_until_nothing_runs(&home);
    assert_eq!(pi.run("echo next").await.output, "next\n");
}

#[tokio::test]
async fn executor_piped_output_is_all_there_when_a_timeout_returns() {
    let home = Home::new();
    let script = "head -c 200000 /dev/zero | tr '\\0' x | cat; echo; sleep 300";
    let ready = |reply: &Reply| reply.output_bytes == 200_001;
    let (reply, limit) = pi(&home).timed_out(script, ready).await;
    let seconds = limit.as_secs().max(1);
    let notice = format!("[Command timed out after {seconds} seconds]\n");
    assert!(reply.text.starts_with(&notice), "{}", reply.text);
}

#[tokio::test]
async fn executor_millions_of_lines_are_counted_and_freeze_nothing() {
    let home = Home::new();
    let reply = pi(&home).run("yes 1 | head -n 3000000").await;
    assert_eq!(
        (reply.output_lines, reply.output_bytes),
        (3_000_000, 6_000_000)
    );
    assert_eq!(reply.output.len(), 51_200);
    let notice = "[Showing lines 2974401-3000000 of 3000000 (50.0KB limit). ";
    assert!(reply.text.contains(notice), "{}", reply.text);
}

#[tokio::test]
async fn executor_an_overlapping_one_shot_call_is_aborted_alone() {
    let home = Home::new();
    let engine = engine(&home);
    let in_session = |command: &str| Request::new(command).session("one");
    engine.run(in_session("x=1")).await;
    let mut owner = engine.stream(in_session("echo begun; read -r line <fifo; echo \"$x\""));
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        home.workspace().join("fifo"),
        rustix::fs::Mode::RWXU,
    )
    .expect("a fifo");
    while !matches!(owner.next().await, Some(Event::Output { .. })) {}
    let token = CancellationToken::new();
    let beside = Call::from(in_session("echo ready; sleep 300")).cancel_by(token.clone());
    let beside = finish(engine.stream(beside), || token.cancel()).await;
    assert!(
        beside.cancelled && beside.session_reset.is_none(),
        "{beside:?}"
    );
    fs::write(home.workspace().join("fifo"), "go\n").expect("a reader");
    let owner = finish(owner, || ()).await;
    assert_eq!((&*owner.output, owner.exit_code), ("begun\n1\n", Some(0)));
    assert_eq!(running(&home).len(), 1, "only the session's shell");
}

#[tokio::test]
async fn executor_here_documents_nohup_and_wait_work_as_in_bash() {
    let home = Home::new();
    let pi = pi(&home);
    let large = format!("wc -c <<'E'\n{}\nE", "x".repeat(300_000));
    for (command, output) in [
        (&*large, "300001\n"),
        ("cat <<E | tr a b\na $((1 + 1))\nE", "b 2\n"),
        ("cat <<E\nno end", "no end"),
        ("nohup sh -c 'exit 5' >log 2>&1 & wait $!; echo $?", "5\n"),
        // bash itself misses a job that has ended before `wait -n`.
        (
            "sleep 60 & long=$!; (sleep 1; exit 4) & wait -n; echo $?; kill $long",
            "4\n",
        ),
        (
            "[ \"$(cut -d' ' -f6 /proc/$$/stat)\" = $$ ] && echo leader",
            "leader\n",
        ),
    ] {
        let reply = pi.run(command).await;
        let shown = reply
            .output
            .lines()
            .filter(|line| !line.contains("here-document"));
        let shown = shown.collect::<Vec<_>>().join("\n");
        assert_eq!(
            shown,
            output.trim_end_matches('\n'),
            "{command:.80}: {reply:?}"
        );
    }
}

#[tokio::test]
async fn failure_result_a_pipeline_keeps_the_output_of_its_last_stage() {
    let home = Home::new();
    let pi = pi(&home);
    for (command, output, status) in [
        ("seq 5 | tail -n 2", "4\n5\n", 0),
        ("seq 5 | head -n 2", "1\n2\n", 0),
        ("(seq 5; exit 3) | tail -n 1", "5\n", 0),
        ("set -o pipefail; (seq 5; exit 3) | tail -n 1", "5\n", 3),
        ("yes | head -n 2", "y\ny\n", 0),
    ] {
        let reply = Contract::on(&engine_without_sessions(&home), "pi")
            .run(command)
            .await;
        assert_eq!(
            (&*reply.output, reply.exit_code),
            (output, Some(status)),
            "{command}"
        );
        let reply = pi.run(format!("({command})")).await;
        assert_eq!(
            (&*reply.output, reply.exit_code),
            (output, Some(status)),
            "({command})"
        );
    }
}

#[tokio::test]
async fn tool_timeouts_the_default_is_300_and_the_range_holds() {
    let home = Home::new();
    let pi = pi(&home);
    for (input, seconds, requested) in [
        (r#"{"command":"true"}"#, 300, None),
        (r#"{"command":"true","timeout":1}"#, 1, None),
        (r#"{"command":"true","timeout":3600}"#, 3600, None),
        (r#"{"command":"true","timeout":3601}"#, 3600, Some(3601)),
        (r#"{"command":"true","timeout":0}"#, 1, Some(0)),
        (r#"{"command":"true","timeout":-3}"#, 1, Some(-3)),
    ] {
        let details = pi.json(input).await.result["details"].clone();
        assert_eq!(details["timeoutSeconds"], seconds, "{input}");
        let found = details.get("requestedTimeoutSeconds").cloned();
        assert_eq!(found, requested.map(serde_json::Value::from), "{input}");
    }
}
