//! From a run to what its profile shows: windows, counts, and what was lost.

use super::Profile;
use super::minimized::minimized;
use super::reply::{self, Ending, Finished, Handed};
use super::rules::{Artifacts, StartFailure};
use crate::artifact::{Kept, Kind, Output, Store};
use crate::error::{Error, ErrorKind};
use crate::event::Stream;
use crate::exec::{EndedBy, Exit, Failure, HandedOver, Outcome, Run};
use crate::minimize::Settings;
use crate::notice::Notice;
use crate::output::line_limits::{Hidden, Limited};
use crate::output::spool::SpoolReader;
use crate::output::terminal::TerminalText;
use crate::output::window::Keep;
use crate::output::{Captured, Source, Written};
use crate::plan::{LimitsInForce, Plan};
use crate::request::Accepted;
use std::cell::Cell;
use std::io;
use std::time::Duration;

/// What the engine provides for showing output.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) store: &'a Store,
    /// `None` if the minimizer is disabled.
    pub(crate) minimizer: Option<&'a Settings>,
}

/// The ending of a run that was carried out, or not.
pub(crate) fn conclude(
    profile: &Profile,
    plan: &Plan,
    run: Result<Outcome, Failure>,
    accepted: &Accepted,
    means: Means<'_>,
) -> Ending {
    let unreadable = |error| Error::io(ErrorKind::Io, "read the output", error);
    match run {
        Ok(Outcome::Ended(run)) => match finished(profile, plan, &run, accepted, Some(means)) {
            Ok(finished) => Ending::Ran(Box::new(finished)),
            Err(error) => Ending::Failed(unreadable(error), None),
        },
        Ok(Outcome::HandedOver(run)) => match handed(profile, plan, run, accepted) {
            Ok(handed) => Ending::HandedOver(Box::new(handed)),
            Err(error) => Ending::Failed(unreadable(error), None),
        },
        Err(Failure::CancelledBeforeStart) => Ending::CancelledBeforeStart,
        Err(Failure::Failed(error, None)) if is_written(profile, plan, &error) => {
            match never_started(profile, plan, accepted, &error) {
                Ok(finished) => Ending::Ran(Box::new(finished)),
                Err(_) => Ending::Failed(error, None),
            }
        }
        Err(Failure::Failed(error, partial)) => {
            let partial =
                partial.and_then(|run| finished(profile, plan, &run, accepted, Some(means)).ok());
            Ending::Failed(error, partial.map(Box::new))
        }
    }
}

/// Whether the document wants this failure in the output.
fn is_written(profile: &Profile, plan: &Plan, error: &Error) -> bool {
    let wants = profile.terminal.start_failure == StartFailure::Written;
    wants && plan.terminal.is_some() && error.kind() == ErrorKind::Spawn
}

/// A command whose terminal could not be started, in the document's form.
fn never_started(
    profile: &Profile,
    plan: &Plan,
    accepted: &Accepted,
    error: &Error,
) -> io::Result<Finished> {
    let output = TerminalText::saying(&format!("PTY error: {error}\n"));
    Ok(Finished {
        timeout: plan.limits.timeout,
        requested_timeout: accepted.requested_timeout,
        notices: accepted.notices.clone(),
        ..of_output(profile, &output, Exit::Unknown, None)?
    })
}

fn finished(
    profile: &Profile,
    plan: &Plan,
    run: &Run,
    accepted: &Accepted,
    means: Option<Means<'_>>,
) -> io::Result<Finished> {
    let mut notices = accepted.notices.clone();
    notices.extend(plan.notes.iter().chain(&run.notes).map(Notice::request));
    // If nobody asked for a session by name, its end is data only: the document's texts stay as
    // they are.
    let is_asked_for = plan.session.as_ref().is_some_and(|plan| plan.is_asked_for);
    notices.extend(run.session_reset.filter(|_| is_asked_for).map(|reset| {
        let loss = reset.loss();
        Notice::request(format!("the session was restarted because {reset}: {loss}"))
    }));
    notices.extend(plan.notices.iter().cloned());
    notices.extend(
        run.limits
            .as_ref()
            .and_then(out_of_memory)
            .map(Notice::request),
    );
    let err = run.err.as_ref();
    let err_source = err.map(|spool| spool as &dyn Source);
    let mut artifact = None;
    let kind = Cell::new(Kind::Bash);
    let mut keep = || {
        artifact = artifact.or_else(|| stored(profile, plan, run, means?.store, kind.get()));
        artifact
    };
    let text = plan
        .terminal
        .map(|size| TerminalText::of(&run.out, size, profile.terminal.carriage_return));
    let settings = means.and_then(|means| means.minimizer);
    kind.set(Kind::BashOriginal);
    let shown = minimized(profile, plan, run, settings, &mut keep)?;
    kind.set(Kind::Bash);
    let minimized_by = shown.as_ref().map(|shown| shown.filter.clone());
    let (captured, hidden) = match (text.transpose()?, shown) {
        (Some(text), _) => captured(profile, plan, &text, None, &mut keep)?,
        (None, Some(shown)) => (shown.captured, Hidden::default()),
        (None, None) => captured(profile, plan, &run.out, err_source, &mut keep)?,
    };
    let streams = [(Stream::Out, Some(&run.out)), (Stream::Err, err)];
    for (stream, spool) in streams
        .into_iter()
        .filter_map(|(stream, spool)| Some((stream, spool?)))
    {
        notices.extend(lost(spool).map(|text| Notice::output_lost(stream, text)));
    }
    if run.terminal.as_ref().is_some_and(|run| run.lost_output) {
        let text = "the client's terminal dropped output before it was read";
        notices.push(Notice::output_lost(Stream::Out, text));
    }
    Ok(Finished {
        exit: run.exit,
        ended_by: run.ended_by,
        timeout: plan.limits.timeout,
        requested_timeout: accepted.requested_timeout,
        ran_for: run.ran_for,
        captured,
        hidden,
        minimized_by,
        written: Written::of(&run.out, err_source),
        dropped_bytes: run.out.dropped() + err.map_or(0, SpoolReader::dropped),
        artifact,
        notices,
        left_behind: run.left_behind.clone(),
        session_reset: run.session_reset,
        limits: run.limits.clone(),
        terminal: run.terminal.as_ref().map(|terminal| terminal.id.clone()),
    })
}

