//! `--confine` and `bashd confine`, where the kernel gives less: without user namespaces, without
//! Landlock, inside another confinement.

use bashd_testkit::Home;
use bashd_testkit::loud::loudly;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// Goes on as the given program in a user namespace in which no other can be made.
const WITHOUT_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";

/// Goes on as the given program, for which the kernel has no Landlock.
const WITHOUT_LANDLOCK: &str = "
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
# Load the number of the call; if it is landlock_create_ruleset, there is no such call.
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x7FFF0000)]
code = b''.join(struct.pack('HBBI', *step) for step in steps)
held = ctypes.create_string_buffer(code)
program = struct.pack('HP', len(steps), ctypes.addressof(held))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
";

fn command(home: &Home, words: &[&str]) -> Output {
    let (program, arguments) = words.split_first().unwrap();
    Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(home.env())
        .current_dir(home.workspace())
        .output()
        .unwrap()
}

fn reply(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{errors}"))
}

/// Runs a confined command after these words, which have bashd started where something is missing.
fn confined(home: &Home, before: &[&str], after: &[&str]) -> Value {
    let run = [BASHD, "run", "--json", "--confine", "workspace"];
    let words = [before, &run, after, &["touch made; id -u"]].concat();
    reply(&command(home, &words))
}

/// A command does not run if `full` can't be had, unless less will do.
fn falls_back(before: &[&str], level: &str, step: &str) {
    let home = Home::new();
    let refused = confined(&home, before, &[]);
    let error = refused["error"].as_str().unwrap_or_default();
    assert!(
        error.contains("level `full`") && error.contains(step),
        "{refused}"
    );
    assert!(!home.workspace().join("made").exists(), "it ran: {refused}");
    let require = format!("confinement.require={level}");
    let ran = confined(&home, before, &["--set", &require]);
    assert_eq!(ran["confinement"]["level"], level, "{ran}");
    let reason = ran["confinement"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(step), "{ran}");
    assert!(home.workspace().join("made").exists(), "{ran}");
}

#[test]
fn without_user_namespaces_nothing_runs_unless_landlock_will_do() {
    let before = [
        "unshare",
        "--user",
        "--map-current-user",
        "--keep-caps",
        "sh",
        "-c",
        WITHOUT_NAMESPACES,
        "sh",
    ];
    falls_back(&before, "landlock", "make namespaces");
}

#[test]
fn without_landlock_nothing_runs_unless_nothing_will_do() {
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        loudly("no python3: a kernel without Landlock is NOT tested");
        return;
    }
    falls_back(
        &[python, "-c", WITHOUT_LANDLOCK],
        "none",
        "make a Landlock ruleset",
    );
    let home = Home::new();
    let without = confined(
        &home,
        &[python, "-c", WITHOUT_LANDLOCK],
        &["--set", "confinement.require=landlock"],
    );
    assert!(without["error"].is_string(), "{without}");
}

#[test]
fn inside_a_confinement_there_is_another_by_landlock() {
    let home = Home::new();
    let inner = format!(
        "BASHD_HOME=/tmp/inner {BASHD} run --json --confine workspace \
         --set confinement.require=landlock 'touch inside; touch /usr/x; echo $?'"
    );
    let read = format!("confinement.read=/,{BASHD}");
    let words = [
        BASHD,
        "run",
        "--confine",
        "workspace",
        "--set",
        &read,
        &inner,
    ];
    let output = command(&home, &words);
    let ran = reply(&output);
    assert_eq!(ran["confinement"]["level"], "landlock", "{ran}");
    let text = ran["output"].as_str().unwrap_or_default();
    assert!(text.ends_with("1\n"), "{ran}");
    assert!(home.workspace().join("inside").exists(), "{ran}");
}

#[test]
fn confine_show_says_what_holds_and_why() {
    let home = Home::new();
    std::fs::create_dir_all(home.home().join(".ssh")).unwrap();
    let show = [BASHD, "confine", "show", "--confine", "workspace"];
    let command_line = "cp ./x ~/.ssh/id /etc/hosts";
    let text = command(&home, &[&show[..], &["cat /etc/hosts ./x"]].concat());
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("full, full is required"), "{text}");
    assert!(text.contains("/etc/hosts: read by /\n"), "{text}");
    assert!(text.contains("/x: written by "), "{text}");
    assert!(text.contains("/.ssh\n"), "{text}");
    let json = reply(&command(
        &home,
        &[&show[..], &["--json", command_line]].concat(),
    ));
    assert_eq!(json["here"]["level"], "full", "{json}");
    assert_eq!(json["confinement"]["network"], "none", "{json}");
    let off = command(&home, &[BASHD, "confine", "show"]);
    assert!(
        String::from_utf8_lossy(&off.stdout).starts_with("off: "),
        "{off:?}"
    );
}
