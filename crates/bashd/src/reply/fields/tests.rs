//! Tests of the list of fields: against what is written, and against the docs, in both directions.

use super::*;
use crate::changes::{ChangesSummary, ListedPath};
use crate::reply::Reply;
use serde::de::DeserializeOwned;
use serde_json::to_value;

/// A reply in which every field holds something.
fn full() -> Reply {
    let text = || Some("text".to_owned());
    Reply {
        result: Value::Object(serde_json::Map::default()),
        exit_code: Some(0),
        signal: Some(9),
        denied: Some(Denied {
            rule: String::new(),
            message: String::new(),
            suggested_tool: text(),
        }),
        error: text(),
        stderr_bytes: Some(0),
        artifact: text(),
        job: text(),
        left_behind: vec![LeftBehind {
            pid: 1,
            command: String::new(),
            age_ms: 0,
            reason: LeftReason::Survivor,
            job: text(),
            alias: None,
        }],
        session_reset: text(),
        terminal: text(),
        limits: Some(LimitsInForce {
            kind: LimitKind::Cgroup,
            cpu_seconds: Some(1),
            cpu_percent: Some(1),
            memory_bytes: Some(1),
            processes: Some(1),
            out_of_memory: false,
        }),
        confinement: Some(ConfinementInForce {
            level: Level::Landlock,
            preset: "workspace".to_owned(),
            network: Network::Named,
            hosts: vec![String::new()],
            hosts_by: Some(HostAccess::Proxy),
            files_watched: true,
            reason: text(),
        }),
        refused: vec![Refused {
            kind: RefusedKind::Connect,
            what: String::new(),
            count: 1,
        }],
        grantable: Some(GrantableAccess {
            write: vec![String::new()],
            network: vec![String::new()],
        }),
        place: text(),
        ended_by: text(),
        connections: vec![Connected {
            host: String::new(),
            count: 1,
            sent: 1,
            received: 1,
        }],
        changes: Some(ChangesSummary {
            paths: vec![ListedPath {
                path: String::new(),
                kind: "created".to_owned(),
            }],
            conflicts: vec![String::new()],
            ..ChangesSummary::running(String::new())
        }),
        ..Reply::default()
    }
}

/// Asserts that a value is what its type says, in all its parts.
fn assert_holds(name: &str, holds: FieldType, value: &Value) {
    let is_so = match holds {
        FieldType::Text => value.is_string(),
        FieldType::Flag => value.is_boolean(),
        FieldType::Integer => value.is_i64(),
        FieldType::Count => value.is_u64(),
        FieldType::OneOf(names) => value.as_str().is_some_and(|text| names.contains(&text)),
        FieldType::List(of) => {
            let items = value
                .as_array()
                .unwrap_or_else(|| panic!("{name}: {value}"));
            assert!(!items.is_empty(), "{name}: an example shows nothing");
            for item in items {
                assert_holds(name, *of, item);
            }
            true
        }
        FieldType::Object(fields) => {
            assert_fields(name, fields, value);
            true
        }
    };
    assert!(is_so, "{name} should be {holds:?}: {value}");
}

fn assert_fields(name: &str, fields: &[ReplyField], value: &Value) {
    let object = value
        .as_object()
        .unwrap_or_else(|| panic!("{name}: {value}"));
    let listed = fields.iter().map(|field| field.name);
    assert!(object.keys().eq(listed), "{name}: {object:?}");
    for field in fields {
        assert_holds(field.name, field.holds, &object[field.name]);
    }
}

#[test]
fn what_is_written_is_what_is_listed() {
    assert_fields("reply", Reply::FIELDS, &to_value(full()).unwrap());
}

#[test]
fn what_may_be_missing_is_listed_as_such() {
    let bare = to_value(Reply::default()).unwrap();
    for field in Reply::FIELDS {
        // Every profile has a result.
        let is_null = bare[field.name].is_null() && field.name != "result";
        assert_eq!(is_null, field.without == Nothing::Null, "{}", field.name);
    }
    let mut reply = full();
    reply.denied.as_mut().unwrap().suggested_tool = None;
    reply.left_behind[0].job = None;
    let reply = to_value(reply).unwrap();
    assert_eq!(reply["denied"].get("suggested_tool"), None);
    assert_eq!(reply["left_behind"][0].get("job"), Some(&Value::Null));
}

