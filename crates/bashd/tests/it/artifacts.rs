//! Stored output of real runs: every byte up to the quota, exact counts beyond it, and replies that
//! never depend on it.

use crate::profile_under_test::{Contract, end, running};
use bashd::artifact::{Range, Selection, parse_id};
use bashd::output::{Source, StreamPiece};
use bashd::plan::Quota;
use bashd::{Config, Engine, KeeperSource, Reply, Surroundings};
use bashd_testkit::{Home, as_each_user};
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::PermissionsExt;

fn engine_with(home: &Home, change: impl FnOnce(&mut Config)) -> Engine {
    let mut config = Config::new(home.state());
    change(&mut config);
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine")
}

fn id_of(reply: &Reply) -> u64 {
    let address = reply.artifact.as_deref().expect("an artifact");
    parse_id(address).expect("an address with a number")
}

/// The hash of all that a source keeps, and how much it does not.
fn hash(source: &dyn Source) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    let (mut offset, mut dropped) = (0, 0);
    while offset < source.len() {
        for piece in source.read(offset..offset + (1 << 20)).expect("a read") {
            match piece {
                StreamPiece::Kept(bytes) => {
                    offset += bytes.len() as u64;
                    // By byte, so that pieces of any size add up to the same.
                    for byte in bytes {
                        hasher.write_u8(byte);
                    }
                }
                StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => {
                    offset += count;
                    dropped += count;
                }
            }
        }
    }
    (hasher.finish(), dropped)
}

fn hash_of(bytes: impl Iterator<Item = u8>) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.for_each(|byte| hasher.write_u8(byte));
    hasher.finish()
}

/// What `seq -w 1 N` writes.
fn numbered(count: u32, width: usize) -> impl Iterator<Item = u8> {
    (1..=count).flat_map(move |number| format!("{number:0width$}\n").into_bytes())
}

