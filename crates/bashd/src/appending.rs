//! Files of JSON lines to which any number of processes append, without a lock.
//!
//! A record is one `write` to a file opened with `O_APPEND`, so the kernel keeps records apart.

use rustix::fs::{FileType, Mode, OFlags};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Opens a file for appending, and creates it and its directory if they are missing.
pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    // NONBLOCK: a FIFO in the file's place must not hang a call. It has no effect on files.
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::CLOEXEC
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::open(path, flags, mode) {
        Err(rustix::io::Errno::NOENT) => {
            if let Some(directory) = path.parent() {
                make_directory(directory)?;
            }
            Ok(rustix::fs::open(path, flags, mode)?)
        }
        opened => Ok(opened?),
    }
}

/// Makes a directory for its owner only.
pub(crate) fn make_directory(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// Where a file is before something is appended to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileBefore {
    /// Its length.
    pub(crate) length: u64,
    /// Whether it still has a name.
    pub(crate) is_named: bool,
}

/// Refuses anything that is not an append to a file of ours.
///
/// A write beyond `RLIMIT_FSIZE` would kill the host by SIGXFSZ, so the limit is checked first: the
/// library must not touch signal handlers.
pub(crate) fn check(file: &OwnedFd, more: u64) -> io::Result<FileBefore> {
    let status = rustix::fs::fstat(file)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    let length = status.st_size as u64;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_some_and(|limit| length.saturating_add(more) > limit) {
        return Err(rustix::io::Errno::FBIG.into());
    }
    let is_named = status.st_nlink > 0;
    Ok(FileBefore { length, is_named })
}

/// Appends a line, whole or with an error.
pub(crate) fn write(file: &OwnedFd, line: &[u8]) -> io::Result<()> {
    let written = rustix::io::retry_on_intr(|| rustix::io::write(file, line))?;
    if written < line.len() {
        let message = format!("only {written} of {} bytes could be written", line.len());
        return Err(io::Error::new(io::ErrorKind::WriteZero, message));
    }
    Ok(())
}
