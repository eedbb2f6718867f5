//! What the caller said: the [`Request`], and how a profile's JSON input becomes one.
//!
//! Parsing only validates what was typed; it never touches the system (that is the task of `plan`).

mod needs;
mod parse;
mod validate;

pub(crate) use needs::MOST_NEEDS;
pub use needs::NeededAccess;
pub use parse::parse;
pub(crate) use parse::parse_over;
pub use validate::{Accepted, Backgrounding, DeadlineKind, Otherwise, validate};
pub(crate) use validate::{AfterSilence, SilenceLimit, refuse_switched_off};

use crate::changes::Effects;
use crate::config::Preset;
use crate::guard::safe_mode::SafeMode;
use crate::jobs::WaitFor;
use crate::plan::{Resources, StdinSource};
use crate::profile::Profile;
pub use crate::profile::arguments::Issue;
use crate::screen::Size;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// One call, in the engine's own terms, whatever the spelling of front end or profile was.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own, with a yes or a no"
)]
pub struct Request {
    /// Name of the profile whose contract applies; empty means `default`.
    pub profile: String,
    /// The shell script to run.
    pub command: String,
    /// Working directory; `None` means the engine's own.
    pub cwd: Option<PathBuf>,
    /// Variables added to the engine's environment for this call, in order.
    pub env: Vec<(OsString, OsString)>,
    /// How long the command may run; `None` means the profile's default.
    pub timeout: Option<Duration>,
    /// The timeout in seconds as it was given: no duration is below 0, or endless.
    pub(crate) timeout_as_given: Option<f64>,
    /// What the shell evaluates before a command that a person typed, in the same shell: neither
    /// judged nor recorded. Without effect for any other command.
    pub setup: Option<String>,
    /// What the command reads on stdin.
    pub stdin: StdinSource,
    /// Name of one of the profile's modes (`slow`); `None` means its default mode.
    pub mode: Option<String>,
    /// Whether only read-only commands may run; `None` means as configured, otherwise as the
    /// profile says.
    pub safe_mode: Option<SafeMode>,
    /// What the command may reach: the configured preset, or a stricter one.
    pub confine: Option<Preset>,
    /// What it needs beyond that: somebody is asked.
    pub needs: NeededAccess,
    /// Whether the command may run a second time, if it failed, in order to tell what it was
    /// refused (`confinement.report`).
    pub repeatable: bool,
    /// When its effects on files become real: as configured, or later.
    pub effects: Option<Effects>,
    /// Whether the times of its output are recorded; `None` means as configured, otherwise as the
    /// profile says.
    pub record: Option<bool>,
    /// Whether another tool is suggested if the caller has a better one; `None` means as
    /// configured, otherwise as the profile says.
    pub interceptor: Option<bool>,
    /// The names of the caller's other tools.
    pub tools: Vec<String>,
    /// The session in whose shell the command runs; `None` means as the profile says.
    pub session: Option<String>,
    /// Whether the session begins again with a new shell, in which the command, if any, then runs.
    pub restart: bool,
    /// Whether the command is input of the one that runs in the terminal of its session.
    pub(crate) is_input: bool,
    /// Whether the call returns at once, and the command continues as a job.
    pub background: bool,
    /// What the call waits for before it returns, if the command is a job from its beginning.
    pub until: Option<WaitFor>,
    /// What happens at the timeout; `None` means that it ends the command.
    pub on_timeout: Option<OnTimeout>,
    /// Longest time that the call waits; then the command continues as a job, and its timeout still
    /// applies.
    pub wait_max: Option<Duration>,
    /// Whether the call itself said that, and not its server.
    pub(crate) says_its_wait: bool,
    /// The place at which the command runs; `None` means here.
    pub on: Option<String>,
    /// Whether more input may be sent to the command while it runs.
    pub stdin_open: bool,
    /// Whose job it is, if it becomes one; `None` means this program and user.
    pub owner: Option<String>,
    /// Whether the command gets a terminal, if there can be one.
    pub pty: bool,
    /// The terminal's size; `None` means 120 columns and 40 rows.
    pub terminal_size: Option<Size>,
    /// Whether somebody watches who could type; some profiles give a terminal only then.
    pub ui: bool,
    /// Whose command it is.
    pub by: By,
    /// Show only this many first lines of the whole output; `None` or 0 means all.
    pub head: Option<u64>,
    /// Show only this many last lines of the whole output (or of its head); `None` or 0 means all.
    pub tail: Option<u64>,
    /// Resource limits; as configured where it says nothing.
    pub resources: Resources,
    /// Several commands instead of one, where the profile has a parameter for that: they run one
    /// after the other, each like a call of its own.
    pub(crate) commands: Vec<String>,
    /// Show at most this many bytes of the output; `None` means as the profile says.
    pub(crate) most_bytes: Option<usize>,
    /// The same as the call gave it.
    pub(crate) max_output: Option<u64>,
    /// What the command does, in the caller's words.
    pub(crate) description: Option<String>,
}

