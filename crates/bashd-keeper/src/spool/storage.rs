//! Files of a spool: anonymous if the file system supports it, otherwise named and locked.

use crate::file_lock::{LockKind, lock_within};
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Suffix of a spool file that has a name only because the file system has no anonymous files.
const NAMED_SUFFIX: &str = "spool";

/// How long a keeper waits for the lock of a file of its own, at which a sweep looks for a moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// Bytes of a file that is called small.
const MOST_OF_A_SMALL_FILE: u64 = 64 << 20;

/// For its owner only: output may contain anything.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Writes a small file for its owner only, whatever the umask.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    // A FIFO in the file's place must not hang anybody. It has no effect on files.
    let flags = flags | OFlags::NONBLOCK;
    let file = fs::File::from(rustix::fs::open(path, flags, MODE)?);
    (&file).write_all(bytes)
}

/// What a file is opened with in addition, so that a FIFO in its place hangs nobody. It has no
/// effect on files.
pub const NEVER_WAITS: i32 = OFlags::NONBLOCK.bits().cast_signed();

/// Opens a file to read it; a FIFO in its place hangs nobody, and has nothing to read.
pub fn open_to_read(path: &Path) -> io::Result<fs::File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Reads a small file whole, whatever is in its place: a FIFO hangs nobody, and what has no end is
/// refused.
pub fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = open_to_read(path)?.take(MOST_OF_A_SMALL_FILE + 1);
    file.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_OF_A_SMALL_FILE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// A file of a spool.
#[derive(Debug)]
pub(super) struct SpoolFile {
    fd: OwnedFd,
    /// Set if the file has a name that must disappear with its keeper.
    name: Option<PathBuf>,
}

/// Bytes that are copied at once.
const COPIED_AT_ONCE: usize = 256 << 10;

/// How many names to try for a file that needs one. A name may be taken by a file that a killed
/// keeper with the same pid left (in another container, or before a reboot) and nobody has swept
/// yet.
const NAMES_TRIED: usize = 100;

impl SpoolFile {
    /// Opens a new file in the runs directory, which is recreated if somebody removed it.
    pub(super) fn create(runs: &Path) -> io::Result<Self> {
        match Self::anonymous(runs) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                prepare_runs_directory(runs)?;
                Self::anonymous(runs)
            }
            result => result,
        }
    }

    fn anonymous(runs: &Path) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::open(runs, flags, MODE) {
            Ok(fd) => Ok(Self { fd, name: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR) => Self::named(runs),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a new file with a name, for file systems that have no anonymous ones.
    pub(super) fn named(runs: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let pid = rustix::process::getpid().as_raw_nonzero();
        let mut last = Errno::EXIST;
        for _ in 0..NAMES_TRIED {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = runs.join(format!("{pid}-{number}.{NAMED_SUFFIX}"));
            match create_locked(&path) {
                Ok(fd) => {
                    let name = Some(path);
                    return Ok(Self { fd, name });
                }
                // A sweep between the file's creation and its lock removes it.
                Err(error @ (Errno::EXIST | Errno::WOULDBLOCK)) => last = error,
                Err(error) => return Err(error.into()),
            }
        }
        Err(last.into())
    }

    /// A new file of this name, locked, with what another one has.
    pub(super) fn copied(from: &Self, to: &Path) -> io::Result<Self> {
        let fd = create_locked(to)?;
        let mut at = 0;
        let mut buffer = vec![0; COPIED_AT_ONCE];
        loop {
            let count = rustix::io::pread(&from.fd, &mut *buffer, at)?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
                return Ok(Self { fd, name: None });
            };
            fs::File::from(fd.try_clone()?).write_all_at(bytes, at)?;
            at += count as u64;
        }
    }

    /// Gives the file a permanent name, and locks it for as long as its keeper lives.
    pub(super) fn link(&mut self, to: &Path) -> io::Result<()> {
        // Nobody else can have it open yet, except a sweep that looks at a named one for a moment.
        lock_within(&self.fd, LockKind::Exclusive, LOCK_PATIENCE)?;
        if let Some(from) = &self.name {
            fs::rename(from, to)?;
            self.name = None;
            return Ok(());
        }
        link_descriptor(self.fd.as_fd(), to)
    }
}

/// Gives an open file a name, even an anonymous one.
pub fn link_descriptor(fd: BorrowedFd<'_>, to: &Path) -> io::Result<()> {
    let by_descriptor = rustix::fs::linkat(fd, "", CWD, to, AtFlags::EMPTY_PATH);
    if by_descriptor.is_ok() {
        return Ok(());
    }
    // Older kernels need this detour without CAP_DAC_READ_SEARCH.
    let detour = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(rustix::fs::linkat(
        CWD,
        detour,
        CWD,
        to,
        AtFlags::SYMLINK_FOLLOW,
    )?)
}

fn create_locked(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, MODE)?;
    rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)?;
    Ok(fd)
}

impl AsFd for SpoolFile {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::remove_file(name);
        }
    }
}

/// Creates the directory of all runs, for its owner only.
pub fn prepare_runs_directory(runs: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(runs)
}

/// Removes named spool files whose keeper is gone: nobody holds their lock any more.
pub(super) fn sweep_abandoned(runs: &Path) -> io::Result<()> {
    for entry in fs::read_dir(runs)?.flatten() {
        let path = entry.path();
        let is_spool = path
            .extension()
            .is_some_and(|extension| extension == NAMED_SUFFIX);
        if is_spool && !is_locked(&path) {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// Whether somebody writes to this file or reads it: its keeper or reader holds a lock on it.
pub(super) fn is_locked(path: &Path) -> bool {
    let Ok(file) = open_to_read(path) else {
        return false;
    };
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
}
