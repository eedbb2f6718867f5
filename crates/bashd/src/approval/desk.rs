//! Where all questions of an engine are asked: grants first, then everybody who can answer, at
//! once.

use super::grants::GrantKey;
use super::{Approval, ApprovalAnswer, Approver, Grants};
use bashd_script::guard::Objection;
use std::future::poll_fn;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use tokio::sync::watch;

/// A question that waits for its answer.
type Asked = Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>>;

/// What is asked for, and for whom.
pub(crate) struct ApprovalQuestion<'a> {
    /// The text that the shell would get.
    pub(crate) command: &'a str,
    /// Why it needs approval.
    pub(crate) objection: &'a Objection,
    /// Who would run it: a yes for the session is for this caller.
    pub(crate) caller: &'a str,
}

impl ApprovalQuestion<'_> {
    fn key(&self) -> GrantKey<'_> {
        GrantKey {
            rule: &self.objection.rule,
            command: self.command,
            caller: self.caller,
        }
    }
}

/// The approvers of an engine, and what they have granted.
pub(crate) struct ApprovalDesk {
    approvers: Mutex<Vec<Approver>>,
    grants: Grants,
}

impl ApprovalDesk {
    /// Nobody can be asked yet.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self {
            approvers: Mutex::default(),
            grants: Grants::in_state(state_dir),
        }
    }

    /// One more who is asked, from now on.
    pub(crate) fn add(&self, approver: Approver) {
        let mut approvers = self.approvers.lock();
        approvers
            .as_mut()
            .unwrap_or_else(|poisoned| poisoned.get_mut())
            .push(approver);
    }

    /// The answer that counts: a grant, or the first that somebody gives. A warning, if it could
    /// not be remembered.
    pub(crate) async fn decide(
        &self,
        question: &ApprovalQuestion<'_>,
        own: Option<&Approver>,
    ) -> (ApprovalAnswer, Option<String>) {
        if self.grants.covers(&question.key()) {
            return (ApprovalAnswer::Once, None);
        }
        let (tell, answered) = watch::channel(None);
        let approval = Approval {
            command: question.command.to_owned(),
            objection: question.objection.clone(),
            answered,
        };
        let answer = first(self.ask_all(&approval, own)).await;
        // Front ends that still show the question see that it is answered.
        let _ = tell.send(Some(answer));
        let warning = self.grants.remember(&question.key(), answer).err();
        let warning = warning.map(|error| format!("the grant could not be stored: {error}"));
        (answer, warning)
    }

    /// Asks everybody; the call's own approver comes first.
    fn ask_all(&self, approval: &Approval, own: Option<&Approver>) -> Vec<Asked> {
        let approvers = self
            .approvers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let everybody = own.into_iter().chain(approvers.iter());
        everybody.map(|ask| ask(approval.clone())).collect()
    }
}

/// The first answer that anybody gives.
async fn first(mut asked: Vec<Asked>) -> ApprovalAnswer {
    poll_fn(|context| {
        let mut answer = None;
        asked.retain_mut(|one| match one.as_mut().poll(context) {
            Poll::Ready(ApprovalAnswer::Nobody) => false,
            Poll::Ready(given) => {
                answer.get_or_insert(given);
                false
            }
            Poll::Pending => true,
        });
        match answer {
            Some(answer) => Poll::Ready(answer),
            None if asked.is_empty() => Poll::Ready(ApprovalAnswer::Nobody),
            None => Poll::Pending,
        }
    })
    .await
}
