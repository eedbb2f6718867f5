//! How a run ended, in words and numbers: its state, the footer, the line about missing output.

use super::{StyledLine, Tone};
use bashd::Reply;
use bashd::changes::ChangesSummary;
use serde_json::Value;
use std::time::Duration;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RunState {
    /// Its arguments have not all come.
    Arriving,
    /// Nothing runs yet.
    Waiting,
    /// It runs.
    Running,
    /// It exited with status 0.
    Done,
    /// It exited with another status, or a signal ended it.
    Failed,
    /// The deadline ended it.
    TimedOut,
    /// The caller ended it.
    Cancelled,
    /// A rule did not let it run.
    Denied,
    /// It continues in the background.
    Background,
    /// bashd failed, or the request was bad.
    Error,
}

impl RunState {
    /// The state given by a reply.
    pub(crate) fn of(reply: &Reply) -> Self {
        if reply.denied.is_some() {
            Self::Denied
        } else if reply.error.is_some() {
            Self::Error
        } else if reply.timed_out {
            Self::TimedOut
        } else if reply.cancelled {
            Self::Cancelled
        } else if reply.job.is_some() && reply.exit_code.is_none() && reply.signal.is_none() {
            Self::Background
        } else if reply.exit_code == Some(0) {
            Self::Done
        } else {
            Self::Failed
        }
    }

    /// The state in a word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Arriving => "arriving",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Cancelled => "cancelled",
            Self::Denied => "denied",
            Self::Background => "in the background",
            Self::Error => "error",
        }
    }

    /// The state as a sign.
    pub(crate) fn sign(self) -> char {
        match self {
            Self::Arriving | Self::Waiting | Self::Running => '•',
            Self::Done => '✔',
            Self::Failed | Self::Denied | Self::Error => '✘',
            Self::TimedOut | Self::Cancelled => '!',
            Self::Background => '»',
        }
    }

    /// The state as a color.
    pub(crate) fn tone(self) -> Tone {
        match self {
            Self::Arriving | Self::Waiting => Tone::Faint,
            Self::Running | Self::Background => Tone::Active,
            Self::Done => Tone::Good,
            Self::Failed | Self::Denied | Self::Error => Tone::Bad,
            Self::TimedOut | Self::Cancelled => Tone::Warning,
        }
    }
}

/// What a finished run shows besides its output.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunSummary {
    /// How it ended.
    pub(crate) state: RunState,
    /// From request to reply.
    pub(crate) wall: Duration,
    /// The limit in force.
    pub(crate) timeout: Option<Duration>,
    /// The requested limit in seconds, if it is different.
    pub(crate) requested_timeout: Option<f64>,
    /// Exit status; for signal n it is 128 + n.
    pub(crate) exit: Option<i32>,
    /// Bytes of the output that are not shown.
    pub(crate) omitted_bytes: u64,
    /// Where all of the output is.
    pub(crate) artifact: Option<String>,
    /// The message if nothing ran, or if what it did was not allowed.
    pub(crate) remark: Option<String>,
    /// What became of its changes, if they were held or can be undone.
    pub(crate) changes: Option<String>,
}

impl RunSummary {
    /// The outcome given by a reply.
    pub(crate) fn of(reply: &Reply) -> Self {
        let number = |place: &str| reply.result.pointer(place).and_then(Value::as_f64);
        let timeout = number("/timeout_s").or_else(|| number("/details/timeoutSeconds"));
        let state = RunState::of(reply);
        let denied = reply.denied.as_ref().map(|denied| denied.message.clone());
        Self {
            state,
            wall: Duration::from_millis(reply.wall_ms),
            timeout: timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            requested_timeout: number("/details/requestedTimeoutSeconds"),
            exit: reply.exit_code.or(reply.signal.map(|signal| 128 + signal)),
            omitted_bytes: reply.omitted_bytes,
            artifact: reply.artifact.clone(),
            remark: denied.or_else(|| reply.error.clone()),
            changes: reply.changes.as_ref().map(ChangesSummary::line),
        }
    }

    /// State, times and status in one line.
    pub(crate) fn line(&self) -> StyledLine {
        let state = format!("{} {}", self.state.sign(), self.state.word());
        StyledLine::new(self.state.tone(), state).and(Tone::Faint, format!(" {}", self.footer()))
    }

    /// The lines below the output.
    pub(super) fn lines(&self) -> Vec<StyledLine> {
        let mut lines = vec![self.line()];
        if let Some(remark) = &self.remark {
            let remark = super::plain(remark);
            lines.extend(
                remark
                    .split('\n')
                    .map(|line| StyledLine::new(Tone::Bad, line)),
            );
        }
        let changes = self.changes.as_deref().map(super::plain);
        lines.extend(changes.map(|text| StyledLine::new(Tone::Faint, text)));
        lines.extend(
            self.truncation()
                .map(|text| StyledLine::new(Tone::Warning, text)),
        );
        lines
    }

    /// Times and status: `⟨Wall: 1.23s | Timeout: 300s | Exit: 2⟩`.
    pub(crate) fn footer(&self) -> String {
        let mut parts = vec![format!("Wall: {:.2}s", self.wall.as_secs_f64())];
        if let Some(timeout) = self.timeout {
            let clamped = self.requested_timeout.map_or_else(String::new, |asked| {
                format!(" (requested {asked}s clamped)")
            });
            parts.push(format!("Timeout: {}s{clamped}", timeout.as_secs_f64()));
        }
        if let Some(exit) = self.exit.filter(|exit| *exit != 0) {
            parts.push(format!("Exit: {exit}"));
        }
        format!("⟨{}⟩", parts.join(" | "))
    }

    /// What to say about output that is not shown.
    fn truncation(&self) -> Option<String> {
        let place = |text: &String| match text.strip_prefix("artifact://") {
            Some(number) => format!("full output: {text} · open: /artifact {number}"),
            None => format!("full output: {text}"),
        };
        let bytes = crate::for_people::count(self.omitted_bytes, "byte");
        match (self.omitted_bytes, &self.artifact) {
            (0, None) => None,
            (0, Some(artifact)) => Some(format!("[output kept; {}]", place(artifact))),
            (_, Some(artifact)) => Some(format!("[{bytes} not shown; {}]", place(artifact))),
            (_, None) => Some(format!("[{bytes} not shown]")),
        }
    }
}
