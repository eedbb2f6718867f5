//! `run --record`, `replay` and `export`: what is recorded, of what kinds of runs, and what players
//! that nobody here wrote make of it.

use crate::console::tmux::Tmux;
use crate::{bashd, shown};
use bashd_testkit::{Home, loudly};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs a command recorded; returns the id of its call.
fn recorded(home: &Home, arguments: &[&str]) -> String {
    let transcript = shown(home, &[&["run", "--record"], arguments].concat());
    assert!(transcript.code().is_some(), "{}", transcript.err());
    newest(home)
}

fn newest(home: &Home) -> String {
    let line = shown(home, &["log", "--limit", "1", "--json"]).out();
    let record: Value = serde_json::from_str(&line).unwrap();
    record["id"].as_str().unwrap().to_owned()
}

/// The header and the events of a cast of version 2.
fn cast(home: &Home, name: &str) -> (Value, Vec<(f64, String, String)>) {
    let transcript = shown(home, &["export", name, "--cast"]);
    assert_eq!(transcript.code(), Some(0), "{}", transcript.err());
    let text = transcript.out();
    let mut lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    let events = lines.map(|event| {
        let text = |at: usize| event[at].as_str().unwrap().to_owned();
        (event[0].as_f64().unwrap(), text(1), text(2))
    });
    let events: Vec<_> = events.collect();
    assert!(events.is_sorted_by_key(|event| event.0), "{text}");
    (header, events)
}

fn output(events: &[(f64, String, String)]) -> String {
    let written = events.iter().filter(|event| event.1 == "o");
    written.map(|event| event.2.as_str()).collect()
}

#[test]
fn a_recorded_run_is_exported_with_its_times_by_any_of_its_names() {
    let home = Home::new();
    let id = recorded(
        &home,
        &["echo one; sleep 0.3; echo two >&2; sleep 0.3; echo three; exit 4"],
    );
    for name in [&*id, id.get(..8).unwrap(), "0", "artifact://0"] {
        let (header, events) = cast(&home, name);
        assert_eq!(header["version"], 2, "{name}");
        assert!(header["command"].as_str().unwrap().starts_with("echo one"));
        assert_eq!(output(&events), "one\r\ntwo\r\nthree\r\n", "{name}");
        let times: Vec<f64> = events.iter().map(|event| event.0).collect();
        assert!(
            times[1] - times[0] >= 0.29 && times[2] - times[1] >= 0.29,
            "{times:?}"
        );
        assert_eq!(events.last().unwrap().2, "exit 4");
    }
    // What is recorded is stored, whatever the reply showed; and the reply is as it was.
    let plain = shown(&home, &["run", "--json", "echo hi"]).out();
    let both = shown(&home, &["run", "--record", "--json", "echo hi"]).out();
    let field = |text: &str| serde_json::from_str::<Value>(text).unwrap()["artifact"].clone();
    assert_eq!(field(&plain), field(&both));
    home.finish();
}

#[test]
fn a_run_that_was_not_recorded_is_exported_with_what_is_known() {
    let home = Home::new();
    shown(&home, &["run", "seq 1 20000; sleep 0.2"]);
    let id = newest(&home);
    let (header, events) = cast(&home, &id);
    assert!(header["title"].as_str().unwrap().contains("not recorded"));
    assert!(output(&events).ends_with("19999\r\n20000\r\n"));
    assert!(
        events
            .iter()
            .filter(|event| event.1 == "o")
            .all(|event| event.0 == 0.0)
    );
    assert!(events.last().unwrap().0 >= 0.2);
    // Short output is not stored at all, unless it is recorded.
    shown(&home, &["run", "echo short"]);
    let short = newest(&home);
    let transcript = shown(&home, &["export", &short, "--cast"]);
    assert!(
        transcript.err().contains("its output is not stored"),
        "{}",
        transcript.err()
    );
    assert!(!transcript.out().contains("\"o\""));
    for wrong in ["nothing-of-this-name", "77", "xy"] {
        let transcript = shown(&home, &["export", wrong, "--cast"]);
        assert_eq!(transcript.code(), Some(125), "{wrong}");
    }
    home.finish();
}

