//! Whether a call runs in a session's shell; whose shell that is, and the text that it evaluates.

use super::resolve::{PlanInput, Setting};
use super::{OpenDirectory, Shell, StdinSource, Variables, confinement, environment, quote};
use crate::changes::Effects;
use crate::config::{Config, Preset};
use crate::guard::safe_mode::RunForm;
use crate::profile::Profile;
use crate::request::{Accepted, Request};
use bashd_keeper::keeper::session::{DirectoryAfter, LOADER};
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Read-only variables of bash: assigning one is an error.
const READ_ONLY: [&str; 6] = [
    "BASHOPTS",
    "BASH_VERSINFO",
    "EUID",
    "PPID",
    "SHELLOPTS",
    "UID",
];

/// Variables that would make a shell run code, or read its script differently, before the first
/// call; and those that it sets itself.
const PRIVATE: [&str; 6] = ["BASH_ENV", "BASHOPTS", "ENV", "OLDPWD", "PWD", "SHELLOPTS"];

/// Whether a variable is kept from a session's shell.
fn is_private(name: &OsStr) -> bool {
    PRIVATE.iter().any(|private| name == *private)
}

/// Where the shell is after a call: an explicit directory applies to its call only.
fn directory_after(explicit: Option<&Path>) -> DirectoryAfter {
    match explicit {
        Some(_) => DirectoryAfter::Returns,
        None => DirectoryAfter::Stays,
    }
}

/// A call's session.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one thing that was decided, and they do not exclude each other"
)]
pub struct SessionPlan {
    /// Calls with the same key share a shell.
    pub key: SessionKey,
    /// The directory in which the shell starts.
    pub home: PathBuf,
    /// What the shell evaluates.
    pub text: Vec<u8>,
    /// What `BASHD_RUN` tells its commands; empty if nothing.
    pub(crate) run: String,
    /// Where the shell is after the call.
    pub(crate) directory: DirectoryAfter,
    /// What happens to a call while another one of the same session runs.
    pub overlap: Overlap,
    /// Whether the shell that is there is ended first.
    pub is_restarted: bool,
    /// Whether the caller named it, and so should hear if it cannot be used.
    pub is_asked_for: bool,
    /// The directory that the text begins by changing to, relative to where the shell is.
    pub(crate) enters: Option<PathBuf>,
    /// Whether the command runs wherever the shell is, and not in a directory of the plan.
    pub runs_where_it_is: bool,
    /// Whether a call that must do without its session may use a shell that was started ahead.
    pub(super) may_be_started: bool,
}

impl SessionPlan {
    /// A call of the same session that only tries to change to a directory, and comes back.
    pub(crate) fn trying(&self, directory: &Path) -> Self {
        let mut text = br"\builtin cd -- ".to_vec();
        quote(&mut text, directory.as_os_str().as_bytes());
        text.extend(b" >/dev/null 2>&1");
        Self {
            key: self.key.clone(),
            home: self.home.clone(),
            text,
            run: self.run.clone(),
            directory: DirectoryAfter::Returns,
            enters: None,
            ..*self
        }
    }

    /// The session in which a call runs after all, whose text begins with this `cd`, or with one to
    /// a relative directory. A call that is a job from its beginning has its own shell.
    pub(super) fn settled(
        self,
        accepted: &Accepted,
        lifted: &str,
        enters: Option<&Path>,
    ) -> Option<Self> {
        let is_job = accepted.backgrounding.is_some_and(|when| !when.waits);
        (!is_job).then_some(Self {
            enters: enters.map(Path::to_owned),
            runs_where_it_is: self.runs_where_it_is && lifted.is_empty(),
            ..self
        })
    }
}

/// The prefix of names of sessions that clients share.
pub const SHARED_PREFIX: &str = "shared:";

/// The owner of a session: its client, or everybody (`""`) if the name says so.
pub(crate) fn owner_of_session<'a>(name: &str, owner: &'a str) -> &'a str {
    if name.starts_with(SHARED_PREFIX) {
        ""
    } else {
        owner
    }
}

/// What identifies a session. The call's own variables are not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionKey {
    /// Front end and client; empty for a session that clients share.
    pub owner: String,
    /// The caller's name for it; empty for the session of calls that name none.
    pub name: String,
    /// The shell.
    pub program: PathBuf,
    /// Words before every command.
    pub prefix: Option<String>,
    /// The script that the shell sources first.
    pub rc_script: Option<PathBuf>,
    /// The shell's environment.
    pub env: Arc<Variables>,
    /// Whether what it does to files is held.
    pub is_held: bool,
}

impl SessionKey {
    /// Whether this is the same session, with a shell that was set up differently.
    pub(crate) fn differs_by_rc_script(&self, other: &Self) -> bool {
        let rc_script = other.rc_script.clone();
        (&self.owner, &self.name) == (&other.owner, &other.name)
            && self.rc_script != rc_script
            && *other
                == Self {
                    rc_script,
                    ..self.clone()
                }
    }
}

