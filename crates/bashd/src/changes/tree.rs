//! Looking at trees of files by open directories: no link is followed, and no name needs to be
//! text.

use super::marks;
use bashd_keeper::mounted;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RawMode, ResolveFlags, Stat, StatxFlags, XattrFlags,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A moment as file systems tell it: seconds and nanoseconds.
pub(super) type FileTime = (i64, i64);

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Levels of directories that a change may have: as many as a path. Each is a level of the stack of
/// who walks over them, and a command makes as many as it likes.
const DEEPEST: usize = 2048;

thread_local! {
    static LEVELS: Cell<usize> = const { Cell::new(0) };
}

/// One level further down, for as long as this lives.
pub(super) struct DescentLevel;

impl DescentLevel {
    pub(super) fn down() -> io::Result<Self> {
        if LEVELS.get() == DEEPEST {
            let text = format!("directories are nested more than {DEEPEST} levels deep");
            return Err(io::Error::other(text));
        }
        LEVELS.set(LEVELS.get() + 1);
        Ok(Self)
    }
}

impl Drop for DescentLevel {
    fn drop(&mut self) {
        LEVELS.set(LEVELS.get() - 1);
    }
}

/// What is at a path, so that a later look tells whether it is still that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TreeStamp {
    pub(super) inode: u64,
    pub(super) mode: u32,
    pub(super) changed: FileTime,
    /// When a file was written last; nothing of a directory.
    pub(super) modified: FileTime,
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

    /// Whether this is what was found at a name, written by nobody since, though it may have been
    /// moved. Of a directory only that it is the same one.
    pub(super) fn is(&self, found: &Stat) -> bool {
        let is_written = || self.modified != modified(found) || self.size != found.st_size as u64;
        self.inode == found.st_ino && (self.below.is_some() || !is_written())
    }

    /// Whether it is a directory that its owner can't change.
    pub(super) fn is_closed_directory(&self) -> bool {
        kind_of(self.mode) == FileType::Directory && self.mode & 0o200 == 0
    }
}

/// Which directory something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DirectoryIdentity {
    inode: u64,
    /// When it was made, where the file system knows that.
    born: Option<FileTime>,
}

/// Who may do what with a directory, and what else is said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attributes {
    pub(super) mode: u32,
    pub(super) owner: u32,
    pub(super) group: u32,
    pub(super) extended: Vec<(serde_bytes::ByteBuf, serde_bytes::ByteBuf)>,
}

impl Attributes {
    /// These attributes of a copy, as far as they are others than those that the copy was made
    /// with; the rest is the original's.
    pub(super) fn changed_since(self, made: &Self, original: &Self) -> Self {
        fn newer<T: PartialEq + Clone>(now: T, made: &T, original: &T) -> T {
            if now == *made { original.clone() } else { now }
        }
        Self {
            mode: newer(self.mode, &made.mode, &original.mode),
            owner: newer(self.owner, &made.owner, &original.owner),
            group: newer(self.group, &made.group, &original.group),
            extended: newer(self.extended, &made.extended, &original.extended),
        }
    }
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

/// A directory that may be closed to everybody, even to its owner: it is open to that one while
/// somebody looks at it.
pub(super) struct OpenedDirectory {
    directory: OwnedFd,
    /// The mode that it has, and gets back.
    mode: u32,
    /// When it changed last, before that.
    changed: FileTime,
    is_closed: bool,
}

impl OpenedDirectory {
    /// When it changed last.
    pub(super) fn changed(&self) -> FileTime {
        self.changed
    }

    /// What is said of it.
    pub(super) fn attributes(&self) -> io::Result<Attributes> {
        Ok(Attributes {
            mode: self.mode,
            ..attributes(&self.directory)?
        })
    }

    /// Gives it these attributes.
    pub(super) fn set_attributes(mut self, wanted: &Attributes) -> io::Result<()> {
        set_attributes(&self.directory, wanted)?;
        self.is_closed = false;
        Ok(())
    }
}

impl Deref for OpenedDirectory {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        &self.directory
    }
}

impl Drop for OpenedDirectory {
    fn drop(&mut self) {
        if self.is_closed {
            let _ = rustix::fs::fchmod(&self.directory, Mode::from_raw_mode(self.mode));
        }
    }
}

/// Opens a directory in another, also one that is closed.
pub(super) fn open_closed(directory: impl AsFd, name: &OsStr) -> io::Result<OpenedDirectory> {
    let found = stat(&directory, name)?.ok_or(Errno::NOENT)?;
    let mode = found.st_mode & 0o7777;
    let is_own = found.st_uid == rustix::process::geteuid().as_raw();
    let is_closed = is_directory(&found) && mode & 0o700 != 0o700 && is_own;
    if is_closed {
        rustix::fs::chmod(at(&directory, name), Mode::from_raw_mode(mode | 0o700))?;
    }
    match open_in(&directory, name) {
        Ok(directory) => Ok(OpenedDirectory {
            directory,
            mode,
            changed: changed(&found),
            is_closed,
        }),
        Err(error) => {
            if is_closed {
                let _ = rustix::fs::chmod(at(&directory, name), Mode::from_raw_mode(mode));
            }
            Err(error)
        }
    }
}

/// Opens what is at a relative path in a directory, by no link, and in the same file system: only
/// as a place in which names are, so that it need not be readable.
pub(super) fn open_place(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    if path.as_os_str().is_empty() {
        return root.try_clone();
    }
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let flags = DIRECTORY | OFlags::PATH;
    Ok(rustix::fs::openat2(root, path, flags, Mode::empty(), how)?)
}