/// Whose command a request is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum By {
    /// A model's: rewritten, judged, and run where nobody answers questions.
    #[default]
    Model,
    /// A program's, for its user: run as it was typed, beside whatever else its session runs, and
    /// judged.
    Program,
    /// A person's, typed at the console: run as it is, in that person's own environment.
    Person,
    /// A person's, and the record says that no agent should be told.
    PersonApart,
}

impl By {
    /// Whether a person typed it.
    pub fn is_person(self) -> bool {
        match self {
            Self::Model | Self::Program => false,
            Self::Person | Self::PersonApart => true,
        }
    }

    /// Whether the text is run as it was typed: nothing is rewritten, and no address becomes a
    /// path.
    pub fn is_typed(self) -> bool {
        match self {
            Self::Model => false,
            Self::Program | Self::Person | Self::PersonApart => true,
        }
    }
}

/// What happens to a command that runs longer than its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// It continues as a job, and the call returns what there is.
    Background,
    /// It is ended, with everything that it started.
    Kill,
}

impl OnTimeout {
    /// Its names in JSON, in the order of the schema.
    pub const NAMES: [&'static str; 2] = ["background", "kill"];

    /// The value with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "background" => Some(Self::Background),
            "kill" => Some(Self::Kill),
            _ => None,
        }
    }
}

impl Request {
    /// A request to run `command` under the default profile.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            ..Self::default()
        }
    }

    /// Chooses the profile by name.
    #[must_use]
    pub fn profile(mut self, name: impl Into<String>) -> Self {
        self.profile = name.into();
        self
    }

    /// Gives the command a terminal.
    #[must_use]
    pub fn pty(mut self) -> Self {
        self.pty = true;
        self
    }

    /// Sets the terminal's size.
    #[must_use]
    pub fn terminal_size(mut self, size: Size) -> Self {
        self.terminal_size = Some(size);
        self
    }

    /// Runs the command at a place of the configuration.
    #[must_use]
    pub fn on(mut self, place: impl Into<String>) -> Self {
        self.on = Some(place.into());
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cwd = Some(directory.into());
        self
    }

    /// Adds one environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets how long the command may run.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Gives the command something to read on stdin.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = StdinSource::Bytes(bytes.into());
        self
    }

    /// Lets the command read what is open here, as it arrives. Such a call has its own shell, and
    /// no more can be sent to it later.
    #[must_use]
    pub fn stdin_from(mut self, file: impl Into<OwnedFd>) -> Self {
        self.stdin = StdinSource::Open(Arc::new(file.into()));
        self
    }

    /// Chooses whether only read-only commands may run.
    #[must_use]
    pub fn safe_mode(mut self, mode: SafeMode) -> Self {
        self.safe_mode = Some(mode);
        self
    }

    /// Confines the command by this preset, which must not be less strict than the configured one.
    #[must_use]
    pub fn confine(mut self, preset: Preset) -> Self {
        self.confine = Some(preset);
        self
    }

    /// Asks for more than the confinement gives.
    #[must_use]
    pub fn needs(mut self, needs: NeededAccess) -> Self {
        self.needs = needs;
        self
    }

    /// Says that the command may run a second time, if it failed, in order to tell what it was
    /// refused.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Holds the command's effects on files, or lets them be undone.
    #[must_use]
    pub fn effects(mut self, effects: Effects) -> Self {
        self.effects = Some(effects);
        self
    }

    /// Refuses commands for which one of these tools of the caller is better.
    #[must_use]
    pub fn intercept_for<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.interceptor = Some(true);
        self.tools = tools.into_iter().map(Into::into).collect();
        self
    }

    /// Runs the command in the shell of this session, where earlier calls left it.
    #[must_use]
    pub fn session(mut self, name: impl Into<String>) -> Self {
        self.session = Some(name.into());
        self
    }

    /// Begins the session again with a new shell, before the command runs there.
    #[must_use]
    pub fn restart(mut self) -> Self {
        self.restart = true;
        self
    }

    /// Makes the call return at once, and the command continue as a job.
    #[must_use]
    pub fn background(mut self) -> Self {
        self.background = true;
        self
    }

    /// Makes a call that returns at once wait for this first, so that start and readiness are one
    /// call.
    #[must_use]
    pub fn until(mut self, ready: WaitFor) -> Self {
        self.until = Some(ready);
        self
    }

    /// Chooses what happens at the timeout.
    #[must_use]
    pub fn on_timeout(mut self, what: OnTimeout) -> Self {
        self.on_timeout = Some(what);
        self
    }

    /// Bounds how long the call waits before the command continues as a job.
    #[must_use]
    pub fn wait_max(mut self, longest: Duration) -> Self {
        self.wait_max = Some(longest);
        self
    }

    /// Keeps the command's stdin open, so that input can be sent later.
    #[must_use]
    pub fn stdin_open(mut self) -> Self {
        self.stdin_open = true;
        self
    }

    /// Says whose job it is, if it becomes one.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Limits what the command may use; what this leaves open is as configured.
    #[must_use]
    pub fn resources(mut self, limits: Resources) -> Self {
        self.resources = limits;
        self
    }

    /// Chooses one of the profile's modes by name.
    #[must_use]
    pub fn mode(mut self, name: impl Into<String>) -> Self {
        self.mode = Some(name.into());
        self
    }
}