#[test]
fn the_configuration_and_the_profile_say_what_is_recorded_and_a_call_says_otherwise() {
    let home = Home::new();
    let is_recorded = |arguments: &[&str]| {
        let transcript = shown(&home, arguments);
        assert_eq!(transcript.code(), Some(0), "{}", transcript.err());
        let id = newest(&home);
        home.state().join("runs").join(id).join("times").exists()
    };
    let on = "recording.enabled=true";
    assert!(!is_recorded(&["run", "echo x"]));
    assert!(is_recorded(&["--set", on, "run", "echo x"]));
    assert!(!is_recorded(&["--set", on, "run", "--no-record", "echo x"]));
    assert!(is_recorded(&[
        "run",
        "--input",
        "{\"command\": \"echo x\", \"record\": true}"
    ]));
    // Also where the profile stores nothing otherwise.
    assert!(is_recorded(&[
        "--set",
        on,
        "run",
        "--profile",
        "voice",
        "echo x"
    ]));
    let profiles = home.config().join("profiles");
    std::fs::create_dir_all(&profiles).unwrap();
    let own = include_str!("../../../bashd/profiles/default.toml")
        .replace("name = \"default\"", "name = \"own\"")
        .replace(
            "hides_secrets = true",
            "hides_secrets = true\nrecording = true",
        );
    std::fs::write(profiles.join("own.toml"), own).unwrap();
    assert!(is_recorded(&["run", "--profile", "own", "echo x"]));
    assert!(!is_recorded(&[
        "--set",
        "recording.enabled=false",
        "run",
        "--profile",
        "own",
        "echo x"
    ]));
    home.finish();
}

#[test]
fn streams_that_are_kept_apart_are_told_in_the_order_of_their_times() {
    let home = Home::new();
    let script = "echo a; sleep 0.05; echo b >&2; sleep 0.05; echo c; sleep 0.05; echo d >&2";
    let id = recorded(&home, &["--profile", "harness", script]);
    assert_eq!(output(&cast(&home, &id).1), "a\r\nb\r\nc\r\nd\r\n");
    home.finish();
}

#[test]
fn a_job_is_recorded_while_it_runs_and_after() {
    let home = Home::new();
    let script = "echo begun; read line; echo got $line; sleep 0.2; echo over";
    let start = ["run", "--record", "--background", "--stdin-open", script];
    assert_eq!(shown(&home, &start).code(), Some(0));
    let until = [
        "jobs",
        "wait",
        "bg_1",
        "--regex",
        "begun",
        "--timeout",
        "20",
    ];
    assert_eq!(shown(&home, &until).code(), Some(0));
    let (_, events) = cast(&home, "bg_1");
    assert_eq!(output(&events), "begun\r\n");
    assert!(
        events.iter().all(|event| event.1 == "o"),
        "it has no end yet: {events:?}"
    );
    assert_eq!(
        shown(&home, &["jobs", "send", "bg_1", "hello", "--enter"]).code(),
        Some(0)
    );
    assert_eq!(
        shown(&home, &["jobs", "wait", "bg_1", "--timeout", "20"]).code(),
        Some(0)
    );
    let (_, events) = cast(&home, "bg_1");
    assert_eq!(output(&events), "begun\r\ngot hello\r\nover\r\n");
    let typed: Vec<&str> = events
        .iter()
        .filter(|event| event.1 == "i")
        .map(|event| &*event.2)
        .collect();
    assert_eq!(typed, ["hello\n"]);
    let at = |text: &str| {
        events
            .iter()
            .find(|event| event.2.contains(text))
            .unwrap()
            .0
    };
    assert!(at("over") - at("got hello") >= 0.19, "{events:?}");
    home.finish();
}

