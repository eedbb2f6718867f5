//! From a run to what its profile shows of it: windows, counts, and what got lost.

use super::Profile;
use super::reply::{Ending, Finished};
use crate::error::{Error, ErrorKind};
use crate::event::Stream;
use crate::exec::{Failure, Run};
use crate::notice::Notice;
use crate::output::spool::SpoolReader;
use crate::output::{Source, Written};
use crate::plan::Plan;
use crate::request::Accepted;
use std::io;

/// What a run that was carried out, or not, comes to.
pub(crate) fn conclude(
    profile: &Profile,
    plan: &Plan,
    run: Result<Run, Failure>,
    accepted: &Accepted,
) -> Ending {
    let unreadable = |error| Error::io(ErrorKind::Io, "read the output", error);
    match run {
        Ok(run) => match finished(profile, plan, &run, accepted) {
            Ok(finished) => Ending::Ran(Box::new(finished)),
            Err(error) => Ending::Failed(unreadable(error), None),
        },
        Err(Failure::CancelledBeforeStart) => Ending::CancelledBeforeStart,
        Err(Failure::Failed(error, partial)) => {
            let partial = partial.and_then(|run| finished(profile, plan, &run, accepted).ok());
            Ending::Failed(error, partial.map(Box::new))
        }
    }
}

fn finished(
    profile: &Profile,
    plan: &Plan,
    run: &Run,
    accepted: &Accepted,
) -> io::Result<Finished> {
    let mut notices = accepted.notices.clone();
    let err = run.err.as_ref();
    let err_source = err.map(|spool| spool as &dyn Source);
    let captured = profile.output.capture(&run.out, err_source)?;
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
        written: Written::of(&run.out, err_source),
        dropped_bytes: run.out.dropped() + err.map_or(0, SpoolReader::dropped),
        notices,
        left_behind: run.left_behind.clone(),
        terminal: run.terminal.as_ref().map(|terminal| terminal.id.clone()),
    })
}

/// What the disk did not take. What a quota dropped is as configured, and told by the counts.
fn lost(spool: &SpoolReader) -> Option<String> {
    let error = spool.storage_error()?;
    let count = spool.lost();
    Some(format!(
        "{count} bytes of output were lost, because they could not be stored: {error}"
    ))
}
