//! Applying and undoing a change under the lock of the store, and finishing what a process that
//! died had begun.

use super::conflicts::{OtherChanges, check, choose};
use super::journal::{Journal, Passes, Stop, TradeWay};
use super::own_moves::{self, OwnMoves};
use super::record::{ChangeRecord, Durability, write_file};
use super::store::{
    Change, ChangeFailure, ChangeState, ChangeStore, Moved, StoreLock, failed, missing, now_ms,
};
use super::summary::ChangesSummary;
use crate::error::{Error, ErrorKind, Result};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

impl ChangeStore {
    /// Makes the effects of a change real: all that was chosen, or nothing.
    pub fn apply(&self, id: &str, which: &Moved<'_>) -> Result<Change, ChangeFailure> {
        let lock = self.lock()?;
        self.trade(&lock, (id, which), TradeWay::Forwards, &|| Ok(()))
    }

    /// What a command did, once it has ended, for somebody to look at; `None` if that is nothing.
    pub(crate) fn propose(&self, id: &str) -> Result<Option<Change>> {
        let lock = self.lock()?;
        self.settled(&lock, id)
    }

    /// Applies what somebody has allowed. What somebody else decided meanwhile (`bashd changes`)
    /// stays as it is; `None` if it is gone.
    pub(crate) fn allow(&self, id: &str) -> Result<Option<ChangesSummary>> {
        let lock = self.lock()?;
        let Some(change) = self.undecided(&lock, id)? else {
            return self.decided(&lock, id);
        };
        let traded = self.trade(&lock, (id, &Moved::default()), TradeWay::Forwards, &|| {
            Ok(())
        });
        Ok(Some(match traded {
            Ok(change) => change.summary(),
            Err(failure) => change.summary().not_applied(failure),
        }))
    }

    /// Removes what nobody has allowed. What somebody else applied meanwhile stays; `None` if it is
    /// gone.
    pub(crate) fn refuse(&self, id: &str) -> Result<Option<ChangesSummary>> {
        let lock = self.lock()?;
        if let Some(change) = self.undecided(&lock, id)? {
            self.forget_journal(id);
            self.remove(&change.record)?;
            return Ok(None);
        }
        self.decided(&lock, id)
    }

    /// A change of which nothing was applied yet, or undone.
    fn undecided(&self, lock: &StoreLock, id: &str) -> Result<Option<Change>> {
        self.recover_locked(lock, &|| Ok(()));
        if !self.exists(id) {
            return Ok(None);
        }
        let change = self.settled(lock, id)?;
        Ok(change.filter(|change| change.state() == ChangeState::Held))
    }

    fn decided(&self, lock: &StoreLock, id: &str) -> Result<Option<ChangesSummary>> {
        if !self.exists(id) {
            return Ok(None);
        }
        let change = self.settled(lock, id)?;
        Ok(change.map(|change| change.summary()))
    }

    /// Takes back what was applied: all that was chosen, or nothing.
    pub fn undo(&self, id: &str, which: &Moved<'_>) -> Result<Change, ChangeFailure> {
        let lock = self.lock()?;
        self.trade(&lock, (id, which), TradeWay::Backwards, &|| Ok(()))
    }

