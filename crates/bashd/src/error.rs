//! Failures on our side: the one error type of the library.
//!
//! A command that fails, times out, is killed or is denied is an outcome and never appears here.
//! Nor does a bad request: that is a [`Refusal`](crate::request::Refusal), for the caller to fix.

use bashd_keeper::keeper::NoKeeper;
use std::fmt;
use std::io;

/// Why bashd could not do its job.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    subject: Option<String>,
    #[source]
    source: Option<io::Error>,
}

/// Whose fault it was; profiles choose their text by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The working directory is not accessible.
    Cwd,
    /// There is no such working directory.
    CwdMissing,
    /// The working directory is not a directory.
    CwdNotADirectory,
    /// No shell of the profile's list exists on this machine, or the program to run without a shell
    /// does not.
    Shell,
    /// The configured shell does not exist.
    ShellConfigured,
    /// The shell could not be started (fork, exec, limits, confinement).
    Spawn,
    /// The confinement that was asked for is not possible as it stands.
    Confinement,
    /// The keeper died or went silent before it reported how the command ended.
    KeeperLost,
    /// No keeper is available: hook not called, program missing, protocol mismatch.
    Keeper,
    /// A configuration or profile could not be read.
    Config,
    /// There is no such job, or none of this owner.
    NoSuchJob,
    /// A job could not be created, reached or read, or does not do what was asked.
    Job,
    /// A place can't be reached, or does not take an order; nothing ran.
    Place,
    /// Nobody knows how the command ended at its place.
    PlaceLost,
    /// A rule denies what was to be begun; nothing ran.
    Denied,
    /// Something else the operating system refused.
    Io,
}

impl Error {
    /// Builds an error of a kind with a text that fits after "failed: ".
    pub fn new(kind: ErrorKind, message: impl fmt::Display) -> Self {
        Self {
            kind,
            message: message.to_string(),
            subject: None,
            source: None,
        }
    }

    /// Builds an error from what the operating system reported while we did `doing`.
    pub fn io(kind: ErrorKind, doing: impl fmt::Display, source: io::Error) -> Self {
        Self {
            kind,
            message: format!("{doing}: {source}"),
            subject: None,
            source: Some(source),
        }
    }

    /// Names what the error is about (a directory, a program), for texts that show only that.
    #[must_use]
    pub fn about(mut self, subject: impl fmt::Display) -> Self {
        self.subject = Some(subject.to_string());
        self
    }

    /// What the error is about, if known.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Whose fault it was.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl From<NoKeeper> for Error {
    fn from(reason: NoKeeper) -> Self {
        Self {
            kind: ErrorKind::Keeper,
            message: reason.to_string(),
            subject: None,
            source: reason.into_source(),
        }
    }
}

/// The library's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;
