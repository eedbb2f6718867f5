//! Carrying out a plan: the only place that makes processes.

use crate::output::Source;
use crate::reply::LeftBehind;
use std::time::Duration;

/// How the shell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It could not be ended in time, so that there is no status.
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
}

/// A finished run: how it ended, its output, its timings.
pub struct Run {
    /// How the shell ended.
    pub exit: Exit,
    /// Who ended it, if it did not end by itself.
    pub ended_by: Option<EndedBy>,
    /// stdout, or both streams merged.
    pub out: Box<dyn Source + Send + Sync>,
    /// stderr, where the plan kept the streams apart.
    pub err: Option<Box<dyn Source + Send + Sync>>,
    /// From the shell's start to the end of the drain.
    pub ran_for: Duration,
    /// Processes that outlived the run.
    pub left_behind: Vec<LeftBehind>,
}
