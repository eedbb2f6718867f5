//! What goes on in other bashd processes: seen, opened, followed, answered, ended; what ran before.

use super::tmux::Tmux;
use bashd_testkit::{Home, loudly};
use std::process::Command;

#[test]
fn jobs_are_seen_answered_and_ended() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let script = "read -r line; echo got $line; sleep 300";
    for how in [r#""stdin_open":true"#, r#""pty":true"#] {
        let input = format!(r#"{{"command":"{script}","background":true,{how}}}"#);
        let started = crate::shown(&home, &["run", "--input", &input]);
        assert_eq!(started.code(), Some(0), "{}", started.block());
    }
    let Some(tmux) = Tmux::console(&home, (120, 30)) else {
        return;
    };
    tmux.line("/jobs");
    tmux.until_all(&["bg_2", "bg_1", "read -r line"]);
    tmux.keys(&["q"]);
    for name in ["bg_1", "bg_2"] {
        tmux.line(&format!("/send {name} hello"));
        tmux.until(&format!("sent to {name}"));
        tmux.line(&format!("/job {name}"));
        tmux.until("got hello");
        // A terminal is hidden, a page is closed.
        let is_terminal = name == "bg_2";
        tmux.keys(&[if is_terminal { "C-t" } else { "q" }]);
        tmux.until_gone(if is_terminal {
            "ctrl-t hides"
        } else {
            "q closes"
        });
        tmux.line(&format!("/kill {name}"));
        tmux.until(&format!("{name} was ended"));
    }
    tmux.line("/jobs");
    tmux.until("killed");
    tmux.keys(&["q", "C-d"]);
    tmux.is_given_back();
    // These were the console's deeds.
    let log = crate::shown(&home, &["log", "--json", "job "]).out();
    let deeds: Vec<&str> = log.lines().collect();
    assert_eq!(deeds.len(), 4, "{log}");
    let is_own = |line: &&str| line.contains(r#""owner":"console:"#);
    assert!(deeds.iter().all(is_own), "{log}");
}

#[test]
fn runs_of_other_processes_are_listed_opened_answered_and_ended() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (100, 30)) else {
        return;
    };
    let script = "read -rp 'Name: ' name; echo \"hi $name\"; sleep 300";
    let mut asking = crate::bashd(&home, &["run", "--pty", script]).spawn();
    tmux.line("/jobs");
    tmux.until_all(&["Name:", "› ", " call "]);
    tmux.keys(&["Enter"]);
    tmux.until("Console");
    tmux.line("Ada");
    tmux.until("hi Ada");
    tmux.until_that("ended", |shown| {
        tmux.keys(&["C-]", "C-]"]);
        !shown.contains("input goes to the terminal")
    });
    assert!(!asking.wait().unwrap().success());
    // Closes the page, and empties the prompt.
    tmux.keys(&["C-c", "C-c"]);
    tmux.until("Ctrl-D quits");
    let mut writing = crate::bashd(&home, &["run", "echo started; sleep 300"]).spawn();
    tmux.line("/jobs");
    tmux.until("started");
    tmux.keys(&["Enter"]);
    tmux.until("│started");
    tmux.keys(&["x"]);
    assert!(!writing.wait().unwrap().success());
    tmux.keys(&["q", "q"]);
    tmux.until("was ended");
    tmux.line("/jobs");
    tmux.until("there are no jobs");
    tmux.keys(&["q", "C-d"]);
    tmux.is_given_back();
}

#[test]
fn a_jobs_terminal_is_typed_at_like_ones_own() {
    if Command::new("vim").arg("--version").output().is_err() {
        loudly("vim is missing: vim as a job in the console");
        return;
    }
    let home = Home::new().keeping_in_state(&["runs"]);
    let vim = "vim -u NONE -i NONE -n new";
    let started = crate::shown(&home, &["run", "--background", "--pty", vim]);
    assert_eq!(started.code(), Some(0), "{}", started.block());
    let Some(tmux) = Tmux::console(&home, (90, 30)) else {
        return;
    };
    tmux.line("/job bg_1");
    tmux.until("│~");
    tmux.text("ifrom afar");
    tmux.until("│from afar");
    tmux.run(&["resize-window", "-x", "70", "-y", "20"]);
    tmux.until_that("resized", |shown| {
        let lines: Vec<_> = shown.lines().collect();
        lines.len() == 20 && shown.contains("│from afar") && shown.contains("│~")
    });
    // Esc is vim's, however often it is pressed.
    tmux.keys(&["Escape", "Escape"]);
    tmux.text(":");
    tmux.until("│:");
    tmux.line("wq");
    tmux.until("bg_1 has ended");
    let written = std::fs::read_to_string(home.workspace().join("new")).unwrap();
    assert_eq!(written, "from afar\n");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}