/// Why a request was refused before anything ran: for the caller to fix.
///
/// Profiles give each kind its own text (`[refusals]` in `profiles/*.toml`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was wrong, as data.
    pub kind: RefusalKind,
    /// The offending name, value or parser message; fills `{detail}` in the profile's text.
    pub detail: String,
    /// The names that there are, where one was unknown; fill `{known}`.
    pub known: Vec<String>,
    /// Everything that is wrong with the arguments, where that was looked for.
    pub issues: Vec<Issue>,
}

impl Refusal {
    /// A refusal of a kind; `detail` names what was wrong.
    pub fn new(kind: RefusalKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            known: Vec::new(),
            issues: Vec::new(),
        }
    }

    /// What the first of these says, and all of them as data; `None` if there is none.
    pub(crate) fn of_issues(issues: Vec<Issue>) -> Option<Self> {
        let (kind, detail) = match issues.first()? {
            Issue::Missing(name) => (RefusalKind::MissingParameter, name.clone()),
            Issue::Unknown(name) => (RefusalKind::UnknownParameter, name.clone()),
            Issue::WrongType {
                name,
                expected,
                got,
            } => {
                let detail = format!("`{name}` must be of the type {expected}, not {got}");
                (RefusalKind::WrongType, detail)
            }
        };
        Some(Self {
            issues,
            ..Self::new(kind, detail)
        })
    }

    /// A parameter of this name, which the profile does not have.
    fn of_unknown(profile: &Profile, name: &str) -> Self {
        let known = profile.parameters.iter().map(|known| known.name.clone());
        Self {
            known: known.collect(),
            ..Self::new(RefusalKind::UnknownParameter, name)
        }
    }
}

/// The ways in which a request can be bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusalKind {
    /// The input is not JSON.
    InvalidJson,
    /// The input is JSON, but not an object.
    NotAnObject,
    /// `command` is missing or blank.
    MissingCommand,
    /// The profile has no such parameter.
    UnknownParameter,
    /// A parameter has the wrong type.
    WrongType,
    /// A parameter has the right type and a value that is not allowed.
    InvalidValue,
    /// A NUL byte in the command or the environment, which no shell accepts.
    NulByte,
    /// There is no profile with that name.
    UnknownProfile,
    /// The profile has it, but this version of bashd does not support it yet.
    NotAvailable,
    /// An invalid environment variable name.
    InvalidEnvName,
    /// A background run was requested, and the configuration disables them.
    BackgroundDisabled,
    /// A background run was requested where no tool manages jobs.
    BackgroundUnavailable,
    /// An internal URL cannot be used.
    InternalUrl,
    /// A background run was requested, and there are already as many jobs as there may be.
    TooManyJobs,
    /// A parameter is missing.
    MissingParameter,
    /// The profile has no such tool.
    UnknownTool,
    /// A tool that manages jobs says no, in its own words.
    OfTool,
}
