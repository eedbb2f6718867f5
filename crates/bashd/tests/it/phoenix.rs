//! `phoenix`, end to end: the cases of its document that speak about processes. Background has a
//! file of its own.

use crate::profile_under_test::{
    Contract, copy_profile, engine_with_own_profiles, process, running,
};
use bashd::profile::schema;
use bashd::{Call, CancellationToken, Event, Profile, Reply};
use bashd_testkit::{Home, loudly, repeat};
use std::fs;
use std::time::{Duration, Instant};

fn phoenix(home: &Home) -> Contract {
    Contract::new(home, "phoenix")
}

fn timeout_line(limit: Duration) -> String {
    format!("[command timed out after {}s]", limit.as_secs_f64())
}

#[tokio::test]
async fn p_02_a_call_without_a_mode_runs_as_in_default_mode() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    let mut replies = Vec::new();
    for input in [
        r#"{"command":"echo hi; exit 3"}"#,
        r#"{"command":"echo hi; exit 3","mode":"default"}"#,
        r#"{"command":"echo hi; exit 3","mode":"slow"}"#,
    ] {
        replies.push(phoenix.json(input).await.text);
    }
    assert_eq!(replies, ["[command failed: exit code 3]\nhi\n"; 3]);
}

#[tokio::test]
async fn p_03_unknown_modes_and_old_booleans_run_nothing() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    for (input, text) in [
        (
            r#"{"command":"touch ran","mode":"fast"}"#,
            "Invalid input: `mode` must be one of default, slow, background, not `fast`",
        ),
        (
            r#"{"command":"touch ran","slow_ok":true}"#,
            "Invalid input: unknown parameter `slow_ok`",
        ),
        (
            r#"{"command":"touch ran","background":true}"#,
            "Invalid input: unknown parameter `background`",
        ),
    ] {
        let reply = phoenix.json(input).await;
        assert_eq!((reply.text.as_str(), reply.is_error), (text, true));
    }
    assert!(!home.workspace().join("ran").exists());
}

#[tokio::test]
async fn p_04_default_mode_blocks_and_ends_at_its_limit() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    let started = Instant::now();
    assert_eq!(phoenix.text("sleep 0.3; echo done").await, "done\n");
    assert!(started.elapsed() >= Duration::from_millis(300));
    if !repeat::is_soak() {
        loudly("`phoenix`'s real limit of 30 s is only waited for by ./soak");
        return;
    }
    let started = Instant::now();
    assert_eq!(
        phoenix.text("sleep 60").await,
        "[command timed out after 30s]"
    );
    assert!(started.elapsed() < Duration::from_secs(32));
}

#[tokio::test]
async fn p_07_the_description_names_the_directory_of_the_commands() {
    let home = Home::new();
    let pwd = phoenix(&home).text("pwd").await;
    let profile = Profile::builtin("phoenix").expect("it loads").expect("it");
    let workspace = home.workspace().display().to_string();
    let definition = schema::definition(&profile, &workspace, &bashd::Config::new(home.state()));
    let description = definition["description"].as_str().expect("a text");
    let line = format!("\n<pwd>{}</pwd>", pwd.trim_end());
    assert!(description.ends_with(&line), "{description}");
}

#[tokio::test]
async fn p_08_no_length_of_a_command_is_too_long() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    let script = "echo $0 $- $#; cat; exit 3";
    let short = phoenix.text(script).await;
    assert!(
        short.starts_with("[command failed: exit code 3]\n"),
        "{short}"
    );
    for length in [131_070, 131_071, 131_072, 131_073, 3_000_000] {
        let padding = "x".repeat(length - script.len() - 3);
        let long = format!("{script}\n# {padding}");
        assert_eq!(long.len(), length);
        assert_eq!(phoenix.text(long).await, short, "{length}");
    }
}