/// A password is typed where nothing is shown of it: it is in no file of ours.
#[test]
fn a_password_that_is_typed_is_not_recorded() {
    let home = Home::new();
    let script = "read -rs -p 'Password: ' x; echo; echo ${#x} characters; read -r y; echo $y";
    let start = ["run", "--record", "--background", "--input"];
    let input =
        serde_json::json!({"command": script, "pty": true, "background": true, "record": true});
    let input = input.to_string();
    assert_eq!(
        shown(&home, &[&start[..], &[&input]].concat()).code(),
        Some(0)
    );
    let wait = |text: &str| {
        let wait = ["jobs", "wait", "bg_1", "--regex", text, "--timeout", "20"];
        assert_eq!(shown(&home, &wait).code(), Some(0), "{text}");
    };
    wait("Password");
    assert_eq!(
        shown(&home, &["jobs", "send", "bg_1", "correct-horse", "--enter"]).code(),
        Some(0)
    );
    wait("13 characters");
    assert_eq!(
        shown(&home, &["jobs", "send", "bg_1", "plain", "--enter"]).code(),
        Some(0)
    );
    assert_eq!(
        shown(&home, &["jobs", "wait", "bg_1", "--timeout", "20"]).code(),
        Some(0)
    );
    let (_, events) = cast(&home, "bg_1");
    let typed: String = events
        .iter()
        .filter(|event| event.1 == "i")
        .map(|event| &*event.2)
        .collect();
    assert!(
        typed.contains("[not recorded]") && typed.contains("plain"),
        "{typed:?}"
    );
    for file in walk(&home.state()) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("correct-horse"), "{}", file.display());
    }
    home.finish();
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files.extend(walk(&entry.path()));
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    files
}

#[test]
fn a_known_secret_is_in_no_export() {
    let home = Home::new();
    let token = "tok-8f31c5d2a9b7";
    let with_token = |arguments: &[&str]| {
        let bashd = bashd(&home, arguments).env("MY_API_TOKEN", token);
        bashd.run()
    };
    with_token(&[
        "run",
        "--record",
        "echo $MY_API_TOKEN; sleep 0.05; echo ${MY_API_TOKEN:0:8}; printf %s ${MY_API_TOKEN:8}",
    ]);
    let id = newest(&home);
    for form in [
        &["--cast"][..],
        &["--cast", "--v3"],
        &["--svg"],
        &["--html"],
    ] {
        let transcript = with_token(&[&["export", &id], form].concat());
        assert_eq!(transcript.code(), Some(0));
        assert!(!transcript.out().contains(token), "{form:?}");
    }
    assert!(
        with_token(&["replay", &id])
            .out()
            .contains("[secret MY_API_TOKEN")
    );
    home.finish();
}

#[test]
fn replay_takes_as_long_as_the_run_or_less_if_asked() {
    let home = Home::new();
    let id = recorded(&home, &["echo one; sleep 1.5; echo two"]);
    let timed = |arguments: &[&str]| {
        let begun = Instant::now();
        let transcript = shown(&home, &[&["replay", &id], arguments].concat());
        assert_eq!(transcript.out(), "one\r\ntwo\r\n");
        assert!(
            transcript.err().contains("status 0"),
            "{}",
            transcript.err()
        );
        begun.elapsed()
    };
    assert!(timed(&[]) >= Duration::from_millis(1450));
    assert!(timed(&["--speed", "10"]) < Duration::from_millis(1200));
    assert!(timed(&["--idle", "100ms"]) < Duration::from_millis(1200));
    home.finish();
}

#[test]
fn a_replay_at_a_terminal_pauses_goes_on_and_ends_by_its_keys() {
    let home = Home::new();
    let id = recorded(
        &home,
        &["echo one; sleep 3; echo two; sleep 300 & sleep 1; kill $!; echo three"],
    );
    let Some(tmux) = Tmux::shell(&home, (90, 24)) else {
        return;
    };
    let start = |words: &str| {
        tmux.line(&format!(
            "clear; {} replay {id} {words}; echo status-$?",
            env!("CARGO_BIN_EXE_bashd")
        ));
        tmux.until_that("one", |shown| shown.lines().any(|line| line == "one"));
    };
    let has = |line: &str| tmux.shown().lines().any(|shown| shown == line);
    // Space: nothing comes while it pauses, however long; then it goes on to the end.
    start("");
    tmux.keys(&["Space"]);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        assert!(!has("two"), "it went on while it paused:\n{}", tmux.shown());
        std::thread::sleep(Duration::from_millis(100));
    }
    tmux.keys(&["Space"]);
    tmux.until("status-0");
    assert!(has("three"), "{}", tmux.shown());
    // q and Ctrl-C end it where it is.
    for key in ["q", "C-c"] {
        start("--speed 0.1");
        tmux.keys(&[key]);
        tmux.until("status-0");
        assert!(!has("two"), "{}", tmux.shown());
        // The terminal is as it was: what is typed is shown again.
        tmux.line("echo typed-again");
        tmux.until("typed-again");
    }
    drop(tmux);
    home.finish();
}

