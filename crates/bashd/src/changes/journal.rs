//! Applying and undoing: things trade places, each by one rename, and a journal is there before the
//! first of them.
//!
//! The journal has the whole change, with the inode of everything that moves. So whoever finds one
//! can tell which renames were done, and does the others: forwards, or backwards if `back` is
//! there, since a rename was refused. It is removed when the record says what is in place.

use super::record::{
    ChangeRecord, ChangeStep, Durability, LayerRecord, StepContent, decode, encode, write_file,
};
use super::tree::{self, TreeStamp, path_bytes};
use rustix::fs::{Mode, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
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
        let mut closed: Vec<ClosedDirectory> = Vec::new();
        let own = rustix::process::geteuid();
        let mut layers = OpenLayers::new(&record.layers);
        for step in chosen
            .iter()
            .filter_map(|step| record.steps.as_ref()?.get(*step))
        {
            let parent = step.path.parent().unwrap_or(Path::new(""));
            let is_known =
                |known: &ClosedDirectory| (known.layer, &*known.path) == (step.layer, parent);
            if matches!(step.what, StepContent::Attributes { .. }) || closed.iter().any(is_known) {
                continue;
            }
            let (real, _) = layers.parents(step)?;
            let found = rustix::fs::fstat(real)?;
            if found.st_mode & 0o300 != 0o300 && found.st_uid == own.as_raw() {
                closed.push(ClosedDirectory {
                    layer: step.layer,
                    path: parent.to_owned(),
                    mode: found.st_mode & 0o7777,
                });
            }
        }
        Ok(Self {
            record,
            chosen,
            closed,
        })
    }

    /// Reads a journal; `None` if it was not written to its end, so that nothing was done.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        Ok(decode(&fs::read(path)?).ok())
    }

    /// Writes it: from here on it will be done, or taken back.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        for layer in &self.record.layers {
            // What the command wrote must not be lost when its names are in the real tree.
            rustix::fs::syncfs(tree::open(&layer.root)?)?;
        }
        write_file(path, &encode(self)?, Durability::Synced)?;
        if let Some(directory) = path.parent() {
            rustix::fs::fsync(tree::open(directory)?)?;
        }
        Ok(())
    }

    /// Does what is not done yet. It may be called again after a death at any point.
    pub(super) fn perform(&self, way: TradeWay, passes: Passes<'_>) -> Result<(), Stop> {
        let mut layers = OpenLayers::new(&self.record.layers);
        self.open_closed(&mut layers, true)?;
        passes()?;
        let is_tree = |step: &&ChangeStep| matches!(step.what, StepContent::Tree { .. });
        let (mut trees, attributes): (Vec<_>, Vec<_>) = self.steps().partition(is_tree);
        if way == TradeWay::Backwards {
            trees.reverse();
        }
        let mut done = Ok(());
        for step in trees {
            done = perform_step(step, &mut layers, way);
            if done.is_err() {
                break;
            }
            passes()?;
        }
        self.open_closed(&mut layers, false)?;
        passes()?;
        // Last: a directory that was opened to its owner may be meant to have another mode now.
        for step in attributes.into_iter().filter(|_| done.is_ok()) {
            perform_step(step, &mut layers, way)?;
            passes()?;
        }
        Ok(done?)
    }

    fn steps(&self) -> impl Iterator<Item = &ChangeStep> {
        let steps = self.record.steps.as_deref().unwrap_or_default();
        self.chosen.iter().filter_map(|step| steps.get(*step))
    }

    /// The record after it was done.
    pub(super) fn outcome(mut self, now_ms: u64) -> io::Result<ChangeRecord> {
        self.record.moved_ms = Some(now_ms);
        let mut layers = OpenLayers::new(&self.record.layers);
        let mut steps = self.record.steps.take().unwrap_or_default();
        for number in &self.chosen {
            let Some(step) = steps.get_mut(*number) else {
                continue;
            };
            let real = match &step.what {
                StepContent::Tree { .. } => {
                    let (real, _) = layers.parents(step)?;
                    tree::stamp(real, name_of(step))?
                }
                StepContent::Attributes { .. } => None,
            };
            step.is_applied = !step.is_applied;
            step.is_contested = false;
            match &mut step.what {
                StepContent::Tree { here, aside } => {
                    *aside = here.take();
                    *here = real;
                }
                StepContent::Attributes { here, aside } => std::mem::swap(here, aside),
            }
        }
        drop(layers);
        self.record.steps = Some(steps);
        Ok(self.record)
    }

    /// Lets the owner change directories that are closed even to it, or closes them again.
    fn open_closed(&self, layers: &mut OpenLayers<'_>, is_open: bool) -> io::Result<()> {
        for closed in &self.closed {
            let opened = if is_open { 0o700 } else { 0 };
            let mode = Mode::from_raw_mode(closed.mode | opened);
            let (real, _) = layers.open(closed.layer)?;
            let path = tree::at(real, closed.path.as_os_str());
            rustix::fs::chmod(&path, mode)?;
        }
        Ok(())
    }
}

