//! `bashd outpost`: the far side of a place, which carriers run (docs/outpost.md).

use crate::args::OutpostOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::surroundings;
use bashd_outpost::{OutpostTask, OutpostWork};

/// Passes bytes between a carrier and the outpost, or is the outpost.
pub(crate) fn outpost(arguments: &OutpostOptions) -> Result<ExitStatus, Failure> {
    let task = match &arguments.check {
        Some(expected) => OutpostTask::Check(expected.clone()),
        None if arguments.serve => OutpostTask::Serve,
        None if arguments.hold => OutpostTask::Hold,
        None if arguments.join => OutpostTask::Join,
        None => OutpostTask::Dial,
    };
    let given = arguments.state.clone();
    let state = given.or_else(|| Some(surroundings::places().ok()?.state_dir));
    let mut work = OutpostWork::new(task, state);
    work.idle = arguments.idle;
    work.orphaned = arguments.orphaned;
    work.build.clone_from(&arguments.build);
    work.leased = arguments.leased;
    bashd_outpost::perform(&work)
        .map_err(|error| Failure::of(FailureKind::System, anyhow::Error::new(error)))?;
    Ok(ExitStatus::Success)
}
