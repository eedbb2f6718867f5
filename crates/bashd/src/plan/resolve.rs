//! From a request to the draft of its plan: decides everything that needs no waiting.

use super::client_environment::Guarded;
use super::confinement::DecidedConfinements;
use super::confinement::granted::NeededThing;
use super::draft::{Draft, StartedShellUse};
use super::environment::{Inheritance, InheritanceSource};
use super::shell::{self, ProgramSearch, Programs};
use super::strict_environment::scrub;
use super::{
    ClientEnvironment, Limits, OpenDirectory, Plan, Quota, Restraint, Shell, Streams, TerminalHost,
    Variables, Vessel, confinement, directory, environment, job, one_program, session, steps,
    terminal,
};
use crate::changes::Effects;
use crate::config::{Config, Surroundings};
use crate::error::Result;
use crate::guard::safe_mode::RunForm;
use crate::profile::Profile;
use crate::profile::rules::ShellChoice;
use crate::request::{Accepted, DeadlineKind, Request};
use crate::rewrite::Command;
use crate::run_id::RunId;
use crate::screen::Size;
use crate::script::ScriptShape;
use bashd_keeper::resources;
use bashd_keeper::secrets::Secrets;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The context of a plan: the engine's own state, and the run's name.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) config: &'a Config,
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) id: &'a RunId,
    /// How the command may run.
    pub(crate) form: &'a RunForm,
    /// Whose job it would be.
    pub(crate) owner: &'a str,
    /// What kind of script it is.
    pub(crate) shape: ScriptShape,
    pub(crate) programs: &'a Programs,
    pub(crate) inheritance: &'a Inheritance,
    pub(crate) decided: &'a DecidedConfinements,
    /// The client's terminals, where it runs the command itself.
    pub(crate) client: Option<&'a TerminalHost>,
    /// One pipe or two, where that is not the profile's to say.
    pub(crate) streams: Option<Streams>,
    /// Directories that the command's addresses need.
    pub(crate) make_directories: &'a [PathBuf],
    /// What is never written down.
    pub(crate) secrets: &'a Arc<Secrets>,
    /// What a session's shell had, for a job that begins with it.
    pub(crate) state: Option<&'a SessionState>,
    /// When the call came.
    pub(crate) begun: Instant,
    /// Whether rules judged the command, where another side did that.
    pub(crate) is_guarded: Option<bool>,
    /// What somebody granted to this call beyond its confinement.
    pub(crate) granted: &'a [NeededThing],
}

/// What a session's shell had when a job began: the job's own shell begins with it.
#[derive(Debug, Clone)]
pub(crate) struct SessionState {
    /// A script that sets it up again; used once, by a shell that removes it.
    pub(crate) script: PathBuf,
    /// Where the session was.
    pub(crate) directory: PathBuf,
}

/// What is said of a call that was granted more than its session has.
const OWN_SHELL: &str =
    "it ran in a shell of its own, since it was granted more than its session's shell has";

/// When and how the run is ended.
fn limits_of(profile: &Profile, config: &Config, accepted: &Accepted) -> Limits {
    let timeout = match accepted.ends {
        DeadlineKind::AtTimeout => accepted.timeout,
        DeadlineKind::AtJobLimit => config.jobs.max_time,
    };
    let mut limits = profile.limits.with_timeout(timeout);
    limits.survivors = config.survivors.unwrap_or(limits.survivors);
    limits
}

