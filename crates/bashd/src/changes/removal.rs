//! Removing trees, however deep they are and whatever modes they have: no link is followed.

use super::tree::{at, is_directory, names, open_in, stat};
use rustix::fs::{AtFlags, Mode, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Levels that are removed in one descent. Each has an open directory.
const DESCENT: usize = 64;

/// Removes what is at a name, with everything below, however deep that is.
pub(super) fn remove(directory: impl AsFd, name: &OsStr) -> io::Result<()> {
    let Some(top) = open_to_remove(&directory, name)? else {
        return Ok(());
    };
    // What is too deep for one descent is put into the top, and is there in the next round.
    let (mut rounds, mut put) = (names(&top)?, 0);
    while !rounds.is_empty() {
        for name in &rounds {
            remove_levels((&top, &mut put), &top, name, DESCENT)?;
        }
        rounds = names(&top)?;
    }
    drop(top);
    Ok(rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)?)
}

fn remove_levels(
    (top, put): (&OwnedFd, &mut u64),
    directory: &OwnedFd,
    name: &OsStr,
    left: usize,
) -> io::Result<()> {
    let Some(opened) = open_to_remove(directory, name)? else {
        return Ok(());
    };
    if left == 0 {
        loop {
            *put += 1;
            let (other, flags) = (format!(".deep-{put}"), RenameFlags::NOREPLACE);
            match rustix::fs::renameat_with(directory, name, top, other, flags) {
                Err(Errno::EXIST) => {}
                renamed => return Ok(renamed?),
            }
        }
    }
    for name in names(&opened)? {
        remove_levels((top, put), &opened, &name, left - 1)?;
    }
    Ok(rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)?)
}

/// Opens a directory that will be removed; whatever else is there is gone after this.
fn open_to_remove(directory: impl AsFd, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    let Some(found) = stat(&directory, name)? else {
        return Ok(None);
    };
    if !is_directory(&found) {
        rustix::fs::unlinkat(directory, name, AtFlags::empty())?;
        return Ok(None);
    }
    if found.st_mode & 0o700 != 0o700 {
        rustix::fs::chmod(at(&directory, name), Mode::RWXU)?;
    }
    Ok(Some(open_in(&directory, name)?))
}
