//! Whether a job that was just started is ready, for the call that started it.

use super::news::JobWatch;
use super::tool::texts;
use super::{Job, Jobs, OutputQuery, WaitFor};
use crate::profile::reply::Readiness;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Lines of output that the answer shows.
const LINES: u64 = 20;

/// Bytes of them at most.
const BYTES: u64 = 4096;

impl Jobs {
    /// Waits for a job; `None` if the call was cancelled meanwhile, which leaves the job as it is.
    pub(crate) async fn readiness(
        &self,
        job: Job,
        until: &WaitFor,
        cancel: &CancellationToken,
    ) -> Option<Readiness> {
        let (begun, ran_before) = (Instant::now(), Duration::from_millis(job.age_ms));
        // Nobody else is told of an end meanwhile: it is told here.
        let _watch = JobWatch::begin(&job);
        let waited = tokio::select! {
            waited = self.wait(vec![job], until) => waited.into_iter().next()?,
            () = cancel.cancelled() => return None,
        };
        if waited.job.has_ended() {
            self.acknowledge(&waited.job);
        }
        let query = OutputQuery::tail(LINES).at_most(BYTES);
        let output = self.output(&waited.job, &query).await;
        Some(Readiness {
            met: waited.met,
            by: waited.by,
            after: ran_before + begun.elapsed(),
            state: texts::state(&waited.job),
            tail: output.map(|output| output.text).unwrap_or_default(),
        })
    }
}
