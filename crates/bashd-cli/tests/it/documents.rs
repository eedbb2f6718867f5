//! The documents about configuration and ledger name everything that the code has.

use bashd::config::{KEYS, env_vars};
use bashd::ledger::{Outcome, Record};

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
            row.contains(key.variable),
            "the row of {} lacks {}",
            key.name,
            key.variable
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
    let record = Record::new("x", bashd::ledger::Timestamp::UNIX_EPOCH, Outcome::Failed);
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
