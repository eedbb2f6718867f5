//! The text of a call, as its shell reads it, and whether it did.
//!
//! A shell may end, or go deaf, between two calls in a way that shows only when the next line has come: `exit` in
//! a trap, `set -t`, a builtin of the driver's that was switched off. What it ends with is then no answer to the
//! call, of which it has read nothing. Reading a file sets its time of access, which tells the two apart.

use crate::keeper::protocol;
use rustix::fs::{FallocateFlags, Timespec, Timestamps, UTIME_OMIT};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Bytes of a text for which memory is set aside.
const ROOM: u64 = 4096;

/// A time of access that no reader leaves.
const NEVER: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// A call's text in memory.
pub(super) struct Text {
    file: OwnedFd,
}

impl Text {
    /// One that is to be filled later.
    pub(super) fn empty() -> io::Result<Self> {
        let file = protocol::empty_memory_file()?;
        // Its memory is there when the text comes, and it is as empty as before.
        let _ = rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, ROOM);
        let text = Self { file };
        text.forget_readers();
        Ok(text)
    }

    /// One that is there at once.
    pub(super) fn new(bytes: &[u8]) -> io::Result<Self> {
        let text = Self::empty()?;
        text.fill(bytes)?;
        Ok(text)
    }

    /// Puts the text there, once and for all.
    pub(super) fn fill(&self, bytes: &[u8]) -> io::Result<()> {
        protocol::fill_memory_file(&self.file, bytes)
    }

    /// Whether somebody has read of it; `true` also where the kernel does not tell.
    pub(super) fn was_read(&self) -> bool {
        if !self.is_untouched() {
            return true;
        }
        // Only where our own reading shows does it mean something that nobody else's did.
        let _ = rustix::io::pread(&self.file, &mut [0; 1], 0);
        let is_told_by_the_kernel = !self.is_untouched();
        self.forget_readers();
        !is_told_by_the_kernel
    }

    fn is_untouched(&self) -> bool {
        rustix::fs::fstat(&self.file)
            .is_ok_and(|stat| (stat.st_atime, stat.st_atime_nsec) == (0, 0))
    }

    /// Sets the time of access. Where that fails, the text counts as read.
    fn forget_readers(&self) {
        let times = Timestamps {
            last_access: NEVER,
            last_modification: Timespec {
                tv_sec: 0,
                tv_nsec: UTIME_OMIT,
            },
        };
        let _ = rustix::fs::futimens(&self.file, &times);
    }
}

impl AsRawFd for Text {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_knows_whether_it_was_read() {
        let text = Text::empty().unwrap();
        text.fill(b"true\0").unwrap();
        assert!(!text.was_read() && !text.was_read());
        let text = Text::new(b"true\0").unwrap();
        let path = format!("/proc/self/fd/{}", text.as_raw_fd());
        drop(std::fs::File::open(&path).unwrap());
        assert_eq!(std::fs::read(path).unwrap(), b"true\0");
        assert!(text.was_read());
    }
}