#[test]
fn a_reply_without_some_fields_is_otherwise_the_same() {
    let mut reply = full();
    assert_eq!(
        to_value(reply.without(&[])).unwrap(),
        to_value(&reply).unwrap()
    );
    reply.signal = None;
    let mut expected = to_value(&reply).unwrap();
    let members = expected.as_object_mut().unwrap();
    members.retain(|name, _| !["text", "signal"].contains(&name.as_str()));
    let rest = reply.without(&["text"]);
    assert_eq!(serde_json::to_string(&rest).unwrap(), expected.to_string());
}

#[test]
fn a_compact_reply_has_only_what_says_something() {
    let reply = Reply {
        exit_code: Some(0),
        output: "out".to_owned(),
        output_bytes: 3,
        ..Reply::default()
    };
    let compact = serde_json::to_string(&reply.compact(&["text"])).unwrap();
    assert_eq!(
        compact,
        r#"{"output":"out","exit_code":0,"output_bytes":3}"#
    );
    let mut full = full();
    (full.text, full.output) = ("text".to_owned(), "output".to_owned());
    let compact = to_value(full.compact(&["text"])).unwrap();
    let mut expected = to_value(&full).unwrap();
    let members = expected.as_object_mut().unwrap();
    members.retain(|name, value| {
        name != "text" && (name == "exit_code" || name == "stderr_bytes" || *value != 0)
    });
    members.retain(|_, value| *value != false);
    assert_eq!(compact, expected);
}

/// Asserts that these are all words that a type is read from.
fn assert_words<T: Typed + DeserializeOwned>(separator: &str) {
    let FieldType::OneOf(words) = T::HOLDS else {
        panic!("no words");
    };
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    let Err(error) = serde_json::from_value::<T>("none".into()) else {
        panic!("`none` is a word");
    };
    let (error, words) = (error.to_string(), quoted.join(separator));
    let expected = [
        format!("expected {words}"),
        format!("expected one of {words}"),
    ];
    assert!(expected.iter().any(|end| error.ends_with(end)), "{error}");
}

#[test]
fn every_word_is_listed() {
    assert_words::<LeftReason>(", ");
    assert_words::<LimitKind>(" or ");
}

/// A field's type as the docs write it.
fn documented(field: &ReplyField) -> String {
    let holds = match field.holds {
        FieldType::Text => "string".to_owned(),
        FieldType::Flag => "boolean".to_owned(),
        FieldType::Integer | FieldType::Count => "integer".to_owned(),
        FieldType::OneOf(words) => format!("`{}`", words.join("`, `")),
        FieldType::List(_) => "array".to_owned(),
        FieldType::Object(_) => "object".to_owned(),
    };
    match field.without {
        Nothing::Null => format!("{holds} or null"),
        Nothing::Never | Nothing::Absent => holds,
    }
}

/// The fields of what a field holds, and the words that they may be.
fn parts(holds: FieldType) -> &'static [ReplyField] {
    match holds {
        FieldType::Object(fields) => fields,
        FieldType::List(of) => parts(*of),
        _ => &[],
    }
}

#[test]
fn the_docs_have_a_row_for_every_field_and_no_other() {
    let page = include_str!("../../../../../docs/reply.md");
    let table = page.split_once("| field | type | meaning |").unwrap().1;
    let table = table.split_once("\n\n").unwrap().0;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    let begins = |row: &Vec<&str>| (row[0].to_owned(), row[1].to_owned());
    let listed = |field: &ReplyField| (format!("`{}`", field.name), documented(field));
    assert_eq!(
        rows.iter().map(begins).collect::<Vec<_>>(),
        Reply::FIELDS.iter().map(listed).collect::<Vec<_>>()
    );
    for (field, row) in Reply::FIELDS.iter().zip(&rows) {
        let (parts, meaning) = (parts(field.holds), row[2]);
        for part in parts {
            let said = format!("`{}` ({}", part.name, documented(part));
            assert!(meaning.contains(&said), "{}: no {said}", field.name);
        }
        if parts.is_empty() {
            continue;
        }
        for code in meaning.split('`').skip(1).step_by(2) {
            let is_part = |part: &ReplyField| match part.holds {
                FieldType::OneOf(words) => part.name == code || words.contains(&code),
                _ => part.name == code,
            };
            assert!(parts.iter().any(is_part), "{}: {code}", field.name);
        }
    }
}

#[test]
fn every_field_is_described() {
    for field in Reply::FIELDS {
        for described in std::iter::once(field).chain(parts(field.holds)) {
            let about = described.about();
            assert!(!about.is_empty() && !about.contains(". "), "{described:?}");
        }
    }
}
