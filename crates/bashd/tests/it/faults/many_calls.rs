//! Thousands of calls leave no descriptor, no process and no file; a hundred at once are all right.

use super::scene::{GRACE, SLACK, Scene, request, runs_in};
use bashd::Reply;
use bashd_testkit::{as_each_user, repetitions};
use std::fs;
use std::time::{Duration, Instant};

/// Calls that are made at once.
const AT_ONCE: usize = 100;

fn open_descriptors(of: &str) -> usize {
    let list = fs::read_dir(format!("/proc/{of}/fd"));
    list.expect("a process's descriptors").count()
}

/// Those of the fork server. It is closed to commands, and so to everybody who is not root.
fn descriptors_of(server: &str) -> Option<usize> {
    let is_root = rustix::process::getuid().is_root();
    is_root.then(|| open_descriptors(server))
}

#[test]
fn thousands_of_calls_leave_nothing() {
    as_each_user(|| {
        let scene = Scene::new();
        scene.still_works();
        let server = super::scene::fork_server().raw().to_string();
        super::scene::spare_keeper();
        let (ours, servers) = (open_descriptors("self"), descriptors_of(&server));
        for round in 0..repetitions(3000) {
            let call = match round % 5 {
                0 => request("echo out; echo err >&2; exit 3"),
                1 => request("cat | wc -c").stdin(vec![b'x'; 100_000]),
                2 => request("seq 20000").profile("harness"),
                3 => request("nope nope").cwd("no-such-directory"),
                _ => request("kill -9 $$").profile("voice"),
            };
            let reply = scene.run(call).reply;
            let is_wrong = reply.error.is_some() != (round % 5 == 3) || reply.timed_out;
            assert!(!is_wrong, "{round}: {reply:?}");
        }
        super::scene::spare_keeper();
        assert_eq!(open_descriptors("self"), ours, "of the engine");
        assert_eq!(descriptors_of(&server), servers, "of the fork server");
        assert_eq!(runs_in(&scene.home.state()).len(), 0, "files of runs");
        scene.nothing_runs();
    });
}

#[test]
fn a_hundred_calls_at_once_are_all_right() {
    as_each_user(|| {
        let scene = Scene::new();
        let replies = at_once(&scene, |number| {
            format!("echo {number}; [ $(({number} % 3)) = 0 ] && exit 3; exit 0")
        });
        for (number, reply) in replies.iter().enumerate() {
            assert_eq!(reply.output, format!("{number}\n"), "{reply:?}");
            let expected = if number % 3 == 0 { 3 } else { 0 };
            assert_eq!(reply.exit_code, Some(expected), "{reply:?}");
        }
        scene.nothing_runs();
    });
}

#[test]
fn a_hundred_deadlines_at_once_are_all_kept() {
    as_each_user(|| {
        let scene = Scene::new();
        let begun = Instant::now();
        let replies = at_once(&scene, |number| format!("echo {number}; sleep 300"));
        for (number, reply) in replies.iter().enumerate() {
            assert!(reply.timed_out, "{reply:?}");
            assert_eq!(reply.output, format!("{number}\n"), "{reply:?}");
        }
        // A hundred shells need their time to start; none may wait for another's end.
        assert!(
            begun.elapsed() < LIMIT + GRACE + SLACK * 2,
            "{:?}",
            begun.elapsed()
        );
        scene.everything_ends();
    });
}

/// How long a call may run in `at_once`.
const LIMIT: Duration = Duration::from_secs(4);

fn at_once(scene: &Scene, command: impl Fn(usize) -> String) -> Vec<Reply> {
    let calls = (0..AT_ONCE).map(|number| request(command(number)).timeout(LIMIT));
    let answers = scene.run_at_once(calls);
    answers.into_iter().map(|answer| answer.reply).collect()
}
