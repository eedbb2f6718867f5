//! Processes that outlived the call that started them.

use serde::Serialize;

/// A process that outlived the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct LeftBehind {
    /// Its process id.
    pub pid: i32,
    /// Its command line, or its name in brackets.
    pub command: String,
    /// Milliseconds since it started.
    pub age_ms: u64,
    /// Why it is still there.
    pub reason: LeftReason,
    /// The job by which it can be ended later, or null.
    #[serde(default)]
    pub job: Option<String>,
    /// The short name of that job: what a text calls it.
    #[serde(skip)]
    pub alias: Option<String>,
}

/// Why a process outlived the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftReason {
    /// The shell ended normally and left it on purpose (`server &`); the policy keeps it.
    Survivor,
    /// It belongs to another user (set-id); we may not signal it.
    NotPermitted,
    /// It did not end in time although it was killed (uninterruptible sleep).
    Unkillable,
}
