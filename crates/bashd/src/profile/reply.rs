//! The profile's literal strings, fields and error mapping: from an ending to a [`Reply`].
//!
//! Here are the fields that mean the same in every profile; how text and result are put together is
//! in `shape.rs`.

use super::Profile;
use super::digest_lines::DigestWindow;
use super::facts::{Facts, Progress, Unrun};
use super::parts::ReplyPart;
use super::shape::{self, Shaped};
use crate::artifact::{self, KeptArtifact};
use crate::changes::ChangesSummary;
use crate::error::Error;
use crate::exec::{EndedBy, Exit, Reset};
use crate::jobs::Met;
use crate::jobs::tool::JobAnswer;
use crate::notice::Notice;
use crate::output::line_limits::Hidden;
use crate::output::{Captured, Extent, WrittenCounts};
use crate::plan::{ConfinementInForce, Dealings, GrantableAccess, LimitsInForce};
use crate::reply::{Denied, Reply};
use crate::request::Refusal;
use bashd_keeper::left_behind::LeftBehind;
use bashd_keeper::template::fill;
use std::path::PathBuf;
use std::time::Duration;

/// How a call ended, at whatever stage.
#[derive(Debug)]
pub enum Ending {
    /// The request was bad; nothing ran.
    Refused(Refusal),
    /// A guard said no; nothing ran.
    Denied(Denied),
    /// bashd failed; what was captured until then is here.
    Failed(Error, Option<Box<Finished>>),
    /// The command ran to its end, whatever that was.
    Ran(Box<Finished>),
    /// The call returned first; the command goes on as a job.
    Backgrounded(Box<BackgroundedCall>),
    /// What the call found at the terminal of its session.
    AtTerminal(Box<SeenAtTerminal>),
    /// The caller cancelled before the command was started.
    CancelledBeforeStart,
}

/// What a call found at the terminal of its session.
#[derive(Debug)]
pub struct SeenAtTerminal {
    /// What is new of the output, and how the command ended, if it did.
    pub(crate) finished: Finished,
    pub(crate) progress: TerminalProgress,
    /// Whether an earlier call started the command.
    pub(crate) is_continued: bool,
    /// Whether the call also wanted a new shell.
    pub(crate) is_restarted: bool,
    /// The letter that it typed with Ctrl.
    pub(crate) key: Option<char>,
    /// Where the shell is now.
    pub(crate) directory: Option<PathBuf>,
    /// The program `python`, if there is one.
    pub(crate) python: Option<String>,
    /// The command that the call brought.
    pub(crate) command: String,
}

/// How far a command in a terminal session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalProgress {
    Ended,
    /// It goes on, and was silent for too long to be waited for.
    Silent,
    /// It goes on, and the call's time is over.
    OverTime,
    /// It goes on, so that the call's own command was not run.
    Busy,
}

/// A run that goes on as a job.
#[derive(Debug)]
#[non_exhaustive]
pub struct BackgroundedCall {
    /// What there is of it.
    pub so_far: Finished,
    /// The job's id.
    pub id: String,
    /// Its short name.
    pub alias: String,
    /// The shell, which is also its process group.
    pub pid: i32,
    /// The file that its output goes to.
    pub output_file: PathBuf,
    /// The command.
    pub command: String,
    /// When it is ended at the latest, from its start.
    pub limit: Duration,
    /// Whether the call waited for an ending first.
    pub waits: bool,
    /// Whether it is ready, if the call waited for that.
    pub until: Option<Readiness>,
}

/// What came of the wait for a job to be ready.
#[derive(Debug)]
#[non_exhaustive]
pub struct Readiness {
    /// Whether it is.
    pub met: Met,
    /// What showed it.
    pub by: Option<String>,
    /// How long that took, from the job's start.
    pub after: Duration,
    /// The job's state.
    pub state: String,
    /// The end of its output.
    pub tail: String,
}

/// What a call did to its session besides running in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum SessionChange {
    /// Nothing.
    #[default]
    None,
    /// It only wanted a new shell.
    Restarted,
    /// The session is in this directory again, since the command left it for one outside.
    BackIn(PathBuf),
}

