//! Where connections come in: those that have shown that they may have places, others give way, so
//! that strangers can't keep anybody out.

use bashd::CancellationToken;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

/// Connections that have shown the token, at the same time; further ones wait for a place.
const CONNECTIONS: usize = 256;

/// Connections that have not shown it yet. Of more than these the oldest is closed.
const STRANGERS: usize = 128;

/// Where connections come in: those that have shown the token have places, others give way.
pub(crate) struct Door {
    places: Arc<Semaphore>,
    /// The oldest first.
    strangers: Mutex<VecDeque<Arc<CancellationToken>>>,
}

impl Door {
    pub(crate) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(CONNECTIONS)),
            strangers: Mutex::default(),
        }
    }

    fn strangers(&self) -> MutexGuard<'_, VecDeque<Arc<CancellationToken>>> {
        self.strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection, which is a stranger until it has shown the token.
pub(crate) struct Guest {
    door: Arc<Door>,
    pub(crate) sent_away: Arc<CancellationToken>,
    place: OnceCell<Option<OwnedSemaphorePermit>>,
}

impl Guest {
    pub(crate) fn new(door: &Arc<Door>) -> Arc<Self> {
        let sent_away = Arc::new(CancellationToken::new());
        let mut strangers = door.strangers();
        strangers.push_back(Arc::clone(&sent_away));
        if strangers.len() > STRANGERS
            && let Some(oldest) = strangers.pop_front()
        {
            oldest.cancel();
        }
        drop(strangers);
        Arc::new(Self {
            door: Arc::clone(door),
            sent_away,
            place: OnceCell::new(),
        })
    }

    fn is_no_stranger(&self) {
        let is_other = |one: &Arc<CancellationToken>| !Arc::ptr_eq(one, &self.sent_away);
        self.door.strangers().retain(is_other);
    }

    /// It has shown that it may come in: it gets a place, which it keeps.
    pub(crate) async fn welcome(&self) {
        let take = || async {
            self.is_no_stranger();
            Arc::clone(&self.door.places).acquire_owned().await.ok()
        };
        self.place.get_or_init(take).await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.is_no_stranger();
    }
}