/// Decides directory, environment, shell, limits, place and vessel.
pub(crate) fn draft(
    profile: &Arc<Profile>,
    request: &Request,
    command: &Command,
    accepted: &Accepted,
    setting: Setting<'_>,
) -> Result<Draft> {
    let (config, surroundings) = (setting.config, setting.surroundings);
    let wish = PlanInput::of(profile, request, setting);
    let cd = cd_of_the_shell(profile, config, request, command);
    let home = environment::home(request, surroundings);
    let lifted = command.leading_cd.as_ref().filter(|_| cd.is_empty());
    let here = (setting.state).map_or(&surroundings.cwd, |state| &state.directory);
    let wanted = directory::wanted(profile, request, lifted, (&surroundings.cwd, here), home);
    let cwd = directory::open(&wanted)?;
    let (terminal, notice) = terminal::decide(profile, request, config, surroundings);
    let (mut env, restraint) = held_variables(wish, terminal, &wanted)?;
    let is_confined = (restraint.as_ref()).is_some_and(|held| held.confinement.is_some());
    let text = format!("{cd}{}", with_prefix(profile, config, &command.to_run));
    let (shell, script) = shell_and_script(wish, text, &mut env, &cwd)?;
    let script = script.map(|script| session::with_state(wish, script, &cwd.path));
    if profile.environment.shell_variable && script.is_some() {
        environment::tell_shell(&mut env, request, &shell);
    }
    // The client's terminal is outside of what can be confined here.
    let client = client_terminal(wish, &env).filter(|_| !is_confined);
    let limits = limits_of(profile, config, accepted);
    let lifted = lifted.map_or("", |cd| &*cd.text);
    let text = script.as_ref().map(|script| format!("{lifted}{script}"));
    // A shell that lives on has no terminal: a command that gets one runs in its own shell.
    // Nor can it be given more than it began with.
    let has_more = is_confined && !setting.granted.is_empty();
    let text = text.filter(|_| terminal.is_none() && client.is_none() && !has_more);
    let (session, mut notes) = session::or_notes(wish, text, &shell, &cwd);
    let lacks_session = has_more && profile.session.name_of(request).is_some();
    notes.extend(lacks_session.then(|| OWN_SHELL.to_owned()));
    let enters = command.leading_cd.as_ref().filter(|_| !cd.is_empty());
    let enters = enters.map(|cd| Path::new(&*cd.directory));
    let session = session.and_then(|plan| plan.settled(accepted, lifted, enters));
    if let (None, Some(directory)) = (&session, enters) {
        directory::check_way(&cwd.path, directory)?;
    }
    let terms = job::terms(command.lines, accepted, setting.secrets);
    let mut job = job::plan(
        profile,
        request,
        setting,
        &cwd.path,
        (limits.timeout, terms),
    );
    let hides = profile.output.hides_secrets || is_confined;
    job.spec.hides_secrets = config.secrets.output.unwrap_or(hides);
    let session = session.map(|session| Vessel::Session(Box::new(session)));
    let vessel = client.or(terminal.map(Vessel::Terminal)).or(session);
    let ends = is_confined && !matches!(vessel, Some(Vessel::Session(_)));
    let wants_rc_script = setting.client.is_none() && wants_rc_script(wish, &shell);
    let started_shell = started_shell_use(wish, &shell);
    let answer_by = (request.wait_max).and_then(|most| setting.begun.checked_add(most));
    let plan = Plan {
        effects: confinement::effects(config, request)?,
        vessel: vessel.unwrap_or(Vessel::OwnShell),
        restraint,
        program: one_program::of(setting, command, script.as_deref()),
        shell,
        script,
        rc_script: None,
        setup: request.setup.clone().filter(|_| request.by.is_person()),
        cwd,
        env,
        stdin: request.stdin.clone(),
        stdin_open: request.stdin_open,
        streams: match terminal {
            Some(_) => Streams::Merged,
            None => setting.streams.unwrap_or(profile.output.streams),
        },
        lines: command.lines,
        make_directories: setting.make_directories.to_vec(),
        limits: limits.ending_survivors_if(ends),
        silence: accepted.silence,
        quota: quota_of(config, accepted),
        records: records(config, profile, request),
        backgrounding: accepted.backgrounding,
        answer_by,
        job,
        directory: config.runs_dir().join(setting.id.as_str()),
        notes,
        notices: notice.into_iter().collect(),
    };
    Ok(Draft::new(plan, wants_rc_script, started_shell))
}

/// The environment, and what holds the run: a confined command gets no credentials.
fn held_variables(
    wish: PlanInput<'_>,
    terminal: Option<Size>,
    wanted: &directory::Wanted,
) -> Result<(Variables, Option<Restraint>)> {
    let config = wish.setting.config;
    let mut env = variables(wish, terminal, wanted);
    let confinement = confinement::decide(wish, &env)?;
    let rules = config.env.of(confinement.is_some());
    if rules.keeps_any() {
        env.retain(|name, value| !rules.keeps(name, value));
    }
    let resources = wish.request.resources.or(config.resources);
    let restraint = resources::restraint(resources, &config.cgroups, confinement);
    Ok((env, restraint))
}

/// Whether the times of its output are recorded: as the call says, else the configuration, else the
/// profile.
fn records(config: &Config, profile: &Profile, request: &Request) -> bool {
    let wanted = request.record.or(config.recording);
    wanted.unwrap_or(profile.output.recording)
}

/// How much output is kept: a job has its own from its first byte, before anybody calls it one.
fn quota_of(config: &Config, accepted: &Accepted) -> Quota {
    let is_job = accepted.backgrounding.is_some_and(|when| !when.waits);
    let head = if is_job { config.jobs.output_bytes } else { 0 };
    Quota {
        head: config.quota.head.max(head),
        ring: config.quota.ring,
    }
}

/// The whole environment, except for what depends on the choice of the shell.
fn variables(wish: PlanInput<'_>, terminal: Option<Size>, wanted: &directory::Wanted) -> Variables {
    let PlanInput {
        request, setting, ..
    } = wish;
    let mut env = environment::of(setting.inheritance, wish.origin(), request, setting.id);
    if terminal.is_some() {
        terminal::tell(&mut env, request);
    }
    if wanted.by_shell {
        environment::tell_directories(&mut env, &wanted.path, &setting.surroundings.cwd);
    }
    let has_own = !request.env.is_empty() || request.by.is_person();
    if wish.is_guarded && has_own {
        env.retain(|name, _| !environment::slips_code_past_the_guard(name));
    }
    env
}

