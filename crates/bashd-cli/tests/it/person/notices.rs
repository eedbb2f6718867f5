//! A sign at the end of what took long: in a terminal of its own, and by a `notify-send` of ours.

use crate::console::tmux::Tmux;
use crate::{bashd, shown};
use bashd_testkit::{Binary, Home, loudly};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// What a terminal gets to see of a command line; `None` where terminals can't be had.
pub(super) fn at_terminal(home: &Home, line: &str, env: &[(&str, &str)]) -> Option<String> {
    let script = "/usr/bin/script";
    if !std::path::Path::new(script).exists() {
        loudly("script is missing: what reaches a terminal");
        return None;
    }
    let words = ["-qec", line, "/dev/null"];
    let start = Binary::new(script, home).args(words).env("TERM", "xterm");
    let start = env
        .iter()
        .fold(start, |start, (name, value)| start.env(*name, *value));
    Some(start.run().out())
}

/// Puts a `notify-send` that writes down its arguments before all others in `PATH`.
fn stub(home: &Home) -> (String, PathBuf) {
    let folder = home.workspace().join("bin");
    let told = home.workspace().join("told");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("notify-send");
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{0}.new'\nexec mv '{0}.new' '{0}'\n",
        told.display()
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    (format!("{}:{path}", folder.display()), told)
}

/// What the stub was told.
fn told(file: &PathBuf) -> String {
    let begun = Instant::now();
    loop {
        if let Ok(text) = fs::read_to_string(file) {
            return text;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "no notice");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_took_long_ends_with_a_sign_and_what_did_not_ends_without() {
    let home = Home::new();
    for (by, long) in [
        ("bell", "\u{7}"),
        ("osc9", "\u{1b}]9;bashd: done after 1.1s: sleep 1.1\u{1b}\\"),
        (
            "osc777",
            "\u{1b}]777;notify;bashd;done after 1.1s: sleep 1.1\u{1b}\\",
        ),
        ("off", ""),
    ] {
        let run = |command: &str| {
            let set = format!("--set notify.by={by} --set notify.after_seconds=1");
            at_terminal(&home, &format!("{BASHD} run {set} '{command}'"), &[])
        };
        let Some(seen) = run("sleep 1.1") else { return };
        let seen = seen.replace("1.2s", "1.1s").replace("1.3s", "1.1s");
        if by == "off" {
            assert!(
                !seen.contains('\u{7}') && !seen.contains("\u{1b}]"),
                "{seen:?}"
            );
        } else {
            assert_eq!(seen.matches(long).count(), 1, "{by}: {seen:?}");
        }
        let short = run("true").unwrap();
        assert!(
            !short.contains('\u{7}') && !short.contains("\u{1b}]"),
            "{by}: {short:?}"
        );
    }
}

#[test]
fn the_end_of_a_job_is_told_to_who_followed_it_and_once() {
    let home = Home::new();
    shown(&home, &["run", "--background", "sleep 1.5; exit 3"]);
    let set = "--set notify.by=osc9 --set notify.after_seconds=1";
    let follow = format!("{BASHD} jobs follow bg_1 {set}");
    let Some(seen) = at_terminal(&home, &follow, &[]) else {
        return;
    };
    let sign = seen.split("\u{1b}]9;").nth(1);
    let sign = sign.unwrap_or_else(|| panic!("{seen:?}"));
    assert!(
        sign.starts_with("bashd: bg_1 ended after 1.")
            && sign.contains("exit code 3: sleep 1.5; exit 3\u{1b}\\"),
        "{seen:?}"
    );
    // It ended before anybody looked.
    for action in ["follow", "wait"] {
        let again = format!("{BASHD} jobs {action} bg_1 {set}");
        let again = at_terminal(&home, &again, &[]).unwrap();
        assert!(!again.contains("\u{1b}]9;"), "{again:?}");
    }
    // What an agent waits for is not for a person.
    shown(&home, &["run", "--background", "sleep 1.5"]);
    let wait = format!("{BASHD} jobs wait bg_2 {set}");
    let agents = at_terminal(&home, &wait, &[("BASHD_RUN", "somebodys")]).unwrap();
    assert!(
        agents.contains("exit code 0") && !agents.contains("\u{1b}]9;"),
        "{agents:?}"
    );
}

#[test]
fn on_a_desktop_notify_send_tells_and_marks_are_no_markup() {
    let home = Home::new();
    let (path, file) = stub(&home);
    let line = format!("{BASHD} run --set notify.after_seconds=1 'sleep 1.1; : \"<b>&\"'");
    let env = [("PATH", &*path), ("DISPLAY", ":77")];
    let Some(seen) = at_terminal(&home, &line, &env) else {
        return;
    };
    assert!(
        !seen.contains('\u{7}') && !seen.contains("\u{1b}]"),
        "{seen:?}"
    );
    let told = told(&file);
    assert!(told.starts_with("--app-name=bashd\n--\nbashd\ndone after 1."));
    assert!(told.ends_with(": sleep 1.1; : \"&lt;b>&amp;\"\n"), "{told}");
}

#[test]
fn the_console_tells_of_its_own_commands_and_of_every_job() {
    let home = Home::new();
    let (path, file) = stub(&home);
    let Some(tmux) = Tmux::shell(&home, (80, 20)) else {
        return;
    };
    let env = "BASHD_NOTIFY_AFTER_SECONDS=1 BASHD_NOTIFY_BY=notify-send";
    tmux.start_console(&format!("PATH='{path}' {env}"));
    tmux.command("sleep 1.2");
    let own = told(&file);
    assert!(
        own.contains("done after 1.") && own.contains(": sleep 1.2"),
        "{own}"
    );
    fs::remove_file(&file).unwrap();
    bashd(&home, &["run", "--background", "sleep 3"]).run();
    let job = told(&file);
    assert!(
        job.contains("bg_1 ended after 3.") && job.contains(": sleep 3"),
        "{job}"
    );
    tmux.keys(&["C-d"]);
    tmux.until("shell>");
}