#[tokio::test]
async fn only_what_is_not_shown_whole_is_stored_and_named() {
    let home = Home::new();
    let default = Contract::new(&home, "default");
    let short = default.run("echo short").await;
    assert_eq!(short.artifact, None);
    let long = default.run("seq -w 1 10000").await;
    assert_eq!(long.artifact.as_deref(), Some("artifact://0"));
    assert!(
        long.text
            .contains("left out here; the output is stored as artifact://0]\n"),
        "{}",
        long.text
    );
    let next = default.run("seq -w 1 10000").await;
    assert_eq!(next.artifact.as_deref(), Some("artifact://1"));
    for profile in ["voice", "harness", "phoenix"] {
        let reply = Contract::on(&default.engine, profile)
            .run("head -c 3000000 /dev/zero")
            .await;
        assert_eq!(reply.artifact, None, "{profile}: its document knows none");
    }
    let artifact = default.engine.artifacts().open(0).expect("an artifact");
    let expected: Vec<u8> = numbered(10_000, 5).collect();
    let lines = Selection {
        range: Range::Lines(5000, Some(5001)),
        grep: None,
    };
    let excerpt = artifact.passage(&lines, 1000).expect("an excerpt");
    assert_eq!(
        (excerpt.text.as_str(), excerpt.truncated),
        ("05000\n05001\n", false)
    );
    let path = default.engine.artifacts().path(0).expect("a path");
    assert_eq!(fs::read(&path).expect("a file"), expected);
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn with_the_quota_raised_an_artifact_holds_every_byte() {
    let home = Home::new();
    let engine = engine_with(&home, |config| {
        config.quota = Quota {
            head: 64 << 20,
            ring: 1 << 20,
        };
    });
    let reply = Contract::on(&engine, "default")
        .run("seq -w 1 2500000")
        .await;
    assert_eq!((reply.output_bytes, reply.dropped_bytes), (20_000_000, 0));
    let artifact = engine.artifacts().open(id_of(&reply)).expect("an artifact");
    assert_eq!(hash(&artifact), (hash_of(numbered(2_500_000, 7)), 0));
    assert_eq!(artifact.summary().lines, 2_500_000);
}

#[tokio::test]
async fn beyond_the_quota_both_ends_are_exact_and_the_loss_is_counted_to_the_byte() {
    let home = Home::new();
    let engine = engine_with(&home, |config| {
        config.quota = Quota {
            head: 1 << 20,
            ring: 3 << 20,
        };
    });
    let reply = Contract::on(&engine, "default")
        .run("seq -w 1 2000000")
        .await;
    let (total, kept) = (16_000_000, 4 << 20);
    assert_eq!(
        (reply.output_bytes, reply.dropped_bytes),
        (total, total - kept)
    );
    let artifact = engine.artifacts().open(id_of(&reply)).expect("an artifact");
    let all: Vec<u8> = numbered(2_000_000, 7).collect();
    let ends = all[..1 << 20].iter().chain(&all[all.len() - (3 << 20)..]);
    let expected = hash_of(ends.copied());
    assert_eq!(hash(&artifact), (expected, total - kept));
    assert_eq!(artifact.summary().dropped_bytes, total - kept);
    // In order, as one file, with a line where something is missing.
    let path = engine.artifacts().path(id_of(&reply)).expect("a path");
    let gap = format!(
        "\n[bashd: {} bytes of output were dropped here]\n",
        total - kept
    );
    let plain = fs::read(path).expect("a file");
    assert_eq!(plain.len() as u64, kept + gap.len() as u64);
    assert_eq!(plain[1 << 20..(1 << 20) + gap.len()], *gap.as_bytes());
    let again = engine.artifacts().open(id_of(&reply)).expect("an artifact");
    assert_eq!(hash(&again), (expected, total - kept));
}

#[tokio::test]
async fn what_survivors_write_later_is_not_in_the_artifact() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let engine = engine_with(&home, |config| {
        config.quota = Quota {
            head: 100 << 10,
            ring: 200 << 10,
        };
    });
    let script = "seq -w 1 100000; (until [ -e go ]; do sleep 0.01; done; \
        seq -w 1 200000; touch done; sleep 60) &";
    let reply = Contract::on(&engine, "default").run(script).await;
    assert!(!reply.left_behind.is_empty(), "{reply:?}");
    let before = engine.artifacts().open(id_of(&reply)).expect("an artifact");
    let (hashed, dropped) = hash(&before);
    fs::write(home.workspace().join("go"), "").expect("a file");
    let finished = home.workspace().join("done");
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !finished.exists() {
        assert!(
            std::time::Instant::now() < patience,
            "the survivor did not write"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let after = engine.artifacts().open(id_of(&reply)).expect("an artifact");
    assert_eq!(hash(&after), (hashed, dropped));
    assert_eq!(dropped, reply.dropped_bytes);
    end(&reply);
}

#[test]
fn where_nothing_can_be_stored_the_reply_is_the_same_but_for_the_address() {
    as_each_user(|| {
        let home = Home::new();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let engine = engine_with(&home, |_| ());
        // Neither a counter nor a link can be made where a file is.
        fs::create_dir_all(home.state()).expect("a directory");
        fs::write(home.state().join("artifacts"), "in the way").expect("a file");
        let contract = Contract::on(&engine, "default");
        let reply = runtime.block_on(contract.run("seq -w 1 10000; exit 3"));
        assert_eq!((reply.exit_code, reply.artifact), (Some(3), None));
        assert!(
            reply.text.contains("lines) left out here]\n"),
            "{}",
            reply.text
        );
        assert_eq!((reply.output_bytes, reply.error), (60_000, None));
        assert_eq!(running(&home), []);
    });
}

#[tokio::test]
async fn of_a_session_too_the_spool_itself_is_kept_unless_the_shell_holds_its_pipe() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let engine = engine_with(&home, |config| {
        config.quota = Quota {
            head: 100 << 10,
            ring: 2 << 20,
        };
    });
    let in_session = |script: &str| {
        let request = bashd::Request::new(script).session("one");
        let engine = engine.clone();
        async move { engine.run(request).await }
    };
    let expected = (hash_of(numbered(200_000, 6)), 0);
    let reply = in_session("seq -w 1 200000").await;
    let artifact = engine.artifacts().open(id_of(&reply)).expect("an artifact");
    assert_eq!(hash(&artifact), expected);
    // Nothing was copied: what the ring held is a file of its own.
    let directory = home.state().join("artifacts/0");
    assert!(directory.join("artifact.tail").exists(), "{directory:?}");
    // A shell that goes on holding the pipe may write to the ring later.
    let reply = in_session("exec 7>&1; seq -w 1 200000").await;
    let artifact = engine.artifacts().open(id_of(&reply)).expect("an artifact");
    assert_eq!(hash(&artifact), expected);
    let directory = home.state().join("artifacts/1");
    assert!(!directory.join("artifact.tail").exists(), "{directory:?}");
    let later = in_session("seq -w 1 400000 >&7; exec 7>&-; echo done").await;
    assert_eq!(later.output, "done\n");
    let artifact = engine.artifacts().open(id_of(&reply)).expect("an artifact");
    assert_eq!(hash(&artifact), expected);
}

/// All texts of the ledger, and the names of all files of the state directory.
fn written(home: &Home) -> (String, Vec<String>) {
    let (mut ledger, mut names) = (String::new(), Vec::new());
    let mut directories = vec![home.state()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            let path = entry.path();
            names.push(path.display().to_string());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "jsonl")
            {
                ledger += &fs::read_to_string(&path).expect("a month of records");
            }
        }
    }
    (ledger, names)
}

