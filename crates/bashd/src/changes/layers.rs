//! Where the layers of a command are: on the file system of what they cover, so that a rename is
//! all it takes to apply them.

use super::record::{ChangeRecord, LayerRecord};
use super::{removal, tree};
use crate::error::{Error, ErrorKind, Result};
use bashd_keeper::confinement::{Confinement, HeldLayer};
use bashd_keeper::file_lock::{LockKind, lock_within};
use bashd_keeper::mounted;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory for layers in a directory that is on another file system than our state.
pub(crate) const NEAR: &str = ".bashd-changes";

/// Others lock a layer only for a moment, to see whether it is in use.
const LAYER_PATIENCE: Duration = Duration::from_secs(1);

/// Gives a confinement layers over everything that it may write. `changes` is where changes are,
/// and `id` the name of this one.
pub(crate) fn layers_for(confinement: &mut Confinement, changes: &Path, id: &str) -> Result<()> {
    let refused = |text: String| Error::new(ErrorKind::Confinement, text);
    let mut roots = Vec::new();
    for path in &confinement.write {
        let Ok(real) = fs::canonicalize(path) else {
            continue; // nothing is there that could be written
        };
        if !real.is_dir() {
            let shown = real.display();
            return Err(refused(format!(
                "the changes of {shown} can't be held: it may be written (`confinement.write`), and \
                 only directories can have a layer"
            )));
        }
        roots.push(real);
    }
    roots.sort();
    roots.dedup();
    // What is in another root has its layer.
    let outer = roots.clone();
    let is_within = |root: &PathBuf| {
        let mut others = outer.iter().filter(|other| *other != root);
        others.any(|other| root.starts_with(other))
    };
    roots.retain(|root| !is_within(root));
    // The kernel gives no layer to a directory in whose middle something else is mounted: whoever
    // has the layer would see what the mount covers.
    let is_below = |point: &Path| {
        let mut around = roots.iter().filter(|root| point != **root);
        around.any(|root| point.starts_with(root))
    };
    if let Some(point) = mounted::points().iter().find(|point| is_below(&point.path)) {
        return Err(refused(format!(
            "effects can't be held: {} is mounted within what may be written",
            point.path.display()
        )));
    }
    let state = fs::canonicalize(changes.parent().unwrap_or(changes));
    for (number, root) in roots.into_iter().enumerate() {
        let is_near = state
            .as_ref()
            .is_ok_and(|state| tree::is_same_mount(state, &root));
        // A part of a file system that counts as another one can't trade names with the rest.
        let is_near = is_near && is_same_device(changes, &root);
        let directory = if is_near {
            changes.join(id).join(number.to_string())
        } else {
            let near = root.join(NEAR);
            if !confinement.hide.contains(&near) {
                confinement.hide.push(near);
            }
            root.join(NEAR).join(format!("{id}-{number}"))
        };
        confinement.layers.push(HeldLayer { root, directory });
    }
    // A layer is a part of the view, which only namespaces can give.
    confinement.require = confinement.most;
    if confinement.most != bashd_keeper::confinement::Level::Full {
        return Err(refused(format!(
            "effects can't be held at level `{}` (`confinement.most`): that takes `full`",
            confinement.most
        )));
    }
    Ok(())
}

/// Whether what is made at a path will be on the device of a directory.
fn is_same_device(path: &Path, directory: &Path) -> bool {
    let mut there = path.ancestors().filter_map(|place| place.metadata().ok());
    let there = there.next().map(|found| found.dev());
    there.is_some() && there == directory.metadata().ok().map(|found| found.dev())
}

/// Makes the directories of layers, and says so in a record.
pub(super) fn make(record: &mut ChangeRecord, layers: &[HeldLayer]) -> Result<()> {
    for layer in layers {
        let made = make_one(layer).map_err(|error| {
            let doing = format!("make a layer for the changes of {}", layer.root.display());
            Error::io(ErrorKind::Confinement, doing, error)
        })?;
        record.layers.push(made);
    }
    Ok(())
}

