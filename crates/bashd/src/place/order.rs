//! An order: what a near side has decided about a call, as it travels to where it is carried out.
//!
//! What is as usual is left out of it: an order of a short command travels in one piece of 1 KiB.
//! Everything that only reads what was said happens before it is written: the request is read, the
//! command rewritten and judged, approval given. Everything that looks at a machine happens where
//! it arrives: shell, directory, inherited variables, programs, the user's rc, limits, confinement.

use super::settings::OrderSettings;
use crate::config::Preset;
use crate::guard::safe_mode::SafeMode;
use crate::output::line_limits::LineLimits;
use crate::plan::Backgrounding;
use crate::plan::confinement::granted::NeededThing;
use crate::plan::{Resources, StdinSource};
use crate::request::{Accepted, By, DeadlineKind, Request, SilenceLimit};
use crate::rewrite::{Command, LeadingCd};
use crate::screen::Size;
use crate::script::ScriptShape;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

/// What is to be carried out, with the id by which it is carried out at most once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) owner: String,
    /// The profile's name,
    pub(crate) profile: String,
    /// and its text, if it is the user's own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) profile_text: Option<String>,
    request: OrderedRequest,
    command: OrderedCommand,
    limits: OrderedLimits,
    /// Whether only read-only commands may run: both sides see to it.
    pub(crate) safe_mode: SafeMode,
    pub(crate) shape: ScriptShape,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) granted: Vec<NeededThing>,
    /// Whether rules judged the command.
    pub(crate) is_guarded: bool,
    pub(crate) settings: OrderSettings,
    /// What is to be told while it runs.
    pub(crate) watching: ToldMeanwhile,
    /// How much of the output comes with the end.
    pub(crate) along: AlongLimits,
    /// The name that stands before the short name of its job, if it becomes one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) shown_at: Option<String>,
}

/// What is told while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToldMeanwhile {
    Nothing,
    /// All of its output, as it is asked for.
    All,
    /// The end of its output now and then.
    End,
}

/// How much of each stream comes with the end of its run: what a window shows of it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct AlongLimits {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// What of a request is for the place at which its command runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the request, as the request has it"
)]
struct OrderedRequest {
    command: String,
    #[serde(default, skip_serializing_if = "is_default")]
    cwd: Option<ByteBuf>,
    /// Whether nobody named that directory: a session that is there stays in its own.
    #[serde(default, skip_serializing_if = "is_default")]
    cwd_is_assumed: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    env: Vec<(ByteBuf, ByteBuf)>,
    #[serde(default, skip_serializing_if = "is_default")]
    setup: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    stdin: Option<ByteBuf>,
    #[serde(default, skip_serializing_if = "is_default")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    restart: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pty: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    terminal_size: Option<Size>,
    #[serde(default, skip_serializing_if = "is_default")]
    ui: bool,
    by: By,
    #[serde(default, skip_serializing_if = "is_default")]
    resources: Resources,
    #[serde(default, skip_serializing_if = "is_default")]
    confine: Option<Preset>,
    #[serde(default, skip_serializing_if = "is_default")]
    background: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    stdin_open: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    wait_max: Option<Duration>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OrderedCommand {
    /// Unless it is the request's.
    #[serde(default, skip_serializing_if = "is_default")]
    given: Option<String>,
    /// Unless it is the same.
    #[serde(default, skip_serializing_if = "is_default")]
    to_run: Option<String>,
    /// Directory and text.
    #[serde(default, skip_serializing_if = "is_default")]
    leading_cd: Option<(String, String)>,
    lines: LineLimits,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OrderedLimits {
    timeout: Duration,
    #[serde(default, skip_serializing_if = "is_default")]
    silence: Option<SilenceLimit>,
    #[serde(default, skip_serializing_if = "is_default")]
    restarted: bool,
    ends: DeadlineKind,
    #[serde(default, skip_serializing_if = "is_default")]
    backgrounding: Option<Backgrounding>,
    #[serde(default, skip_serializing_if = "is_default")]
    full_wait: Option<Duration>,
    #[serde(default, skip_serializing_if = "is_default")]
    description: Option<String>,
}

/// What a call is to its place.
pub(crate) struct OrderParts<'a> {
    pub(crate) request: &'a Request,
    /// Where it runs there.
    pub(crate) cwd: Option<PathBuf>,
    /// What it reads.
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) command: &'a Command,
    pub(crate) accepted: &'a Accepted,
}

/// What an order holds that is only to be added to its call.
pub(crate) struct OrderTerms {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) profile: String,
    pub(crate) profile_text: Option<String>,
    /// Whether only read-only commands may run: both sides see to it.
    pub(crate) safe_mode: SafeMode,
    pub(crate) shape: ScriptShape,
    pub(crate) granted: Vec<NeededThing>,
    pub(crate) is_guarded: bool,
    pub(crate) settings: OrderSettings,
    pub(crate) watching: ToldMeanwhile,
    pub(crate) along: AlongLimits,
    pub(crate) shown_at: Option<String>,
}

