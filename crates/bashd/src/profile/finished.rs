//! From a run to what its reply is made of: notices, counts, and lost output. Pure, except for
//! reading.

use super::Profile;
use super::digest_lines::DigestWindow;
use super::refusals;
use super::reply::{self, BackgroundedCall, Ending, Finished, SessionChange};
use super::rules::{StartFailure, Within};
use super::views::Views;
use crate::artifact::KeptArtifact;
use crate::changes::ChangesSummary;
use crate::error::{Error, ErrorKind};
use crate::event::Stream;
use crate::exec::{BackgroundedRun, EndedBy, Exit, Run};
use crate::notice::Notice;
use crate::output::line_limits::{Hidden, LineLimits};
use crate::output::run_output::RunOutput;
use crate::output::terminal::TerminalText;
use crate::output::view::View;
use crate::output::window::Window;
use crate::output::{Capture, Captured, Source, StreamPiece, WrittenCounts};
use crate::plan::{Dealings, LimitsInForce, Outline};
use crate::reply::Reply;
use crate::request::Accepted;
use bashd_keeper::job::directory::CallTerms;
use std::io;
use std::time::Duration;

/// Bytes of a last line that are read.
const LONGEST_LAST_LINE: u64 = 4096;

/// What of a run's output is shown, and where the whole of it is.
#[derive(Debug)]
pub(crate) struct ShownOutput {
    pub(crate) captured: Captured,
    /// What the call's line limits left out.
    pub(crate) hidden: Hidden,
    /// The filter that shortened it, if one did.
    pub(crate) minimized_by: Option<String>,
    /// What of its digest is shown.
    pub(crate) digest: Option<DigestWindow>,
    /// The whole output, if it was stored.
    pub(crate) kept: Option<KeptArtifact>,
}

/// A finished run as its profile shows it.
pub(crate) fn finished(
    outline: &Outline,
    run: &Run,
    accepted: &Accepted,
    shown: ShownOutput,
) -> Finished {
    let err = run.err.as_ref();
    Finished {
        exit: run.exit,
        ended_by: run.ended_by,
        timeout: accepted.timeout,
        requested_timeout: accepted.requested_timeout,
        ran_for: run.ran_for,
        captured: shown.captured,
        hidden: shown.hidden,
        minimized_by: shown.minimized_by,
        digest: shown.digest,
        written: WrittenCounts::of(&run.out, err.map(|spool| spool as &dyn Source)),
        dropped_bytes: run.out.dropped() + err.map_or(0, RunOutput::dropped),
        artifact: shown.kept,
        notices: notices(outline, run, accepted),
        left_behind: run.left_behind.clone(),
        output_unfinished: run.output_unfinished,
        missing_program: (outline.lacks_program)
            .then(|| err.map_or_else(String::new, |spool| last_line(spool))),
        session_reset: run.session_reset,
        limits: run.limits.clone(),
        confinement: run.confinement.clone(),
        dealings: run.dealings.clone(),
        grantable: run.grantable.clone(),
        changes: run.changes.as_deref().cloned(),
        denied: run.denied.clone(),
        in_terminal: outline.in_terminal,
        terminal: run.terminal.as_ref().map(|terminal| terminal.id.clone()),
        session_change: if accepted.restarted {
            SessionChange::Restarted
        } else {
            SessionChange::None
        },
        is_benign: false,
        pid: run.pid,
    }
}

/// The last line of a stream, as far as it is short. Empty if it can't be read.
pub(super) fn last_line(source: &dyn Source) -> String {
    let end = source.len();
    let pieces = source.read(end.saturating_sub(LONGEST_LAST_LINE)..end);
    match pieces.unwrap_or_default().last() {
        Some(StreamPiece::Kept(bytes)) => bashd_keeper::text::last_line(bytes),
        Some(StreamPiece::Dropped(_) | StreamPiece::Replaced { .. }) | None => String::new(),
    }
}

