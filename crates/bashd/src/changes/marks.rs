//! What the kernel notes in a layer: attributes of its own, and devices that say that something is
//! gone.

use super::tree::{
    at, is_whiteout, kind_of, names, names_of_extended, open_in, stat, value_of_extended,
};
use rustix::fs::{AtFlags, FileType, Mode, XattrFlags};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The prefix of its attributes.
pub(super) const PREFIX: &[u8] = b"user.overlay.";

/// Whether a directory of a layer replaces what is below it.
pub(super) fn is_opaque(directory: &OwnedFd) -> bool {
    let mut value = Vec::with_capacity(8);
    let spare = rustix::buffer::spare_capacity(&mut value);
    let found = rustix::fs::fgetxattr(directory, "user.overlay.opaque", spare);
    found.is_ok() && value == b"y"
}

/// Whether something in a layer began as a copy of what was below it.
pub(super) fn is_copy(directory: &OwnedFd, name: &OsStr) -> bool {
    let names = names_of_extended(&at(directory, name));
    let mark = [PREFIX, b"origin"].concat();
    names.is_ok_and(|names| names.contains(&mark))
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
    let _level = super::tree::DescentLevel::down()?;
    let opened = open_in(directory, name)?;
    for name in names(&opened)? {
        unmark(&opened, &name)?;
    }
    Ok(())
}

fn has_marks(path: &Path) -> io::Result<bool> {
    let names = names_of_extended(path)?;
    Ok(names.iter().any(|name| name.starts_with(PREFIX)))
}

fn take_marks(path: &Path) -> io::Result<()> {
    for name in names_of_extended(path)? {
        let Some(rest) = name.strip_prefix(PREFIX) else {
            continue;
        };
        // The kernel keeps what a command itself sets under such a name by a longer one.
        if let Some(own) = rest.strip_prefix(b"overlay.") {
            let value = value_of_extended(path, &name)?;
            let real = [PREFIX, own].concat();
            rustix::fs::lsetxattr(path, real.as_slice(), &value, XattrFlags::empty())?;
        }
        rustix::fs::lremovexattr(path, name.as_slice())?;
    }
    Ok(())
}
