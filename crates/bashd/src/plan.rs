//! What will happen: everything decided, nothing left open.

mod client_environment;
mod directory;
pub(crate) mod environment;
mod globs;
mod job;
pub(crate) mod resources;
mod session;
mod shell;
mod steps;
mod terminal;

pub use self::client_environment::ClientEnvironment;
use self::client_environment::Guarded;
pub use self::session::{Overlap, SessionKey, SessionPlan};
use self::shell::Place;
pub(crate) use self::shell::Programs;
pub use self::shell::{Shell, shell_for};
use crate::config::{Config, Surroundings};
use crate::error::Result;
use crate::guard::safe_mode::Form;
use crate::guard::safe_mode::environment::scrub;
use crate::notice::Notice;
use crate::output::line_limits::LineLimits;
use crate::profile::Profile;
use crate::profile::rules::ShellChoice;
use crate::request::{Accepted, Ends, Request};
pub use crate::request::{Handover, Otherwise};
use crate::rewrite::Command;
use crate::run_id::RunId;
use crate::screen::Size;
use crate::script::Shape;
pub use job::JobPlan;
pub(crate) use resources::Restraint;
pub use resources::{Cgroups, LimitKind, LimitsInForce, Resources, parent_group};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

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
    /// Directories that are made before anything runs.
    pub make_directories: Vec<PathBuf>,
    /// When and how the run is ended.
    pub limits: Limits,
    /// How much output is kept.
    pub quota: Quota,
    /// The session in whose shell the command runs; none for a shell of its own.
    pub session: Option<SessionPlan>,
    /// A script that the shell sources before the command.
    pub snapshot: Option<PathBuf>,
    /// Whether the shell takes over what the user's rc file sets up, where that can be had.
    pub wants_snapshot: bool,
    /// Whether a shell that has already started will do.
    pub warmth: Warmth,
    /// What the caller should know about what was decided.
    pub notes: Vec<String>,
    /// Directory of this run, made when something of it must outlive the call.
    pub directory: PathBuf,
    /// The size of the command's terminal, which it has in place of pipes.
    pub terminal: Option<Size>,
    /// What is to be said about the plan.
    pub notices: Vec<Notice>,
    /// Whether more input may be sent while it runs.
    pub stdin_open: bool,
    /// When it goes on as a job, if it does.
    pub handover: Option<Handover>,
    /// What it would be as a job.
    pub job: JobPlan,
    /// What it may use up, where that is limited.
    pub(crate) restraint: Option<Restraint>,
}

/// Whether a shell that has already started will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmth {
    /// It must be a new one.
    Cold,
    /// One that has sourced the plan's snapshot will do; without a snapshot a new one is as good, since
    /// it becomes the one program that it is to run.
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

    /// What a new shell gets: the script behind what it sources first.
    pub(crate) fn script_of_new_shell(&self) -> Option<Vec<u8>> {
        let script = self.script.as_ref()?;
        let Some(snapshot) = &self.snapshot else {
            return Some(script.clone().into_bytes());
        };
        let mut text = b". ".to_vec();
        quote(&mut text, snapshot.as_os_str().as_encoded_bytes());
        text.extend(br" </dev/null >/dev/null 2>&1; \builtin eval ");
        quote(&mut text, script.as_bytes());
        Some(text)
    }

    /// Whether a shell that has already started will do.
    pub(crate) fn suits_warm_shell(&self) -> bool {
        let by_kind = match self.warmth {
            Warmth::Cold => false,
            Warmth::WarmWithSnapshot => self.snapshot.is_some(),
            Warmth::Warm => true,
        };
        by_kind
            && self.stdin == Stdin::Null
            && !self.stdin_open
            && self.terminal.is_none()
            && self.restraint.is_none()
    }

    /// The environment without the id of the run, which a shell that waits can't know.
    pub(crate) fn env_of_shell(&self) -> impl Iterator<Item = &(OsString, OsString)> {
        let is_run = |(name, _): &&(OsString, OsString)| name == environment::RUN_VARIABLE;
        self.env.iter().filter(move |variable| !is_run(variable))
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
    /// What kind of script it is.
    pub(crate) shape: Shape,
    pub(crate) programs: &'a Programs,
    /// Whose processes it will be.
    pub(crate) host: Host,
}

