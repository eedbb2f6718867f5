//! The messages between engine, fork server and keeper, except those about jobs. `docs/keeper.md`
//! documents them.

use super::protocol::{KeeperMessage, messages};
use crate::capture::{Quota, Streams, Survivors};
use crate::confinement::{ConfinementInForce, SharedConfinement};
use crate::exit::{EndedBy, Exit};
use crate::keeper::session::DirectoryAfter;
use crate::left_behind::LeftBehind;
use crate::refusals::Dealings;
use crate::reset::Reset;
use crate::resources::{LimitsInForce, Restraint};
use crate::size::Size;
use crate::spool::Storage;
use crate::variables::Variables;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

messages! {
    HelloMessage = "hello", WelcomeMessage = "welcome", ForkMessage = "fork",
    StartMessage = "start", StartedShellMessage = "start_shell", PrepareMessage = "prepare", SoonMessage = "soon", OpenMessage = "open", CallMessage = "call", QueryMessage = "query", EndMessage = "end", ReleaseMessage = "release",
    ResizeMessage = "resize", TypedMessage = "typed",
    ReadyMessage = "ready", PreparedMessage = "prepared", StartedMessage = "started", SpilledMessage = "spilled", GrownMessage = "grown", ExitedMessage = "exited",
    GoneMessage = "gone", FailedMessage = "failed", RefusedMessage = "refused",
}

/// Engine to fork server, once: who is asking, and where runs are stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HelloMessage {
    /// Major version of the protocol; both sides must have the same.
    pub major: u16,
    /// Minor version: raised by additions.
    pub minor: u16,
    /// Where runs are stored, and for how long.
    pub storage: Storage,
    /// Whether jobs end with the engine, too.
    #[serde(default)]
    pub leased: bool,
}

/// Fork server to engine: the version that it speaks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WelcomeMessage {
    /// Major version of the protocol; both sides must have the same.
    pub major: u16,
    /// Minor version: raised by additions.
    pub minor: u16,
}

/// Engine to fork server, with a socket: fork a keeper that listens on it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForkMessage {
    /// Whether no call is being served: then work ahead may begin at once.
    pub is_calm: bool,
    /// Whether commands of this engine are confined: then they have a network in common.
    #[serde(default)]
    pub confines: bool,
}

/// Engine to keeper, with the working directory and, if `stdin` says so, the command's input.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own, with a yes or a no"
)]
pub struct StartMessage {
    /// The program that is executed: the shell, by its path.
    #[serde(with = "serde_bytes")]
    pub program: Vec<u8>,
    /// `argv[0]` and the arguments before the script.
    pub argv: Vec<serde_bytes::ByteBuf>,
    /// The last argument; missing if a program is started without a shell.
    pub script: Option<serde_bytes::ByteBuf>,
    /// The script for an already started shell, if one will do: it has already sourced what
    /// `script` sources.
    #[serde(default)]
    pub for_started_shell: Option<serde_bytes::ByteBuf>,
    /// `NAME=VALUE` entries.
    pub env: Variables,
    /// Whether a descriptor for stdin follows the working directory's.
    pub stdin: bool,
    /// One pipe for both streams, or two.
    pub streams: Streams,
    /// How much of its output is kept.
    pub quota: Quota,
    /// Microseconds from the shell's start to the deadline.
    pub timeout_us: u64,
    /// Microseconds from TERM to KILL.
    pub grace_us: u64,
    /// After the shell has exited: microseconds of silence that end the drain.
    pub drain_silence_us: u64,
    /// The longest drain, in microseconds.
    pub drain_total_us: u64,
    /// Likewise, while something still works on the last of the output.
    #[serde(default)]
    pub drain_finish_us: u64,
    /// What happens to processes that the shell leaves running.
    pub survivors: Survivors,
    /// The size of the terminal that the command gets instead of pipes.
    #[serde(default)]
    pub terminal: Option<Size>,
    /// Whether stdin stays open for `input`; a descriptor for it is read first.
    #[serde(default)]
    pub stdin_open: bool,
    /// Whether a `background` follows at once; no end is reported before it.
    #[serde(default)]
    pub goes_to_background: bool,
    /// The command's resource limits.
    #[serde(default)]
    pub restraint: Option<Restraint>,
    /// Whether its confinement is that of the `prepare` or `start_shell` before it, and is left out
    /// of the restraint. Only a keeper of version 1.7 may be told so: an older one would confine
    /// nothing.
    #[serde(default)]
    pub is_confined_as_told: bool,
    /// The id of the run, by which a keeper knows that it was told of it.
    #[serde(default)]
    pub id: String,
    /// Whether a `started` is wanted.
    #[serde(default)]
    pub beginning: Beginning,
    /// Whether the times of its output are recorded.
    #[serde(default)]
    pub records: bool,
}

