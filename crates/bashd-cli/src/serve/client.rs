//! One client of a server: the owner of its calls' sessions and jobs.

use super::ServerBase;
use bashd::jobs::ClientEntry;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// Whether a client has had a job: until then nobody looks for ends.
#[derive(Default)]
pub(crate) struct JobsBegun {
    is_so: AtomicBool,
    begun: Notify,
}

impl JobsBegun {
    /// There is a job, or may be.
    pub(crate) fn note(&self) {
        self.is_so.store(true, Ordering::Relaxed);
        self.begun.notify_waiters();
    }

    /// Whether there may be one.
    pub(crate) fn is_so(&self) -> bool {
        self.is_so.load(Ordering::Relaxed)
    }

    /// Waits until there may be one.
    pub(crate) async fn until_so(&self) {
        loop {
            let begun = self.begun.notified();
            if self.is_so() {
                return;
            }
            begun.await;
        }
    }
}

/// A server as one client sees it. When this is dropped, the client is gone: its sessions end, and
/// its jobs are earlier ones to later clients.
pub(crate) struct ServedClient {
    /// The server, with this client as the owner of every call.
    pub(crate) base: ServerBase,
    entry: Arc<ClientEntry>,
}

impl ServedClient {
    pub(super) fn new(base: &ServerBase, entry: Arc<ClientEntry>) -> Self {
        let mut base = base.clone();
        base.defaults.owner = Some(entry.owner().to_owned());
        base.jobs_begun = Arc::default();
        if base.shared.is_some() {
            // Others may have begun some.
            base.jobs_begun.note();
        }
        Self { base, entry }
    }
}

impl Drop for ServedClient {
    fn drop(&mut self) {
        // Others may still be the same client: those with one token, or of a shared session.
        if Arc::strong_count(&self.entry) == 1 {
            self.base.engine.forget_owner(self.entry.owner());
        }
    }
}

impl ServerBase {
    /// A client of its own: a connection, a session of the protocol, or the one on stdin.
    pub(crate) fn client(&self) -> ServedClient {
        let entry = match &self.shared {
            Some(shared) => Arc::clone(shared),
            None => Arc::new(self.clients.admit(&self.cwd)),
        };
        ServedClient::new(self, entry)
    }

    /// The client with this name, whichever connection it uses.
    pub(crate) fn client_named(&self, name: &str) -> ServedClient {
        self.client_named_in(name, &self.cwd)
    }

    /// The same, which works in another directory than the server's.
    pub(crate) fn client_named_in(&self, name: &str, directory: &Path) -> ServedClient {
        let entry = match &self.shared {
            Some(shared) => Arc::clone(shared),
            None => Arc::new(self.clients.admit_as(name, directory)),
        };
        let client = ServedClient::new(self, entry);
        // It may have been here before.
        client.base.jobs_begun.note();
        client
    }
}
