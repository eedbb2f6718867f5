//! Running a plan in a terminal of the client: the command is the client's process, not ours.
//!
//! A host that shows terminals to its user (an editor, an agent's own interface) offers them by
//! [`ClientTerminal`]. A call then runs there instead of under a keeper: the terminal is created,
//! its output polled, its exit awaited, and it is released whatever happens. This file has the
//! trait, `follow` the life of one such run, `transcript` what becomes of the polled output.
//!
//! Nothing here trusts the client: every request to it is bounded in time, a terminal that it
//! hands out too late is given back at once, and the last output seen is kept when it falls silent.

mod follow;
mod transcript;

pub(crate) use follow::run;

use crate::config::Config;
use crate::plan::{ClientEnvironment, Plan};
use crate::profile::Profile;
use crate::request::{OnTimeout, Request};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// What a client answers, in its own time: a value, or its reason in words.
pub type ClientAnswer<'a, T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// A host that runs commands in its own terminals.
pub trait ClientTerminal: Send + Sync {
    /// Starts a program in a new terminal; returns its id at once.
    fn create(&self, terminal: NewTerminal) -> ClientAnswer<'_, String>;

    /// What the terminal holds by now.
    fn output<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, TerminalOutput>;

    /// Like `output`, for a client that kept less than the requested limit of this many bytes.
    fn output_again<'a>(&'a self, id: &'a str, limit: u64) -> ClientAnswer<'a, TerminalOutput> {
        let _ = limit;
        self.output(id)
    }

    /// Answers when the program has ended.
    fn wait_for_exit<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, TerminalExit>;

    /// Ends the program; the terminal stays readable.
    fn kill<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, ()>;

    /// Gives the terminal back; the id is void afterwards.
    fn release<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, ()>;

    /// How long to wait for the client.
    fn patience(&self) -> Patience {
        Patience::default()
    }
}

/// How long to wait for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a new terminal: the client may ask its user first.
    pub create: Duration,
    /// For any other answer, and for the exit of a program that was killed.
    pub answer: Duration,
    /// Between two polls of the output.
    pub poll: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            create: Duration::from_secs(30),
            answer: Duration::from_secs(5),
            poll: Duration::from_millis(250),
        }
    }
}

/// What a client should start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTerminal {
    /// The program, executed as it is: no shell reads it.
    pub command: String,
    /// Its arguments, the last of which is the script where the program is a shell.
    pub args: Vec<String>,
    /// Variables to set on top of the client's own environment.
    pub env: Vec<(String, String)>,
    /// An absolute path.
    pub cwd: String,
    /// The client may forget the beginning of a longer output.
    pub output_byte_limit: u64,
}

/// What a terminal held when it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalOutput {
    /// The text, or the end of it.
    pub text: String,
    /// Whether the client says that this is not all: it has dropped the beginning.
    pub truncated: bool,
    /// How the program ended, if it has.
    pub exit: Option<TerminalExit>,
}

/// How a program in a client's terminal ended, as far as the client says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalExit {
    /// Its status.
    pub code: Option<i32>,
    /// The name of the signal that ended it.
    pub signal: Option<String>,
}

/// Bytes that a client's terminal is asked to keep. What it drops before it is polled is gone, so
/// this is well above what a command writes between two looks.
const OUTPUT_BYTE_LIMIT: u64 = 1024 * 1024;

impl NewTerminal {
    /// What a plan asks a client to start; an error names what the protocol cannot express.
    fn of(plan: &Plan, changes: &ClientEnvironment) -> Result<Self, String> {
        let text = |what: &std::ffi::OsStr| {
            let bytes = what.as_bytes();
            std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| {
                let shown = String::from_utf8_lossy(bytes);
                format!("a client's terminal needs UTF-8, which this is not: {shown}")
            })
        };
        let shell_args = plan.shell.args.iter().map(|argument| text(argument));
        let mut args = shell_args.collect::<Result<Vec<_>, _>>()?;
        args.extend(plan.script.clone());
        let mut command = text(plan.shell.program.as_os_str())?;
        if !changes.unset.is_empty() {
            let unset = changes.unset.iter();
            let mut wrapped = Vec::new();
            for name in unset {
                wrapped.extend(["-u".to_owned(), text(name)?]);
            }
            wrapped.push(std::mem::replace(&mut command, "env".to_owned()));
            wrapped.append(&mut args);
            args = wrapped;
        }
        let set = changes.set.iter();
        Ok(Self {
            command,
            args,
            env: set
                .map(|(name, value)| Ok((text(name)?, text(value)?)))
                .collect::<Result<_, String>>()?,
            cwd: text(plan.cwd.path.as_os_str())?,
            output_byte_limit: OUTPUT_BYTE_LIMIT,
        })
    }
}

/// A host's terminals, as part of a call.
#[derive(Clone)]
pub(crate) struct TerminalHost(pub(crate) Arc<dyn ClientTerminal>);

/// Whether a request can run in a client's terminal: it takes no input from us, needs no terminal
/// of ours, keeps no shell across calls, and never becomes a job, by itself either.
pub(crate) fn suits(profile: &Profile, request: &Request, config: &Config) -> bool {
    let goes_on_by_itself = profile.background.auto && config.auto_background.is_some();
    let has_input = !request.stdin.is_null() || request.stdin_open;
    let is_job = request.background || request.on_timeout == Some(OnTimeout::Background);
    let is_in_session = request.session.is_some();
    !has_input && !is_job && !goes_on_by_itself && !is_in_session && !request.pty
}

impl fmt::Debug for TerminalHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Host")
    }
}
