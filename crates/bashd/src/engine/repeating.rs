//! Carrying a plan out, and once more where that may tell something: a confined command that failed
//! runs a second time with its files watched (`confinement.report = "retry"`).

use super::EngineCore;
use super::approving::ProposedChange;
use super::drafting::BeforeStart;
use crate::call::Call;
use crate::config::RefusalReport;
use crate::exec::{self, Exit, OutputWatch, PlanOutcome, Run, RunFailure, TurnTicket};
use crate::plan::{Plan, StdinSource, Vessel};
use crate::profile::reply::Ending;
use crate::request::Request;
use crate::run_id::RunId;
use std::path::PathBuf;

/// A plan, what became of it, and what it did that somebody must allow.
pub(super) type CarriedOutRun = (
    Plan,
    Result<PlanOutcome, RunFailure>,
    Option<ProposedChange>,
);

impl EngineCore {
    pub(super) fn means<'a>(&'a self, ticket: Option<&'a TurnTicket>) -> exec::Means<'a> {
        exec::Means {
            keepers: &self.keepers,
            sessions: &self.sessions,
            ticket,
        }
    }

    /// What became of a plan: of the second one, if there was one. Its effects on files are
    /// settled, but for those that somebody must allow.
    pub(super) async fn carry_out(
        &self,
        (plan, ticket): (Plan, Option<&TurnTicket>),
        (id, before): (&RunId, BeforeStart<'_>),
        (request, call): (&Request, &Call),
        mut watch: Option<&mut OutputWatch>,
    ) -> Result<CarriedOutRun, Ending> {
        if let Some(watch) = &mut watch {
            watch.behind(plan.veil());
        }
        let (plan, held) = Box::pin(self.hold(plan, id, before)).await?;
        let (plan, mut run) = self
            .run_or_repeat((plan, ticket), (request, call), watch)
            .await;
        let mut proposed = None;
        if let Some(held) = held {
            proposed = Box::pin(self.settle(held, &mut run, before)).await;
        }
        Ok((plan, run, proposed))
    }

    async fn run_or_repeat(
        &self,
        (plan, ticket): (Plan, Option<&TurnTicket>),
        (request, call): (&Request, &Call),
        watch: Option<&mut OutputWatch>,
    ) -> (Plan, Result<PlanOutcome, RunFailure>) {
        let means = self.means(ticket);
        // A large future, and callers hold it on their stack.
        let run = Box::pin(exec::run(&plan, means, watch, &call.cancel)).await;
        let may_repeat =
            self.config.confinement.report == RefusalReport::Retry && request.repeatable;
        match &run {
            Ok(PlanOutcome::Ended(first)) if may_repeat && is_repeatable(&plan, first) => {}
            _ => return (plan, run),
        }
        let again = plan.again_with_files_watched();
        let run = exec::run_alone(&again, &self.keepers, None, &call.cancel);
        let run = Box::pin(run).await;
        (again, run)
    }
}

/// Has a call's record name the directory in which the shell of its session was.
pub(super) fn note_directory(
    plan: &Plan,
    run: &Result<PlanOutcome, RunFailure>,
    directory: &mut PathBuf,
) {
    if let Some(began_in) = run.as_ref().ok().and_then(|run| run.began_in(plan)) {
        began_in.clone_into(directory);
    }
}

/// Whether a command failed by itself, in a shell of its own whose files nobody watched, and can
/// read the same again.
fn is_repeatable(plan: &Plan, run: &Run) -> bool {
    let has_failed = matches!(run.exit, Exit::Code(code) if code != 0) && run.ended_by.is_none();
    let is_unwatched = run
        .confinement
        .as_ref()
        .is_some_and(|held| !held.files_watched);
    let is_alone = matches!(plan.vessel, Vessel::OwnShell | Vessel::StartedShell);
    let is_read_once = matches!(plan.stdin, StdinSource::Open(_));
    has_failed && is_unwatched && is_alone && !is_read_once
}
