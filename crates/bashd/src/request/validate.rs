//! Whether a request can be carried out as the profile understands it, and with which timeout.

use super::{OnTimeout, Refusal, RefusalKind, Request};
use crate::config::Config;
use crate::notice::Notice;
use crate::plan::StdinSource;
use crate::profile::Profile;
use crate::profile::parameters::{Needs, Parameter};
use crate::profile::rules::{Mode, ModeKind};
use crate::profile::sets::Sets;
use bashd_keeper::template::fill;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::time::Duration;

/// What the profile decided about a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Accepted {
    /// The timeout: requested, the mode's, or the profile's, within its range.
    pub timeout: Duration,
    /// The requested timeout in seconds, if it is not the one in force.
    pub requested_timeout: Option<f64>,
    /// What ends the command at the latest.
    pub ends: DeadlineKind,
    /// When the command continues as a job, if it does.
    pub backgrounding: Option<Backgrounding>,
    /// How long the call would wait, if its server's own limit ends its wait before.
    pub full_wait: Option<Duration>,
    /// Where the request was not followed to the letter.
    pub notices: Vec<Notice>,
    /// Whether it only wants a new shell for its session.
    pub(crate) restarted: bool,
    /// At most this many bytes of output are shown, if it says so.
    pub(crate) most_bytes: Option<usize>,
    /// How long the command may be silent, where that is limited.
    pub(crate) silence: Option<SilenceLimit>,
    /// What the command does, in the caller's words.
    pub(crate) description: Option<String>,
}

impl Accepted {
    /// Lets a long-running command continue as a job automatically, if profile and configuration
    /// say so. Its timeout still applies, and if there can be no job the call keeps waiting.
    pub(crate) fn with_auto_background(
        mut self,
        profile: &Profile,
        request: &Request,
        config: &Config,
    ) -> Self {
        /// How long before its timeout a command becomes a job at the latest.
        const BEFORE_LIMIT: Duration = Duration::from_secs(1);
        let threshold = config
            .auto_background
            .filter(|_| profile.background.auto && !request.pty && self.backgrounding.is_none());
        if let Some(threshold) = threshold {
            self.backgrounding = Some(Backgrounding {
                after: threshold.min(self.timeout.saturating_sub(BEFORE_LIMIT)),
                waits: true,
                otherwise: Otherwise::Wait,
            });
        }
        self
    }

    /// Whether the command is to go on as a job, other than after a wait that is too long for any
    /// call.
    pub(crate) fn wants_job(&self) -> bool {
        let is_only_ended = |limit: SilenceLimit| limit.then == AfterSilence::End;
        self.backgrounding.is_some() && !self.silence.is_some_and(is_only_ended)
    }

    /// What is accepted without a profile: a timeout.
    pub(crate) fn within(timeout: Duration) -> Self {
        Self {
            timeout,
            requested_timeout: None,
            ends: DeadlineKind::AtTimeout,
            backgrounding: None,
            full_wait: None,
            notices: Vec::new(),
            restarted: false,
            most_bytes: None,
            silence: None,
            description: None,
        }
    }
}

/// How long a command may be silent, where only that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SilenceLimit {
    /// Without output for so long, it is ended or goes on.
    pub(crate) after: Duration,
    pub(crate) then: AfterSilence,
    /// How long the call waits, whatever the command writes.
    pub(crate) longest: Duration,
}

/// What becomes of a command that is silent for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AfterSilence {
    End,
    GoOn,
}

/// What ends a command at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeadlineKind {
    /// Its limit.
    AtTimeout,
    /// The limit of all jobs, since its own was only the call's.
    AtJobLimit,
}

/// When a command continues as a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backgrounding {
    /// This long after the shell's start.
    pub after: Duration,
    /// Whether that is the wait for an ending, or just the time given to an early ending.
    pub waits: bool,
    /// What happens if there can be no job.
    pub otherwise: Otherwise,
}

/// What happens to a command that cannot continue as a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Otherwise {
    /// The call fails, and the command is ended.
    Fail,
    /// It is ended as by its timeout.
    End,
    /// The call keeps waiting.
    Wait,
}

