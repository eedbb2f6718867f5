//! Tests of the ledger on real files: shared, damaged, refused, swept.

use super::*;
use bashd_keeper::seen_clock::pretend_jump;
use jiff::ToSpan;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};

const SETTINGS: LedgerSettings = LedgerSettings {
    enabled: true,
    retention: Some(Duration::from_hours(24 * 180)),
    max_command_bytes: 65_536,
};

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

fn call(id: &str, time: &str, command: &str) -> Record {
    let mut record = Record::new(id, at(time), RecordedOutcome::Exited);
    record.command = command.to_owned();
    record.profile = "default".to_owned();
    record.cwd = "/tmp".to_owned();
    record.exit_code = Some(0);
    record
}

fn ids(ledger: &Ledger, filter: RecordQuery) -> Vec<String> {
    ledger
        .read(filter)
        .unwrap()
        .map(|record| record.unwrap().id)
        .collect()
}

struct Place {
    directory: tempfile::TempDir,
    ledger: Ledger,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(SETTINGS, directory.path().join("state/ledger"));
    Place { directory, ledger }
}

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("state/ledger").join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::create_dir_all(self.path("")).unwrap();
        fs::write(self.path(name), bytes).unwrap();
    }
}

#[test]
fn a_record_is_one_documented_line() {
    let place = place();
    let mut record = call("r1", "2026-08-04T10:11:12.3456Z", "echo 'ä'\n\u{1b}[31m");
    record.wall_ms = 12;
    record.ran_ms = Some(9);
    record.output_bytes = 3;
    record.output_lines = 1;
    place.ledger.append(&record).unwrap();
    insta::assert_snapshot!(
        fs::read_to_string(place.path("2026-08.jsonl")).unwrap(),
        @r#"{"v":1,"id":"r1","time":"2026-08-04T10:11:12.345Z","profile":"default","command":"echo 'ä'\n\u001b[31m","command_truncated":false,"cwd":"/tmp","outcome":"exited","exit_code":0,"signal":null,"error":null,"wall_ms":12,"ran_ms":9,"output_bytes":3,"output_lines":1}"#
    );
    let read = place
        .ledger
        .read(RecordQuery::default())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    record.time = at("2026-08-04T10:11:12.345Z");
    assert_eq!(read, record);
}

#[test]
fn nobody_else_can_read_it() {
    let place = place();
    place
        .ledger
        .append(&call("r1", "2026-08-04T10:00:00Z", "true"))
        .unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(place.path("2026-08.jsonl")), 0o600);
    assert_eq!(mode(place.path("")), 0o700);
}

#[test]
fn long_texts_are_cut_between_characters_and_marked() {
    let mut record = call("r1", "2026-08-04T10:00:00Z", &"ä".repeat(40_000));
    record.error = Some("€".repeat(3000));
    let line = record.to_line(65_535, None).unwrap();
    let read = Record::from_line(&line).unwrap();
    assert_eq!(read.command, "ä".repeat(32_767));
    assert!(read.command_truncated);
    assert_eq!(read.error, Some("€".repeat(1365)));
    let whole = call("r1", "2026-08-04T10:00:00Z", "ä")
        .to_line(2, None)
        .unwrap();
    assert!(!Record::from_line(&whole).unwrap().command_truncated);
}

#[test]
fn records_come_newest_first_across_months_and_filtered() {
    let place = place();
    let mut failed = call("c", "2026-08-02T00:00:00Z", "cargo TEST");
    failed.exit_code = Some(1);
    let mut denied = call("d", "2026-08-03T00:00:00Z", "rm -rf /");
    (denied.outcome, denied.exit_code) = (RecordedOutcome::Denied, None);
    for record in [
        call("a", "2026-06-01T00:00:00Z", "cargo test"),
        call("b", "2026-07-31T23:59:59Z", "ls"),
        failed,
        denied,
    ] {
        place.ledger.append(&record).unwrap();
    }
    assert_eq!(
        ids(&place.ledger, RecordQuery::default()),
        ["d", "c", "b", "a"]
    );
    let since = RecordQuery {
        since: Some(at("2026-07-31T23:59:59Z")),
        ..RecordQuery::default()
    };
    assert_eq!(ids(&place.ledger, since), ["d", "c", "b"]);
    let failed = RecordQuery {
        which: Which::Failed,
        ..RecordQuery::default()
    };
    assert_eq!(ids(&place.ledger, failed), ["d", "c"]);
    let named = RecordQuery {
        contains: Some("Cargo t".to_owned()),
        ..RecordQuery::default()
    };
    assert_eq!(ids(&place.ledger, named), ["c", "a"]);
}

#[test]
fn an_empty_or_missing_ledger_has_no_records() {
    let place = place();
    assert!(ids(&place.ledger, RecordQuery::default()).is_empty());
    place.write("2026-08.jsonl", b"");
    place.write("notes.txt", b"not ours");
    assert!(ids(&place.ledger, RecordQuery::default()).is_empty());
}