/// Likewise, with what is in it and said of it, also if it is closed.
pub(super) fn open_below(root: &OwnedFd, path: &Path) -> io::Result<OpenedDirectory> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => open_closed(open_place(root, parent)?, name),
        _ => open_closed(root, OsStr::new(".")),
    }
}

/// Which directory this is: a later one at the same path is another, even if the system gave it the
/// same number.
pub(super) fn identity(directory: impl AsFd) -> io::Result<DirectoryIdentity> {
    let flags = StatxFlags::INO | StatxFlags::BTIME;
    let found = rustix::fs::statx(directory, c"", AtFlags::EMPTY_PATH, flags)?;
    let is_known = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    let born = found.stx_btime;
    Ok(DirectoryIdentity {
        inode: found.stx_ino,
        born: is_known.then(|| (born.tv_sec, i64::from(born.tv_nsec))),
    })
}

/// The device that a directory is on. It may be another number after the next start of the system.
pub(super) fn device(directory: impl AsFd) -> io::Result<u64> {
    Ok(rustix::fs::fstat(directory)?.st_dev)
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

/// Whose directories are looked into: ours may be opened for that if they are closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TreeOwner {
    Ours,
    Users,
}

/// A directory that is looked into.
enum LookedAt {
    Ours(OpenedDirectory),
    Users(OwnedFd),
}

/// A path by which calls that take no directory reach what is open.
pub(super) fn itself(open: impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", open.as_fd().as_raw_fd()))
}

/// What is at a name of the user's, with everything below. Nothing is touched for that.
pub(super) fn stamp(directory: impl AsFd, name: &OsStr) -> io::Result<Option<TreeStamp>> {
    stamp_of(directory, name, TreeOwner::Users, &|_| false)
}

/// Likewise, but the newest time below is none of ours.
pub(super) fn stamp_without(
    directory: impl AsFd,
    name: &OsStr,
    is_ours: &dyn Fn(FileTime) -> bool,
) -> io::Result<Option<TreeStamp>> {
    stamp_of(directory, name, TreeOwner::Users, is_ours)
}

/// What is at a name of a layer, with everything below.
pub(super) fn stamp_ours(directory: impl AsFd, name: &OsStr) -> io::Result<Option<TreeStamp>> {
    stamp_of(directory, name, TreeOwner::Ours, &|_| false)
}

fn stamp_of(
    directory: impl AsFd,
    name: &OsStr,
    whose: TreeOwner,
    is_ours: &dyn Fn(FileTime) -> bool,
) -> io::Result<Option<TreeStamp>> {
    let Some(found) = stat(&directory, name)? else {
        return Ok(None);
    };
    let mut below = None;
    if is_directory(&found) {
        let mut content = TreeContent::default();
        count_in(&directory, name, (whose, is_ours), &mut content)?;
        below = Some(content);
    }
    let is_directory = below.is_some();
    Ok(Some(TreeStamp {
        inode: found.st_ino,
        mode: found.st_mode,
        changed: changed(&found),
        modified: if is_directory {
            (0, 0)
        } else {
            modified(&found)
        },
        size: if is_directory {
            0
        } else {
            found.st_size as u64
        },
        below,
    }))
}

/// Counts what is in a directory.
fn count_in(
    directory: impl AsFd,
    name: &OsStr,
    (whose, is_ours): (TreeOwner, &dyn Fn(FileTime) -> bool),
    content: &mut TreeContent,
) -> io::Result<()> {
    let _level = DescentLevel::down()?;
    let opened = match whose {
        TreeOwner::Ours => open_closed(directory, name).map(LookedAt::Ours),
        TreeOwner::Users => open_in(directory, name).map(LookedAt::Users),
    };
    let opened = match opened {
        // Nobody can add to what can't be read without changing the directory itself.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        opened => opened?,
    };
    let opened: &OwnedFd = match &opened {
        LookedAt::Ours(opened) => opened,
        LookedAt::Users(opened) => opened,
    };
    for name in names(opened)? {
        let Some(found) = stat(opened, &name)? else {
            continue;
        };
        if is_whiteout(&found) {
            continue;
        }
        if !is_ours(changed(&found)) {
            content.newest = content.newest.max(changed(&found));
        }
        content.count += 1;
        if is_directory(&found) {
            count_in(opened, &name, (whose, is_ours), content)?;
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

pub(super) fn names_of_extended(path: &Path) -> io::Result<Vec<Vec<u8>>> {
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

pub(super) fn value_of_extended(path: &Path, name: &[u8]) -> io::Result<Vec<u8>> {
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
        if is_users && !name.starts_with(marks::PREFIX) {
            let value = value_of_extended(path, &name)?;
            found.push((name.into(), value.into()));
        }
    }
    found.sort();
    Ok(found)
}

/// A file that is larger is not read to see whether it is as before: it counts as changed.
const MOST_COMPARED: u64 = 16 << 20;

/// Whether two files of this size have the same bytes. Nothing else than files is opened for long.
pub(super) fn has_same_bytes(
    (one, its_name): (impl AsFd, &OsStr),
    (other, other_name): (impl AsFd, &OsStr),
    size: u64,
) -> bool {
    fn open(directory: impl AsFd, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(directory, name, flags, Mode::empty())?.into())
    }
    if size > MOST_COMPARED {
        return false;
    }
    let (Ok(mut one), Ok(mut other)) = (open(one, its_name), open(other, other_name)) else {
        return false;
    };
    let (mut bytes, mut others) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let filled = (fill(&mut one, &mut bytes), fill(&mut other, &mut others));
        let (Ok(length), Ok(same)) = filled else {
            return false;
        };
        if bytes.get(..length) != others.get(..same) {
            return false;
        }
        if length < bytes.len() {
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
