//! What the feed says: one JSON line for each thing that happened to a call.

use crate::ledger::RecordedOutcome;
use crate::ledger::record::{read_time, write_time};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The format's version: raised when a field changes its meaning, not when one is added.
pub(super) const VERSION: u32 = 1;

/// Every line begins with this: see the ledger's.
pub(super) const LINE_START: &str = "{\"v\":";

/// Bytes of a command at most: enough to recognize it.
pub(crate) const LONGEST_COMMAND: usize = 400;

/// Bytes of a reason at most.
pub(crate) const LONGEST_REASON: usize = 200;

/// One line of the feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FeedRecord {
    /// Version of the format. The first field: see `LINE_START`.
    v: u32,
    /// The id of the call, the same as in the ledger.
    pub id: String,
    /// When it happened.
    #[serde(serialize_with = "write_time", deserialize_with = "read_time")]
    pub time: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: FeedEvent,
}

impl FeedRecord {
    /// Something that happened to this call at this time.
    pub fn new(id: impl Into<String>, time: Timestamp, event: FeedEvent) -> Self {
        let id = id.into();
        Self {
            v: VERSION,
            id,
            time,
            event,
        }
    }
}

/// What happened to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum FeedEvent {
    /// It came in.
    Begun(CallBegun),
    /// It waits for a person's approval.
    Asks(CallAsks),
    /// The person allowed it.
    Allowed,
    /// Its command was sent to another place.
    Placed(CallPlaced),
    /// It has its reply.
    Ended(CallEnded),
    /// Only when reading: an event that this version does not know.
    #[serde(other)]
    Unknown,
}

/// A call that came in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallBegun {
    /// The process that serves it.
    pub pid: i32,
    /// Front end and client, as in `bashd jobs`.
    pub owner: String,
    /// The name of its session, if it has one; empty for the session that has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Name of the profile.
    pub profile: String,
    /// The beginning of the command, secrets hidden.
    pub command: String,
    /// The directory that the call names; empty for that of the server or session.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    /// The place that the call names; left out if it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// A call that waits for a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallAsks {
    /// The rule that wants approval.
    pub rule: String,
    /// What it objects to.
    pub message: String,
    /// The part of the call's `command` that it is about, in bytes: the first, and the one after
    /// the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<(usize, usize)>,
    /// What the command did, if that is what it is about: the change has the id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<AskedEffects>,
}

/// What a command did that somebody is asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AskedEffects {
    /// How it ended, in words.
    pub ending: String,
    /// How much of what changed, in words.
    pub changed: String,
    /// What it was refused, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// The hosts that it spoke to, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

/// A call whose command was sent to another place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallPlaced {
    /// The place.
    pub place: String,
    /// The node there, if the place is an allocation: the number of its job, and its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// A call that has its reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallEnded {
    /// How.
    pub outcome: RecordedOutcome,
    /// The exit status, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended the shell, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why it was denied or refused, or why bashd failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The job as which the command continues, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The place at which it ran, if not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The directory in which it ran; empty if nothing did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    /// From request to reply, in milliseconds.
    pub wall_ms: u64,
    /// Bytes that the command wrote.
    pub output_bytes: u64,
}
