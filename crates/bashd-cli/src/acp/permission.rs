//! Asks the client's user whether a command may run, if a rule says so:
//! `session/request_permission`.

use crate::serve::asking::{self, CanBeAsked};
use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SessionId, ToolCallId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use bashd::approval::{Approval, ApprovalAnswer};
use std::pin::Pin;
use std::sync::Arc;

/// The client of one turn.
pub(super) struct TurnClient {
    pub(super) connection: ConnectionTo<Client>,
    pub(super) session: SessionId,
    pub(super) tool_call: ToolCallId,
}

impl CanBeAsked for TurnClient {
    /// Only an explicit yes approves: a client that can't ask, answers something else or cancels
    /// the turn refuses.
    fn ask(
        self: Arc<Self>,
        approval: Approval,
    ) -> Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>> {
        let options = ApprovalAnswer::CHOICES.map(|(word, answer)| {
            let kind = match answer {
                ApprovalAnswer::Once => PermissionOptionKind::AllowOnce,
                ApprovalAnswer::Session | ApprovalAnswer::Always => {
                    PermissionOptionKind::AllowAlways
                }
                ApprovalAnswer::Refused | ApprovalAnswer::Nobody => {
                    PermissionOptionKind::RejectOnce
                }
            };
            PermissionOption::new(word, asking::meaning(&approval, answer), kind)
        });
        let objection = &approval.objection;
        let question = format!(
            "{} ({})\n\n{}",
            objection.message, objection.rule, approval.command
        );
        let fields = ToolCallUpdateFields::new()
            .status(ToolCallStatus::Pending)
            .content(vec![question.into()]);
        let tool_call = ToolCallUpdate::new(self.tool_call.clone(), fields);
        let request =
            RequestPermissionRequest::new(self.session.clone(), tool_call, options.to_vec());
        let asked = self.connection.send_request(request);
        Box::pin(async move {
            match asked.block_task().await.map(|answer| answer.outcome) {
                Ok(RequestPermissionOutcome::Selected(chosen)) => {
                    ApprovalAnswer::of_word(&chosen.option_id.0)
                }
                _ => ApprovalAnswer::Refused,
            }
        })
    }
}
