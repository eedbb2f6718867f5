//! Whether a command gets a terminal, and what its environment says about it.

use super::Variables;
use crate::config::{Config, Surroundings};
use crate::notice::Notice;
use crate::profile::Profile;
use crate::profile::rules::{Fallback, TerminalWhen};
use crate::request::Request;
use crate::screen::Size;
use std::ffi::{OsStr, OsString};

/// The kind of terminal that we emulate.
const KIND: (&str, &str) = ("TERM", "xterm-256color");

/// The variable with which people disable terminals.
const OFF_VARIABLE: &str = "PI_NO_PTY";

/// The size of the command's terminal, if it gets one; and a notice if it asked and gets none.
pub(super) fn decide(
    profile: &Profile,
    request: &Request,
    config: &Config,
    surroundings: &Surroundings,
) -> (Option<Size>, Option<Notice>) {
    if !request.pty {
        return (None, None);
    }
    let is_off = |(name, value): &(OsString, OsString)| name == OFF_VARIABLE && value == "1";
    let reason = if surroundings.env.iter().any(is_off) {
        "PI_NO_PTY is 1"
    } else if !config.virtual_terminal {
        "bash.virtualTerminal is off"
    } else if profile.terminal.when == TerminalWhen::WithUi && !request.ui {
        "no user interface is attached"
    } else {
        return (Some(request.terminal_size.unwrap_or_default()), None);
    };
    let text = format!("a terminal was requested, but none is available: {reason}");
    let notice = match profile.terminal.fallback {
        Fallback::Told => Notice::request(text),
        Fallback::Silent => Notice::no_terminal(reason),
    };
    (None, Some(notice))
}

/// Describes the terminal, unless the call says otherwise; an inherited size belongs to another
/// terminal.
pub(super) fn tell(env: &mut Variables, request: &Request) {
    let is_said = |name: &OsStr| request.env.iter().any(|(said, _)| said == name);
    env.retain(|name, _| {
        is_said(name) || !matches!(name.to_str(), Some("COLUMNS" | "LINES" | "TERM"))
    });
    if !is_said(OsStr::new(KIND.0)) {
        env.set(KIND.0, KIND.1);
    }
}
