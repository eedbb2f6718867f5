//! How a shell ended, and who ended it.

/// How the shell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It could not be ended in time, so there is no status.
    Unknown,
}

/// Who ended the run, if it did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The deadline.
    Timeout,
    /// The caller: its token, its dropped future, or its death.
    Cancel,
    /// The place at which it ran, which was ended: an allocation that was over.
    Place,
}
