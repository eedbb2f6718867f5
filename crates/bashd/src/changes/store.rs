//! The directory of changes: made before a command, settled after it, applied, undone and removed
//! under one lock.

use super::journal::TradeWay;
use super::layers::LayersInUse;
use super::listing::{self, ChangedPath};
use super::own_moves::OwnMoves;
use super::record::{ChangeRecord, Durability};
use super::summary::ChangesSummary;
use super::{layers, removal, scan, tree};
use crate::error::{Error, ErrorKind, Result};
use bashd_keeper::confinement::HeldLayer;
use bashd_keeper::file_lock::{LockKind, lock_within};
use bashd_keeper::spool::write_private;
use std::borrow::Cow;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long somebody waits who wants to apply a change while another one is applied.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often changes are looked for that are too old or too large.
const PRUNING: Duration = Duration::from_hours(1);

/// How long a command that has just ended may still hold its layers.
const ENDING: Duration = Duration::from_secs(3);

/// What the record of a change is called while the change is removed.
const REMOVED: &str = "removed";

/// Held by whoever changes something in the directory of changes, or by their means.
pub(super) struct StoreLock {
    _file: File,
}

/// All changes of a state directory.
#[derive(Debug, Clone)]
pub struct ChangeStore {
    directory: PathBuf,
}

/// One change.
#[derive(Debug, Clone)]
pub struct Change {
    pub(super) record: ChangeRecord,
    is_running: bool,
    /// Why it can't be looked through.
    unreadable: Option<String>,
}

/// Whether the effects of a change are real.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeState {
    /// Its command still runs.
    Running,
    /// They are not yet.
    Held,
    /// They are.
    Applied,
    /// They were.
    Undone,
    /// Some are, and some are not.
    InPart,
    /// What is in its layers can't be looked through. It can be discarded.
    Unreadable,
}

impl ChangeState {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Held => "held",
            Self::Applied => "applied",
            Self::Undone => "undone",
            Self::InPart => "in_part",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A path that is not as the change knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Where.
    pub path: PathBuf,
    /// What is wrong.
    pub why: Cow<'static, str>,
}

/// Why a change was not applied, undone or removed. Nothing of it was done.
#[derive(Debug)]
pub enum ChangeFailure {
    /// Somebody else changed these.
    Conflicts(Vec<Conflict>),
    /// We could not.
    Failed(Error),
}

impl From<Error> for ChangeFailure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Which steps of a change, and whether what somebody changed is put aside, too.
#[derive(Debug, Clone, Default)]
pub struct Moved<'a> {
    /// These paths and what is below; none means everything.
    pub paths: &'a [PathBuf],
    /// Also where somebody changed something since.
    pub force: bool,
}

impl Change {
    pub(super) fn of(record: ChangeRecord) -> Self {
        Self {
            record,
            is_running: false,
            unreadable: None,
        }
    }

    /// One whose command still runs.
    fn running(record: ChangeRecord) -> Self {
        Self {
            is_running: true,
            ..Self::of(record)
        }
    }

    /// Why it can't be looked through, if it can't.
    pub fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.record.id
    }

    /// The command that made it.
    pub fn command(&self) -> &str {
        &self.record.command
    }

    /// Where that ran.
    pub fn directory(&self) -> &Path {
        &self.record.cwd
    }

    /// When that began, in milliseconds since 1970.
    pub fn began_ms(&self) -> u64 {
        self.record.began_ms
    }

    /// When it was applied or undone last, in milliseconds since 1970.
    pub fn moved_ms(&self) -> Option<u64> {
        self.record.moved_ms
    }

    /// Whether it is real.
    pub fn state(&self) -> ChangeState {
        let steps = self.record.steps.iter().flatten();
        let applied = steps.clone().filter(|step| step.is_applied).count();
        if self.unreadable.is_some() {
            ChangeState::Unreadable
        } else if self.is_running || self.record.steps.is_none() {
            ChangeState::Running
        } else if applied == 0 && self.record.moved_ms.is_some() {
            ChangeState::Undone
        } else if applied == 0 {
            ChangeState::Held
        } else if applied == steps.count() {
            ChangeState::Applied
        } else {
            ChangeState::InPart
        }
    }

    /// In a few words.
    pub fn summary(&self) -> ChangesSummary {
        ChangesSummary::of(self)
    }

    /// What changed as a whole: a directory that is new or gone is one path.
    pub fn steps(&self) -> impl Iterator<Item = ChangedPath> {
        listing::steps(&self.record)
    }

    /// Every path, sorted.
    pub fn paths(&self) -> Vec<ChangedPath> {
        listing::paths(&self.record)
    }
}

