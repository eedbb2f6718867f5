//! The messages between engine, fork server and keeper, except those about jobs. `docs/keeper.md`
//! documents them.

use super::protocol::{Message, messages};
use crate::exec::keeper::session::Directory;
use crate::exec::{EndedBy, Exit, Reset};
use crate::output::spool::Storage;
use crate::plan::{LimitsInForce, Quota, Restraint, Streams, Survivors};
use crate::reply::LeftBehind;
use crate::screen::Size;
use crate::variables::Variables;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

messages! {
    Hello = "hello", Welcome = "welcome", Fork = "fork",
    Start = "start", Warm = "warm", Open = "open", Call = "call", Query = "query", End = "end", Release = "release",
    Resize = "resize", Typed = "typed",
    Ready = "ready", Prepared = "prepared", Started = "started", Spilled = "spilled", Grown = "grown", Exited = "exited",
    Gone = "gone", Failed = "failed", Refused = "refused",
}

/// Engine to fork server, once: who is asking, and where runs are stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) major: u16,
    pub(crate) minor: u16,
    pub(crate) storage: Storage,
}

/// Fork server to engine: the version that it speaks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Welcome {
    pub(crate) major: u16,
    pub(crate) minor: u16,
}

/// Engine to fork server, with a socket: fork a keeper that listens on it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Fork {
    /// Whether no call is being served: then work ahead may begin at once.
    pub(crate) is_calm: bool,
}

/// Engine to keeper, with the working directory and, if `stdin` says so, the command's input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Start {
    #[serde(with = "serde_bytes")]
    pub(crate) program: Vec<u8>,
    /// argv[0] and the arguments before the script.
    pub(crate) argv: Vec<serde_bytes::ByteBuf>,
    /// The last argument; missing if a program is started without a shell.
    pub(crate) script: Option<serde_bytes::ByteBuf>,
    /// The script for an already started shell, if one will do: it has already sourced what
    /// `script` sources.
    #[serde(default)]
    pub(crate) warm: Option<serde_bytes::ByteBuf>,
    /// `NAME=VALUE` entries.
    pub(crate) env: Variables,
    /// Whether a descriptor for stdin follows the working directory's.
    pub(crate) stdin: bool,
    pub(crate) streams: Streams,
    pub(crate) quota: Quota,
    pub(crate) timeout_us: u64,
    pub(crate) grace_us: u64,
    pub(crate) drain_silence_us: u64,
    pub(crate) drain_total_us: u64,
    pub(crate) survivors: Survivors,
    /// The size of the terminal that the command gets instead of pipes.
    #[serde(default)]
    pub(crate) terminal: Option<Size>,
    /// Whether stdin stays open for `input`; a descriptor for it is read first.
    #[serde(default)]
    pub(crate) stdin_open: bool,
    /// Whether a `detach` follows at once; no end is reported before it.
    #[serde(default)]
    pub(crate) detaches: bool,
    /// The command's resource limits.
    #[serde(default)]
    pub(crate) restraint: Option<Restraint>,
    #[serde(default)]
    pub(crate) beginning: Beginning,
}

/// Whether the engine wants to hear that a run begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Beginning {
    /// When it begins.
    #[default]
    Told,
    /// Only if `ready` has not already said everything.
    Assumed,
}

/// Engine to keeper, with the working directory: start a shell that waits for the `start` to come.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Warm {
    #[serde(with = "serde_bytes")]
    pub(crate) program: Vec<u8>,
    /// argv[0].
    #[serde(with = "serde_bytes")]
    pub(crate) name: Vec<u8>,
    /// `NAME=VALUE` entries, without the id of the run.
    pub(crate) env: Variables,
    pub(crate) streams: Streams,
    pub(crate) quota: Quota,
    /// A script that is sourced first.
    pub(crate) snapshot: Option<PathBuf>,
}

/// Engine to keeper, with the working directory: start a session's shell, which waits for calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Open {
    #[serde(with = "serde_bytes")]
    pub(crate) program: Vec<u8>,
    /// `NAME=VALUE` entries.
    pub(crate) env: Variables,
    /// The working directory by name.
    #[serde(with = "serde_bytes")]
    pub(crate) directory: Vec<u8>,
    /// A script that is sourced first.
    pub(crate) snapshot: Option<PathBuf>,
    /// Time without a call after which the shell is ended; 0 for never.
    pub(crate) idle_us: u64,
    /// Resource limits of the shell and its commands.
    #[serde(default)]
    pub(crate) restraint: Option<Restraint>,
}

/// What can be prepared for a call before it comes depends on this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Form {
    pub(crate) number: u64,
    /// Whether there is a descriptor for stdin.
    pub(crate) stdin: bool,
    /// Where the shell is after the call.
    pub(crate) directory: Directory,
    pub(crate) streams: Streams,
    pub(crate) quota: Quota,
}