/// Checks a request, however it was created, and settles its timeout.
///
/// A typed request may contain what the profile's JSON input has no parameter for (a directory, a
/// shorter timeout): that comes from the host, not from the model.
pub fn validate(profile: &Profile, request: &Request) -> Result<Accepted, Refusal> {
    let may_be_blank = request.restart || profile.at_terminal.is_some();
    if request.command.trim().is_empty() && !may_be_blank {
        return Err(Refusal::new(RefusalKind::MissingCommand, "command"));
    }
    if request.command.contains('\0') {
        return Err(Refusal::new(RefusalKind::NulByte, "command"));
    }
    if let Some(cwd) = &request.cwd {
        refuse_nul("cwd", cwd.as_os_str())?;
    }
    for (name, value) in &request.env {
        refuse_bad_variable(name, value)?;
    }
    if let Some(name) = &request.session {
        refuse_bad_session(name)?;
    }
    if request.until.is_some() && !request.background {
        let detail = "`until` needs `background`";
        return Err(Refusal::new(RefusalKind::InvalidValue, detail));
    }
    if request.restart {
        refuse_bad_restart(profile, request)?;
    }
    if request.stdin_open && matches!(request.stdin, StdinSource::Open(_)) {
        let detail = "`stdin_open` cannot be combined with an open file as stdin";
        return Err(Refusal::new(RefusalKind::InvalidValue, detail));
    }
    let mode = mode_of(profile, request.mode.as_deref())?;
    let mut accepted = settle_timeout(profile, mode, request)?;
    let is_background_mode = mode.is_some_and(|mode| mode.runs == ModeKind::Background);
    settle_backgrounding(profile, request, is_background_mode, &mut accepted);
    settle_silence(profile, request, &mut accepted);
    accepted.restarted = request.restart && request.command.trim().is_empty();
    accepted.most_bytes = request.most_bytes;
    accepted.description.clone_from(&request.description);
    Ok(accepted)
}

/// Settles how long the command may be silent. Where that is limited, no other limit ends the
/// command that the call does not set; but no call waits for ever for one that keeps writing: after
/// a while it goes on without its call.
fn settle_silence(profile: &Profile, request: &Request, accepted: &mut Accepted) {
    let Some(seconds) = profile.limits.silence_s else {
        return;
    };
    if request.timeout.is_some() || request.background {
        return;
    }
    let after = Duration::from_secs(seconds);
    let longest = Duration::from_secs(profile.limits.longest_s).max(after);
    let then = match accepted.backgrounding {
        Some(_) => AfterSilence::GoOn,
        None => AfterSilence::End,
    };
    accepted.silence = Some(SilenceLimit {
        after,
        then,
        longest,
    });
    accepted.timeout = after;
    accepted.ends = DeadlineKind::AtJobLimit;
    accepted.backgrounding = Some(Backgrounding {
        after: longest,
        waits: true,
        otherwise: Otherwise::End,
    });
}

/// Settles what ends the command, and when its call stops waiting.
fn settle_backgrounding(
    profile: &Profile,
    request: &Request,
    is_background_mode: bool,
    accepted: &mut Accepted,
) {
    if is_background_mode || request.background {
        let has_limit = is_background_mode
            || profile.background.keeps_timeout
            || request.timeout.is_some() && request.on_timeout != Some(OnTimeout::Background);
        if !has_limit {
            accepted.ends = DeadlineKind::AtJobLimit;
        }
        accepted.backgrounding = Some(Backgrounding {
            after: Duration::from_millis(profile.background.early_exit_ms),
            waits: false,
            otherwise: Otherwise::Fail,
        });
        return;
    }
    if let Some(wait) = profile.limits.wait(request.wait_max) {
        if request.timeout.is_none() {
            accepted.ends = DeadlineKind::AtJobLimit;
        }
        accepted.backgrounding = Some(Backgrounding {
            after: wait,
            waits: true,
            otherwise: Otherwise::End,
        });
        return;
    }
    let wait_max = request.wait_max.unwrap_or(Duration::MAX);
    let is_cut = wait_max < accepted.timeout && !request.says_its_wait;
    accepted.full_wait = is_cut.then_some(accepted.timeout);
    let backgrounding = |after, otherwise| Backgrounding {
        after,
        waits: true,
        otherwise,
    };
    match request.on_timeout {
        Some(OnTimeout::Background) => {
            accepted.ends = DeadlineKind::AtJobLimit;
            let after = accepted.timeout.min(wait_max);
            accepted.backgrounding = Some(backgrounding(after, Otherwise::End));
        }
        Some(OnTimeout::Kill) | None if wait_max < accepted.timeout => {
            accepted.backgrounding = Some(backgrounding(wait_max, Otherwise::Wait));
        }
        Some(OnTimeout::Kill) | None => {}
    }
}

/// A name must be readable in a list.
fn refuse_bad_session(name: &str) -> Result<(), Refusal> {
    /// Longer than any real name or id.
    const LONGEST: usize = 128;
    if name.trim().is_empty() || name.len() > LONGEST || name.chars().any(char::is_control) {
        let detail = format!("`session` must be a name of 1 to {LONGEST} bytes on one line");
        return Err(Refusal::new(RefusalKind::InvalidValue, detail));
    }
    Ok(())
}