impl Hash for SessionKey {
    /// By owner and name: sessions that differ only in something else are rare, and an environment
    /// is long.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.owner.hash(state);
        self.name.hash(state);
    }
}

/// What happens to a call while another one of the same session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It waits.
    Wait,
    /// It runs in its own shell.
    #[default]
    OneShot,
}

/// The session of a call, or what to say if it should have one and cannot.
pub(super) fn or_notes(
    wish: PlanInput<'_>,
    text: Option<String>,
    shell: &Shell,
    cwd: &OpenDirectory,
) -> (Option<SessionPlan>, Vec<String>) {
    let planned = match (wish.setting.form, text) {
        (RunForm::AsWritten, Some(text)) => plan_session(wish, &text, shell, cwd),
        _ => Ok(None),
    };
    match planned {
        Ok(session) => (session, Vec::new()),
        Err(note) => (None, vec![note]),
    }
}

/// The session that a call is for, by owner and name.
pub(crate) fn session_of(
    profile: &Profile,
    request: &Request,
    owner: &str,
) -> Option<(String, String)> {
    let name = profile.session.name_of(request)?;
    let owner = owner_of_session(name, owner);
    Some((owner.to_owned(), name.to_owned()))
}

/// Whether clients share the session that a call is for.
pub(crate) fn is_shared(profile: &Profile, request: &Request) -> bool {
    let name = profile.session.name_of(request);
    name.is_some_and(|name| name.starts_with(SHARED_PREFIX))
}

/// What a call does while another one of its session runs. A job waits for nobody: its call returns
/// at once.
pub(crate) fn overlap_of(profile: &Profile, request: &Request, accepted: &Accepted) -> Overlap {
    let is_job = accepted.backgrounding.is_some_and(|when| !when.waits);
    if is_job {
        Overlap::OneShot
    } else {
        profile.session.overlap_of(request)
    }
}

/// What of a call is its own, so that it can't run in a shell that others share.
fn own_terms(profile: &Profile, request: &Request, config: &Config) -> Option<&'static str> {
    let asked = request.confine;
    if request.resources.or(config.resources) != config.resources {
        Some("with its own limits")
    } else if asked.is_some_and(|asked| asked != confinement::configured(profile, config)) {
        Some("with its own confinement")
    } else {
        // Its changes are applied when it ends, and a shell that lives on would not see that.
        match confinement::effects(config, request) {
            Ok(Effects::Undoable) => Some("whose effects can be undone"),
            Ok(Effects::Ask) => Some("whose effects somebody is asked about"),
            Ok(Effects::Now | Effects::Hold) | Err(_) => None,
        }
    }
}

/// The session of a call that has one; what to say if it cannot have one.
fn plan_session(
    wish: PlanInput<'_>,
    text: &str,
    shell: &Shell,
    cwd: &OpenDirectory,
) -> Result<Option<SessionPlan>, String> {
    let PlanInput {
        profile,
        request,
        setting:
            Setting {
                config,
                surroundings,
                inheritance,
                owner,
                ..
            },
        ..
    } = wish;
    let Some(name) = profile.session.name_of(request) else {
        return Ok(None);
    };
    if config.sessions.most == 0 {
        return Ok(None);
    }
    if let Some(own) = own_terms(profile, request, config) {
        return Err(format!(
            "a call {own} runs in a shell of its own, not in the session"
        ));
    }
    let reads_a_file = matches!(request.stdin, StdinSource::Open(_));
    if request.background || request.stdin_open || reads_a_file {
        return match &request.session {
            None => Ok(None),
            Some(_) if reads_a_file => Err(
                "a call that reads an open file runs in a shell of its own, not in the session"
                    .to_owned(),
            ),
            Some(_) => Err("a job runs in a shell of its own, not in the session".to_owned()),
        };
    }
    if !is_possible(shell) {
        let shell = shell.program.display();
        return Err(format!(
            "sessions need bash, but the shell is {shell}: the command ran in a shell of its own"
        ));
    }
    let shell_kind = (shell, is_confined(wish));
    let env = inheritance.by_sessions(wish.origin(), shell_kind, |name, value| {
        is_kept_out(wish, name, value)
    });
    let own: Vec<_> = variables_of_call(wish).collect();
    let is_held = confinement::effects(config, request).is_ok_and(|at| at == Effects::Hold);
    let explicit = request.cwd.is_some().then_some(&*cwd.path);
    Ok(Some(SessionPlan {
        enters: None,
        is_restarted: request.restart,
        is_asked_for: request.session.is_some(),
        runs_where_it_is: request.cwd.is_none(),
        may_be_started: false,
        key: SessionKey {
            owner: owner_of_session(name, owner).to_owned(),
            name: name.to_owned(),
            program: shell.program.clone(),
            prefix: config.prefix.clone(),
            rc_script: None,
            env,
            is_held,
        },
        home: surroundings.cwd.clone(),
        text: evaluated(text, &own, explicit),
        run: told_run(wish).unwrap_or_default().to_owned(),
        directory: directory_after(explicit),
        overlap: match profile.session.overlap_of(request) {
            // Another shell than the session's could not be restarted for it, and has other layers.
            _ if request.restart || is_held => Overlap::Wait,
            overlap => overlap,
        },
    }))
}

