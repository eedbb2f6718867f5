//! Messages about jobs: from the call that hands its run over to the keeper, and from clients that
//! connect later.

use super::protocol::{ExitedMessage, KeeperMessage, messages};
use crate::job::directory::Spec;
use crate::job::end_line::EndLines;
use crate::secrets::Secrets;
use crate::size::Size;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

messages! {
    AnnounceMessage = "announce", ConcealMessage = "conceal", BackgroundMessage = "background", BackgroundedMessage = "backgrounded", AttachMessage = "attach", AttachedMessage = "attached",
    InputMessage = "input", SignalMessage = "signal", DoneMessage = "done",
}

/// Engine to keeper: make this run visible in this directory for as long as its call waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnnounceMessage {
    /// Where it is visible.
    pub directory: PathBuf,
    /// What runs.
    pub spec: Spec,
}

/// Engine to keeper: be visible no longer, although the shell goes on: the command has ended that
/// was announced.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConcealMessage {}

/// Engine to keeper: become a job in this directory, then say `backgrounded`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BackgroundMessage {
    /// The job's directory, which the keeper makes.
    pub directory: PathBuf,
    /// What the job is; the keeper fills in the rest.
    pub spec: Spec,
    /// Bytes of output that go to the job's file before the ring begins.
    pub head_bytes: u64,
    /// The last line of the output file.
    pub end_lines: Option<EndLines>,
    /// What is not written into its directory.
    #[serde(default)]
    pub secrets: Secrets,
}

/// Keeper to engine: the run is a job now, or why it is not.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BackgroundedMessage {
    /// Why it is not a job; `None` if it is one.
    pub error: Option<String>,
    /// Where the session's shell was that went along, so that the next one can begin there.
    #[serde(default)]
    pub directory: Option<PathBuf>,
}

/// Anybody to keeper: send me the descriptors, and report the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AttachMessage {}

/// Keeper to an attached client, with counter page, head file and ring of each stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AttachedMessage {
    /// For each stream: whether there is a head file, and whether there is a ring.
    pub streams: Vec<(bool, bool)>,
    /// How the shell ended, if it did already.
    pub exited: Option<ExitedMessage>,
    /// The size of its terminal, if it has one.
    #[serde(default)]
    pub terminal: Option<Size>,
}

/// Anybody to keeper: bytes for the command's stdin, and whether that is all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InputMessage {
    /// What the command reads next.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
    /// Whether that was all: stdin is closed after them.
    pub close: bool,
}

/// Anybody to keeper: send this signal to every process of the tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignalMessage {
    /// Its number.
    pub signal: i32,
}

/// Keeper to the sender of a request: done, or why not.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DoneMessage {
    /// Why it was not done; `None` if it was.
    pub error: Option<String>,
}
