//! `bashd run`: the way from the command line to a reply and an exit status, and into the ledger.

use crate::{bashd, shown};
use bashd_testkit::{Binary, Home, loudly};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

fn json(home: &Home, arguments: &[&str]) -> Value {
    let transcript = shown(home, &[&["run", "--json"], arguments].concat());
    serde_json::from_slice(&transcript.stdout).unwrap_or_else(|_| panic!("{}", transcript.block()))
}

#[test]
fn the_text_is_the_reply_and_the_status_the_commands() {
    let home = Home::new();
    insta::assert_snapshot!(shown(&home, &["run", "--profile", "voice", "echo o; echo e >&2; exit 3"]).block(), @r#"
    --- stdout
    o

    e

    [Exit code: 3][no newline]
    --- stderr
    bashd: the profile voice has no rules of its own, so nothing is denied; guard.rules = "default" in config.toml switches bashd's on (said once)
    --- status
    exit 3
    "#);
}

#[test]
fn statuses_tell_how_it_ended() {
    let home = Home::new();
    for (arguments, status) in [
        (&["true"][..], 0),
        (&["exit 7"], 7),
        (&["kill -9 $$"], 137),
        (&["--timeout", "1", "sleep 30"], 124),
        (&["--cwd", "/nonexistent", "true"], 125),
        (&["--profile", "nonsense", "true"], 125),
        (&["--input", "{\"nonsense\":1}"], 125),
        (&["  "], 125),
    ] {
        let transcript = shown(&home, &[&["run"], arguments].concat());
        assert_eq!(
            transcript.code(),
            Some(status),
            "{arguments:?}: {}",
            transcript.block()
        );
    }
}

#[test]
fn flags_reach_the_command() {
    let home = Home::new();
    let reply = json(
        &home,
        &[
            "--env",
            "A=1=2",
            "--env",
            "B=",
            "--cwd",
            "/",
            "echo \"$A|$B|$PWD\"",
        ],
    );
    assert_eq!(reply["output"], "1=2||/\n");
    let given = home.workspace().join("given");
    std::fs::write(&given, "from a file").unwrap();
    assert_eq!(
        json(&home, &["--stdin", given.to_str().unwrap(), "cat"])["output"],
        "from a file"
    );
    let piped = bashd(&home, &["run", "--stdin", "-", "cat"])
        .stdin("from a pipe")
        .run();
    assert_eq!(piped.out(), "from a pipe");
    let typed = bashd(&home, &["run", "--stdin", "-", "--stdin-open", "head -1"])
        .stdin("from a pipe\n")
        .run();
    assert_eq!(typed.out(), "from a pipe\n");
}

#[test]
fn input_without_an_end_is_read_as_it_comes_and_delays_nothing() {
    let home = Home::new();
    for profile in ["default", "voice", "harness", "phoenix", "pi"] {
        let endless = json(
            &home,
            &["--profile", profile, "--stdin", "/dev/zero", "head -c 5"],
        );
        assert_eq!(endless["output_bytes"], 5, "{profile}: {endless}");
    }
    // The shell holds the pipe's other end, and says nothing.
    let script = "mkfifo pipe; exec 3<>pipe; \"$0\" run --json --stdin - --timeout 1 cat <&3";
    let transcript = by_sh(&home, script).run();
    let reply: Value = serde_json::from_slice(&transcript.stdout).unwrap();
    assert_eq!(reply["timed_out"], true, "{reply}");
    assert!(reply["wall_ms"].as_u64().unwrap() < 10_000, "{reply}");
    let failed = shown(&home, &["run", "--stdin", "/", "cat"]);
    assert_eq!(failed.code(), Some(125));
    assert!(failed.err().contains("/ can't be read"), "{}", failed.err());
}

#[test]
fn a_models_arguments_come_as_json() {
    let home = Home::new();
    let input = "{\"command\": \"echo $((6*7))\"}";
    assert_eq!(json(&home, &["--input", input])["output"], "42\n");
    let piped = bashd(&home, &["run", "--input", "-"]).stdin(input).run();
    assert_eq!(piped.out(), "42\n");
}

#[test]
fn every_call_is_in_the_log() {
    let home = Home::new();
    shown(&home, &["run", "echo one"]);
    shown(&home, &["run", "--profile", "voice", "exit 4"]);
    shown(&home, &["run", "--input", "nonsense"]);
    let log = shown(&home, &["log", "--json"]).out();
    let records: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let shown: Vec<String> = records
        .iter()
        .map(|record| {
            format!(
                "{} {} {}",
                record["profile"], record["outcome"], record["exit_code"]
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "\"default\" \"refused\" null",
            "\"voice\" \"exited\" 4",
            "\"default\" \"exited\" 0",
        ]
    );
    assert_eq!(records[2]["command"], "echo one");
    assert_eq!(records[2]["output_bytes"], 4);
}

#[test]
fn records_of_calls_that_never_ran_say_where_they_were_to_run() {
    let home = Home::new();
    let here = home.workspace().display().to_string();
    for (arguments, cwd) in [
        (&["mkfs.ext4 /dev/bashd-none"][..], &*here),
        (&["--cwd", "/", "mkfs.ext4 /dev/bashd-none"], "/"),
        (&["--cwd", "/nonexistent", "true"], "/nonexistent"),
        (&["--set", "shell=/nonexistent", "true"], &here),
        (&["--profile", "nonsense", "true"], &here),
        (&["  "], &here),
        (&["--input", "nonsense"], &here),
        (&["--cwd", "/", "--input", "{\"nonsense\":1}"], "/"),
        (
            &[
                "--input",
                "{\"command\":\"mkfs.ext4 /dev/bashd-none\",\"cwd\":\"/\"}",
            ],
            "/",
        ),
    ] {
        shown(&home, &[&["run"], arguments].concat());
        let log = shown(&home, &["log", "--json", "--limit", "1"]).out();
        let record: Value = serde_json::from_str(&log).unwrap();
        assert_eq!(record["cwd"], cwd, "{arguments:?}: {log}");
        assert_eq!(record["ran_ms"], Value::Null, "{arguments:?}: {log}");
    }
}

#[test]
fn secrets_of_the_command_line_are_not_in_the_record_of_a_refused_call() {
    let home = Home::new();
    let input = "{\"command\":\"curl -u me:hunter22\",\"nonsense\":1}";
    shown(
        &home,
        &["run", "--env", "API_TOKEN=hunter22", "--input", input],
    );
    let log = shown(&home, &["log", "--json"]).out();
    assert!(log.contains("[secret API_TOKEN, 8 characters]"), "{log}");
    assert!(!log.contains("hunter22"), "{log}");
}

#[test]
fn a_ledger_that_can_not_be_written_is_said_and_fails_nothing() {
    let home = Home::new();
    std::fs::create_dir_all(home.state()).unwrap();
    std::fs::write(home.state().join("ledger"), "").unwrap();
    let transcript = shown(&home, &["run", "echo fine"]);
    assert_eq!(
        (transcript.code(), transcript.out()),
        (Some(0), "fine\n".to_owned())
    );
    assert!(
        transcript.err().starts_with("warning: the ledger in "),
        "{}",
        transcript.err()
    );
}

/// Waits until the command has made the file `ready`.
fn wait_for_ready(home: &Home) {
    let ready = home.workspace().join("ready");
    let begun = Instant::now();
    while !ready.exists() {
        let waited = begun.elapsed();
        assert!(
            waited < Duration::from_secs(20),
            "the command did not start"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a named pipe takes nothing more: whoever writes to it is stuck.
fn wait_for_full_pipe(path: &Path) {
    const FULL: u64 = 64 * 1024;
    let begun = Instant::now();
    let mut held = 0;
    while held < FULL {
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(20), "{held} bytes came");
        std::thread::sleep(Duration::from_millis(2));
        // Its writer holds it open for reading, too: nothing waits for us, nor hears us leave.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        held = rustix::fs::open(path, flags, Mode::empty())
            .and_then(rustix::io::ioctl_fionread)
            .unwrap_or_default();
    }
}

/// A script of `sh` in whose `$0` the binary is.
fn by_sh<'home>(home: &'home Home, script: &str) -> Binary<'home> {
    Binary::new("/bin/sh", home).args(["-c", script, env!("CARGO_BIN_EXE_bashd")])
}

#[test]
fn under_nohup_a_command_outlives_its_terminal() {
    let home = Home::new();
    let script =
        "trap '' HUP; exec \"$0\" run ': > ready; while ! test -e go; do sleep 0.01; done; exit 5'";
    let mut child = by_sh(&home, script).spawn();
    wait_for_ready(&home);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
    // The first bit: what is ignored is gone when it was sent, and can't be heard later.
    assert_eq!(ignored & 1, 1, "{status}");
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    std::fs::write(home.workspace().join("go"), "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn signals_end_bashd_also_while_nobody_reads_its_reply() {
    let home = Home::new();
    let script = "mkfifo pipe; exec 3<>pipe; exec \"$0\" run --profile voice 'seq 1 100000' >&3";
    for signal in [Signal::INT, Signal::TERM] {
        let _ = std::fs::remove_file(home.workspace().join("pipe"));
        let mut child = by_sh(&home, script).spawn();
        wait_for_full_pipe(&home.workspace().join("pipe"));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(10));
        }
        kill_process(Pid::from_child(&child), Signal::KILL).ok();
        let ended = child.wait().unwrap();
        assert_eq!(ended.signal(), Some(signal.as_raw()), "{signal:?}");
    }
}

#[test]
fn too_few_descriptors_are_told_in_the_profiles_form() {
    let home = Home::new();
    let mut refused = 0;
    for (profile, form) in [
        (
            "harness",
            r#"^\{"(error":".+"|stdout":"fine\\n","stderr":"","exitCode":0)\}\n?$"#,
        ),
        (
            "phoenix",
            r"^((Command execution failed|Failed to spawn process): .+|fine\n)\n?$",
        ),
        ("voice", r"^(Error: .+|fine\n\n\[Exit code: 0\])\n?$"),
    ] {
        let form = regex::Regex::new(form).unwrap();
        // With 4 not even the configuration can be read, and stderr says so.
        for most in 5..=24 {
            let script =
                format!("ulimit -n {most}; exec \"$0\" run --profile {profile} 'echo fine'");
            let transcript = by_sh(&home, &script).run();
            let out = transcript.out();
            assert!(
                form.is_match(&out),
                "{profile}, {most}: {}",
                transcript.block()
            );
            refused += usize::from(transcript.code() != Some(0));
        }
    }
    assert!(refused > 20, "{refused} of 60 lacked descriptors");
}

#[test]
fn too_few_descriptors_are_an_error_and_no_panic() {
    let home = Home::new();
    for most in 4..=16 {
        let script = format!("ulimit -n {most}; exec \"$0\" run 'echo fine'");
        let transcript = by_sh(&home, &script).run();
        let block = transcript.block();
        assert!(!block.contains("panicked"), "{most}: {block}");
        match transcript.code() {
            Some(0) => assert_eq!(transcript.out(), "fine\n", "{most}"),
            code => assert_eq!(code, Some(125), "{most}: {block}"),
        }
    }
}

#[test]
fn a_current_directory_that_is_gone_is_told_in_the_reply_and_recorded() {
    let home = Home::new();
    let gone = home.workspace().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let script = "rmdir \"$PWD\"; exec \"$0\" run --json true";
    let transcript = by_sh(&home, script).cwd(&gone).run();
    assert_eq!(transcript.code(), Some(125), "{}", transcript.block());
    let reply: Value = serde_json::from_slice(&transcript.stdout).unwrap();
    let gone = gone.display().to_string();
    let error = format!("working directory does not exist: {gone}");
    assert_eq!(reply["error"], error);
    let log = shown(&home, &["log", "--json"]).out();
    let record: Value = serde_json::from_str(&log).unwrap();
    assert_eq!(
        (&record["outcome"], &record["cwd"]),
        (&"failed".into(), &gone.into())
    );
}

#[test]
fn arguments_that_are_no_text_run_nothing() {
    let home = Home::new();
    for (profile, said) in [
        ("voice", "Error: Invalid JSON arguments"),
        ("harness", "{\"error\":\"invalid input: invalid utf-8"),
    ] {
        let piped = bashd(&home, &["run", "--profile", profile, "--input", "-"])
            .stdin(b"{\"command\":\": > made; echo \xff\"}")
            .run();
        assert_eq!(piped.code(), Some(125), "{}", piped.block());
        assert!(piped.out().starts_with(said), "{}", piped.block());
    }
    assert!(!home.workspace().join("made").exists());
    let log = shown(&home, &["log", "--json"]).out();
    assert_eq!(log.matches("\"outcome\":\"refused\"").count(), 2, "{log}");
}

#[test]
fn signals_to_bashd_end_the_command_with_their_status() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        if signal == Signal::HUP && ::bashd::signals::is_hang_up_ignored() {
            loudly("the tests run under nohup: that HUP ends a command is not tested");
            continue;
        }
        let home = Home::new();
        let script = "echo before; : > ready; sleep 60";
        let mut child = bashd(&home, &["run", script]).spawn();
        wait_for_ready(&home);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = child.wait().unwrap();
        assert_eq!(ended.code(), Some(status), "{signal:?}");
        let log = shown(&home, &["log", "--json"]).out();
        assert!(log.contains("\"outcome\":\"cancelled\""), "{log}");
    }
}

#[test]
fn who_asked_for_no_session_hears_nothing_of_sessions() {
    let home = Home::new();
    let reply = json(&home, &["--profile", "pi", "echo out"]);
    let text = reply["text"].as_str().unwrap();
    assert!(!text.contains("session"), "{text}");
}

#[test]
fn an_unknown_profile_is_bad_usage() {
    let home = Home::new();
    insta::assert_snapshot!(shown(&home, &["run", "--profile", "nope", "touch ran"]).block(), @r#"
    --- stdout
    --- stderr
    usage error: there is no profile `nope`
    hint: one of: default, voice, harness, phoenix, pi, anthropic-bash, openai-shell, openai-local-shell, claude-code, claude-code-2.1, claude-code-2.0, gemini, codex, codex-shell, codex-shell-command, openhands
    --- status
    exit 125
    "#);
    assert!(!home.workspace().join("ran").exists());
    // Who asked for JSON gets a reply.
    let reply = shown(&home, &["run", "--json", "--profile", "nope", "touch ran"]).out();
    let reply: serde_json::Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply["error"], "there is no profile `nope`");
}
