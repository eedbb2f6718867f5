//! Runs whose calls still wait: seen by everybody of the same user once they take longer than a second.
//!
//! Their keepers show them in a directory beside that of the jobs, with a lock and a control socket as a job's,
//! and take it away when the call is answered. Whoever looks clears away what a killed keeper left.

use super::Jobs;
use super::directory;
use super::output::OutputQuery;
use super::state::{self, Job};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Age at which a directory without a keeper is no directory that is just being made.
const ABANDONED: Duration = Duration::from_mins(1);

/// Bytes in which the last line of a run is looked for.
const LAST_LINE: u64 = 400;

impl Jobs {
    /// The runs of all this user's bashd processes whose calls still wait and have waited longer than a
    /// second, oldest first. Everything that can be done with a job can be done with them, too.
    pub async fn running(&self) -> Vec<Job> {
        let mut runs = Vec::new();
        for path in state::directories(&directory::live(&self.runs)) {
            match Job::read(&path).filter(|_| directory::is_alive(&path)) {
                Some(job) => runs.push(self.with_last_line(job).await),
                None => clear_away(&path),
            }
        }
        runs
    }

    /// The run of that id.
    pub(super) fn read_running(&self, id: &str) -> Option<Job> {
        let path = directory::live(&self.runs).join(id);
        Job::read(&path).filter(|_| directory::is_alive(&path))
    }

    /// Nothing of it is in files: its keeper knows what it wrote.
    async fn with_last_line(&self, job: Job) -> Job {
        let query = OutputQuery::tail(1).at_most(LAST_LINE);
        match self.output(&job, &query).await {
            Ok(output) => Job {
                output_bytes: output.output_bytes,
                last_line: output.text.trim_end().to_owned(),
                ..job
            },
            Err(_) => job,
        }
    }
}

fn clear_away(path: &Path) {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    let age = modified.ok().and_then(|time| time.elapsed().ok());
    if age.is_some_and(|age| age > ABANDONED) {
        let _ = fs::remove_dir_all(path);
    }
}
