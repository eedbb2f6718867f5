//! Reaching a place for an order: before it is sent, which may take long, and again after its
//! carrier was lost.

use super::far_run::CANCEL_PATIENCE;
use super::link::Link;
use super::{Berth, CallClaim, CallThere, FarPlace};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::exec::{OutputWatch, RunFailure};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Pause before the second attempt to reach a place that was lost; each further one is twice that.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest such pause: who comes back is found within a second.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Reaches a place for an order.
pub(super) async fn reach_first(
    place: &Arc<FarPlace>,
    claim: &CallClaim,
    cancel: &CancellationToken,
    mut watch: Option<&mut OutputWatch>,
) -> Result<(Arc<Link>, Option<CallThere>), RunFailure> {
    let mut progress = place.progress();
    let mut linking = std::pin::pin!(place.link_for_call(claim));
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(RunFailure::CancelledBeforeStart),
            linked = &mut linking => return Ok(linked?),
            Ok(()) = progress.changed(), if watch.is_some() => {
                let text = progress.borrow_and_update().clone();
                if let Some(watch) = &mut watch {
                    watch.forward(Event::Preparing { text }).await;
                }
            }
        }
    }
}

/// Why a place was not reached again.
pub(super) enum NotReached {
    /// Whoever keeps it says that nothing runs there any more.
    Over(String),
    /// Not in time; what was said the last time.
    Late(Option<String>),
}

/// Reaches a place again, in the time that there is; a call that is cancelled meanwhile has little.
pub(super) async fn reach(
    (place, berth): (&Arc<FarPlace>, Option<&Berth>),
    late: Instant,
    cancel: &CancellationToken,
    is_cancelled: &mut bool,
    grace: Duration,
) -> Result<Arc<Link>, NotReached> {
    let (mut pause, mut late) = (FIRST_PAUSE, late);
    let mut said = None;
    loop {
        let attempt = async {
            let reached = place.link_back(berth).await;
            let is_over = |error: &Error| error.kind() == ErrorKind::PlaceLost;
            if reached.as_ref().is_err_and(|error| !is_over(error)) {
                tokio::time::sleep(pause).await;
            }
            reached
        };
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !*is_cancelled => {
                *is_cancelled = true;
                late = late.min(Instant::now() + grace.min(CANCEL_PATIENCE));
            }
            link = attempt => match link {
                Ok(link) => return Ok(link),
                Err(error) if error.kind() == ErrorKind::PlaceLost => {
                    return Err(NotReached::Over(error.to_string()));
                }
                Err(error) => {
                    said = Some(error.to_string());
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            },
            () = tokio::time::sleep_until(late) => return Err(NotReached::Late(said)),
        }
    }
}
