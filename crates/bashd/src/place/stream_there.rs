//! The output of a run at another place, read from there as it is wanted.

use super::far_run::OrderedAway;
use crate::event::Stream;
use crate::output::StreamPiece;
use crate::output::run_output::FarReader;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// Bytes that are asked for at a time.
const READ_STEP: u64 = 256 * 1024;

/// How long reading stored output waits for a place.
const READ_PATIENCE: Duration = Duration::from_secs(30);

/// A stream of a run at another place.
pub(super) struct StreamThere {
    pub(super) run: Arc<OrderedAway>,
    pub(super) stream: Stream,
    pub(super) runtime: Handle,
}

impl FarReader for StreamThere {
    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        let reading = async {
            let (mut at, mut all) = (range.start, Vec::new());
            while at < range.end {
                let upto = range.end.min(at + READ_STEP);
                all.extend(self.run.read(self.stream, at..upto).await?);
                at = upto;
            }
            Ok(all)
        };
        if self.run.is_unread.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // An errand reads, never a thread of the runtime.
        let read = (self.runtime).block_on(async { timeout(READ_PATIENCE, reading).await });
        let read = read.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        self.run
            .is_unread
            .fetch_or(read.is_err(), Ordering::Relaxed);
        read
    }
}