/// What a session's shell says of itself, for a job that begins as the session is: a script that
/// sets it up again.
pub(crate) fn telling_state(into: &Path) -> String {
    let mut text = format!(
        r"{{ \builtin declare -p; \builtin declare -f; \builtin echo \\unset -f {LOADER}; \builtin alias -p; \builtin shopt -p; \builtin set +o; }} 2>/dev/null >| "
    )
    .into_bytes();
    quote(&mut text, into.as_os_str().as_bytes());
    text.extend(br#"; \builtin printf %s "$PWD""#);
    String::from_utf8_lossy(&text).into_owned()
}

/// The script of a job that begins as a session is, if it is one. Its own variables come after the
/// session's.
pub(super) fn with_state(wish: PlanInput<'_>, script: String, cwd: &Path) -> String {
    let Some(state) = wish.setting.state else {
        return script;
    };
    let run = told_run(wish).map(|id| (environment::RUN_VARIABLE.into(), id.into()));
    let own: Vec<_> = run.into_iter().chain(variables_of_call(wish)).collect();
    let explicit = Some(cwd).filter(|cwd| *cwd != state.directory);
    let file = state.script.as_os_str().as_bytes();
    let mut text = br"\builtin . ".to_vec();
    quote(&mut text, file);
    text.extend(br" </dev/null >/dev/null 2>&1; \builtin command -p rm -f -- ");
    quote(&mut text, file);
    text.extend(b"; ");
    let evaluated = evaluated(&script, &own, explicit);
    // In one piece: what the state has set up counts for how the rest is read.
    text.extend(br"\builtin eval ");
    quote(&mut text, &evaluated);
    String::from_utf8_lossy(&text).into_owned()
}

/// The id of the run, if its commands are told.
fn told_run(wish: PlanInput<'_>) -> Option<&str> {
    let is_told = wish.profile.environment.run_variable;
    is_told.then(|| wish.setting.id.as_str())
}

/// The variables that a call has besides those of its session's shell.
fn variables_of_call(wish: PlanInput<'_>) -> impl Iterator<Item = (OsString, OsString)> {
    let own = wish.request.env.iter();
    own.filter(move |(name, value)| !is_kept_out(wish, name, value))
        .cloned()
}

/// Whether a variable is not for a session's shell.
fn is_kept_out(wish: PlanInput<'_>, name: &OsStr, value: &OsStr) -> bool {
    name == environment::RUN_VARIABLE && wish.profile.environment.run_variable
        || wish.is_guarded && environment::slips_code_past_the_guard(name)
        || is_private(name)
        || (wish.setting.config.env.of(is_confined(wish))).keeps(name, value)
}

/// Whether the session's shell is confined.
fn is_confined(wish: PlanInput<'_>) -> bool {
    let preset = confinement::preset(wish.profile, wish.setting.config, wish.request);
    preset.is_ok_and(|preset| preset != Preset::Off)
}

/// Whether a shell can keep a session: it must read its script from a pipe as bash does.
pub(super) fn is_possible(shell: &Shell) -> bool {
    shell.program.file_name() == Some(OsStr::new("bash"))
}

/// The text for a shell that lives on: the call's variables apply to the command only.
fn evaluated(command: &str, own: &[(OsString, OsString)], cwd: Option<&Path>) -> Vec<u8> {
    let mut text = Vec::new();
    if let Some(cwd) = cwd {
        text.extend(br"\builtin cd -- ");
        quote(&mut text, cwd.as_os_str().as_bytes());
        text.extend(b" && ");
    }
    let settable = |(name, _): &&(OsString, OsString)| READ_ONLY.iter().all(|own| name != own);
    for (name, value) in own.iter().filter(settable) {
        text.extend(name.as_bytes());
        text.push(b'=');
        quote(&mut text, value.as_bytes());
        text.push(b' ');
    }
    if text.is_empty() {
        return command.into();
    }
    // After `builtin eval` alone the variables would apply to the first command only.
    text.extend(br"\builtin command eval ");
    quote(&mut text, command.as_bytes());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_alone_stays_as_it_is() {
        assert_eq!(evaluated("echo 'a'", &[], None), b"echo 'a'");
    }

    #[test]
    fn variables_and_directory_stand_before_a_quoted_command() {
        let own = [("A".into(), "it's".into()), ("UID".into(), "7".into())];
        let text = evaluated("echo 'a'", &own, Some(Path::new("/b c")));
        let expected =
            r"\builtin cd -- '/b c' && A='it'\''s' \builtin command eval 'echo '\''a'\'''";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
