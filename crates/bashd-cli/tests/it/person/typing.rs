//! A person at a terminal: `run --pty` and `jobs attach`, in tmux.

use crate::console::tmux::Tmux;
use crate::shown;
use bashd_testkit::Home;

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// The shell under it has its terminal as it was.
fn is_given_back(tmux: &Tmux<'_>) {
    tmux.line("clear; stty -a | grep -ow -e '-*icanon' -e '-*opost' | xargs echo modes");
    tmux.until("modes opost icanon");
    tmux.modes_are_plain();
}

#[test]
fn a_job_that_writes_without_a_pause_is_painted_typed_at_and_left() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    let script = "trap 'echo STOPPED' INT; yes flood; sleep 300";
    shown(&home, &["run", "--background", "--pty", script]);
    let attach = format!("{BASHD} jobs attach bg_1");
    tmux.line(&attach);
    tmux.until("flood\nflood\nflood");
    let leave = || {
        tmux.until_that("detached", |shown| {
            let is_left = shown.contains("detached: bg_1 keeps running");
            if !is_left {
                tmux.keys(&["C-]", "C-]"]);
            }
            is_left
        });
    };
    leave();
    is_given_back(&tmux);
    tmux.line(&format!("clear; {attach}"));
    tmux.until("flood\nflood\nflood");
    tmux.keys(&["C-c"]);
    tmux.until("STOPPED");
    leave();
    is_given_back(&tmux);
    shown(&home, &["jobs", "kill", "bg_1"]);
}

#[test]
fn whatever_a_program_asked_of_the_terminal_it_is_left_and_given_back() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    // Kitty's keys, focus, other keys, keypad, a part that scrolls, insertion, no wrapping, lines
    // for letters.
    let modes = r"\033[>1u\033[?1004h\033[>4;2m\033=\033[?1h\033[3;10r\033[4h\033[?7l\033(0";
    let script = format!("read -r _; printf '{modes}'; echo READY; cat -v");
    shown(&home, &["run", "--background", "--pty", &script]);
    tmux.line(&format!("{BASHD} jobs attach bg_1"));
    tmux.until("Ctrl-] twice detaches");
    tmux.keys(&["Enter"]);
    // In letters that are lines.
    tmux.until_that("ready", |shown| !shown.contains("Ctrl-] twice"));
    tmux.until_that("detached", |shown| {
        let is_left = shown.contains("detached: bg_1 keeps running");
        if !is_left {
            tmux.text("\u{1b}[93;5u\u{1b}[93;5u");
        }
        is_left
    });
    is_given_back(&tmux);
    shown(&home, &["jobs", "kill", "bg_1"]);
}

#[test]
fn a_command_with_a_terminal_is_typed_at_and_knows_its_size() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    let script = "read -p name: x; echo got $x; stty size; trap \"stty size; exit 3\" WINCH; \
        while :; do sleep 0.05; done";
    tmux.line(&format!("{BASHD} run --pty '{script}'"));
    tmux.until("name:");
    tmux.line("bob");
    tmux.until_all(&["got bob", "24 80"]);
    tmux.run(&["resize-window", "-x", "70", "-y", "20"]);
    tmux.until_all(&["20 70", "[exit code 3]", "Exit: 3"]);
    is_given_back(&tmux);
}

#[test]
fn a_killed_bashd_leaves_the_terminal_as_it_was() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    let script = "printf \"\\033[?1049h\\033[?25l\"; echo inside $PPID; sleep 100";
    tmux.line(&format!("{BASHD} run --pty '{script}'; echo ended"));
    tmux.until("inside");
    let shells = tmux.run(&["list-panes", "-F", "#{pane_pid}"]);
    let shell = String::from_utf8(shells.stdout).unwrap();
    let children = format!("/proc/{0}/task/{0}/children", shell.trim());
    let child = std::fs::read_to_string(children).unwrap();
    let child: i32 = child.trim().parse().unwrap();
    let child = rustix::process::Pid::from_raw(child).unwrap();
    rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    tmux.until("ended");
    is_given_back(&tmux);
}

#[test]
fn a_job_is_attached_to_typed_at_and_left_running() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    let script = "PS1=\"inner> \" exec bash --norc --noprofile -i";
    shown(&home, &["run", "--background", "--pty", script]);
    let attach = format!("{BASHD} jobs attach bg_1");
    tmux.line(&attach);
    tmux.until("Ctrl-] twice detaches");
    tmux.until("inner>");
    tmux.line("echo two is $((1+1)); stty size");
    tmux.until_all(&["two is 2", "24 80"]);
    tmux.keys(&["C-]", "C-]"]);
    tmux.until_all(&["detached: bg_1 keeps running", "shell>"]);
    is_given_back(&tmux);
    // Once more: what is on its screen is drawn again, and its end is told.
    tmux.line(&attach);
    tmux.until("two is 2");
    tmux.line("exit 4");
    tmux.until("exit code 4");
    is_given_back(&tmux);
    let over = shown(&home, &["jobs", "attach", "bg_1"]);
    assert!(
        over.err().contains("attach needs a terminal"),
        "{}",
        over.err()
    );
}

#[test]
fn a_job_without_a_terminal_gets_lines_and_shows_only_colours() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    let script = "printf \"\\033]0;renamed\\007\\033[2Jready\\n\"; while read x; do echo \"<$x>\"; done; echo over";
    shown(&home, &["run", "--background", "--stdin-open", script]);
    tmux.line(&format!("{BASHD} jobs attach bg_1"));
    tmux.until("ready");
    tmux.line("one line");
    tmux.until("<one line>");
    tmux.keys(&["C-d"]);
    tmux.until_all(&["over", "exit code 0"]);
    let title = tmux.run(&["display-message", "-p", "#{pane_title}"]);
    let title = String::from_utf8(title.stdout).unwrap();
    assert!(!title.contains("renamed"), "{title}");
    is_given_back(&tmux);
}
