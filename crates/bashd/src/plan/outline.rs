//! What of a plan is still needed once its run is over: unlike a plan it holds no descriptor, and
//! can travel.

use super::{Limits, Plan, missing_program};
use crate::exec::{Exit, PlanOutcome, RunFailure};
use crate::notice::Notice;
use crate::output::line_limits::LineLimits;
use crate::output::veiled::Veil;
use crate::request::Request;
use crate::rewrite::Command;
use crate::screen::Size;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// What readers, minimizer, store and reply want to know of a plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the plan"
)]
pub(crate) struct Outline {
    /// Which lines of the whole output are shown.
    pub(crate) lines: LineLimits,
    /// The text that the shell got, if there was a shell.
    pub(crate) script: Option<String>,
    /// What the shell sourced before it.
    pub(crate) rc_script: Option<PathBuf>,
    /// What it evaluated after that.
    pub(crate) setup: Option<String>,
    /// The size of the terminal, if it ran in one of ours.
    pub(crate) terminal: Option<Size>,
    /// Whether it ran in a terminal, ours or the client's.
    pub(crate) in_terminal: bool,
    /// Whether somebody named the session in which it ran.
    pub(crate) session_is_asked_for: bool,
    /// Whether its call waits for its end, if it can go on as a job.
    pub(crate) waits: bool,
    /// From the shell's start to the deadline.
    pub(crate) timeout: Duration,
    /// How long the last of the output was waited for.
    pub(crate) drain_finish: Duration,
    /// The command as its job would show it.
    pub(crate) command: String,
    /// Whose call it was.
    pub(crate) owner: String,
    /// Directory of this run.
    pub(crate) directory: PathBuf,
    /// What the caller should know about what was decided.
    pub(crate) notes: Vec<String>,
    /// What is to be said about the plan.
    pub(crate) notices: Vec<Notice>,
    /// Whether its status means that its last program is not there.
    pub(crate) lacks_program: bool,
    /// Whether the times of its output are recorded.
    #[serde(default)]
    pub(crate) records: bool,
    /// What must not be shown of the output. It does not travel: whoever shows it decides.
    #[serde(skip)]
    pub(crate) veil: Veil,
}

impl Outline {
    /// The outline of a call that was never planned.
    pub(crate) fn unplanned(request: &Request, command: &Command, limits: Limits) -> Self {
        Self {
            lines: command.lines,
            script: None,
            rc_script: None,
            setup: None,
            terminal: None,
            in_terminal: false,
            session_is_asked_for: request.session.is_some(),
            waits: false,
            timeout: limits.timeout,
            drain_finish: limits.drain_finish,
            command: request.command.clone(),
            owner: String::new(),
            directory: PathBuf::new(),
            notes: Vec::new(),
            notices: Vec::new(),
            lacks_program: false,
            records: false,
            veil: Veil::default(),
        }
    }

    /// The outline of a plan that was carried out like this.
    pub(crate) async fn of(plan: &Plan, run: &Result<PlanOutcome, RunFailure>) -> Self {
        let lacks_program = match run {
            Ok(PlanOutcome::Ended(run)) => match run.exit {
                Exit::Code(code) => missing_program::explains(plan, code).await,
                Exit::Signal(_) | Exit::Unknown => false,
            },
            Ok(PlanOutcome::Backgrounded(_)) | Err(_) => false,
        };
        let session = plan.vessel.session();
        Self {
            lines: plan.lines,
            script: plan.script.clone(),
            rc_script: plan.rc_script.clone(),
            setup: plan.setup.clone(),
            terminal: plan.vessel.terminal(),
            in_terminal: plan.vessel.is_terminal(),
            session_is_asked_for: session.is_some_and(|session| session.is_asked_for),
            waits: plan.backgrounding.is_some_and(|when| when.waits),
            timeout: plan.limits.timeout,
            drain_finish: plan.limits.drain_finish,
            command: plan.job.spec.command.clone(),
            owner: plan.job.spec.owner.clone(),
            directory: plan.directory.clone(),
            notes: plan.notes.clone(),
            notices: plan.notices.clone(),
            lacks_program,
            records: plan.records,
            veil: plan.veil(),
        }
    }
}
