//! Applying and undoing: things trade places, each by one rename, and a journal is there before the
//! first of them.
//!
//! The journal has the whole change, with the inode of everything that moves. Nobody else changes
//! what is aside, so whoever finds a journal can tell by that which renames were done, and does the
//! others: forwards, or backwards if `back` is there, since a rename was refused. What somebody
//! changed in the real tree meanwhile is left as it is. A journal is removed when the record says
//! what is in place.

use super::marks;
use super::record::{
    ChangeRecord, ChangeStep, Durability, LayerRecord, StepContent, decode, encode, write_file,
};
use super::tree::{self, TreeStamp, path_bytes};
use rustix::fs::{Mode, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What is about to be done.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) record: ChangeRecord,
    /// Which steps of the record.
    pub(super) chosen: Vec<usize>,
    /// Directories in the real tree that are opened to their owner meanwhile, with their modes.
    closed: Vec<ClosedDirectory>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ClosedDirectory {
    layer: usize,
    #[serde(with = "path_bytes")]
    path: PathBuf,
    mode: u32,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TradeWay {
    Forwards,
    Backwards,
}

/// Why it is not done.
#[derive(Debug)]
pub(super) enum Stop {
    /// The system refused a step.
    Failed(io::Error),
    /// A test says that the process died here.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests die here"))]
    Died,
}

impl<E: Into<io::Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Called between any two steps; tests let the process die there.
pub(super) type Passes<'a> = &'a dyn Fn() -> Result<(), Stop>;

impl Journal {
    /// A journal for these steps of a record, whose stamps are those of what is there now.
    pub(super) fn new(record: ChangeRecord, chosen: Vec<usize>) -> io::Result<Self> {
        let mut closed = BTreeMap::new();
        let own = rustix::process::geteuid().as_raw();
        let mut layers = OpenLayers::new(&record.layers);
        let steps = record.steps.as_deref().unwrap_or_default();
        for step in chosen.iter().filter_map(|step| steps.get(*step)) {
            let (path, found) = if is_tree(step) {
                let (real, _) = layers.parents(step)?;
                let parent = step.path.parent().unwrap_or(Path::new(""));
                (parent, rustix::fs::fstat(real)?)
            } else {
                let (real, _) = layers.open(step.layer)?;
                let place = tree::open_place(real, &step.path)?;
                (&*step.path, rustix::fs::fstat(&place)?)
            };
            let is_closed = found.st_mode & 0o300 != 0o300 || !is_tree(step);
            if is_closed && found.st_uid == own {
                closed.insert((step.layer, path.to_owned()), found.st_mode & 0o7777);
            }
        }
        let closed = closed.into_iter();
        let closed = closed.map(|((layer, path), mode)| ClosedDirectory { layer, path, mode });
        let closed = closed.collect();
        Ok(Self {
            record,
            chosen,
            closed,
        })
    }

    /// Reads a journal. What has its name was written to its end.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        decode(&fs::read(path)?)
    }

    /// Writes it: from here on it will be done, or taken back.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        for layer in &self.record.layers {
            // What the command wrote must not be lost when its names are in the real tree.
            rustix::fs::syncfs(tree::open(&layer.directory)?)?;
        }
        let new = path.with_extension("new");
        write_file(&new, &encode(self)?, Durability::Synced)?;
        fs::rename(&new, path)?;
        if let Some(directory) = path.parent() {
            rustix::fs::fsync(tree::open(directory)?)?;
        }
        Ok(())
    }

    /// Has the renames on the disk before the journal is gone, where that is not on the same file
    /// system, which keeps the order by itself.
    pub(super) fn sync_elsewhere(&self, own: &Path) -> io::Result<()> {
        let own = tree::device(tree::open(own)?)?;
        for layer in &self.record.layers {
            let layer = tree::open(&layer.directory)?;
            if tree::device(&layer)? != own {
                rustix::fs::syncfs(layer)?;
            }
        }
        Ok(())
    }

    /// Does what is not done yet, and returns the record after it. It may be called again after a
    /// death at any point.
    pub(super) fn forwards(&self, now_ms: u64, passes: Passes<'_>) -> Result<ChangeRecord, Stop> {
        let mut layers = OpenLayers::new(&self.record.layers);
        self.open_closed(&mut layers)?;
        passes()?;
        let mut done = Ok(());
        for step in self.steps().filter(|step| is_tree(step)) {
            done = trade_forwards(step, &mut layers);
            if done.is_err() {
                break;
            }
            passes()?;
        }
        let way = match done {
            Ok(()) => TradeWay::Forwards,
            Err(_) => TradeWay::Backwards,
        };
        // While everything can be looked at.
        let outcome = done.and_then(|()| self.outcome(way, now_ms));
        self.close(&mut layers, way, passes)?;
        Ok(outcome?)
    }

    /// Takes back what was done of it, and returns the record after that; what somebody changed
    /// since stays, and is returned.
    pub(super) fn backwards(
        &self,
        now_ms: u64,
        passes: Passes<'_>,
    ) -> Result<(Vec<PathBuf>, ChangeRecord), Stop> {
        let mut layers = OpenLayers::new(&self.record.layers);
        self.open_closed(&mut layers)?;
        passes()?;
        let trees: Vec<_> = self.steps().filter(|step| is_tree(step)).collect();
        let (mut left, mut done) = (Vec::new(), Ok(()));
        for step in trees.into_iter().rev() {
            match trade_backwards(step, &mut layers) {
                Ok(true) => {}
                Ok(false) => left.push(step.path.clone()),
                // The others are taken back all the same.
                Err(error) => done = Err(error),
            }
            passes()?;
        }
        let outcome = done.and_then(|()| self.outcome(TradeWay::Backwards, now_ms));
        self.close(&mut layers, TradeWay::Backwards, passes)?;
        Ok((left, outcome?))
    }

    fn steps(&self) -> impl Iterator<Item = &ChangeStep> {
        let steps = self.record.steps.as_deref().unwrap_or_default();
        self.chosen.iter().filter_map(|step| steps.get(*step))
    }

    /// The record after it was done, or taken back but for what somebody changed.
    fn outcome(&self, way: TradeWay, now_ms: u64) -> io::Result<ChangeRecord> {
        let mut record = self.record.clone();
        if way == TradeWay::Forwards {
            record.moved_ms = Some(now_ms);
        }
        let mut layers = OpenLayers::new(&self.record.layers);
        let mut steps = record.steps.take().unwrap_or_default();
        for number in &self.chosen {
            if let Some(step) = steps.get_mut(*number) {
                note_step(step, &mut layers, way)?;
            }
        }
        record.steps = Some(steps);
        Ok(record)
    }

    /// Lets the owner change directories that are closed even to it, or will be.
    fn open_closed(&self, layers: &mut OpenLayers<'_>) -> io::Result<()> {
        for closed in &self.closed {
            let (real, _) = layers.open(closed.layer)?;
            let place = tree::open_place(real, &closed.path)?;
            let mode = rustix::fs::fstat(&place)?.st_mode & 0o7777;
            if mode & 0o700 != 0o700 {
                rustix::fs::chmod(tree::itself(&place), Mode::from_raw_mode(mode | 0o700))?;
            }
        }
        Ok(())
    }

    /// Closes them again, and gives directories their attributes: the innermost first, since it may
    /// be out of reach afterwards.
    fn close(
        &self,
        layers: &mut OpenLayers<'_>,
        way: TradeWay,
        passes: Passes<'_>,
    ) -> Result<(), Stop> {
        let mut wanted = BTreeMap::new();
        for closed in &self.closed {
            wanted.insert((closed.layer, &*closed.path), Err(closed.mode));
        }
        for step in self.steps() {
            if let StepContent::Attributes { here, aside } = &step.what {
                let attributes = match way {
                    TradeWay::Forwards => aside,
                    TradeWay::Backwards => here,
                };
                wanted.insert((step.layer, &*step.path), Ok(attributes));
            }
        }
        for ((layer, path), wanted) in wanted.into_iter().rev() {
            let (real, _) = layers.open(layer)?;
            match wanted {
                Ok(attributes) => tree::open_below(real, path)?.set_attributes(attributes)?,
                Err(mode) => {
                    let place = tree::open_place(real, path)?;
                    rustix::fs::chmod(tree::itself(&place), Mode::from_raw_mode(mode))?;
                }
            }
            passes()?;
        }
        Ok(())
    }
}

