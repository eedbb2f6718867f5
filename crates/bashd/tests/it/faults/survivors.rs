//! What a finished shell leaves running on purpose: it stays, is listed, and somebody reads what it
//! writes.

use super::scene::{Answer, Held, SLACK, SWIFT, Scene, WAIT_FOR_GO, request, runs_in, wait_until};
use bashd::plan::Survivors;
use bashd::{LeftBehind, LeftReason};
use bashd_testkit::{Home, as_each_user};
use rustix::process::Signal;
use std::time::Duration;

/// Waits until the one log that a call left in the state directory has this text.
fn log_is(scene: &Scene, name: &str, expected: &str) {
    let log = || {
        let run = runs_in(&scene.home.state()).into_iter().next()?;
        std::fs::read_to_string(run.join(name)).ok()
    };
    wait_until(&format!("the log {name} is {expected:?}"), || {
        log().as_deref() == Some(expected)
    });
}

fn survivor(left_behind: &[LeftBehind], command: &str) -> Held {
    // Before its exec it has the shell's command line, in the middle of it the name alone of what
    // it was.
    let found = left_behind
        .iter()
        .find(|process| process.command.contains(command) || process.command.starts_with('['));
    let found = found.unwrap_or_else(|| panic!("{command:?} is not in {left_behind:?}"));
    assert_eq!(found.reason, LeftReason::Survivor);
    Held::open(found.pid)
}

#[test]
fn a_background_sleep_stays_and_the_reply_does_not_wait() {
    as_each_user(|| {
        let scene = Scene::with_logs();
        let Answer { reply, took } = scene.run(request("sleep 30 & echo done"));
        assert_eq!(
            (reply.output.as_str(), reply.exit_code),
            ("done\n", Some(0))
        );
        assert!(took < SLACK, "{took:?}");
        assert_eq!(reply.left_behind.len(), 1, "{reply:?}");
        assert!(
            reply.text.contains("[left running as job bg_1: process "),
            "{reply:?}"
        );
        let sleep = survivor(&reply.left_behind, "sleep 30");
        scene.still_works();
        assert!(sleep.lives());
        sleep.signal(Signal::KILL);
        scene.everything_ends();
        log_is(&scene, "output", "done\n");
    });
}

#[test]
fn what_a_survivor_writes_later_is_in_its_log() {
    as_each_user(|| {
        let scene = Scene::with_logs();
        let command = format!("{{ {WAIT_FOR_GO}; echo late; }} & echo done");
        let Answer { reply, .. } = scene.run(request(command));
        assert_eq!(reply.output, "done\n");
        log_is(&scene, "output", "done\n");
        scene.go();
        scene.everything_ends();
        log_is(&scene, "output", "done\nlate\n");
    });
}

#[test]
fn streams_that_are_apart_have_a_log_each() {
    as_each_user(|| {
        let scene = Scene::with_logs();
        let command = format!("{{ {WAIT_FOR_GO}; echo late; echo later >&2; }} & echo done");
        let Answer { reply, .. } = scene.run(request(command).profile("harness"));
        assert_eq!(reply.exit_code, Some(0), "{reply:?}");
        scene.go();
        scene.everything_ends();
        log_is(&scene, "output", "done\nlate\n");
        log_is(&scene, "stderr", "later\n");
    });
}

#[test]
fn a_chatty_survivor_does_not_delay_the_reply() {
    as_each_user(|| {
        let scene = Scene::with_logs();
        let Answer { reply, took } = scene.run(request("yes & echo $! > yes; echo done"));
        // The drain's bound is 100 ms, however much is written.
        assert!(took < Duration::from_millis(100) + SLACK, "{took:?}");
        assert_eq!(reply.exit_code, Some(0));
        assert_eq!(reply.left_behind.len(), 1, "{reply:?}");
        let yes = Held::written(&scene.line_of("yes"));
        assert!(yes.lives());
        yes.signal(Signal::KILL);
        scene.everything_ends();
    });
}

#[test]
fn a_process_substitution_is_waited_for_or_listed() {
    as_each_user(|| {
        let scene = Scene::with_logs();
        // Its write comes after the shell's end, within the silence that is waited for. On a busy
        // machine it may come later; then the reply must not pretend that all is over.
        for _ in 0..bashd_testkit::repetitions(400) {
            let Answer { reply, .. } = scene.run(request("echo through > >(cat)"));
            let is_whole = reply.output == "through\n";
            assert!(is_whole || !reply.left_behind.is_empty(), "{reply:?}");
        }
        scene.everything_ends();
    });
}

#[test]
fn a_survivor_that_outlives_its_deadline_stays() {
    as_each_user(|| {
        let scene = Scene::with_logs();
        let limit = Duration::from_millis(1500);
        let Answer { reply, .. } = scene.run(request("sleep 300 & echo $!").timeout(limit));
        assert!(!reply.timed_out, "{reply:?}");
        let sleep = survivor(&reply.left_behind, "sleep 300");
        // The deadline was the call's, which is over.
        assert!(!sleep.ends_within(limit * 2), "it was ended");
        sleep.signal(Signal::KILL);
        scene.everything_ends();
    });
}

#[test]
fn the_policy_can_end_survivors() {
    as_each_user(|| {
        let scene = Scene::with(Home::new(), |config| {
            config.survivors = Some(Survivors::End);
        });
        let deaf = "(trap '' TERM; exec sleep 300)";
        let command = format!("sleep 300 & setsid -f sleep 300; {deaf} & echo done; exit 3");
        let Answer { reply, took } = scene.run(request(command));
        assert_eq!(
            (reply.output.as_str(), reply.exit_code),
            ("done\n", Some(3))
        );
        assert!(!reply.timed_out && !reply.cancelled, "{reply:?}");
        assert!(took < super::scene::GRACE + SLACK, "{took:?}");
        scene.everything_ends();
    });
}

#[test]
fn every_profile_keeps_and_lists_survivors() {
    as_each_user(|| {
        let scene = Scene::with_logs();
        for profile in ["voice", "harness", "phoenix", "default", SWIFT] {
            let call = request("nohup sleep 300 >/dev/null 2>&1 & echo done").profile(profile);
            let Answer { reply, took } = scene.run(call);
            assert!(took < SLACK * 2, "{profile}: {took:?}");
            assert!(reply.text.contains("done"), "{profile}: {reply:?}");
            let sleep = survivor(&reply.left_behind, "sleep 300");
            sleep.signal(Signal::KILL);
            scene.everything_ends();
        }
    });
}
