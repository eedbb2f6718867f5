//! What the minimizer saved and cost, by command: from the ledger's records, and the stored outputs
//! that still exist.
//!
//! The comparison is with what the call would have shown without it: the raw output within the
//! profile's window. If the raw output is still stored, both texts are recreated and their tokens
//! counted; for the rest, tokens are estimated from the recorded bytes at the same ratio. Reading
//! the raw output afterwards is a cost. A row may be negative.
//!
//! The caller counts tokens: the library has no tokenizer.

mod again;

use crate::artifact::{ArtifactStore, parse_id};
use crate::config::Config;
use crate::ledger::{Ledger, Record, RecordQuery};
use crate::minimize;
use crate::profile::library::Library;
use again::Reconstruction;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

/// Bytes per token if nothing could be counted: the ratio in recorded outputs of common tools.
const BYTES_PER_TOKEN: f64 = 3.0;

/// The tokens that a text has by this ratio, for those who can't count them.
pub fn estimated_tokens(text: &str) -> u64 {
    (text.len() as f64 / BYTES_PER_TOKEN).round() as u64
}

/// What was saved for one command, or for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The command: its program, and its subcommand if it has one.
    pub command: String,
    /// Calls whose output was minimized.
    pub calls: u64,
    /// Those whose figures are estimated, since their raw output is gone.
    pub estimated_calls: u64,
    /// Bytes that the commands wrote.
    pub raw_bytes: u64,
    /// Bytes that were shown.
    pub shown_bytes: u64,
    /// Tokens that would have been shown without the minimizer.
    pub without_tokens: i64,
    /// Tokens that were shown.
    pub shown_tokens: i64,
    /// How often raw output was read afterwards.
    pub rereads: u64,
    /// Tokens that this cost.
    pub reread_tokens: i64,
    /// The net saving: without, minus shown, minus read again.
    pub saved_tokens: i64,
}

/// What was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Savings {
    /// By command, the largest saving first.
    pub rows: Vec<Row>,
    /// All of them together.
    pub total: Row,
    /// Lines of the ledger that could not be read.
    pub damaged: u64,
}

/// A call that was minimized.
struct MinimizedCall {
    record: Record,
    tokens: Option<Tokens>,
    /// Bytes that would have been shown without the minimizer.
    without_bytes: u64,
    shown_bytes: u64,
    artifact: Option<u64>,
    rereads: u64,
    reread_bytes: u64,
}

/// Tokens of both texts.
#[derive(Debug, Clone, Copy)]
struct Tokens {
    without: u64,
    shown: u64,
}

/// Adds up what the ledger has. `count` counts the tokens of a text.
pub fn savings(
    config: &Config,
    filter: RecordQuery,
    count: &mut dyn FnMut(&str) -> u64,
) -> io::Result<Savings> {
    let store = ArtifactStore::of(config);
    let library = Library::new(config.profiles_dir.clone()).showing_of_the_start(config.head_bytes);
    let again = Reconstruction::new(config, &store, &library);
    let ledger = Ledger::new(config.ledger, config.ledger_dir());
    let mut records = ledger.read(filter)?;
    let mut calls: Vec<MinimizedCall> = Vec::new();
    let mut reads: Vec<(u64, u64)> = Vec::new();
    for record in records.by_ref() {
        let record = record?;
        let window = again.window(&record.profile);
        let shown = record.minimized.as_ref();
        let shown = shown.map_or(record.output_bytes.min(window), |of| of.shown_bytes);
        reads.extend(named_artifacts(&record.command).map(|id| (id, shown)));
        calls.extend(call(record, window, &again, count));
    }
    reads.extend(
        store
            .reads()?
            .into_iter()
            .map(|read| (read.artifact, read.bytes)),
    );
    for (artifact, bytes) in reads {
        if let Some(call) = calls
            .iter_mut()
            .find(|call| call.artifact == Some(artifact))
        {
            call.rereads += 1;
            call.reread_bytes += bytes;
        }
    }
    Ok(summed_up(&calls, records.damaged()))
}

/// What a model was shown of a call whose output is stored in this artifact, made again; `None` if
/// too little of it is kept, or if it would be shown otherwise today.
pub fn shown_again(config: &Config, record: &Record, artifact: u64) -> Option<String> {
    let store = ArtifactStore::of(config);
    let library = Library::new(config.profiles_dir.clone()).showing_of_the_start(config.head_bytes);
    Reconstruction::new(config, &store, &library).shown(record, artifact)
}

