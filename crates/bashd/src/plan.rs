//! What will happen: everything decided, nothing left open.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// A run with nothing undecided: `exec` only carries it out.
#[derive(Debug)]
pub struct Plan {
    /// Program and arguments of the shell, without the script.
    pub shell: Shell,
    /// The text that the shell gets.
    pub script: String,
    /// The working directory, held open so that it can't be swapped meanwhile.
    pub cwd: Directory,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// What the command reads.
    pub stdin: Stdin,
    /// One pipe or two.
    pub streams: Streams,
    /// When and how the run is ended.
    pub limits: Limits,
    /// How much output is kept.
    pub quota: Quota,
    /// Directory of this run, made when something of it must outlive the call.
    pub directory: PathBuf,
}

/// The shell of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// What the shell sees as `$0`'s origin: argv[0].
    pub name: OsString,
    /// Arguments before the script, the last of which takes it (`-c`, `-lc`).
    pub args: Vec<OsString>,
}

/// A directory by path and by descriptor.
#[derive(Debug)]
pub struct Directory {
    /// As it was named.
    pub path: PathBuf,
    /// An `O_PATH` descriptor.
    pub fd: OwnedFd,
}

/// What the command reads on stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// `/dev/null`: end of file at once, no waiting for input that never comes.
    Null,
    /// These bytes, as a file.
    Bytes(Vec<u8>),
}

/// How stdout and stderr are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// One pipe: the order of stdout and stderr is true, but nobody can tell them apart.
    Merged,
    /// Two pipes: the streams are apart, their mutual order is not knowable.
    Apart,
}

/// When and how a run is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the shell's start to the deadline.
    pub timeout: Duration,
    /// From TERM to KILL.
    pub grace: Duration,
    /// After the shell's exit, while something of its tree lives: return after so long a silence.
    pub drain_silence: Duration,
    /// The same, in all, however chatty a survivor is.
    pub drain_total: Duration,
    /// What happens to what a normally finished shell left running.
    pub survivors: Survivors,
}

/// What happens to processes that outlive a normal exit of their shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Survivors {
    /// They stay, are reported, and keep a reader on their pipe.
    Keep,
    /// They are ended like a timed-out tree.
    End,
}

/// How many bytes of a run's output the spool keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Quota {
    /// The first so many bytes.
    pub head: u64,
    /// The last so many bytes.
    pub ring: u64,
}
