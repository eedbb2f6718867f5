//! The documents about configuration and ledger name everything that the code has.

use bashd::config::{KEYS, env_vars};
use bashd::ledger::{Record, RecordedOutcome};

const CONFIG: &str = include_str!("../../../../docs/config.md");
const LEDGER: &str = include_str!("../../../../docs/ledger.md");

#[test]
fn every_key_has_its_row() {
    for key in KEYS {
        let row = CONFIG
            .lines()
            .find(|line| line.starts_with(&format!("| `{}` |", key.name)));
        let row = row.unwrap_or_else(|| panic!("docs/config.md has no row for {}", key.name));
        assert!(
            row.contains(&key.variable()),
            "the row of {} lacks {}",
            key.name,
            key.variable()
        );
    }
    let rows = CONFIG
        .lines()
        .filter(|line| line.contains(" | `BASHD_"))
        .count();
    assert_eq!(
        rows,
        KEYS.len(),
        "docs/config.md has rows for keys that don't exist"
    );
    for variable in env_vars::NOT_KEYS {
        assert!(
            CONFIG.contains(&format!("`{variable}`")),
            "docs/config.md lacks {variable}"
        );
    }
}

/// The table of keys as the document shows it, header aside.
fn rows() -> String {
    let (_, report) = bashd::config::resolve(&bashd::config::Sources::default()).unwrap();
    let row = |entry: &bashd::config::ConfigEntry| {
        let (key, value) = (entry.key, &entry.value);
        let meaning = linked(key.meaning);
        format!(
            "| `{}` | `{value}` | `{}` | {meaning} |\n",
            key.name,
            key.variable()
        )
    };
    report.entries.iter().map(row).collect()
}

/// `docs/safe-mode.md` as the link `[safe mode](safe-mode.md)`.
fn linked(text: &str) -> String {
    let split = text.split_once("docs/");
    let Some((before, (page, rest))) =
        split.and_then(|(before, after)| Some((before, after.split_once(".md")?)))
    else {
        return text.to_owned();
    };
    let title = page.replace('-', " ");
    format!("{before}[{title}]({page}.md){}", linked(rest))
}

#[test]
fn the_table_of_keys_is_made_of_the_code() {
    const HEADER: &str = "| key | default | variable | meaning |\n|---|---|---|---|\n";
    let (before, rest) = CONFIG.split_once(HEADER).expect("the table of keys");
    let (table, after) = rest.split_once("\n\n").expect("the table's end");
    let expected = rows();
    if std::env::var_os("BASHD_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.md");
        std::fs::write(path, format!("{before}{HEADER}{expected}\n{after}")).unwrap();
    } else {
        let hint = "docs/config.md differs from the table of keys (BASHD_BLESS=1 writes it anew)";
        same_lines(table, &expected, hint);
    }
}

/// Compares line by line, so that a failure names the row.
fn same_lines(shown: &str, expected: &str, hint: &str) {
    for (shown, expected) in shown.lines().zip(expected.lines()) {
        assert_eq!(shown, expected, "{hint}");
    }
    assert_eq!(shown.lines().count(), expected.lines().count(), "{hint}");
}

#[test]
fn every_default_is_the_documented_one() {
    let sources = bashd::config::Sources::default();
    let (_, report) = bashd::config::resolve(&sources).unwrap();
    for entry in report.entries {
        let row = format!("| `{}` | `{}` |", entry.key.name, entry.value);
        assert!(CONFIG.contains(&row), "docs/config.md should say {row}");
    }
}

#[test]
fn every_field_of_a_record_has_its_row() {
    let record = Record::new(
        "x",
        bashd::ledger::Timestamp::UNIX_EPOCH,
        RecordedOutcome::Failed,
    );
    let json = serde_json::to_value(record).unwrap();
    for field in json.as_object().unwrap().keys() {
        assert!(
            LEDGER.contains(&format!("| `{field}` |")),
            "docs/ledger.md lacks {field}"
        );
    }
    for outcome in [
        "exited",
        "signalled",
        "background",
        "timed_out",
        "cancelled",
        "denied",
        "refused",
        "failed",
    ] {
        assert!(
            LEDGER.contains(&format!("| `{outcome}` |")),
            "docs/ledger.md lacks {outcome}"
        );
    }
}
