//! Jobs whose effects are applied when they end: by the process that started them, which waits for
//! that, or by whoever looks after it is gone. A mark says which changes these are.

use super::journal::TradeWay;
use super::record::ChangeRecord;
use super::store::{Change, ChangeState, ChangeStore, Moved, StoreLock, failed, is_in_use};
use super::tree;
use crate::error::Result;
use bashd_keeper::spool::write_private;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

impl ChangeStore {
    /// Where the marks are.
    pub(super) fn at_end(&self) -> PathBuf {
        self.directory().join("at-end")
    }

    /// Notes that a change is applied when its job has ended.
    pub(crate) fn apply_at_end(&self, id: &str) -> Result<()> {
        let marks = self.at_end();
        let made = DirBuilder::new().mode(0o700).recursive(true).create(&marks);
        let noted = made.and_then(|()| write_private(&marks.join(id), b""));
        noted.map_err(|error| failed("note that its changes are applied when it ends", error))
    }

    /// The changes of jobs that are to be applied, and are not yet.
    fn marked(&self) -> Vec<String> {
        let marks = fs::read_dir(self.at_end()).into_iter().flatten().flatten();
        marks
            .filter_map(|mark| mark.file_name().into_string().ok())
            .collect()
    }

    /// Whether there are jobs whose changes are to be applied.
    pub(crate) fn has_jobs(&self) -> bool {
        !self.marked().is_empty()
    }

    /// Applies the changes of jobs that have ended.
    pub fn finish_jobs(&self) {
        for id in self.marked() {
            self.finish_job(&id, Duration::ZERO);
        }
    }

    /// Likewise, and those of jobs that still run when these have ended: a thread waits for each.
    pub(crate) fn finish_jobs_in_time(&self) {
        for id in self.marked() {
            self.finish_at_end(&id);
        }
    }

    /// Has a thread wait for the end of a job, which then applies its change.
    pub(crate) fn finish_at_end(&self, id: &str) {
        let (store, id) = (self.clone(), id.to_owned());
        let waiting = move || {
            if let Ok(record) = store.read(&id) {
                await_end(&record);
            }
            store.finish_job(&id, Duration::from_secs(1));
        };
        // Without a thread, whoever looks next does it.
        let _ = thread::Builder::new()
            .name("changes".to_owned())
            .spawn(waiting);
    }

    fn finish_job(&self, id: &str, patience: Duration) {
        let Ok(lock) = self.lock() else {
            return;
        };
        let mark = self.at_end().join(id);
        if !mark.exists() {
            return;
        }
        let is_over = match self.read(id) {
            Ok(record) if record.steps.is_none() && is_in_use(&record, patience) => false,
            Ok(_) => {
                self.apply_ended(&lock, id);
                true
            }
            // What was discarded, or can't be read by us, is not applied by itself.
            Err(_) => true,
        };
        if is_over {
            let _ = fs::remove_file(mark);
        }
    }

    /// Applies the change of a job that has ended. In a conflict it stays held, as others do.
    fn apply_ended(&self, lock: &StoreLock, id: &str) -> Option<Change> {
        let change = self.settled(lock, id).ok()??;
        let is_held = change.state() == ChangeState::Held;
        is_held.then(|| {
            let (all, passes) = (Moved::default(), || Ok(()));
            let done = self.trade(lock, (id, &all), TradeWay::Forwards, &passes);
            done.ok()
        })?
    }
}

/// Waits until nobody uses the layers of a change any more.
fn await_end(record: &ChangeRecord) {
    for layer in &record.layers {
        let Ok(opened) = tree::open(&layer.directory) else {
            continue;
        };
        while flock(&opened, FlockOperation::LockExclusive) == Err(Errno::INTR) {}
    }
}
