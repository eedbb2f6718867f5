//! Keepers and the process that forks them are killed or stopped, by accident or by the command
//! itself.

use super::scene::{
    Answer, GRACE, Held, PATIENCE, SLACK, Scene, WAIT_FOR_GO, fork_server, request, spare_keeper,
    wait_until,
};
use bashd_testkit::as_each_user;
use rustix::process::Signal;
use std::time::Duration;

/// What the engine waits longer than the keeper.
const BACKSTOP: Duration = Duration::from_secs(1);

/// Finds the keeper's pid as the guard, which denies `kill $PPID`, can't see it coming.
const FIND_KEEPER: &str = "read -r _ _ _ keeper _ < /proc/$$/stat";

/// Makes a tree that is deaf to TERM, and tells its keeper's pid.
const TREE: &str = "trap '' TERM; setsid -f sleep 300; sleep 300 & echo keeper $PPID; sleep 300";

/// The keeper's pid from the output of [`TREE`].
fn keeper_of(output: &str) -> Held {
    let pid = output.strip_prefix("keeper ").expect("the keeper's pid");
    Held::written(pid)
}

fn has_line(text: &str) -> bool {
    text.contains('\n')
}

#[test]
fn a_command_that_kills_its_keeper_gets_a_clear_reply() {
    as_each_user(|| {
        let scene = Scene::new();
        let hidden = "setsid -f sleep 300; sleep 300 &";
        let kill = format!("{FIND_KEEPER}; kill -9 $keeper");
        let command = format!("{hidden} echo captured; {WAIT_FOR_GO}; {kill}; sleep 300");
        let Answer { reply, took } = scene.run_and(request(command), has_line, |_| scene.go());
        let error = reply.error.clone().expect("an error");
        assert!(error.contains("keeper was killed"), "{error}");
        assert!(reply.is_error && !reply.timed_out, "{reply:?}");
        assert_eq!((reply.exit_code, reply.signal), (None, None), "{reply:?}");
        assert_eq!(reply.output, "captured\n", "what was captured is kept");
        assert!(reply.text.contains("captured\n"), "{}", reply.text);
        assert!(took < SLACK, "{took:?}");
        scene.everything_ends();
        scene.still_works();
    });
}

#[test]
fn a_keeper_killed_from_outside_leaves_no_orphan() {
    as_each_user(|| {
        let scene = Scene::new();
        for _ in 0..bashd_testkit::repetitions(100) {
            let kill = |output: &str| keeper_of(output).signal(Signal::KILL);
            let Answer { reply, took } = scene.run_and(request(TREE), has_line, kill);
            assert!(reply.error.is_some(), "{reply:?}");
            assert!(took < SLACK, "{took:?}");
            scene.everything_ends();
        }
        scene.still_works();
    });
}

#[test]
fn a_keeper_killed_with_its_fork_server_leaves_no_orphan() {
    as_each_user(|| {
        let scene = Scene::new();
        // Nobody inherits what is below them: it ends by what the keeper wrote down.
        let live = scene.home.state().join("live");
        let command = format!(
            "trap '' TERM; setsid -f sleep 300; setsid sleep 300 & sleep 300 & \
             until ls {}/*/roster.json >&2; do sleep 0.05; done 2>/dev/null; \
             echo keeper $PPID; sleep 300",
            live.display()
        );
        let kill = |output: &str| {
            let keeper = keeper_of(output);
            let server = fork_server();
            server.signal(Signal::KILL);
            keeper.signal(Signal::KILL);
            assert!(server.ends_within(PATIENCE) && keeper.ends_within(PATIENCE));
        };
        let Answer { reply, .. } = scene.run_and(request(command), has_line, kill);
        let error = reply.error.clone().expect("an error");
        assert!(error.contains("keeper was killed"), "{error}");
        scene.everything_ends();
        scene.still_works();
    });
}

/// Nothing is written down of a run that is younger than a second.
#[test]
fn a_young_keeper_killed_with_its_fork_server_leaves_no_orphan() {
    as_each_user(|| {
        let scene = Scene::new();
        for call in [request(TREE), request(TREE).session("one")] {
            let kill = |output: &str| {
                let keeper = keeper_of(output);
                let server = fork_server();
                server.signal(Signal::KILL);
                keeper.signal(Signal::KILL);
                assert!(server.ends_within(PATIENCE) && keeper.ends_within(PATIENCE));
            };
            let Answer { reply, .. } = scene.run_and(call, has_line, kill);
            let error = reply.error.clone().expect("an error");
            assert!(error.contains("keeper was"), "{error}");
            scene.everything_ends();
            scene.still_works();
        }
    });
}

#[test]
fn a_keeper_that_is_asked_to_end_ends_its_tree() {
    as_each_user(|| {
        let scene = Scene::new();
        let ask = |output: &str| keeper_of(output).signal(Signal::TERM);
        let Answer { reply, took } = scene.run_and(request(TREE), has_line, ask);
        assert_eq!(reply.signal, Some(9), "{reply:?}");
        assert!(took < GRACE + SLACK, "{took:?}");
        scene.everything_ends();
    });
}

