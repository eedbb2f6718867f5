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
        let choices = approval.choices().iter();
        let options = choices.map(|(word, answer)| {
            let kind = match answer {
                ApprovalAnswer::Once => PermissionOptionKind::AllowOnce,
                ApprovalAnswer::Session | ApprovalAnswer::Always => {
                    PermissionOptionKind::AllowAlways
                }
                ApprovalAnswer::Refused | ApprovalAnswer::Nobody => {
                    PermissionOptionKind::RejectOnce
                }
            };
            PermissionOption::new(*word, asking::meaning(&approval, *answer), kind)
        });
        let options: Vec<_> = options.collect();
        Box::pin(async move {
            let fields = ToolCallUpdateFields::new()
                .status(ToolCallStatus::Pending)
                .content(vec![question(&approval).await.into()]);
            let tool_call = ToolCallUpdate::new(self.tool_call.clone(), fields);
            let request = RequestPermissionRequest::new(self.session.clone(), tool_call, options);
            let asked = self.connection.send_request(request);
            match asked.block_task().await.map(|answer| answer.outcome) {
                Ok(RequestPermissionOutcome::Selected(chosen)) => {
                    ApprovalAnswer::of_word(&chosen.option_id.0)
                }
                _ => ApprovalAnswer::Refused,
            }
        })
    }
}

async fn question(approval: &Approval) -> String {
    if approval.effects.is_some() {
        return asking::question_in_time(approval).await;
    }
    let objection = &approval.objection;
    format!(
        "{} ({})\n\n{}",
        objection.message, objection.rule, approval.command
    )
}
