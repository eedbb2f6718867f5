//! Whether a command gets a terminal, and what its environment says of it.

use crate::config::{Config, Surroundings};
use crate::notice::Notice;
use crate::profile::Profile;
use crate::profile::rules::{Fallback, TerminalWhen};
use crate::request::Request;
use crate::screen::Size;
use std::ffi::{OsStr, OsString};

/// The kind of terminal that we are.
const KIND: (&str, &str) = ("TERM", "xterm-256color");

/// By this variable people switch terminals off.
const OFF_VARIABLE: &str = "PI_NO_PTY";

/// What was decided about a command's terminal.
#[derive(Default)]
pub(super) struct Decision {
    /// Its size, if the command gets one.
    pub(super) size: Option<Size>,
    /// Why it gets none, if it asked for one.
    pub(super) refused: Option<&'static str>,
    /// What to say about that, if anything.
    pub(super) notice: Option<Notice>,
}

/// Decides whether a command gets a terminal.
pub(super) fn decide(
    profile: &Profile,
    request: &Request,
    config: &Config,
    surroundings: &Surroundings,
) -> Decision {
    if !request.pty {
        return Decision::default();
    }
    let is_off = |(name, value): &(OsString, OsString)| name == OFF_VARIABLE && value == "1";
    let reason = if surroundings.env.iter().any(is_off) {
        "PI_NO_PTY is 1"
    } else if !config.virtual_terminal {
        "bash.virtualTerminal is off"
    } else if profile.terminal.when == TerminalWhen::WithUi && !request.ui {
        "nobody watches"
    } else {
        return Decision {
            size: Some(request.terminal_size.unwrap_or_default()),
            ..Decision::default()
        };
    };
    let text = format!("a terminal was asked for, and there is none here: {reason}");
    let notice = match profile.terminal.fallback {
        Fallback::Told => Some(Notice::request(text)),
        Fallback::Silent => None,
    };
    Decision {
        size: None,
        refused: Some(reason),
        notice,
    }
}

/// Tells of the terminal, unless the call says otherwise; a size that was inherited is another's.
pub(super) fn tell(env: &mut Vec<(OsString, OsString)>, request: &Request) {
    let is_said = |name: &OsStr| request.env.iter().any(|(said, _)| said == name);
    env.retain(|(name, _)| {
        is_said(name) || !matches!(name.to_str(), Some("COLUMNS" | "LINES" | "TERM"))
    });
    if !is_said(OsStr::new(KIND.0)) {
        env.push((KIND.0.into(), KIND.1.into()));
    }
}
