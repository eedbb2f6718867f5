//! How much one client may have in progress, so that none can fill the memory.
//!
//! Requests count from when they are read, answers until they are written. Over the limit nothing
//! more is read: the client's own pipe fills up, and it waits. An answer that is already a line
//! waits here for its turn.

use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The most bytes in progress: requests that were read, and answers that are not yet written.
const LIMIT: usize = 64 * 1024 * 1024;

/// The least that a request counts: its task, its keeper's connection.
const LEAST: usize = 16 * 1024;

/// How long a client may leave answers unread when it is over the limit.
const PATIENCE: Duration = Duration::from_mins(1);

/// What one client has in progress.
pub(super) struct Load {
    state: Mutex<LoadState>,
    changed: Notify,
    /// Cancelled when nobody reads our answers any more.
    pub(super) gone: CancellationToken,
    /// Cancelled when the client asks for nothing more.
    pub(super) closing: CancellationToken,
}

#[derive(Default)]
struct LoadState {
    requests: HashMap<RequestId, OpenRequest>,
    bytes: usize,
    unwritten: usize,
    written_at: Option<Instant>,
    complaint: Option<String>,
}

/// A request in progress.
struct OpenRequest {
    weight: usize,
    answer: Option<Vec<u8>>,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            gone: CancellationToken::new(),
            closing: CancellationToken::new(),
        }
    }
}

/// The id is already in use.
pub(super) struct InUse;

impl Load {
    /// Waits until more may be read; `None` when there is nothing left to wait for.
    pub(super) async fn room(&self) -> Option<()> {
        loop {
            let changed = self.changed.notified();
            if self.has_room() {
                return Some(());
            }
            tokio::select! {
                () = changed => {}
                () = self.gone.cancelled() => return None,
                () = tokio::time::sleep(PATIENCE) => self.lose_patience()?,
            }
        }
    }

    /// A request was read.
    pub(super) fn begin(&self, id: &RequestId, bytes: usize) -> Result<(), InUse> {
        let mut state = self.state();
        if state.requests.contains_key(id) {
            return Err(InUse);
        }
        let weight = bytes.max(LEAST);
        let answer = None;
        state
            .requests
            .insert(id.clone(), OpenRequest { weight, answer });
        state.bytes += weight;
        Ok(())
    }

    /// Keeps the line that answers a request; `false` if nobody would ask for it.
    pub(super) fn answer_with(
        &self,
        id: &RequestId,
        line: impl FnOnce() -> Option<Vec<u8>>,
    ) -> bool {
        let mut state = self.state();
        let Some(open) = state.requests.get_mut(id) else {
            return false;
        };
        open.answer = line();
        open.answer.is_some()
    }

    /// A request is over: answered, or cancelled. Returns the line that was kept to answer it.
    pub(super) fn end(&self, id: &RequestId) -> Option<Vec<u8>> {
        let mut state = self.state();
        let ended = state.requests.remove(id);
        if let Some(open) = &ended {
            state.bytes -= open.weight;
        }
        drop(state);
        self.changed.notify_waiters();
        ended?.answer
    }

    /// Whether no answer waits to be written.
    pub(super) fn is_all_written(&self) -> bool {
        self.state().unwritten == 0
    }

    /// An answer waits to be written.
    pub(super) fn queue(&self, bytes: usize) {
        let mut state = self.state();
        state.unwritten += bytes;
        state.written_at.get_or_insert_with(Instant::now);
    }

    /// An answer is written.
    pub(super) fn written(&self, bytes: usize) {
        let mut state = self.state();
        state.unwritten -= bytes;
        state.written_at = (state.unwritten > 0).then(Instant::now);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until the client has read enough of its answers to get another; `None` if it never
    /// will.
    pub(super) async fn room_for_an_answer(&self) -> Option<()> {
        loop {
            let changed = self.changed.notified();
            if self.state().unwritten < LIMIT {
                return Some(());
            }
            tokio::select! {
                () = changed => {}
                () = self.gone.cancelled() => return None,
            }
        }
    }

    /// Why we ended the connection, if it was us.
    pub(super) fn complaint(&self) -> Option<String> {
        self.state().complaint.take()
    }

    /// Nobody reads any more.
    pub(super) fn give_up(&self, complaint: Option<String>) {
        self.state().complaint = complaint;
        self.gone.cancel();
    }

    fn has_room(&self) -> bool {
        let state = self.state();
        state.bytes + state.unwritten < LIMIT
    }

    fn lose_patience(&self) -> Option<()> {
        let stuck = self.state().written_at;
        if stuck.is_some_and(|since| since.elapsed() >= PATIENCE) {
            let seconds = PATIENCE.as_secs();
            let complaint = format!("the client has read none of its answers for {seconds} s");
            self.give_up(Some(complaint));
            return None;
        }
        Some(())
    }

    fn state(&self) -> MutexGuard<'_, LoadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    #[test]
    fn an_id_is_used_once_at_a_time() {
        let load = Load::default();
        assert!(load.begin(&id(1), 10).is_ok());
        assert!(load.begin(&id(1), 10).is_err());
        load.end(&id(1));
        assert!(load.begin(&id(1), 10).is_ok());
    }

    #[test]
    fn an_answer_is_kept_for_its_own_request() {
        let load = Load::default();
        let line = || Some(b"line".to_vec());
        assert!(!load.answer_with(&id(1), line));
        assert!(load.begin(&id(1), 10).is_ok());
        assert!(!load.answer_with(&id(1), || None));
        assert!(load.answer_with(&id(1), line));
        assert_eq!(load.end(&id(1)), line());
        assert!(load.begin(&id(1), 10).is_ok());
        assert_eq!(load.end(&id(1)), None);
    }

    #[test]
    fn there_is_room_again_when_things_are_done() {
        let load = Load::default();
        assert!(load.begin(&id(1), LIMIT).is_ok());
        assert!(!load.has_room());
        load.end(&id(1));
        load.end(&id(1));
        assert!(load.has_room());
        load.queue(LIMIT);
        assert!(!load.has_room());
        load.written(LIMIT);
        assert!(load.has_room());
    }
}
