//! Runs whose calls still wait: visible to every process of the same user after one second.
//!
//! Their keepers make them visible in a directory beside the jobs', with a lock and a control
//! socket like a job's, and remove it when the call is answered. Readers clean up what a killed
//! keeper left.

use super::Jobs;
use super::directory::{self, AwaitedInput};
use super::output::OutputQuery;
use super::state::{self, Job, LAST_LINE_BYTES};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Age above which a directory without a keeper is not one that is just being created.
const ABANDONED: Duration = Duration::from_mins(1);

impl Jobs {
    /// The runs of all this user's bashd processes whose calls have waited longer than a second,
    /// oldest first. Everything that works with a job works with them, too.
    pub async fn running(&self) -> Vec<Job> {
        let mut runs = Vec::new();
        for path in state::directories(&directory::live(&self.runs)) {
            match self.read(&path).filter(|_| directory::is_alive(&path)) {
                Some(job) => runs.push(self.with_last_line(job).await),
                None => clear_away(&path),
            }
        }
        runs
    }

    /// What the run with this shell waits for, if its call has waited longer than a second.
    pub fn awaited_by(&self, shell: i32) -> Option<AwaitedInput> {
        let paths = state::directories(&directory::live(&self.runs));
        let mut runs = paths.filter_map(|path| self.read(&path));
        runs.find(|run| run.pid == shell)?.waiting
    }

    /// The run of that id.
    pub(super) fn read_running(&self, id: &str) -> Option<Job> {
        let path = directory::live(&self.runs).join(id);
        self.read(&path).filter(|_| directory::is_alive(&path))
    }

    /// None of it is in files: only its keeper knows what it wrote.
    async fn with_last_line(&self, job: Job) -> Job {
        let query = OutputQuery::tail(1).at_most(LAST_LINE_BYTES);
        match self.output(&job, &query).await {
            Ok(output) => Job {
                output_bytes: output.output_bytes,
                last_line: state::plain_last_line(output.text.trim_end().as_bytes()),
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
