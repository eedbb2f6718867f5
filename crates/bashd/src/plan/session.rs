//! What a call in a session needs besides its plan: whose shell, and the text that it evaluates.
//! Pure.

use super::{Shell, Variables, quote};
use crate::request::Accepted;
use bashd_keeper::keeper::session::DirectoryAfter;
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
pub(super) fn is_private(name: &OsStr) -> bool {
    PRIVATE.iter().any(|private| name == *private)
}

/// Where the shell is after a call: an explicit directory applies to its call only.
pub(super) fn directory_after(explicit: Option<&Path>) -> DirectoryAfter {
    match explicit {
        Some(_) => DirectoryAfter::Returns,
        None => DirectoryAfter::Stays,
    }
}

/// A call's session.
#[derive(Debug)]
pub struct SessionPlan {
    /// Calls with the same key share a shell.
    pub key: SessionKey,
    /// The directory in which the shell starts.
    pub home: PathBuf,
    /// What the shell evaluates.
    pub text: Vec<u8>,
    /// Where the shell is after the call.
    pub(crate) directory: DirectoryAfter,
    /// What happens to a call while another one of the same session runs.
    pub overlap: Overlap,
    /// Whether the caller named it, and so should hear if it cannot be used.
    pub is_asked_for: bool,
    /// Whether the command runs wherever the shell is, and not in a directory of the plan.
    pub runs_where_it_is: bool,
    /// Whether a call that must do without its session may use a shell that was started ahead.
    pub(super) may_be_started: bool,
}

impl SessionPlan {
    /// The session in which a call runs after all, whose text begins with this `cd`. A call that is
    /// a job from its beginning has its own shell.
    pub(super) fn settled(self, accepted: &Accepted, lifted: &str) -> Option<Self> {
        let is_job = accepted.backgrounding.is_some_and(|when| !when.waits);
        (!is_job).then_some(Self {
            runs_where_it_is: self.runs_where_it_is && lifted.is_empty(),
            ..self
        })
    }
}

/// What the names of sessions begin with that clients share.
const SHARED: &str = "shared:";

/// Whose the session of this name is: its client's alone, or everybody's (`""`) if the name says so.
pub(super) fn owner_of_session<'a>(name: &str, owner: &'a str) -> &'a str {
    if name.starts_with(SHARED) { "" } else { owner }
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
    /// By owner and name: sessions that differ only in something else are rare, and an environment is
    /// long.
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

/// Whether a shell can keep a session: it must read its script from a pipe as bash does.
pub(super) fn is_possible(shell: &Shell) -> bool {
    shell.program.file_name() == Some(OsStr::new("bash"))
}

/// The text for a shell that lives on: the call's variables apply to the command only.
pub(super) fn text(command: &str, own: &[(OsString, OsString)], cwd: Option<&Path>) -> Vec<u8> {
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
        assert_eq!(text("echo 'a'", &[], None), b"echo 'a'");
    }

    #[test]
    fn variables_and_directory_stand_before_a_quoted_command() {
        let own = [("A".into(), "it's".into()), ("UID".into(), "7".into())];
        let text = text("echo 'a'", &own, Some(Path::new("/b c")));
        let expected =
            r"\builtin cd -- '/b c' && A='it'\''s' \builtin command eval 'echo '\''a'\'''";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
