//! The index finds what a reader of the ledger finds, whatever happens to either.

use super::*;
use crate::ledger::{
    Ledger, LedgerSettings, MinimizedOutput, Record, RecordQuery, RecordedOutcome, Which,
};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

const LONG: Duration = Duration::from_mins(1);

struct Place {
    directory: tempfile::TempDir,
    ledger: Ledger,
}

fn place() -> Place {
    let settings = LedgerSettings {
        enabled: true,
        retention: None,
        max_command_bytes: 65_536,
    };
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(settings, directory.path().join("ledger"));
    Place { directory, ledger }
}

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("ledger").join(name)
    }

    fn index(&self) -> LedgerIndex {
        let mut index = LedgerIndex::in_directory(&self.path(""), Library::new(None)).unwrap();
        let progress = index.catch_up(LONG).unwrap();
        assert_eq!(progress.missing(), 0, "{progress:?}");
        index
    }

    fn append(&self, number: u64, time: &str, command: &str) {
        let mut record = Record::new(
            format!("R{number:04}"),
            time.parse().unwrap(),
            RecordedOutcome::Exited,
        );
        record.command = command.to_owned();
        record.profile = "default".to_owned();
        record.owner = format!("mcp:{}.1", number % 3);
        record.exit_code = Some(i32::from(number.is_multiple_of(4)));
        record.wall_ms = number * 100;
        record.output_bytes = number * 1000;
        self.ledger.append(&record).unwrap();
    }

    /// What a reader of the files finds.
    fn read(&self, query: &RecordQuery) -> Vec<Record> {
        let records = self.ledger.read(query.clone()).unwrap();
        records.map(Result::unwrap).collect()
    }
}

fn found(index: &LedgerIndex, query: &RecordQuery) -> Vec<Record> {
    index.search(query, None, 1000).unwrap().records
}

fn containing(text: &str) -> RecordQuery {
    RecordQuery {
        contains: Some(text.to_owned()),
        ..RecordQuery::default()
    }
}

/// A ledger of three months.
fn filled() -> Place {
    let place = place();
    for number in 1..40 {
        let month = 7 + number % 3;
        let time = format!("2026-0{month}-04T10:{number:02}:12.345Z");
        let command = [
            "cargo TEST --all",
            "echo 'Ärger'",
            "git \"log\"",
            "a\\b%_*c",
        ][number as usize % 4];
        place.append(number, &time, &format!("{command} {number}"));
    }
    place
}

#[test]
fn commands_are_found_as_by_reading_everything() {
    let place = filled();
    let index = place.index();
    for text in [
        "test",
        "TEST --",
        "ärg",
        "\"log\"",
        "\\b%",
        "%_*",
        "*",
        "g",
        " 1",
        "none",
        "\0",
        "OR",
        "a AND b",
        "test\" OR \"",
    ] {
        let query = containing(text);
        assert_eq!(found(&index, &query), place.read(&query), "{text}");
    }
}

#[test]
fn calls_are_found_by_everything_else_and_page_by_page() {
    let place = filled();
    let index = place.index();
    let all = RecordQuery::default();
    let queries = [
        all.clone(),
        RecordQuery {
            which: Which::Failed,
            ..all.clone()
        },
        RecordQuery {
            owner: Some("MCP:2".into()),
            ..containing("test")
        },
        RecordQuery {
            outcome: Some(RecordedOutcome::Denied),
            ..all.clone()
        },
        RecordQuery {
            outcome: Some(RecordedOutcome::Exited),
            ..all.clone()
        },
        RecordQuery {
            session: Some("main".into()),
            ..all.clone()
        },
        RecordQuery {
            at_least: Some(Duration::from_secs(2)),
            most_bytes: Some(25_000),
            ..all.clone()
        },
        RecordQuery {
            at_most: Some(Duration::from_millis(300)),
            least_bytes: Some(2000),
            ..all.clone()
        },
        RecordQuery {
            since: Some("2026-08-04T10:10:12.346Z".parse().unwrap()),
            ..all.clone()
        },
        RecordQuery {
            until: Some("2026-08-04T10:10:12.345Z".parse().unwrap()),
            ..containing("test")
        },
    ];
    for query in &queries {
        assert_eq!(found(&index, query), place.read(query), "{query:?}");
    }
    // Page by page the same.
    let (mut pages, mut before) = (Vec::new(), None);
    loop {
        let page = index.search(&all, before, 7).unwrap();
        pages.extend(page.records);
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(pages, place.read(&all));
    let one = index.beginning_with("r0017", 5).unwrap();
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].id, "R0017");
    assert_eq!(index.beginning_with("R003", 50).unwrap().len(), 10);
}

