//! A command that outlasts its call in a terminal that stays: its end is recorded by whoever sees
//! it, and until then the feed says that it runs.

use super::{Ledger, Record, RecordedOutcome};
use crate::exec::{EndedBy, Exit};
use crate::feed::{CallEnded, Feed, FeedEvent, FeedRecord};
use crate::run_id::RunId;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Instant;

/// What is known of a command that may outlast its call. One that is dropped while it runs was
/// ended with its shell, and is recorded so.
pub(crate) struct OutlastingRun {
    ledger: Arc<Ledger>,
    feed: Arc<Feed>,
    /// As it would be recorded now.
    record: Record,
    begun: Instant,
    /// Whether its call has returned, and nothing was recorded since.
    is_open: bool,
}

/// How such a command ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutlastingEnd {
    pub(crate) exit: Exit,
    pub(crate) ended_by: Option<EndedBy>,
    pub(crate) output_bytes: u64,
}

impl OutlastingRun {
    /// The command of a call whose record would be this one.
    pub(super) fn new(
        (ledger, feed): (Arc<Ledger>, Arc<Feed>),
        record: Record,
        begun: Instant,
    ) -> Self {
        Self {
            ledger,
            feed,
            record,
            begun,
            is_open: false,
        }
    }

    /// The id of its call.
    pub(crate) fn id(&self) -> &str {
        &self.record.id
    }

    /// Its call returns, and it goes on.
    pub(crate) fn outlasts(&mut self) {
        self.is_open = true;
    }

    /// It has ended. Recorded once, however often that is seen.
    pub(crate) fn ended(&mut self, end: OutlastingEnd) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        let mut record = self.record.clone();
        record.outcome = match (end.ended_by, end.exit) {
            (Some(EndedBy::Timeout), _) => RecordedOutcome::TimedOut,
            (Some(EndedBy::Cancel | EndedBy::Place), _) => RecordedOutcome::Cancelled,
            (None, Exit::Signal(_)) => RecordedOutcome::Signalled,
            (None, Exit::Code(_) | Exit::Unknown) => RecordedOutcome::Exited,
        };
        match end.exit {
            Exit::Code(code) => record.exit_code = Some(code),
            Exit::Signal(signal) => record.signal = Some(signal),
            Exit::Unknown => {}
        }
        let took = self.begun.elapsed().as_millis() as u64;
        (record.wall_ms, record.ran_ms) = (took, Some(took));
        record.output_bytes = end.output_bytes;
        self.feed.tell_with(|| {
            let ended = CallEnded {
                outcome: record.outcome,
                exit_code: record.exit_code,
                signal: record.signal,
                error: None,
                job: None,
                place: record.place.clone(),
                cwd: record.cwd.clone(),
                wall_ms: record.wall_ms,
                output_bytes: record.output_bytes,
            };
            FeedRecord::new(self.id(), Timestamp::now(), FeedEvent::Ended(ended))
        });
        // Its call has a record of its own, which this one names.
        record.job = Some(std::mem::replace(
            &mut record.id,
            RunId::new().as_str().to_owned(),
        ));
        record.time = Timestamp::now();
        // The next call of an engine says if the ledger can't be written.
        let _ = self.ledger.append(&record);
    }
}

impl Drop for OutlastingRun {
    fn drop(&mut self) {
        self.ended(OutlastingEnd {
            exit: Exit::Unknown,
            ended_by: Some(EndedBy::Cancel),
            output_bytes: 0,
        });
    }
}