impl Form {
    /// That of the next call, if it is like this one.
    pub(crate) fn next(self) -> Self {
        let number = self.number + 1;
        Self { number, ..self }
    }
}

/// Engine to keeper, with the command's input if its form says so: run a command in the session's
/// shell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) form: Form,
    /// Whether somebody watches: then its beginning is reported when it comes, and not before.
    pub(crate) is_watched: bool,
    /// Whether to report what is prepared for the next call.
    pub(crate) tells_ahead: bool,
    /// What the shell evaluates.
    #[serde(with = "serde_bytes")]
    pub(crate) text: Vec<u8>,
    pub(crate) timeout_us: u64,
    pub(crate) grace_us: u64,
    pub(crate) drain_silence_us: u64,
    pub(crate) drain_total_us: u64,
    pub(crate) survivors: Survivors,
}

/// Engine to keeper: say `grown` once a stream is longer than this. One answer per request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Query {
    pub(crate) out: u64,
    pub(crate) err: u64,
}

/// Engine to keeper: end the tree, TERM first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct End {
    /// What the report names as the reason.
    #[serde(default = "cancelled")]
    pub(crate) by: EndedBy,
}

impl End {
    /// Ends it for the caller.
    pub(crate) const CANCEL: Self = Self {
        by: EndedBy::Cancel,
    };
}

fn cancelled() -> EndedBy {
    EndedBy::Cancel
}

/// Engine to keeper: the terminal has another size now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Resize {
    pub(crate) size: Size,
}

/// Engine to keeper: this was typed at the terminal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Typed {
    #[serde(with = "serde_bytes")]
    pub(crate) bytes: Vec<u8>,
}

/// Engine to keeper: the reply is out; survivors may stay, and log into this directory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Release {
    pub(crate) directory: PathBuf,
}

/// Keeper to engine, before its `start`, with counter page and head file (the latter where
/// `has_head` says so) of the spool that it has opened, and a pidfd of its own. A run with one
/// stream of this quota whose beginning is assumed has begun when it is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ready {
    pub(crate) quota: Quota,
    pub(crate) has_head: bool,
}

/// Keeper to engine, between two calls of a session: a call of this form that nobody watches begins
/// when it is sent, and this is then its `started`, with the same descriptors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Prepared {
    pub(crate) form: Form,
    pub(crate) started: Started,
}

/// Keeper to engine: the shell runs. Carries, for each stream, counter page and head file (the
/// latter where `heads` says so), and at the end a pidfd of the keeper.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Started {
    pub(crate) pid: i32,
    /// For each stream: whether there is a head file.
    pub(crate) heads: Vec<bool>,
    /// The limits that hold.
    #[serde(default)]
    pub(crate) limits: Option<LimitsInForce>,
    /// Where the shell was when its call began, in a session.
    #[serde(default, with = "serde_bytes")]
    pub(crate) directory: Option<Vec<u8>>,
}

impl Started {
    /// What is known about a run whose beginning is not reported.
    pub(crate) fn unseen(ready: &Ready) -> Self {
        Self {
            pid: 0,
            heads: vec![ready.has_head],
            limits: None,
            directory: None,
        }
    }
}

/// Keeper to engine, with the ring's descriptor: a stream is longer than its head file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Spilled {
    pub(crate) stream: usize,
}

/// Keeper to engine: the answer to a query.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Grown {}

/// Keeper to engine: the run is over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Exited {
    pub(crate) exit: Exit,
    pub(crate) ended_by: Option<EndedBy>,
    pub(crate) ran_for_us: u64,
    /// Bytes and newlines of each stream.
    pub(crate) counts: Vec<(u64, u64)>,
    pub(crate) left_behind: Vec<LeftBehind>,
    /// Whether every writer of every stream is gone.
    #[serde(default)]
    pub(crate) is_closed: bool,
    /// Why the session's shell is gone, if this was a call in a session and it is.
    #[serde(default)]
    pub(crate) reset: Option<Reset>,
    /// Whether the kernel killed one of its processes for lack of memory, if that is known.
    #[serde(default)]
    pub(crate) out_of_memory: bool,
}

/// Keeper to engine: the session's shell is gone, and no later call will run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Gone {
    pub(crate) reset: Reset,
}

/// Keeper (or fork server, on the keeper's socket) to engine: the shell could not be started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Failed {
    /// What was being done.
    pub(crate) doing: String,
    pub(crate) errno: i32,
}

/// The answer to an unknown message, from any side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Refused {
    pub(crate) name: String,
    pub(crate) reason: String,
}
