//! Whether the directory exists that a call's leading `cd` names, relative to where its shell is.
//!
//! The kernel knows where the shell is; only the shell knows how it got there and where else it
//! looks (`CDPATH`). So a directory that is not below the one where the shell is
//! counts as missing only if the shell itself, asked in a call of its own, can't go there either.

use super::turn::{Opening, SessionTurn, Telling, TurnOutcome};
use super::{Seat, SeatGuard};
use crate::exec::{Exit, RunFailure};
use crate::plan::{Plan, SessionPlan, check_way};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Fails if the directory does not exist; otherwise returns the session's place.
pub(super) async fn check(
    (plan, session): (&Plan, &SessionPlan),
    directory: &Path,
    (seat, place): (Arc<Seat>, SeatGuard),
    opening: Opening<'_>,
    cancel: &CancellationToken,
) -> Result<SeatGuard, RunFailure> {
    let Some(idle) = &*place else {
        return in_new_shell(session, directory, &seat, place);
    };
    let there = idle.directory();
    let there = there.as_deref().unwrap_or(&session.home);
    let Err(missing) = check_way(there, directory) else {
        return Ok(place);
    };
    let telling = Telling {
        is_watched: false,
        tells_ahead: false,
    };
    let trial = session.trying(directory);
    let turn = SessionTurn::begin(plan, &trial, (Arc::clone(&seat), place), opening, telling);
    match turn.await?.finish(plan, None, cancel).await? {
        TurnOutcome::Ran(run) => {
            if let Some(reset) = run.session_reset {
                seat.remember(reset);
            }
            if cancel.is_cancelled() {
                Err(RunFailure::CancelledBeforeStart)
            } else if run.exit == Exit::Code(0) {
                Ok(Arc::clone(&seat.live).lock_owned().await)
            } else {
                Err(missing.into())
            }
        }
        TurnOutcome::Backgrounded(_) => Err(missing.into()),
        TurnOutcome::Gone(reset, place) => {
            seat.remember(reset);
            in_new_shell(session, directory, &seat, place)
        }
    }
}

/// Like `check`, for a shell that is yet to be started.
fn in_new_shell(
    session: &SessionPlan,
    directory: &Path,
    seat: &Seat,
    place: SeatGuard,
) -> Result<SeatGuard, RunFailure> {
    let begins_in = seat.directory().clone().filter(|path| path.is_dir());
    check_way(
        &begins_in.unwrap_or_else(|| session.home.clone()),
        directory,
    )?;
    Ok(place)
}
