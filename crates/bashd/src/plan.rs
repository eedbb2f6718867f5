//! What will happen: everything decided, nothing left open.

mod client_environment;
pub(crate) mod confinement;
mod directory;
mod draft;
pub(crate) mod environment;
mod globs;
mod job;
pub(crate) mod missing_program;
mod one_program;
mod outline;
mod reach;
mod resolve;
mod session;
mod shell;
mod steps;
mod strict_environment;
mod terminal;

pub use self::client_environment::ClientEnvironment;
pub(crate) use self::confinement::DecidedConfinements;
pub use self::confinement::granted::GrantableAccess;
pub(crate) use self::directory::check_way_within;
pub(crate) use self::draft::{Draft, RcWish, resolve};
pub(crate) use self::environment::Inheritance;
pub(crate) use self::outline::Outline;
pub(crate) use self::reach::far_place;
pub(crate) use self::resolve::{PlanInput, SessionState, Setting, draft};
pub use self::session::{Overlap, SHARED_PREFIX, SessionKey, SessionPlan};
pub(crate) use self::session::{
    is_shared, overlap_of, owner_of_session, session_of, telling_state,
};
pub(crate) use self::shell::Programs;
pub use self::shell::{Shell, shell_for};
use crate::changes::{Effects, name_after};
use crate::exec::terminal::TerminalHost;
use crate::notice::Notice;
use crate::output::line_limits::LineLimits;
use crate::output::veiled::Veil;
use crate::request::SilenceLimit;
pub use crate::request::{Backgrounding, Otherwise};
use crate::screen::Size;
pub use bashd_keeper::capture::{Quota, Streams, Survivors};
pub use bashd_keeper::confinement::{
    Confinement, ConfinementInForce, HostAccess, Level, Network, PathReach, is_inside,
};
use bashd_keeper::quote::quote;
pub use bashd_keeper::refusals::{Connected, Dealings, Refused, RefusedKind};
pub(crate) use bashd_keeper::resources::Restraint;
pub use bashd_keeper::resources::{Cgroups, LimitKind, LimitsInForce, Resources, parent_group};
pub use bashd_keeper::variables::Variables;
pub use job::JobPlan;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A run with nothing undecided: `exec` only carries it out, and no later stage changes it.
#[derive(Debug)]
pub struct Plan {
    /// What carries it there.
    pub(crate) vessel: Vessel,
    /// What it may use up and reach, where that is limited.
    pub(crate) restraint: Option<Restraint>,
    /// When its effects on files become real.
    pub effects: Effects,
    /// Program and arguments of the shell, without the script.
    pub shell: Shell,
    /// The text that the shell gets; `None` if a program is started without a shell.
    pub script: Option<String>,
    /// The script that the shell sources before the command.
    pub rc_script: Option<PathBuf>,
    /// What it evaluates after that, still before the command.
    pub(crate) setup: Option<String>,
    /// The program that the script is a call of, if it is that and nothing else.
    pub program: Option<OneProgram>,
    /// The working directory, held open so that it cannot be swapped meanwhile.
    pub cwd: OpenDirectory,
    /// The whole environment.
    pub env: Variables,
    /// What the command reads.
    pub stdin: StdinSource,
    /// Whether more input may be sent while it runs.
    pub stdin_open: bool,
    /// One pipe or two.
    pub streams: Streams,
    /// Which lines of the whole output are shown.
    pub lines: LineLimits,
    /// Directories that are created before anything runs.
    pub make_directories: Vec<PathBuf>,
    /// When and how the run is ended.
    pub limits: Limits,
    /// How long it may be silent, where that is limited: then it goes on as a job, or is ended.
    pub(crate) silence: Option<SilenceLimit>,
    /// How much output is kept.
    pub quota: Quota,
    /// Whether the times of its output are recorded.
    pub records: bool,
    /// When it continues as a job, if it does.
    pub backgrounding: Option<Backgrounding>,
    /// When its call is answered at the latest, if it can go on as a job: whatever it waited for
    /// before its start counts.
    pub(crate) answer_by: Option<Instant>,
    /// What it would be as a job.
    pub job: JobPlan,
    /// Directory of this run, made when something of it must outlive the call.
    pub directory: PathBuf,
    /// What the caller should know about what was decided.
    pub notes: Vec<String>,
    /// What is to be said about the plan.
    pub notices: Vec<Notice>,
}

/// What carries a run.
#[derive(Debug)]
pub(crate) enum Vessel {
    /// A new shell, which ends with the command.
    OwnShell,
    /// A shell that was started ahead and waits for such a command; a new one if none waits.
    StartedShell,
    /// The shell of a session.
    Session(Box<SessionPlan>),
    /// A new shell in a terminal of ours, which has this size.
    Terminal(Size),
    /// A terminal of the client's, and what its environment needs.
    ClientTerminal(TerminalHost, ClientEnvironment),
}

