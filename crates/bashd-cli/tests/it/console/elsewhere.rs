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
    tmux.keys(&["q"]);
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
