//! Asking about effects: a command has run, what it did to files is held, and somebody sees it
//! before it is real. Allowed, it is applied; everything else discards it.

use super::EngineCore;
use super::effects::done;
use crate::approval::desk::ApprovalQuestion;
use crate::approval::{ApprovalAnswer, ProposedEffects};
use crate::call::Call;
use crate::changes::{Change, ChangeStore, ChangesSummary, Effects};
use crate::errand;
use crate::exec::{EndedBy, Exit, PlanOutcome, Run, RunFailure};
use crate::feed::AskedEffects;
use crate::guard::{Judgement, Objection};
use crate::ledger::LedgerEntry;
use crate::plan::Network;
use crate::plan::confinement;
use crate::profile::Profile;
use crate::profile::refusals;
use crate::profile::reply::Ending;
use crate::reply::Denied;
use crate::request::{Refusal, RefusalKind, Request};
use crate::rewrite::Command;
use bashd_keeper::counted::counted;
use bashd_script::guard::AskBy;
use std::thread;
use std::time::Duration;
use tokio::time::Instant;

/// The rule that is named where no rule of the guard asks, but the configuration, the profile or
/// the call.
const RULE: &str = "effects";

/// What a command did that somebody must allow before it is real.
pub(super) struct ProposedChange {
    store: ChangeStore,
    change: Change,
    /// Whether it is settled what becomes of it.
    is_settled: bool,
}

impl Drop for ProposedChange {
    /// Nobody waits for the answer any more, and nobody has allowed it.
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        let (store, id) = (self.store.clone(), self.change.id().to_owned());
        // Whoever dropped the call may be the runtime's thread.
        let discarding = move || drop(store.refuse(&id));
        let _ = thread::Builder::new()
            .name("changes".to_owned())
            .spawn(discarding);
    }
}

impl ProposedChange {
    pub(super) fn new(store: ChangeStore, change: Change) -> Self {
        Self {
            store,
            change,
            is_settled: false,
        }
    }
}

/// Whose effects somebody is asked about, and why.
pub(super) fn question_of(
    profile: &Profile,
    judgement: &Judgement,
    mode: Effects,
) -> Option<Objection> {
    let by_rule = judgement.about_effects().cloned();
    by_rule.or_else(|| {
        let is_asked = mode == Effects::Ask || profile.guard.ask == AskBy::Effects;
        let text = "what commands change here is looked at before it is real";
        is_asked.then(|| Objection::asking(RULE, text.to_owned()))
    })
}

/// How somebody is asked, and in whose name.
pub(super) struct EffectsAsking<'a, 'b> {
    pub(super) objection: &'a Objection,
    pub(super) command: &'a Command,
    pub(super) entry: &'a LedgerEntry<'b>,
    pub(super) call: &'a Call,
    pub(super) caller: &'a str,
    /// How long somebody is waited for who happens to watch.
    pub(super) patience: Duration,
}

impl EngineCore {
    /// Has a request say that its effects are asked about, if a rule or its profile says so; says
    /// by what.
    pub(super) fn ask_about_effects(
        &self,
        profile: &Profile,
        judgement: &Judgement,
        request: &mut Request,
        is_away: bool,
    ) -> Result<Option<Objection>, Ending> {
        let refused = |kind, text| Ending::Refused(Refusal::new(kind, text));
        let mode = confinement::effects(&self.config, request)
            .map_err(|error| refused(RefusalKind::InvalidValue, error.to_string()))?;
        let Some(objection) = question_of(profile, judgement, mode) else {
            return Ok(None);
        };
        if is_away {
            let text = "asking about what a command changed is not available at places yet";
            return Err(refused(RefusalKind::NotAvailable, text.to_owned()));
        }
        // What is only held is not real before a person applies it.
        request.effects = Some(mode.max(Effects::Ask));
        Ok(Some(objection).filter(|_| mode < Effects::Hold))
    }