/// The client's terminal, where the client runs the command itself.
fn client_terminal(wish: PlanInput<'_>, env: &Variables) -> Option<Vessel> {
    let Setting {
        client,
        surroundings,
        ..
    } = wish.setting;
    client.map(|host| {
        let changes = ClientEnvironment::between(&surroundings.env, env, guarded(wish));
        Vessel::ClientTerminal(host.clone(), changes)
    })
}

/// Whether anything judges the command, so a client's shell must not be told more than was judged.
fn guarded(wish: PlanInput<'_>) -> Guarded {
    let gate = wish.setting.config.gate(wish.profile, wish.request);
    if gate.is_on() {
        Guarded::Yes
    } else {
        Guarded::No
    }
}

/// The shell and its script; or the program, if a command runs without a shell.
fn shell_and_script(
    wish: PlanInput<'_>,
    text: String,
    env: &mut Variables,
    cwd: &OpenDirectory,
) -> Result<(Shell, Option<String>)> {
    let programs = wish.setting.programs;
    Ok(match wish.setting.form {
        RunForm::AsWritten => {
            let place = ProgramSearch {
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
        RunForm::Program { name, arguments } => {
            let place = ProgramSearch {
                programs,
                env,
                cwd: &cwd.path,
            };
            (shell::none(name, arguments, place)?, None)
        }
        RunForm::Steps(list) => {
            scrub(env, &cwd.path);
            let script = steps::script(list, &cwd.path)?;
            let place = ProgramSearch {
                programs,
                env,
                cwd: &cwd.path,
            };
            (shell::plain_bash(place)?, Some(script))
        }
    })
}

/// Whether the shell can and should load what the rc sets up.
fn wants_rc_script(wish: PlanInput<'_>, shell: &Shell) -> bool {
    let PlanInput {
        profile, setting, ..
    } = wish;
    let is_wanted = setting.config.rc_script.unwrap_or(profile.shell.rc_script);
    let may_choose = profile.shell.choice == ShellChoice::Configurable;
    let is_as_written = matches!(setting.form, RunForm::AsWritten);
    is_wanted && may_choose && is_as_written && session::is_possible(shell)
}

/// Whether a waiting shell could run this as a new one would.
fn started_shell_use(wish: PlanInput<'_>, shell: &Shell) -> StartedShellUse {
    let PlanInput {
        profile,
        request,
        setting,
        ..
    } = wish;
    let is_plain = session::is_possible(shell) && shell.args == ["-c"];
    let is_as_written = matches!(setting.form, RunForm::AsWritten);
    let is_now = confinement::effects(setting.config, request).is_ok_and(|at| at == Effects::Now);
    // A layer is for one command.
    if !is_now || !profile.shell.started || !is_plain || !is_as_written || !request.env.is_empty() {
        return StartedShellUse::Never;
    }
    match setting.shape {
        ScriptShape::Unsound => StartedShellUse::Never,
        ScriptShape::OneProgram => StartedShellUse::WithRcScript,
        ScriptShape::Other => StartedShellUse::Always,
    }
}

/// The command after the configured words, in profiles that leave the shell to the configuration.
fn with_prefix(profile: &Profile, config: &Config, command: &str) -> String {
    match (profile.shell.choice, &config.prefix) {
        (ShellChoice::Configurable, Some(prefix)) => format!("{prefix} {command}"),
        _ => command.to_owned(),
    }
}

/// The `cd` that was removed from a command and that only a shell that lives on can follow: it
/// knows where it is.
pub(super) fn cd_of_the_shell<'a>(
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

/// A request with its profile and its context.
#[derive(Clone, Copy)]
pub(crate) struct PlanInput<'a> {
    pub(super) profile: &'a Arc<Profile>,
    pub(super) request: &'a Request,
    pub(super) setting: Setting<'a>,
    /// Whether rules judge what the profile's calls run.
    pub(super) is_guarded: bool,
}

impl<'a> PlanInput<'a> {
    fn of(profile: &'a Arc<Profile>, request: &'a Request, setting: Setting<'a>) -> Self {
        Self {
            profile,
            request,
            setting,
            is_guarded: (setting.is_guarded)
                .unwrap_or_else(|| setting.config.guard(profile).is_on()),
        }
    }

    /// Where the variables come from that are not its own.
    pub(super) fn origin(self) -> InheritanceSource<'a> {
        InheritanceSource {
            profile: self.profile,
            surroundings: self.setting.surroundings,
            programs: self.setting.programs,
            is_guarded: self.is_guarded,
        }
    }
}
