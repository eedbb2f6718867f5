//! One record of the ledger, and its JSON line.
//!
//! It has the size of a command's output, not the output itself.

use crate::plan::{Connected, Refused};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::io;

/// The format's version: raised when a field changes its meaning, not when one is added.
const VERSION: u32 = 1;

/// Every line begins with this. Inside a JSON text its quotes would be escaped, so a reader can
/// find the beginning of a record that follows a torn one on the same line.
pub(super) const LINE_START: &str = "{\"v\":";

/// Length of most lines apart from their command, so that they need not grow while being written.
const LINE_BYTES: usize = 512;

/// An error's text is for people; anything longer is really output.
const MAX_ERROR_BYTES: usize = 4096;

/// The record of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Version of the format. The first field: see `LINE_START`.
    v: u32,
    /// The run's id.
    pub id: String,
    /// When the call came in.
    #[serde(serialize_with = "write_time", deserialize_with = "read_time")]
    pub time: Timestamp,
    /// Name of the profile.
    pub profile: String,
    /// Front end and client, as in `bashd jobs`; left out by older versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// The name of its session, empty for the one without a name; left out if it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The job that somebody did something to; left out if the call ran a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The command as it was given, cut to the configured length; of what somebody did to a job,
    /// what that was.
    pub command: String,
    /// Whether the command was cut.
    pub command_truncated: bool,
    /// The directory it was supposed to run in.
    pub cwd: String,
    /// The place at which it ran, if not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// How the call ended.
    pub outcome: RecordedOutcome,
    /// The exit status, if there is one.
    pub exit_code: Option<i32>,
    /// The signal that ended the shell, if one did.
    pub signal: Option<i32>,
    /// Why the call was denied or refused, or why bashd failed.
    pub error: Option<String>,
    /// From request to reply, in milliseconds.
    pub wall_ms: u64,
    /// From the shell's start to the end of its output, in milliseconds; null if nothing ran.
    pub ran_ms: Option<u64>,
    /// Bytes that the command wrote.
    pub output_bytes: u64,
    /// Newlines that the command wrote.
    pub output_lines: u64,
    /// What happened to the output if it was minimized; left out if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimized: Option<MinimizedOutput>,
    /// What its confinement refused; left out if nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// The hosts that it connected to through its proxy; left out if none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<Connected>,
    /// Whether a person ran it and wants no agent to be told; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept_out: bool,
    /// The text that ran, if it is not the command as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_run: Option<String>,
    /// What a rule objected to, whoever allowed it then; left out if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objection: Option<RecordedObjection>,
    /// The variables that the call set; left out if none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// Processes that it left; left out if none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftProcess>,
    /// The chain that it is in; this and the next two are left out if it is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chain: Option<String>,
    /// Its number in the chain, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n: Option<u64>,
    /// The seal of the record before it in the chain; empty for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prev: Option<String>,
}

/// The place of a record in its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChainMark {
    pub(super) chain: String,
    pub(super) n: u64,
    pub(super) prev: String,
}

/// What a rule said of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedObjection {
    /// `ask`, if a person could allow it, or `deny`.
    pub decision: String,
    /// The rule.
    pub rule: String,
    /// What it objects to.
    pub message: String,
}

/// A process that a call left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeftProcess {
    /// Its process id.
    pub pid: i32,
    /// Its command line.
    pub command: String,
    /// The job by which it can be ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
}

/// What happened to output that was minimized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MinimizedOutput {
    /// The filter.
    pub by: String,
    /// Bytes that were shown instead of those that the command wrote.
    pub shown_bytes: u64,
    /// Number of the artifact that has the raw output.
    pub artifact: Option<u64>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecordedOutcome {
    /// The shell exited by itself, with whatever status.
    Exited,
    /// A signal that was not ours ended the shell.
    Signalled,
    /// The call returned first; the command continues as a job.
    Background,
    /// The call returned first; the command continues in its session's terminal.
    GoesOn,
    /// The deadline ended the command.
    TimedOut,
    /// The caller ended the command.
    Cancelled,
    /// A rule denied it; nothing ran.
    Denied,
    /// The request was bad; nothing ran.
    Refused,
    /// bashd failed.
    Failed,
    /// Somebody did something to a job; nothing ran.
    Managed,
    /// Only when reading: an outcome that this version does not know.
    #[serde(other)]
    Unknown,
}

impl RecordedOutcome {
    /// Whether a call that ended so, with this exit status, did anything other than exit with
    /// status 0, go on as it was to, or do what it was to do to a job.
    pub fn failed(self, exit_code: Option<i32>) -> bool {
        match self {
            Self::Exited => exit_code != Some(0),
            // How the command of a call that goes on ends is told by itself.
            Self::Background | Self::GoesOn | Self::Managed => false,
            _ => true,
        }
    }
}