pub(super) fn failed(doing: impl std::fmt::Display, error: io::Error) -> Error {
    Error::io(ErrorKind::Io, doing, error)
}

impl ChangeStore {
    /// The changes of a state directory.
    pub fn in_state(state: &Path) -> Self {
        Self {
            directory: state.join("changes"),
        }
    }

    /// Where they are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn record_of(&self, id: &str) -> PathBuf {
        self.directory.join(id).join("record")
    }

    pub(super) fn exists(&self, id: &str) -> bool {
        self.record_of(id).exists()
    }

    pub(super) fn journals(&self) -> PathBuf {
        self.directory.join("journals")
    }

    /// Where it is noted when we moved things.
    pub(super) fn moves(&self) -> PathBuf {
        self.directory.join("moves")
    }

    /// Every record that can be read.
    pub(super) fn records(&self) -> Vec<ChangeRecord> {
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let records = entries.map(|entry| ChangeRecord::read(&entry.path().join("record")));
        records.flatten().collect()
    }

    /// Makes the layers of a command, before it runs. They are in use while somebody has what this
    /// returns.
    pub(crate) fn prepare(
        &self,
        (id, command): (&str, &str),
        cwd: &Path,
        layers: &[HeldLayer],
        is_undoable: bool,
    ) -> Result<LayersInUse> {
        let own = self.directory.join(id);
        let mut builder = DirBuilder::new();
        builder.mode(0o700).recursive(true);
        builder
            .create(&own)
            .map_err(|error| failed(format!("make {}", own.display()), error))?;
        let mut record = ChangeRecord::new(id, command, cwd, now_ms());
        record.is_undoable = is_undoable;
        let made = layers::make(&mut record, layers).and_then(|()| {
            let noted = layers::lock(&record).and_then(|locked| {
                record.write(&self.record_of(id), Durability::Later)?;
                Ok(locked)
            });
            noted.map_err(|error| failed("note that effects are held", error))
        });
        if made.is_err() {
            let _ = self.remove(&record);
        }
        made
    }

    /// Goes on with the layers of a change whose session has another call; `None` if somebody
    /// looked at it as a whole meanwhile, applied or discarded it.
    pub(crate) fn go_on(&self, id: &str) -> Option<LayersInUse> {
        let _lock = self.lock().ok()?;
        let record = ChangeRecord::read(&self.record_of(id)).ok()?;
        let is_open = record.steps.is_none();
        is_open.then(|| layers::lock(&record).ok()).flatten()
    }

    /// What the calls of a session did so far, in which another may come.
    pub(crate) fn so_far(&self, id: &str) -> Result<ChangesSummary> {
        Ok(ChangesSummary::of(&self.glance(id)?))
    }

    /// A change whose command still runs, with what it did so far. Nothing is noted: the next look
    /// may find something else.
    pub fn glance(&self, id: &str) -> Result<Change> {
        let mut record = self.read(id)?;
        Self::look(&mut record)?;
        record.counts = listing::counts(&record);
        Ok(Change::running(record))
    }

    /// Has a record say what is in its layers.
    fn look(record: &mut ChangeRecord) -> Result<()> {
        let mut steps = Vec::new();
        for (number, layer) in record.layers.iter().enumerate() {
            let found = scan::scan(number, layer);
            steps.extend(found.map_err(|error| {
                let doing = format!("look for changes in {}", layer.root.display());
                failed(doing, error)
            })?);
        }
        record.steps = Some(steps);
        Ok(())
    }

    /// Forgets a change whose command did not run.
    pub(crate) fn drop_unused(&self, id: &str) {
        if let Ok(record) = ChangeRecord::read(&self.record_of(id)) {
            let _ = self.remove(&record);
        }
    }

    /// What the command of a change did, once it has ended: applied, if it is to be. A command that
    /// changed nothing leaves nothing.
    pub(crate) fn settle(&self, id: &str) -> Result<ChangesSummary> {
        let lock = self.lock()?;
        let Some(change) = self.settled(&lock, id)? else {
            return Ok(ChangesSummary::none());
        };
        if !change.record.is_undoable {
            return Ok(change.summary());
        }
        match self.trade(&lock, (id, &Moved::default()), TradeWay::Forwards, &|| {
            Ok(())
        }) {
            Ok(change) => Ok(change.summary()),
            Err(failure) => Ok(change.summary().not_applied(failure)),
        }
    }

    /// A change with its steps; `None` if there are none, and it is gone. Under the lock: two who
    /// look at once would each take what the other applies for what the command did.
    pub(super) fn settled(&self, _lock: &StoreLock, id: &str) -> Result<Option<Change>> {
        let mut record = self.read(id)?;
        if record.steps.is_none() {
            Self::look(&mut record)?;
            if record.steps.as_ref().is_some_and(Vec::is_empty) {
                self.remove(&record)?;
                return Ok(None);
            }
            record.counts = listing::counts(&record);
            self.write(&record, Durability::Later)
                .map_err(|error| failed("note what changed", error))?;
        }
        Ok(Some(Change::of(record)))
    }

    pub(super) fn read(&self, id: &str) -> Result<ChangeRecord> {
        let read = ChangeRecord::read(&self.record_of(id));
        read.map_err(|error| failed(format!("read the change {id}"), error))
    }

    pub(super) fn write(&self, record: &ChangeRecord, durability: Durability) -> io::Result<()> {
        record.write(&self.record_of(&record.id), durability)
    }

    /// Every change, the oldest first. What a process that died left undone is done first.
    pub fn list(&self) -> Result<Vec<Change>> {
        self.recover()?;
        self.finish_jobs();
        let mut ids: Vec<_> = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.path().join("record").exists())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        ids.sort();
        let mut found = Vec::new();
        for id in ids {
            // One that somebody removes just now is not there.
            let Ok(record) = ChangeRecord::read(&self.record_of(&id)) else {
                continue;
            };
            if record.steps.is_some() {
                found.push(Change::of(record));
            } else if is_in_use(&record, Duration::ZERO) {
                found.push(Change::running(record));
            } else {
                let lock = self.lock()?;
                if self.record_of(&id).exists() {
                    match self.settled(&lock, &id) {
                        Ok(settled) => found.extend(settled),
                        // One that can't be looked through hides no other.
                        Err(error) => found.push(Change {
                            unreadable: Some(error.to_string()),
                            ..Change::of(record)
                        }),
                    }
                }
            }
        }
        Ok(found)
    }

    /// The change whose id begins so, if there is exactly one.
    pub fn find(&self, text: &str) -> Result<Change> {
        let mut found: Vec<_> = self.list()?;
        found.retain(|change| change.id().starts_with(text));
        match (found.len(), found.pop()) {
            (1, Some(change)) => Ok(change),
            (0, _) => Err(missing(format!("there is no change {text}"))),
            _ => Err(missing(format!("several changes begin with {text}"))),
        }
    }

    /// Removes a change: what was not applied will never be, and what was can't be undone.
    pub fn discard(&self, id: &str) -> Result<()> {
        let lock = self.lock()?;
        self.recover_locked(&lock, &|| Ok(()));
        let record = self.ended(id)?;
        if record.steps.iter().flatten().any(|step| step.is_applied) {
            let forgotten = OwnMoves::forget(&self.moves(), id);
            forgotten.map_err(|error| failed("note that a change stays", error))?;
        }
        self.forget_journal(id);
        self.remove(&record)
    }

    /// Removes the oldest changes, until all that are left are younger than this, and together not
    /// larger. Returns their ids. One that can't be removed keeps no other; if nothing could be
    /// removed, it is told.
    pub fn prune(&self, age: Option<Duration>, bytes: Option<u64>) -> Result<Vec<String>> {
        let mut removed = Vec::new();
        let mut stuck = self.sweep().err();
        let changes = self.list()?;
        let size = |change: &Change| change.record.counts.bytes + change.record.counts.former_bytes;
        let mut total: u64 = changes.iter().map(size).sum();
        let now = now_ms();
        for change in changes {
            let since = now.saturating_sub(change.moved_ms().unwrap_or(change.began_ms()));
            let is_old = age.is_some_and(|age| u128::from(since) >= age.as_millis());
            let is_too_much = bytes.is_some_and(|most| total > most);
            if change.state() != ChangeState::Running && (is_old || is_too_much) {
                match self.discard(change.id()) {
                    Ok(()) => {
                        total -= size(&change);
                        removed.push(change.id().to_owned());
                    }
                    Err(error) => stuck = Some(error),
                }
            }
        }
        match stuck {
            Some(error) if removed.is_empty() => Err(error),
            _ => Ok(removed),
        }
    }

    /// Likewise, if that was not done for a while and nobody else is at it. Its failure fails no
    /// call.
    pub(crate) fn prune_now_and_then(&self, age: Option<Duration>, bytes: Option<u64>) {
        let mark = self.directory.join("pruned");
        let last = fs::metadata(&mark).and_then(|found| found.modified());
        let is_recent = last.is_ok_and(|last| last.elapsed().is_ok_and(|age| age < PRUNING));
        let is_free = || self.lock_within(Duration::ZERO).is_ok();
        if self.directory.exists() && !is_recent && is_free() {
            let _ = write_private(&mark, b"");
            let _ = self.prune(age, bytes);
        }
    }

    /// Removes what a process left that died while it made or removed a change.
    fn sweep(&self) -> Result<()> {
        let mut all_swept = Ok(());
        let _lock = self.lock()?;
        let Ok(all) = tree::open(&self.directory) else {
            return Ok(());
        };
        for entry in fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let own = entry.path();
            let is_ours = own == self.journals() || own == self.at_end();
            if !own.is_dir() || is_ours || own.join("record").exists() {
                continue;
            }
            let record = ChangeRecord::read(&own.join(REMOVED));
            let is_old = || {
                let made = entry.metadata().and_then(|found| found.modified());
                made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > PRUNING))
            };
            let swept = match record {
                Ok(record) => self.remove(&record),
                // Without a record nothing in it can be applied.
                Err(_) if is_old() => removal::remove(&all, &entry.file_name())
                    .map_err(|error| failed(format!("remove {}", own.display()), error)),
                Err(_) => Ok(()),
            };
            if swept.is_err() {
                all_swept = swept;
            }
        }
        all_swept
    }

    pub(super) fn lock(&self) -> Result<StoreLock> {
        self.lock_within(PATIENCE)
    }

    fn lock_within(&self, patience: Duration) -> Result<StoreLock> {
        let mut builder = DirBuilder::new();
        let path = self.directory.join("lock");
        let locked = builder
            .mode(0o700)
            .recursive(true)
            .create(&self.directory)
            .and_then(|()| {
                let mut options = File::options();
                options.write(true).create(true).truncate(true).mode(0o600);
                options.open(&path)
            })
            .and_then(|file| {
                lock_within(&file, LockKind::Exclusive, patience)?;
                Ok(StoreLock { _file: file })
            });
        locked.map_err(|error| failed(format!("lock {}", path.display()), error))
    }

    /// The record of a change whose command has ended.
    pub(super) fn ended(&self, id: &str) -> Result<ChangeRecord> {
        let record = self.read(id)?;
        if record.steps.is_none() && is_in_use(&record, ENDING) {
            let text = format!(
                "the command of {id}, or its session, still runs: end that first (`bashd jobs`, `bashd top`)"
            );
            return Err(missing(text));
        }
        Ok(record)
    }

    /// Removes a change. From the first moment on it is none any more: a half of it could be
    /// mistaken for what was kept.
    pub(super) fn remove(&self, record: &ChangeRecord) -> Result<()> {
        let own = self.directory.join(&record.id);
        let _ = fs::rename(own.join("record"), own.join(REMOVED));
        let removed = layers::remove(record).and_then(|()| {
            let all = tree::open(&self.directory)?;
            removal::remove(&all, record.id.as_ref())
        });
        removed.map_err(|error| failed(format!("remove the change {}", record.id), error))
    }
}

pub(super) fn missing(text: String) -> Error {
    Error::new(ErrorKind::Io, text)
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}

/// Whether a command still has the layers of a change.
pub(super) fn is_in_use(record: &ChangeRecord, patience: Duration) -> bool {
    record.layers.iter().any(|layer| {
        let opened = tree::open(&layer.directory);
        opened.is_ok_and(|layer| lock_within(&layer, LockKind::Exclusive, patience).is_err())
    })
}