fn name_of(step: &ChangeStep) -> &OsStr {
    step.path.file_name().unwrap_or_default()
}

pub(super) fn is_tree(step: &ChangeStep) -> bool {
    matches!(step.what, StepContent::Tree { .. })
}

/// Whether a step's things have traded places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TradeState {
    Waiting,
    Done,
    /// What is kept is neither.
    Lost,
}

impl TradeState {
    /// By what is aside, which nobody else changes.
    fn of(step: &ChangeStep, layers: &mut OpenLayers<'_>) -> io::Result<Self> {
        let (_, kept) = layers.parents(step)?;
        let found = tree::stat(kept, name_of(step))?;
        let found = found.filter(|found| !tree::is_whiteout(found));
        let found = found.map(|found| found.st_ino);
        let inode = |stamp: Option<&TreeStamp>| stamp.map(|stamp| stamp.inode);
        Ok(match (inode(step.here()), inode(step.aside())) {
            (None, None) => Self::Done,
            (_, aside) if found == aside => Self::Waiting,
            (here, _) if found == here => Self::Done,
            _ => Self::Lost,
        })
    }
}

/// Has a step say what is in place, and what is aside.
fn note_step(step: &mut ChangeStep, layers: &mut OpenLayers<'_>, way: TradeWay) -> io::Result<()> {
    let is_done = if is_tree(step) {
        TradeState::of(step, layers)? == TradeState::Done
    } else {
        way == TradeWay::Forwards
    };
    let expected = if is_done { step.aside() } else { step.here() };
    let mut now = expected.cloned();
    if let Some(expected) = expected {
        let (real, _) = layers.parents(step)?;
        let found = tree::stat(real, name_of(step))?;
        // A move is a change for the system. What is another by now stays unknown to the step, and
        // whoever looks later sees a conflict.
        if found.is_some_and(|found| expected.is(&found)) {
            now = tree::stamp(real, name_of(step))?;
        }
    }
    step.is_applied ^= is_done;
    step.is_contested &= !is_done;
    match &mut step.what {
        StepContent::Tree { here, aside } => {
            let former = std::mem::replace(here, now);
            if is_done {
                *aside = former;
            }
        }
        StepContent::Attributes { here, aside } if is_done => std::mem::swap(here, aside),
        StepContent::Attributes { .. } => {}
    }
    Ok(())
}