/// What a call returns whose command continues. Its output is already stored: the job's file.
fn handed(
    profile: &Profile,
    plan: &Plan,
    run: HandedOver,
    accepted: &Accepted,
) -> io::Result<Handed> {
    // The same end for everything that is said about the output: it keeps growing.
    let fixed = |spool: SpoolReader| {
        let (bytes, lines) = (spool.readable_end(), spool.lines());
        spool.ending_at(bytes, lines)
    };
    let mut so_far = Run::so_far(fixed(run.out), run.err.map(fixed), run.ran_for);
    so_far.session_reset = run.session_reset;
    so_far.notes = run.notes;
    so_far.limits = run.limits;
    Ok(Handed {
        so_far: finished(profile, plan, &so_far, accepted, None)?,
        id: run.id,
        alias: run.alias,
        pid: run.pid,
        output_file: run.output_file,
        command: plan.job.spec.command.clone(),
        waits: plan.handover.is_some_and(|handover| handover.waits),
    })
}

/// Stores a run's output, if its profile does that. A failure only means that there is no artifact.
fn stored(profile: &Profile, plan: &Plan, run: &Run, store: &Store, kind: Kind) -> Option<Kept> {
    if profile.output.artifacts == Artifacts::Never {
        return None;
    }
    let output = Output {
        out: &run.out,
        err: run.err.as_ref(),
        separator: &profile.output.separator,
        writers: run.writers,
        kind,
    };
    store.keep(&plan.directory, &profile.name, &output).ok()
}

/// What the profile's windows show of the lines that the call wants.
fn captured(
    profile: &Profile,
    plan: &Plan,
    out: &dyn Source,
    err: Option<&dyn Source>,
    keep: &mut Keep<'_>,
) -> io::Result<(Captured, Hidden)> {
    let out = Limited::new(out, plan.lines)?;
    let err = err.map(|err| Limited::new(err, plan.lines)).transpose()?;
    let err_source = err.as_ref().map(|err| err as &dyn Source);
    let mut captured = profile.output.capture(&out, err_source, keep)?;
    let of_err = err.as_ref().map_or(Hidden::default(), Limited::hidden);
    match &mut captured {
        Captured::One(both) => out.hidden().and(of_err).count_into(both),
        Captured::Apart { out: shown, err } => {
            out.hidden().count_into(shown);
            of_err.count_into(err);
        }
    }
    let hidden = out.hidden().and(of_err);
    if !hidden.is_nothing() {
        keep();
    }
    Ok((captured, hidden))
}

/// The text of a job that has ended, as its call would have answered.
pub(crate) fn of_job(
    profile: &Profile,
    out: &dyn Source,
    exit: Exit,
    ended_by: Option<EndedBy>,
    ran_for: Duration,
) -> io::Result<String> {
    let mut finished = of_output(profile, out, exit, ended_by)?;
    finished.ran_for = ran_for;
    Ok(reply::reply(profile, &Ending::Ran(Box::new(finished)), Duration::ZERO).text)
}

/// A run of which only its output and its end are known.
fn of_output(
    profile: &Profile,
    out: &dyn Source,
    exit: Exit,
    ended_by: Option<EndedBy>,
) -> io::Result<Finished> {
    Ok(Finished {
        exit,
        ended_by,
        timeout: Duration::from_secs(profile.limits.timeout_s),
        requested_timeout: None,
        ran_for: Duration::ZERO,
        captured: profile.output.capture(out, None, &mut || None)?,
        hidden: Hidden::default(),
        minimized_by: None,
        written: Written::of(out, None),
        dropped_bytes: 0,
        artifact: None,
        notices: Vec::new(),
        left_behind: Vec::new(),
        terminal: None,
        session_reset: None,
        limits: None,
    })
}

/// What the kernel did to keep a command within its memory.
fn out_of_memory(limits: &LimitsInForce) -> Option<String> {
    let bytes = limits.memory_bytes.filter(|_| limits.out_of_memory)?;
    Some(format!(
        "out of memory: the kernel killed a process of the command (limit: {bytes} bytes)"
    ))
}

/// What the disk did not store. What a quota dropped is as configured, and shows in the counts.
fn lost(spool: &SpoolReader) -> Option<String> {
    let error = spool.storage_error()?;
    let lost = crate::counted::counted(
        spool.lost(),
        "byte of output was lost because it",
        "bytes of output were lost because they",
    );
    Some(format!("{lost} could not be stored: {error}"))
}
