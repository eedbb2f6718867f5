//! The far half of a call: an order is planned and carried out here, by the engine of an outpost.

use super::drafting::{BeforeStart, DraftParts};
use super::{Engine, EngineCore};
use crate::config::Surroundings;
use crate::errand;
use crate::error::{Error, ErrorKind};
use crate::exec::{self, OutputWatch, PlanOutcome, RunFailure};
use crate::guard::safe_mode::{RunForm, SafeMode};
use crate::guard::{Gate, Verdict};
use crate::place::order::Order;
use crate::plan::{self, Outline, Setting};
use crate::profile::reply::Ending;
use crate::rewrite::Command;
use crate::run_id::RunId;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long the script that a shell reads first may take to be read for what it defines.
const RC_SCRIPT_WITHIN: Duration = Duration::from_secs(2);

/// What is said of a command that another shell than it was written for ran.
const NO_BASH: &str = "there is no bash at this place: sh ran the command";

/// A plan that was carried out, or not.
pub(crate) type CarriedOut = (Outline, Result<PlanOutcome, RunFailure>);

impl Engine {
    /// Plans an order and carries it out. `Err` is an ending before anything ran.
    pub(crate) async fn carry_out(
        &self,
        order: &Order,
        watch: Option<&mut OutputWatch>,
        cancel: &CancellationToken,
    ) -> Result<CarriedOut, Ending> {
        self.0.carry_out_order(order, watch, cancel).await
    }

    /// Whether a session waits for its next call, or has one.
    pub(crate) fn has_sessions(&self) -> bool {
        self.0.sessions.has_some()
    }
}

impl EngineCore {
    async fn carry_out_order(
        self: &Arc<Self>,
        order: &Order,
        mut watch: Option<&mut OutputWatch>,
        cancel: &CancellationToken,
    ) -> Result<CarriedOut, Ending> {
        let came = Instant::now();
        let profile = self.profile_by(&order.profile, order.profile_text.as_deref())?;
        let id = RunId::received(&order.id).ok_or_else(|| {
            let error = Error::new(ErrorKind::Place, "the order's id is none");
            Ending::Failed(error, None)
        })?;
        let (mut request, command, accepted) = (order.request(), order.command(), order.accepted());
        let session = plan::session_of(&profile, &request, &order.owner);
        // A session begins there, and stays where its calls go.
        let assumed = order.assumed_cwd().filter(|_| session.is_some());
        let surroundings = assumed.map(|cwd| {
            request.cwd = None;
            Surroundings {
                cwd,
                env: self.surroundings.env.clone(),
            }
        });
        let ticket = session.map(|session| self.sessions.turns.arrive(session));
        let asked = (&request, &accepted);
        let before = BeforeStart::of(asked, came, cancel);
        self.turn(ticket.as_ref(), &profile, asked, before).await?;
        self.check_room(&order.owner, accepted.backgrounding)
            .await?;
        let form = form_of(order.safe_mode, &command)?;
        let secrets = self.ledger.secrets();
        let setting = Setting {
            granted: &order.granted,
            is_guarded: Some(order.is_guarded),
            surroundings: surroundings.as_ref().unwrap_or(&self.surroundings),
            ..self.setting((&id, &secrets), &form, &order.owner, order.shape)
        };
        let parts = DraftParts {
            profile: &profile,
            request: &request,
            command: &command,
            accepted: &accepted,
            setting,
        };
        let mut directory = PathBuf::new();
        let before = BeforeStart::of(asked, came, cancel);
        let plan = Box::pin(self.plan(parts, before, &mut directory)).await?;
        if let Some(watch) = &mut watch {
            watch.behind(plan.veil());
        }
        let means = self.means(ticket.as_ref());
        let mut run = Box::pin(exec::run(&plan, means, watch, cancel)).await;
        if let Ok(PlanOutcome::Ended(run)) = &mut run {
            // What only this machine can tell of the shell.
            run.began_in.get_or_insert(directory);
            if let Some(rc_script) = &plan.rc_script {
                let script = rc_script.clone();
                let text = errand::go(rc_script, move || std::fs::read(script));
                // What does not answer defines nothing that could be told.
                let text = tokio::time::timeout(RC_SCRIPT_WITHIN, text).await;
                let text = text.ok().and_then(Result::ok).and_then(Result::ok);
                run.masks
                    .add_definitions(&String::from_utf8_lossy(&text.unwrap_or_default()));
            }
        }
        let mut outline = Outline::of(&plan, &run).await;
        if let Ok(PlanOutcome::Ended(run)) = &mut run {
            let sent = order.along.first + order.along.last;
            run.stored_there = (self.artifacts).keep_there(&profile, &outline, (run, sent));
        }
        let other = order.settings.other_shell();
        if other.is_some_and(|other| self.config.shell.as_deref() == Some(other))
            && plan.shell.name == "sh"
        {
            outline.notes.push(NO_BASH.to_owned());
        }
        Ok((outline, run))
    }
}

/// The form in which a command may run. In safe mode it is judged here as well: what is run is
/// written from what was judged.
fn form_of(mode: SafeMode, command: &Command) -> Result<RunForm, Ending> {
    if mode == SafeMode::Off {
        return Ok(RunForm::AsWritten);
    }
    let gate = Gate {
        safe_mode: mode,
        ..Gate::default()
    };
    let judgement = gate.judge(command);
    match judgement.verdict {
        Verdict::Allow => Ok(judgement.form),
        Verdict::Ask(_) | Verdict::Deny(_) => {
            let text = "the order is not allowed in safe mode";
            Err(Ending::Failed(Error::new(ErrorKind::Place, text), None))
        }
    }
}
