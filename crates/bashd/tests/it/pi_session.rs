//! The session of `pi`: whatever carries a call, its calls come one after the other, in one shell
//! where no terminal is needed, and a directory that is not there is the document's error.

use crate::client_under_test::Client;
use crate::engine_under_test::engine;
use bashd::request::By;
use bashd::{Call, Engine, Event, Request, Running};
use bashd_testkit::Home;

fn request(command: &str) -> Request {
    Request::new(command).profile("pi")
}

fn in_a_terminal(command: &str) -> Request {
    let mut request = request(command);
    request.pty = true;
    request.ui = true;
    request
}

#[tokio::test]
async fn a_terminal_that_nobody_watches_is_the_sessions_own_shell() {
    let home = Home::new();
    let engine = engine(&home);
    std::fs::create_dir(home.workspace().join("sub")).expect("a directory");
    engine.run(request("x=1; cd sub; f() { echo f; }")).await;
    let mut unwatched = request("echo \"$x $(f) ${PWD##*/}\"; y=2; tty >/dev/null || echo none");
    unwatched.pty = true;
    let reply = engine.run(unwatched).await;
    assert_eq!(reply.output, "1 f sub\nnone\n", "{reply:?}");
    assert!(!reply.text.contains("terminal"), "{}", reply.text);
    assert_eq!(engine.run(request("echo $y")).await.output, "2\n");
}

/// Starts a call that says it has begun and waits at a gate.
async fn at_the_gate(mut first: Running) -> Running {
    while !matches!(first.next().await, Some(Event::Output { .. })) {}
    first
}

/// What both calls wrote, where the second was sent while the first waited at its gate.
async fn log_of(home: &Home, engine: &Engine, first: Call, second: Call) -> String {
    let first = engine.stream(first);
    let mut first = at_the_gate(first).await;
    let mut second = engine.stream(second);
    // What a person runs never waits: time for the second call to be wrong.
    for _ in 0..3 {
        let mut person = request("echo gate is still closed");
        person.by = By::Person;
        tokio::select! {
            biased;
            _ = second.next() => {}
            _ = engine.run(person) => {}
        }
    }
    std::fs::write(home.workspace().join("gate"), "open\n").expect("a gate");
    while first.next().await.is_some() {}
    while second.next().await.is_some() {}
    std::fs::read_to_string(home.workspace().join("log")).expect("a log")
}

#[tokio::test]
async fn pty_and_client_terminals_wait_for_each_other() {
    let home = Home::new();
    let engine = engine(&home);
    let client = Client::new(&home);
    let remote = |request: Request| Call::from(request).in_terminal_of(client.clone());
    let first = "echo ready; cat gate; echo first >>log";
    let second = "echo second >>log";
    let kinds: [&dyn Fn(&str) -> Call; 3] = [
        &|command| Call::from(request(command)),
        &|command| Call::from(in_a_terminal(command)),
        &|command| remote(request(command)),
    ];
    for (number, one) in kinds.iter().enumerate() {
        for (other_number, other) in kinds.iter().enumerate() {
            engine.run(request("rm -f gate log; mkfifo gate")).await;
            let log = log_of(&home, &engine, one(first), other(second)).await;
            assert_eq!(log, "first\nsecond\n", "{number} before {other_number}");
        }
    }
    client.end_all();
}

#[tokio::test]
async fn calls_of_other_sessions_do_not_wait() {
    let home = Home::new();
    let engine = engine(&home);
    engine.run(request("mkfifo gate")).await;
    let first = engine.stream(in_a_terminal("echo ready; cat gate"));
    let mut first = at_the_gate(first).await;
    let mut other = in_a_terminal("echo open >gate");
    other.owner = Some("another client".to_owned());
    assert_eq!(engine.run(other).await.exit_code, Some(0));
    while first.next().await.is_some() {}
}

#[tokio::test]
async fn a_call_that_waits_for_its_turn_can_be_cancelled() {
    let home = Home::new();
    let engine = engine(&home);
    engine.run(request("mkfifo gate")).await;
    let first = engine.stream(in_a_terminal("echo ready; cat gate"));
    let mut first = at_the_gate(first).await;
    let token = bashd::CancellationToken::new();
    token.cancel();
    let second = Call::from(in_a_terminal("echo ran >log")).cancel_by(token);
    let reply = engine.run(second).await;
    assert!(
        reply.cancelled && !home.workspace().join("log").exists(),
        "{reply:?}"
    );
    std::fs::write(home.workspace().join("gate"), "open\n").expect("a gate");
    while first.next().await.is_some() {}
}