/// Whether the engine wants to hear that a run begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beginning {
    /// When it begins.
    #[default]
    Told,
    /// Only if `ready` has not already said everything.
    Assumed,
}

/// Engine to keeper, with the working directory: start a shell that waits for the `start` to come.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartedShellMessage {
    /// The shell's path.
    #[serde(with = "serde_bytes")]
    pub program: Vec<u8>,
    /// `argv[0]`.
    #[serde(with = "serde_bytes")]
    pub name: Vec<u8>,
    /// `NAME=VALUE` entries, without the id of the run.
    pub env: Variables,
    /// One pipe for both streams, or two.
    pub streams: Streams,
    /// How much of its output is kept.
    pub quota: Quota,
    /// A script that is sourced first.
    pub rc_script: Option<PathBuf>,
    /// What it may use up, where that is limited.
    pub restraint: Option<Restraint>,
}

/// Engine to keeper: a `start` with this confinement may follow, so its view can be built.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PrepareMessage {
    /// What the command may reach.
    pub confinement: SharedConfinement,
}

/// Engine to keeper: a call has come, and this keeper will probably get it. So it looks now
/// whether its view is still what would be built, while the engine decides what is to be run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SoonMessage {
    /// The id of the run.
    pub id: String,
}

/// Engine to keeper, with the working directory: start a session's shell, which waits for calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OpenMessage {
    /// The shell's path.
    #[serde(with = "serde_bytes")]
    pub program: Vec<u8>,
    /// `NAME=VALUE` entries.
    pub env: Variables,
    /// The working directory by name.
    #[serde(with = "serde_bytes")]
    pub directory: Vec<u8>,
    /// A script that is sourced first.
    pub rc_script: Option<PathBuf>,
    /// Time without a call after which the shell is ended; 0 for never.
    pub idle_us: u64,
    /// Resource limits of the shell and its commands.
    #[serde(default)]
    pub restraint: Option<Restraint>,
}

/// What can be prepared for a call before it comes depends on this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallForm {
    /// Which call of the session it is, counted from its first.
    pub number: u64,
    /// Whether there is a descriptor for stdin.
    pub stdin: bool,
    /// Where the shell is after the call.
    pub directory: DirectoryAfter,
    /// One pipe for both streams, or two.
    pub streams: Streams,
    /// How much of its output is kept.
    pub quota: Quota,
}

impl CallForm {
    /// That of the next call, if it is like this one.
    #[must_use]
    pub fn next(self) -> Self {
        let number = self.number + 1;
        Self { number, ..self }
    }
}

/// Engine to keeper, with the command's input if its form says so: run a command in the session's
/// shell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallMessage {
    /// What could be prepared before it came.
    pub form: CallForm,
    /// Whether somebody watches: then its beginning is reported when it comes, and not before.
    pub is_watched: bool,
    /// Whether to report what is prepared for the next call.
    pub tells_ahead: bool,
    /// What the shell evaluates.
    #[serde(with = "serde_bytes")]
    pub text: Vec<u8>,
    /// What `BASHD_RUN` tells the commands; empty if nothing.
    #[serde(default)]
    pub run: String,
    /// Microseconds from its start to its deadline.
    pub timeout_us: u64,
    /// Microseconds from TERM to KILL.
    pub grace_us: u64,
    /// After the shell has exited: microseconds of silence that end the drain.
    pub drain_silence_us: u64,
    /// The longest drain, in microseconds.
    pub drain_total_us: u64,
    /// Likewise, while something still works on the last of the output.
    #[serde(default)]
    pub drain_finish_us: u64,
    /// What happens to processes that the shell leaves running.
    pub survivors: Survivors,
    /// Whether the times of its output are recorded.
    #[serde(default)]
    pub records: bool,
}

/// Engine to keeper: say `grown` once a stream is longer than this. One answer per request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QueryMessage {
    /// Bytes of stdout, or of both streams, that the engine knows.
    pub out: u64,
    /// Bytes of stderr that it knows.
    pub err: u64,
}

