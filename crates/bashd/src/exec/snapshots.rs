//! The end of a run's output while it grows: a snapshot now and then, and always the last one.
//!
//! Whoever looks gets the newest and no older one, so that nothing waits for him and nothing piles up.

use crate::event::Snapshot;
use crate::output::Source;
use crate::output::rendered;
use crate::output::spool::SpoolReader;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Shortest time between two snapshots.
const INTERVAL: Duration = Duration::from_millis(50);

/// Bytes of text of a snapshot.
const MOST_TEXT: usize = 50 * 1024;

/// The newest snapshot that nobody has seen yet.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    newest: Mutex<Option<Snapshot>>,
    arrived: Notify,
}

impl Slot {
    fn put(&self, snapshot: Snapshot) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        self.arrived.notify_one();
    }

    /// Takes the newest, if it was not taken yet.
    pub(crate) fn take(&self) -> Option<Snapshot> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.take()
    }

    /// Waits for the next.
    pub(crate) async fn next(&self) -> Snapshot {
        loop {
            self.arrived.notified().await;
            if let Some(snapshot) = self.take() {
                return snapshot;
            }
        }
    }
}

/// Makes the snapshots of one run.
pub(super) struct Snapshots {
    slot: Arc<Slot>,
    /// Made too soon after the last.
    held: Option<Snapshot>,
    /// When the last was shown.
    shown: Option<Instant>,
    /// Bytes of both streams that it told of.
    told: u64,
}

impl Snapshots {
    pub(super) fn new(slot: Arc<Slot>) -> Self {
        Self {
            slot,
            held: None,
            shown: None,
            told: 0,
        }
    }

    /// Looks at the streams; shows what there is, or holds it until its time has come.
    pub(super) fn look(&mut self, spools: &[SpoolReader], ends: &[u64]) {
        let Ok(snapshot) = snapshot(spools, ends) else {
            return; // what can't be read now is in the reply, or its reason is
        };
        if snapshot.bytes == self.told {
            return;
        }
        self.told = snapshot.bytes;
        self.held = Some(snapshot);
        if self.due().is_none_or(|due| due <= Instant::now()) {
            self.show();
        }
    }

    /// When what is held may be shown.
    pub(super) fn due(&self) -> Option<Instant> {
        let shown = self.shown.filter(|_| self.held.is_some())?;
        Some(shown + INTERVAL)
    }

    /// Shows what is held.
    pub(super) fn show(&mut self) {
        if let Some(snapshot) = self.held.take() {
            self.slot.put(snapshot);
            self.shown = Some(Instant::now());
        }
    }
}

/// The end of the streams, the second behind the first.
fn snapshot(spools: &[SpoolReader], ends: &[u64]) -> io::Result<Snapshot> {
    let mut snapshot = Snapshot::default();
    let mut texts = Vec::new();
    let mut room = MOST_TEXT;
    for (spool, end) in spools.iter().zip(ends).rev() {
        snapshot.bytes += end;
        snapshot.lines += spool.lines();
        // With something to show on both, none may take all the room.
        let limit = room.min(MOST_TEXT / spools.len());
        let text = rendered::tail(spool, *end, limit)?;
        room -= text.len();
        texts.push(text);
    }
    texts.reverse();
    snapshot.text = texts.concat();
    Ok(snapshot)
}
