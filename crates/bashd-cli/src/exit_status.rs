//! The exit statuses of `bashd`: fixed numbers, documented, the same in every version.

use bashd::Reply;
use std::process::ExitCode;

/// How `bashd` itself ends.
///
/// | status | meaning |
/// |---|---|
/// | the command's own | `run`: it exited |
/// | 0 | everything else: done |
/// | 1 | `doctor`: something that bashd needs is missing; `init`: something was left undone; `jobs wait`, `jobs screen`: a job ended before the condition was met; `minimize test`: a filter fails its test; `log --verify`: a record is altered or missing; `changes apply`, `undo`: somebody changed a file since |
/// | 2 | `hook`: the tool call is blocked |
/// | 123 | `map`: an item failed or is lost, or some did not begin |
/// | 124 | `run`: the deadline ended the command; `jobs wait`, `jobs screen`: the condition was not met in time |
/// | 125 | bashd failed, or the request or the usage was invalid |
/// | 126 | `run`, `check`: a rule denied the command |
/// | 130 | `run`: Ctrl-C ended the command |
/// | 128+N | `run`: signal N ended the command |
///
/// A command may exit with any of these numbers itself; `--json` tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Done.
    Success,
    /// `doctor`: something that bashd needs is missing; `init`: something was left undone; `jobs
    /// wait`: the condition can't be met any more; `minimize test`: a filter fails its test; `log
    /// --verify`: a record is altered or missing.
    Unfit,
    /// `hook`: the tool call is blocked.
    Blocked,
    /// The command's own status.
    Command(u8),
    /// This signal ended the command.
    Signal(u8),
    /// `map`: an item failed or is lost, or some did not begin.
    ItemsFailed,
    /// The deadline ended the command.
    TimedOut,
    /// bashd failed, or the request or the usage was invalid.
    Failed,
    /// A rule denied the command.
    Denied,
    /// The caller ended the command.
    Interrupted,
}

impl ExitStatus {
    /// The status that tells how a call ended.
    pub(crate) fn of(reply: &Reply) -> Self {
        if reply.denied.is_some() {
            Self::Denied
        } else if reply.error.is_some() {
            Self::Failed
        } else if reply.job.is_some() {
            // The command continues; `bashd jobs` tells how it ends.
            Self::Success
        } else if reply.timed_out {
            Self::TimedOut
        } else if reply.cancelled {
            Self::Interrupted
        } else if let Some(signal) = reply.signal {
            Self::Signal(signal as u8)
        } else {
            reply
                .exit_code
                .map_or(Self::Failed, |code| Self::Command(code as u8))
        }
    }

    /// The number.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Unfit => 1,
            Self::Blocked => 2,
            Self::Command(status) => status,
            Self::Signal(signal) => signal.saturating_add(128),
            Self::ItemsFailed => 123,
            Self::TimedOut => 124,
            Self::Failed => 125,
            Self::Denied => 126,
            Self::Interrupted => 130,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_the_documented_ones() {
        for (status, number) in [
            (ExitStatus::Success, 0),
            (ExitStatus::Unfit, 1),
            (ExitStatus::Blocked, 2),
            (ExitStatus::Command(7), 7),
            (ExitStatus::Signal(9), 137),
            (ExitStatus::ItemsFailed, 123),
            (ExitStatus::TimedOut, 124),
            (ExitStatus::Failed, 125),
            (ExitStatus::Denied, 126),
            (ExitStatus::Interrupted, 130),
        ] {
            assert_eq!(status.number(), number);
        }
    }
}
