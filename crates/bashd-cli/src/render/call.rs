//! The call as a person reads it: `$ cd sub && NAME="value" command`.

use super::partial;
use super::visible::plain;
use super::{StyledLine, Tone};
use bashd::Profile;
#[cfg(test)]
use bashd::Request;
use std::path::Path;

/// What is known about a call: all of it, or what its arguments have told so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallText {
    /// The command; `None` until it has come.
    pub(crate) command: Option<String>,
    /// The directory, if it is not the usual one.
    pub(crate) cwd: Option<String>,
    /// The call's own variables.
    pub(crate) env: Vec<(String, String)>,
}

impl CallText {
    /// The call that a request makes.
    #[cfg(test)]
    pub(crate) fn of(request: &Request) -> Self {
        let text = |part: &std::ffi::OsStr| part.to_string_lossy().into_owned();
        Self {
            command: Some(request.command.clone()),
            cwd: request.cwd.as_deref().map(|cwd| text(cwd.as_os_str())),
            env: request
                .env
                .iter()
                .map(|(name, value)| (text(name), text(value)))
                .collect(),
        }
    }

    /// What a model's JSON arguments say, even if incomplete. For display only.
    pub(crate) fn from_partial_json(profile: &Profile, json: &str) -> Self {
        partial::recover(profile, json)
    }

    /// The lines of the call; the home directory is shown as `~`.
    pub(super) fn lines(&self, home: Option<&Path>) -> Vec<StyledLine> {
        let mut first = StyledLine::new(Tone::Faint, "$ ");
        if let Some(cwd) = &self.cwd {
            first = first.and(
                Tone::Faint,
                plain(&format!("cd {} && ", shortened(cwd, home))),
            );
        }
        let mut env: Vec<_> = self.env.iter().collect();
        env.sort();
        for (name, value) in env {
            first = first.and(
                Tone::Faint,
                plain(&format!("{name}=\"{}\" ", quoted(value))),
            );
        }
        let command = plain(self.command.as_deref().unwrap_or("…").trim_end());
        let mut rest = command.split('\n');
        let mut lines = vec![first.and(Tone::Command, rest.next().unwrap_or_default())];
        lines.extend(rest.map(|line| StyledLine::new(Tone::Command, format!("  {line}"))));
        lines
    }
}

fn shortened(path: &str, home: Option<&Path>) -> String {
    let below = home.and_then(|home| Path::new(path).strip_prefix(home).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => path.to_owned(),
    }
}

/// A value as it would appear between double quotes, on one line.
fn quoted(value: &str) -> String {
    let mut quoted = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '\\' | '"' | '$' | '`' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted
}