/// What is known about a record's call, if it was minimized.
fn call(
    record: Record,
    window: u64,
    again: &Reconstruction<'_>,
    count: &mut dyn FnMut(&str) -> u64,
) -> Option<MinimizedCall> {
    let minimized = record.minimized.clone()?;
    let texts = again.texts(&record, &minimized);
    let tokens = texts.map(|texts| Tokens {
        without: count(&texts.without),
        shown: count(&texts.shown),
    });
    Some(MinimizedCall {
        tokens,
        without_bytes: record.output_bytes.min(window),
        shown_bytes: minimized.shown_bytes,
        artifact: minimized.artifact,
        rereads: 0,
        reread_bytes: 0,
        record,
    })
}

/// The stored outputs that a command names: `cat artifact://3`, `bashd artifact read 3`.
fn named_artifacts(command: &str) -> impl Iterator<Item = u64> {
    let is_apart = |c: char| c.is_whitespace() || "\"'();|&<>`,".contains(c);
    let words: Vec<&str> = command
        .split(is_apart)
        .filter(|word| !word.is_empty())
        .collect();
    let by_address = words
        .iter()
        .filter_map(|word| word.find("artifact://").and_then(|at| word.get(at..)))
        .filter_map(|address| {
            let digits = address.trim_start_matches("artifact://");
            let end = digits.find(|c: char| !c.is_ascii_digit());
            parse_id(digits.get(..end.unwrap_or(digits.len()))?)
        });
    let by_number = words.windows(3).filter_map(|words| match words {
        ["artifact", "read", number] => parse_id(number).filter(|_| !number.contains(':')),
        _ => None,
    });
    let mut ids: Vec<u64> = by_address.chain(by_number).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter()
}

fn summed_up(calls: &[MinimizedCall], damaged: u64) -> Savings {
    let weight = Weight::of(calls);
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut total = Row::default();
    for call in calls {
        let name = minimize::command_name(&call.record.command);
        let row = rows.entry(name.clone()).or_default();
        row.command = name;
        row.add(call, weight);
        total.add(call, weight);
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.saved_tokens));
    Savings {
        rows,
        total,
        damaged,
    }
}

/// Bytes per token.
#[derive(Debug, Clone, Copy)]
struct Weight {
    without: f64,
    shown: f64,
}

impl Weight {
    /// The ratio of the counted calls.
    fn of(calls: &[MinimizedCall]) -> Self {
        let ratio = |bytes: fn(&MinimizedCall) -> u64, tokens: fn(Tokens) -> u64| {
            let counted = || calls.iter().filter_map(|call| Some((call, call.tokens?)));
            let bytes: u64 = counted().map(|(call, _)| bytes(call)).sum();
            let tokens: u64 = counted().map(|(_, of)| tokens(of)).sum();
            if tokens == 0 {
                BYTES_PER_TOKEN
            } else {
                bytes as f64 / tokens as f64
            }
        };
        Self {
            without: ratio(|call| call.without_bytes, |tokens| tokens.without),
            shown: ratio(|call| call.shown_bytes, |tokens| tokens.shown),
        }
    }
}

fn weighed(bytes: u64, bytes_per_token: f64) -> i64 {
    (bytes as f64 / bytes_per_token).round() as i64
}

impl Row {
    fn add(&mut self, call: &MinimizedCall, weight: Weight) {
        let (without, shown) = match call.tokens {
            Some(tokens) => (tokens.without as i64, tokens.shown as i64),
            None => (
                weighed(call.without_bytes, weight.without),
                weighed(call.shown_bytes, weight.shown),
            ),
        };
        let reread = weighed(call.reread_bytes, weight.without);
        self.calls += 1;
        self.estimated_calls += u64::from(call.tokens.is_none());
        self.raw_bytes += call.record.output_bytes;
        self.shown_bytes += call.shown_bytes;
        self.without_tokens += without;
        self.shown_tokens += shown;
        self.rereads += call.rereads;
        self.reread_tokens += reread;
        self.saved_tokens += without - shown - reread;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_outputs_are_found_in_commands() {
        for (command, ids) in [
            ("cat artifact://3", vec![3]),
            ("grep x \"artifact://12\" | head", vec![12]),
            ("bashd artifact read 7 --tail 5", vec![7]),
            ("bashd artifact read artifact://7", vec![7]),
            ("echo artifact read it; cat artifact", vec![]),
            ("cat artifact://1 artifact://2,", vec![1, 2]),
        ] {
            assert_eq!(
                named_artifacts(command).collect::<Vec<_>>(),
                ids,
                "{command}"
            );
        }
    }
}
