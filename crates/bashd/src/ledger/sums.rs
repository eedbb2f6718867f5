//! Calls added up: by hour, by client and by command.
//!
//! Whoever shows days makes them of hours, since days begin elsewhere at other times.

use super::record::Record;
use crate::minimize;
use jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Commands whose names are remembered while many are read.
const MOST_NAMES: usize = 4096;

/// Bytes of a command that are looked at for its name.
const LONGEST_NAMED: usize = 4096;

/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;

/// What some calls were, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CallSum {
    /// How many.
    pub calls: u64,
    /// Those that did anything but exit with status 0.
    pub failed: u64,
    /// From request to reply, in milliseconds.
    pub wall_ms: u64,
    /// Bytes that they wrote.
    pub output_bytes: u64,
    /// Bytes that minimizing kept from being shown.
    pub saved_bytes: i64,
}

/// Calls of one hour, one client and one command.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SumKey {
    /// Hours since 1970.
    pub(super) hour: i64,
    pub(super) owner: String,
    pub(super) command: String,
}

/// Calls added up in every way that is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LedgerSums {
    /// All of them.
    pub total: CallSum,
    /// By the hour in which they came in, in hours since 1970.
    pub hours: BTreeMap<i64, CallSum>,
    /// By front end and client.
    pub owners: BTreeMap<String, CallSum>,
    /// By program, and its subcommand if it has one.
    pub commands: BTreeMap<String, CallSum>,
}

impl CallSum {
    /// One call.
    pub(super) fn of(record: &Record, window: u64) -> Self {
        let saved = record.minimized.as_ref().map_or(0, |minimized| {
            let without = record.output_bytes.min(window);
            without.cast_signed() - minimized.shown_bytes.cast_signed()
        });
        Self {
            calls: 1,
            failed: u64::from(record.failed()),
            wall_ms: record.wall_ms,
            output_bytes: record.output_bytes,
            saved_bytes: saved,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.wall_ms = self.wall_ms.saturating_add(other.wall_ms);
        self.output_bytes = self.output_bytes.saturating_add(other.output_bytes);
        self.saved_bytes = self.saved_bytes.saturating_add(other.saved_bytes);
    }
}

impl LedgerSums {
    pub(super) fn add(&mut self, key: SumKey, sum: CallSum) {
        self.total.add(sum);
        self.hours.entry(key.hour).or_default().add(sum);
        self.owners.entry(key.owner).or_default().add(sum);
        self.commands.entry(key.command).or_default().add(sum);
    }

    /// Adds up records. `window` says how much of an output a profile shows at most.
    pub fn of(records: impl Iterator<Item = Record>, window: impl Fn(&str) -> u64) -> Self {
        let mut names = CommandNames::default();
        let mut sums = Self::default();
        for record in records {
            let sum = CallSum::of(&record, window(&record.profile));
            sums.add(names.key(&record), sum);
        }
        sums
    }
}

/// The names of commands, for many of them.
#[derive(Debug, Default)]
pub(super) struct CommandNames {
    known: HashMap<String, String>,
}

impl CommandNames {
    pub(super) fn key(&mut self, record: &Record) -> SumKey {
        SumKey {
            hour: hour_of(record.time),
            owner: record.owner.clone(),
            command: self.name(&record.command),
        }
    }

    /// The command's program, and its subcommand.
    fn name(&mut self, command: &str) -> String {
        let text = super::record::cut(command, LONGEST_NAMED);
        // Reading bash takes longer than everything else. Two plain words say as much.
        let short = plain_beginning(text);
        if let Some(name) = self.known.get(short.unwrap_or(text)) {
            return name.clone();
        }
        let name = minimize::command_name(short.unwrap_or(text));
        // What only starts others (`sudo`, `timeout`) is read to its end.
        if short.is_some_and(|short| !is_own_name(&name, short)) {
            return minimize::command_name(text);
        }
        let text = short.unwrap_or(text);
        if self.known.len() >= MOST_NAMES {
            self.known.clear();
        }
        self.known.insert(text.to_owned(), name.clone());
        name
    }
}

/// Whether a command is named after its own first word.
fn is_own_name(name: &str, command: &str) -> bool {
    let first = command.split(' ').next().unwrap_or_default();
    let program = first.rsplit('/').next().unwrap_or_default();
    name.split(' ').next() == Some(program)
}

pub(super) fn hour_of(time: Timestamp) -> i64 {
    time.as_millisecond().div_euclid(HOUR_MS)
}

/// The first two words of a command that is one simple command of plain words, if these alone have
/// its name.
fn plain_beginning(command: &str) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" ._/-:,@%+".contains(&byte);
    if !command.bytes().all(is_plain) || command.starts_with(' ') {
        return None;
    }
    let mut ends = command.match_indices(' ').map(|(at, _)| at);
    let first = ends.next()?;
    let end = ends.next()?;
    let second = command.get(first + 1..end)?;
    let is_word = second
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    command.get(..end).filter(|_| is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_to_a_name_leads_to_the_same() {
        let mut names = CommandNames::default();
        for command in [
            "cargo test --workspace",
            "git status --short",
            "git -C x status --short",
            "ls -la x",
            "npm run build all",
            "cd x && make -j8 all",
            "FOO=1 cargo build x",
            "echo a b c",
            "sudo apt install x",
            "true",
            "",
            " git log a b",
            "timeout 5 cargo test x",
            "env cargo test x",
            "nice cargo test x",
            "find . -name x",
        ] {
            assert_eq!(
                names.name(command),
                minimize::command_name(command),
                "{command}"
            );
        }
    }
}
