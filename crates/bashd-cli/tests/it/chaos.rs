//! The chaos run: servers on all transports, 16 clients, and a process that makes trouble, by a
//! script that anybody can run (`./chaos`).

use bashd_testkit::{loudly, repeat};
use std::path::Path;
use std::process::Command;

/// The script's status where it can't be tried.
const NOT_HERE: i32 = 77;

#[test]
fn whatever_happens_answers_are_right_or_say_what_went_wrong() {
    let python = Command::new("python3")
        .args(["-c", "import os; os.pidfd_open"])
        .output();
    if !python.is_ok_and(|tried| tried.status.success()) {
        loudly("there is no Python 3.9: the chaos run is NOT tried");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chaos/chaos.py");
    // Beside other tests the clients pause, so that a minute of it costs little more than time.
    let (seconds, pace) = if repeat::is_soak() {
        ("600", "0")
    } else {
        ("60", "0.25")
    };
    let mut command = Command::new("python3");
    command
        .arg(script)
        .args(["--seconds", seconds, "--pace", pace]);
    command.args(["--bashd", env!("CARGO_BIN_EXE_bashd")]);
    if let Some(seed) = std::env::var_os("BASHD_CHAOS_SEED") {
        command.arg("--seed").arg(seed);
    }
    let done = command.output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    if done.status.code() == Some(NOT_HERE) {
        loudly(&format!("the chaos run is NOT tried: {}", err.trim_end()));
        return;
    }
    if repeat::is_soak() {
        loudly(&out);
    }
    assert!(done.status.success(), "{out}{err}");
}
