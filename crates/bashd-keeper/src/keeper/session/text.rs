//! The text of a call, as its shell reads it, and whether the shell has begun it.
//!
//! A shell may end, stop reading, or be unable to open what a call needs: `exit` in a trap, `set
//! -t`, a disabled builtin, a limit on descriptors or memory. What it then reports, or ends with,
//! does not answer the call. So the shell empties the text in the moment before it evaluates it,
//! and evaluates nothing if it can't: a text that is still there was never begun.

use crate::keeper::protocol;
use rustix::fs::{FallocateFlags, SealFlags};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Bytes of text for which memory is reserved.
const ROOM: u64 = 4096;

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
        Ok(Self { file })
    }

    /// A text that is there at once.
    pub(super) fn new(bytes: &[u8]) -> io::Result<Self> {
        let text = Self::empty()?;
        text.fill(bytes)?;
        Ok(text)
    }

    /// Puts the text there, once and for all: nobody can change it any more, only empty it.
    pub(super) fn fill(&self, bytes: &[u8]) -> io::Result<()> {
        let seals = SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
        protocol::fill_memory_file(&self.file, bytes, seals)
    }

    /// Whether the shell has begun to evaluate it; `true` also if the kernel does not say.
    pub(super) fn was_begun(&self) -> bool {
        rustix::fs::fstat(&self.file).map_or(true, |stat| stat.st_size == 0)
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
    fn a_text_can_be_emptied_and_not_changed() {
        let text = MemoryText::empty().unwrap();
        text.fill(b"true\0").unwrap();
        assert!(!text.was_begun());
        let path = format!("/proc/self/fd/{}", text.as_raw_fd());
        assert_eq!(std::fs::read(&path).unwrap(), b"true\0");
        let open = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        assert!(std::io::Write::write(&mut &open, b"x").is_err());
        assert!(!text.was_begun());
        drop(std::fs::File::create(&path).unwrap());
        assert!(text.was_begun());
        assert!(std::fs::write(&path, b"false\0").is_err());
    }
}