impl Vessel {
    /// The session, if it is one's shell.
    pub(crate) fn session(&self) -> Option<&SessionPlan> {
        match self {
            Self::Session(session) => Some(session),
            Self::OwnShell | Self::StartedShell | Self::Terminal(_) | Self::ClientTerminal(..) => {
                None
            }
        }
    }

    /// The size of the terminal, if it is one of ours.
    pub(crate) fn terminal(&self) -> Option<Size> {
        match self {
            Self::Terminal(size) => Some(*size),
            Self::OwnShell | Self::StartedShell | Self::Session(_) | Self::ClientTerminal(..) => {
                None
            }
        }
    }

    /// Whether the command has a terminal, ours or the client's.
    pub(crate) fn is_terminal(&self) -> bool {
        match self {
            Self::Terminal(_) | Self::ClientTerminal(..) => true,
            Self::OwnShell | Self::StartedShell | Self::Session(_) => false,
        }
    }

    /// Whether a shell that was started ahead may be used, even by a call that has to run without
    /// its session.
    pub(crate) fn may_be_started(&self) -> bool {
        match self {
            Self::StartedShell => true,
            Self::Session(session) => session.may_be_started,
            Self::OwnShell | Self::Terminal(_) | Self::ClientTerminal(..) => false,
        }
    }
}

/// A program that a script calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneProgram {
    /// Its whole path.
    pub path: String,
    /// Whether the shell becomes it.
    pub replaces_shell: bool,
}

/// What a reply says whose command ran twice.
const RAN_TWICE: &str =
    "the command failed and ran a second time, with its files watched; this is its second run";

impl Plan {
    /// The id of its run.
    pub(crate) fn id(&self) -> &str {
        let name = self.directory.file_name().and_then(|name| name.to_str());
        name.unwrap_or_default()
    }

    /// The plan of a second run of the same command, which tells which files it is refused.
    pub(crate) fn again_with_files_watched(mut self) -> Self {
        let restraint = self.restraint.as_mut();
        if let Some(confinement) = restraint.and_then(|held| held.confinement.as_mut()) {
            confinement.to_mut().watches_files = true;
        }
        self.notes.push(RAN_TWICE.to_owned());
        self
    }

    /// The plan of a call of a session whose effects are held: its layers are those of a change
    /// that an earlier call of the session began.
    pub(crate) fn in_layers_of(mut self, changes: &Path, id: &str) -> Self {
        let restraint = self.restraint.as_mut();
        if let Some(confinement) = restraint.and_then(|held| held.confinement.as_mut()) {
            name_after(&mut confinement.to_mut().layers, changes, id);
        }
        self
    }

    /// What must not be shown of its output.
    pub(crate) fn veil(&self) -> Veil {
        if self.job.spec.hides_secrets {
            Veil::over(Arc::clone(&self.job.secrets))
        } else {
            Veil::default()
        }
    }

    /// What a shell gets that has already sourced its rc script.
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
        if self.rc_script.is_none() && self.setup.is_none() {
            return Some(script.into_bytes());
        }
        let mut text = Vec::new();
        if let Some(rc_script) = &self.rc_script {
            text.extend(b". ");
            quote(&mut text, rc_script.as_os_str().as_encoded_bytes());
            text.extend(b" </dev/null >/dev/null 2>&1; ");
        }
        if let Some(setup) = &self.setup {
            text.extend(setup.as_bytes());
            text.push(b'\n');
        }
        text.extend(br"\builtin eval ");
        quote(&mut text, script.as_bytes());
        Some(text)
    }

    /// The environment without the id of the run, which a shell that waits can't know.
    pub(crate) fn env_of_shell(&self) -> Variables {
        let mut env = self.env.clone();
        env.retain(|name, _| name != environment::RUN_VARIABLE);
        env
    }
}

/// A directory by path and by descriptor.
#[derive(Debug)]
pub struct OpenDirectory {
    /// As it was named.
    pub path: PathBuf,
    /// An `O_PATH` descriptor.
    pub fd: OwnedFd,
}

/// What the command reads on stdin.
#[derive(Debug, Clone, Default)]
pub enum StdinSource {
    /// `/dev/null`: end of file at once, no waiting for input that never comes.
    #[default]
    Null,
    /// These bytes, as a file.
    Bytes(Vec<u8>),
    /// Whatever is open there: a file of any length, a pipe that has not ended yet.
    Open(Arc<OwnedFd>),
}

impl StdinSource {
    /// Whether there is nothing to read.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
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
    /// Likewise, while something still works on the last of the output, as `>(…)` does.
    pub drain_finish: Duration,
    /// What happens to processes that a normally finished shell left running.
    pub survivors: Survivors,
}

impl Limits {
    /// The same, but survivors end with the run if this holds: the processes of a confined run are
    /// its own.
    #[must_use]
    fn ending_survivors_if(mut self, they_end: bool) -> Self {
        if they_end {
            self.survivors = Survivors::End;
        }
        self
    }
}
