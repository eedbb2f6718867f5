//! What will happen: everything decided, nothing left open.

mod client_environment;
mod directory;
mod environment;
mod globs;
mod job;
mod steps;

pub use self::client_environment::ClientEnvironment;
use self::client_environment::Guarded;
use crate::config::{Config, Surroundings};
use crate::error::{Error, ErrorKind, Result};
use crate::guard::safe_mode::Form;
use crate::guard::safe_mode::environment::scrub;
use crate::output::line_limits::LineLimits;
use crate::profile::Profile;
use crate::profile::rules::ShellChoice;
use crate::request::{Accepted, Ends, Request};
pub use crate::request::{Handover, Otherwise};
use crate::rewrite::Command;
use crate::run_id::RunId;
pub use job::JobPlan;
use rustix::fs::Access;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where programs are looked for when the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A run with nothing undecided: `exec` only carries it out.
#[derive(Debug)]
pub struct Plan {
    /// Program and arguments of the shell, without the script.
    pub shell: Shell,
    /// The text that the shell gets; none where a program is started without a shell.
    pub script: Option<String>,
    /// The working directory, held open so that it can't be swapped meanwhile.
    pub cwd: Directory,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The environment as a client hears of it that runs the command itself.
    pub client_env: ClientEnvironment,
    /// What the command reads.
    pub stdin: Stdin,
    /// One pipe or two.
    pub streams: Streams,
    /// Which lines of the whole output are shown.
    pub lines: LineLimits,
    /// When and how the run is ended.
    pub limits: Limits,
    /// How much output is kept.
    pub quota: Quota,
    /// Directory of this run, made when something of it must outlive the call.
    pub directory: PathBuf,
    /// Whether more input may be sent while it runs.
    pub stdin_open: bool,
    /// When it goes on as a job, if it does.
    pub handover: Option<Handover>,
    /// What it would be as a job.
    pub job: JobPlan,
}

/// The shell of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// What the shell sees as `$0`'s origin: `argv[0]`.
    pub name: OsString,
    /// Arguments before the script, the last of which takes it (`-c`, `-lc`), or all there are.
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

/// What a plan is made within: the engine's own state, and the run's name.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) config: &'a Config,
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) id: &'a RunId,
    /// How the command may run.
    pub(crate) form: &'a Form,
    /// Whose job it would be.
    pub(crate) owner: &'a str,
}

/// Decides everything that is still open: directory, environment, shell, limits, place.
///
/// Backends on other machines begin here: a plan that names one is carried out by another arm of
/// `exec`.
pub(crate) fn resolve(
    profile: &Profile,
    request: &Request,
    command: &Command,
    accepted: &Accepted,
    setting: Setting<'_>,
) -> Result<Plan> {
    let Setting {
        config,
        surroundings,
        id,
        form,
        owner: _,
    } = setting;
    let home = environment::home(request, surroundings);
    let wanted = directory::wanted(profile, request, command, surroundings, home);
    let cwd = directory::open(&wanted)?;
    let mut env = environment::of(profile, request, surroundings, id);
    if wanted.by_shell {
        environment::tell_directories(&mut env, &wanted.path, &surroundings.cwd);
    }
    let guarded = if config.gate(profile, request).is_on() {
        Guarded::Yes
    } else {
        Guarded::No
    };
    if config.guard(profile).is_on() {
        env.retain(|(name, _)| !environment::slips_code_past_the_guard(name));
    }
    let (shell, script) = match form {
        Form::AsWritten => (
            find_shell(profile, config, &env, &cwd.path)?,
            Some(command.to_run.clone()),
        ),
        Form::Program { name, arguments } => {
            let program = find_program(name, search_path(&env), &cwd.path);
            (without_shell(program, name, arguments)?, None)
        }
        Form::Steps(list) => {
            env = scrub(env, &cwd.path);
            let script = steps::script(list, &cwd.path)?;
            (plain_bash(&env, &cwd.path)?, Some(script))
        }
    };
    if profile.environment.shell_variable && script.is_some() {
        environment::tell_shell(&mut env, request, &shell);
    }
    let client_env = ClientEnvironment::between(&surroundings.env, &env, guarded);
    let timeout = match accepted.ends {
        Ends::AtTimeout => accepted.timeout,
        Ends::AtJobLimit => config.jobs.max_time,
    };
    let mut limits = profile.limits.with_timeout(timeout);
    limits.survivors = config.survivors.unwrap_or(limits.survivors);
    let job = job::plan(profile, request, setting, &cwd.path, timeout);
    Ok(Plan {
        job,
        stdin_open: request.stdin_open,
        handover: accepted.handover,
        shell,
        script,
        cwd,
        env,
        client_env,
        stdin: request.stdin.clone().map_or(Stdin::Null, Stdin::Bytes),
        streams: profile.output.streams,
        lines: command.lines,
        limits,
        quota: config.quota,
        directory: config.runs_dir().join(id.as_str()),
    })
}

fn find_shell(
    profile: &Profile,
    config: &Config,
    env: &[(OsString, OsString)],
    cwd: &Path,
) -> Result<Shell> {
    let find = |program: &str| find_program(program, search_path(env), cwd);
    let configured = match profile.shell.choice {
        ShellChoice::Configurable => config.shell.as_deref(),
        ShellChoice::Fixed => None,
    };
    let found = match configured {
        Some(program) => find(program).map(|found| Shell {
            program: found,
            name: program.into(),
            args: vec!["-c".into()],
        }),
        None => profile.shell.first_found(find),
    };
    found.ok_or_else(|| {
        let candidates = profile
            .shell
            .candidates
            .iter()
            .map(|shell| shell.program.as_str());
        let names =
            configured.map_or_else(|| candidates.collect::<Vec<_>>().join(", "), Into::into);
        Error::new(ErrorKind::Shell, format!("no such shell: {names}")).about(names)
    })
}

/// The program itself, where a command runs without a shell.
fn without_shell(found: Option<PathBuf>, name: &str, arguments: &[String]) -> Result<Shell> {
    let program = found.ok_or_else(|| {
        Error::new(ErrorKind::Shell, format!("no such program: {name}")).about(name)
    })?;
    Ok(Shell {
        program,
        name: name.into(),
        args: arguments.iter().map(Into::into).collect(),
    })
}

/// A bash that reads no file of its own before the script.
fn plain_bash(env: &[(OsString, OsString)], cwd: &Path) -> Result<Shell> {
    let found = find_program("bash", search_path(env), cwd);
    let program =
        found.ok_or_else(|| Error::new(ErrorKind::Shell, "no such shell: bash").about("bash"))?;
    Ok(Shell {
        program,
        name: "bash".into(),
        args: ["--norc", "--noprofile", "-c"].map(Into::into).to_vec(),
    })
}

fn search_path(env: &[(OsString, OsString)]) -> Option<&OsStr> {
    let path = env.iter().find(|(name, _)| name == "PATH");
    path.map(|(_, value)| value.as_os_str())
}

/// A program as the shell would find it: by its path, or by name in `PATH`.
fn find_program(program: &str, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    let is_executable = |candidate: &Path| {
        candidate.is_file() && rustix::fs::access(candidate, Access::EXEC_OK).is_ok()
    };
    if program.contains('/') {
        return Some(cwd.join(program)).filter(|candidate| is_executable(candidate));
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    std::env::split_paths(path)
        .map(|directory| cwd.join(directory).join(program))
        .find(|candidate| is_executable(candidate))
}
