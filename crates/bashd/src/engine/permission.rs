//! Whether a judged command may run: somebody is asked where a rule wants that.

use super::EngineCore;
use crate::approval::ApprovalAnswer;
use crate::approval::desk::ApprovalQuestion;
use crate::call::Call;
use crate::guard::{Judgement, Verdict};
use crate::ledger::LedgerEntry;
use crate::profile::reply::Ending;
use crate::reply::Denied;

impl EngineCore {
    /// Lets a command pass, or ends its call: what nobody approves is denied.
    pub(super) async fn permit(
        &self,
        judgement: &Judgement,
        (command, entry): (&str, &LedgerEntry<'_>),
        call: &Call,
        caller: &str,
    ) -> Result<(), Ending> {
        let objection = match &judgement.verdict {
            Verdict::Allow => return Ok(()),
            Verdict::Deny(_) => return Err(Ending::Denied(judgement.into())),
            Verdict::Ask(objection) => objection,
        };
        let question = ApprovalQuestion {
            command,
            secrets: &entry.secrets,
            objection,
            caller,
        };
        entry.ask(objection);
        let own = call.approver.as_ref().map(|own| &own.0);
        let (answer, warning) = tokio::select! {
            decided = self.desk.decide(&question, own) => decided,
            () = call.cancel.cancelled() => return Err(Ending::CancelledBeforeStart),
        };
        self.warn(warning);
        match answer {
            answer if answer.is_yes() => {
                entry.allow();
                Ok(())
            }
            ApprovalAnswer::Nobody => Err(Ending::Denied(Denied::with_nobody_to_ask(judgement))),
            _ => Err(Ending::Denied(judgement.into())),
        }
    }
}
