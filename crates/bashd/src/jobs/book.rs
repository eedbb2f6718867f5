//! Who did what to a job: a record of the ledger, and the events of the feed.
//!
//! What changes a job is written down: its end, a signal, input, another name, its removal. What
//! only looks at jobs is not; an agent does that all the time. What was typed is not written: it
//! may be a password.

use super::state::Job;
use crate::config::Config;
use crate::error::Result;
use crate::feed::Feed;
use crate::ledger::{Ledger, LedgerEntry};
use std::sync::Arc;

/// Where it is written down, and as whose deed.
#[derive(Debug, Clone)]
pub(crate) struct JobBook {
    ledger: Arc<Ledger>,
    feed: Arc<Feed>,
    by: String,
}

impl JobBook {
    pub(crate) fn new(ledger: Arc<Ledger>, feed: Arc<Feed>) -> Self {
        Self {
            ledger,
            feed,
            by: crate::engine::default_owner(),
        }
    }

    /// The book of a process that has no engine.
    pub(super) fn of(config: &Config) -> Self {
        let ledger = Ledger::new(config.ledger, config.ledger_dir())
            .watching_the_clock(config.runs_dir())
            .chained(config.state_dir.clone());
        let feed = Feed::new(config.feed_dir()).switched(config.feed);
        Self::new(Arc::new(ledger), Arc::new(feed))
    }

    pub(super) fn by(&self, owner: &str) -> Self {
        Self {
            by: owner.to_owned(),
            ..self.clone()
        }
    }

    /// Writes down what is done to a job, once it is done. `what` is as `bashd jobs` calls it.
    pub(super) async fn noted<T>(
        &self,
        job: &Job,
        what: &str,
        deed: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let entry = self.entry(job, what);
        let done = deed.await;
        entry.close_deed(done.as_ref().err());
        done
    }

    /// The same of something that does not wait.
    pub(super) fn noted_at_once<T>(
        &self,
        job: &Job,
        what: &str,
        deed: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let entry = self.entry(job, what);
        let done = deed();
        entry.close_deed(done.as_ref().err());
        done
    }

    fn entry(&self, job: &Job, what: &str) -> LedgerEntry<'_> {
        // A run whose call still waits has no short name.
        let name = Some(&job.alias).filter(|alias| !alias.is_empty());
        let command = format!("job {what} {}", name.unwrap_or(&job.id));
        let mut entry = LedgerEntry::new((&self.ledger, &self.feed), &command);
        entry.begin_deed(&self.by, &job.profile, &job.id);
        entry
    }
}