#[tokio::test]
async fn p_09_a_directory_that_is_no_directory_is_told() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    let expected = format!("{}\n", home.workspace().display());
    assert_eq!(phoenix.text("pwd").await, expected);
    let file = home.root().join("file");
    fs::write(&file, "").expect("a file");
    for (cwd, what) in [
        (home.root().join("gone"), "does not exist"),
        (file, "is not a directory"),
    ] {
        let reply = phoenix
            .engine
            .run(phoenix.request("touch ran").cwd(&cwd))
            .await;
        let expected = format!(
            "Failed to spawn process: working directory {what}: {}",
            cwd.display()
        );
        assert_eq!((reply.text, reply.is_error), (expected, true));
    }
}

#[tokio::test]
async fn p_10_state_does_not_persist() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    let first = "cd /; X=1; f() { :; }; shopt -s expand_aliases; alias a=b; alias a";
    assert_eq!(phoenix.text(first).await, "alias a='b'\n");
    let second = "pwd; echo ${X:-unset}; alias a; type f";
    let text = phoenix.text(second).await;
    let start = format!(
        "[command failed: exit code 1]\n{}\nunset\n",
        home.workspace().display()
    );
    assert!(text.starts_with(&start), "{text}");
    assert!(text.contains("a: not found"), "{text}");
    assert!(text.contains("f: not found"), "{text}");
}

#[tokio::test]
async fn p_11_no_terminal_anywhere_and_no_stdin() {
    let home = Home::new();
    let command = "tty; for fd in 0 1 2; do [ -t $fd ]; echo $?; done; read x; echo $?; \
        (: </dev/tty) 2>/dev/null; echo $?";
    let text = phoenix(&home).text(command).await;
    assert_eq!(text, "not a tty\n1\n1\n1\n1\n1\n");
}

#[tokio::test]
async fn p_12_both_streams_in_true_order() {
    let home = Home::new();
    let command = "for i in 1 2 3; do echo o$i; echo e$i >&2; done";
    let text = phoenix(&home).text(command).await;
    assert_eq!(text, "o1\ne1\no2\ne2\no3\ne3\n");
}

#[tokio::test]
async fn p_13_a_real_timeout_returns_what_there_was_and_ends_the_tree() {
    let home = Home::new();
    let command = "echo part; (sleep 60 & setsid sleep 60) & sleep 60";
    let ready = |reply: &Reply| reply.output == "part\n";
    let (reply, limit) = phoenix(&home).timed_out(command, ready).await;
    assert_eq!(reply.text, format!("{}\npart\n", timeout_line(limit)));
    assert!(reply.is_error && !reply.cancelled);
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn p_21_a_real_flood_keeps_its_two_ends() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    let flood = |count: usize| format!("head -c {count} /dev/zero | tr '\\0' a");
    let whole = phoenix.text(flood(131_072)).await;
    assert!(whole == "a".repeat(131_072));
    // P-22, with a length that is no round number of bytes.
    let command = format!("{}; echo b; exit 2", flood(199_998));
    let reply = phoenix.run(command).await;
    let expected = format!(
        "[command failed: exit code 2]\n[output truncated in middle: got 195kB, max is 128kB]\n\
         {}\n\n[snip]\n\n{}b\n",
        "a".repeat(4096),
        "a".repeat(4094)
    );
    assert_eq!(reply.text, expected);
    assert_eq!((reply.output_bytes, reply.output_lines), (200_000, 1));
}

#[tokio::test]
async fn p_24_characters_of_a_real_flood_stay_whole() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    for shift in 0..4 {
        let command = format!(
            "printf '%.{shift}s' xxx; yes '\u{1F600}' | head -n 40000 | tr -d '\\n'; printf '%.{shift}s' xxx"
        );
        let text = phoenix.text(command).await;
        assert!(
            text.contains("\u{1F600}\n\n[snip]\n\n\u{1F600}"),
            "shift {shift}"
        );
        assert!(!text.contains('\u{FFFD}'), "shift {shift}");
    }
}

