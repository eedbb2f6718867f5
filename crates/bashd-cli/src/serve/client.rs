//! One client of a server: whose sessions and jobs its calls are.

use super::ServerBase;
use bashd::jobs::ClientEntry;
use std::path::Path;
use std::sync::Arc;

/// What a server is to one client. When this is dropped, the client is gone: its sessions end, and its
/// jobs are earlier ones to those who come after it.
pub(crate) struct ServedClient {
    /// The server, with this client as the owner of every call.
    pub(crate) base: ServerBase,
    entry: Arc<ClientEntry>,
}

impl ServedClient {
    pub(super) fn new(base: &ServerBase, entry: Arc<ClientEntry>) -> Self {
        let mut base = base.clone();
        base.defaults.owner = Some(entry.owner().to_owned());
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
        self.client_in(&self.cwd)
    }

    /// The same, which works in another directory than the server's.
    pub(crate) fn client_in(&self, directory: &Path) -> ServedClient {
        let entry = match &self.shared {
            Some(shared) => Arc::clone(shared),
            None => Arc::new(self.clients.admit(directory)),
        };
        ServedClient::new(self, entry)
    }

    /// The client of this name, whichever connection it uses.
    pub(crate) fn client_named(&self, name: &str) -> ServedClient {
        let entry = match &self.shared {
            Some(shared) => Arc::clone(shared),
            None => Arc::new(self.clients.admit_as(name, &self.cwd)),
        };
        ServedClient::new(self, entry)
    }
}