#[test]
fn torn_lines_are_skipped_and_hide_no_record() {
    let place = place();
    let line = |id: &str| {
        call(id, "2026-08-01T00:00:00Z", "x {\"v\":1 y")
            .to_line(9999, None)
            .unwrap()
    };
    let mut bytes = line("a");
    bytes.extend_from_slice(b"\n\0\xff garbage\n{\"v\":1,\"id\":\"torn\",\"comm");
    bytes.extend(line("glued"));
    bytes.extend_from_slice(b"[]\n{}\n");
    bytes.extend(line("b"));
    bytes.extend_from_slice(b"{\"v\":1,\"id\":\"last and torn");
    place.write("2026-08.jsonl", &bytes);
    let mut records = place.ledger.read(RecordQuery::default()).unwrap();
    let found: Vec<String> = records.by_ref().map(|record| record.unwrap().id).collect();
    assert_eq!(found, ["b", "glued", "a"]);
    assert_eq!(records.damaged(), 4);
}

#[test]
fn what_a_newer_version_writes_is_still_read() {
    let place = place();
    let line = call("a", "2026-08-01T00:00:00Z", "x")
        .to_line(9999, None)
        .unwrap();
    let text = String::from_utf8(line).unwrap();
    let newer = text
        .replace("\"exited\"", "\"promoted\"")
        .replace("\"id\"", "\"new\":[1],\"id\"");
    assert_ne!(newer, text);
    place.write("2026-08.jsonl", newer.as_bytes());
    let record = place
        .ledger
        .read(RecordQuery::default())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(
        (record.id.as_str(), record.outcome),
        ("a", RecordedOutcome::Unknown)
    );
    assert!(record.failed());
}

#[test]
fn threads_never_tear_each_others_lines() {
    let place = place();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let ledger = &place.ledger;
            scope.spawn(move || {
                for number in 0..500 {
                    let command = "x".repeat(number * 7 % 3000);
                    let id = format!("{writer}-{number}");
                    ledger
                        .append(&call(&id, "2026-08-01T00:00:00Z", &command))
                        .unwrap();
                }
            });
        }
    });
    let mut records = place.ledger.read(RecordQuery::default()).unwrap();
    let found: BTreeSet<String> = records.by_ref().map(|record| record.unwrap().id).collect();
    assert_eq!((found.len(), records.damaged()), (8 * 500, 0));
}

#[test]
fn a_read_only_directory_binds_users_without_rights() {
    bashd_testkit::as_each_user(|| {
        let place = place();
        fs::create_dir_all(place.path("")).unwrap();
        fs::set_permissions(place.path(""), fs::Permissions::from_mode(0o500)).unwrap();
        let result = place
            .ledger
            .append(&call("r1", "2026-08-04T10:00:00Z", "true"));
        // Mode bits do not bind root.
        if rustix::process::geteuid().is_root() {
            result.unwrap();
        } else {
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        }
    });
}

#[test]
fn a_failure_is_said_once_and_says_why() {
    let place = place();
    // A file where the directory should be fails for everybody, root included.
    fs::create_dir_all(place.directory.path().join("state")).unwrap();
    fs::write(place.directory.path().join("state/ledger"), "").unwrap();
    let record = call("r1", "2026-08-04T10:00:00Z", "true");
    let said = place.ledger.record(&record).unwrap();
    assert!(
        said.contains("state/ledger can't be written (Not a directory"),
        "{said}"
    );
    assert_eq!(place.ledger.record(&record), None);
    assert!(place.ledger.append(&record).is_err());
}

#[test]
fn what_is_not_a_file_is_refused_without_hanging() {
    let place = place();
    let record = call("r1", "2026-08-04T10:00:00Z", "true");
    let path = place.path("2026-08.jsonl");
    fs::create_dir_all(&path).unwrap();
    assert_eq!(
        place.ledger.append(&record).unwrap_err().kind(),
        io::ErrorKind::IsADirectory
    );
    assert!(
        place
            .ledger
            .read(RecordQuery::default())
            .unwrap()
            .next()
            .unwrap()
            .is_err()
    );
    fs::remove_dir(&path).unwrap();

    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
    assert!(place.ledger.append(&record).is_err());
    assert!(
        place
            .ledger
            .read(RecordQuery::default())
            .unwrap()
            .next()
            .unwrap()
            .is_err()
    );
    fs::remove_file(&path).unwrap();

    symlink("/dev/full", &path).unwrap();
    assert!(place.ledger.append(&record).is_err());
}