/// Everything there is to tell about a request and its run beside the output.
fn notices(outline: &Outline, run: &Run, accepted: &Accepted) -> Vec<Notice> {
    let mut notices = accepted.notices.clone();
    notices.extend(outline.notes.iter().chain(&run.notes).map(Notice::request));
    // If nobody asked for a session by name, its end is data only: the document's texts stay as
    // they are.
    let reset = (run.session_reset).filter(|_| outline.session_is_asked_for);
    notices.extend(reset.map(|reset| {
        let loss = reset.loss();
        Notice::request(format!("the session was restarted because {reset}: {loss}"))
    }));
    notices.extend(outline.notices.iter().cloned());
    let limits = run.limits.as_ref();
    notices.extend(run.output_unfinished.then(|| unfinished(outline)));
    notices.extend(limits.and_then(out_of_memory).map(Notice::request));
    notices.extend(refusals::notices(&run.dealings));
    let changes = run.changes.as_deref().map(ChangesSummary::line);
    notices.extend(changes.map(Notice::request));
    let streams = [
        (Stream::Out, Some(&run.out)),
        (Stream::Err, run.err.as_ref()),
    ];
    for (stream, spool) in streams {
        let text = spool.and_then(lost);
        notices.extend(text.map(|text| Notice::output_lost(stream, text)));
    }
    if run.terminal.as_ref().is_some_and(|run| run.lost_output) {
        let text = "the client's terminal dropped output before it was read";
        notices.push(Notice::output_lost(Stream::Out, text));
    }
    notices
}

/// What a call returns whose command goes on, and the run as far as it is now. Its output is stored
/// already: the job's file.
pub(crate) fn backgrounded(
    outline: &Outline,
    job: BackgroundedRun,
) -> (Run, impl FnOnce(Finished) -> BackgroundedCall) {
    // The same end for everything that is said about the output: it keeps growing.
    let fixed = RunOutput::fixed;
    let mut run = Run::so_far(fixed(job.out), job.err.map(fixed), job.ran_for);
    run.session_reset = job.session_reset;
    run.notes = job.notes;
    run.limits = job.limits;
    run.confinement = job.confinement;
    let (command, limit) = (outline.command.clone(), outline.timeout);
    let waits = outline.waits;
    let backgrounded = move |so_far| BackgroundedCall {
        so_far,
        id: job.id,
        alias: job.alias,
        pid: job.pid,
        output_file: job.output_file,
        command,
        limit,
        waits,
        until: None,
    };
    (run, backgrounded)
}

/// Whether the document wants this failure in the output.
pub(crate) fn is_written(profile: &Profile, outline: &Outline, error: &Error) -> bool {
    let wants = profile.terminal.start_failure == StartFailure::Written;
    wants && outline.terminal.is_some() && error.kind() == ErrorKind::Spawn
}

/// A command in a terminal that could not be started, as the document tells it.
pub(crate) fn never_started(
    profile: &Profile,
    outline: &Outline,
    accepted: &Accepted,
    error: &Error,
) -> io::Result<Finished> {
    let output = TerminalText::saying(&format!("PTY error: {error}\n"));
    let written = WrittenCounts::of(&output, None);
    let shown = Views::of_one(View::of_shown(&output)).cut(
        profile,
        LineLimits::default(),
        Within::default(),
    )?;
    Ok(Finished {
        timeout: outline.timeout,
        requested_timeout: accepted.requested_timeout,
        notices: accepted.notices.clone(),
        ..of_output(written, shown.arrange(None), Exit::Unknown, None)
    })
}

/// The end of a job, and what its call asked for.
pub(crate) struct JobEnding<'a> {
    pub(crate) exit: Exit,
    pub(crate) ended_by: Option<EndedBy>,
    pub(crate) ran_for: Duration,
    /// Its time limit.
    pub(crate) limit: Duration,
    pub(crate) call: &'a CallTerms,
    /// At most this many bytes of its output are shown, if somebody says so.
    pub(crate) most_bytes: Option<usize>,
    /// Another window than the profile's.
    pub(crate) window: Option<&'a Window>,
}

/// What the call of a job that has ended would have answered. `keep` stores the output, if less
/// than all of it is shown.
pub(crate) fn of_job(
    profile: &Profile,
    out: View<'_>,
    job: &JobEnding<'_>,
    keep: impl FnOnce() -> Option<KeptArtifact>,
) -> io::Result<Reply> {
    let ending = Ending::Ran(Box::new(so_far(profile, out, job, keep)?));
    Ok(reply::reply(profile, &ending, job.ran_for))
}

