//! The line at the end of a job's output file, for those who only have that file.

use crate::exit::{EndedBy, Exit};
use crate::signal;
use crate::template::fill;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is appended to a job's output file when it ends; nothing if the profile does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndLines {
    /// It exited with status 0.
    pub completed: String,
    /// It exited with another status, or a signal ended it: `{status}`.
    pub failed: String,
    /// It is unknown how it ended: `{error}`.
    pub error: String,
    /// Its time limit ended it: `{limit}`.
    pub timed_out: String,
}

/// The line for an ending.
pub fn end_line(
    lines: &EndLines,
    exit: Exit,
    ended_by: Option<EndedBy>,
    limit: Duration,
) -> String {
    if ended_by == Some(EndedBy::Timeout) {
        return fill(&lines.timed_out, &[("limit", &limit_text(limit))]);
    }
    match exit {
        Exit::Code(0) => lines.completed.clone(),
        Exit::Code(code) => fill(
            &lines.failed,
            &[("status", &format!("exit status: {code}"))],
        ),
        Exit::Signal(number) => {
            let status = format!("signal: {number} ({})", signal::name(number));
            fill(&lines.failed, &[("status", &status)])
        }
        Exit::Unknown => lost_line(lines, "it was killed without reporting a status"),
    }
}

/// The line if nobody knows how it ended, and why.
pub fn lost_line(lines: &EndLines, error: &str) -> String {
    fill(&lines.error, &[("error", error)])
}

/// A limit as people write it: `24h`, `15m`, `30s`.
pub fn limit_text(limit: Duration) -> String {
    let seconds = limit.as_secs();
    let is_whole = limit.subsec_nanos() == 0 && seconds > 0;
    if is_whole && seconds.is_multiple_of(3600) {
        format!("{}h", seconds / 3600)
    } else if is_whole && seconds.is_multiple_of(60) {
        format!("{}m", seconds / 60)
    } else {
        format!("{}s", limit.as_secs_f64())
    }
}
