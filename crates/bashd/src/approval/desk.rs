//! Where all questions of an engine are asked: grants first, then everybody who can answer, at
//! once.

use super::elsewhere::{AskingCalls, PostedQuestion};
use super::grants::GrantKey;
use super::{Approval, ApprovalAnswer, Approver, Grants, ProposedEffects};
use crate::errand::{self, ErrandFailure};
use crate::near::is_near_or_missing;
use bashd_keeper::secrets::Secrets;
use bashd_script::guard::Objection;
use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// A question that waits for its answer.
type Asked = Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>>;

/// What is asked for, and for whom.
pub(crate) struct ApprovalQuestion<'a> {
    /// The id of the call.
    pub(crate) id: &'a str,
    /// The text that the shell would get.
    pub(crate) command: &'a str,
    /// What of it is not written down.
    pub(crate) secrets: &'a Secrets,
    /// Why it needs approval.
    pub(crate) objection: &'a Objection,
    /// Who would run it: a yes for the session is for this caller.
    pub(crate) caller: &'a str,
    /// How long somebody is waited for who happens to watch.
    pub(crate) until: Instant,
}

impl ApprovalQuestion<'_> {
    /// The same about something else.
    fn about<'b>(&'b self, thing: &'b str) -> ApprovalQuestion<'b> {
        ApprovalQuestion {
            command: thing,
            ..*self
        }
    }

    fn key(&self) -> GrantKey<'_> {
        GrantKey {
            rule: &self.objection.rule,
            command: self.command,
            secrets: self.secrets,
            caller: self.caller,
        }
    }
}

/// The approvers of an engine, and what they have granted.
pub(crate) struct ApprovalDesk {
    approvers: Mutex<Vec<Approver>>,
    grants: Arc<Grants>,
    state_dir: PathBuf,
}

/// How long it may take to write a grant down: another process may hold its lock, and stand still.
const STORED_WITHIN: Duration = Duration::from_secs(2);

/// How long a look at the grants may take.
const LOOKED_UP_WITHIN: Duration = Duration::from_secs(2);

impl ApprovalDesk {
    /// Nobody can be asked yet.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self {
            approvers: Mutex::default(),
            grants: Arc::new(Grants::in_state(state_dir)),
            state_dir: state_dir.to_owned(),
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
        if self.is_granted(question).await {
            return (ApprovalAnswer::Once, None);
        }
        let answer = self.ask(question, own).await;
        let warning = self.remember(question, answer).await.err();
        (answer, warning.as_ref().map(not_stored))
    }

    /// Likewise for things that are granted one by one, whatever command wants them.
    pub(crate) async fn decide_things(
        &self,
        question: &ApprovalQuestion<'_>,
        things: &[String],
        own: Option<&Approver>,
    ) -> (ApprovalAnswer, Option<String>) {
        let mut missing = Vec::new();
        for thing in things {
            if !self.is_granted(&question.about(thing)).await {
                missing.push(thing);
            }
        }
        if missing.is_empty() {
            return (ApprovalAnswer::Once, None);
        }
        let answer = self.ask(question, own).await;
        let mut warning = None;
        for thing in missing {
            let kept = self.remember(&question.about(thing), answer).await.err();
            warning = warning.or(kept.as_ref().map(not_stored));
        }
        (answer, warning)
    }

    /// What somebody says who sees what a command did. That is for this time, whatever they say:
    /// the next time it may do something else.
    pub(crate) async fn decide_effects(
        &self,
        question: &ApprovalQuestion<'_>,
        effects: Arc<ProposedEffects>,
        own: Option<&Approver>,
    ) -> ApprovalAnswer {
        self.ask_showing(question, Some(effects), own).await
    }

    /// Asks everybody; the first answer counts.
    async fn ask(&self, question: &ApprovalQuestion<'_>, own: Option<&Approver>) -> ApprovalAnswer {
        self.ask_showing(question, None, own).await
    }

    async fn ask_showing(
        &self,
        question: &ApprovalQuestion<'_>,
        effects: Option<Arc<ProposedEffects>>,
        own: Option<&Approver>,
    ) -> ApprovalAnswer {
        let (tell, answered) = watch::channel(None);
        let approval = Approval {
            command: question.command.to_owned(),
            objection: question.objection.clone(),
            effects,
            answered,
        };
        let asked = self.ask_all(&approval, own);
        if asked.is_empty() && !AskingCalls::in_state(&self.state_dir).is_watched().await {
            return ApprovalAnswer::Nobody;
        }
        let posted = PostedQuestion::post(&self.state_dir, question.id).await;
        let answer = tokio::select! {
            biased;
            answer = first(asked) => match answer {
                ApprovalAnswer::Nobody => posted.answered_by_watchers(question.until).await,
                answer => answer,
            },
            answer = posted.answered() => answer,
        };
        drop(posted);
        // Front ends that still show the question see that it is answered.
        let _ = tell.send(Some(answer));
        answer
    }

    /// Whether it was granted before. Files that do not answer for a while grant nothing.
    async fn is_granted(&self, question: &ApprovalQuestion<'_>) -> bool {
        let key = question.key();
        if self.grants.covers_in_session(&key) {
            return true;
        }
        if is_near_or_missing(&self.grants.file()) {
            return self.grants.covers(&key);
        }
        let looked = self.at_files(question, Grants::covers);
        let looked = tokio::time::timeout(LOOKED_UP_WITHIN, looked).await;
        matches!(looked, Ok(Ok(true)))
    }

    /// Has a step done with the files of grants, by an errand.
    async fn at_files<T: Send + 'static>(
        &self,
        question: &ApprovalQuestion<'_>,
        step: impl FnOnce(&Grants, &GrantKey<'_>) -> T + Send + 'static,
    ) -> Result<T, ErrandFailure> {
        let (grants, secrets) = (Arc::clone(&self.grants), question.secrets.clone());
        let words = [&*question.objection.rule, question.command, question.caller];
        let [rule, command, caller] = words.map(str::to_owned);
        let going = errand::go(&self.state_dir, move || {
            let key = GrantKey {
                rule: &rule,
                command: &command,
                caller: &caller,
                secrets: &secrets,
            };
            step(&grants, &key)
        });
        going.await
    }

    async fn remember(
        &self,
        question: &ApprovalQuestion<'_>,
        answer: ApprovalAnswer,
    ) -> io::Result<()> {
        if answer != ApprovalAnswer::Always {
            return self.grants.remember(&question.key(), answer);
        }
        let stored = self.at_files(question, move |grants, key| grants.remember(key, answer));
        match tokio::time::timeout(STORED_WITHIN, stored).await {
            Ok(stored) => stored.unwrap_or_else(|failure| Err(failure.into())),
            Err(_) => Err(io::Error::other("another process holds the lock")),
        }
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

fn not_stored(error: &io::Error) -> String {
    format!("the grant could not be stored: {error}")
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
