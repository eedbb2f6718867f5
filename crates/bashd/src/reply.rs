//! What the caller gets: one [`Reply`] per call, whatever happened.
//!
//! State is data here, never text: timed out, cancelled, signalled and denied are fields. `text` is
//! what a model sees, in the profile's literal words. The JSON form (`bashd run --json`) is this
//! struct, field by field; names and types are stable and documented in `docs/reply.md`.

use crate::guard::Judgement;
use crate::plan::LimitsInForce;
use bashd_keeper::left_behind::LeftBehind;
use serde::Serialize;
use serde_json::Value;

/// The finished answer to one call.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Reply {
    /// The reply as the model sees it.
    pub text: String,
    /// Whether the profile counts this reply as a tool error.
    pub is_error: bool,
    /// The profile's own structured result.
    pub result: Value,
    /// The output text that the profile shows (its window, without the texts around it).
    pub output: String,
    /// The command's exit status; null when it was killed by a signal or never ran.
    pub exit_code: Option<i32>,
    /// The signal that ended the shell, or null.
    pub signal: Option<i32>,
    /// Whether the deadline ended the command.
    pub timed_out: bool,
    /// Whether the caller ended the command.
    pub cancelled: bool,
    /// The rule that denied the command, or null.
    pub denied: Option<Denied>,
    /// Why bashd itself failed or the request was bad, or null.
    pub error: Option<String>,
    /// Bytes that the command wrote (both streams together).
    pub output_bytes: u64,
    /// Newlines that the command wrote (both streams together).
    pub output_lines: u64,
    /// Bytes on stderr where the streams are apart, else null.
    pub stderr_bytes: Option<u64>,
    /// Bytes that the command wrote and `output` does not show.
    pub omitted_bytes: u64,
    /// Newlines that the command wrote and `output` does not show.
    pub omitted_lines: u64,
    /// Bytes that the command wrote and the spool no longer holds, exactly.
    pub dropped_bytes: u64,
    /// From request to reply, in milliseconds.
    pub wall_ms: u64,
    /// Handle of the stored full output, or null.
    pub artifact: Option<String>,
    /// Handle of the background job, or null.
    pub job: Option<String>,
    /// Processes that outlived the call.
    pub left_behind: Vec<LeftBehind>,
    /// Why the session's shell is gone, or is another one than before; null while state is kept.
    pub session_reset: Option<String>,
    /// The client's terminal that the command ran in, or null.
    pub terminal: Option<String>,
    /// What the command may use up, and by which means that is held; null where nothing is limited.
    pub limits: Option<LimitsInForce>,
}

/// Which rule denied a command, and its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Denied {
    /// The rule's name.
    pub rule: String,
    /// The rule's message.
    pub message: String,
    /// The tool to use instead, where the rule names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_tool: Option<String>,
}

impl From<&Judgement> for Denied {
    fn from(judgement: &Judgement) -> Self {
        let objection = judgement.objection();
        Self {
            rule: objection
                .map(|objection| objection.rule.clone())
                .unwrap_or_default(),
            message: objection
                .map(|objection| objection.message.clone())
                .unwrap_or_default(),
            suggested_tool: judgement.suggested_tool.clone(),
        }
    }
}
