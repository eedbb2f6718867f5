//! Whose turn it is: in profiles whose calls wait for each other, a session has one call at a time,
//! whatever carries it. The session's shell is only one such vessel: a call in a terminal of ours,
//! of the client's, or in a shell of its own belongs to the same session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedMutexGuard;

/// Number of names above which those that nobody uses are forgotten.
const MOST_NAMES: usize = 64;

/// The turns of one session.
type SessionTurns = Arc<tokio::sync::Mutex<()>>;

/// The sessions in which a call runs or waits.
#[derive(Default)]
pub(crate) struct Turns {
    /// By owner and name.
    by_session: Mutex<HashMap<(String, String), SessionTurns>>,
}

/// A call's turn, until it is dropped.
pub(crate) type HeldTurn = OwnedMutexGuard<()>;

impl Turns {
    /// Waits until no other call of this session runs. Calls get their turns in their order.
    pub(super) async fn take(&self, session: &(String, String)) -> HeldTurn {
        let turn = {
            let mut turns = self
                .by_session
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if turns.len() >= MOST_NAMES {
                turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            Arc::clone(turns.entry(session.clone()).or_default())
        };
        turn.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_in_each_session_and_nothing_is_kept_for_ever() {
        let turns = Turns::default();
        let one = (String::new(), "one".to_owned());
        let held = turns.take(&one).await;
        for number in 0..3 * MOST_NAMES {
            // Another owner's session of the same name is another session.
            drop(turns.take(&(number.to_string(), "one".to_owned())).await);
        }
        let kept = turns.by_session.lock().unwrap().len();
        assert!(kept <= MOST_NAMES, "{kept} names");
        let mut second = std::pin::pin!(turns.take(&one));
        tokio::select! {
            biased;
            _ = &mut second => panic!("two at once"),
            () = std::future::ready(()) => {}
        }
        drop(held);
        drop(second.await);
    }
}
