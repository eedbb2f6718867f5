//! Looking at trees of files by open directories: no link is followed, and no name needs to be
//! text.

use bashd_keeper::mounted;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, ResolveFlags, Stat, XattrFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The prefix of what the kernel notes in a layer.
const MARKS: &[u8] = b"user.overlay.";

/// A moment as file systems tell it: seconds and nanoseconds.
pub(super) type FileTime = (i64, i64);

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// What is at a path, so that a later look tells whether it is still that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TreeStamp {
    pub(super) inode: u64,
    pub(super) mode: u32,
    pub(super) changed: FileTime,
    pub(super) size: u64,
    /// If it is a directory: everything in it.
    pub(super) below: Option<TreeContent>,
}

/// What there is below a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TreeContent {
    pub(super) newest: FileTime,
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl TreeStamp {
    /// When something of it changed last.
    pub(super) fn newest(&self) -> FileTime {
        let below = self.below.as_ref().map(|below| below.newest);
        below.map_or(self.changed, |below| below.max(self.changed))
    }

    /// Whether it is a directory that its owner can't change.
    pub(super) fn is_closed_directory(&self) -> bool {
        kind_of(self.mode) == FileType::Directory && self.mode & 0o200 == 0
    }
}

/// Who may do what with a directory, and what else is said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attributes {
    pub(super) mode: u32,
    pub(super) owner: u32,
    pub(super) group: u32,
    pub(super) extended: Vec<(serde_bytes::ByteBuf, serde_bytes::ByteBuf)>,
}

pub(super) fn kind_of(mode: u32) -> FileType {
    FileType::from_raw_mode(mode as RawMode)
}

pub(super) fn is_directory(stat: &Stat) -> bool {
    kind_of(stat.st_mode) == FileType::Directory
}

/// Whether this says that something below the layer is gone.
pub(super) fn is_whiteout(stat: &Stat) -> bool {
    kind_of(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

fn changed(stat: &Stat) -> FileTime {
    (stat.st_ctime, stat.st_ctime_nsec as i64)
}

pub(super) fn modified(stat: &Stat) -> FileTime {
    (stat.st_mtime, stat.st_mtime_nsec as i64)
}

/// Opens a directory by its path; the last part must not be a link.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, DIRECTORY, Mode::empty())?)
}

/// Opens a directory in another.
pub(super) fn open_in(directory: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(
        directory,
        name,
        DIRECTORY,
        Mode::empty(),
    )?)
}

/// Likewise, in a layer of ours: the command may have closed it, even to its owner.
pub(super) fn open_ours(directory: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    match open_in(&directory, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let found = stat(&directory, name)?.ok_or(Errno::NOENT)?;
            let mode = Mode::from_raw_mode(found.st_mode & 0o7777);
            let path = at(&directory, name);
            rustix::fs::chmod(&path, Mode::RWXU)?;
            let opened = open_in(&directory, name);
            rustix::fs::chmod(&path, mode)?;
            opened
        }
        opened => opened,
    }
}

/// Opens what is at a relative path in a directory, by no link, and in the same file system.
pub(super) fn open_below(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    if path.as_os_str().is_empty() {
        return root.try_clone();
    }
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    Ok(rustix::fs::openat2(
        root,
        path,
        DIRECTORY,
        Mode::empty(),
        how,
    )?)
}

/// What is at a name, if anything.
pub(super) fn stat(directory: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The names in a directory, sorted.
pub(super) fn names(directory: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name.to_vec()));
        }
    }
    names.sort();
    Ok(names)
}

/// A path by which calls that take no directory reach a name.
pub(super) fn at(directory: impl AsFd, name: &OsStr) -> PathBuf {
    let number = directory.as_fd().as_raw_fd();
    Path::new(&format!("/proc/self/fd/{number}")).join(name)
}

