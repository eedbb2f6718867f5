//! How a job is found when its directory is gone: a socket in the runtime directory.
//!
//! Somebody may remove the state directory while jobs run. Their keepers live on, and whoever looks
//! for jobs asks them (`job::recall`): a keeper that is spoken to here makes its directory again,
//! with the output so far.

use super::job::{KeeperJob, head_only, listen, write_status};
use super::life::KeeperRun;
use super::serve::state_of;
use crate::job::directory::{self, JobKind};
use crate::job::recall::{KIND, RUN, is_incomplete};
use crate::runtime::OwnDirectory;
use crate::spool;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Where a job can be asked whatever becomes of its directory.
pub(super) struct Beacon {
    pub(super) listener: OwnedFd,
    _directory: OwnDirectory,
}

impl Beacon {
    /// Lights one for the job in this directory.
    pub(super) fn light(job: &Path) -> io::Result<Self> {
        let runs = job.parent().unwrap_or(job);
        let directory = OwnDirectory::create(state_of(runs), KIND)?;
        let listener = listen(directory.path())?;
        std::os::unix::fs::symlink(job, directory.path().join(RUN))?;
        Ok(Self {
            listener,
            _directory: directory,
        })
    }
}

impl KeeperRun {
    /// Makes the directory of a job again, or what somebody removed of it.
    pub(super) fn restore_if_gone(&mut self, job: &mut KeeperJob) {
        if job.kind != JobKind::Foreground && is_incomplete(&job.directory) {
            // A disk that refuses it now may take it at the next question.
            let _ = self.restore(job);
        }
    }

    fn restore(&mut self, job: &mut KeeperJob) -> io::Result<()> {
        let path = job.directory.clone();
        let is_gone = |name: &str| !path.join(name).exists();
        spool::prepare_runs_directory(&path)?;
        if is_gone(directory::LOCK) {
            job.lock = directory::take_lock(&path)?;
        }
        let names = [directory::OUTPUT, directory::STDERR];
        for (pump, name) in self.pumps.iter_mut().zip(names) {
            if is_gone(name) {
                pump.spool.name_anew(&path.join(name))?;
            }
        }
        if is_gone(directory::CONTROL) {
            job.listener = listen(&path).ok();
        }
        job.roster.forget();
        if let Some(exited) = job.exited.as_ref().filter(|_| is_gone(directory::STATUS)) {
            let status = self.status(exited, &mut |pump| Ok(head_only(pump)));
            let _ = write_status(job, status);
        }
        if is_gone(directory::SPEC) {
            directory::write_durably(&path, directory::SPEC, &job.spec)?;
        }
        Ok(())
    }
}