    /// Shows what a command did to whoever approves, and does what they say.
    pub(super) async fn settle_by_asking(
        &self,
        mut proposed: ProposedChange,
        run: &mut Result<PlanOutcome, RunFailure>,
        asking: EffectsAsking<'_, '_>,
    ) {
        let Ok(PlanOutcome::Ended(run)) = run else {
            return;
        };
        let summary = proposed.change.summary();
        let told = told(run, &summary);
        asking
            .entry
            .ask_about(asking.objection, &asking.command.to_run, Some(&told));
        let question = ApprovalQuestion {
            id: asking.entry.id.as_str(),
            command: &asking.command.to_run,
            secrets: &asking.entry.secrets,
            objection: asking.objection,
            caller: asking.caller,
            until: Instant::now() + asking.patience,
        };
        let effects = ProposedEffects::new(proposed.change.clone(), told);
        let own = asking.call.approver.as_ref().map(|own| &own.0);
        let answer = tokio::select! {
            answer = self.desk.decide_effects(&question, effects, own) => Some(answer),
            () = asking.call.cancel.cancelled() => None,
        };
        let (store, id) = (proposed.store.clone(), proposed.change.id().to_owned());
        let is_yes = answer.is_some_and(ApprovalAnswer::is_yes);
        let settling = errand::wait(move |_| {
            if is_yes {
                store.allow(&id)
            } else {
                store.refuse(&id)
            }
        });
        let settled = done(settling.await);
        proposed.is_settled = true;
        match settled {
            Ok(settled) => {
                let is_discarded = settled.is_none();
                let changes = settled.unwrap_or_else(|| summary.discarded(why(answer)));
                if is_yes {
                    asking.entry.allow();
                } else if is_discarded {
                    run.denied = Some(denied(asking.objection, answer));
                }
                run.changes = Some(Box::new(changes));
            }
            Err(error) => run.notes.push(format!(
                "its changes are held as {}, and not real: {error}",
                proposed.change.id()
            )),
        }
    }
}

/// What a person is told beside what changed.
fn told(run: &Run, summary: &ChangesSummary) -> AskedEffects {
    let ending = match (run.ended_by, run.exit) {
        (Some(EndedBy::Timeout), _) => "it was ended by its timeout".to_owned(),
        (Some(EndedBy::Cancel), _) => "it was cancelled".to_owned(),
        (Some(EndedBy::Place), _) => "it ended with its place".to_owned(),
        (None, Exit::Code(0)) => "it succeeded".to_owned(),
        (None, Exit::Code(code)) => format!("it failed with status {code}"),
        (None, Exit::Signal(signal)) => format!("it was ended by signal {signal}"),
        (None, Exit::Unknown) => "it is not known how it ended".to_owned(),
    };
    let network = run.confinement.as_ref().map(|held| held.network);
    let connected = run.dealings.connected.iter();
    let mut hosts: Vec<String> = connected
        .map(|host| {
            let count = counted(host.count, "connection", "connections");
            let name = refusals::one_line(&host.host);
            format!("{name} ({count}, {} bytes sent)", host.sent)
        })
        .collect();
    if network == Some(Network::All) {
        hosts.push("any other host: its network is not held".to_owned());
    }
    let mut refused: Vec<String> = run.dealings.refused.iter().map(refusals::text).collect();
    if run.dealings.more_refused > 0 {
        refused.push(format!("{} more", run.dealings.more_refused));
    }
    let is_watched = run
        .confinement
        .as_ref()
        .is_some_and(|held| held.files_watched);
    if !is_watched {
        refused.push("refused writes are not known: this system can't watch files".to_owned());
    }
    AskedEffects {
        ending,
        changed: summary.counted(),
        refused,
        hosts,
    }
}

/// Why it is not real.
fn why(answer: Option<ApprovalAnswer>) -> &'static str {
    match answer {
        Some(ApprovalAnswer::Nobody) => "nobody could be asked, or nobody answered in time",
        Some(_) => "the person who was asked did not allow them",
        None => "the call was cancelled before anybody answered",
    }
}

fn denied(objection: &Objection, answer: Option<ApprovalAnswer>) -> Denied {
    Denied::of_effects(
        &objection.rule,
        format!(
            "{}. The command ran, but what it did to files was discarded: {}",
            objection.message,
            why(answer)
        ),
    )
}
