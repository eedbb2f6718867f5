//! `bashd top`: calls of several processes, watched, answered and ended from another one.

use crate::console::tmux::Tmux;
use crate::{bashd, shown};
use bashd_testkit::Home;
use serde_json::Value;
use std::process::{Child, Command, Stdio};

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// A rule that asks about a command nobody has.
pub(crate) const RULE: &str = "[[rules]]\nname = 'asks'\ndecision = 'ask'\nmessage = 'really?'\n\
    command = 'made-up'\nexamples.deny = ['made-up']\nexamples.allow = ['true']\n";

/// A process that runs a command, without anybody whom it could ask.
pub(crate) fn run(home: &Home, command: &str) -> Child {
    Command::new(BASHD)
        .args(["run", command])
        .env_clear()
        .envs(home.env())
        .current_dir(home.workspace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A home with a rule that asks.
fn asking() -> Home {
    let home = Home::new();
    let path = shown(&home, &["config", "path"]).out();
    let path = std::path::Path::new(path.trim_end());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, RULE).unwrap();
    home
}

fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), text)
}

#[test]
fn scripts_get_what_there_is_as_a_table_and_as_json() {
    let home = Home::new();
    shown(&home, &["run", "echo one"]);
    shown(&home, &["run", "exit 3"]);
    let lines = shown(&home, &["top", "--json"]).out();
    let calls: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told = |call: &Value| {
        format!(
            "{} {} {}",
            call["command"], call["state"], call["exit_code"]
        )
    };
    let told: Vec<String> = calls.iter().map(told).collect();
    assert_eq!(told, ["\"exit 3\" \"ended\" 3", "\"echo one\" \"ended\" 0"]);
    assert!(calls[0]["owner"].as_str().unwrap().starts_with("cli:"));
    let table = shown(&home, &["top", "--once", "echo"]).out();
    assert!(table.starts_with("STATE "), "{table}");
    assert!(
        table.contains("echo one") && !table.contains("exit 3"),
        "{table}"
    );
    let refused = bashd(&home, &["top"]).run();
    assert_eq!(refused.code(), Some(125));
    assert!(refused.err().contains("top --once"), "{}", refused.err());
}

#[test]
fn calls_of_other_processes_are_answered_opened_and_ended() {
    let home = asking();
    // Nobody watches, so nobody can be asked.
    assert_eq!(ended(run(&home, "made-up")).0, Some(126));
    let Some(tmux) = Tmux::shell(&home, (60, 20)) else {
        return;
    };
    tmux.line(&format!("{BASHD} top"));
    tmux.until("bashd top ·");
    let long = run(&home, "echo begun; exec sleep 300");
    let allowed = run(&home, "made-up() { echo \"$1\"; }; made-up allowed");
    tmux.until_all(&["1 asking", "ASKS", "asks: really?", "o once"]);
    tmux.keys(&["o"]);
    assert_eq!(ended(allowed), (Some(0), "allowed\n".to_owned()));
    let refused = run(&home, "made-up 2");
    // The part that it is about is marked.
    tmux.until_all(&["1 asking", "made-up 2", "\n^^^^^^^^^", "d deny"]);
    tmux.keys(&["d"]);
    assert_eq!(ended(refused).0, Some(126));

    tmux.text("/begun");
    tmux.keys(&["Enter"]);
    tmux.until_all(&["/begun", "running", "sleep 300"]);
    tmux.keys(&["Enter"]);
    tmux.until_that("its output", |shown| {
        shown.lines().any(|line| line.trim() == "begun")
    });
    tmux.keys(&["Escape"]);
    tmux.keys(&["x"]);
    tmux.until("end it and all it started?");
    tmux.keys(&["y"]);
    tmux.until("it was ended");
    ended(long);
    tmux.until("0 running");
    tmux.keys(&["q"]);
    tmux.until("shell>");
    tmux.line("clear; stty -a | grep -ow -e '-*icanon' | xargs echo modes");
    tmux.until("modes icanon");
}

#[test]
fn a_command_of_bashd_can_not_answer() {
    let home = asking();
    let Some(tmux) = Tmux::shell(&home, (80, 20)) else {
        return;
    };
    tmux.line(&format!("{BASHD} run --pty {BASHD} top"));
    tmux.until("bashd top ·");
    let asked = run(&home, "made-up 3");
    tmux.until_all(&["1 asking", "made-up 3", "o once"]);
    tmux.keys(&["o"]);
    tmux.until("a command of bashd can't answer");
    tmux.keys(&["q"]);
    // Nobody watches any more: it is denied.
    assert_eq!(ended(asked).0, Some(126));
    tmux.until("shell>");
}
