//! What will happen: everything decided, nothing left open.

mod client_environment;
mod directory;
pub(crate) mod environment;
mod globs;
mod job;
mod one_program;
mod resolve;
pub(crate) mod resources;
mod session;
mod session_plan;
mod shell;
mod steps;
mod terminal;

pub use self::client_environment::ClientEnvironment;
pub(crate) use self::environment::Inheritance;
pub(crate) use self::resolve::{Host, Setting, resolve};
pub use self::session::{Overlap, SessionKey, SessionPlan};
pub(crate) use self::shell::Programs;
pub use self::shell::{Shell, shell_for};
use crate::notice::Notice;
use crate::output::line_limits::LineLimits;
pub use crate::request::{Handover, Otherwise};
use crate::screen::Size;
pub use crate::variables::Variables;
pub use job::JobPlan;
pub(crate) use resources::Restraint;
pub use resources::{Cgroups, LimitKind, LimitsInForce, Resources, parent_group};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A run with nothing undecided: `exec` only carries it out.
#[derive(Debug)]
pub struct Plan {
    /// Program and arguments of the shell, without the script.
    pub shell: Shell,
    /// The text that the shell gets; `None` if a program is started without a shell.
    pub script: Option<String>,
    /// The working directory, held open so that it cannot be swapped meanwhile.
    pub cwd: Directory,
    /// The whole environment.
    pub env: Variables,
    /// The environment as described to a client that runs the command itself.
    pub client_env: ClientEnvironment,
    /// What the command reads.
    pub stdin: Stdin,
    /// One pipe or two.
    pub streams: Streams,
    /// Which lines of the whole output are shown.
    pub lines: LineLimits,
    /// Directories that are created before anything runs.
    pub make_directories: Vec<PathBuf>,
    /// When and how the run is ended.
    pub limits: Limits,
    /// How much output is kept.
    pub quota: Quota,
    /// The session in whose shell the command runs; `None` for its own shell.
    pub session: Option<SessionPlan>,
    /// A script that the shell sources before the command.
    pub snapshot: Option<PathBuf>,
    /// The program that the script calls, if it does nothing else.
    pub program: Option<OneProgram>,
    /// Whether the shell loads what the user's rc file sets up, if there is a snapshot.
    pub wants_snapshot: bool,
    /// Whether an already started shell will do.
    pub warmth: Warmth,
    /// What the caller should know about these decisions.
    pub notes: Vec<String>,
    /// Directory of this run, created when some of it must outlive the call.
    pub directory: PathBuf,
    /// The size of the command's terminal, which replaces its pipes.
    pub terminal: Option<Size>,
    /// Notices about the plan.
    pub notices: Vec<Notice>,
    /// Whether more input may be sent while it runs.
    pub stdin_open: bool,
    /// When it continues as a job, if it does.
    pub handover: Option<Handover>,
    /// What it would be as a job.
    pub job: JobPlan,
    /// Its resource limits, if any.
    pub(crate) restraint: Option<Restraint>,
}

/// A program that a script calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneProgram {
    /// Its whole path.
    pub path: String,
    /// Whether the shell becomes it.
    pub replaces_shell: bool,
}

/// Whether an already started shell will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmth {
    /// It must be a new one.
    Cold,
    /// One that has sourced the plan's snapshot will do; without a snapshot a new one is as good,
    /// since it becomes the one program that it should run.
    WarmWithSnapshot,
    /// It will.
    Warm,
}

impl Plan {
    /// Has the shell source a snapshot before the command.
    pub(crate) fn source(&mut self, snapshot: PathBuf) {
        if let Some(session) = &mut self.session {
            session.key.snapshot = Some(snapshot.clone());
        }
        self.snapshot = Some(snapshot);
    }

    /// What a shell gets that has already sourced what it should.
    pub(crate) fn script_of_started_shell(&self) -> Option<String> {
        let script = self.script.as_ref()?;
        Some(match &self.program {
            // The variable is what the program would find under `bash -c`.
            Some(OneProgram {
                path,
                replaces_shell: true,
            }) => format!("_={path} exec {script}"),
            _ => script.clone(),
        })
    }

    /// What a new shell gets: the script, after what it sources first.
    pub(crate) fn script_of_new_shell(&self) -> Option<Vec<u8>> {
        let script = self.script_of_started_shell()?;
        let Some(snapshot) = &self.snapshot else {
            return Some(script.into_bytes());
        };
        let mut text = b". ".to_vec();
        quote(&mut text, snapshot.as_os_str().as_encoded_bytes());
        text.extend(br" </dev/null >/dev/null 2>&1; \builtin eval ");
        quote(&mut text, script.as_bytes());
        Some(text)
    }

    /// Whether an already started shell will do.
    pub(crate) fn suits_warm_shell(&self) -> bool {
        let by_kind = match self.warmth {
            Warmth::Cold => false,
            Warmth::WarmWithSnapshot => self.snapshot.is_some(),
            Warmth::Warm => true,
        };
        by_kind
            && self.stdin.is_null()
            && !self.stdin_open
            && self.terminal.is_none()
            && self.restraint.is_none()
    }

    /// The environment without the id of the run, which a waiting shell cannot know.
    pub(crate) fn env_of_shell(&self) -> Variables {
        let mut env = self.env.clone();
        env.retain(|name| name != environment::RUN_VARIABLE);
        env
    }
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
#[derive(Debug, Clone, Default)]
pub enum Stdin {
    /// `/dev/null`: end of file at once, no waiting for input that never comes.
    #[default]
    Null,
    /// These bytes, as a file.
    Bytes(Vec<u8>),
    /// Whatever is open there: a file of any length, a pipe that has not ended yet.
    Open(Arc<OwnedFd>),
}

impl Stdin {
    /// Whether there is nothing to read.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// How stdout and stderr are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// One pipe: the order of stdout and stderr is exact, but they cannot be told apart.
    Merged,
    /// Two pipes: the streams are separate, their relative order is unknown.
    Apart,
}

/// When and how a run is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the shell's start to the deadline.
    pub timeout: Duration,
    /// From TERM to KILL.
    pub grace: Duration,
    /// After the shell's exit, while something in its tree lives: return after this much silence.
    pub drain_silence: Duration,
    /// Total bound for that, however chatty a survivor is.
    pub drain_total: Duration,
    /// What happens to processes that a normally finished shell left running.
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
    /// This many first bytes.
    pub head: u64,
    /// This many last bytes.
    pub ring: u64,
}

/// Quotes text as one word for a shell, whatever it contains.
pub(crate) fn quote(text: &mut Vec<u8>, word: &[u8]) {
    text.push(b'\'');
    for &byte in word {
        if byte == b'\'' {
            text.extend(br"'\''");
        } else {
            text.push(byte);
        }
    }
    text.push(b'\'');
}
