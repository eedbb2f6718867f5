//! How an order went, as it travels back.

use super::stored::StoredThere;
use super::wire::FarPiece;
use crate::artifact::Writers;
use crate::error::{Error, ErrorKind};
use crate::event::Stream;
use crate::exec::{EndedBy, Exit, Reset, Run};
use crate::minimize::ShellMasks;
use crate::output::run_output::{FarOutput, RunOutput, StreamCounts};
use crate::plan::{ConfinementInForce, Dealings, LimitsInForce, Outline};
use bashd_keeper::left_behind::LeftBehind;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// How an order went.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Conclusion {
    /// The command ran to its end.
    Ended {
        outline: Box<Outline>,
        report: Box<RunReport>,
    },
    /// It goes on as a job.
    Backgrounded {
        outline: Box<Outline>,
        report: Box<RunReport>,
        job: FarJobName,
    },
    /// There can be no job more.
    TooManyJobs { text: String },
    /// We failed; what was captured until then is here.
    Failed {
        outline: Option<Box<Outline>>,
        error: FarError,
        partial: Option<Box<RunReport>>,
    },
    /// It was cancelled, and nothing ran.
    Cancelled,
    /// The outpost was told to end before it came: nothing of it was begun.
    TooLate,
    /// It was begun, and nobody knows how it ended.
    Lost,
    /// There is no such order, and none was begun.
    Unknown,
}

impl Conclusion {
    /// The outpost was told to end while this was under way: who ended it was not its caller, and
    /// what never began was not cancelled.
    pub(crate) fn ended_with_place(&mut self) {
        match self {
            // Who ends an allocation asks every process of it to end, also the command itself.
            Self::Ended { report, .. }
                if report.ended_by != Some(EndedBy::Timeout) && report.exit != Exit::Code(0) =>
            {
                report.ended_by = Some(EndedBy::Place);
            }
            Self::Cancelled => *self = Self::TooLate,
            _ => {}
        }
    }

    /// Whether a signal ended the command by which places are ended.
    pub(crate) fn is_by_signal(&self) -> bool {
        const ENDING: [i32; 2] = [Signal::TERM.as_raw(), Signal::KILL.as_raw()];
        let Self::Ended { report, .. } = self else {
            return false;
        };
        // Not what we ended ourselves.
        let is_ours = report.ended_by.is_some();
        !is_ours && matches!(report.exit, Exit::Signal(signal) if ENDING.contains(&signal))
    }

    /// Whether its place ended the command.
    pub(crate) fn is_by_place(&self) -> bool {
        let Self::Ended { report, .. } = self else {
            return false;
        };
        report.ended_by == Some(EndedBy::Place)
    }
}

/// By what a job is found there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FarJobName {
    pub(crate) id: String,
    pub(crate) alias: String,
    pub(crate) pid: i32,
    pub(crate) output_file: PathBuf,
}

/// An error, as it travels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FarError {
    kind: ErrorKind,
    message: String,
    subject: Option<String>,
}

impl From<&Error> for FarError {
    fn from(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            message: error.to_string(),
            subject: error.subject().map(str::to_owned),
        }
    }
}

impl From<FarError> for Error {
    fn from(error: FarError) -> Self {
        let made = Self::new(error.kind, error.message);
        match error.subject {
            Some(subject) => made.about(subject),
            None => made,
        }
    }
}

/// A part of a stream that comes with the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Along {
    pub(crate) stream: Stream,
    pub(crate) from: u64,
    pub(crate) pieces: Vec<FarPiece>,
}

/// A run without its output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunReport {
    exit: Exit,
    ended_by: Option<EndedBy>,
    ran_for: Duration,
    pid: i32,
    left_behind: Vec<LeftBehind>,
    output_unfinished: bool,
    session_reset: Option<Reset>,
    notes: Vec<String>,
    limits: Option<LimitsInForce>,
    confinement: Option<ConfinementInForce>,
    dealings: Dealings,
    stored_there: Option<StoredThere>,
    began_in: Option<PathBuf>,
    masks: ShellMasks,
    pub(crate) out: StreamCounts,
    pub(crate) err: Option<StreamCounts>,
}

impl RunReport {
    /// What there is to report of a run.
    pub(crate) fn of(run: &Run) -> Self {
        Self {
            exit: run.exit,
            ended_by: run.ended_by,
            ran_for: run.ran_for,
            pid: run.pid,
            left_behind: run.left_behind.clone(),
            output_unfinished: run.output_unfinished,
            session_reset: run.session_reset,
            notes: run.notes.clone(),
            limits: run.limits.clone(),
            confinement: run.confinement.clone(),
            dealings: run.dealings.clone(),
            stored_there: run.stored_there.clone(),
            began_in: run.began_in.clone(),
            masks: run.masks.clone(),
            out: run.out.counts(),
            err: run.err.as_ref().map(RunOutput::counts),
        }
    }

    /// The run that it is about, with this output.
    pub(crate) fn into_run(self, out: FarOutput, err: Option<FarOutput>) -> Run {
        Run {
            exit: self.exit,
            ended_by: self.ended_by,
            pid: self.pid,
            left_behind: self.left_behind,
            output_unfinished: self.output_unfinished,
            session_reset: self.session_reset,
            notes: self.notes,
            limits: self.limits,
            confinement: self.confinement,
            dealings: self.dealings,
            stored_there: self.stored_there,
            began_in: self.began_in,
            masks: self.masks,
            writers: Writers::Gone,
            ..Run::so_far(
                RunOutput::There(Box::new(out)),
                err.map(|err| RunOutput::There(Box::new(err))),
                self.ran_for,
            )
        }
    }
}