#[test]
fn what_is_new_is_found_and_what_is_torn_is_counted() {
    let place = place();
    place.append(1, "2026-08-04T10:11:12Z", "first");
    let mut index = place.index();
    place.append(2, "2026-08-04T10:11:13Z", "second");
    // A torn line, and a record behind one on the same line; what has no end yet is left.
    let path = place.path("2026-08.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    let whole = text
        .lines()
        .next()
        .unwrap()
        .replace("first", "third")
        .replace("R0001", "R0003");
    let torn = whole.get(..40).unwrap();
    let half = whole.get(..60).unwrap();
    text = format!("{text}{torn}\n{torn}{whole}\nno record\n\n{half}");
    fs::write(&path, &text).unwrap();
    let progress = index.catch_up(LONG).unwrap();
    assert_eq!((progress.missing(), progress.damaged), (60, 2));
    assert_eq!(found(&index, &containing("third")).len(), 1);
    // The rest of it comes.
    let rest = whole.replace("third", "fourth");
    fs::write(&path, format!("{text}{}\n", rest.get(60..).unwrap())).unwrap();
    assert_eq!(index.catch_up(LONG).unwrap().missing(), 0);
    assert_eq!(found(&index, &containing("fourth")).len(), 1);
    assert_eq!(
        found(&index, &RecordQuery::default()),
        place.read(&RecordQuery::default())
    );
}

#[test]
fn months_that_are_gone_or_others_are_forgotten() {
    let place = place();
    for (number, time) in [
        (1, "2026-06-04T10:11:12Z"),
        (2, "2026-07-04T10:11:12Z"),
        (3, "2026-08-04T10:11:12Z"),
    ] {
        place.append(number, time, &format!("echo in {number}"));
    }
    let mut index = place.index();
    fs::remove_file(place.path("2026-06.jsonl")).unwrap();
    // Written anew, and as long as before.
    let july = fs::read_to_string(place.path("2026-07.jsonl")).unwrap();
    fs::write(
        place.path("2026-07.jsonl"),
        july.replace("in 2", "at 9").replace("\"echo", "\"ECHO"),
    )
    .unwrap();
    let august = fs::read_to_string(place.path("2026-08.jsonl")).unwrap();
    fs::write(
        place.path("2026-08.jsonl"),
        format!("{august}{}", august.replace("in 3", "in 4")),
    )
    .unwrap();
    // The same file with other bytes before its end counts as another, once it has grown.
    place.append(5, "2026-07-05T10:11:12Z", "echo in 5");
    index.catch_up(LONG).unwrap();
    for text in ["echo", "in 1", "in 2", "at 9", "in 4", "in 5"] {
        assert_eq!(
            found(&index, &containing(text)),
            place.read(&containing(text)),
            "{text}"
        );
    }
    let sums = index.sums(None, None).unwrap();
    assert_eq!(sums.total.calls, 4);
    // Cut short.
    fs::write(place.path("2026-08.jsonl"), "").unwrap();
    index.catch_up(LONG).unwrap();
    assert_eq!(found(&index, &containing("in 3")), []);
}

#[test]
fn an_index_that_can_t_be_used_is_made_again() {
    let place = place();
    place.append(1, "2026-08-04T10:11:12Z", "echo one");
    drop(place.index());
    let path = place.path("index.db");
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let breaks: [&dyn Fn(); 4] = [
        &|| fs::remove_file(&path).unwrap(),
        &|| {
            fs::write(
                &path,
                "this is no database, and long enough to be looked at as one",
            )
            .unwrap();
        },
        &|| {
            let other = Connection::open(&path).unwrap();
            other
                .pragma_update(None, "user_version", store::VERSION + 1)
                .unwrap();
        },
        &|| {
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len().min(8192);
            bytes[100..middle].fill(0x5a);
            fs::write(&path, bytes).unwrap();
        },
    ];
    for (number, damage) in breaks.iter().enumerate() {
        damage();
        let index = place.index();
        assert_eq!(found(&index, &containing("one")).len(), 1, "{number}");
    }
    // Who has it open when it goes says so, and does not go on with what nobody else sees.
    let mut index = place.index();
    fs::remove_file(&path).unwrap();
    assert!(index.catch_up(LONG).is_err());
}

#[test]
fn two_fill_it_at_once_and_nothing_is_there_twice() {
    let place = place();
    for number in 0..3000 {
        place.append(number, "2026-08-04T10:11:12Z", &format!("echo {number}"));
    }
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| drop(place.index()));
        }
    });
    assert_eq!(
        place
            .index()
            .search(&RecordQuery::default(), None, 9000)
            .unwrap()
            .records
            .len(),
        3000
    );
    assert_eq!(place.index().sums(None, None).unwrap().total.calls, 3000);
}

#[test]
fn sums_are_those_of_the_records() {
    let place = place();
    for number in 1..60 {
        let time = format!("2026-08-{:02}T{:02}:11:12Z", 1 + number % 5, number % 24);
        let command = ["cargo test x", "git status", "ls | wc -l"][number as usize % 3];
        place.append(number, &time, command);
    }
    let mut record = Record::new(
        "M",
        "2026-08-03T03:00:00Z".parse().unwrap(),
        RecordedOutcome::Exited,
    );
    record.profile = "default".to_owned();
    record.output_bytes = 9000;
    record.minimized = Some(MinimizedOutput {
        by: "x".into(),
        shown_bytes: 4000,
        artifact: None,
    });
    place.ledger.append(&record).unwrap();
    let index = place.index();
    let all = LedgerSums::of(place.read(&RecordQuery::default()).into_iter(), |profile| {
        window_of(&index.library, profile)
    });
    let sums = index.sums(None, None).unwrap();
    assert_eq!(sums, all);
    assert_eq!((sums.total.calls, sums.total.saved_bytes), (60, 5000));
    assert!(sums.commands.contains_key("cargo test"), "{sums:?}");
    let since: Timestamp = "2026-08-03T00:00:00Z".parse().unwrap();
    let until: Timestamp = "2026-08-04T00:00:00Z".parse().unwrap();
    let query = RecordQuery {
        since: Some(since),
        until: Some(until),
        ..RecordQuery::default()
    };
    let day = LedgerSums::of(place.read(&query).into_iter(), |profile| {
        window_of(&index.library, profile)
    });
    assert_eq!(index.sums(Some(since), Some(until)).unwrap(), day);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_text_is_found(commands in proptest::collection::vec("[abAB\"' %_*\\\\-]{0,12}", 1..20), text in "[abAB\"' %_*\\\\-]{1,5}") {
        let place = place();
        for (number, command) in commands.iter().enumerate() {
            place.append(number as u64, "2026-08-04T10:11:12Z", command);
        }
        let query = containing(&text);
        prop_assert_eq!(found(&place.index(), &query), place.read(&query));
    }
}
