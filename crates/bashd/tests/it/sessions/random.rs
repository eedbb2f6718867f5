//! A thousand hostile calls through one session, in random order, and every reply is right.

use super::Session;
use crate::profile_under_test::wait_until_nothing_runs;
use bashd_testkit::{Home, repetitions};
use std::time::Duration;

/// A command, its status (`None` where the shell itself dies), and the start of its output.
type Case = (&'static str, Option<i32>, &'static str);

const CASES: &[Case] = &[
    ("echo hello", Some(0), "hello\n"),
    ("exit 3", Some(3), ""),
    ("exec true", Some(0), ""),
    ("kill -9 $$", None, ""),
    ("set -e; false", Some(1), ""),
    ("echo \"x", Some(2), "bash: "),
    ("if", Some(2), "bash: "),
    ("exec 1>&- 2>&-", Some(0), ""),
    ("exec 3<&- 4<&- 5<&- 10<&- 255<&-", Some(0), ""),
    ("return 4", Some(2), "bash: "),
    (
        "(while :; do echo noise; sleep 0.05; done) & bg=$!; disown; sleep 0.1; kill $bg",
        Some(0),
        "noise\n",
    ),
    ("head -c 3000000 /dev/zero | tr '\\0' x", Some(0), "xxxx"),
    ("trap 'echo trapped' EXIT", Some(0), ""),
    ("trap - EXIT DEBUG ERR; true", Some(0), ""),
    ("set -n", None, ""),
    ("cd /; pwd", Some(0), "/\n"),
    (
        "sleep 0.02 & sleep 0.01 & wait; echo both",
        Some(0),
        "both\n",
    ),
    ("echo() { :; }; unset -f echo; (exit 9)", Some(9), ""),
    ("printf 'no newline'", Some(0), "no newline"),
    ("cat /dev/null; false", Some(1), ""),
    ("sh -c 'kill -TERM $$'", Some(143), ""),
];

/// A small generator that can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

#[tokio::test]
async fn a_thousand_hostile_calls_each_get_their_own_reply() {
    let home = Home::new();
    let session = Session::new(&home);
    let seed = u64::from(std::process::id());
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed);
    for number in 0..repetitions(1000) {
        let (command, status, start) = CASES[dice.roll(CASES.len())];
        // Each reply must be that of its own call, whatever the one before did.
        session.output(&format!("n={number}")).await;
        let request = session.request(command).timeout(Duration::from_mins(1));
        let reply = session.engine.run(request).await;
        let about = format!("seed {seed}, call {number}: {command}: {reply:?}");
        assert!(!reply.timed_out && reply.error.is_none(), "{about}");
        assert_eq!(reply.exit_code, status, "{about}");
        assert!(reply.output.starts_with(start), "{about}");
        let died = status.is_none() || reply.session_reset.is_some();
        let next = session.run("echo \"[$n]\"").await;
        let expected = if died {
            "[]\n".to_owned()
        } else {
            format!("[{number}]\n")
        };
        let trapped = next.output.trim_end_matches("trapped\n");
        assert_eq!(trapped, expected, "{about}, then {next:?}");
        assert_eq!(next.session_reset, None, "{about}");
    }
    let runs = session.engine.config().runs_dir();
    drop(session);
    wait_until_nothing_runs(&home);
    // What the writers left running said is in their logs.
    std::fs::remove_dir_all(runs).expect("logs");
}