/// Records are written on the thread that serves everybody.
#[test]
fn a_record_of_a_chain_waits_for_nobody() {
    let place = place();
    let state = place.directory.path().join("state");
    fs::create_dir_all(place.path("")).unwrap();
    let record = call("r", "2026-08-04T10:11:12Z", "true");
    SealKey::of(&state).unwrap();
    let chains = format!("ledger/{}", Month::of(record.time).chains_name());
    let held = ["ledger/2026-08.jsonl", &chains, "key"].map(|name| {
        let file = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(state.join(name));
        let file = file.unwrap();
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
        file
    });
    for fifo in [None, Some(&*chains), Some("key")] {
        if let Some(name) = fifo {
            fs::remove_file(state.join(name)).unwrap();
            let mode = rustix::fs::Mode::RWXU;
            rustix::fs::mkfifoat(rustix::fs::CWD, state.join(name), mode).unwrap();
        }
        let ledger = Ledger::new(SETTINGS, state.join("ledger")).chained(state.clone());
        let (tell, told) = std::sync::mpsc::channel();
        let record = record.clone();
        std::thread::spawn(move || tell.send(ledger.append(&record).is_ok()));
        let written = told.recv_timeout(Duration::from_secs(20));
        assert_eq!(written, Ok(true), "{fifo:?}");
    }
    drop(held);
    assert_eq!(ids(&place.ledger, RecordQuery::default()).len(), 3);
}

/// By turns, so that both meet what else the machine does.
#[test]
fn a_chain_costs_little_beside_the_record_itself() {
    let place = place();
    let state = place.directory.path().join("state");
    let chained = Ledger::new(SETTINGS, state.join("chained")).chained(state.clone());
    let record = call("r", "2026-08-04T10:11:12Z", "cargo test --workspace");
    let mut taken = [Vec::new(), Vec::new()];
    for _ in 0..500 {
        for (ledger, taken) in [&place.ledger, &chained].into_iter().zip(&mut taken) {
            let begun = std::time::Instant::now();
            ledger.append(&record).unwrap();
            taken.push(begun.elapsed());
        }
    }
    let [plain, chained] = taken.map(|mut taken| {
        taken.sort();
        taken[taken.len() / 2]
    });
    println!("a record: {plain:?}, in a chain: {chained:?}");
    assert!(
        chained < plain + Duration::from_millis(1),
        "{plain:?} {chained:?}"
    );
}

#[test]
fn a_ledger_that_is_off_writes_nothing() {
    let place = place();
    let off = Ledger::new(
        LedgerSettings {
            enabled: false,
            ..SETTINGS
        },
        place.path(""),
    );
    assert_eq!(
        off.record(&call("r1", "2026-08-04T10:00:00Z", "true")),
        None
    );
    assert!(!place.path("").exists());
}

#[test]
fn beginning_a_month_removes_those_that_fell_due() {
    let place = place();
    for name in [
        "2025-12.jsonl",
        "2026-01.jsonl",
        "2026-02.jsonl",
        "notes.txt",
    ] {
        place.write(name, b"{}\n");
    }
    place
        .ledger
        .append(&call("r1", "2026-08-01T00:00:00Z", "true"))
        .unwrap();
    let mut left: Vec<_> = fs::read_dir(place.path(""))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    left.sort_by_key(fs::DirEntry::file_name);
    let names: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
    // January ended 182 days before, February 153.
    assert_eq!(names, ["2026-02.jsonl", "2026-08.jsonl", "notes.txt"]);
    let kept = Ledger::new(
        LedgerSettings {
            retention: None,
            ..SETTINGS
        },
        place.path(""),
    );
    assert_eq!(kept.sweep(at("2100-01-01T00:00:00Z")).unwrap(), 0);
    assert_eq!(place.ledger.sweep(at("2100-01-01T00:00:00Z")).unwrap(), 2);
}

#[test]
fn a_clock_that_jumped_removes_no_month() {
    let place = place();
    let runs = place.directory.path().join("runs");
    fs::create_dir_all(&runs).unwrap();
    fs::create_dir_all(place.path("")).unwrap();
    let now = Timestamp::now();
    let before = now
        .to_zoned(TimeZone::UTC)
        .checked_sub(37.months())
        .unwrap();
    let old = place.path(&Month::of(before.timestamp()).file_name());
    fs::write(&old, b"").unwrap();
    SeenClock::look(&runs);
    pretend_jump(&runs, Duration::from_hours(24 * 365 * 3));
    let watching = Ledger::new(SETTINGS, place.path("")).watching_the_clock(runs);
    assert_eq!(watching.sweep(now).unwrap(), 0);
    assert!(old.exists());
    assert_eq!(place.ledger.sweep(now).unwrap(), 1);
}

proptest! {
    #[test]
    fn every_text_survives_the_way_to_disk_and_back(command: String, cwd: String, error: Option<String>) {
        let mut record = call("r1", "2026-08-04T10:00:00Z", &command);
        record.cwd = cwd;
        record.error = error;
        let line = record.to_line(usize::MAX, None).unwrap();
        prop_assert_eq!(memchr::memchr(b'\n', &line), Some(line.len() - 1));
        prop_assert!(line.starts_with(record::LINE_START.as_bytes()));
        prop_assert_eq!(Record::from_line(&line), Some(record));
    }

    #[test]
    fn no_bytes_break_the_reader(bytes: Vec<u8>) {
        let place = place();
        place.write("2026-08.jsonl", &bytes);
        prop_assert_eq!(place.ledger.read(RecordQuery::default()).unwrap().count(), 0);
    }
}