/// What is at a name, with everything below.
pub(super) fn stamp(directory: impl AsFd, name: &OsStr) -> io::Result<Option<TreeStamp>> {
    let Some(found) = stat(&directory, name)? else {
        return Ok(None);
    };
    let below = is_directory(&found).then(|| {
        let mut content = TreeContent::default();
        // What its owner can't read, nobody changed unnoticed: that changes the directory.
        if let Ok(opened) = open_ours(&directory, name) {
            let _ = count(&opened, &mut content);
        }
        content
    });
    Ok(Some(TreeStamp {
        inode: found.st_ino,
        mode: found.st_mode,
        changed: changed(&found),
        size: if below.is_some() {
            0
        } else {
            found.st_size as u64
        },
        below,
    }))
}

fn count(directory: &OwnedFd, content: &mut TreeContent) -> io::Result<()> {
    for name in names(directory)? {
        let Some(found) = stat(directory, &name)? else {
            continue;
        };
        if is_whiteout(&found) {
            continue;
        }
        content.newest = content.newest.max(changed(&found));
        content.count += 1;
        if is_directory(&found) {
            if let Ok(opened) = open_ours(directory, &name) {
                count(&opened, content)?;
            }
        } else {
            content.bytes += found.st_size as u64;
        }
    }
    Ok(())
}

/// What is said of an open directory, without what the kernel noted in a layer.
pub(super) fn attributes(directory: &OwnedFd) -> io::Result<Attributes> {
    let found = rustix::fs::fstat(directory)?;
    Ok(Attributes {
        mode: found.st_mode & 0o7777,
        owner: found.st_uid,
        group: found.st_gid,
        extended: extended(&at(directory, OsStr::new(".")))?,
    })
}

/// Gives an open directory these attributes.
pub(super) fn set_attributes(directory: &OwnedFd, wanted: &Attributes) -> io::Result<()> {
    let found = attributes(directory)?;
    if (found.owner, found.group) != (wanted.owner, wanted.group) {
        let owner = rustix::fs::Uid::from_raw(wanted.owner);
        let group = rustix::fs::Gid::from_raw(wanted.group);
        rustix::fs::fchown(directory, Some(owner), Some(group))?;
    }
    for (name, _) in &found.extended {
        if wanted.extended.iter().all(|(kept, _)| kept != name) {
            rustix::fs::fremovexattr(directory, name.as_slice())?;
        }
    }
    for (name, value) in &wanted.extended {
        if !found.extended.contains(&(name.clone(), value.clone())) {
            rustix::fs::fsetxattr(directory, name.as_slice(), value, XattrFlags::empty())?;
        }
    }
    // Last: an access list changes it as well.
    Ok(rustix::fs::fchmod(
        directory,
        Mode::from_raw_mode(wanted.mode),
    )?)
}

