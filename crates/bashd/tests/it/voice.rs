//! `voice`, end to end: the cases of its document that speak about processes, with each shell of
//! its order.
//!
//! What is only about texts is held beside the code that writes them. Safe mode comes with the
//! guards.

use crate::engine_under_test::engine_of;
use crate::profile_under_test::{
    Contract, copy_profile, end, engine_with_own_profiles, process, running,
};
use bashd::{Config, LeftBehind, LeftReason, Reply, Surroundings};
use bashd_testkit::{Home, loudly, repeat};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const ZSH: &str = r#"["/bin/zsh", "-c"]"#;
const BASH: &str = r#"["/bin/bash", "-lc"]"#;

/// `voice` as it is on this machine.
fn voice(home: &Home) -> Contract {
    Contract::new(home, "voice")
}

/// `voice` with zsh (where there is one), where zsh is missing, and where bash is missing as well.
fn voices(home: &Home) -> Vec<(&'static str, Contract)> {
    copy_profile(
        home,
        "voice",
        "voice_bash",
        &[(ZSH, r#"["/nowhere/zsh", "-c"]"#)],
    );
    let no_bash = (BASH, r#"["/nowhere/bash", "-lc"]"#);
    copy_profile(
        home,
        "voice",
        "voice_sh",
        &[(ZSH, r#"["/nowhere/zsh", "-c"]"#), no_bash],
    );
    let engine = engine_with_own_profiles(home, home.workspace());
    let mut voices = vec![
        ("bash", Contract::on(&engine, "voice_bash")),
        ("sh", Contract::on(&engine, "voice_sh")),
    ];
    if Path::new("/bin/zsh").exists() {
        voices.push(("zsh", Contract::on(&engine, "voice")));
    } else {
        loudly("there is no /bin/zsh: `voice` is NOT tested with its first shell");
    }
    voices
}

fn repeated(character: char, count: usize) -> String {
    format!("head -c {count} /dev/zero | tr '\\0' {character}")
}

#[tokio::test]
async fn v_01_runs_in_the_workspace_also_behind_a_symlink() {
    let home = Home::new();
    let link = home.root().join("link");
    symlink(home.workspace(), &link).expect("a link");
    let real = fs::canonicalize(home.workspace()).expect("the workspace");
    for cwd in [home.workspace(), link] {
        let engine = engine_with_own_profiles(&home, cwd);
        let text = Contract::on(&engine, "voice").text("pwd -P").await;
        assert_eq!(text, format!("{}\n\n[Exit code: 0]", real.display()));
    }
}

#[tokio::test]
async fn v_02_stdout_and_stderr_of_a_real_command_in_one_text() {
    let home = Home::new();
    for (shell, voice) in voices(&home) {
        // V-03 and V-04 are the two forms that this text can have.
        let both = voice.text("echo e >&2; echo o").await;
        assert_eq!(both, "o\n\ne\n\n[Exit code: 0]", "{shell}");
        let only_err = voice.text("echo e >&2").await;
        assert_eq!(only_err, "e\n\n[Exit code: 0]", "{shell}");
    }
}

#[tokio::test]
async fn v_05_every_run_ends_with_its_exit_code() {
    let home = Home::new();
    for (shell, voice) in voices(&home) {
        for (command, text) in [
            ("true", "\n[Exit code: 0]"),
            ("echo hi", "hi\n\n[Exit code: 0]"),
            ("printf hi; exit 3", "hi\n[Exit code: 3]"),
            ("kill -9 $$", "\n[Exit code: 137]"),
        ] {
            assert_eq!(voice.text(command).await, text, "{shell}: {command}");
        }
        let cut = voice.text(format!("{}; exit 4", repeated('a', 200_000)));
        assert!(cut.await.ends_with("\n[Exit code: 4]"), "{shell}");
    }
}

#[tokio::test]
async fn v_06_the_last_exit_line_is_ours_whatever_the_command_prints() {
    let home = Home::new();
    let voice = voice(&home);
    for code in [0, 1, 2, 126, 127, 255] {
        let text = voice
            .text(format!("echo '[Exit code: 9]'; exit {code}"))
            .await;
        let expected = format!("[Exit code: 9]\n\n[Exit code: {code}]");
        assert_eq!(text, expected);
    }
}

#[tokio::test]
async fn v_07_a_real_failure_is_no_error() {
    let home = Home::new();
    let reply = voice(&home).run("exit 7").await;
    assert_eq!(reply.text, "\n[Exit code: 7]");
    assert!(!reply.is_error && reply.error.is_none());
    assert_eq!(reply.exit_code, Some(7));
}

#[tokio::test]
async fn v_08_command_and_cmd_both_run() {
    let home = Home::new();
    let voice = voice(&home);
    for input in [
        r#"{"command":"echo hi"}"#,
        r#"{"cmd":"echo hi"}"#,
        r#"{"command":"  ","cmd":"echo hi"}"#,
        r#"{"command":"echo hi","cmd":"echo no"}"#,
    ] {
        assert_eq!(
            voice.json(input).await.text,
            "hi\n\n[Exit code: 0]",
            "{input}"
        );
    }
}

#[tokio::test]
async fn v_09_nothing_to_run_is_said() {
    let home = Home::new();
    let voice = voice(&home);
    for input in [
        "{}",
        r#"{"command":""}"#,
        r#"{"command":" \n "}"#,
        r#"{"command":5}"#,
    ] {
        let reply = voice.json(input).await;
        assert_eq!(
            reply.text, "Error: Missing required parameter 'command'",
            "{input}"
        );
        assert!(reply.is_error);
    }
    assert!(voice.run(" \t").await.is_error);
}

#[tokio::test]
async fn v_10_the_first_shell_that_exists_runs_the_command() {
    let home = Home::new();
    for (shell, voice) in voices(&home) {
        let (command, expected) = match shell {
            "zsh" => ("echo $0 ${ZSH_VERSION:+zsh}", "/bin/zsh zsh"),
            "bash" => ("echo $0 ${BASH_VERSION:+bash}", "/bin/bash bash"),
            _ => ("echo $0", "sh"),
        };
        let text = voice.text(command).await;
        assert_eq!(text, format!("{expected}\n\n[Exit code: 0]"), "{shell}");
    }
}

#[tokio::test]
async fn v_11_only_the_bash_fallback_is_a_login_shell() {
    let home = Home::new();
    let profile = home.home().join(".bash_profile");
    fs::write(profile, "export FROM_LOGIN=yes\n").expect("a .bash_profile");
    for (shell, voice) in voices(&home) {
        let expected = if shell == "bash" { "yes" } else { "no" };
        let text = voice.text("echo ${FROM_LOGIN:-no}").await;
        assert_eq!(text, format!("{expected}\n\n[Exit code: 0]"), "{shell}");
    }
}

#[tokio::test]
async fn v_12_a_limit_ends_the_command_and_30_seconds_are_the_default() {
    let home = Home::new();
    let voice = voice(&home);
    let limit = Duration::from_millis(100);
    let started = Instant::now();
    let reply = voice.engine.run(voice.request("sleep 60").timeout(limit));
    assert!(reply.await.timed_out);
    assert!(started.elapsed() >= limit && started.elapsed() < Duration::from_secs(10));
    if !repeat::is_soak() {
        loudly("`voice`'s real limit of 30 s is only waited for by ./soak");
        return;
    }
    let started = Instant::now();
    let text = voice.text("sleep 31").await;
    let expected = "\n[Process timed out after 30s and was terminated]\n[Exit code: 143]";
    assert_eq!(text, expected);
    let elapsed = started.elapsed();
    assert!(elapsed >= Duration::from_secs(30) && elapsed < Duration::from_secs(32));
}

#[tokio::test]
async fn v_13_expiry_sends_term_which_a_command_can_catch() {
    let home = Home::new();
    for (shell, voice) in voices(&home) {
        let command = "trap 'echo got; exit 5' TERM; echo ready; sleep 60";
        let ready = |reply: &Reply| reply.output.starts_with("ready\n");
        let (reply, _) = voice.timed_out(command, ready).await;
        let (output, text) = (&reply.output, &reply.text);
        // The shell may add that its `sleep` was terminated as well.
        assert!(output.starts_with("ready\ngot\n"), "{shell}: {output}");
        assert!(text.ends_with("\n[Exit code: 5]"), "{shell}: {text}");
    }
}

#[tokio::test]
async fn v_14_partial_output_then_the_timeout_line_then_143() {
    let home = Home::new();
    for (shell, voice) in voices(&home) {
        let ready = |reply: &Reply| !reply.output.is_empty();
        let (reply, limit) = voice.timed_out("echo part; sleep 60", ready).await;
        let seconds = limit.as_secs_f64();
        let lines = format!("[Process timed out after {seconds}s and was terminated]");
        let expected = format!("part\n\n{lines}\n[Exit code: 143]");
        assert_eq!(reply.text, expected, "{shell}");
        assert!(!reply.is_error, "{shell}");
        assert_eq!((reply.exit_code, reply.signal), (None, Some(15)), "{shell}");
    }
}

#[tokio::test]
async fn v_15_what_ignores_term_is_killed_after_the_grace_and_reports_137() {
    let home = Home::new();
    let voice = voice(&home);
    let command = "trap '' TERM; echo ready; sleep 60; sleep 60";
    let ready = |reply: &Reply| reply.output == "ready\n";
    let started = Instant::now();
    let (reply, limit) = voice.timed_out(command, ready).await;
    assert!(reply.text.ends_with("\n[Exit code: 137]"), "{}", reply.text);
    assert!(started.elapsed() >= limit + Duration::from_secs(2));
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn v_17_expiry_ends_everything_the_command_started() {
    let home = Home::new();
    for (shell, voice) in voices(&home) {
        let command = "sleep 300 & (sleep 300 & sleep 300) & setsid sleep 300 & echo ready; wait";
        let ready = |reply: &Reply| reply.output == "ready\n";
        let (reply, limit) = voice.timed_out(command, ready).await;
        assert_eq!(running(&home), [], "{shell}");
        assert_eq!(reply.left_behind, [], "{shell}");
        let late = Duration::from_millis(reply.wall_ms).saturating_sub(limit);
        assert!(late < Duration::from_secs(10), "{shell}: {late:?} late");
    }
}

#[tokio::test]
async fn v_18_a_real_flood_is_cut_after_102400_bytes() {
    let home = Home::new();
    let voice = voice(&home);
    let a = |count| "a".repeat(count);
    let text = voice.text(repeated('a', 102_400)).await;
    assert_eq!(text, a(102_400) + "\n[Exit code: 0]");
    let reply = voice.run(repeated('a', 102_401)).await;
    let marker = "\n[Output truncated at 100KB]\n[Exit code: 0]";
    assert_eq!(reply.text, a(102_400) + marker);
    assert_eq!(reply.output_bytes, 102_401);
    // V-20: the limit is one for both streams.
    let both = format!("{}; echo x >&2", repeated('a', 102_400));
    assert_eq!(voice.text(both).await, a(102_400) + marker);
    // V-21: 102399 bytes and a character of two.
    let split = format!("{}; printf '\\303\\251'", repeated('a', 102_399));
    assert_eq!(voice.text(split).await, a(102_399) + marker);
}

#[tokio::test]
async fn v_22_a_flood_that_times_out_has_both_markers() {
    let home = Home::new();
    for (shell, voice) in voices(&home) {
        let command = format!("{}; sleep 60", repeated('a', 300_000));
        let ready = |reply: &Reply| reply.output_bytes == 300_000;
        let (reply, limit) = voice.timed_out(&command, ready).await;
        let expected = format!(
            "{}\n[Output truncated at 100KB]\n\
             [Process timed out after {}s and was terminated]\n[Exit code: 143]",
            "a".repeat(102_400),
            limit.as_secs_f64()
        );
        assert!(reply.text == expected, "{shell}: {:?}", tail(&reply.text));
    }
}

/// The end of a long text, for messages.
fn tail(text: &str) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(200))..)
        .unwrap_or(text)
}

#[tokio::test]
async fn v_23_a_shell_that_cannot_be_started_is_told() {
    let home = Home::new();
    let broken = home.root().join("broken-shell");
    fs::write(&broken, "#!/nowhere/interpreter\n").expect("a file");
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).expect("its mode");
    let words = format!("[\"{}\", \"-c\"]", broken.display());
    copy_profile(&home, "voice", "voice_broken", &[(ZSH, &words)]);
    let engine = engine_with_own_profiles(&home, home.workspace());
    let reply = Contract::on(&engine, "voice_broken").run("echo hi").await;
    let start = "Error: Failed to launch process: ";
    assert!(reply.text.starts_with(start), "{}", reply.text);
    assert!(
        reply.text.contains("No such file or directory"),
        "{}",
        reply.text
    );
    assert!(reply.is_error && reply.error.is_some());
}

#[tokio::test]
async fn v_31_pipes_work() {
    let home = Home::new();
    for name in ["a.test.ts", "b.test.ts", "c.ts"] {
        fs::write(home.workspace().join(name), "").expect("a file");
    }
    for (shell, voice) in voices(&home) {
        let text = voice.text("find . -name \"*.test.ts\" | wc -l").await;
        assert_eq!(text.trim_start(), "2\n\n[Exit code: 0]", "{shell}");
        let text = voice.text("ps aux | grep '[p]s aux' | wc -l").await;
        assert!(text.ends_with("\n[Exit code: 0]"), "{shell}: {text}");
        assert_ne!(text.trim_start(), "0\n\n[Exit code: 0]", "{shell}");
    }
}

#[tokio::test]
async fn v_32_quoted_paths_with_spaces_work() {
    let home = Home::new();
    let directory = home.workspace().join("path with spaces");
    fs::create_dir(&directory).expect("a directory");
    fs::write(directory.join("file.txt"), "inside\n").expect("a file");
    let input = r#"{"command":"cat \"path with spaces/file.txt\""}"#;
    for (shell, voice) in voices(&home) {
        assert_eq!(
            voice.json(input).await.text,
            "inside\n\n[Exit code: 0]",
            "{shell}"
        );
    }
}

#[tokio::test]
async fn v_33_a_redundant_redirection_is_harmless() {
    let home = Home::new();
    for (shell, voice) in voices(&home) {
        let without = voice.text("ls nofile").await;
        assert_eq!(voice.text("ls nofile 2>&1").await, without, "{shell}");
        assert!(without.contains("nofile"), "{shell}: {without}");
        assert!(without.ends_with("\n[Exit code: 2]"), "{shell}: {without}");
    }
}

#[tokio::test]
async fn v_34_nohup_returns_at_once_and_outlives_call_and_engine() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let voices = voices(&home);
    let mut replies = Vec::new();
    for (shell, voice) in &voices {
        let started = Instant::now();
        let reply = voice.run("nohup sleep 60 >/dev/null 2>&1 & echo ok").await;
        assert!(started.elapsed() < Duration::from_secs(20), "{shell}");
        assert_eq!(reply.text, "ok\n\n[Exit code: 0]", "{shell}");
        let [left] = reply.left_behind.as_slice() else {
            panic!("{shell}: {:?}", reply.left_behind)
        };
        assert_eq!(left.reason, LeftReason::Survivor);
        // In the middle of an exec it has a name and no arguments.
        let is_sleep = left.command.contains("sleep") || left.command == "[nohup]";
        assert!(is_sleep, "{shell}: {left:?}");
        replies.push(reply);
    }
    drop(voices);
    for reply in replies {
        let is_there = |left: &LeftBehind| process(left.pid).is_some();
        assert!(reply.left_behind.iter().all(is_there), "{reply:?}");
        end(&reply);
    }
}

#[tokio::test]
async fn v_35_the_error_example_has_text_and_code() {
    let home = Home::new();
    let text = voice(&home).text("ls src/missing").await;
    assert!(text.starts_with("ls: "), "{text}");
    assert!(text.contains("src/missing"), "{text}");
    assert!(text.contains("No such file or directory\n"), "{text}");
    assert!(text.ends_with("\n[Exit code: 2]"), "{text}");
}

#[tokio::test]
async fn v_36_calls_share_no_state() {
    let home = Home::new();
    for (shell, voice) in voices(&home) {
        let first = voice.text("cd /; X=1; export X; pwd").await;
        assert_eq!(first, "/\n\n[Exit code: 0]", "{shell}");
        let expected = format!("{} unset\n\n[Exit code: 0]", home.workspace().display());
        assert_eq!(
            voice.text("echo $PWD ${X:-unset}").await,
            expected,
            "{shell}"
        );
    }
}

#[tokio::test]
async fn v_37_reading_stdin_ends_at_once() {
    let home = Home::new();
    for (shell, voice) in voices(&home) {
        assert_eq!(voice.text("cat").await, "\n[Exit code: 0]", "{shell}");
        assert_eq!(voice.text("grep x").await, "\n[Exit code: 1]", "{shell}");
        let text = voice.text("read line; echo $?").await;
        assert_eq!(text, "1\n\n[Exit code: 0]", "{shell}");
    }
}

#[tokio::test]
async fn v_38_each_argument_error_and_the_bare_string() {
    let home = Home::new();
    let voice = voice(&home);
    for (input, text) in [
        ("{bad", "Error: Invalid JSON arguments"),
        ("[1]", "Error: Tool arguments must be a JSON object"),
        ("5", "Error: Tool arguments must be a JSON object"),
        ("\"echo hi\"", "hi\n\n[Exit code: 0]"),
    ] {
        assert_eq!(voice.json(input).await.text, text, "{input}");
    }
    let gone = home.root().join("gone");
    let reply = voice.engine.run(voice.request("true").cwd(&gone)).await;
    let expected = format!("Error: Workspace not accessible: '{}'", gone.display());
    assert_eq!(reply.text, expected);
    assert!(reply.is_error);
}

#[tokio::test]
async fn v_39_the_use_cases_run_and_kill_of_an_own_child_works() {
    let home = Home::new();
    let repository = home.workspace();
    for arguments in [
        &["init", "-q"][..],
        &["commit", "-q", "--allow-empty", "-m", "one"],
        &["commit", "-q", "--allow-empty", "-m", "two"],
    ] {
        let status = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(arguments)
            .current_dir(&repository)
            .env("HOME", home.home())
            .status();
        assert!(status.expect("git is there").success());
    }
    for (shell, voice) in voices(&home) {
        let text = voice.text("sleep 60 & kill -9 $!; wait $!; echo $?").await;
        assert!(text.contains("137\n"), "{shell}: {text}");
        assert!(text.ends_with("[Exit code: 0]"), "{shell}: {text}");
        assert_eq!(
            voice.text("git diff HEAD~1").await,
            "\n[Exit code: 0]",
            "{shell}"
        );
        let log = voice.text("git log --oneline -10 | wc -l").await;
        assert_eq!(log.trim_start(), "2\n\n[Exit code: 0]", "{shell}");
        let text = voice.text("du -sh .git").await;
        assert!(text.ends_with(".git\n\n[Exit code: 0]"), "{shell}: {text}");
    }
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn p_08_a_command_of_any_length_runs_in_every_shell_of_voice() {
    let home = Home::new();
    for (shell, voice) in voices(&home) {
        for length in [131_070, 131_071, 131_072, 131_073, 500_000] {
            let script = "echo $#; cat; echo end; exit 3";
            let padding = "x".repeat(length - script.len() - 3);
            let text = voice.text(format!("{script}\n# {padding}")).await;
            let expected = "0\nend\n\n[Exit code: 3]";
            assert_eq!(text, expected, "{shell}: {length}");
        }
    }
}

#[tokio::test]
async fn a_configured_shell_does_not_replace_the_documents() {
    let home = Home::new();
    let mut config = Config::new(home.state());
    config.shell = Some("/bin/false".to_owned());
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    let engine = engine_of(config, surroundings);
    for profile in ["voice", "harness", "phoenix"] {
        let reply = Contract::on(&engine, profile).run("echo hi").await;
        assert_eq!(reply.output, "hi\n", "{profile}");
    }
    let ours = Contract::on(&engine, "default").run("echo hi").await;
    assert_eq!(ours.exit_code, Some(1));
}
