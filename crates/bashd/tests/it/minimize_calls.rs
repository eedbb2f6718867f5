//! Calls whose output is minimized: the raw output is stored first, and the reply says where.

use crate::engine_under_test;
use crate::profile_under_test::{Contract, records};
use bashd::config::{Config, Surroundings};
use bashd::{Engine, KeeperSource, Reply, Request};
use bashd_testkit::Home;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Many matches in few files: their names are said once.
const COMMAND: &str = "grep -rn needle some/long/directory | sort -t: -k1,1 -k2,2n | cat";

fn with_files(home: &Home) {
    let directory = home.workspace().join("some/long/directory");
    fs::create_dir_all(&directory).expect("a directory");
    for name in ["first", "second"] {
        let lines: String = "a needle in the hay\n".repeat(60);
        fs::write(directory.join(name), lines).expect("a file");
    }
}

fn raw() -> String {
    let lines = ["first", "second"].into_iter().flat_map(|name| {
        (1..=60)
            .map(move |number| format!("some/long/directory/{name}:{number}:a needle in the hay\n"))
    });
    lines.collect::<Vec<_>>().concat()
}

async fn run(home: &Home, profile: &str) -> Reply {
    let contract = Contract::new(home, profile);
    contract.engine.run(contract.request(COMMAND)).await
}

#[tokio::test]
async fn default_and_pi_show_less_and_say_where_the_rest_is() {
    for profile in ["default", "pi"] {
        let home = Home::new();
        with_files(&home);
        let contract = Contract::new(&home, profile);
        let reply = contract.engine.run(contract.request(COMMAND)).await;
        let begins = "some/long/directory/…:a needle in the hay\n first:•\n  1 2 3 ";
        assert!(
            reply.output.starts_with(begins),
            "{profile}: {}",
            reply.text
        );
        let ends = "[minimized: … marks where the lines below it differ; • is each word below it; raw text has 120 lines] [raw output: artifact://0]\n";
        assert!(reply.output.ends_with(ends), "{profile}: {}", reply.text);
        assert_eq!(reply.artifact.as_deref(), Some("artifact://0"));
        assert_eq!(reply.output_bytes, raw().len() as u64);
        let stored = contract.engine.artifacts().list().expect("the list");
        assert_eq!(stored[0].kind.name(), "bash-original");
        let path = contract.engine.artifacts().path(0).expect("the artifact");
        assert_eq!(fs::read_to_string(path).expect("its file"), raw());
        let record = records(&home).remove(0);
        let minimized = record.minimized.expect("what became of it");
        assert_eq!(minimized.shown_bytes, reply.output.len() as u64);
        assert_eq!(
            (minimized.by.as_str(), minimized.artifact),
            ("exact", Some(0))
        );
    }
}

#[tokio::test]
async fn the_documents_profiles_show_what_was_written() {
    for profile in ["voice", "harness", "phoenix"] {
        let home = Home::new();
        with_files(&home);
        let reply = run(&home, profile).await;
        assert!(
            reply.output.starts_with(&raw()),
            "{profile}: {}",
            reply.text
        );
        assert_eq!(records(&home).remove(0).minimized, None);
    }
}

#[tokio::test]
async fn what_cannot_be_stored_is_shown_as_it_is() {
    let home = Home::new();
    with_files(&home);
    fs::create_dir_all(home.state()).expect("the state directory");
    fs::write(home.state().join("artifacts"), "in the way").expect("a file");
    let reply = run(&home, "default").await;
    assert_eq!((reply.output, reply.artifact), (raw(), None));
}

#[tokio::test]
async fn settings_switch_it_off_whole_or_for_a_program() {
    type Change = fn(&mut Config);
    let changes: [Change; 4] = [
        |config| config.minimizer.enabled = false,
        |config| config.minimizer.except = vec!["grep".to_owned()],
        |config| config.minimizer.only = vec!["git".to_owned()],
        |config| config.minimizer.max_capture_bytes = 1024,
    ];
    for change in changes {
        let home = Home::new();
        with_files(&home);
        let mut config = Config::new(home.state());
        change(&mut config);
        let surroundings = Surroundings {
            cwd: home.workspace(),
            env: home.env(),
        };
        let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
        let reply = engine.run(Request::new(COMMAND)).await;
        assert_eq!((reply.output, reply.artifact), (raw(), None));
    }
}

