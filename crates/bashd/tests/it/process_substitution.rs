//! Output of process substitutions: the shell does not wait for them, the reply does.
//!
//! What plain bash writes into a pipe is what a call returns, in every profile; what was left
//! running on purpose is not waited for. The full count runs in a soak, beside busy processes.

use crate::profile_under_test::{Contract, copy_profile, end, engine_with_own_profiles};
use bashd::Reply;
use bashd_testkit::{Home, repetitions};
use std::process::{Child, Command, Stdio};

/// Profiles whose texts are not ours, and ours.
const PROFILES: [&str; 5] = ["voice", "harness", "phoenix", "default", "pi"];

/// Commands whose last output comes from something that the shell does not wait for.
const SHAPES: [&str; 8] = [
    "seq 1 5 > >(python3 -c 'import sys; print(sum(map(int, sys.stdin)))')",
    "echo through > >(cat)",
    "echo through > >(sleep 0.1; tr a-z A-Z)",
    "seq 1 1000 > >(sort -r | tail -n 1)",
    "seq 1 3 | tee >(sed s/^/x/ | sort -r) >/dev/null",
    "{ echo wrong >&2; } 2> >(sed s/^/error:/ >&2)",
    "exec > >(sleep 0.1; nl -ba -w1 -s:); echo one; echo two",
    "echo deep > >(cat > >(sleep 0.1; cat))",
];

/// Processes that keep every core busy until this is dropped.
struct Load(Vec<Child>);

impl Load {
    fn on_every_core() -> Self {
        let count = 2 * std::thread::available_parallelism().map_or(2, usize::from);
        let busy = || {
            Command::new("bash")
                .args(["-c", "while :; do :; done"])
                .stdout(Stdio::null())
                .spawn()
                .expect("a busy shell")
        };
        Self((0..count).map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What bash writes into a pipe, which ends with the last of its writers.
fn expected(command: &str) -> String {
    let done = Command::new("bash")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .output()
        .expect("bash runs");
    String::from_utf8(done.stdout).expect("text")
}

/// A profile with another bound for what finishes the output.
fn bounded(home: &Home, profile: &str, bound: &str) -> Contract {
    let words = [("drain_finish_ms = 2000", bound)];
    copy_profile(home, profile, "bounded", &words);
    let engine = engine_with_own_profiles(home, home.workspace());
    Contract::on(&engine, "bounded")
}

fn assert_whole(reply: &Reply, what: (&str, &str), expected: &str) {
    assert_eq!(reply.output, expected, "{what:?}: {reply:?}");
    assert!(!reply.output_unfinished, "{what:?}: {reply:?}");
    assert_eq!(reply.exit_code, Some(0), "{what:?}: {reply:?}");
}

#[tokio::test]
async fn output_of_process_substitutions_is_in_every_profiles_reply() {
    let home = Home::new();
    let contracts = PROFILES.map(|profile| (profile, Contract::new(&home, profile)));
    let expected = SHAPES.map(|command| (command, expected(command)));
    assert_eq!(expected[0].1, "15\n");
    let _load = Load::on_every_core();
    let pairs = expected.iter().cycle().zip(contracts.iter().cycle());
    // Eight shapes and five profiles: every pair comes up.
    for ((command, expected), (profile, contract)) in pairs.take(repetitions(500)) {
        let reply = contract.run(*command).await;
        assert_whole(&reply, (profile, command), expected);
    }
}

#[tokio::test]
async fn a_session_waits_for_them_too() {
    let home = Home::new();
    let contract = Contract::new(&home, "default");
    let expected = SHAPES.map(|command| {
        let command = format!("( {command}\n)");
        let expected = expected(&command);
        (command, expected)
    });
    let _load = Load::on_every_core();
    let rounds = expected.iter().cycle().take(repetitions(160));
    for (round, (command, expected)) in rounds.enumerate() {
        let name = format!("s{}", round % 3);
        let reply = contract
            .engine
            .run(contract.request(command).session(&name))
            .await;
        assert_whole(&reply, ("session", command), expected);
    }
}

#[tokio::test]
async fn what_takes_longer_than_the_bound_is_said() {
    for (profile, is_told) in [
        ("voice", false),
        ("harness", false),
        ("phoenix", false),
        ("default", true),
    ] {
        let home = Home::new();
        let contract = bounded(&home, profile, "drain_finish_ms = 120");
        // zsh itself waits for what a builtin writes to.
        let late = "bash -c 'echo late > >(sleep 300; cat)'";
        let reply = contract.run(late).await;
        assert!(reply.output_unfinished, "{profile}: {reply:?}");
        assert_eq!(
            (&*reply.output, reply.exit_code),
            ("", Some(0)),
            "{profile}"
        );
        let line = "the output may be incomplete: a process substitution was still running 0.12 s \
                    after the command ended";
        assert_eq!(reply.text.contains(line), is_told, "{profile}: {reply:?}");
        assert!(!reply.left_behind.is_empty(), "{profile}: {reply:?}");
        end(&reply);
    }
}

#[tokio::test]
async fn what_was_left_running_is_not_waited_for() {
    // The server of each has the run's pipe: only the kind of its stdin tells.
    let left = [
        "sleep 300 & echo done",
        "nohup sleep 300 2>/dev/null & echo done",
        "sleep 300 | tee log & echo done",
        "{ echo up; sleep 300; } > >(cat >/dev/null) & echo done",
        "setsid sleep 300 & echo done",
    ];
    for profile in ["voice", "harness", "phoenix", "default"] {
        let home = Home::new();
        let contract = bounded(&home, profile, "drain_finish_ms = 600000");
        for command in left {
            let command = format!("{command} 2>&1");
            let reply = contract.run(format!("bash -c '{command}'")).await;
            assert_whole(&reply, (profile, &command), "done\n");
            assert!(reply.wall_ms < 60_000, "{profile}: {command}: {reply:?}");
            end(&reply);
        }
    }
}

#[tokio::test]
async fn the_wait_ends_with_the_commands_own_limit() {
    let home = Home::new();
    let contract = bounded(&home, "default", "drain_finish_ms = 600000");
    let limit = std::time::Duration::from_secs(2);
    let call = contract.request("echo late > >(sleep 300; cat)");
    let reply = contract.engine.run(call.timeout(limit)).await;
    assert!(reply.output_unfinished && !reply.timed_out, "{reply:?}");
    assert_eq!(
        (reply.exit_code, &reply.error),
        (Some(0), &None),
        "{reply:?}"
    );
    end(&reply);
}
