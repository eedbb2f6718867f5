//! Whether a judged command may run: somebody is asked where a rule wants that.

use super::EngineCore;
use crate::approval::ApprovalAnswer;
use crate::approval::desk::ApprovalQuestion;
use crate::call::Call;
use crate::errand;
use crate::error::{Error, ErrorKind};
use crate::exec::TurnTicket;
use crate::guard::{AskBy, Judgement, Objection, Verdict};
use crate::ledger::LedgerEntry;
use crate::near::is_near_or_missing;
use crate::plan::confinement::granted::{self, NeededThing};
use crate::profile::Profile;
use crate::profile::reply::Ending;
use crate::reply::{CONFINEMENT, Denied};
use crate::request::{Accepted, Request};
use crate::rewrite::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A command that is asked about, its entry, and when its call's time is over.
pub(super) type AskedText<'a> = (&'a str, &'a LedgerEntry<'a>, Instant);

/// What is asked about, and until when somebody is waited for who happens to watch: as long as the
/// call would wait for its command.
pub(super) fn asked<'a>(
    command: &'a Command,
    (entry, came): (&'a LedgerEntry<'a>, std::time::Instant),
    (request, accepted): (&Request, &Accepted),
) -> AskedText<'a> {
    let limit = patience(request, accepted);
    let came = Instant::from_std(came);
    let until = came
        .checked_add(limit)
        .unwrap_or_else(|| came + LONGEST_QUESTION);
    (&command.to_run, entry, until)
}

/// How long somebody is waited for who happens to watch: as long as the call would wait for its
/// command.
pub(super) fn patience(request: &Request, accepted: &Accepted) -> Duration {
    let limit = accepted.silence.map(|limit| limit.longest);
    let limit = limit.unwrap_or(accepted.timeout);
    let limit = limit.min(request.wait_max.unwrap_or(Duration::MAX));
    limit.min(LONGEST_QUESTION)
}

/// No question is open for longer.
const LONGEST_QUESTION: Duration = Duration::from_hours(1);

impl EngineCore {
    /// Lets a command pass with what it needs, or ends its call. Nobody waits meanwhile for a call
    /// that waits for a person.
    pub(super) async fn permitted(
        self: &Arc<Self>,
        judgement: &Judgement,
        asked: AskedText<'_>,
        (profile, request, (call, caller)): (&Arc<Profile>, &Request, (&Call, &str)),
        ticket: Option<TurnTicket>,
    ) -> Result<(Vec<NeededThing>, Option<TurnTicket>), Ending> {
        let asks = matches!(judgement.verdict, Verdict::Ask(_)) || !request.needs.is_empty();
        let ticket = ticket.filter(|_| !asks);
        self.permit(judgement, asked, call, caller).await?;
        let granted = self.grant(profile, request, asked, (call, caller)).await?;
        let ticket = ticket.or_else(|| self.place_in_line(profile, call, request));
        Ok((granted, ticket))
    }

    /// Lets a command pass, or ends its call: what nobody approves is denied.
    async fn permit(
        &self,
        judgement: &Judgement,
        (command, entry, until): AskedText<'_>,
        call: &Call,
        caller: &str,
    ) -> Result<(), Ending> {
        let objection = match &judgement.verdict {
            Verdict::Allow => return Ok(()),
            Verdict::Deny(_) => return Err(Ending::Denied(judgement.into())),
            // It is asked about later.
            Verdict::Ask(objection) if objection.ask == AskBy::Effects => return Ok(()),
            Verdict::Ask(objection) => objection,
        };
        let question = ApprovalQuestion {
            id: entry.id.as_str(),
            command,
            secrets: &entry.secrets,
            objection,
            caller,
            until,
        };
        entry.ask(objection, command);
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

    /// What a call needs and does not have. An errand looks: the paths are the caller's, and may
    /// lead to what does not answer.
    async fn missing(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        request: &Request,
        cancel: &CancellationToken,
        until: Instant,
    ) -> Result<Vec<NeededThing>, Ending> {
        let (core, profile, request) = (Arc::clone(self), Arc::clone(profile), request.clone());
        let named = request.needs.write.iter();
        let mut named = named.map(|path| self.surroundings.cwd.join(path));
        let far = named.find(|path| !is_near_or_missing(path));
        let far = far.unwrap_or_else(|| self.surroundings.cwd.clone());
        let looking = errand::go(&far, move || {
            let found = core
                .config
                .confinement_of(&profile, &request, &core.surroundings);
            let found = found.map_err(|error| Ending::Failed(error, None))?;
            let Some(confinement) = found else {
                return Ok(Vec::new());
            };
            let missing = granted::missing(&confinement, &request.needs);
            missing.map_err(|why| Ending::Denied(Denied::confinement(why)))
        });
        let looked = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Ending::CancelledBeforeStart),
            looked = looking => looked,
            () = tokio::time::sleep_until(until) => {
                let shown = far.display();
                let text = format!("{shown}, which it needs, does not answer");
                return Err(Ending::Failed(Error::new(ErrorKind::Io, text), None));
            }
        };
        looked.unwrap_or_else(|failure| {
            let error = Error::io(ErrorKind::Io, "look at what it needs", failure.into());
            Err(Ending::Failed(error, None))
        })
    }

    /// What a call gets beyond its confinement: all that it needs, or it is denied.
    async fn grant(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        request: &Request,
        (command, entry, until): AskedText<'_>,
        (call, caller): (&Call, &str),
    ) -> Result<Vec<NeededThing>, Ending> {
        let needs = &request.needs;
        if needs.is_empty() {
            return Ok(Vec::new());
        }
        let missing = self.missing(profile, request, &call.cancel, until);
        let missing = Box::pin(missing).await?;
        if missing.is_empty() {
            return Ok(missing);
        }
        let things: Vec<String> = missing.iter().map(ToString::to_string).collect();
        let message = format!(
            "it needs more than its confinement gives it: {}. Its reason: {}",
            things.join("; "),
            needs.reason.trim()
        );
        let objection = Objection::asking(CONFINEMENT, message.clone());
        // Another text than that of the command alone: an answer to one question is not one to
        // another.
        let shown = format!("{command}\n\n[needs: {}]", things.join("; "));
        let question = ApprovalQuestion {
            id: entry.id.as_str(),
            command: &shown,
            secrets: &entry.secrets,
            objection: &objection,
            caller,
            until,
        };
        entry.ask(&objection, command);
        let own = call.approver.as_ref().map(|own| &own.0);
        let (answer, warning) = tokio::select! {
            decided = self.desk.decide_things(&question, &things, own) => decided,
            () = call.cancel.cancelled() => return Err(Ending::CancelledBeforeStart),
        };
        self.warn(warning);
        match answer {
            answer if answer.is_yes() => {
                entry.allow();
                Ok(missing)
            }
            ApprovalAnswer::Nobody => {
                let settings: Vec<String> = missing.iter().map(NeededThing::setting).collect();
                let how = settings.join(", ");
                let text =
                    format!("{message}. Nobody can be asked here; {how} in config.toml grants it");
                Err(Ending::Denied(Denied::confinement(text)))
            }
            _ => Err(Ending::Denied(Denied::confinement(message))),
        }
    }
}