/// A run whose output has passed the profile's windows.
#[derive(Debug, Clone)]
pub struct Finished {
    /// How the shell ended.
    pub exit: Exit,
    /// Who ended it, if it did not end by itself.
    pub ended_by: Option<EndedBy>,
    /// The limit in force, for texts like "timed out after 30s".
    pub timeout: Duration,
    /// The requested limit in seconds, if another one was in force.
    pub requested_timeout: Option<f64>,
    /// From the shell's start to the end of its output.
    pub ran_for: Duration,
    /// The text.
    pub captured: Captured,
    /// What the call's line limits left out.
    pub hidden: Hidden,
    /// What the command wrote, before any window.
    pub written: WrittenCounts,
    /// Bytes that the spool no longer holds.
    pub dropped_bytes: u64,
    /// The filter that shortened the output, if one did.
    pub(crate) minimized_by: Option<String>,
    /// What of its digest is shown.
    pub(crate) digest: Option<DigestWindow>,
    /// The whole output, if it was stored.
    pub(crate) artifact: Option<KeptArtifact>,
    /// Things to tell about the request or the run.
    pub notices: Vec<Notice>,
    /// Processes that outlived the run.
    pub left_behind: Vec<LeftBehind>,
    /// Whether something still worked on the last of the output.
    pub output_unfinished: bool,
    /// What the shell said last, if its last command was a program that is not there or may not be
    /// executed.
    pub missing_program: Option<String>,
    /// Why the session's shell is gone, or is another one than before.
    pub session_reset: Option<Reset>,
    /// Whether it had a terminal, ours or the client's.
    pub in_terminal: bool,
    /// The client's terminal that it ran in.
    pub terminal: Option<String>,
    /// Its resource limits.
    pub limits: Option<LimitsInForce>,
    /// Its confinement.
    pub confinement: Option<ConfinementInForce>,
    /// What it was refused, and whom it spoke to.
    pub dealings: Dealings,
    /// What of it can be granted to a repeated call.
    pub grantable: Option<GrantableAccess>,
    /// What it did to files, if that is held or can be undone.
    pub changes: Option<ChangesSummary>,
    /// Why what it did is not real, if somebody was asked.
    pub denied: Option<Denied>,
    /// What the call did to its session besides running in it.
    pub(crate) session_change: SessionChange,
    /// Whether its status counts as success in this contract, though it is not 0.
    pub(crate) is_benign: bool,
    /// The shell, where that is known.
    pub(crate) pid: i32,
}

impl Finished {
    /// The exit status as shells count it: 128 + n for signal n.
    pub fn status(&self) -> Option<i32> {
        match self.exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(signal) => Some(128 + signal),
            Exit::Unknown => None,
        }
    }

    /// Whether it ended by itself, with a status that counts as success.
    pub(crate) fn is_success(&self) -> bool {
        self.ended_by.is_none() && (self.exit == Exit::Code(0) || self.is_benign)
    }

    /// Which lines are shown, of both streams together.
    pub(crate) fn extent(&self) -> Extent {
        match &self.captured {
            Captured::One(both) => both.extent,
            Captured::Apart { out, err } => {
                let mut extent = out.extent;
                extent.add(&err.extent);
                extent
            }
        }
    }

    /// How many lines there are, shown or not.
    pub(crate) fn all_lines(&self) -> u64 {
        let hidden = self.hidden;
        self.extent().lines + hidden.before.lines + hidden.after.lines + hidden.unended
    }

    /// How many lines are shown.
    pub(crate) fn shown_lines(&self) -> u64 {
        let extent = self.extent();
        extent.head + extent.tail
    }
}