#[test]
fn stored_output_is_read_in_a_page() {
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    let Some(tmux) = Tmux::console(&home, (80, 24)) else {
        return;
    };
    tmux.command(r#"{"command": "seq 1 100000"}"#);
    tmux.until("artifact://0");
    tmux.line("/artifact 0");
    tmux.until("│1 ");
    tmux.keys(&["G"]);
    tmux.until("│100000 ");
    tmux.keys(&["q"]);
    tmux.line("/artifact 77");
    tmux.until("can't be read");
    tmux.keys(&["q"]);
    tmux.line("/log seq 1 100");
    tmux.until("seq 1 100000");
    tmux.keys(&["q", "C-d"]);
    tmux.is_given_back();
}

const RULE: &str = "[[rules]]\nname = 'asks'\ndecision = 'ask'\nmessage = 'really?'\n\
    command = 'made-up'\nexamples.deny = ['made-up']\nexamples.allow = ['true']\n";

#[test]
fn questions_of_other_processes_are_answered_here() {
    // What is killed can't take its question away.
    let home = Home::new().keeping_in_state(&["asks"]);
    std::fs::write(home.config().join("config.toml"), RULE).unwrap();
    let Some(tmux) = Tmux::console(&home, (80, 24)) else {
        return;
    };
    let run = |answer: &str| {
        let script = format!("made-up() {{ echo \"$1\"; }}; made-up {answer}");
        let run = Command::new(env!("CARGO_BIN_EXE_bashd"))
            .args(["run", &script])
            .env_clear()
            .envs(home.env())
            .current_dir(home.workspace())
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Whose it is, the part in question, the reason; and keys once one has had time to read.
        tmux.until_all(&["May this run?", "cli:", "^^^^^^^", "really?", "o once"]);
        run
    };
    let allowed = run("allowed");
    tmux.keys(&["o"]);
    let ended = allowed.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "allowed\n");
    tmux.until("allowed once");
    let refused = run("refused");
    tmux.keys(&["d"]);
    let ended = refused.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(126));
    // One whose process was killed asks no more.
    let mut killed = run("killed");
    killed.kill().unwrap();
    killed.wait().unwrap();
    tmux.until_gone("May this run?");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}

#[test]
fn a_job_that_failed_is_red_and_has_its_code() {
    let home = Home::new().keeping_in_state(&["runs"]);
    crate::shown(&home, &["run", "--background", "sleep 1; exit 3"]);
    crate::shown(&home, &["jobs", "wait", "bg_1"]);
    let Some(tmux) = Tmux::console(&home, (60, 24)) else {
        return;
    };
    tmux.line("/jobs");
    // The footer has what closes the page at every width.
    tmux.until_all(&["exit 3", "q closes"]);
    let raw = tmux.run(&["capture-pane", "-e", "-p"]).stdout;
    let raw = String::from_utf8_lossy(&raw).into_owned();
    // In the list, and below what it wrote; a terminal's first sixteen colours have two spellings.
    let is_red = |line: &str| line.contains("31mexit 3") || line.contains("38;5;1mexit 3");
    let red = raw.lines().filter(|line| is_red(line)).count();
    assert_eq!(red, 2, "{raw}");
    tmux.keys(&["q", "C-d"]);
    tmux.is_given_back();
}

#[test]
fn a_pipe_gives_the_plain_console_one_command_after_the_other() {
    let home = Home::new();
    let lines = "echo one; sleep 0.3; echo two\ncat; echo three\nexit 4\n/runs\n";
    let ran = crate::bashd(&home, &["console", "--plain"])
        .stdin(lines)
        .run();
    let out = ran.out();
    let at = |text: &str| out.find(text).unwrap_or_else(|| panic!("{text}: {out}"));
    assert!(at("two\n") < at("three\n"), "{out}");
    assert!(at("three\n") < at("failed, exit 4"), "{out}");
    assert!(out.contains("✔ done"), "{out}");
}
