//! Asking somebody whether a command may run.

use bashd_script::guard::Objection;
use std::pin::Pin;
use std::sync::Arc;

/// What the approver is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Approval {
    /// The text that the shell would get.
    pub command: String,
    /// Why it needs approval.
    pub objection: Objection,
}

impl Approval {
    pub(crate) fn new(command: &str, objection: Objection) -> Self {
        Self {
            command: command.to_owned(),
            objection,
        }
    }
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// It may run, this once.
    Approved,
    /// It may not; also if nobody answered.
    Refused,
}

/// Asks somebody. Dropped with the call that waits for it.
pub type Approver =
    Arc<dyn Fn(Approval) -> Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>> + Send + Sync>;
