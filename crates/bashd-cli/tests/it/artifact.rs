//! `bashd artifact`: what `run` stored is listed, read by every kind of range, and removed.

use crate::{bashd, shown};
use bashd_testkit::Home;
use std::time::{Duration, Instant};

/// A home in which a long output was stored.
fn used() -> Home {
    let home = Home::new();
    let transcript = shown(&home, &["run", "--json", "seq -w 1 10000"]);
    let reply: serde_json::Value = serde_json::from_str(&transcript.out()).unwrap();
    assert_eq!(reply["artifact"], "artifact://0");
    home
}

fn read(home: &Home, arguments: &[&str]) -> String {
    let transcript = shown(home, &[&["artifact", "read"], arguments].concat());
    assert_eq!(
        (transcript.code(), transcript.err()),
        (Some(0), String::new())
    );
    transcript.out()
}

#[test]
fn every_kind_of_range_is_read() {
    let home = used();
    assert_eq!(
        read(&home, &["0", "--lines", "4999-5001"]),
        "04999\n05000\n05001\n"
    );
    assert_eq!(
        read(&home, &["artifact://0", "--lines", "9999-"]),
        "09999\n10000\n"
    );
    assert_eq!(read(&home, &["0", "--lines", "-2"]), "00001\n00002\n");
    assert_eq!(read(&home, &["0", "--lines", "7"]), "00007\n");
    assert_eq!(read(&home, &["0", "--bytes", "0-3"]), "0000");
    assert_eq!(read(&home, &["0", "--tail", "1"]), "10000\n");
    assert_eq!(
        read(&home, &["0", "--grep", "^0123$|0999[89]", "-C", "1"]),
        "9997-09997\n9998:09998\n9999:09999\n10000-10000\n"
    );
    assert_eq!(read(&home, &["0"]).len(), 60_000);
}

#[test]
fn programs_get_json() {
    let home = used();
    let line = shown(&home, &["artifact", "list", "--json"]).out();
    let summary: serde_json::Value = serde_json::from_str(&line).unwrap();
    for (field, value) in [
        ("id", 0),
        ("bytes", 60_000),
        ("lines", 10_000),
        ("dropped_bytes", 0),
    ] {
        assert_eq!(summary[field], value, "{field}");
    }
    assert_eq!(summary["address"], "artifact://0");
    assert_eq!(
        read(&home, &["0", "--lines", "1-2", "--json"]),
        "{\"text\":\"00001\\n00002\\n\"}\n"
    );
    assert_eq!(
        read(&home, &["0", "--grep", "00077", "--json"]),
        "{\"line\":77,\"match\":true,\"text\":\"00077\"}\n"
    );
    assert_eq!(
        shown(&home, &["artifact", "rm", "0", "--json"]).out(),
        "{\"removed\":0}\n"
    );
}

#[test]
fn what_is_not_there_or_not_understood_is_said() {
    let home = used();
    insta::assert_snapshot!(shown(&home, &["artifact", "read", "7"]).err(), @r"
    usage error: there is no artifact 7
    hint: only artifact 0 is stored
    ");
    insta::assert_snapshot!(shown(&home, &["artifact", "read", "0", "--grep", "("]).code().unwrap(), @"125");
    for arguments in [
        ["read", "x", "--tail", "1"],
        ["read", "0", "--lines", "5-2"],
        ["read", "0", "--lines", "-"],
    ] {
        let transcript = bashd(&home, &["artifact"]).args(arguments).run();
        assert_eq!(transcript.code(), Some(125), "{arguments:?}");
    }
    let table = shown(&home, &["artifact", "list"]).out();
    assert!(table.starts_with("    ID  TIME"), "{table}");
    assert_eq!(shown(&home, &["artifact", "rm", "0"]).code(), Some(0));
    assert_eq!(
        shown(&home, &["artifact", "list"]).err(),
        "bashd: nothing is stored: that is done with output that a reply does not show in full\n"
    );
}

#[test]
fn what_single_runs_store_stays_within_the_size_of_all() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let script = "yes | head -c 20000000";
    for _ in 0..6 {
        shown(&home, &["--set", "spool.total_bytes=30MB", "run", script]);
    }
    let begun = Instant::now();
    loop {
        let list = shown(&home, &["artifact", "list", "--json"]).out();
        // One fits, and the newest may wait for the next keeper that leaves.
        if list.matches("\"address\"").count() <= 2 {
            break;
        }
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(5), "{list}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
