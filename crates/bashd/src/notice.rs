//! Things worth saying about a call besides its outcome.

use crate::event::Stream;
use serde::{Deserialize, Serialize};

/// One sentence about a request or a run, for those who read the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Notice {
    /// What it is about; profiles use it to decide whether and where to show it.
    pub kind: NoticeKind,
    /// A sentence without capital and period: "timeout lowered to 3600 s, the maximum".
    pub text: String,
}

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum NoticeKind {
    /// The request was not carried out to the letter (a clamp). Shown if the profile has room.
    Request,
    /// Output of this stream is missing though nobody asked for that. Shown in every profile.
    OutputLost(Stream),
    /// A terminal was requested, and there is none; the text says why. Data if the profile has room
    /// for that, never text.
    NoTerminal,
    /// Confinement refused something. Shown as a line of its own where notices are.
    Refusal,
}

impl Notice {
    /// A notice about the request.
    pub fn request(text: impl Into<String>) -> Self {
        Self {
            kind: NoticeKind::Request,
            text: text.into(),
        }
    }

    /// A notice that something was refused.
    pub fn refusal(text: impl Into<String>) -> Self {
        Self {
            kind: NoticeKind::Refusal,
            text: text.into(),
        }
    }

    /// A notice that there is no terminal, and why.
    pub fn no_terminal(reason: impl Into<String>) -> Self {
        Self {
            kind: NoticeKind::NoTerminal,
            text: reason.into(),
        }
    }

    /// A notice about lost output of `stream` ([`Stream::Out`] if both are merged).
    pub fn output_lost(stream: Stream, text: impl Into<String>) -> Self {
        Self {
            kind: NoticeKind::OutputLost(stream),
            text: text.into(),
        }
    }
}
