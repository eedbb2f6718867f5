//! The engine is stopped, killed, or ends: what becomes of its commands.

use super::host::{ARGUMENTS, Aside, Host, Job};
use super::scene::{
    Answer, GRACE, Held, PATIENCE, SLACK, Scene, WAIT_FOR_GO, request, runs_in, state_of,
    wait_until,
};
use bashd_testkit::keeper_hook::MARK;
use bashd_testkit::{Home, as_each_user, processes};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// A tree that hides, and is deaf to TERM.
const DEAF: &str = "trap '' TERM; setsid -f sleep 300; sleep 300 & while :; do sleep 300; done";

/// Fails unless everything that carries the home's mark ends soon.
fn commands_end(home: &Home) {
    wait_until("everything of the command has ended", || {
        processes::with_variable(MARK, home.mark()).is_empty()
    });
}

#[test]
fn a_stopped_engine_does_not_keep_its_command_alive() {
    as_each_user(|| {
        let home = Home::new();
        let limit = Duration::from_secs(2);
        let mut host = Host::start(&Job::new(&home, DEAF, limit));
        let shell = Held::written(&host.hear("started"));
        let engine = Held::open(host.pid());
        engine.stop();
        let begun = Instant::now();
        assert!(shell.ends_within(PATIENCE), "the shell still runs");
        commands_end(&home);
        assert!(begun.elapsed() < limit + GRACE + SLACK, "too late");
        assert_eq!(state_of(host.pid()), Some('T'), "the engine went on");
        engine.signal(Signal::CONT);
        let reply = host.reply();
        assert_eq!(reply["timed_out"], true, "{reply}");
        assert_eq!(reply["signal"], 9, "{reply}");
        host.leaves_nothing();
        host.ends_well();
    });
}

#[test]
fn a_killed_engine_takes_its_tree_along_and_leaves_no_file() {
    as_each_user(|| {
        let home = Home::new();
        let command = format!("head -c 300000 /dev/zero; echo; {DEAF}");
        let mut host = Host::start(&Job::new(&home, command, PATIENCE * 10));
        let shell = Held::written(&host.hear("started"));
        host.hear("output");
        let begun = Instant::now();
        host.kill();
        assert!(shell.ends_within(GRACE + SLACK), "the shell still runs");
        commands_end(&home);
        assert!(begun.elapsed() < GRACE + SLACK, "{:?}", begun.elapsed());
        host.leaves_nothing();
        let left = runs_in(&home.state());
        assert!(left.is_empty(), "{left:?}");
    });
}

#[test]
fn an_engine_whose_fork_holds_its_sockets_is_seen_to_die() {
    as_each_user(|| {
        let home = Home::new();
        let job = Job::new(&home, DEAF, PATIENCE * 10).aside(Aside::Forks);
        let mut host = Host::start(&job);
        let fork = Held::written(&host.hear("forked"));
        let shell = Held::written(&host.hear("started"));
        assert!(has_socket(fork.raw()), "the fork holds no socket");
        host.kill();
        assert!(shell.ends_within(GRACE + SLACK), "the shell still runs");
        commands_end(&home);
        assert!(fork.lives(), "the fork was not there any more");
        fork.signal(Signal::KILL);
        host.leaves_nothing();
    });
}

fn has_socket(pid: i32) -> bool {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors");
    descriptors.flatten().any(|descriptor| {
        let target = std::fs::read_link(descriptor.path()).unwrap_or_default();
        target.to_string_lossy().starts_with("socket:")
    })
}

#[test]
fn survivors_outlive_a_normal_end_of_the_engine_and_are_read() {
    as_each_user(|| {
        let home = Home::new().keeping_in_state(&["runs"]);
        // Without a reader, the write would end the subshell by SIGPIPE before it leaves its proof.
        let command = format!("{{ {WAIT_FOR_GO}; echo late && : > proof; }} & echo done");
        let mut host = Host::start(&Job::new(&home, command, PATIENCE));
        let reply = host.reply();
        let pid = reply["left_behind"][0]["pid"].as_i64().expect("a pid");
        let survivor = Held::open(pid as i32);
        let mark = host.mark().to_owned();
        host.ends_well();
        assert!(!survivor.ends_within(Duration::from_millis(300)), "ended");
        let workspace = home.workspace();
        std::fs::write(workspace.join("go"), "").expect("a file");
        assert!(survivor.ends_within(PATIENCE), "it still waits");
        assert!(workspace.join("proof").exists(), "it got no reader");
        wait_until("its keeper has left", || {
            processes::with_variable(MARK, &mark).is_empty()
        });
        let [run] = &runs_in(&home.state())[..] else {
            panic!("not one run")
        };
        let log = std::fs::read_to_string(run.join("output")).expect("a log");
        assert_eq!(log, "done\nlate\n");
    });
}

#[test]
fn survivors_outlive_a_killed_engine_that_had_replied() {
    as_each_user(|| {
        let home = Home::new().keeping_in_state(&["runs"]);
        let command = format!("{{ {WAIT_FOR_GO}; echo late && : > proof; }} & echo done");
        let mut host = Host::start(&Job::new(&home, command, PATIENCE));
        let reply = host.reply();
        let pid = reply["left_behind"][0]["pid"].as_i64().expect("a pid");
        let survivor = Held::open(pid as i32);
        host.kill();
        std::fs::write(home.workspace().join("go"), "").expect("a file");
        assert!(survivor.ends_within(PATIENCE), "it still waits");
        assert!(home.workspace().join("proof").exists(), "it got no reader");
        host.leaves_nothing();
    });
}

#[test]
fn an_engine_inside_a_command_ends_with_it() {
    as_each_user(|| {
        let scene = Scene::new();
        let inner = scene.home.root().join("inner");
        let job = Job::new(&scene.home, DEAF, PATIENCE * 10).state(inner.clone());
        let (name, value) = job.variable();
        // This very program, which can be read also where its path can not.
        let program = format!("/proc/{}/exe", std::process::id());
        let command = format!("{program} {}", ARGUMENTS.join(" "));
        let limit = Duration::from_secs(4);
        let call = request(command).env(name, value).timeout(limit);
        let Answer { reply, took } = scene.run(call);
        assert!(reply.timed_out, "{reply:?}");
        assert!(reply.output.contains("@started "), "{reply:?}");
        assert!(took < limit + GRACE + SLACK, "{took:?}");
        scene.everything_ends();
        let mark = reply
            .output
            .lines()
            .find_map(|line| line.strip_prefix("@mark "));
        let mark = mark.expect("the inner engine's mark");
        wait_until("the inner engine's keepers have ended", || {
            processes::with_variable(MARK, mark).is_empty()
        });
        let left = runs_in(&inner);
        assert!(left.is_empty(), "{left:?}");
        scene.still_works();
    });
}

#[test]
fn an_engine_inside_a_command_works_as_outside() {
    as_each_user(|| {
        let scene = Scene::new();
        let inner = scene.home.root().join("inner");
        let job = Job::new(&scene.home, "echo inner; exit 3", PATIENCE).state(inner);
        let (name, value) = job.variable();
        let program = format!("/proc/{}/exe", std::process::id());
        let command = format!("{program} {}; echo outer $?", ARGUMENTS.join(" "));
        let Answer { reply, .. } = scene.run(request(command).env(name, value));
        assert!(
            reply.output.contains("\n@output \"inner\\n\"\n"),
            "{reply:?}"
        );
        assert!(reply.output.contains("\"exit_code\":3"), "{reply:?}");
        assert!(reply.output.ends_with("outer 0\n"), "{reply:?}");
        scene.everything_ends();
    });
}