/// A run that draws, writes what means harm, and pauses.
const HOSTILE: &str = r"printf '\033[31mred\033[0m </script><img src=x onerror=alert(1)>\n'; sleep 0.4
printf '\033]52;c;aGk=\007\033]8;;javascript:alert(1)\033\\link\033]8;;\033\\ \342\200\256rtl &lt;\n'; sleep 0.4
printf 'last \346\227\245\346\234\254\n'";

const CHROMIUM: &str = "/usr/bin/chromium";

fn players() -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../players");
    if !place.join("installed").exists() || !Path::new(CHROMIUM).exists() {
        loudly("players of recordings are NOT tested here: ./test --with players installs them");
        return None;
    }
    Some(place.canonicalize().unwrap())
}

/// Exports a run in every form into a directory; returns it.
fn exported(home: &Home) -> PathBuf {
    let id = recorded(home, &[HOSTILE]);
    let directory = home.workspace().join("exports");
    std::fs::create_dir_all(&directory).unwrap();
    for (form, file) in [
        (&["--cast"][..], "two.cast"),
        (&["--cast", "--v3"], "three.cast"),
        (&["--svg"], "still.svg"),
        (&["--svg", "--animated"], "moving.svg"),
        (&["--html"], "page.html"),
    ] {
        let path = directory.join(file);
        let to = ["-o", path.to_str().unwrap()];
        let transcript = shown(home, &[&["export", &id], form, &to].concat());
        assert_eq!(transcript.code(), Some(0), "{}", transcript.err());
    }
    directory
}

/// The one case that runs wherever a browser is.
#[test]
fn a_browser_shows_the_page_and_runs_nothing_of_what_was_written() {
    if !Path::new(CHROMIUM).exists() {
        return loudly("exported pages are NOT looked at here: there is no chromium");
    }
    let home = Home::new();
    let page = exported(&home).join("page.html");
    let output = Command::new(CHROMIUM)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!(
            "--user-data-dir={}",
            home.tmp().join("chromium").display()
        ))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let (_, screen) = dom.split_once("id=\"screen\"").unwrap();
    let (screen, _) = screen.split_once("id=\"controls\"").unwrap();
    assert!(
        screen.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"),
        "{screen}"
    );
    assert!(
        screen.contains(">last") && !dom.contains("<img"),
        "{screen}"
    );
    let _ = std::fs::remove_dir_all(home.tmp().join("chromium"));
    home.finish();
}

#[test]
fn asciinemas_player_and_a_browser_take_the_exports() {
    let Some(place) = players() else { return };
    let home = Home::new();
    let directory = exported(&home);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/players/play.mjs");
    let output = Command::new("node")
        .arg(&script)
        .arg(&directory)
        .arg(place.join("node_modules"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{complaints}");
    assert!(told.contains("all played"), "{told}");
    home.finish();
}

#[test]
fn asciinemas_command_takes_the_cast() {
    let Some(place) = players() else { return };
    let home = Home::new();
    let directory = exported(&home);
    let asciinema = place.join("python/bin/asciinema");
    // It wants a terminal, which `script` makes.
    let command = format!(
        "{} cat {}",
        asciinema.display(),
        directory.join("two.cast").display()
    );
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(
        told.contains("\x1b[31mred\x1b[0m") && told.contains("last 日本"),
        "{told:?}"
    );
    assert!(
        !told.contains("\x1b]52") && !told.contains("\x1b]8"),
        "{told:?}"
    );
    home.finish();
}