/// Has what is aside and what is in place trade places, unless they did.
fn trade_forwards(step: &ChangeStep, layers: &mut OpenLayers<'_>) -> io::Result<()> {
    let changed = || {
        let text = format!("somebody changed {} meanwhile", step.path.display());
        io::Error::new(io::ErrorKind::ResourceBusy, text)
    };
    match TradeState::of(step, layers)? {
        TradeState::Done => {}
        TradeState::Lost => return Err(changed()),
        TradeState::Waiting => {
            let (real, kept) = layers.parents(step)?;
            let name = name_of(step);
            let found = tree::stat(real, name)?;
            let is_it = match (step.here(), &found) {
                (None, None) => true,
                (Some(here), Some(found)) => here.is(found),
                _ => false,
            };
            if !is_it {
                return Err(changed());
            }
            if !step.is_applied {
                marks::unmark(kept, name)?;
            }
            trade((real, kept), name, (step.here(), step.aside()))?;
        }
    }
    let (real, kept) = layers.parents(step)?;
    set_closed(real, name_of(step), step.aside(), false)?;
    set_closed(kept, name_of(step), step.here(), false)
}

/// Has them trade back if they traded; `false` if what is in place is somebody else's by now.
fn trade_backwards(step: &ChangeStep, layers: &mut OpenLayers<'_>) -> io::Result<bool> {
    let name = name_of(step);
    match TradeState::of(step, layers)? {
        TradeState::Waiting => {}
        TradeState::Lost => return Ok(false),
        TradeState::Done => {
            let (real, kept) = layers.parents(step)?;
            let found = tree::stat(real, name)?;
            let is_it = match (step.aside(), &found) {
                (None, None) => true,
                (Some(aside), Some(found)) => aside.is(found),
                _ => false,
            };
            if !is_it {
                return Ok(false);
            }
            trade((real, kept), name, (step.aside(), step.here()))?;
        }
    }
    let (real, kept) = layers.parents(step)?;
    set_closed(real, name, step.here(), false)?;
    set_closed(kept, name, step.aside(), false)?;
    Ok(true)
}