    /// Lets steps trade places: those that are not applied, or those that are.
    pub(super) fn trade(
        &self,
        lock: &StoreLock,
        (id, which): (&str, &Moved<'_>),
        way: TradeWay,
        passes: Passes<'_>,
    ) -> Result<Change, ChangeFailure> {
        let stuck = self.recover_locked(lock, passes);
        if let Some((_, error)) = stuck.into_iter().find(|(stuck, _)| stuck == id) {
            return Err(error.into());
        }
        self.ended(id)?;
        let Some(change) = self.settled(lock, id)? else {
            return Err(missing(format!("the change {id} has nothing in it")).into());
        };
        let mut record = change.record;
        let chosen = choose(&record, which.paths, way == TradeWay::Backwards)?;
        let opened = check(&mut record, &chosen, which.force, &OtherChanges::of(self))?;
        let journal = Journal::new(record, chosen).map_err(|error| failed("plan it", error))?;
        drop(opened);
        let place = self.journals().join(id);
        let doing = |error| failed(format!("write {}", place.display()), error);
        DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(self.journals())
            .map_err(doing)?;
        // What an earlier one left says nothing of this one.
        self.forget_journal(id);
        if let Err(error) = journal.write(&place) {
            self.forget_journal(id);
            return Err(doing(error).into());
        }
        let record = self.carry_out(&journal, &place, passes)?;
        Ok(Change::of(record))
    }

    /// Does what a journal says, or takes it back if that can't be done.
    fn carry_out(
        &self,
        journal: &Journal,
        place: &Path,
        passes: Passes<'_>,
    ) -> Result<ChangeRecord> {
        let back = place.with_extension("back");
        let stopped = |stop| match stop {
            Stop::Failed(error) => failed("move files", error),
            Stop::Died => Error::new(ErrorKind::Io, "the process died"),
        };
        passes().map_err(stopped)?;
        let refused = if back.exists() {
            Error::new(ErrorKind::Io, "it was taken back")
        } else {
            let from = own_moves::moment();
            let done = journal.forwards(now_ms(), passes);
            OwnMoves::note(&self.moves(), &journal.record.id, from);
            match done {
                Err(Stop::Died) => return Err(stopped(Stop::Died)),
                Err(Stop::Failed(error)) => failed("nothing was changed: move files", error),
                Ok(record) => match self.note(journal, &record) {
                    Ok(()) => {
                        passes().map_err(stopped)?;
                        self.forget_journal(&record.id);
                        return Ok(record);
                    }
                    Err(error) => failed("nothing was changed: note what was done", error),
                },
            }
        };
        // If that can't be noted, whoever comes after a death goes forwards: that is whole as well.
        let _ = write_file(&back, b"", Durability::Synced);
        let from = own_moves::moment();
        let done = journal.backwards(now_ms(), passes);
        OwnMoves::note(&self.moves(), &journal.record.id, from);
        let (left, record) = done.map_err(stopped)?;
        let noted = self.note(journal, &record);
        if !left.is_empty() {
            noted.map_err(|error| failed("note what was taken back", error))?;
        }
        self.forget_journal(&journal.record.id);
        if left.is_empty() {
            return Err(refused);
        }
        let left: Vec<_> = left.iter().map(|path| path.display().to_string()).collect();
        let text = format!(
            "it was taken back, but for what somebody changed meanwhile: {}",
            left.join(", ")
        );
        Err(Error::new(ErrorKind::Io, text))
    }

    /// Has the record say what is in place.
    fn note(&self, journal: &Journal, record: &ChangeRecord) -> std::io::Result<()> {
        journal.sync_elsewhere(self.directory())?;
        self.write(record, Durability::Synced)
    }

    /// Whether somebody applies or undoes a change just now, or died while doing so.
    pub(crate) fn has_unfinished(&self) -> bool {
        fs::read_dir(self.journals()).is_ok_and(|mut left| left.next().is_some())
    }

    /// Finishes what a process that died had begun. What can't be finished is told, each with the
    /// id of its change: it will be tried again.
    pub fn recover(&self) -> Result<Vec<(String, Error)>> {
        if !self.has_unfinished() {
            return Ok(Vec::new());
        }
        let lock = self.lock()?;
        Ok(self.recover_locked(&lock, &|| Ok(())))
    }

    pub(super) fn recover_locked(
        &self,
        _lock: &StoreLock,
        passes: Passes<'_>,
    ) -> Vec<(String, Error)> {
        let left = fs::read_dir(self.journals());
        let left = left.into_iter().flatten().flatten();
        let mut stuck = Vec::new();
        for place in left.map(|entry| entry.path()) {
            match place.extension() {
                // It was never whole, so nothing was done.
                Some(extension) if extension == "new" => drop(fs::remove_file(&place)),
                Some(_) => {}
                None => stuck.extend(self.resume(&place, passes)),
            }
        }
        stuck
    }

    /// Carries out a journal that somebody left; returns why that can't be done.
    fn resume(&self, place: &Path, passes: Passes<'_>) -> Option<(String, Error)> {
        let done = match Journal::read(place) {
            Ok(journal) => self.carry_out(&journal, place, passes).map(drop),
            Err(error) => Err(failed(format!("read {}", place.display()), error)),
        };
        match done {
            // It was taken back, and is what it was before.
            Err(_) if !place.exists() => None,
            Err(error) => {
                let id = place.file_name().unwrap_or_default().to_string_lossy();
                Some((id.into_owned(), error))
            }
            Ok(()) => None,
        }
    }

    /// Removes a journal, and what belongs to it.
    pub(super) fn forget_journal(&self, id: &str) {
        let place = self.journals().join(id);
        let _ = fs::remove_file(&place);
        for extension in ["back", "new"] {
            let _ = fs::remove_file(place.with_extension(extension));
        }
    }
}