/// What the call of a job that goes on answers, as `backgrounded` tells it. All of its output is
/// stored: the job's file.
pub(crate) fn of_running_job(
    profile: &Profile,
    out: View<'_>,
    job: &JobEnding<'_>,
    backgrounded: impl FnOnce(Finished) -> BackgroundedCall,
) -> io::Result<Reply> {
    let so_far = so_far(profile, out, job, || None)?;
    let ending = Ending::Backgrounded(Box::new(backgrounded(so_far)));
    Ok(reply::reply(profile, &ending, job.ran_for))
}

fn so_far(
    profile: &Profile,
    out: View<'_>,
    job: &JobEnding<'_>,
    keep: impl FnOnce() -> Option<KeptArtifact>,
) -> io::Result<Finished> {
    of_views(profile, &Views::of_one(out), job, keep)
}

/// A job of whose output nothing is shown.
pub(crate) fn without_output(job: &JobEnding<'_>) -> Finished {
    let nothing = Captured::One(Capture::default());
    let shown = ShownOutput {
        captured: nothing,
        hidden: Hidden::default(),
        minimized_by: None,
        digest: None,
        kept: None,
    };
    let finished = of_output(WrittenCounts::default(), shown, job.exit, job.ended_by);
    Finished {
        timeout: job.limit,
        ran_for: job.ran_for,
        ..finished
    }
}

/// A job as far as it is, of which these streams are shown.
pub(crate) fn of_views(
    profile: &Profile,
    views: &Views<'_>,
    job: &JobEnding<'_>,
    keep: impl FnOnce() -> Option<KeptArtifact>,
) -> io::Result<Finished> {
    let written = views.written();
    let lines = LineLimits::new(job.call.head, job.call.tail);
    let within = Within {
        failed: job.exit != Exit::Code(0) && job.exit != Exit::Unknown,
        most: job.most_bytes,
        window: job.window,
    };
    let cut = views.cut(profile, lines, within)?;
    let kept = cut.leaves_out().then(keep).flatten();
    Ok(Finished {
        timeout: job.limit,
        requested_timeout: job.call.requested_timeout,
        ran_for: job.ran_for,
        notices: job.call.notices.iter().map(Notice::request).collect(),
        ..of_output(written, cut.arrange(kept), job.exit, job.ended_by)
    })
}

/// A run of which only its output and its end are known.
fn of_output(
    written: WrittenCounts,
    shown: ShownOutput,
    exit: Exit,
    ended_by: Option<EndedBy>,
) -> Finished {
    Finished {
        exit,
        ended_by,
        timeout: Duration::ZERO,
        requested_timeout: None,
        ran_for: Duration::ZERO,
        captured: shown.captured,
        hidden: shown.hidden,
        minimized_by: None,
        digest: None,
        written,
        dropped_bytes: 0,
        artifact: shown.kept,
        notices: Vec::new(),
        left_behind: Vec::new(),
        output_unfinished: false,
        missing_program: None,
        in_terminal: false,
        terminal: None,
        session_reset: None,
        limits: None,
        confinement: None,
        dealings: Dealings::default(),
        grantable: None,
        changes: None,
        denied: None,
        session_change: SessionChange::None,
        is_benign: false,
        pid: 0,
    }
}

/// That what the reply shows may not be all.
fn unfinished(outline: &Outline) -> Notice {
    let seconds = outline.drain_finish.as_secs_f64();
    Notice::request(format!(
        "the output may be incomplete: a process substitution was still running {seconds} s after the command ended"
    ))
}

/// What the kernel did to keep a command within its memory.
fn out_of_memory(limits: &LimitsInForce) -> Option<String> {
    let bytes = limits.memory_bytes.filter(|_| limits.out_of_memory)?;
    Some(format!(
        "out of memory: the kernel killed a process of the command (limit: {bytes} bytes)"
    ))
}

/// What the disk did not store. What a quota dropped is as configured, and shows in the counts.
fn lost(spool: &RunOutput) -> Option<String> {
    let error = spool.storage_error()?;
    let lost = bashd_keeper::counted::counted(
        spool.lost(),
        "byte of output was lost because it",
        "bytes of output were lost because they",
    );
    Some(format!("{lost} could not be stored: {error}"))
}
