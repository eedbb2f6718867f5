//! The ledger between processes: several writers at once, and a host under a limit.
//!
//! Here and not beside the ledger, because the library's sources start no processes.

use bashd::ledger::{Ledger, Record, RecordQuery, RecordedOutcome};
use bashd_testkit::Home;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PART: &str = "BASHD_TEST_LEDGER_PART";
const DIRECTORY: &str = "BASHD_TEST_LEDGER_DIRECTORY";

/// Runs one test of this file again in a process of its own, where it plays the other part.
fn second_process(test: &str, directory: &Path, part: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("ledger::{test}")])
        .env(PART, part)
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// In a second process: the part it plays, and the ledger it writes to.
fn part() -> Option<(String, Ledger)> {
    let part = std::env::var(PART).ok()?;
    Some((part, ledger(std::env::var_os(DIRECTORY).unwrap())))
}

fn ledger(directory: impl Into<PathBuf>) -> Ledger {
    Ledger::new(bashd::Config::new("/unused").ledger, directory)
}

fn record(id: &str, command: &str) -> Record {
    let mut record = Record::new(
        id,
        "2026-08-01T00:00:00Z".parse().unwrap(),
        RecordedOutcome::Exited,
    );
    record.command = command.into();
    record
}

/// The ids in a ledger, and how many of its lines are damaged.
fn found(directory: &Path) -> (BTreeSet<String>, u64) {
    let mut records = ledger(directory).read(RecordQuery::default()).unwrap();
    let ids = records.by_ref().map(|record| record.unwrap().id).collect();
    (ids, records.damaged())
}

#[test]
fn processes_never_tear_each_others_lines() {
    if let Some((writer, ledger)) = part() {
        for number in 0..1000 {
            let command = "y".repeat(number * 13 % 9000);
            ledger
                .append(&record(&format!("{writer}-{number}"), &command))
                .unwrap();
        }
        return;
    }
    let home = Home::new();
    let directory = home.state().join("ledger");
    let test = "processes_never_tear_each_others_lines";
    let writers = ["a", "b", "c", "d"].map(|writer| second_process(test, &directory, writer));
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let (ids, damaged) = found(&directory);
    assert_eq!((ids.len(), damaged), (4 * 1000, 0));
}

#[test]
fn a_limit_on_file_sizes_is_a_failure_and_not_the_end_of_the_host() {
    if let Some((_, ledger)) = part() {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let limit = Rlimit {
            current: Some(600),
            maximum: Some(600),
        };
        setrlimit(Resource::Fsize, limit).unwrap();
        let record = record("first", &"z".repeat(200));
        assert_eq!(ledger.record(&record), None);
        assert!(ledger.record(&record).unwrap().contains("File too large"));
        return;
    }
    let home = Home::new();
    let directory = home.state().join("ledger");
    let test = "a_limit_on_file_sizes_is_a_failure_and_not_the_end_of_the_host";
    assert!(
        second_process(test, &directory, "limited")
            .wait()
            .unwrap()
            .success()
    );
    assert_eq!(found(&directory), (BTreeSet::from(["first".to_owned()]), 0));
}