/// Shapes the ending of a call into the reply that the profile's document prescribes.
pub fn reply(profile: &Profile, ending: &Ending, wall: Duration) -> Reply {
    let mut reply = match ending {
        Ending::Refused(refusal) => {
            let message = profile.refusals.text(refusal, &profile.tool.name);
            Reply {
                error: Some(message.clone()),
                ..without_run(profile, Unrun::Refused, &message)
            }
        }
        Ending::Denied(denied) => {
            let values = [("rule", &*denied.rule), ("message", &*denied.message)];
            let message = fill(&profile.reply.texts.denied, &values);
            Reply {
                denied: Some(denied.clone()),
                ..without_run(profile, Unrun::Denied, &message)
            }
        }
        Ending::Failed(error, finished) => {
            let message = profile.errors.text(error);
            let reply = match finished {
                Some(finished) => {
                    let partial = shape::partial_output(profile, finished);
                    with_run(
                        finished,
                        shape::of_error(profile, Unrun::Failed, &message, &partial),
                    )
                }
                None => without_run(profile, Unrun::Failed, &message),
            };
            Reply {
                error: Some(message),
                ..reply
            }
        }
        Ending::Ran(finished) => {
            let reply = with_run(finished, shape::of_run(profile, finished));
            Reply {
                is_error: reply.is_error || finished.denied.is_some(),
                ..reply
            }
        }
        Ending::Backgrounded(handed) => Reply {
            job: Some(handed.id.clone()),
            ..with_run(&handed.so_far, shape::of_job(profile, handed))
        },
        Ending::AtTerminal(seen) => with_run(&seen.finished, shape::at_terminal(profile, seen)),
        Ending::CancelledBeforeStart => Reply {
            cancelled: true,
            ..without_run(
                profile,
                Unrun::Cancelled,
                &profile.reply.texts.cancelled_before_start,
            )
        },
    };
    reply.wall_ms = u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
    reply
}

/// The reply to a call of the job tool.
pub(crate) fn of_job_tool(answer: JobAnswer, wall: Duration) -> Reply {
    let shaped = Shaped {
        text: answer.text.clone(),
        result: answer.result,
        is_error: answer.is_error,
    };
    Reply {
        error: answer.is_error.then_some(answer.text),
        wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
        ..from_shaped(shaped)
    }
}

/// The reply to a call of a further tool: what its parts, or those of the profile, say.
pub(crate) fn of_further_tool(parts: &[ReplyPart], facts: &Facts<'_>, wall: Duration) -> Reply {
    let own = if parts.is_empty() {
        &facts.profile.reply.parts
    } else {
        parts
    };
    let shaped = shape::of_parts(own, facts);
    let mut reply = match facts.progress {
        Progress::Unrun(_, message) => {
            let shaped = if shaped.text.is_empty() {
                shape::of_error(facts.profile, Unrun::Refused, message, "")
            } else {
                shaped
            };
            Reply {
                error: Some(message.to_owned()),
                ..from_shaped(shaped)
            }
        }
        // How the command ended is not how this call did.
        Progress::Ended(finished) | Progress::Running(finished) => Reply {
            is_error: false,
            ..with_run(finished, shaped)
        },
    };
    reply.wall_ms = u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
    reply
}

/// The reply to a call in which no command ran.
fn without_run(profile: &Profile, why: Unrun, message: &str) -> Reply {
    from_shaped(shape::of_error(profile, why, message, ""))
}

/// The reply to a call in which a command ran.
fn with_run(finished: &Finished, shaped: Shaped) -> Reply {
    let (exit_code, signal) = match finished.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
        Exit::Unknown => (None, None),
    };
    let (omitted_bytes, omitted_lines) = shape::omitted(&finished.captured);
    Reply {
        output: shape::output(&finished.captured),
        omitted_bytes,
        omitted_lines,
        terminal: finished.terminal.clone(),
        limits: finished.limits.clone(),
        confinement: finished.confinement.clone(),
        refused: finished.dealings.refused.clone(),
        refused_more: finished.dealings.more_refused,
        grantable: finished.grantable.clone(),
        connections: finished.dealings.connected.clone(),
        changes: finished.changes.clone(),
        denied: finished.denied.clone(),
        exit_code,
        signal,
        timed_out: finished.ended_by == Some(EndedBy::Timeout),
        cancelled: finished.ended_by == Some(EndedBy::Cancel),
        ended_by: (finished.ended_by == Some(EndedBy::Place)).then(|| "place".to_owned()),
        output_bytes: finished.written.bytes,
        output_lines: finished.written.lines,
        stderr_bytes: finished.written.stderr_bytes,
        dropped_bytes: finished.dropped_bytes,
        artifact: (finished.artifact.as_ref()).map(|kept| artifact::address(kept.id)),
        left_behind: finished.left_behind.clone(),
        output_unfinished: finished.output_unfinished,
        session_reset: finished.session_reset.map(|reset| reset.to_string()),
        ..from_shaped(shaped)
    }
}

fn from_shaped(shaped: Shaped) -> Reply {
    Reply {
        text: shaped.text,
        is_error: shaped.is_error,
        result: shaped.result,
        ..Reply::default()
    }
}

#[cfg(test)]
mod tests;