/// Who runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// A keeper of ours.
    Us,
    /// The client, in a terminal of its own.
    Client,
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
        programs,
        id,
        ..
    } = setting;
    let cd = cd_of_the_shell(profile, config, request, command);
    let home = environment::home(request, surroundings);
    let lifted = command.leading_cd.as_ref().filter(|_| cd.is_empty());
    let wanted = directory::wanted(profile, request, lifted, surroundings, home);
    let cwd = directory::open(&wanted)?;
    let (terminal, notice) = terminal::decide(profile, request, config, surroundings);
    let mut env = environment::of(profile, request, surroundings, programs, id);
    if terminal.is_some() {
        terminal::tell(&mut env, request);
    }
    if wanted.by_shell {
        environment::tell_directories(&mut env, &wanted.path, &surroundings.cwd);
    }
    if config.guard(profile).is_on() {
        env.retain(|(name, _)| !environment::slips_code_past_the_guard(name));
    }
    let wish = Wish {
        profile,
        request,
        setting,
    };
    let text = format!("{cd}{}", with_prefix(profile, config, &command.to_run));
    let (shell, script) = shell_and_script(wish, text, &mut env, &cwd)?;
    if profile.environment.shell_variable && script.is_some() {
        environment::tell_shell(&mut env, request, &shell);
    }
    let client_env = match setting.host {
        Host::Us => ClientEnvironment::default(),
        Host::Client => ClientEnvironment::between(&surroundings.env, &env, guarded(wish)),
    };
    let timeout = match accepted.ends {
        Ends::AtTimeout => accepted.timeout,
        Ends::AtJobLimit => config.jobs.max_time,
    };
    let mut limits = profile.limits.with_timeout(timeout);
    limits.survivors = config.survivors.unwrap_or(limits.survivors);
    let lifted = lifted.map_or("", |cd| &*cd.text);
    let text = script.as_ref().map(|script| format!("{lifted}{script}"));
    // A shell that lives on has no terminal: what asks for one runs in a shell of its own.
    let text = text.filter(|_| terminal.is_none());
    let (session, notes) = session_or_notes(wish, text, &shell, &cwd);
    let session = session.and_then(|plan| plan.settled(accepted, lifted));
    let job = job::plan(profile, request, setting, &cwd.path, timeout);
    Ok(Plan {
        snapshot: None,
        wants_snapshot: wants_snapshot(wish, &shell),
        warmth: warmth(wish, &shell),
        session,
        notes,
        job,
        restraint: resources::restraint(request.resources.or(config.resources), &config.cgroups),
        stdin_open: request.stdin_open,
        handover: accepted.handover,
        shell,
        script,
        cwd,
        env,
        client_env,
        stdin: request.stdin.clone().map_or(Stdin::Null, Stdin::Bytes),
        streams: match terminal {
            Some(_) => Streams::Merged,
            None => profile.output.streams,
        },
        terminal,
        notices: notice.into_iter().collect(),
        lines: command.lines,
        make_directories: Vec::new(),
        limits,
        quota: config.quota,
        directory: config.runs_dir().join(id.as_str()),
    })
}

/// Whether anything judges the command, so that a client's shell must not be told more than it.
fn guarded(wish: Wish<'_>) -> Guarded {
    let gate = wish.setting.config.gate(wish.profile, wish.request);
    if gate.is_on() {
        Guarded::Yes
    } else {
        Guarded::No
    }
}

/// The shell, and what it gets; or the program, where a command runs without one.
fn shell_and_script(
    wish: Wish<'_>,
    text: String,
    env: &mut Vec<(OsString, OsString)>,
    cwd: &Directory,
) -> Result<(Shell, Option<String>)> {
    let programs = wish.setting.programs;
    Ok(match wish.setting.form {
        Form::AsWritten => {
            let place = Place {
                programs,
                env,
                cwd: &cwd.path,
            };
            let Setting {
                config,
                surroundings,
                ..
            } = wish.setting;
            let shell = shell::find(wish.profile, config, surroundings, place)?;
            (shell, Some(text))
        }
        Form::Program { name, arguments } => {
            let place = Place {
                programs,
                env,
                cwd: &cwd.path,
            };
            (shell::none(name, arguments, place)?, None)
        }
        Form::Steps(list) => {
            *env = scrub(std::mem::take(env), &cwd.path);
            let script = steps::script(list, &cwd.path)?;
            let place = Place {
                programs,
                env,
                cwd: &cwd.path,
            };
            (shell::plain_bash(place)?, Some(script))
        }
    })
}

/// Whether the shell is one that could take over what the rc sets up, and should.
fn wants_snapshot(wish: Wish<'_>, shell: &Shell) -> bool {
    let Wish {
        profile, setting, ..
    } = wish;
    let is_wanted = setting.config.snapshot.unwrap_or(profile.shell.snapshot);
    let may_choose = profile.shell.choice == ShellChoice::Configurable;
    let is_as_written = matches!(setting.form, Form::AsWritten);
    is_wanted && may_choose && is_as_written && session::is_possible(shell)
}

