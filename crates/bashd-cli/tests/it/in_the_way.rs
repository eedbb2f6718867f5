//! What may lie in the place of a file of bashd's, and who may hold its lock: nobody waits for it
//! but who asked for that file, and not for ever.

use crate::rpc_under_test::{Client, PATIENCE};
use bashd_testkit::Home;
use rustix::fs::{CWD, FileType, FlockOperation, Mode};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn home() -> Home {
    Home::new().keeping_in_state(&["runs", "artifacts"])
}

fn call(id: &str, profile: &str, command: &str) -> Value {
    json!({"id": id, "type": "call", "profile": profile, "arguments": {"command": command}})
}

/// Holds the lock of a file, as somebody who was stopped does.
fn hold(file: &Path) -> File {
    let file = File::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    file
}

/// The files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

#[test]
fn numbers_of_stored_outputs_are_waited_for_by_errands() {
    let home = home();
    let mut client = Client::start(&home, &[]);
    let long = "seq 1 9000";
    let first = client.ask(&call("first", "", long));
    assert!(first["data"]["artifact"].is_string(), "{first}");
    let lock = hold(&home.state().join("artifacts/next"));
    for number in 0..4 {
        client.say(&call(&format!("{number}"), "", long));
    }
    let begun = Instant::now();
    let tasks = PathBuf::from(format!("/proc/{}/task", client.child.id()));
    let is_errand = |task: fs::DirEntry| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "bashd-errand\n")
    };
    while !fs::read_dir(&tasks).unwrap().flatten().any(is_errand) {
        assert!(begun.elapsed() < PATIENCE, "the server itself waits");
    }
    for number in 0..4 {
        // It is shown as far as it is shown without being stored.
        let answer = client.response(&format!("{number}"));
        assert_eq!(answer["data"]["exit_code"], 0, "{answer}");
        assert_eq!(answer["data"]["artifact"], Value::Null, "{answer}");
    }
    drop(lock);
    let last = client.ask(&call("last", "", long));
    assert!(last["data"]["artifact"].is_string(), "{last}");
    client.close();
}

#[test]
fn a_stored_output_that_is_put_in_order_delays_only_who_reads_it() {
    let home = home();
    let small = ["--set", "spool.head_bytes=4KiB"];
    let mut client = Client::start(&home, &small);
    let stored = client.ask(&call("stored", "pi", "seq 1 900000"));
    let address = stored["data"]["artifact"].as_str().unwrap().to_owned();
    let number = address.rsplit('/').next().unwrap();
    let directory = fs::canonicalize(home.state().join("artifacts").join(number)).unwrap();
    // It has several files, or there would be nothing to put in order.
    assert!(
        directory.join("artifact.tail").exists(),
        "{:?}",
        files(&directory)
    );
    let lock = hold(&directory.join("artifact"));
    client.say(&call("reads", "pi", &format!("tail -n 1 {address}")));
    for number in 0..3 {
        let begun = Instant::now();
        let answer = client.ask(&call(&format!("beside-{number}"), "", "echo fine"));
        assert_eq!(answer["data"]["output"], "fine\n", "{answer}");
        // It would have waited for the lock, which is waited for ten seconds.
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(8), "{took:?}");
    }
    drop(lock);
    let answer = client.response("reads");
    assert_eq!(answer["data"]["output"], "900000\n", "{answer}");
    client.close();
}

/// In the place of each file of the state directory, and of a profile, one after the other.
#[test]
fn a_fifo_in_the_place_of_a_file_hangs_nobody() {
    let home = home();
    let mut client = Client::start(&home, &[]);
    let profiles = home.home().join(".config/bashd/profiles");
    fs::create_dir_all(&profiles).unwrap();
    fs::write(profiles.join("own.toml"), "").unwrap();
    let job = |client: &mut Client, id: &str, arguments: Value| {
        client.ask(&json!({"id": id, "type": "job", "arguments": arguments}))
    };
    let ends = "until [ -e go ]; do sleep 0.05; done; echo ended";
    for command in [ends, "echo begun; sleep 300"] {
        let arguments = json!({"command": command, "background": true});
        let started = client.ask(&json!({"id": command, "type": "call", "arguments": arguments}));
        assert!(started["data"]["job"].is_string(), "{started}");
    }
    fs::write(home.workspace().join("go"), "").unwrap();
    job(&mut client, "w", json!({"action": "wait", "job": "bg_1"}));
    let stored = client.ask(&call("stored", "", "seq 1 9000"));
    let address = stored["data"]["artifact"].clone();
    let state = home.state();
    let mut victims = files(&home.state());
    victims.push(profiles.join("own.toml"));
    assert!(victims.len() > 15, "{victims:?}");
    for victim in victims {
        let aside = victim.with_extension("aside");
        // Some are gone meanwhile.
        if fs::rename(&victim, &aside).is_err() {
            continue;
        }
        let name = victim.strip_prefix(&state).unwrap_or(&victim).display();
        rustix::fs::mknodat(CWD, &victim, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let begun = Instant::now();
        let shown = client.ask(&call("call", "", "echo fine"));
        assert_eq!(shown["data"]["output"], "fine\n", "{name}: {shown}");
        client.ask(&call("own", "own", "echo fine"));
        client.ask(&call("again", "", "seq 1 9000"));
        client.ask(&call(
            "read",
            "pi",
            &format!("head -n 1 {}", address.as_str().unwrap()),
        ));
        client
            .ask(&json!({"id": "a", "type": "artifact", "arguments": {"id": address, "tail": 1}}));
        job(&mut client, "list", json!({"action": "list"}));
        for which in ["bg_1", "bg_2"] {
            job(
                &mut client,
                "out",
                json!({"action": "output", "job": which, "tail": 1}),
            );
        }
        job(
            &mut client,
            "wait",
            json!({"action": "wait", "job": "bg_1", "timeout": 1}),
        );
        let arguments = json!({"command": "true", "background": true});
        client.ask(&json!({"id": "more", "type": "call", "arguments": arguments}));
        let took = begun.elapsed();
        assert!(took < PATIENCE, "{name}: {took:?}");
        fs::rename(&aside, &victim).unwrap();
    }
    let ended = job(&mut client, "end", json!({"action": "kill", "job": "bg_2"}));
    assert_eq!(ended["success"], true, "{ended}");
    drop(client.stdin.take());
    assert_eq!(client.ended().code(), Some(0));
}
