//! Whether a path can be reached without waiting for anybody: every part of it is in the kernel's
//! cache, and what it leads to is on a file system of this machine.
//!
//! A FUSE that does not answer, a network share whose server is gone: whoever looks there waits,
//! maybe for ever. So nobody asks that file system here. The way is looked up in the cache alone
//! (`RESOLVE_CACHED`), what it leads to is known by its mount, and the mount's kind by the
//! kernel's list. Where any of that is not known, the answer is no, and an errand goes there.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// File systems that wait for nothing but this machine's own memory and disks.
const LOCAL: [&str; 20] = [
    "bcachefs", "bpf", "btrfs", "cgroup", "cgroup2", "devpts", "devtmpfs", "erofs", "ext2", "ext3",
    "ext4", "f2fs", "overlay", "proc", "ramfs", "squashfs", "sysfs", "tmpfs", "xfs", "zfs",
];

/// The kernel's list of mounts.
const LIST: &str = "/proc/self/mountinfo";

/// The mounts as they were read last.
static MOUNTS: Mutex<Option<MountList>> = Mutex::new(None);

struct MountList {
    /// Becomes ready when the list has changed.
    file: File,
    /// The ids of those that are local.
    local: HashSet<u64>,
}

/// Whether a path leads to something near.
pub(crate) fn is_near(path: &Path) -> bool {
    near(path).unwrap_or(false)
}

/// The same of a file that need not exist, nor what is above it, and of one to which we may not go:
/// who tries gets no further than a directory that is near.
pub(crate) fn is_near_or_missing(path: &Path) -> bool {
    let mut is_known = true;
    for above in path.ancestors() {
        match near(above) {
            Ok(is_near) => return is_near && (is_known || is_closed(above)),
            Err(Errno::NOENT) => {}
            // The cache does not tell, and neither does it where a directory is closed to us.
            Err(Errno::AGAIN) => is_known = false,
            Err(_) => return false,
        }
    }
    false
}

/// Whether we may not go on from this directory, which is near.
fn is_closed(directory: &Path) -> bool {
    let asked = rustix::fs::accessat(CWD, directory, Access::EXEC_OK, AtFlags::EACCESS);
    asked == Err(Errno::ACCESS)
}

fn near(path: &Path) -> rustix::io::Result<bool> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let there: OwnedFd =
        rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED)?;
    let unasked = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let facts = rustix::fs::statx(&there, c"", unasked, StatxFlags::MNT_ID)?;
    let is_told = facts.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    // Without the list nothing is known to be local.
    Ok(is_told && is_local(facts.stx_mnt_id).unwrap_or(false))
}

fn is_local(mount: u64) -> io::Result<bool> {
    let mut mounts = MOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let list = match &mut *mounts {
        Some(list) => list,
        none => none.insert(MountList::read()?),
    };
    if list.has_changed() {
        list.read_again()?;
    }
    Ok(list.local.contains(&mount))
}

impl MountList {
    fn read() -> io::Result<Self> {
        let mut list = Self {
            file: File::open(LIST)?,
            local: HashSet::new(),
        };
        list.read_again()?;
        Ok(list)
    }

    fn has_changed(&self) -> bool {
        let mut polled = [PollFd::new(&self.file, PollFlags::PRI)];
        let now = Timespec::default();
        let found = rustix::event::poll(&mut polled, Some(&now));
        // If that can't be told, the list is read each time.
        found.map_or(true, |count| count > 0)
    }

    fn read_again(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        let mut text = Vec::new();
        self.file.read_to_end(&mut text)?;
        self.local = lines(&text).filter_map(|line| local_id(&line)).collect();
        Ok(())
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = String> {
    text.split(|byte| *byte == b'\n')
        .map(|line| String::from_utf8_lossy(line).into_owned())
}

/// The id of a mount, if it is local.
fn local_id(line: &str) -> Option<u64> {
    let (mount, origin) = line.split_once(" - ")?;
    let kind = origin.split(' ').next()?;
    let id = mount.split(' ').next()?.parse().ok()?;
    LOCAL.contains(&kind).then_some(id)
}

/// Where the file system of a path is mounted, as far as the path's own words tell.
pub(crate) fn mount_of(path: &Path) -> PathBuf {
    let list = std::fs::read(LIST).unwrap_or_default();
    let points = lines(&list).filter_map(|line| line.split(' ').nth(4).map(unescaped));
    let above = points.filter(|point| path.starts_with(point));
    above
        .max_by_key(|point| point.as_os_str().len())
        .unwrap_or_else(|| "/".into())
}

/// A path as the list has it, where blanks are octal numbers.
fn unescaped(text: &str) -> PathBuf {
    let mut path = text.to_owned();
    for (written, meant) in [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ] {
        path = path.replace(written, meant);
    }
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_closed_to_us_keeps_nobody_waiting() {
        let home = tempfile::tempdir().unwrap();
        let missing = home.path().join("a/b");
        // The cache knows after the first look.
        assert!(!missing.exists() && is_near_or_missing(&missing));
        assert!(!is_near(&missing));
        let closed = home.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o000);
        std::fs::set_permissions(&closed, mode).unwrap();
        let below = closed.join("below");
        let is_refused = below
            .symlink_metadata()
            .is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        assert!(is_near_or_missing(&below) || !is_refused, "closed to us");
        assert_eq!(is_closed(&closed), is_refused);
    }

    #[test]
    fn what_is_local_is_known_by_its_kind() {
        for (line, id) in [
            (
                "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext4 /dev/root rw",
                Some(36),
            ),
            ("40 35 0:52 / /tmp rw - tmpfs tmpfs rw", Some(40)),
            ("41 35 0:53 / /m rw shared:1 - fuse.sshfs x:/ rw", None),
            ("42 35 0:53 / /m rw - nfs4 x:/ rw", None),
            ("43 35 8:1 / /m rw - fuseblk /dev/sda1 rw", None),
            ("", None),
            ("gibberish - ext4", None),
        ] {
            assert_eq!(local_id(line), id, "{line}");
        }
    }

    #[test]
    fn the_nearest_mount_above_is_a_paths_own() {
        assert_eq!(mount_of(Path::new("/proc/self")), Path::new("/proc"));
        assert_eq!(mount_of(Path::new("/no-such-place")), Path::new("/"));
        assert_eq!(unescaped("/a\\040b\\134c"), Path::new("/a b\\c"));
    }

    #[test]
    fn what_is_in_the_cache_is_near_and_what_is_not_there_is_not() {
        let place = tempfile::tempdir().unwrap();
        std::fs::metadata(place.path()).unwrap();
        assert!(is_near(place.path()));
        assert!(!is_near(&place.path().join("missing")));
    }
}