fn names_of_extended(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut room = Vec::with_capacity(4096);
    loop {
        let spare = rustix::buffer::spare_capacity(&mut room);
        match rustix::fs::llistxattr(path, spare) {
            Ok(_) | Err(Errno::NOTSUP) => break,
            Err(Errno::RANGE) => {
                let larger = room.capacity() * 4;
                room.clear();
                room.reserve(larger);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let names = room
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    Ok(names.map(<[u8]>::to_vec).collect())
}

fn value_of_extended(path: &Path, name: &[u8]) -> io::Result<Vec<u8>> {
    let length = rustix::fs::lgetxattr_query(path, name)?;
    let mut value = Vec::with_capacity(length + 1);
    rustix::fs::lgetxattr(path, name, rustix::buffer::spare_capacity(&mut value))?;
    Ok(value)
}

/// The extended attributes that are the user's, sorted.
pub(super) fn extended(
    path: &Path,
) -> io::Result<Vec<(serde_bytes::ByteBuf, serde_bytes::ByteBuf)>> {
    let mut found = Vec::new();
    for name in names_of_extended(path)? {
        let is_users = name.starts_with(b"user.") || name.starts_with(b"system.posix_acl");
        if is_users && !name.starts_with(MARKS) {
            let value = value_of_extended(path, &name)?;
            found.push((name.into(), value.into()));
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a directory of a layer replaces what is below it.
pub(super) fn is_opaque(directory: &OwnedFd) -> bool {
    let mut value = Vec::with_capacity(8);
    let spare = rustix::buffer::spare_capacity(&mut value);
    let found = rustix::fs::fgetxattr(directory, "user.overlay.opaque", spare);
    found.is_ok() && value == b"y"
}

/// Takes away what the kernel noted in a layer, in something that will be a part of the real tree:
/// its marks, and what says that something below is gone.
pub(super) fn unmark(directory: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let Some(found) = stat(directory, name)? else {
        return Ok(());
    };
    if is_whiteout(&found) {
        return Ok(rustix::fs::unlinkat(directory, name, AtFlags::empty())?);
    }
    let (path, kind) = (at(directory, name), kind_of(found.st_mode));
    let needed = match kind {
        FileType::Directory => 0o700,
        FileType::RegularFile if has_marks(&path)? => 0o600,
        // Nothing else can have marks.
        _ => return Ok(()),
    };
    let mode = found.st_mode & 0o7777;
    // An owner that may not write it may not take marks away either.
    let is_closed = mode & needed != needed;
    if is_closed {
        rustix::fs::chmod(&path, Mode::from_raw_mode(mode | needed))?;
    }
    let mut done = take_marks(&path);
    if kind == FileType::Directory && done.is_ok() {
        done = unmark_below(directory, name);
    }
    if is_closed {
        rustix::fs::chmod(&path, Mode::from_raw_mode(mode))?;
    }
    done
}

fn unmark_below(directory: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let opened = open_in(directory, name)?;
    for name in names(&opened)? {
        unmark(&opened, &name)?;
    }
    Ok(())
}

fn has_marks(path: &Path) -> io::Result<bool> {
    let names = names_of_extended(path)?;
    Ok(names.iter().any(|name| name.starts_with(MARKS)))
}

fn take_marks(path: &Path) -> io::Result<()> {
    for name in names_of_extended(path)? {
        let Some(rest) = name.strip_prefix(MARKS) else {
            continue;
        };
        // The kernel keeps what a command itself sets under such a name by a longer one.
        if let Some(own) = rest.strip_prefix(b"overlay.") {
            let value = value_of_extended(path, &name)?;
            let real = [MARKS, own].concat();
            rustix::fs::lsetxattr(path, real.as_slice(), &value, XattrFlags::empty())?;
        }
        rustix::fs::lremovexattr(path, name.as_slice())?;
    }
    Ok(())
}

/// Removes what is at a name, with everything below.
pub(super) fn remove(directory: impl AsFd, name: &OsStr) -> io::Result<()> {
    let Some(found) = stat(&directory, name)? else {
        return Ok(());
    };
    if !is_directory(&found) {
        return Ok(rustix::fs::unlinkat(directory, name, AtFlags::empty())?);
    }
    if found.st_mode & 0o700 != 0o700 {
        rustix::fs::chmod(at(&directory, name), Mode::RWXU)?;
    }
    let opened = open_in(&directory, name)?;
    for name in names(&opened)? {
        remove(&opened, &name)?;
    }
    Ok(rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)?)
}

/// Whether a rename between these two directories can work: they are seen through the same mount.
pub(super) fn is_same_mount(one: &Path, other: &Path) -> bool {
    let points: Vec<PathBuf> = mounted::points()
        .into_iter()
        .map(|point| point.path)
        .collect();
    let mount = |path: &Path| {
        let mut around = path.ancestors();
        let found = around.find(|place| points.iter().any(|point| point == place));
        found.map(Path::to_owned)
    };
    mount(one).is_some_and(|found| mount(other) == Some(found))
}

/// A path as bytes, for records.
pub(super) mod path_bytes {
    use super::{OsStrExt, OsString, OsStringExt, Path, PathBuf};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::changes) fn serialize<S: Serializer>(
        path: &Path,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(path.as_os_str().as_bytes())
    }

    pub(in crate::changes) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathBuf, D::Error> {
        let bytes = serde_bytes::ByteBuf::deserialize(deserializer)?;
        Ok(OsString::from_vec(bytes.into_vec()).into())
    }
}
