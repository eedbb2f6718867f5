//! Calls whose output is minimized: the raw output is stored first, and the reply says where.

use crate::profile_under_test::{Contract, records};
use bashd::config::{Config, Surroundings};
use bashd::{Engine, KeeperSource, Reply, Request};
use bashd_testkit::Home;
use std::fs;

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
        let begins = "some/long/directory/…:a needle in the hay\n first:…\n  1\n  2\n";
        assert!(
            reply.output.starts_with(begins),
            "{profile}: {}",
            reply.text
        );
        let ends = "[minimized: … marks where the lines below it differ; raw text has 120 lines] [raw output: artifact://0]\n";
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