impl Record {
    /// A record with only what every call has.
    pub fn new(id: impl Into<String>, time: Timestamp, outcome: RecordedOutcome) -> Self {
        Self {
            v: VERSION,
            id: id.into(),
            time,
            profile: String::new(),
            owner: String::new(),
            session: None,
            job: None,
            command: String::new(),
            command_truncated: false,
            cwd: String::new(),
            place: None,
            outcome,
            exit_code: None,
            signal: None,
            error: None,
            wall_ms: 0,
            ran_ms: None,
            output_bytes: 0,
            output_lines: 0,
            minimized: None,
            refused: Vec::new(),
            connections: Vec::new(),
            kept_out: false,
            as_run: None,
            objection: None,
            env: Vec::new(),
            left: Vec::new(),
            chain: None,
            n: None,
            prev: None,
        }
    }

    /// Whether it failed.
    pub fn failed(&self) -> bool {
        self.outcome.failed(self.exit_code)
    }

    /// The whole line, newline included, with its texts cut to their limits.
    pub(super) fn to_line(
        &self,
        max_command_bytes: usize,
        mark: Option<ChainMark>,
    ) -> io::Result<Vec<u8>> {
        let command = cut(&self.command, max_command_bytes);
        let error = self
            .error
            .as_deref()
            .map(|error| cut(error, MAX_ERROR_BYTES));
        let fits = mark.is_none()
            && command.len() == self.command.len()
            && error.map(str::len) == self.error.as_ref().map(String::len);
        let record = if fits {
            Cow::Borrowed(self)
        } else {
            let (chain, n, prev) = mark.map_or_else(Default::default, |m| {
                (Some(m.chain), Some(m.n), Some(m.prev))
            });
            Cow::Owned(Self {
                chain,
                n,
                prev,
                command: command.to_owned(),
                command_truncated: self.command_truncated || command.len() < self.command.len(),
                error: error.map(str::to_owned),
                ..self.clone()
            })
        };
        let mut line = Vec::with_capacity(LINE_BYTES + command.len());
        serde_json::to_writer(&mut line, &*record)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Reads one line; `None` when it is torn. A record glued to a torn one is still found.
    pub(super) fn from_line(line: &[u8]) -> Option<Self> {
        Self::found_in(line).map(|(record, _)| record)
    }

    /// Likewise, with the bytes that are the record.
    pub(super) fn found_in(line: &[u8]) -> Option<(Self, &[u8])> {
        if let Ok(record) = serde_json::from_slice(line) {
            return Some((record, line));
        }
        let start = memchr::memmem::rfind(line, LINE_START.as_bytes()).filter(|at| *at > 0)?;
        let bytes = line.get(start..)?;
        Some((serde_json::from_slice(bytes).ok()?, bytes))
    }

    /// Its place in its chain, if it is in one.
    pub(super) fn mark(&self) -> Option<ChainMark> {
        Some(ChainMark {
            chain: self.chain.clone()?,
            n: self.n?,
            prev: self.prev.clone()?,
        })
    }
}

/// The longest prefix of at most `limit` bytes that ends between two characters.
pub(crate) fn cut(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

pub(crate) fn write_time<S: Serializer>(
    time: &Timestamp,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.3}"))
}

pub(crate) fn read_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every outcome that is written; a new one does not compile until it is here.
    fn outcomes() -> impl Iterator<Item = RecordedOutcome> {
        std::iter::successors(Some(RecordedOutcome::Exited), |outcome| {
            Some(match outcome {
                RecordedOutcome::Exited => RecordedOutcome::Signalled,
                RecordedOutcome::Signalled => RecordedOutcome::Background,
                RecordedOutcome::Background => RecordedOutcome::GoesOn,
                RecordedOutcome::GoesOn => RecordedOutcome::TimedOut,
                RecordedOutcome::TimedOut => RecordedOutcome::Cancelled,
                RecordedOutcome::Cancelled => RecordedOutcome::Denied,
                RecordedOutcome::Denied => RecordedOutcome::Refused,
                RecordedOutcome::Refused => RecordedOutcome::Failed,
                RecordedOutcome::Failed => RecordedOutcome::Managed,
                RecordedOutcome::Managed | RecordedOutcome::Unknown => return None,
            })
        })
    }

    #[test]
    fn the_page_about_the_ledger_lists_every_outcome() {
        let page = include_str!("../../../../docs/ledger.md");
        let (_, table) = page.split_once("| outcome | meaning |").unwrap();
        let rows = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with("| `"));
        let listed: BTreeSet<String> = rows
            .map(|row| row.split('`').nth(1).unwrap().into())
            .collect();
        let name = |outcome| {
            serde_json::to_value(outcome)
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(listed, outcomes().map(name).collect());
    }
}
