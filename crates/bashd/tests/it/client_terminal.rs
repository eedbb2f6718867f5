//! Commands in terminals of a client: a client that runs real processes, and is well, slow, deaf or
//! gone.

use crate::client_under_test::{Client, Fault};
use crate::engine_under_test::{engine, engine_with};
use bashd::guard::safe_mode::SafeMode;
use bashd::{Call, CancellationToken, Engine, Event, Reply, Request};
use bashd_testkit::Home;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

async fn run(engine: &Engine, client: &Arc<Client>, request: Request) -> Reply {
    let call = Call::from(request).in_terminal_of(client.clone());
    let reply = tokio::time::timeout(PATIENCE, engine.run(call)).await;
    reply.expect("a call always returns")
}

/// Waits until the client was asked for this.
async fn asked(client: &Client, what: &str) {
    let begun = Instant::now();
    while !client.log().iter().any(|entry| entry == what) {
        assert!(begun.elapsed() < PATIENCE, "no {what}: {:?}", client.log());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// What was asked for, but for how often the output was looked at.
fn without_polls(client: &Client) -> Vec<String> {
    let mut log = client.log();
    log.dedup();
    log
}

#[tokio::test]
async fn a_command_runs_in_the_clients_terminal() {
    let home = Home::new();
    let client = Client::new(&home);
    let request = Request::new("echo \"größe | $A; $PWD\"; echo err >&2; exit 3").env("A", "x y");
    let reply = run(&engine(&home), &client, request.cwd("/")).await;
    assert_eq!(reply.output, "größe | x y; /\nerr\n");
    assert_eq!((reply.exit_code, reply.signal), (Some(3), None));
    assert_eq!(reply.terminal.as_deref(), Some("t1"));
    assert_eq!((reply.output_bytes, reply.output_lines), (21, 2));
    let expected = ["create", "wait", "output", "release"];
    assert_eq!(without_polls(&client), expected);
    let made = client.made();
    assert!(made[0].command.ends_with("/bash"), "{made:?}");
    assert_eq!(made[0].args.len(), 2);
    assert_eq!(made[0].args[0], "-c");
}

#[tokio::test]
async fn the_terminals_id_and_the_output_are_told_while_it_runs() {
    let home = Home::new();
    let client = Client::new(&home);
    let request = Request::new("echo one; until [ -e go ]; do sleep 0.01; done; echo two");
    let call = Call::from(request).in_terminal_of(client.clone());
    let mut call = engine(&home).stream(call);
    let mut told = Vec::new();
    while let Some(event) = call.next().await {
        match event {
            Event::Terminal { id } => told.push(id),
            Event::Output { offset, text, .. } => {
                told.push(format!("{offset} {text}"));
                std::fs::write(home.workspace().join("go"), "").unwrap();
            }
            Event::Finished(reply) => told.push(reply.output),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(told, ["t1", "0 one\n", "4 two\n", "one\ntwo\n"]);
}

#[tokio::test]
async fn at_its_deadline_it_is_killed_then_read_then_released() {
    let home = Home::new();
    let client = Client::new(&home);
    let request = Request::new("echo before; sleep 60").timeout(Duration::from_secs(3));
    let reply = run(&engine(&home), &client, request).await;
    assert!(reply.timed_out && !reply.cancelled);
    assert_eq!(reply.output, "before\n");
    assert_eq!(reply.exit_code, Some(137), "a signal counts as 137");
    let log = without_polls(&client);
    assert_eq!(log[log.len() - 3..], ["kill", "output", "release"]);
}

#[tokio::test]
async fn a_cancelled_one_is_killed_and_released() {
    let home = Home::new();
    let client = Client::new(&home);
    let token = CancellationToken::new();
    let call = Call::from(Request::new("echo before; sleep 60")).cancel_by(token.clone());
    let engine = engine(&home);
    let call = engine.run(call.in_terminal_of(client.clone()));
    let cancel = async {
        asked(&client, "output").await;
        token.cancel();
    };
    let (reply, ()) = tokio::join!(call, cancel);
    assert!(reply.cancelled && !reply.timed_out);
    let log = without_polls(&client);
    assert_eq!(log[log.len() - 3..], ["kill", "output", "release"]);
}

#[tokio::test]
async fn a_dropped_one_is_killed_and_released() {
    let home = Home::new();
    let client = Client::new(&home);
    let engine = engine(&home);
    let call = Call::from(Request::new("sleep 60")).in_terminal_of(client.clone());
    tokio::select! {
        _ = engine.run(call) => panic!("it must run"),
        () = asked(&client, "output") => {}
    }
    asked(&client, "kill").await;
    asked(&client, "release").await;
}

#[tokio::test]
async fn what_is_cancelled_before_or_denied_makes_no_terminal() {
    let home = Home::new();
    let client = Client::new(&home);
    let token = CancellationToken::new();
    token.cancel();
    let engine = engine(&home);
    let call = Call::from(Request::new("touch X")).cancel_by(token);
    let reply = engine.run(call.in_terminal_of(client.clone())).await;
    assert!(reply.cancelled);
    let reply = run(&engine, &client, Request::new("touch X; git push -f")).await;
    assert_eq!(
        reply.denied.map(|denied| denied.rule).as_deref(),
        Some("no_force_push")
    );
    let reply = run(&engine, &client, Request::new("true").cwd("/nonexistent")).await;
    assert!(reply.error.is_some());
    assert_eq!(client.log(), [] as [&str; 0]);
    assert!(!home.workspace().join("X").exists());
}

#[tokio::test]
async fn input_can_only_be_had_here() {
    let home = Home::new();
    let client = Client::new(&home);
    let reply = run(&engine(&home), &client, Request::new("cat").stdin("given")).await;
    assert_eq!((reply.output.as_str(), reply.terminal), ("given", None));
    assert_eq!(client.log(), [] as [&str; 0]);
}

#[tokio::test]
async fn what_may_go_on_as_a_job_by_itself_runs_here() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let client = Client::new(&home);
    let engine = engine_with(&home, |config| {
        config.auto_background = Some(Duration::from_mins(1));
    });
    let pi = || Request::new("echo here").profile("pi");
    let reply = run(&engine, &client, pi()).await;
    assert_eq!((reply.output.as_str(), reply.terminal), ("here\n", None));
    assert_eq!(client.log(), [] as [&str; 0]);
    // Without that, and in a profile that does not know it, it is the client's.
    let reply = run(
        &engine,
        &client,
        Request::new("echo there").profile("voice"),
    )
    .await;
    assert_eq!(reply.terminal.as_deref(), Some("t1"), "{reply:?}");
    let reply = run(&engine_with(&home, |_| {}), &client, pi()).await;
    assert_eq!(reply.terminal.as_deref(), Some("t2"), "{reply:?}");
}

#[tokio::test]
async fn a_client_that_refuses_is_quoted() {
    let home = Home::new();
    let client = Client::with(&home, &[("create", Fault::Fails)]);
    let reply = run(&engine(&home), &client, Request::new("touch X")).await;
    let error = reply.error.expect("an error");
    assert!(error.contains("create: no, says the client"), "{error}");
    assert!(reply.is_error && !home.workspace().join("X").exists());
}

#[tokio::test]
async fn a_terminal_that_comes_too_late_is_given_back() {
    let home = Home::new();
    let client = Client::with(&home, &[("create", Fault::Late)]);
    let reply = run(&engine(&home), &client, Request::new("sleep 60")).await;
    let error = reply.error.expect("an error");
    assert!(error.contains("no answer within"), "{error}");
    client.let_late_answers_come();
    asked(&client, "kill").await;
    asked(&client, "release").await;
}

#[tokio::test]
async fn no_silence_of_the_client_is_waited_for_without_end() {
    for deaf in ["output", "wait", "kill", "release"] {
        let home = Home::new();
        let client = Client::with(&home, &[(deaf, Fault::Hangs)]);
        let request = Request::new("echo out; sleep 60").timeout(Duration::from_secs(3));
        let reply = run(&engine(&home), &client, request).await;
        assert!(reply.timed_out, "{deaf}: {reply:?}");
        let expected = if deaf == "output" { "" } else { "out\n" };
        assert_eq!(reply.output, expected, "{deaf}");
        client.end_all();
    }
}

#[tokio::test]
async fn an_exit_that_only_a_poll_tells_is_enough() {
    let home = Home::new();
    let client = Client::with(&home, &[("wait", Fault::Hangs)]);
    let reply = run(&engine(&home), &client, Request::new("echo out; exit 4")).await;
    assert_eq!((reply.output.as_str(), reply.exit_code), ("out\n", Some(4)));
}

#[tokio::test]
async fn what_was_polled_last_stays_when_the_last_read_fails() {
    let home = Home::new();
    let client = Client::with(&home, &[("output", Fault::FailsOnceEnded)]);
    let request = Request::new("echo seen; until [ -e go ]; do sleep 0.01; done; exit 5");
    let engine = engine(&home);
    let go = async {
        client.shown("seen\n").await;
        std::fs::write(home.workspace().join("go"), "").unwrap();
    };
    let (reply, ()) = tokio::join!(run(&engine, &client, request), go);
    assert_eq!(
        (reply.output.as_str(), reply.exit_code),
        ("seen\n", Some(5))
    );
    // Nobody knows what it wrote last.
    assert!(reply.text.contains("dropped output"), "{}", reply.text);
    assert_eq!(client.log().last().map(String::as_str), Some("release"));
}

#[tokio::test]
async fn a_lost_client_is_an_error_with_what_was_seen() {
    let home = Home::new();
    let client = Client::new(&home);
    let engine = engine(&home);
    let lose = async {
        client.shown("seen\n").await;
        client.lose();
    };
    let (reply, ()) = tokio::join!(
        run(&engine, &client, Request::new("echo seen; sleep 60")),
        lose
    );
    let error = reply.error.expect("an error");
    assert!(error.contains("gone, says the connection"), "{error}");
    assert_eq!(reply.output, "seen\n");
    client.end_all();
}

#[tokio::test]
async fn a_signal_is_137_and_no_word_is_no_status() {
    let home = Home::new();
    let client = Client::new(&home);
    let reply = run(&engine(&home), &client, Request::new("kill -TERM $$")).await;
    assert_eq!((reply.exit_code, reply.signal), (Some(137), None));
    let silent = Client::with(&home, &[("wait", Fault::SaysNothing)]);
    let reply = run(&engine(&home), &silent, Request::new("true")).await;
    assert_eq!((reply.exit_code, reply.signal), (None, None));
}

#[tokio::test]
async fn what_a_client_forgot_is_said_in_every_profile() {
    let home = Home::new();
    let client = Client::forgetting_beyond(&home, 1000);
    let script = "seq 100; until [ -e go ]; do sleep 0.01; done; seq 100000 101000";
    for profile in ["default", "voice", "phoenix", "harness"] {
        let _ = std::fs::remove_file(home.workspace().join("go"));
        let engine = engine(&home);
        let go = async {
            client.shown("\n100\n").await;
            std::fs::write(home.workspace().join("go"), "").unwrap();
        };
        let request = Request::new(script).profile(profile);
        let (reply, ()) = tokio::join!(run(&engine, &client, request), go);
        assert!(
            reply.text.contains("dropped output"),
            "{profile}: {}",
            reply.text
        );
        assert!(
            reply.output.contains("100\n\n[bashd"),
            "{profile}: {}",
            reply.output
        );
        assert!(
            reply.output.contains("101000"),
            "{profile}: {}",
            reply.output
        );
        client.end_all();
    }
}

#[tokio::test]
async fn what_the_client_calls_truncated_is_said_and_never_called_full() {
    let home = Home::new();
    let client = Client::forgetting_beyond(&home, 60_000);
    // So much at once that no look sees its beginning.
    let flood = "seq 100000 >all; cat all";
    let reply = run(&engine(&home), &client, Request::new(flood).profile("pi")).await;
    assert!(reply.output.ends_with("\n100000\n"), "{}", reply.output);
    assert!(reply.text.contains("(output truncated)"), "{}", reply.text);
    assert!(reply.artifact.is_some() && !reply.text.contains("full output"));
    assert!(
        reply.text.contains("for what was seen of it"),
        "{}",
        reply.text
    );
    // The limit was asked for again.
    assert!(
        client.log().contains(&"limit 1048576".to_owned()),
        "{:?}",
        client.log()
    );
    // Looks of equal lines may meet anywhere.
    let client = Client::forgetting_beyond(&home, 1000);
    let script = "yes | head -n 300; until [ -e go ]; do sleep 0.01; done; yes | head -n 900";
    let go = async {
        client.looked_at_again().await;
        std::fs::write(home.workspace().join("go"), "").unwrap();
    };
    let engine = engine(&home);
    let (reply, ()) = tokio::join!(run(&engine, &client, Request::new(script)), go);
    assert!(reply.text.contains("dropped output"), "{}", reply.text);
}

#[tokio::test]
async fn a_silent_command_that_is_ended_has_the_documents_words() {
    let home = Home::new();
    let client = Client::new(&home);
    let engine = engine(&home);
    let request = |script: &str| Request::new(script).profile("pi");
    let limited = request("exec sleep 60").timeout(Duration::from_secs(1));
    let reply = run(&engine, &client, limited).await;
    assert_eq!(reply.text, "Command timed out after 1 seconds");
    assert!(reply.is_error && reply.timed_out);
    let limited = request("echo out; exec sleep 60").timeout(Duration::from_secs(2));
    let reply = run(&engine, &client, limited).await;
    assert_eq!(reply.text, "[Command timed out after 2 seconds]\nout\n");
    let (client, token) = (Client::new(&home), CancellationToken::new());
    let call = Call::from(request("exec sleep 60")).cancel_by(token.clone());
    let call = engine.run(call.in_terminal_of(client.clone()));
    let cancel = async {
        asked(&client, "output").await;
        token.cancel();
    };
    let (reply, ()) = tokio::join!(call, cancel);
    assert_eq!(reply.text, "Command aborted");
    assert!(reply.is_error && reply.cancelled);
}

#[tokio::test]
async fn text_of_a_clients_terminal_is_shown_as_it_is() {
    let home = Home::new();
    let client = Client::new(&home);
    // Noise that would be left out elsewhere.
    let noise = "for i in $(seq 100); do echo \"   Compiling crate$i v0.1.$i\"; done; echo '    Finished `dev` profile'";
    let cargo = home.workspace().join("cargo");
    std::fs::write(&cargo, format!("#!/bin/bash\n{noise}\n")).unwrap();
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&cargo, rights).unwrap();
    for profile in ["pi", "default"] {
        let engine = engine(&home);
        let request = || Request::new("PATH=$PWD:$PATH cargo build").profile(profile);
        let here = engine.run(request()).await;
        assert!(
            here.text.contains("[minimized: "),
            "{profile}: {}",
            here.text
        );
        let there = run(&engine, &client, request()).await;
        assert!(
            there.output.contains("Compiling crate50 v0.1.50\n"),
            "{}",
            there.text
        );
        assert!(!there.text.contains("[minimized: "), "{}", there.text);
    }
}

#[tokio::test]
async fn output_that_can_not_be_read_is_an_error() {
    let home = Home::new();
    let client = Client::with(&home, &[("output", Fault::Fails)]);
    for profile in ["pi", "default"] {
        let request = Request::new("echo nobody sees this").profile(profile);
        let reply = run(&engine(&home), &client, request).await;
        let error = reply.error.clone().unwrap_or_default();
        assert!(error.contains("no, says the client"), "{reply:?}");
        assert!(
            reply.is_error && !reply.text.contains("(no output)"),
            "{reply:?}"
        );
    }
}

#[tokio::test]
async fn a_long_output_that_is_polled_in_time_is_whole() {
    let home = Home::new();
    let client = Client::forgetting_beyond(&home, 4000);
    let script = "for i in 1 2 3 4; do seq $((i * 1000)) $((i * 1000 + 500)); until [ -e go$i ]; do sleep 0.01; done; done";
    let engine = engine(&home);
    let go = async {
        for round in 1..=4 {
            client.shown(&format!("\n{round}500\n")).await;
            client.looked_at_again().await;
            std::fs::write(home.workspace().join(format!("go{round}")), "").unwrap();
        }
    };
    let (reply, ()) = tokio::join!(run(&engine, &client, Request::new(script)), go);
    let expected: String = (1..=4)
        .flat_map(|round| (round * 1000..=round * 1000 + 500).map(|line| format!("{line}\n")))
        .collect();
    assert_eq!(reply.output, expected);
    assert_eq!(reply.output_bytes, expected.len() as u64);
}

#[tokio::test]
async fn guards_hold_in_the_clients_environment_too() {
    let home = Home::new();
    let client = Client::new(&home);
    std::fs::write(home.workspace().join("evil"), "echo EVIL").unwrap();
    let evil = home.workspace().join("evil");
    client.set_variable("BASH_ENV", evil.to_str().unwrap());
    let reply = run(&engine(&home), &client, Request::new("echo good")).await;
    assert_eq!(reply.output, "good\n");
    let strict = Request::new("ls evil | wc -l").safe_mode(SafeMode::Strict);
    let reply = run(&engine(&home), &client, strict).await;
    assert_eq!(reply.output.trim(), "1");
    assert!(reply.terminal.is_some());
    let compat = Request::new("wc -c evil")
        .profile("voice")
        .safe_mode(SafeMode::Compat);
    let reply = run(&engine(&home), &client, compat).await;
    assert!(reply.text.contains("9 evil"), "{}", reply.text);
    assert!(
        client.made()[2].command.ends_with("/wc"),
        "no shell reads it"
    );
}
