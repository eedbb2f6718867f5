//! The text of a call, as its shell reads it, and whether it did.
//!
//! A shell may end, or stop reading, between two calls in a way that shows only when the next line
//! comes: `exit` in a trap, `set -t`, a disabled builtin that the driver needs. The status it ends
//! with is then not an answer to the call, since it has read none of it. Reading a file sets its
//! access time, which tells the two cases apart.

use crate::keeper::protocol;
use rustix::fs::{FallocateFlags, Timespec, Timestamps, UTIME_OMIT};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Bytes of text for which memory is reserved.
const ROOM: u64 = 4096;

/// An access time that no reader leaves.
const NEVER: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// A call's text in memory.
pub(super) struct MemoryText {
    file: OwnedFd,
}

impl MemoryText {
    /// A text to be filled later.
    pub(super) fn empty() -> io::Result<Self> {
        let file = protocol::empty_memory_file()?;
        // Its memory is there when the text comes, and it is empty again.
        let _ = rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, ROOM);
        let text = Self { file };
        text.forget_readers();
        Ok(text)
    }

    /// A text that is there at once.
    pub(super) fn new(bytes: &[u8]) -> io::Result<Self> {
        let text = Self::empty()?;
        text.fill(bytes)?;
        Ok(text)
    }

    /// Puts the text there, once and for all.
    pub(super) fn fill(&self, bytes: &[u8]) -> io::Result<()> {
        protocol::fill_memory_file(&self.file, bytes)
    }

    /// Whether somebody has read it; `true` also if the kernel does not say.
    pub(super) fn was_read(&self) -> bool {
        if !self.is_untouched() {
            return true;
        }
        // That no reading shows means something only if our own reading would show.
        let _ = rustix::io::pread(&self.file, &mut [0; 1], 0);
        let is_told_by_the_kernel = !self.is_untouched();
        self.forget_readers();
        !is_told_by_the_kernel
    }

    fn is_untouched(&self) -> bool {
        rustix::fs::fstat(&self.file)
            .is_ok_and(|stat| (stat.st_atime, stat.st_atime_nsec) == (0, 0))
    }

    /// Sets the access time. If that fails, the text counts as read.
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

impl AsRawFd for MemoryText {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_knows_whether_it_was_read() {
        let text = MemoryText::empty().unwrap();
        text.fill(b"true\0").unwrap();
        assert!(!text.was_read() && !text.was_read());
        let text = MemoryText::new(b"true\0").unwrap();
        let path = format!("/proc/self/fd/{}", text.as_raw_fd());
        drop(std::fs::File::open(&path).unwrap());
        assert_eq!(std::fs::read(path).unwrap(), b"true\0");
        assert!(text.was_read());
    }
}