/// Engine to keeper: end the tree, TERM first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EndMessage {
    /// What the report names as the reason.
    #[serde(default = "cancelled")]
    pub by: EndedBy,
}

impl EndMessage {
    /// Ends it for the caller.
    pub const CANCEL: Self = Self {
        by: EndedBy::Cancel,
    };
}

fn cancelled() -> EndedBy {
    EndedBy::Cancel
}

/// Engine to keeper: the terminal has another size now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResizeMessage {
    /// Its columns and rows.
    pub size: Size,
}

/// Engine to keeper: this was typed at the terminal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TypedMessage {
    /// As the keyboard of a terminal sends them.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// Engine to keeper: the reply is out; survivors may stay, and log into this directory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReleaseMessage {
    /// That of the run; it is made if something stays.
    pub directory: PathBuf,
}

/// Keeper to engine, before its `start`, with counter page and head file (the latter where
/// `has_head` says so) of the spool that it has opened, and a pidfd of its own. A run with one
/// stream of this quota whose beginning is assumed has begun when it is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadyMessage {
    /// That of the opened spool.
    pub quota: Quota,
    /// Whether the spool has a head file.
    pub has_head: bool,
}

/// Keeper to engine, between two calls of a session: a call of this form that nobody watches begins
/// when it is sent, and this is then its `started`, with the same descriptors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PreparedMessage {
    /// The form of the call that is prepared.
    pub form: CallForm,
    /// What its beginning would say.
    pub started: StartedMessage,
}

/// Keeper to engine: the shell runs. Carries, for each stream, counter page and head file (the
/// latter where `heads` says so), and at the end a pidfd of the keeper.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartedMessage {
    /// The shell's process id; 0 if it was not told.
    pub pid: i32,
    /// For each stream: whether there is a head file.
    pub heads: Vec<bool>,
    /// The limits that hold.
    #[serde(default)]
    pub limits: Option<LimitsInForce>,
    /// The confinement that holds.
    #[serde(default)]
    pub confinement: Option<ConfinementInForce>,
    /// Where the shell was when its call began, in a session.
    #[serde(default, with = "serde_bytes")]
    pub directory: Option<Vec<u8>>,
}

impl StartedMessage {
    /// What is known about a run whose beginning is not reported.
    pub fn unseen(ready: &ReadyMessage) -> Self {
        Self {
            pid: 0,
            heads: vec![ready.has_head],
            limits: None,
            confinement: None,
            directory: None,
        }
    }
}

/// Keeper to engine, with the ring's descriptor: a stream is longer than its head file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SpilledMessage {
    /// Which one: 0 is stdout or both, 1 is stderr.
    pub stream: usize,
}

/// Keeper to engine: the answer to a query.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GrownMessage {}

/// Keeper to engine: the run is over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExitedMessage {
    /// How the shell ended.
    pub exit: Exit,
    /// What ended it, if it did not end by itself.
    pub ended_by: Option<EndedBy>,
    /// Microseconds from the shell's start to its end.
    pub ran_for_us: u64,
    /// Bytes and newlines of each stream.
    pub counts: Vec<(u64, u64)>,
    /// Processes that live on.
    pub left_behind: Vec<LeftBehind>,
    /// Whether every writer of every stream is gone.
    #[serde(default)]
    pub is_closed: bool,
    /// Why the session's shell is gone, if this was a call in a session and it is.
    #[serde(default)]
    pub reset: Option<Reset>,
    /// Whether the kernel killed one of its processes for lack of memory, if that is known.
    #[serde(default)]
    pub out_of_memory: bool,
    /// What it was refused, and whom it spoke to, if that is known.
    #[serde(default)]
    pub dealings: Option<Dealings>,
    /// Whether something still worked on the last of the output, and had no more time for it.
    #[serde(default)]
    pub is_unfinished: bool,
    /// The confinement that held, if there was one.
    #[serde(default)]
    pub confinement: Option<ConfinementInForce>,
}

/// Keeper to engine: the session's shell is gone, and no later call will run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GoneMessage {
    /// Why it is gone.
    pub reset: Reset,
}

/// Keeper (or fork server, on the keeper's socket) to engine: the shell could not be started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FailedMessage {
    /// What was being done.
    pub doing: String,
    /// The error number of the operating system.
    pub errno: i32,
}

/// The answer to an unknown message, from any side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RefusedMessage {
    /// Name of the message that was not understood.
    pub name: String,
    /// Why it was refused.
    pub reason: String,
}