fn name_of(step: &ChangeStep) -> &OsStr {
    step.path.file_name().unwrap_or_default()
}

fn perform_step(step: &ChangeStep, layers: &mut OpenLayers<'_>, way: TradeWay) -> io::Result<()> {
    let (here, aside) = match &step.what {
        StepContent::Attributes { here, aside } => {
            let wanted = if way == TradeWay::Forwards {
                aside
            } else {
                here
            };
            let (real, _) = layers.open(step.layer)?;
            return tree::set_attributes(&tree::open_below(real, &step.path)?, wanted);
        }
        StepContent::Tree { here, aside } => (here.as_ref(), aside.as_ref()),
    };
    let (real, kept) = layers.parents(step)?;
    let name = name_of(step);
    if way == TradeWay::Forwards && !step.is_applied {
        tree::unmark(kept, name)?;
    }
    let (now, then) = match way {
        TradeWay::Forwards => ((here, aside), (aside, here)),
        TradeWay::Backwards => ((aside, here), (here, aside)),
    };
    let inode = |directory: &OwnedFd| -> io::Result<Option<u64>> {
        Ok(tree::stat(directory, name)?.map(|found| found.st_ino))
    };
    let found = (inode(real)?, inode(kept)?);
    let inodes = |(one, other): (Option<&TreeStamp>, Option<&TreeStamp>)| {
        (one.map(|stamp| stamp.inode), other.map(|stamp| stamp.inode))
    };
    if found == inodes(now) {
        set_closed(real, name, now.0, true)?;
        set_closed(kept, name, now.1, true)?;
        match found {
            (Some(_), Some(_)) => {
                rustix::fs::renameat_with(real, name, kept, name, RenameFlags::EXCHANGE)?;
            }
            (None, Some(_)) => {
                rustix::fs::renameat_with(kept, name, real, name, RenameFlags::NOREPLACE)?;
            }
            (Some(_), None) => {
                rustix::fs::renameat_with(real, name, kept, name, RenameFlags::NOREPLACE)?;
            }
            (None, None) => {}
        }
    } else if found != inodes(then) {
        let text = format!("somebody changed {} meanwhile", step.path.display());
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
    }
    set_closed(real, name, then.0, false)?;
    set_closed(kept, name, then.1, false)
}

/// A directory that its owner can't change can't be moved by it: it is opened for that.
fn set_closed(
    directory: &OwnedFd,
    name: &OsStr,
    stamp: Option<&TreeStamp>,
    is_open: bool,
) -> io::Result<()> {
    if let Some(stamp) = stamp.filter(|stamp| stamp.is_closed_directory()) {
        let opened = if is_open { 0o700 } else { 0 };
        let mode = Mode::from_raw_mode(stamp.mode & 0o7777 | opened);
        rustix::fs::chmod(tree::at(directory, name), mode)?;
    }
    Ok(())
}

/// The directories of layers, and the parents of the last step: most steps are in the same.
struct OpenLayers<'a> {
    layers: &'a [LayerRecord],
    open: Vec<Option<(OwnedFd, OwnedFd)>>,
    last: Option<(usize, PathBuf, (OwnedFd, OwnedFd))>,
}

impl<'a> OpenLayers<'a> {
    fn new(layers: &'a [LayerRecord]) -> Self {
        Self {
            layers,
            open: layers.iter().map(|_| None).collect(),
            last: None,
        }
    }

    /// The real directory of a layer, and where the other things are.
    fn open(&mut self, number: usize) -> io::Result<(&OwnedFd, &OwnedFd)> {
        let missing = || io::Error::from(Errno::NOENT);
        let layer = self.layers.get(number).ok_or_else(missing)?;
        let slot = self.open.get_mut(number).ok_or_else(missing)?;
        if slot.is_none() {
            *slot = Some((tree::open(&layer.root)?, tree::open(&layer.upper())?));
        }
        slot.as_ref()
            .map(|(real, kept)| (real, kept))
            .ok_or_else(missing)
    }

    /// The directories in which a step's thing is, and its counterpart.
    fn parents(&mut self, step: &ChangeStep) -> io::Result<(&OwnedFd, &OwnedFd)> {
        let parent = step.path.parent().unwrap_or(Path::new(""));
        let is_last =
            |(layer, path, _): &(usize, PathBuf, _)| (*layer, &**path) == (step.layer, parent);
        if !self.last.as_ref().is_some_and(is_last) {
            let (real, kept) = self.open(step.layer)?;
            let opened = (tree::open_below(real, parent)?, open_kept(kept, parent)?);
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
