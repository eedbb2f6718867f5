//! Children that hide, ignore, stop or multiply: a deadline ends them all, and nobody else.

use super::scene::{Answer, GRACE, Held, SLACK, Scene, request};
use bashd::Request;
use bashd_testkit::as_each_user;
use std::time::Duration;

/// Long enough that a shell has started, also on a busy machine.
const LIMIT: Duration = Duration::from_millis(1500);

/// Runs a command that must be ended by its deadline, with everything that it started.
fn ended_by_deadline(command: &str) -> Answer {
    let mut answers = all_ended_by_deadline(&[command]);
    answers.remove(0)
}

/// Runs commands at once, each of which must be ended by its deadline.
fn all_ended_by_deadline(commands: &[&str]) -> Vec<Answer> {
    let scene = Scene::new();
    let calls = commands
        .iter()
        .map(|command| request(*command).timeout(LIMIT));
    let answers = scene.run_at_once(calls);
    for Answer { reply, took } in &answers {
        assert!(reply.timed_out, "{reply:?}");
        assert!(*took >= LIMIT, "{took:?}");
        assert!(*took < LIMIT + GRACE + SLACK, "{took:?}");
    }
    // On a busy machine the death of what was killed may come after the reply, which waits for it
    // for a while.
    let is_prompt = |answer: &Answer| answer.took < LIMIT + GRACE + Duration::from_millis(500);
    if answers.iter().all(is_prompt) {
        scene.nothing_runs();
    }
    scene.everything_ends();
    scene.still_works();
    answers
}

/// Runs a command that ends by itself, at once.
fn ends_by_itself(command: &str) -> Answer {
    let scene = Scene::new();
    let answer = scene.run(request(command));
    let Answer { reply, took } = &answer;
    assert!(!reply.timed_out && reply.error.is_none(), "{reply:?}");
    assert!(*took < SLACK * 2, "{took:?}");
    scene.nothing_runs();
    answer
}

#[test]
fn a_tree_that_obeys_ends_at_the_deadline_without_grace() {
    as_each_user(|| {
        let Answer { reply, took } = ended_by_deadline("echo before; sleep 300 & sleep 300");
        assert_eq!(reply.output, "before\n");
        assert_eq!(reply.signal, Some(15));
        assert!(took < LIMIT + SLACK, "{took:?}");
    });
}

#[test]
fn a_child_that_ignores_term_is_killed_after_the_grace() {
    as_each_user(|| {
        let command = "trap '' TERM; echo deaf; while :; do sleep 300; done";
        let Answer { reply, took } = ended_by_deadline(command);
        assert_eq!(reply.output, "deaf\n");
        assert_eq!(reply.signal, Some(9));
        assert!(took >= LIMIT + GRACE, "{took:?}");
    });
}

#[test]
fn what_a_command_says_on_term_is_kept() {
    as_each_user(|| {
        let command = "trap 'echo cleaning up; exit 7' TERM; echo begun; sleep 300 & wait";
        let Answer { reply, .. } = ended_by_deadline(command);
        assert_eq!(reply.output, "begun\ncleaning up\n");
        assert_eq!(reply.exit_code, Some(7));
    });
}

#[test]
fn a_stopped_child_and_a_stopped_shell_are_ended() {
    as_each_user(|| {
        all_ended_by_deadline(&[
            "sleep 300 & kill -STOP $!; wait",
            "kill -STOP $$; sleep 300",
            "trap '' TERM; kill -STOP $$; sleep 300",
        ]);
    });
}

#[test]
fn a_child_in_a_session_of_its_own_is_ended() {
    as_each_user(|| {
        ended_by_deadline("setsid -f sleep 300; (setsid setsid -f sleep 300 &); sleep 300");
    });
}

#[test]
fn a_daemon_is_ended() {
    as_each_user(|| {
        // Twice forked, a session of its own, all descriptors closed, another directory, deaf to
        // TERM.
        let daemon = "trap '' TERM HUP INT; cd /; exec 0<&- 1>&- 2>&-; sleep 300 & sleep 300";
        let command = format!("(setsid bash -c \"{daemon}\" &) & wait; sleep 300");
        ended_by_deadline(&command);
    });
}

#[test]
fn a_child_that_holds_the_pipe_does_not_hold_the_call() {
    as_each_user(|| {
        let scene = Scene::with_logs();
        let command = "sleep 300 & echo $!";
        let Answer { reply, took } = scene.run(request(command));
        assert_eq!(reply.exit_code, Some(0));
        assert!(took < SLACK, "{took:?}");
        Held::written(&reply.output).signal(rustix::process::Signal::KILL);
        scene.everything_ends();
    });
}

#[test]
fn a_command_that_closes_its_output_and_goes_on_is_waited_for() {
    as_each_user(|| {
        let Answer { reply, took } = ends_by_itself("echo seen; exec >&- 2>&-; sleep 0.3; exit 5");
        assert_eq!(reply.output, "seen\n");
        assert_eq!(reply.exit_code, Some(5));
        assert!(took >= Duration::from_millis(300), "{took:?}");
    });
}

#[test]
fn a_command_that_closes_its_stdout_still_has_its_stderr() {
    as_each_user(|| {
        let Answer { reply, .. } = ends_by_itself("exec >&-; echo lost; echo seen >&2; exit 3");
        assert!(reply.output.ends_with("seen\n"), "{reply:?}");
        assert_eq!(reply.exit_code, Some(3));
        let Answer { reply, .. } = ends_by_itself("exec 0<&- >&- 2>&-; exit 4");
        assert_eq!((reply.exit_code, reply.output_bytes), (Some(4), 0));
    });
}