/// Only a session that runs the call can be restarted.
fn refuse_bad_restart(profile: &Profile, request: &Request) -> Result<(), Refusal> {
    let why = if profile.session.name_of(request).is_none() {
        "needs a session"
    } else if profile.at_terminal.is_some() {
        return Ok(());
    } else if request.background || request.pty || request.stdin_open {
        "cannot be combined with a job or a terminal, which have a shell of their own"
    } else {
        return Ok(());
    };
    let detail = format!("`restart` {why}");
    Err(Refusal::new(RefusalKind::InvalidValue, detail))
}

fn refuse_nul(what: &str, value: &OsStr) -> Result<(), Refusal> {
    if value.as_encoded_bytes().contains(&0) {
        return Err(Refusal::new(RefusalKind::NulByte, what));
    }
    Ok(())
}

fn refuse_bad_variable(name: &OsStr, value: &OsStr) -> Result<(), Refusal> {
    refuse_nul("the name of an environment variable", name)?;
    let bytes = name.as_encoded_bytes();
    let starts_well = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let goes_on_well = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if !bytes.first().is_some_and(starts_well) || !bytes.iter().all(goes_on_well) {
        let name = name.display().to_string();
        return Err(Refusal::new(RefusalKind::InvalidEnvName, name));
    }
    refuse_nul(&format!("environment variable `{}`", name.display()), value)
}

fn mode_of<'a>(profile: &'a Profile, name: Option<&str>) -> Result<Option<&'a Mode>, Refusal> {
    let Some(name) = name else {
        return Ok(profile.modes.first());
    };
    if profile.modes.is_empty() {
        return Err(Refusal::of_unknown(profile, "mode"));
    }
    let Some(mode) = profile.modes.iter().find(|mode| mode.name == name) else {
        let names: Vec<_> = profile
            .modes
            .iter()
            .map(|mode| mode.name.as_str())
            .collect();
        let detail = format!("`mode` must be one of {}, not `{name}`", names.join(", "));
        return Err(Refusal::new(RefusalKind::InvalidValue, detail));
    };
    Ok(Some(mode))
}

fn settle_timeout(
    profile: &Profile,
    mode: Option<&Mode>,
    request: &Request,
) -> Result<Accepted, Refusal> {
    let background = Some(&profile.background).filter(|_| request.background);
    let default = mode.map_or(profile.limits.timeout_s, |mode| mode.timeout_s);
    let default = background
        .and_then(|rules| rules.timeout_s)
        .unwrap_or(default);
    let range = background.and_then(|rules| rules.timeout_range_s);
    let asked = request.timeout.unwrap_or(Duration::from_secs(default));
    let Some([least, most]) = range.or(profile.limits.timeout_range_s) else {
        if asked.is_zero() {
            let detail = "the timeout must be more than 0";
            return Err(Refusal::new(RefusalKind::InvalidValue, detail));
        }
        return Ok(Accepted::within(asked));
    };
    let timeout = asked.clamp(Duration::from_secs(least), Duration::from_secs(most));
    let as_given = request.timeout_as_given.unwrap_or(asked.as_secs_f64());
    let is_outside = as_given < least as f64 || as_given > most as f64;
    let requested_timeout = Some(as_given).filter(|_| is_outside);
    let notice = requested_timeout.map(|requested| {
        let values = [
            ("seconds", timeout.as_secs_f64().to_string()),
            ("requested", decimal(requested)),
            ("least", least.to_string()),
            ("most", most.to_string()),
        ];
        let values = values.each_ref().map(|(name, value)| (*name, &**value));
        let template = if as_given < least as f64 {
            &profile.limits.raised
        } else {
            &profile.limits.lowered
        };
        Notice::request(fill(template, &values))
    });
    Ok(Accepted {
        requested_timeout,
        notices: notice.into_iter().collect(),
        ..Accepted::within(timeout)
    })
}

/// A number as JSON's readers write it: with an exponent where it would be a long row of zeros.
fn decimal(number: f64) -> String {
    let size = number.abs();
    if size >= 1e21 || size > 0.0 && size < 1e-6 {
        format!("{number:e}")
    } else {
        // Readers know no negative zero.
        (number + 0.0).to_string()
    }
}

/// Refuses what the profile offers only if the configuration enables it.
pub(crate) fn refuse_switched_off(
    profile: &Profile,
    request: &Request,
    config: &Config,
) -> Result<(), Refusal> {
    if !request.background {
        return Ok(());
    }
    let needs_switch = |parameter: &Parameter| {
        parameter.sets == Sets::Background && parameter.needs == Some(Needs::Async)
    };
    if profile.parameters.iter().any(needs_switch) && !config.async_enabled {
        return Err(Refusal::new(RefusalKind::BackgroundDisabled, "async"));
    }
    Ok(())
}