/// One rename.
fn trade(
    (real, kept): (&OwnedFd, &OwnedFd),
    name: &OsStr,
    (here, aside): (Option<&TreeStamp>, Option<&TreeStamp>),
) -> io::Result<()> {
    set_closed(real, name, here, true)?;
    set_closed(kept, name, aside, true)?;
    let (from, to, flags) = match (here, aside) {
        (Some(_), Some(_)) => (real, kept, RenameFlags::EXCHANGE),
        (None, Some(_)) => (kept, real, RenameFlags::NOREPLACE),
        (Some(_), None) => (real, kept, RenameFlags::NOREPLACE),
        (None, None) => return Ok(()),
    };
    Ok(rustix::fs::renameat_with(from, name, to, name, flags)?)
}

/// A directory that its owner can't change can't be moved by it: it is opened for that.
fn set_closed(
    directory: &OwnedFd,
    name: &OsStr,
    stamp: Option<&TreeStamp>,
    is_open: bool,
) -> io::Result<()> {
    if let Some(stamp) = stamp.filter(|stamp| stamp.is_closed_directory()) {
        if tree::stat(directory, name)?.is_none_or(|found| found.st_ino != stamp.inode) {
            return Ok(());
        }
        let opened = if is_open { 0o700 } else { 0 };
        let mode = Mode::from_raw_mode(stamp.mode & 0o7777 | opened);
        rustix::fs::chmod(tree::at(directory, name), mode)?;
    }
    Ok(())
}

/// The directories of layers, and the parents of the last step: most steps are in the same.
pub(super) struct OpenLayers<'a> {
    layers: &'a [LayerRecord],
    open: Vec<Option<(OwnedFd, OwnedFd)>>,
    last: Option<(usize, PathBuf, (OwnedFd, OwnedFd))>,
}

impl<'a> OpenLayers<'a> {
    pub(super) fn new(layers: &'a [LayerRecord]) -> Self {
        Self {
            layers,
            open: layers.iter().map(|_| None).collect(),
            last: None,
        }
    }

    /// The real directory of a layer, and where the other things are.
    pub(super) fn open(&mut self, number: usize) -> io::Result<(&OwnedFd, &OwnedFd)> {
        let missing = || io::Error::from(Errno::NOENT);
        let layer = self.layers.get(number).ok_or_else(missing)?;
        let slot = self.open.get_mut(number).ok_or_else(missing)?;
        if slot.is_none() {
            let kept = open_kept(&tree::open(&layer.directory)?, Path::new("upper"))?;
            *slot = Some((layer.open_root()?, kept));
        }
        slot.as_ref()
            .map(|(real, kept)| (real, kept))
            .ok_or_else(missing)
    }

    /// The directories in which a step's thing is, and its counterpart.
    pub(super) fn parents(&mut self, step: &ChangeStep) -> io::Result<(&OwnedFd, &OwnedFd)> {
        let parent = step.path.parent().unwrap_or(Path::new(""));
        let is_last =
            |(layer, path, _): &(usize, PathBuf, _)| (*layer, &**path) == (step.layer, parent);
        if !self.last.as_ref().is_some_and(is_last) {
            let (real, kept) = self.open(step.layer)?;
            let opened = (tree::open_place(real, parent)?, open_kept(kept, parent)?);
            self.last = Some((step.layer, parent.to_owned(), opened));
        }
        let last = self.last.as_ref().map(|(_, _, (real, kept))| (real, kept));
        last.ok_or_else(|| Errno::NOENT.into())
    }
}

/// Opens a directory of a layer, which the command may have closed: nothing is in it but what
/// trades places.
fn open_kept(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let mut opened = root.try_clone()?;
    for name in path {
        let found = tree::stat(&opened, name)?.ok_or(Errno::NOENT)?;
        if found.st_mode & 0o700 != 0o700 {
            rustix::fs::chmod(tree::at(&opened, name), Mode::RWXU)?;
        }
        opened = tree::open_in(&opened, name)?;
    }
    Ok(opened)
}
