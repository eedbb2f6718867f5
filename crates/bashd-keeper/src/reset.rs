//! Why a session's shell is gone, along with its variables, functions and usually its directory.

use crate::exit::Exit;
use std::fmt;

/// Why a session was restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reset {
    /// The command ended the shell: `exit`, `exec`, `set -e`.
    Exited,
    /// This signal killed the shell.
    Killed(i32),
    /// The deadline ended the command, and the shell with it.
    TimedOut,
    /// The caller ended the command, and the shell with it.
    Cancelled,
    /// The shell went on without reporting the command's end (`set -n`), or reported something
    /// else.
    NoReport,
    /// The shell could not begin a command: no descriptors or memory left, a builtin disabled.
    Unusable,
    /// The caller asked for a new shell.
    Restarted,
    /// Nobody used the session for too long.
    Idle,
    /// It was ended to make room for other sessions.
    Evicted,
    /// Its command continues as a job and took the shell along.
    BecameJob,
    /// The rc file that set up its shell has changed.
    NewRcScript,
    /// Another process had its shell, and this one goes on with it.
    Continued,
    /// Its keeper was killed or did not answer.
    Lost,
}

impl Reset {
    /// What was lost with the shell.
    pub fn loss(self) -> &'static str {
        match self {
            // The next shell begins where the command is.
            Self::BecameJob => "variables and functions are lost, the directory is kept",
            Self::Continued => {
                "variables and functions are lost, the directory is kept if it still exists"
            }
            Self::Exited
            | Self::Killed(_)
            | Self::TimedOut
            | Self::Cancelled
            | Self::NoReport
            | Self::Unusable
            | Self::Restarted
            | Self::Idle
            | Self::Evicted
            | Self::NewRcScript
            | Self::Lost => "variables, functions and directory are lost",
        }
    }
}

impl From<Exit> for Reset {
    /// For a shell that ended by itself.
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Signal(signal) => Self::Killed(signal),
            Exit::Code(_) | Exit::Unknown => Self::Exited,
        }
    }
}

impl fmt::Display for Reset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited => write!(formatter, "its shell exited"),
            Self::Killed(signal) => write!(formatter, "its shell was killed by signal {signal}"),
            Self::TimedOut => write!(formatter, "the command timed out"),
            Self::Cancelled => write!(formatter, "the command was cancelled"),
            Self::NoReport => write!(formatter, "its shell did not report how the command ended"),
            Self::Unusable => write!(formatter, "its shell could not begin the command"),
            Self::Restarted => write!(formatter, "it was restarted as asked"),
            Self::Idle => write!(formatter, "it was idle for too long"),
            Self::Evicted => write!(formatter, "it made room for other sessions"),
            Self::BecameJob => write!(formatter, "its command continues as a job, in its shell"),
            Self::NewRcScript => write!(formatter, "its rc file changed"),
            Self::Continued => write!(formatter, "another bashd process had its shell"),
            Self::Lost => write!(formatter, "its keeper was lost"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every reason; a new one does not compile until it is here.
    fn all() -> impl Iterator<Item = Reset> {
        std::iter::successors(Some(Reset::Exited), |reset| {
            Some(match reset {
                Reset::Exited => Reset::Killed(9),
                Reset::Killed(_) => Reset::TimedOut,
                Reset::TimedOut => Reset::Cancelled,
                Reset::Cancelled => Reset::NoReport,
                Reset::NoReport => Reset::Unusable,
                Reset::Unusable => Reset::Restarted,
                Reset::Restarted => Reset::Idle,
                Reset::Idle => Reset::Evicted,
                Reset::Evicted => Reset::BecameJob,
                Reset::BecameJob => Reset::NewRcScript,
                Reset::NewRcScript => Reset::Continued,
                Reset::Continued => Reset::Lost,
                Reset::Lost => return None,
            })
        })
    }

    #[test]
    fn the_page_about_sessions_lists_every_reason() {
        let page = include_str!("../../../docs/sessions.md");
        let (_, table) = page
            .split_once("| `session_reset` | when |")
            .expect("the table");
        let rows = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with("| `"));
        let listed: BTreeSet<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        let texts: Vec<String> = all()
            .map(|reset| reset.to_string().replace('9', "N"))
            .collect();
        assert_eq!(listed, texts.iter().map(String::as_str).collect());
    }
}
