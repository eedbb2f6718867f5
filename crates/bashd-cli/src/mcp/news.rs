//! What changes without being asked for, and telling it to the clients that want to know.

use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};

/// News that a slow client may be behind; then it hears the rest.
const AHEAD: usize = 64;

/// Addresses that one client may subscribe to.
const MOST: usize = 1000;

/// Something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// There are other resources than before.
    List,
    /// This one has changed.
    Resource(String),
}

/// Where changes are told.
pub(super) struct News(broadcast::Sender<Change>);

impl News {
    /// Nobody listens yet.
    pub(super) fn new() -> Self {
        Self(broadcast::channel(AHEAD).0)
    }

    /// Tells all who listen.
    pub(super) fn tell(&self, change: Change) {
        let _ = self.0.send(change);
    }

    /// Tells one stateless client what it asked for, until it has enough.
    pub(super) async fn pass_on(&self, context: &SubscriptionContext) {
        let mut changes = self.0.subscribe();
        loop {
            let change = tokio::select! {
                change = next(&mut changes) => change,
                () = context.cancelled() => return,
            };
            let told = match change {
                None => return,
                Some(Change::List) => context.sink().notify_resource_list_changed().await,
                Some(Change::Resource(uri)) => context.sink().notify_resource_updated(uri).await,
            };
            // What the client did not ask for is refused by the sink, and that is no failure.
            drop(told);
        }
    }
}

/// What one client with a handshake has subscribed to.
pub(super) struct Subscriptions {
    addresses: Arc<Mutex<BTreeSet<String>>>,
    _end: DropGuard,
    end: CancellationToken,
}

impl Subscriptions {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        let end = CancellationToken::new();
        Self {
            addresses: Arc::default(),
            _end: end.clone().drop_guard(),
            end,
        }
    }

    /// Starts to tell a client; ends with this object.
    pub(super) fn begin(&self, news: &News, peer: Peer<RoleServer>) {
        let mut changes = news.0.subscribe();
        let (addresses, end) = (Arc::clone(&self.addresses), self.end.clone());
        tokio::spawn(end.run_until_cancelled_owned(async move {
            while let Some(change) = next(&mut changes).await {
                let told = match change {
                    Change::List => peer.notify_resource_list_changed().await,
                    Change::Resource(uri) if lock(&addresses).contains(&uri) => {
                        let about = ResourceUpdatedNotificationParam::new(uri);
                        peer.notify_resource_updated(about).await
                    }
                    Change::Resource(_) => Ok(()),
                };
                if told.is_err() {
                    return;
                }
            }
        }));
    }

    /// The client wants to hear of this address; `false` when it has too many.
    pub(super) fn add(&self, address: String) -> bool {
        let mut addresses = lock(&self.addresses);
        addresses.len() < MOST && {
            addresses.insert(address);
            true
        }
    }

    /// The client has heard enough of it.
    pub(super) fn remove(&self, address: &str) {
        lock(&self.addresses).remove(address);
    }
}

/// What of a stateless client's wishes we can fulfil.
pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::new();
    accepted.resources_list_changed = requested.resources_list_changed;
    accepted
        .resource_subscriptions
        .clone_from(&requested.resource_subscriptions);
    accepted
}

async fn next(changes: &mut broadcast::Receiver<Change>) -> Option<Change> {
    loop {
        match changes.recv().await {
            Ok(change) => return Some(change),
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}

fn lock(addresses: &Mutex<BTreeSet<String>>) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
    addresses.lock().unwrap_or_else(PoisonError::into_inner)
}
