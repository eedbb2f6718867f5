//! The runtime directory: names that live as long as a process of ours, and are worth nothing after
//! it.
//!
//! It is outside the state directory, in memory where there is a file system for that, and open to
//! its owner only. Each process that needs names makes an *own directory* in it and holds a lock on
//! that, so that whoever finds one without its lock may remove it.

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// How many names to try for an own directory.
const NAMES_TRIED: usize = 100;

/// For its owner only.
const DIRECTORY_MODE: u32 = 0o700;

/// Where a runtime directory may be, the best place first. The state directory is the last resort:
/// it may be on a slow or full disk.
fn places(state: &Path) -> [PathBuf; 4] {
    let uid = rustix::process::geteuid().as_raw();
    [
        PathBuf::from(format!("/dev/shm/bashd-{uid}")),
        PathBuf::from(format!("/run/user/{uid}/bashd")),
        state.join("runtime"),
        PathBuf::from(format!("/tmp/bashd-{uid}")),
    ]
}

/// The places that are there, and belong to this user alone.
pub fn existing(state: &Path) -> Vec<PathBuf> {
    places(state).into_iter().filter(|at| is_ours(at)).collect()
}

/// Whether this is a directory that nobody else can write to or look into.
fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        let is_private = found.mode() & 0o777 == DIRECTORY_MODE;
        found.is_dir() && is_private && found.uid() == rustix::process::geteuid().as_raw()
    })
}

fn make_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(DIRECTORY_MODE).create(path)
}

/// A directory of this process, which goes when this value goes.
#[derive(Debug)]
pub struct OwnDirectory {
    path: PathBuf,
    /// Locked while this process lives.
    _lock: OwnedFd,
}

impl OwnDirectory {
    /// Makes one in the first place that allows it; its name begins with `kind`.
    pub fn create(state: &Path, kind: &str) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for place in places(state) {
            if let Err(error) = make_private(&place)
                && error.kind() != io::ErrorKind::AlreadyExists
            {
                last = error;
                continue;
            }
            match Self::create_in(&place, kind) {
                Ok(own) => return Ok(own),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn create_in(place: &Path, kind: &str) -> io::Result<Self> {
        if !is_ours(place) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let pid = rustix::process::getpid().as_raw_nonzero();
        for number in 0..NAMES_TRIED {
            let path = place.join(format!("{kind}{pid}.{number}"));
            match make_private(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            // Whoever sweeps may see it before it is locked, and remove it.
            if let Ok(lock) = lock(&path)
                && path.exists()
            {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn lock(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
    Ok(directory)
}

/// Removes the own directories of processes that are gone.
pub fn sweep(state: &Path) {
    for place in existing(state) {
        let entries = fs::read_dir(&place).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if let Ok(_held) = lock(&path) {
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

/// Whether the process that made this directory is alive.
pub fn is_held(path: &Path) -> bool {
    matches!(lock(path), Err(Errno::WOULDBLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_directory_stays_while_it_is_held_and_is_swept_afterwards() {
        let state = tempfile::tempdir().unwrap();
        let own = OwnDirectory::create(state.path(), "test").unwrap();
        let path = own.path().to_owned();
        fs::write(path.join("x"), "").unwrap();
        sweep(state.path());
        assert!(is_held(&path) && path.join("x").exists());
        drop(own);
        assert!(!path.exists());
        // What a killed process leaves: the directory, without its lock.
        make_private(&path).unwrap();
        assert!(!is_held(&path));
        sweep(state.path());
        assert!(!path.exists());
    }

    #[test]
    fn a_place_that_others_can_reach_is_not_used() {
        let state = tempfile::tempdir().unwrap();
        let open = state.path().join("open");
        fs::DirBuilder::new().mode(0o755).create(&open).unwrap();
        assert!(!is_ours(&open));
        assert!(OwnDirectory::create_in(&open, "test").is_err());
        let link = state.path().join("link");
        std::os::unix::fs::symlink(state.path(), &link).unwrap();
        assert!(!is_ours(&link));
    }
}
