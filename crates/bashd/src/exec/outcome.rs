//! The result of carrying out a plan: a finished run, a job, or why there is neither.

use super::connection::KeeperConnection;
use super::{BackgroundedRun, Reset};
use crate::artifact::Writers;
use crate::changes::ChangesSummary;
use crate::error::{Error, ErrorKind};
use crate::minimize::ShellMasks;
use crate::output::Source;
use crate::output::run_output::RunOutput;
use crate::place::StoredThere;
use crate::plan::{ConfinementInForce, Dealings, GrantableAccess, LimitsInForce, Plan};
use crate::reply::Denied;
use bashd_keeper::exit::{EndedBy, Exit};
use bashd_keeper::left_behind::LeftBehind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A finished run: how it ended, its output, its timings.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// How the shell ended.
    pub exit: Exit,
    /// Who ended it, if it did not end by itself.
    pub ended_by: Option<EndedBy>,
    /// stdout, or both streams merged.
    pub out: RunOutput,
    /// stderr, if the plan kept the streams separate.
    pub err: Option<RunOutput>,
    /// From the shell's start to the end of the drain.
    pub ran_for: Duration,
    /// The shell, if its start was told; 0 otherwise.
    pub pid: i32,
    /// Processes that outlived the run.
    pub left_behind: Vec<LeftBehind>,
    /// Whether something still worked on the last of the output when the call was answered.
    pub output_unfinished: bool,
    /// Why the session's shell is gone or was replaced.
    pub session_reset: Option<Reset>,
    /// What the caller should know about how it was run.
    pub notes: Vec<String>,
    /// Where it ran, if in a terminal of the client.
    pub terminal: Option<ClientRun>,
    /// The limits that were in force.
    pub limits: Option<LimitsInForce>,
    /// The confinement that held for it.
    pub confinement: Option<ConfinementInForce>,
    /// What it was refused, and whom it spoke to.
    pub dealings: Dealings,
    /// What of it can be granted to a repeated call.
    pub grantable: Option<GrantableAccess>,
    /// What it did to files, if that is held or can be undone.
    pub changes: Option<Box<ChangesSummary>>,
    /// Why that is not real, if somebody was asked.
    pub denied: Option<Denied>,
    /// Where its output is stored, if that is at another place.
    pub(crate) stored_there: Option<StoredThere>,
    /// Where the session's shell was when the call began.
    pub(crate) began_in: Option<PathBuf>,
    /// What earlier calls left in the session's shell that a status may depend on.
    pub(crate) masks: ShellMasks,
    /// Whether it continues: this is what there is of it so far.
    pub(crate) goes_on: bool,
    /// The processes that may still write to the spools.
    pub(crate) writers: Writers,
    /// Closed last: the keeper holds the spool until then, so freeing a large one is its work and
    /// not the engine thread's.
    pub(crate) link: Option<KeeperConnection>,
}

impl Run {
    /// A run that continues, as it is now.
    pub(crate) fn so_far(out: RunOutput, err: Option<RunOutput>, ran_for: Duration) -> Self {
        Self {
            exit: Exit::Unknown,
            ended_by: None,
            out,
            err,
            ran_for,
            pid: 0,
            left_behind: Vec::new(),
            output_unfinished: false,
            session_reset: None,
            notes: Vec::new(),
            terminal: None,
            limits: None,
            confinement: None,
            dealings: Dealings::default(),
            grantable: None,
            changes: None,
            denied: None,
            stored_there: None,
            began_in: None,
            masks: ShellMasks::default(),
            goes_on: true,
            writers: Writers::Left,
            link: None,
        }
    }
}

/// The result of a plan that was carried out.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each call")]
pub(crate) enum PlanOutcome {
    /// The run is over.
    Ended(Run),
    /// It continues as a job.
    Backgrounded(BackgroundedRun),
}

impl PlanOutcome {
    /// Bytes of its output so far.
    pub(crate) fn output_bytes(&self) -> u64 {
        let (out, err) = match self {
            Self::Ended(run) => (&run.out, &run.err),
            Self::Backgrounded(job) => (&job.out, &job.err),
        };
        out.len() + err.as_ref().map_or(0, Source::len)
    }

    /// Whether reading its output waits for another machine.
    pub(crate) fn may_wait(&self) -> bool {
        let (out, err) = match self {
            Self::Ended(run) => (&run.out, &run.err),
            Self::Backgrounded(job) => (&job.out, &job.err),
        };
        out.may_wait() || err.as_ref().is_some_and(RunOutput::may_wait)
    }

    /// Where the command began, if its session knew that and the plan did not.
    pub(crate) fn began_in(&self, plan: &Plan) -> Option<&Path> {
        let session = plan.vessel.session();
        match self {
            Self::Ended(run) if session.is_some_and(|session| session.runs_where_it_is) => {
                run.began_in.as_deref()
            }
            Self::Ended(_) | Self::Backgrounded(_) => None,
        }
    }
}

/// What there is to say about a run in a client's terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRun {
    /// The client's name for the terminal.
    pub id: String,
    /// Whether the client forgot output before it was seen.
    pub lost_output: bool,
}

/// Why there is no finished run.
pub(crate) enum RunFailure {
    /// The caller cancelled before the command was started.
    CancelledBeforeStart,
    /// It was to be a job, and there are too many; nothing ran.
    TooManyJobs(String),
    /// We failed; what was captured until then is here.
    Failed(Error, Option<Box<Run>>),
}

impl From<Error> for RunFailure {
    fn from(error: Error) -> Self {
        Self::Failed(error, None)
    }
}

impl From<RunFailure> for Error {
    fn from(failure: RunFailure) -> Self {
        match failure {
            RunFailure::Failed(error, _) => error,
            RunFailure::TooManyJobs(text) => Self::new(ErrorKind::Job, text),
            RunFailure::CancelledBeforeStart => {
                Self::new(ErrorKind::Spawn, "cancelled before start")
            }
        }
    }
}