#[test]
fn a_stopped_keeper_is_given_up_after_the_deadline() {
    as_each_user(|| {
        let scene = Scene::new();
        let limit = Duration::from_secs(3);
        let stop = format!("{FIND_KEEPER}; kill -STOP $keeper");
        let command = format!("setsid -f sleep 300; echo captured; sleep 1; {stop}; sleep 300");
        let Answer { reply, took } = scene.run(request(command).timeout(limit));
        let error = reply.error.clone().expect("an error");
        assert!(error.contains("keeper does not answer"), "{error}");
        assert_eq!(reply.output, "captured\n", "what was captured is kept");
        assert!(took < limit + GRACE + BACKSTOP + SLACK, "{took:?}");
        scene.everything_ends();
        scene.still_works();
    });
}

#[test]
fn a_cancelled_call_does_not_wait_for_a_stopped_keeper() {
    as_each_user(|| {
        let scene = Scene::new();
        let token = bashd::CancellationToken::new();
        let call = bashd::Call::from(request(TREE).timeout(PATIENCE * 100));
        let call = call.cancel_by(token.clone());
        let (reply, took) = scene.block_on(async {
            let mut running = scene.engine.stream(call);
            let output = super::scene::until_output(&mut running, has_line).await;
            keeper_of(&output).stop();
            let begun = std::time::Instant::now();
            token.cancel();
            let reply = tokio::time::timeout(PATIENCE, super::scene::finished(running)).await;
            (reply.expect("a reply in time"), begun.elapsed())
        });
        assert!(reply.error.is_some(), "{reply:?}");
        assert!(took < GRACE + BACKSTOP + SLACK, "{took:?}");
        scene.everything_ends();
        scene.still_works();
    });
}

#[test]
fn a_spare_keeper_that_is_killed_is_replaced() {
    as_each_user(|| {
        let scene = Scene::new();
        for _ in 0..bashd_testkit::repetitions(100) {
            let spare = spare_keeper();
            spare.signal(Signal::KILL);
            assert!(spare.ends_within(PATIENCE));
            scene.still_works();
        }
    });
}

#[test]
fn calls_go_on_when_the_forking_process_is_killed() {
    as_each_user(|| {
        let scene = Scene::new();
        let server = fork_server();
        let command = format!("echo up; {WAIT_FOR_GO}; echo through; exit 3");
        let kill = |_: &str| {
            server.signal(Signal::KILL);
            assert!(server.ends_within(PATIENCE));
            scene.go();
        };
        let Answer { reply, .. } = scene.run_and(request(command), has_line, kill);
        assert_eq!(reply.output, "up\nthrough\n", "the running call went on");
        assert_eq!(reply.exit_code, Some(3));
        // One by a spare, if there was one, and the others by a new server.
        for _ in 0..3 {
            scene.still_works();
        }
        assert_ne!(fork_server().raw(), server.raw());
    });
}

#[test]
fn a_deadline_holds_when_the_forking_process_is_gone() {
    as_each_user(|| {
        let scene = Scene::new();
        let limit = Duration::from_secs(2);
        let kill = |_: &str| fork_server().signal(Signal::KILL);
        let Answer { reply, took } = scene.run_and(request(TREE).timeout(limit), has_line, kill);
        assert!(reply.timed_out, "{reply:?}");
        assert!(took < limit + GRACE + SLACK, "{took:?}");
        scene.everything_ends();
        scene.still_works();
    });
}

#[test]
fn a_stopped_forking_process_costs_one_call_at_most() {
    as_each_user(|| {
        let scene = Scene::new();
        let server = fork_server();
        // Without a spare, every call depends on the server.
        let spare = spare_keeper();
        server.stop();
        spare.signal(Signal::KILL);
        assert!(spare.ends_within(PATIENCE));
        let limit = Duration::from_millis(200);
        let mark = scene.file("ran");
        let call = || request("echo ran >> ran").timeout(limit);
        let Answer { reply, took } = scene.run(call());
        // Another server took its place.
        assert_eq!(reply.error, None, "{reply:?}");
        assert!(took < limit + GRACE + BACKSTOP + SLACK, "{took:?}");
        scene.still_works();
        if server.lives() {
            server.signal(Signal::CONT);
        }
        // Whatever was still in its socket must not come to life after the reply.
        wait_until("the old server has left", || !server.lives());
        scene.everything_ends();
        let ran = std::fs::read_to_string(mark).unwrap();
        assert_eq!(ran, "ran\n", "it ran once, and not again after the reply");
    });
}

#[test]
fn a_stopped_spare_keeper_costs_one_call_at_most() {
    as_each_user(|| {
        let scene = Scene::new();
        let spare = spare_keeper();
        spare.stop();
        let limit = Duration::from_millis(200);
        let call = request("echo ran > ran").timeout(limit);
        let Answer { reply, took } = scene.run(call);
        assert!(reply.error.is_some(), "{reply:?}");
        assert!(took < limit + GRACE + BACKSTOP + SLACK, "{took:?}");
        scene.still_works();
        if spare.lives() {
            spare.signal(Signal::CONT);
        }
        wait_until("the stopped keeper has left", || !spare.lives());
        assert!(!scene.file("ran").exists(), "it ran after the reply");
    });
}
