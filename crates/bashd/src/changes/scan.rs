//! From a layer to the steps of a change: what the command made, changed and removed.
//!
//! In a layer, a character device 0:0 says that something is gone, and an attribute of a directory
//! that it replaces what was there. Everything else is there in full. Files that were opened for
//! writing and are as before are no change.

use super::marks;
use super::record::{ChangeStep, LayerRecord, StepContent};
use super::tree::{self, FileTime, OpenedDirectory, is_directory, is_whiteout, kind_of, modified};
use rustix::fs::{FileType, Stat};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What changed in one layer.
pub(super) fn scan(number: usize, layer: &LayerRecord) -> io::Result<Vec<ChangeStep>> {
    let (own, real) = (tree::open(&layer.directory)?, tree::open(&layer.root)?);
    let upper = tree::open_closed(&own, OsStr::new("upper"))?;
    let mut scan = LayerScan {
        number,
        layer,
        steps: Vec::new(),
        orphans: Vec::new(),
        gone: HashSet::new(),
    };
    scan.attributes(
        Path::new(""),
        &upper,
        &tree::open_below(&real, Path::new(""))?,
    )?;
    scan.directory(Path::new(""), &upper, &real)?;
    scan.contest_orphans();
    Ok(scan.steps)
}

/// What a rename leaves as it is: size and time of a file.
type RenamedAs = (i64, FileTime);

fn renamed_as(stat: &Stat) -> RenamedAs {
    (stat.st_size, modified(stat))
}

struct LayerScan<'a> {
    number: usize,
    layer: &'a LayerRecord,
    steps: Vec<ChangeStep>,
    /// Steps of copies whose original is not there: it was renamed by the command, or removed by
    /// somebody else.
    orphans: Vec<(usize, RenamedAs)>,
    /// Files of the real tree that the command removed or renamed.
    gone: HashSet<RenamedAs>,
}

impl LayerScan<'_> {
    /// A directory that is in the layer and below it.
    fn directory(&mut self, path: &Path, upper: &OwnedFd, real: &OwnedFd) -> io::Result<()> {
        let _level = tree::DescentLevel::down()?;
        for name in tree::names(upper)? {
            let (Some(new), old) = (tree::stat(upper, &name)?, tree::stat(real, &name)?) else {
                continue;
            };
            let below = path.join(&name);
            if is_whiteout(&new) {
                if let Some(old) = old {
                    self.gone.insert(renamed_as(&old));
                    self.tree(below, (upper, real), &name)?;
                }
            } else if is_directory(&new) && old.as_ref().is_some_and(is_directory) {
                let opened = tree::open_closed(upper, &name)?;
                if marks::is_opaque(&opened) {
                    drop(opened);
                    self.tree(below, (upper, real), &name)?;
                } else {
                    let real = tree::open_closed(real, &name)?;
                    self.attributes(&below, &opened, &real)?;
                    self.directory(&below, &opened, &real)?;
                }
            } else if let Some(old) = old {
                if !is_same((upper, &new), (real, &old), &name) {
                    self.tree(below, (upper, real), &name)?;
                }
            } else {
                self.tree(below, (upper, real), &name)?;
                self.note_orphan((upper, &new), real, &name)?;
            }
        }
        Ok(())
    }

    /// Notes a copy whose original is not there. A directory is never renamed in a layer, so it was
    /// removed; a file may have been where nobody else touched its directory.
    fn note_orphan(
        &mut self,
        (upper, new): (&OwnedFd, &Stat),
        real: &OwnedFd,
        name: &OsStr,
    ) -> io::Result<()> {
        if !marks::is_copy(upper, name) {
            return Ok(());
        }
        let step = self.steps.len() - 1;
        if is_directory(new) {
            self.contest(step);
        } else if modified(&rustix::fs::fstat(real)?) > self.layer.began {
            self.orphans.push((step, renamed_as(new)));
        }
        Ok(())
    }

    /// What is a copy of nothing that the command removed was removed by somebody else.
    fn contest_orphans(&mut self) {
        for (step, as_found) in std::mem::take(&mut self.orphans) {
            if !self.gone.contains(&as_found) {
                self.contest(step);
            }
        }
    }

    fn contest(&mut self, step: usize) {
        if let Some(step) = self.steps.get_mut(step) {
            step.is_contested = true;
        }
    }

    fn tree(
        &mut self,
        path: PathBuf,
        (upper, real): (&OwnedFd, &OwnedFd),
        name: &OsStr,
    ) -> io::Result<()> {
        let here = tree::stamp(real, name)?;
        let is_gone = tree::stat(upper, name)?.is_none_or(|found| is_whiteout(&found));
        let aside = if is_gone {
            None
        } else {
            tree::stamp_ours(upper, name)?
        };
        let began = self.layer.began;
        let is_contested = here.as_ref().is_some_and(|here| here.newest() > began);
        self.steps.push(ChangeStep {
            layer: self.number,
            path,
            is_applied: false,
            is_contested,
            what: StepContent::Tree { here, aside },
        });
        Ok(())
    }

    /// What the command made of the attributes of a directory that stays.
    fn attributes(
        &mut self,
        path: &Path,
        upper: &OpenedDirectory,
        real: &OpenedDirectory,
    ) -> io::Result<()> {
        let (mut aside, here) = (upper.attributes()?, real.attributes()?);
        if path.as_os_str().is_empty() {
            // It was made by us, and not in all as the directory itself.
            aside = aside.changed_since(&self.layer.made, &here);
        }
        if aside != here {
            let changed = real.changed();
            self.steps.push(ChangeStep {
                layer: self.number,
                path: path.to_owned(),
                is_applied: false,
                is_contested: changed > self.layer.began,
                what: StepContent::Attributes { here, aside },
            });
        }
        Ok(())
    }
}

/// Whether a file in the layer is as the one below it. One that has another name by now is not: the
/// command linked it.
fn is_same((upper, new): (&OwnedFd, &Stat), (real, old): (&OwnedFd, &Stat), name: &OsStr) -> bool {
    let facts = |stat: &Stat| {
        let (owner, group) = (stat.st_uid, stat.st_gid);
        (stat.st_mode, owner, group, stat.st_size, modified(stat))
    };
    if facts(new) != facts(old) || new.st_nlink > 1 {
        return false;
    }
    let extended = |directory: &OwnedFd| tree::extended(&tree::at(directory, name)).ok();
    let is_same_content = || match kind_of(new.st_mode) {
        FileType::RegularFile => {
            tree::has_same_bytes((upper, name), (real, name), new.st_size as u64)
        }
        FileType::Symlink => {
            let target = |directory: &OwnedFd| rustix::fs::readlinkat(directory, name, Vec::new());
            target(upper).is_ok_and(|new| target(real) == Ok(new))
        }
        _ => false,
    };
    extended(upper).is_some_and(|new| extended(real) == Some(new)) && is_same_content()
}