#[tokio::test]
async fn p_25_a_real_failure_is_an_error_with_its_output() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    let reply = phoenix.run("echo out; exit 1").await;
    assert_eq!(reply.text, "[command failed: exit code 1]\nout\n");
    assert!(reply.is_error && reply.error.is_none());
    let text = phoenix.text("no-such-program").await;
    let expected = "[command failed: exit code 127]\n\
         bash: line 1: no-such-program: command not found\n";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn p_26_a_real_signal_is_128_plus_n() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    for (signal, number) in [("KILL", 9), ("TERM", 15), ("SEGV", 11)] {
        let reply = phoenix.run(format!("kill -{signal} $$")).await;
        let expected = format!("[command failed: exit code {}]\n", 128 + number);
        assert_eq!(reply.text, expected);
        assert_eq!((reply.exit_code, reply.signal), (None, Some(number)));
        assert!(reply.is_error && !reply.timed_out && !reply.cancelled);
    }
}

#[tokio::test]
async fn p_27_a_real_success_is_its_plain_output() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    assert_eq!(phoenix.text("echo hi").await, "hi\n");
    let reply = phoenix.run("true").await;
    assert_eq!((reply.text.as_str(), reply.is_error), ("", false));
}

/// The limit is a value of the request, so that no test waits for the document's: the mocked clock.
#[tokio::test]
async fn p_36_timeouts_by_a_clock_of_the_test() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    for milliseconds in [1, 50, 400] {
        let limit = Duration::from_millis(milliseconds);
        let request = phoenix.request("sleep 60").timeout(limit).mode("slow");
        let started = Instant::now();
        let reply = phoenix.engine.run(request).await;
        let late = started.elapsed().checked_sub(limit).expect("too early");
        assert!(late < Duration::from_secs(10), "{late:?} late");
        assert_eq!(reply.text, timeout_line(limit));
        assert!(reply.timed_out);
    }
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn p_37_a_shell_that_is_not_there_is_no_failing_command() {
    let home = Home::new();
    let own = r#"["bash", "-c"]"#;
    copy_profile(
        &home,
        "phoenix",
        "lost",
        &[(own, r#"["no-such-bash", "-c"]"#)],
    );
    let engine = engine_with_own_profiles(&home, home.workspace());
    let reply = Contract::on(&engine, "lost").run("echo hi").await;
    assert_eq!(
        reply.text,
        "Failed to spawn process: no such shell: no-such-bash"
    );
    assert!(reply.is_error && reply.error.is_some() && reply.exit_code.is_none());
    let failing = Contract::on(&engine, "phoenix").run("exit 1").await;
    assert!(failing.is_error && failing.error.is_none());
}

#[tokio::test]
async fn p_38_cancelling_a_real_run_ends_its_tree_at_once() {
    let home = Home::new();
    let phoenix = phoenix(&home);
    let token = CancellationToken::new();
    let command = "sleep 60 & setsid sleep 60 & echo $$; sleep 60";
    let call = Call::from(phoenix.request(command)).cancel_by(token.clone());
    let mut running_call = phoenix.engine.stream(call);
    let mut shell = None;
    while let Some(event) = running_call.next().await {
        match event {
            Event::Started { pid } => shell = Some(pid),
            Event::Output { text, .. } => {
                assert_eq!(text.trim(), shell.expect("started first").to_string());
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    let cancelled_at = Instant::now();
    token.cancel();
    let reply = loop {
        if let Event::Finished(reply) = running_call.next().await.expect("an end") {
            break reply;
        }
    };
    assert!(cancelled_at.elapsed() < Duration::from_secs(10));
    let shell = shell.expect("a shell");
    assert_eq!(reply.text, format!("[command cancelled]\n{shell}\n"));
    assert!(reply.cancelled && reply.is_error && !reply.timed_out);
    assert_eq!((process(shell), running(&home)), (None, Vec::new()));
    // What a command prints is not what happened to it.
    let reply = phoenix.run("echo '[command cancelled]'").await;
    assert!(!reply.cancelled && !reply.is_error);
}
