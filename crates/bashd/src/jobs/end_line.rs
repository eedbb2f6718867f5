//! The line at the end of a job's output file, for those who only have that file.

use crate::exec::{EndedBy, Exit};
use crate::profile::signal;
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
pub(crate) fn end_line(
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
        Exit::Unknown => {
            let error = "it was killed without reporting a status";
            fill(&lines.error, &[("error", error)])
        }
    }
}

/// A limit as people write it: `24h`, `15m`, `30s`.
pub(crate) fn limit_text(limit: Duration) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn line(exit: Exit, ended_by: Option<EndedBy>) -> String {
        let phoenix = Profile::builtin("phoenix").unwrap().unwrap();
        let lines = phoenix.background.file_ends.unwrap();
        end_line(&lines, exit, ended_by, Duration::from_hours(24))
    }

    #[test]
    fn p_17_p_18_the_end_in_the_documents_words() {
        assert_eq!(
            line(Exit::Code(0), None),
            "\n\n[background process completed]\n"
        );
        assert_eq!(
            line(Exit::Code(3), None),
            "\n\n[background process failed: exit status: 3]\n"
        );
        assert_eq!(
            line(Exit::Signal(9), None),
            "\n\n[background process failed: signal: 9 (SIGKILL)]\n"
        );
    }

    #[test]
    fn p_19_a_wait_that_fails_is_told_with_its_error() {
        assert_eq!(
            line(Exit::Unknown, None),
            "\n\n[background process error: it was killed without reporting a status]\n"
        );
    }

    #[test]
    fn p_06_the_limit_is_named() {
        assert_eq!(
            line(Exit::Signal(15), Some(EndedBy::Timeout)),
            "\n\n[background process killed: timed out after 24h]\n"
        );
        assert_eq!(limit_text(Duration::from_mins(15)), "15m");
        assert_eq!(limit_text(Duration::from_millis(1500)), "1.5s");
    }
}
