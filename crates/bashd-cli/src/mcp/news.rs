//! Changes that happen by themselves, and notifications of them to clients that subscribed.

use super::handler::McpServer;
use super::job::{self, JobMark};
use crate::serve::ServerBase;
use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, ServiceError, SubscriptionContext};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How many news items a slow client may lag behind; after that it misses some.
const AHEAD: usize = 64;

/// Addresses that one client may subscribe to.
const MOST: usize = 1000;

/// How often jobs that a client subscribed to are checked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResourceChange {
    /// The list of resources changed.
    List,
    /// This one has changed.
    Resource(String),
}

/// The channel on which changes are published.
pub(super) struct ResourceNews(broadcast::Sender<ResourceChange>);

impl ResourceNews {
    /// Nobody listens yet.
    pub(super) fn new() -> Self {
        Self(broadcast::channel(AHEAD).0)
    }

    /// Publishes a change to all listeners.
    pub(super) fn tell(&self, change: ResourceChange) {
        let _ = self.0.send(change);
    }
}

/// Sends one stateless client the changes that it asked for, until it has enough.
pub(super) async fn pass_on(
    shared: &McpServer,
    server: &ServerBase,
    context: &SubscriptionContext,
) {
    let mut changes = shared.news.0.subscribe();
    let wanted = context.accepted().resource_subscriptions.clone();
    let wanted = BTreeSet::from_iter(wanted.unwrap_or_default());
    let mut marks = Marks::default();
    marks.look(server, &wanted).await;
    loop {
        let told = tokio::select! {
            change = next(&mut changes) => change.into_iter().collect(),
            () = pause(&wanted) => marks.look(server, &wanted).await,
            () = context.cancelled() => return,
        };
        for change in told {
            // The sink refuses what the client did not ask for; that is not a failure.
            let _ = match change {
                ResourceChange::List => context.sink().notify_resource_list_changed().await,
                ResourceChange::Resource(uri) => context.sink().notify_resource_updated(uri).await,
            };
        }
    }
}

/// What one client with a handshake has subscribed to.
pub(super) struct Subscriptions {
    addresses: Arc<Mutex<BTreeSet<String>>>,
    added: Arc<Notify>,
    _end: DropGuard,
    end: CancellationToken,
}

impl Subscriptions {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        let end = CancellationToken::new();
        Self {
            addresses: Arc::default(),
            added: Arc::default(),
            _end: end.clone().drop_guard(),
            end,
        }
    }

    /// Starts to notify a client; stops when this object is dropped.
    pub(super) fn begin(&self, shared: &McpServer, server: ServerBase, peer: Peer<RoleServer>) {
        let mut changes = shared.news.0.subscribe();
        let (addresses, end) = (Arc::clone(&self.addresses), self.end.clone());
        let added = Arc::clone(&self.added);
        tokio::spawn(end.run_until_cancelled_owned(async move {
            let mut marks = Marks::default();
            loop {
                let wanted = lock(&addresses).clone();
                let told: Vec<ResourceChange> = tokio::select! {
                    change = next(&mut changes) => change.into_iter().collect(),
                    () = pause(&wanted) => marks.look(&server, &wanted).await,
                    () = added.notified() => {
                        let wanted = lock(&addresses).clone();
                        marks.look(&server, &wanted).await;
                        continue;
                    }
                };
                for change in told {
                    if tell(&peer, change, &wanted).await.is_err() {
                        return;
                    }
                }
            }
        }));
    }

    /// Does something for the client until this object is dropped.
    pub(super) fn meanwhile(&self, work: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(self.end.clone().run_until_cancelled_owned(work));
    }

    /// Subscribes the client to an address; `false` if it has too many.
    pub(super) fn add(&self, address: String) -> bool {
        let mut addresses = lock(&self.addresses);
        let has_room = addresses.len() < MOST;
        if has_room {
            addresses.insert(address);
            self.added.notify_one();
        }
        has_room
    }

    /// Unsubscribes the client from an address.
    pub(super) fn remove(&self, address: &str) {
        lock(&self.addresses).remove(address);
    }
}

/// Notifies a client with a handshake of a change, if it subscribed to it.
async fn tell(
    peer: &Peer<RoleServer>,
    change: ResourceChange,
    wanted: &BTreeSet<String>,
) -> Result<(), ServiceError> {
    match change {
        ResourceChange::List => peer.notify_resource_list_changed().await,
        ResourceChange::Resource(uri) if wanted.contains(&uri) => {
            let about = ResourceUpdatedNotificationParam::new(uri);
            peer.notify_resource_updated(about).await
        }
        ResourceChange::Resource(_) => Ok(()),
    }
}

/// What jobs looked like at the last check: nobody tells us when they change.
#[derive(Default)]
struct Marks(BTreeMap<String, JobMark>);

impl Marks {
    /// Checks again, and notifies of what has changed. All jobs are looked at once, however many
    /// addresses there are.
    async fn look(
        &mut self,
        server: &ServerBase,
        wanted: &BTreeSet<String>,
    ) -> Vec<ResourceChange> {
        let of_jobs = wanted.iter().filter(|uri| uri.starts_with(job::SCHEME));
        let of_jobs: Vec<String> = of_jobs.cloned().collect();
        if of_jobs.is_empty() {
            return Vec::new();
        }
        let server = server.clone();
        let looking = tokio::task::spawn_blocking(move || job::marks(&server, &of_jobs));
        let mut changed = Vec::new();
        for (uri, mark) in looking.await.unwrap_or_default() {
            if self.0.get(&uri) != Some(&mark) {
                self.0.insert(uri.clone(), mark);
                changed.push(ResourceChange::Resource(uri));
            }
        }
        changed
    }
}

/// Waits until jobs are checked again; forever, if no client subscribed to one.
async fn pause(wanted: &BTreeSet<String>) {
    if wanted.iter().any(|uri| uri.starts_with(job::SCHEME)) {
        tokio::time::sleep(LOOK_EVERY).await;
    } else {
        std::future::pending::<()>().await;
    }
}

/// The part of a stateless client's request that we can fulfil.
pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::new();
    accepted.resources_list_changed = requested.resources_list_changed;
    // As many as a client with a handshake may have.
    let wanted = requested.resource_subscriptions.as_ref();
    accepted.resource_subscriptions =
        wanted.map(|wanted| wanted.iter().take(MOST).cloned().collect());
    accepted
}

async fn next(changes: &mut broadcast::Receiver<ResourceChange>) -> Option<ResourceChange> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_everything_gets_a_bounded_part() {
        let mut asked = SubscriptionFilter::new();
        asked.resource_subscriptions = Some((0..MOST + 7).map(|n| format!("job://{n}")).collect());
        let accepted = accepted(&asked).resource_subscriptions.unwrap();
        assert_eq!(accepted.len(), MOST);
    }
}