#[tokio::test]
async fn secrets_of_the_environment_are_in_no_file_name_and_not_in_the_ledger() {
    let home = Home::new();
    let (inherited, own) = ("hunter2-0123456789", "correct horse \"battery\"");
    let mut env = home.env();
    env.push(("API_TOKEN".into(), inherited.into()));
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env,
    };
    let engine = Engine::new(Config::new(home.state()), surroundings, KeeperSource::Hook);
    let contract = Contract::on(&engine.expect("an engine"), "default");
    let command = format!("seq -w 1 10000; : {inherited} '{own}'; mkdir -p x; echo $API_TOKEN");
    let request = contract.request(command).env("DB_PASSWORD", own);
    let reply = contract.engine.run(request).await;
    assert!(reply.artifact.is_some());
    // The command got them, only nobody writes them down or shows them.
    let shown = "[secret API_TOKEN, 18 characters]\n";
    assert!(reply.output.ends_with(shown), "{}", reply.output);
    // Calls that are denied or can't be read leave records with words of theirs.
    contract
        .run(format!("git push -f https://x:{inherited}@host"))
        .await;
    let input =
        serde_json::json!({"command": "ls", "env": {"DB_PASSWORD": own}, "bogus": inherited});
    contract.json(&input.to_string()).await;
    contract
        .json(&format!("{{\"command\": \"{inherited}"))
        .await;
    contract.run("A_SECRET=only-here true").await;
    let (ledger, names) = written(&home);
    // What is told to those who watch is among it.
    let records = ledger
        .lines()
        .filter(|line| line.contains("\"command_truncated\""));
    assert_eq!(records.count(), 5, "{ledger}");
    for secret in [inherited, own, "battery", "only-here"] {
        assert!(!ledger.contains(secret), "{secret}: {ledger}");
        let told = names.iter().find(|name| name.contains(secret));
        assert_eq!(told, None);
    }
    assert!(
        ledger.contains("[secret API_TOKEN, 18 characters]"),
        "{ledger}"
    );
    assert!(ledger.contains("[secret DB_PASSWORD, "), "{ledger}");
}