/// Whether a shell that waits could run this as a new one would.
fn warmth(wish: Wish<'_>, shell: &Shell) -> Warmth {
    let Wish {
        profile,
        request,
        setting,
    } = wish;
    let is_plain = session::is_possible(shell) && shell.args == ["-c"];
    let is_as_written = matches!(setting.form, Form::AsWritten);
    if !profile.shell.warm || !is_plain || !is_as_written || !request.env.is_empty() {
        return Warmth::Cold;
    }
    match setting.shape {
        Shape::Unsound => Warmth::Cold,
        Shape::OneProgram => Warmth::WarmWithSnapshot,
        Shape::Other => Warmth::Warm,
    }
}

/// The command behind the configured words, in profiles that leave the shell to the configuration.
fn with_prefix(profile: &Profile, config: &Config, command: &str) -> String {
    match (profile.shell.choice, &config.prefix) {
        (ShellChoice::Configurable, Some(prefix)) => format!("{prefix} {command}"),
        _ => command.to_owned(),
    }
}

/// The `cd` that was lifted off a command and that only a shell that lives on can follow: it knows where
/// it is.
fn cd_of_the_shell<'a>(
    profile: &Profile,
    config: &Config,
    request: &Request,
    command: &'a Command,
) -> &'a str {
    match (&command.leading_cd, profile.session.name_of(request)) {
        (Some(cd), Some(_))
            if config.sessions.most > 0 && !cd.directory.starts_with(['/', '~']) =>
        {
            &cd.text
        }
        _ => "",
    }
}

/// The session of a call, or what is to be said if it should have one and can't.
fn session_or_notes(
    wish: Wish<'_>,
    text: Option<String>,
    shell: &Shell,
    cwd: &Directory,
) -> (Option<SessionPlan>, Vec<String>) {
    let planned = match (wish.setting.form, text) {
        (Form::AsWritten, Some(text)) => plan_session(wish, &text, shell, cwd),
        _ => Ok(None),
    };
    match planned {
        Ok(session) => (session, Vec::new()),
        Err(note) => (None, vec![note]),
    }
}

/// The session of a call that has one; what is to be said if it can't have one.
fn plan_session(
    wish: Wish<'_>,
    text: &str,
    shell: &Shell,
    cwd: &Directory,
) -> Result<Option<SessionPlan>, String> {
    let Wish {
        profile,
        request,
        setting:
            Setting {
                config,
                surroundings,
                programs,
                id,
                ..
            },
    } = wish;
    let Some(name) = profile.session.name_of(request) else {
        return Ok(None);
    };
    if config.sessions.most == 0 || request.pty {
        return Ok(None);
    }
    if !request.resources.or(config.resources).eq(&config.resources) {
        return Err("limits of its own hold in a shell of its own, not in the session".to_owned());
    }
    if request.background || request.stdin_open {
        return if request.session.is_none() {
            Ok(None)
        } else {
            Err("a job runs in a shell of its own, not in the session".to_owned())
        };
    }
    if !session::is_possible(shell) {
        let shell = shell.program.display();
        return Err(format!(
            "sessions need bash, and the shell is {shell}: the command ran in a shell of its own"
        ));
    }
    let is_guarded = config.guard(profile).is_on();
    let is_kept_out = |(name, _): &(OsString, OsString)| {
        name == environment::RUN_VARIABLE && profile.environment.run_variable
            || is_guarded && environment::slips_code_past_the_guard(name)
            || session::is_private(name)
    };
    let mut env = environment::of(profile, &Request::default(), surroundings, programs, id);
    if profile.environment.shell_variable {
        environment::tell_shell(&mut env, &Request::default(), shell);
    }
    env.retain(|variable| !is_kept_out(variable));
    let run = profile.environment.run_variable;
    let run = run.then(|| (environment::RUN_VARIABLE.into(), id.as_str().into()));
    let own = request.env.iter().filter(|variable| !is_kept_out(variable));
    let own: Vec<_> = run.into_iter().chain(own.cloned()).collect();
    let explicit = request.cwd.is_some().then_some(&*cwd.path);
    Ok(Some(SessionPlan {
        is_asked_for: request.session.is_some(),
        runs_where_it_is: request.cwd.is_none(),
        key: SessionKey {
            name: name.to_owned(),
            program: shell.program.clone(),
            prefix: config.prefix.clone(),
            snapshot: None,
            env,
        },
        home: surroundings.cwd.clone(),
        text: session::text(text, &own, explicit),
        directory: session::directory_after(explicit),
        overlap: profile.session.overlap_of(request),
    }))
}

/// What was asked for, by whom, and within what.
#[derive(Clone, Copy)]
struct Wish<'a> {
    profile: &'a Profile,
    request: &'a Request,
    setting: Setting<'a>,
}

/// One word for a shell, whatever it holds.
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
