//! From a layer to the steps of a change: what the command made, changed and removed.
//!
//! In a layer, a character device 0:0 says that something is gone, and an attribute of a directory
//! that it replaces what was there. Everything else is there in full. Files that were opened for
//! writing and are as before are no change.

use super::record::{ChangeStep, LayerRecord, StepContent};
use super::tree::{self, is_directory, is_whiteout, kind_of, modified};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// A file that is larger is not read to see whether it is as before: it counts as changed.
const MOST_COMPARED: u64 = 16 << 20;

/// What changed in one layer.
pub(super) fn scan(number: usize, layer: &LayerRecord) -> io::Result<Vec<ChangeStep>> {
    let (upper, real) = (tree::open(&layer.upper())?, tree::open(&layer.root)?);
    let mut scan = LayerScan {
        number,
        layer,
        steps: Vec::new(),
    };
    scan.attributes(Path::new(""), &upper, &real)?;
    scan.directory(Path::new(""), &upper, &real)?;
    Ok(scan.steps)
}

struct LayerScan<'a> {
    number: usize,
    layer: &'a LayerRecord,
    steps: Vec<ChangeStep>,
}

impl LayerScan<'_> {
    /// A directory that is in the layer and below it.
    fn directory(&mut self, path: &Path, upper: &OwnedFd, real: &OwnedFd) -> io::Result<()> {
        for name in tree::names(upper)? {
            let (Some(new), old) = (tree::stat(upper, &name)?, tree::stat(real, &name)?) else {
                continue;
            };
            let below = path.join(&name);
            if is_whiteout(&new) {
                if old.is_some() {
                    self.tree(below, (upper, real), &name)?;
                }
            } else if is_directory(&new) && old.as_ref().is_some_and(is_directory) {
                let opened = tree::open_ours(upper, &name)?;
                if tree::is_opaque(&opened) {
                    self.tree(below, (upper, real), &name)?;
                } else {
                    let real = tree::open_in(real, &name)?;
                    self.attributes(&below, &opened, &real)?;
                    self.directory(&below, &opened, &real)?;
                }
            } else if old.is_none_or(|old| !is_same((upper, &new), (real, &old), &name)) {
                self.tree(below, (upper, real), &name)?;
            }
        }
        Ok(())
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
            tree::stamp(upper, name)?
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

    fn attributes(&mut self, path: &Path, upper: &OwnedFd, real: &OwnedFd) -> io::Result<()> {
        let (aside, here) = (tree::attributes(upper)?, tree::attributes(real)?);
        if aside != here {
            self.steps.push(ChangeStep {
                layer: self.number,
                path: path.to_owned(),
                is_applied: false,
                is_contested: false,
                what: StepContent::Attributes { here, aside },
            });
        }
        Ok(())
    }
}

/// Whether a file in the layer is as the one below it.
fn is_same((upper, new): (&OwnedFd, &Stat), (real, old): (&OwnedFd, &Stat), name: &OsStr) -> bool {
    let facts = |stat: &Stat| {
        let (owner, group) = (stat.st_uid, stat.st_gid);
        (stat.st_mode, owner, group, stat.st_size, modified(stat))
    };
    if facts(new) != facts(old) {
        return false;
    }
    let extended = |directory: &OwnedFd| tree::extended(&tree::at(directory, name)).ok();
    let is_same_content = || match kind_of(new.st_mode) {
        FileType::RegularFile => {
            (new.st_size as u64) <= MOST_COMPARED && has_same_bytes(upper, real, name)
        }
        FileType::Symlink => {
            let target = |directory: &OwnedFd| rustix::fs::readlinkat(directory, name, Vec::new());
            target(upper).is_ok_and(|new| target(real) == Ok(new))
        }
        _ => false,
    };
    extended(upper).is_some_and(|new| extended(real) == Some(new)) && is_same_content()
}

fn has_same_bytes(upper: &OwnedFd, real: &OwnedFd, name: &OsStr) -> bool {
    let open = |directory: &OwnedFd| {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(directory, name, flags, Mode::empty()).map(File::from)
    };
    let (Ok(mut new), Ok(mut old)) = (open(upper), open(real)) else {
        return false;
    };
    let (mut one, mut other) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let (Ok(length), Ok(same)) = (fill(&mut new, &mut one), fill(&mut old, &mut other)) else {
            return false;
        };
        if one.get(..length) != other.get(..same) {
            return false;
        }
        if length < one.len() {
            return true;
        }
    }
}

fn fill(file: &mut File, room: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            more => filled += more,
        }
    }
    Ok(filled)
}