#[tokio::test]
async fn a_window_over_a_digest_has_headings_and_the_raw_outputs_numbers() {
    let home = Home::new();
    let directory = home.workspace().join("some/long/directory/of/sources");
    fs::create_dir_all(&directory).expect("a directory");
    for number in 0..30 {
        let line = |at| {
            format!(
                "needle {at} {}\n",
                (number * 7919 + at * 104_729) % 1_000_003
            )
        };
        let text: String = (0..200).map(line).collect();
        fs::write(directory.join(format!("file_{number:02}.rs")), text).expect("a file");
    }
    let command = "grep -rn needle some | sort -t: -k1,1 -k2,2n | cat";
    for profile in ["pi", "default"] {
        let contract = Contract::new(&home, profile);
        let reply = contract.engine.run(contract.request(command)).await;
        let id = reply.artifact.clone().expect("an artifact");
        let number = id.rsplit('/').next().and_then(|id| id.parse().ok());
        let path = contract.engine.artifacts().path(number.expect("a number"));
        let raw = fs::read_to_string(path.expect("the artifact")).expect("its file");
        let raw: Vec<&str> = raw.lines().collect();
        assert_eq!(raw.len(), 6000);
        assert!(reply.output.contains("[minimized: "), "{}", reply.text);
        // The end can be read by itself: rebuilt, its lines are those of the raw output.
        let end = if profile == "pi" {
            reply.output.as_str()
        } else {
            let (_, rest) = reply.output.split_once("[bashd: ").expect("a notice");
            rest.split_once('\n').expect("its end").1
        };
        let rebuilt = bashd::minimize::rebuild(end);
        let rebuilt: Vec<&str> = rebuilt.iter().map(String::as_str).collect();
        let shown: Vec<_> = rebuilt
            .iter()
            .filter(|line| line.contains("needle"))
            .collect();
        let first = raw.len() - shown.len();
        for (at, line) in shown.iter().enumerate() {
            assert_eq!(**line, raw[first + at], "{profile}, line {at}");
        }
        if profile == "pi" {
            let truncation = &reply.result["details"]["meta"]["truncation"];
            assert_eq!(truncation["totalLines"], 6000, "{truncation}");
            assert_eq!(truncation["shownRange"]["start"], first as u64 + 1);
            assert_eq!(truncation["shownRange"]["end"], 6000);
            assert_eq!(reply.result["summary"]["totalLines"], 6000);
            let said = format!(
                "[Showing lines {}-6000 of 6000 (50.0KB limit), minimized to lines ",
                first + 1
            );
            assert!(reply.text.contains(&said), "{said}: {}", reply.text);
            assert!(reply.output.len() <= 51_200);
        } else {
            let left_out = reply.omitted_lines;
            let head = first as u64 - left_out;
            assert!(
                reply
                    .output
                    .contains(&format!("({left_out} lines) left out here; "))
            );
            // The very last one may be cut.
            let last_of_head = raw[head as usize - 2].rsplit(' ').next();
            assert!(reply.output.contains(last_of_head.expect("a word")));
        }
    }
}

/// Lines of a build that went well, enough of them to be noise.
const BUILD: &str = "for n in $(seq 40); do echo \"   Compiling crate-$n v1.0.$n\"; done; echo '    Finished `dev` profile in 1s'";

/// Puts a program of this name before all others.
pub(crate) fn with_program(home: &Home, name: &str, script: &str) {
    let directory = home.workspace().join("programs");
    fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/bash\n{script}\n")).expect("a program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
}

#[tokio::test]
async fn a_mask_of_an_earlier_call_leaves_nothing_out() {
    let home = Home::new();
    with_program(
        &home,
        "cargo",
        &format!("{BUILD}; exit ${{CARGO_STATUS:-0}}"),
    );
    fs::write(home.workspace().join("helpers.sh"), "true\n").expect("a file");
    let engine = engine_under_test::engine(&home);
    let path = "export PATH=\"$PWD/programs:$PATH\"";
    for (number, (earlier, is_masked)) in [
        ("export CARGO_STATUS=0", false),
        ("helper() { :; }; alias ll='ls -l'", false),
        (
            "export CARGO_STATUS=101; cargo() { command cargo \"$@\" || true; }",
            true,
        ),
        (
            "shopt -s expand_aliases; alias cargo='CARGO_STATUS=0 cargo'",
            true,
        ),
        ("source ./helpers.sh", true),
        ("trap 'exit 0' ERR", true),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("session {number}");
        let ask = |command: &str| engine.run(Request::new(command).session(&name));
        ask(path).await;
        ask(earlier).await;
        // The call after the next one knows it, too.
        for _ in 0..2 {
            let reply = ask("cargo build").await;
            assert_eq!(reply.exit_code, Some(0), "{earlier}: {}", reply.text);
            let leaves_out = reply.output.contains("left out 40 Compiling");
            assert_eq!(leaves_out, !is_masked, "{earlier}: {}", reply.text);
        }
        // Another session is another shell.
        let other = format!("other {number}");
        let command = format!("{path} && cargo build");
        let reply = engine.run(Request::new(&command).session(&other)).await;
        assert!(
            reply.output.contains("left out 40 Compiling"),
            "{}",
            reply.text
        );
    }
}

#[tokio::test]
async fn a_mask_of_the_rc_file_leaves_nothing_out() {
    for (rc, is_masked) in [
        ("helper() { :; }\n", false),
        ("cargo() { command cargo \"$@\" || true; }\n", true),
        ("alias cargo='cargo --quiet'\n", true),
    ] {
        let home = Home::new();
        with_program(&home, "cargo", BUILD);
        fs::write(home.home().join(".bashrc"), rc).expect("an rc file");
        let engine = engine_under_test::engine(&home);
        let command = "export PATH=\"$PWD/programs:$PATH\" && cargo build";
        let reply = engine.run(Request::new(command).profile("pi")).await;
        let leaves_out = reply.output.contains("left out 40 Compiling");
        assert_eq!(leaves_out, !is_masked, "{rc}: {}", reply.text);
    }
}
