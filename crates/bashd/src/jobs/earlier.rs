//! Which jobs an owner sees: its own, and *earlier* ones, whose client is gone. The first owner to
//! wait for, read or end an earlier job takes it over: from then on it is that owner's.

use super::clients;
use super::directory::JobKind;
use super::state::Job;
use super::{Jobs, Whose, claim};
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What one owner sees of all jobs.
pub(super) struct JobsInSight<'a> {
    runs: &'a Path,
    whose: Whose<'a>,
    /// Where the owner's client works; `None` if the owner is not a client, or is gone.
    home: Option<PathBuf>,
    /// Which other owners' clients are connected, as far as that was looked up.
    there: RefCell<HashMap<String, bool>>,
}

impl Jobs {
    /// Which of all jobs the owner sees.
    pub(super) fn sight<'a>(&'a self, whose: Whose<'a>) -> JobsInSight<'a> {
        let home = match whose {
            Whose::Owner(owner) => clients::home(&self.runs, owner),
            Whose::Everybody => None,
        };
        JobsInSight {
            runs: &self.runs,
            whose,
            home,
            there: RefCell::default(),
        }
    }

    /// Makes an earlier job this owner's own; one that is already is left as it is. Fails if
    /// somebody else was faster.
    pub fn take_over(&self, owner: &str, job: Job) -> Result<Job> {
        if !job.earlier {
            return Ok(job);
        }
        let failed = |error| Error::io(ErrorKind::Job, "take over the job", error);
        if !claim::take_over(&job.directory, &job.owner, owner).map_err(failed)? {
            let text = format!(
                "there is no job {}: another client has taken it over",
                job.id
            );
            return Err(Error::new(ErrorKind::NoSuchJob, text).about(&job.id));
        }
        self.read_again(&job)
    }

    /// The job of that id or name, which is this owner's own from now on. Nobody else has to wait
    /// for it.
    pub async fn take(&self, owner: &str, name: &str) -> Result<Job> {
        let (jobs, owner, name) = (self.clone(), owner.to_owned(), name.to_owned());
        let taken = errand::read(move |_| {
            let found = jobs.find(Whose::Owner(&owner), &name)?;
            jobs.take_over(&owner, found)
        });
        let failed = |failure: errand::ErrandFailure| {
            Err(Error::io(ErrorKind::Job, "find the job", failure.into()))
        };
        taken.await.unwrap_or_else(failed)
    }
}

impl JobsInSight<'_> {
    /// The job as it is seen, if it is.
    pub(super) fn of(&self, mut job: Job) -> Option<Job> {
        match self.whose {
            Whose::Everybody => Some(job),
            Whose::Owner(_) if job.kind == JobKind::Foreground => None,
            Whose::Owner(owner) if job.owner == owner => Some(job),
            Whose::Owner(owner) => {
                job.earlier = self.is_earlier(owner, &job);
                job.earlier.then_some(job)
            }
        }
    }

    /// Whether a job came by the same front end, in the same directory, from a client that is gone.
    fn is_earlier(&self, owner: &str, job: &Job) -> bool {
        let came_by = clients::front_end(&job.owner);
        self.home.as_deref() == Some(Path::new(&job.home))
            && came_by.is_some()
            && came_by == clients::front_end(owner)
            && !self.is_there(&job.owner)
    }

    fn is_there(&self, owner: &str) -> bool {
        let mut there = self.there.borrow_mut();
        *there
            .entry(owner.to_owned())
            .or_insert_with(|| clients::is_there(self.runs, owner))
    }
}