#[test]
fn a_command_with_closed_output_is_ended_by_its_deadline() {
    as_each_user(|| {
        ended_by_deadline("exec 0<&- >&- 2>&-; trap '' TERM; while :; do sleep 300; done");
    });
}

#[test]
fn a_shell_that_kills_itself_is_told_by_its_signal() {
    as_each_user(|| {
        let Answer { reply, .. } = ends_by_itself("echo last words; kill -9 $$");
        assert_eq!(reply.output, "last words\n");
        assert_eq!((reply.signal, reply.exit_code), (Some(9), None));
        assert!(reply.text.contains("killed by signal 9"), "{}", reply.text);
    });
}

#[test]
fn a_shell_that_kills_its_whole_group_hits_nobody_else() {
    as_each_user(|| {
        let Answer { reply, .. } = ends_by_itself("echo last words; kill -9 0");
        assert_eq!(reply.output, "last words\n");
        assert_eq!(reply.signal, Some(9));
    });
}

#[test]
fn a_hundred_processes_in_a_chain_are_ended() {
    as_each_user(|| {
        let scene = Scene::new();
        std::fs::write(scene.file("chain"), CHAIN).expect("a script");
        let enough = |text: &str| text.contains("bottom");
        let call = request("exec bash ./chain 100").timeout(Duration::from_secs(5));
        let mut count = 0;
        let answer = scene.block_on(async {
            let token = bashd::CancellationToken::new();
            let call = bashd::Call::from(call).cancel_by(token.clone());
            let mut running = scene.engine.stream(call);
            super::scene::until_output(&mut running, enough).await;
            count = scene.commands().len();
            let begun = std::time::Instant::now();
            token.cancel();
            let reply = super::scene::finished(running).await;
            let took = begun.elapsed();
            Answer { reply, took }
        });
        assert!(count > 100, "only {count} processes");
        assert!(answer.reply.cancelled, "{:?}", answer.reply);
        assert!(answer.took < GRACE + SLACK, "{:?}", answer.took);
        scene.everything_ends();
    });
}

/// Starts itself one level deeper, deaf to TERM.
const CHAIN: &str = "trap '' TERM\n\
    if (($1 == 0)); then echo bottom; sleep 300; exit; fi\n\
    bash ./chain $(($1 - 1)) & wait; wait; sleep 300";

#[test]
fn a_tree_that_grows_back_is_ended() {
    as_each_user(|| {
        let scene = Scene::new();
        // A fork bomb with a cap: each of twenty deaf loops replaces its child whenever that is
        // killed.
        let growing = "trap '' TERM; while :; do (trap - TERM; exec sleep 300) & wait; done";
        let command = format!("for i in {{1..20}}; do ({growing}) & done; wait; sleep 300");
        let Answer { reply, took } = scene.run(request(command).timeout(LIMIT));
        assert!(reply.timed_out, "{reply:?}");
        assert!(took < LIMIT + GRACE + SLACK, "{took:?}");
        scene.everything_ends();
        scene.still_works();
    });
}

#[test]
fn nobody_else_is_signalled() {
    as_each_user(|| {
        let scene = Scene::new();
        let mut bystander = std::process::Command::new("sleep")
            .arg("300")
            .spawn()
            .expect("a bystander");
        let held = Held::open(bystander.id() as i32);
        // One call's end must not touch another call either.
        let answers = scene.block_on(async {
            let slow = scene.engine.run(request("sleep 3; echo untouched"));
            let deaf = "trap '' TERM; setsid -f sleep 300; sleep 300";
            let ended = scene.engine.run(request(deaf).timeout(LIMIT));
            tokio::join!(slow, ended)
        });
        assert_eq!(answers.0.text, "untouched\n");
        assert!(answers.1.timed_out, "{:?}", answers.1);
        assert!(held.lives(), "the bystander was ended");
        bystander.kill().expect("our own child");
        bystander.wait().expect("our own child");
    });
}

#[test]
fn cancelling_and_forgetting_a_call_end_its_tree() {
    as_each_user(|| {
        let scene = Scene::new();
        let command = "trap '' TERM; setsid -f sleep 300; echo up; while :; do sleep 300; done";
        let Answer { reply, took } = scene.run_and_cancel(request(command));
        assert!(reply.cancelled && !reply.timed_out, "{reply:?}");
        assert_eq!(reply.output, "up\n");
        assert!(took < GRACE + SLACK, "{took:?}");
        scene.everything_ends();
        assert_eq!(scene.run_and_drop(request(command)), "up\n");
        scene.everything_ends();
        scene.still_works();
    });
}

#[test]
fn the_profiles_end_trees_as_well() {
    as_each_user(|| {
        let scene = Scene::new();
        let profiles = ["voice", "harness", "phoenix"];
        let command = "echo partial; setsid -f sleep 300; sleep 300";
        let calls = profiles.map(|name| Request::new(command).profile(name).timeout(LIMIT));
        for Answer { reply, took } in scene.run_at_once(calls) {
            assert!(reply.timed_out, "{reply:?}");
            assert!(reply.text.contains("partial"), "{reply:?}");
            assert!(took < LIMIT + SLACK, "{took:?}");
        }
        scene.nothing_runs();
    });
}