/// Makes the directory for layers in a directory. What is there under its name may be anybody's: a
/// link is not followed, and a file is not written over.
fn make_near(root: &Path) -> io::Result<()> {
    let root = tree::open(root)?;
    match rustix::fs::mkdirat(&root, NEAR, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let near = tree::open_in(&root, OsStr::new(NEAR))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Nobody who looks after the directory should take it for theirs.
    match rustix::fs::openat(&near, ".gitignore", flags, Mode::from_raw_mode(0o600)) {
        Ok(file) => fs::File::from(file).write_all(b"*\n"),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn make_one(layer: &HeldLayer) -> io::Result<LayerRecord> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700).recursive(true);
    if layer
        .directory
        .parent()
        .is_some_and(|near| near.ends_with(NEAR))
    {
        make_near(&layer.root)?;
    }
    builder.create(&layer.directory)?;
    builder.create(layer.upper())?;
    let (root, upper) = (tree::open(&layer.root)?, tree::open(&layer.upper())?);
    // What the command sees of the directory itself is the layer's.
    let mut attributes = tree::attributes(&root)?;
    let own = tree::attributes(&upper)?;
    if !rustix::process::geteuid().is_root() {
        (attributes.owner, attributes.group) = (own.owner, own.group);
    }
    tree::set_attributes(&upper, &attributes)?;
    builder.create(layer.work())?;
    let work = fs::metadata(layer.work())?;
    Ok(LayerRecord {
        root: layer.root.clone(),
        identity: tree::identity(&root)?,
        directory: layer.directory.clone(),
        began: (work.ctime(), work.ctime_nsec()),
        made: tree::attributes(&upper)?,
    })
}

/// Layers that nobody may apply or remove, until this is dropped.
#[derive(Debug)]
pub(crate) struct LayersInUse {
    _locked: Vec<OwnedFd>,
}

/// Locks layers for somebody who uses them, beside others who do.
pub(super) fn lock(record: &ChangeRecord) -> io::Result<LayersInUse> {
    let locked = record.layers.iter().map(|layer| {
        let directory = tree::open(&layer.directory)?;
        lock_within(&directory, LockKind::Shared, LAYER_PATIENCE)?;
        Ok(directory)
    });
    let locked: io::Result<_> = locked.collect();
    Ok(LayersInUse { _locked: locked? })
}

/// Removes the directories of layers.
pub(super) fn remove(record: &ChangeRecord) -> io::Result<()> {
    for layer in &record.layers {
        remove_one(&layer.directory)?;
    }
    Ok(())
}

fn remove_one(directory: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else {
        return Ok(());
    };
    let opened = match tree::open(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    removal::remove(&opened, name)?;
    if parent.ends_with(NEAR) && tree::names(&opened)? == [".gitignore"] {
        fs::remove_file(parent.join(".gitignore"))?;
        fs::remove_dir(parent)?;
    }
    Ok(())
}

/// Has layers that were meant for one change be those of another.
pub(crate) fn name_after(layers: &mut [HeldLayer], changes: &Path, id: &str) {
    for (number, layer) in layers.iter_mut().enumerate() {
        let is_near = layer.directory.parent().filter(|near| near.ends_with(NEAR));
        layer.directory = match is_near {
            Some(near) => near.join(format!("{id}-{number}")),
            None => changes.join(id).join(number.to_string()),
        };
    }
}

/// Whether a confinement has layers of a change.
pub(crate) fn made_for(confinement: Option<&Confinement>) -> Option<&[HeldLayer]> {
    let layers = confinement.map(|confinement| &*confinement.layers);
    layers.filter(|layers| !layers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A repository may have anything under this name.
    #[test]
    fn no_link_is_followed_and_no_file_written_over() {
        let root = tempfile::tempdir().unwrap();
        let victim = root.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let near = root.path().join(NEAR);
        fs::create_dir(&near).unwrap();
        symlink(&victim, near.join(".gitignore")).unwrap();
        make_near(root.path()).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        fs::remove_dir_all(&near).unwrap();
        let elsewhere = root.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, &near).unwrap();
        assert!(make_near(root.path()).is_err());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        fs::remove_file(&near).unwrap();
        make_near(root.path()).unwrap();
        assert_eq!(fs::read_to_string(near.join(".gitignore")).unwrap(), "*\n");
    }
}