impl Order {
    /// Its directory, if nobody named that.
    pub(crate) fn assumed_cwd(&self) -> Option<PathBuf> {
        let cwd = self.request.cwd.as_ref();
        let cwd = cwd.filter(|_| self.request.cwd_is_assumed)?;
        Some(PathBuf::from(OsString::from_vec(cwd.to_vec())))
    }

    /// The order for a call.
    pub(crate) fn of(parts: OrderParts<'_>, terms: OrderTerms) -> Self {
        let OrderParts {
            request,
            cwd,
            stdin,
            command,
            accepted,
        } = parts;
        Self {
            id: terms.id,
            owner: terms.owner,
            profile: terms.profile,
            profile_text: terms.profile_text,
            request: OrderedRequest {
                command: request.command.clone(),
                cwd: cwd.map(|cwd| bytes(cwd.as_os_str())),
                cwd_is_assumed: request.cwd.is_none(),
                env: (request.env.iter())
                    .map(|(name, value)| (bytes(name), bytes(value)))
                    .collect(),
                setup: request.setup.clone(),
                stdin: stdin.map(ByteBuf::from),
                session: request.session.clone(),
                restart: request.restart,
                pty: request.pty,
                terminal_size: request.terminal_size,
                ui: request.ui,
                by: request.by,
                resources: request.resources,
                confine: request.confine,
                background: request.background,
                stdin_open: request.stdin_open,
                wait_max: request.wait_max,
            },
            command: OrderedCommand {
                given: (command.given != request.command).then(|| command.given.clone()),
                to_run: (command.to_run != command.given).then(|| command.to_run.clone()),
                leading_cd: (command.leading_cd.as_ref())
                    .map(|cd| (cd.directory.clone(), cd.text.clone())),
                lines: command.lines,
            },
            limits: OrderedLimits {
                timeout: accepted.timeout,
                silence: accepted.silence,
                restarted: accepted.restarted,
                ends: accepted.ends,
                backgrounding: accepted.backgrounding,
                full_wait: accepted.full_wait,
                description: accepted.description.clone(),
            },
            safe_mode: terms.safe_mode,
            shape: terms.shape,
            granted: terms.granted,
            is_guarded: terms.is_guarded,
            settings: terms.settings,
            watching: terms.watching,
            along: terms.along,
            shown_at: terms.shown_at,
        }
    }

    /// The request, as far as it concerns the place.
    pub(crate) fn request(&self) -> Request {
        let OrderedRequest {
            command,
            cwd,
            cwd_is_assumed: _,
            env,
            setup,
            stdin,
            session,
            restart,
            pty,
            terminal_size,
            ui,
            by,
            resources,
            confine,
            background,
            stdin_open,
            wait_max,
        } = self.request.clone();
        let text = |bytes: ByteBuf| OsString::from_vec(bytes.into_vec());
        Request {
            profile: self.profile.clone(),
            command,
            cwd: cwd.map(|cwd| PathBuf::from(text(cwd))),
            env: (env.into_iter())
                .map(|(name, value)| (text(name), text(value)))
                .collect(),
            setup,
            stdin: stdin.map_or(StdinSource::Null, |bytes| {
                StdinSource::Bytes(bytes.into_vec())
            }),
            session,
            restart,
            pty,
            terminal_size,
            ui,
            by,
            resources,
            confine,
            background,
            stdin_open,
            wait_max,
            owner: Some(self.owner.clone()),
            ..Request::default()
        }
    }

    /// The command.
    pub(crate) fn command(&self) -> Command {
        let OrderedCommand {
            given,
            to_run,
            leading_cd,
            lines,
        } = self.command.clone();
        let mut command = Command::as_given(given.as_deref().unwrap_or(&self.request.command));
        if let Some(to_run) = to_run {
            command.to_run = to_run;
        }
        command.leading_cd = leading_cd.map(|(directory, text)| LeadingCd { directory, text });
        command.lines = lines;
        command
    }

    /// What was accepted.
    pub(crate) fn accepted(&self) -> Accepted {
        let mut accepted = Accepted::within(self.limits.timeout);
        accepted.silence = self.limits.silence;
        accepted.restarted = self.limits.restarted;
        accepted.ends = self.limits.ends;
        accepted.backgrounding = self.limits.backgrounding;
        accepted.full_wait = self.limits.full_wait;
        accepted.description.clone_from(&self.limits.description);
        accepted
    }
}

/// Whether a value need not travel.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn bytes(text: &OsStr) -> ByteBuf {
    ByteBuf::from(text.as_bytes().to_vec())
}
