//! `bashd stats`: what was saved, from real calls, with the raw output there, read again, and gone.

use crate::{bashd, shown};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bashd_testkit::Home;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Many matches in one file: its name is said once.
const COMMAND: &str = "grep -rn needle some/long/directory | cat";

/// The vocabulary as a file, made once from the one that the tokenizer's crate has in it.
fn vocabulary() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("o200k_base.tiktoken");
    if !place.exists() {
        let tokenizer = tiktoken_rs::o200k_base().unwrap();
        let mut text = String::new();
        for (rank, token) in
            (0..).map_while(|rank| Some((rank, tokenizer.decode_bytes(&[rank]).ok()?)))
        {
            writeln!(text, "{} {rank}", BASE64_STANDARD.encode(token)).unwrap();
        }
        let half = place.with_extension(std::process::id().to_string());
        fs::write(&half, text).unwrap();
        fs::rename(half, &place).unwrap();
    }
    place
}

/// Where a user puts it.
fn own_place(home: &Home) -> PathBuf {
    let folder = home.home().join(".local/share/bashd");
    fs::create_dir_all(&folder).unwrap();
    folder.join("o200k_base.tiktoken")
}

fn with_calls(count: usize) -> Home {
    let home = without_vocabulary(count);
    std::os::unix::fs::symlink(vocabulary(), own_place(&home)).unwrap();
    home
}

fn without_vocabulary(count: usize) -> Home {
    let home = Home::new();
    let directory = home.workspace().join("some/long/directory");
    fs::create_dir_all(&directory).unwrap();
    let lines = (0..80).map(|number| format!("needle number {number} in the hay\n"));
    let lines = lines.collect::<Vec<_>>().concat();
    fs::write(directory.join("first"), lines).unwrap();
    for _ in 0..count {
        assert_eq!(shown(&home, &["run", COMMAND]).code(), Some(0));
    }
    home
}

fn stats(home: &Home) -> Value {
    let run = shown(home, &["stats", "--json"]);
    assert_eq!(run.code(), Some(0), "{}", run.err());
    serde_json::from_str(&run.out()).unwrap()
}

#[test]
fn what_was_saved_is_drawn_as_bars() {
    let home = with_calls(1);
    let drawn = shown(&home, &["stats", "--graph"]).out();
    let (bar, total) = drawn.split_once('\n').unwrap();
    assert!(
        bar.starts_with("grep ") && bar.contains(&"█".repeat(40)),
        "{drawn}"
    );
    assert!(total.contains("tokens of o200k_base saved"), "{drawn}");
}

fn number(row: &Value, name: &str) -> i64 {
    row[name]
        .as_i64()
        .unwrap_or_else(|| panic!("{name}: {row}"))
}

#[test]
fn tokens_of_stored_output_are_counted() {
    let home = with_calls(2);
    let found = stats(&home);
    assert_eq!(found["tokenizer"], "o200k_base");
    let row = &found["commands"][0];
    assert_eq!(row["command"], "grep");
    assert_eq!(
        (number(row, "calls"), number(row, "estimated_calls")),
        (2, 0)
    );
    let raw = (0..80).map(|number| {
        format!(
            "some/long/directory/first:{}:needle number {number} in the hay\n",
            number + 1
        )
    });
    let raw = raw.collect::<Vec<_>>().concat();
    let tokenizer = tiktoken_rs::o200k_base().unwrap();
    let without = 2 * tokenizer.count_ordinary(raw.as_str()) as i64;
    assert_eq!(number(row, "without_tokens"), without);
    let shown = number(row, "shown_tokens");
    assert!(shown > 0 && shown < without, "{row}");
    assert_eq!(number(row, "saved_tokens"), without - shown);
    assert_eq!(found["total"]["saved_tokens"], row["saved_tokens"]);
}

#[test]
fn reading_the_raw_output_again_is_a_cost_and_may_be_a_loss() {
    let home = with_calls(1);
    let before = stats(&home);
    for _ in 0..3 {
        shown(&home, &["artifact", "read", "0"]);
    }
    shown(&home, &["run", "bashd artifact read 0 || true"]);
    let after = stats(&home);
    let (before, after) = (&before["total"], &after["total"]);
    assert_eq!(
        (number(before, "rereads"), number(after, "rereads")),
        (0, 4)
    );
    assert!(number(after, "saved_tokens") < 0, "{after}");
    let cost = number(after, "reread_tokens");
    assert_eq!(
        number(after, "saved_tokens"),
        number(before, "saved_tokens") - cost
    );
    let table = shown(&home, &["stats"]).out();
    assert!(table.contains("  -") && table.contains("grep"), "{table}");
}

#[test]
fn what_is_gone_is_estimated_and_said_to_be() {
    let home = with_calls(2);
    shown(&home, &["artifact", "rm", "1"]);
    let found = stats(&home);
    let total = &found["total"];
    assert_eq!(
        (number(total, "calls"), number(total, "estimated_calls")),
        (2, 1)
    );
    let table = shown(&home, &["stats"]).out();
    assert!(
        table.contains("~: estimated from bytes for 1 of 2 calls"),
        "{table}"
    );
}

#[test]
fn without_a_minimized_call_there_is_nothing_to_tell() {
    let home = Home::new();
    bashd(&home, &["run", "echo hello"]).run();
    let run = shown(&home, &["stats"]);
    assert_eq!((run.code(), run.out()), (Some(0), String::new()));
    assert!(run.err().contains("no recorded call was minimized"));
    assert_eq!(stats(&home)["total"]["calls"], 0);
}

#[test]
fn without_the_vocabulary_tokens_are_estimated_and_the_remedy_is_named() {
    let home = without_vocabulary(1);
    let found = stats(&home);
    assert_eq!(found["tokenizer"], Value::Null);
    assert!(number(&found["total"], "saved_tokens") > 0, "{found}");
    let run = shown(&home, &["stats"]);
    assert!(
        run.out().contains("tokens, estimated from bytes"),
        "{}",
        run.out()
    );
    let place = own_place(&home);
    let remedy = format!("save o200k_base.tiktoken as {}", place.display());
    assert!(run.err().contains(&remedy), "{}", run.err());
}

#[test]
fn another_file_is_no_vocabulary() {
    let home = without_vocabulary(1);
    fs::write(own_place(&home), "IQ== 0\n").unwrap();
    let run = shown(&home, &["stats"]);
    assert_eq!(run.code(), Some(125), "{}", run.err());
    assert!(
        run.err().contains("not the vocabulary of o200k_base"),
        "{}",
        run.err()
    );
}