#[tokio::test]
async fn a_relative_cd_to_nowhere_is_the_documents_error_and_runs_nothing() {
    let home = Home::new();
    let engine = engine(&home);
    let workspace = home.workspace();
    std::fs::create_dir_all(workspace.join("sub/deeper")).expect("directories");
    std::fs::write(workspace.join("sub/file"), "").expect("a file");
    let missing = |base: &str, name: &str| {
        let path = workspace.join(base).join(name);
        format!("Working directory does not exist: {}", path.display())
    };
    // In a new shell, and in one that has gone elsewhere.
    for (here, name, expected) in [
        ("", "nowhere", missing("", "nowhere")),
        ("", "./nowhere", missing("", "nowhere")),
        ("sub", "nowhere", missing("sub", "nowhere")),
        ("sub", "sub", missing("sub", "sub")),
        ("sub/deeper", "../nowhere", missing("sub", "nowhere")),
        ("sub", "'no where'", missing("sub", "no where")),
    ] {
        let go = format!("cd {}/{here}; x=1", workspace.display());
        engine.run(request(&go)).await;
        let reply = engine
            .run(request(&format!("cd {name} && touch ran")))
            .await;
        assert_eq!(reply.text, expected, "{reply:?}");
        assert!(reply.is_error && reply.exit_code.is_none(), "{reply:?}");
        let after = engine.run(request("echo \"$x $PWD\"")).await;
        let there = workspace.join(here);
        let there = there.display().to_string();
        assert_eq!(after.output, format!("1 {}\n", there.trim_end_matches('/')));
        assert_eq!(after.session_reset, None);
    }
    engine
        .run(request(&format!("cd {}", workspace.display())))
        .await;
    let reply = engine.run(request("cd sub/file && true")).await;
    let file = workspace.join("sub/file");
    let expected = format!("Working directory is not a directory: {}", file.display());
    assert_eq!(reply.text, expected, "{reply:?}");
    let fresh = crate::engine_under_test::engine(&home);
    let reply = fresh.run(request("cd nowhere && true")).await;
    assert_eq!(reply.text, missing("", "nowhere"));
    let reply = fresh
        .run(request("cd sub && pwd && cd deeper && cd ../.."))
        .await;
    assert_eq!(reply.exit_code, Some(0), "{reply:?}");
}

#[tokio::test]
async fn a_directory_that_only_the_shell_finds_is_found() {
    let home = Home::new();
    let engine = engine(&home);
    let workspace = home.workspace();
    std::fs::create_dir_all(workspace.join("real/inner")).expect("directories");
    std::fs::create_dir_all(workspace.join("links/beside")).expect("directories");
    std::os::unix::fs::symlink("../real/inner", workspace.join("links/inner")).expect("a link");
    engine.run(request("cd links/inner")).await;
    // By the way that the shell came there is one, by the way of the file system there is none.
    let reply = engine.run(request("cd ../beside && pwd")).await;
    let beside = workspace.join("links/beside");
    assert_eq!(reply.output, format!("{}\n", beside.display()), "{reply:?}");
    let go = format!("cd /; CDPATH={}", workspace.display());
    engine.run(request(&go)).await;
    let reply = engine.run(request("cd real && pwd")).await;
    let real = workspace.join("real").display().to_string();
    assert!(reply.output.ends_with(&format!("{real}\n")), "{reply:?}");
}

#[tokio::test]
async fn a_relative_cd_to_nowhere_is_the_same_error_in_every_vessel() {
    let home = Home::new();
    let engine = engine(&home);
    let client = Client::new(&home);
    let expected = format!(
        "Working directory does not exist: {}",
        home.workspace().join("nowhere").display()
    );
    let command = "cd nowhere && touch ran";
    let remote = Call::from(request(command)).in_terminal_of(client.clone());
    let mut person = request(command);
    person.by = By::Program;
    for (what, call) in [
        ("a terminal of the client", remote),
        ("a terminal of ours", Call::from(in_a_terminal(command))),
        ("its session", Call::from(request(command))),
    ] {
        let reply = engine.run(call).await;
        assert_eq!(reply.text, expected, "{what}: {reply:?}");
    }
    assert!(client.made().is_empty());
    let alone = crate::engine_under_test::engine_without_sessions(&home);
    assert_eq!(alone.run(request(command)).await.text, expected);
    let busy = engine.run(person).await;
    assert!(busy.exit_code != Some(0), "{busy:?}");
    assert!(!home.workspace().join("ran").exists());
}
