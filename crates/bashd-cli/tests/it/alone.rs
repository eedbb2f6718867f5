//! `bashd run` as a program of its own: its keeper is its child, and its output may be a terminal.

use crate::{bashd, shown};
use bashd_testkit::Home;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Waits until the command of a run has made this file.
fn wait_for(home: &Home, name: &str) {
    let begun = Instant::now();
    while !home.workspace().join(name).exists() {
        let waited = begun.elapsed();
        assert!(
            waited < Duration::from_secs(20),
            "the command did not start"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_killed_bashd_leaves_nothing_running() {
    let home = Home::new();
    let script = "trap '' TERM; (setsid sleep 300 &) ; : > ready; sleep 300";
    let mut child = bashd(&home, &["run", script]).spawn();
    wait_for(&home, "ready");
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().code(), None);
    // The home's leak check waits for the sleeps to be gone.
}

#[test]
fn a_killed_keeper_is_told_with_its_output_and_its_orphans_end() {
    let home = Home::new();
    // The guard, which denies `kill $PPID`, can't see this coming.
    let kill = "read -r _ _ _ keeper _ < /proc/$$/stat; kill -9 $keeper";
    let script = &format!("echo before; sleep 1; (setsid sleep 300 &) ; {kill}; sleep 300");
    let transcript = shown(&home, &["run", "--json", script]);
    let reply: Value = serde_json::from_slice(&transcript.stdout).unwrap();
    assert_eq!(reply["output"], "before\n", "{reply}");
    assert!(
        reply["error"].as_str().unwrap().contains("killed"),
        "{reply}"
    );
    assert_eq!(transcript.code(), Some(125));
}

/// `bashd run` at a terminal, which `script` gives it, with a script that goes on once there is a
/// file `go`.
struct AtTerminal<'a> {
    home: &'a Home,
    script: Child,
}

impl<'a> AtTerminal<'a> {
    /// Starts bashd on a terminal that `stty` was asked to prepare.
    fn start(home: &'a Home, stty: &str, inner: &str) -> Self {
        Self::start_with(home, stty, "default", inner)
    }

    fn start_with(home: &'a Home, stty: &str, profile: &str, inner: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_bashd");
        let command = format!("stty {stty}; {program} run --profile {profile} '{inner}'");
        let script = Command::new("script")
            .args(["-qfec", &command, "typescript"])
            .env_clear()
            .envs(home.env())
            .current_dir(home.workspace())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { home, script }
    }

    /// What the terminal was sent so far.
    fn seen(&self) -> String {
        std::fs::read_to_string(self.home.workspace().join("typescript")).unwrap_or_default()
    }

    /// Waits until the terminal was sent this, then lets the script go on to its end. The status.
    fn go_on_after(&mut self, text: &str) -> Option<i32> {
        let begun = Instant::now();
        while !self.seen().contains(text) {
            let seen = self.seen();
            assert!(begun.elapsed() < Duration::from_secs(20), "{seen}");
            std::thread::sleep(Duration::from_millis(2));
        }
        std::fs::write(self.home.workspace().join("go"), "").unwrap();
        self.script.wait().unwrap().code()
    }
}

#[test]
fn at_a_terminal_output_comes_as_it_is_written_and_once() {
    let home = Home::new();
    let inner = "echo one; while ! test -e go; do sleep 0.01; done; echo two >&2; exit 3";
    let mut terminal = AtTerminal::start(&home, "sane", inner);
    assert_eq!(terminal.go_on_after("one\r\n"), Some(3));
    let lines: Vec<_> = terminal.seen().lines().skip(1).map(str::to_owned).collect();
    // A machine that is slow sees the status line come and go before the second line.
    let words: Vec<_> = lines
        .iter()
        .map(|line| line.rsplit("\u{1b}[K").next())
        .collect();
    let expected = ["one", "two", "[exit code 3]"].map(Some);
    assert_eq!(words.get(..3).unwrap(), expected, "{lines:?}");
    assert!(lines.get(3).unwrap().contains("failed"), "{lines:?}");
    assert!(lines.get(3).unwrap().contains("| Exit: 3⟩"), "{lines:?}");
}

#[test]
fn at_a_terminal_a_silent_command_shows_that_it_runs_and_for_how_long() {
    let home = Home::new();
    let inner = "echo one; while ! test -e go; do sleep 0.01; done; echo two";
    let mut terminal = AtTerminal::start(&home, "cols 60 rows 20", inner);
    assert_eq!(terminal.go_on_after("running"), Some(0));
    let seen = terminal.seen();
    assert!(
        seen.contains("\r\u{1b}[Ktwo\r\n"),
        "the line is taken away: {seen:?}"
    );
}

#[test]
fn at_a_terminal_a_json_reply_is_whole_and_begins_a_line() {
    let home = Home::new();
    let inner = "printf \"e\\n\" >&2; while ! test -e go; do sleep 0.01; done; printf o";
    let mut terminal = AtTerminal::start_with(&home, "sane", "harness", inner);
    assert_eq!(terminal.go_on_after("e\r\n"), Some(0));
    let seen = terminal.seen();
    let reply = "o\r\n{\"stdout\":\"o\",\"stderr\":\"e\\n\",\"exitCode\":0}\r\n";
    assert!(seen.contains(reply), "{seen:?}");
}

#[test]
fn at_a_terminal_what_the_reply_adds_begins_a_line_where_the_streams_are_apart() {
    let home = Home::new();
    let inner = "echo e >&2; while ! test -e go; do sleep 0.01; done; printf o";
    let mut terminal = AtTerminal::start_with(&home, "sane", "voice", inner);
    assert_eq!(terminal.go_on_after("e\r\n"), Some(0));
    let seen = terminal.seen();
    assert!(seen.contains("o\r\n[Exit code: 0]\r\n"), "{seen:?}");
}
