//! Writers and readers of a feed together.

use super::*;
use crate::ledger::RecordedOutcome;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

fn begun(id: &str) -> FeedRecord {
    let call = CallBegun {
        command: "echo hello".into(),
        ..CallBegun::default()
    };
    FeedRecord::new(id, Timestamp::UNIX_EPOCH, FeedEvent::Begun(call))
}

fn ids(batch: &FeedBatch) -> Vec<&str> {
    let records = batch.records.iter();
    records.map(|(_, record)| record.id.as_str()).collect()
}

fn only_records(batch: FeedBatch) -> Vec<FeedRecord> {
    batch
        .records
        .into_iter()
        .map(|(_, record)| record)
        .collect()
}

#[test]
fn what_is_told_is_read_once_and_from_any_place() {
    let home = tempfile::tempdir().unwrap();
    let (feed, mut reader) = (Feed::new(home.path()), FeedReader::new(home.path()));
    assert_eq!(reader.read().unwrap(), FeedBatch::default());
    feed.tell(&begun("a"));
    assert_eq!(only_records(reader.read().unwrap()), [begun("a")]);
    let place = reader.place().unwrap();
    feed.tell(&begun("b"));
    feed.tell(&begun("c"));
    let batch = reader.read().unwrap();
    assert_eq!(ids(&batch), ["b", "c"]);
    let (between, _) = batch.records[0];
    let mut rest = FeedReader::new(home.path()).from_place(between);
    assert_eq!(ids(&rest.read().unwrap()), ["c"]);
    assert!(reader.read().unwrap().records.is_empty());

    let place: FeedPlace = place.to_string().parse().unwrap();
    let mut later = FeedReader::new(home.path()).from_place(place);
    assert_eq!(ids(&later.read().unwrap()), ["b", "c"]);
    for nonsense in ["", "1", "a:b", ":", "1:2:3"] {
        assert!(nonsense.parse::<FeedPlace>().is_err(), "{nonsense}");
    }
}

#[test]
fn every_event_is_read_as_it_was_told() {
    let home = tempfile::tempdir().unwrap();
    let (feed, mut reader) = (Feed::new(home.path()), FeedReader::new(home.path()));
    let asks = CallAsks {
        rule: "no_force_push".into(),
        message: "loses history".into(),
        part: Some((2, 7)),
        effects: None,
    };
    let ended = CallEnded {
        outcome: RecordedOutcome::Exited,
        exit_code: Some(3),
        signal: None,
        error: None,
        job: Some("bg_1".into()),
        place: None,
        cwd: String::new(),
        wall_ms: 5,
        output_bytes: 7,
    };
    let events = [
        FeedEvent::Asks(asks),
        FeedEvent::Allowed,
        FeedEvent::Ended(ended),
    ];
    let told = events.map(|event| FeedRecord::new("x", Timestamp::UNIX_EPOCH, event));
    for record in &told {
        feed.tell(record);
    }
    assert_eq!(only_records(reader.read().unwrap()), told);
}

#[test]
fn a_full_file_gives_way_and_no_reader_loses_anything() {
    let home = tempfile::tempdir().unwrap();
    let small = || Feed {
        full: 1000,
        ..Feed::new(home.path())
    };
    let (one, other, mut reader) = (small(), small(), FeedReader::new(home.path()));
    let mut place = None;
    let mut seen = Vec::new();
    for number in 0..100 {
        let feed = if number % 3 == 0 { &one } else { &other };
        feed.tell(&begun(&number.to_string()));
        let batch = reader.read().unwrap();
        assert!(!batch.has_gap, "at {number}");
        seen.extend(only_records(batch).into_iter().map(|record| record.id));
        if number == 95 {
            place = reader.place();
        }
    }
    let all: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!(seen, all);
    let files = fs::read_dir(home.path()).unwrap().count();
    assert_eq!(files, 3, "the file, the one before, and the lock");
    let mut late = FeedReader::new(home.path()).from_place(place.unwrap());
    assert_eq!(ids(&late.read().unwrap()), ["96", "97", "98", "99"]);
    let mut too_late = FeedReader::new(home.path()).from_place("1:1".parse().unwrap());
    assert!(too_late.read().unwrap().has_gap);
}

#[test]
fn a_feed_that_was_removed_begins_again() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("feed");
    let (feed, mut reader) = (Feed::new(&directory), FeedReader::new(&directory));
    feed.tell(&begun("a"));
    assert_eq!(ids(&reader.read().unwrap()), ["a"]);
    fs::remove_dir_all(&directory).unwrap();
    feed.tell(&begun("b"));
    assert_eq!(ids(&reader.read().unwrap()), ["b"]);
}

#[test]
fn torn_and_foreign_lines_are_counted_and_cost_no_other() {
    let home = tempfile::tempdir().unwrap();
    let (feed, mut reader) = (Feed::new(home.path()), FeedReader::new(home.path()));
    feed.tell(&begun("a"));
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(home.path().join(NOW))
        .unwrap();
    file.write_all(b"nonsense\n{\"v\":1,\"id\":\"to").unwrap();
    feed.tell(&begun("b"));
    file.write_all(&vec![b'x'; 600 << 10]).unwrap();
    file.write_all(b"\n").unwrap();
    feed.tell(&begun("c"));
    let batch = reader.read().unwrap();
    assert_eq!(ids(&batch), ["a", "b", "c"]);
    assert!(batch.damaged >= 2, "{}", batch.damaged);
}

#[test]
fn an_event_of_a_later_version_is_known_as_unknown() {
    let line = br#"{"v":1,"id":"a","time":"1970-01-01T00:00:00Z","event":"danced","steps":3}"#;
    let record: FeedRecord = serde_json::from_slice(line).unwrap();
    assert_eq!(record.event, FeedEvent::Unknown);
}

#[test]
fn a_reader_leaves_busy_writers_alone_and_misses_nothing() {
    const EVENTS: usize = 200;
    let home = tempfile::tempdir().unwrap();
    let (feed, mut reader) = (Feed::new(home.path()), FeedReader::new(home.path()));
    feed.tell(&begun("first"));
    let longest = Duration::from_secs(10);
    reader.wait(longest).unwrap();
    let mut read = reader.read().unwrap().records.len();
    let begin = Instant::now();
    let mut looks = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..EVENTS {
                feed.tell(&begun(&number.to_string()));
                thread::sleep(Duration::from_millis(1));
            }
        });
        while read <= EVENTS {
            reader.wait(longest).unwrap();
            read += reader.read().unwrap().records.len();
            looks += 1;
        }
    });
    let most = begin.elapsed().as_millis() / 20 + 2;
    assert!(looks <= most, "{looks} looks, and not {most}");
}
