//! How a job is found when its directory is gone: a socket in the runtime directory.
//!
//! Somebody may remove the state directory while jobs run. Their keepers live on, and whoever looks
//! for jobs asks them (`job::recall`): a keeper that is spoken to here makes its directory again,
//! with the output so far.

use super::job::{KeeperJob, head_only, listen, write_status};
use super::life::KeeperRun;
use super::serve::state_of;
use crate::job::directory::{self, JobKind};
use crate::job::recall::{KIND, RUN};
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
    /// Makes the directory of a job again, if somebody removed it.
    pub(super) fn restore_if_gone(&mut self, job: &mut KeeperJob) {
        let is_there = job.directory.join(directory::SPEC).exists();
        if job.kind != JobKind::Foreground && !is_there {
            // A disk that refuses it now may take it at the next question.
            let _ = self.restore(job);
        }
    }

    fn restore(&mut self, job: &mut KeeperJob) -> io::Result<()> {
        let path = job.directory.clone();
        spool::prepare_runs_directory(&path)?;
        job.lock = directory::take_lock(&path)?;
        let names = [directory::OUTPUT, directory::STDERR];
        for (pump, name) in self.pumps.iter_mut().zip(names) {
            pump.spool.name_anew(&path.join(name))?;
        }
        job.listener = listen(&path).ok();
        job.roster.forget();
        if let Some(exited) = &job.exited {
            let status = self.status(exited, &mut |pump| Ok(head_only(pump)));
            let _ = write_status(job, status);
        }
        directory::write_durably(&path, directory::SPEC, &job.spec)
    }
}
