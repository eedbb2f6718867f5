//! Where a session's shell finds what a call needs: named pipes and files in a directory of its
//! own.
//!
//! The shell opens them by name, once for each call. Nothing is inherited, so that no command can
//! close it; and nothing is reached through this process, so that it can keep its descriptors to
//! itself, and so that the shell may be in another view of the system, as long as this directory is
//! in that view too.

use crate::keeper::protocol;
use crate::quote::quote;
use crate::runtime::OwnDirectory;
use rustix::fs::{FallocateFlags, FileType, Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// For its owner only.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Bytes of text for which memory is reserved.
const ROOM: u64 = 4096;

/// What the name of an own directory of a session begins with.
const KIND: &str = "session-";

/// Whether this may be the name of a session's pipe, as `/proc` shows it.
pub(in crate::keeper) fn is_sessions_name(path: &Path) -> bool {
    let directory = path.parent().and_then(Path::file_name);
    directory.is_some_and(|name| name.as_bytes().starts_with(KIND.as_bytes()))
}

/// The directory of a session.
pub(super) struct Rendezvous {
    directory: Rc<OwnDirectory>,
    /// The directory as a shell reads it, with the slash behind it.
    prefix: Rc<str>,
    next_slot: u64,
}

impl Rendezvous {
    /// Makes one; the state directory is where it is if there is no better place.
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        let directory = OwnDirectory::create(state, KIND)?;
        let path = directory.path().as_os_str().as_bytes();
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._".contains(byte);
        let prefix = if path.iter().all(is_plain) {
            path.to_vec()
        } else {
            let mut quoted = Vec::new();
            quote(&mut quoted, path);
            quoted
        };
        let prefix = String::from_utf8(prefix).map_err(io::Error::other)?;
        Ok(Self {
            directory: Rc::new(directory),
            prefix: Rc::from(prefix + "/"),
            next_slot: 0,
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The directory as a shell reads it, with the slash behind it.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// New names for a call.
    pub(super) fn slot(&mut self) -> Slot {
        self.next_slot += 1;
        Slot {
            number: self.next_slot,
            directory: Rc::clone(&self.directory),
            prefix: Rc::clone(&self.prefix),
            made: Vec::new(),
        }
    }
}

/// What a name in a slot stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotItem {
    Text,
    Stdin,
    Out,
    Err,
    Report,
    /// What the shell does before its first call.
    Opening,
}

impl SlotItem {
    pub(super) const fn letter(self) -> char {
        match self {
            Self::Text => 't',
            Self::Stdin => 'i',
            Self::Out => 'o',
            Self::Err => 'e',
            Self::Report => 'r',
            Self::Opening => 's',
        }
    }
}

/// The names of one call. They go when this value goes; what was opened by them stays.
pub(super) struct Slot {
    number: u64,
    directory: Rc<OwnDirectory>,
    prefix: Rc<str>,
    made: Vec<PathBuf>,
}

impl Slot {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// How the shell names it.
    pub(super) fn name(&self, item: SlotItem) -> String {
        format!("{}{}{}", self.prefix, self.number, item.letter())
    }

    fn path(&self, item: SlotItem) -> PathBuf {
        let name = format!("{}{}", self.number, item.letter());
        self.directory.path().join(name)
    }

    fn make_pipe(&mut self, item: SlotItem) -> io::Result<PathBuf> {
        let path = self.path(item);
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, MODE, 0)?;
        self.made.push(path.clone());
        Ok(path)
    }

    /// A pipe for the shell's output: what is read here, and an end that keeps it open until the
    /// shell has it.
    pub(super) fn pipe(&mut self, item: SlotItem) -> io::Result<(OwnedFd, OwnedFd)> {
        let path = self.make_pipe(item)?;
        let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let read = rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK | flags, MODE)?;
        let write = rustix::fs::open(&path, OFlags::WRONLY | flags, MODE)?;
        Ok((read, write))
    }

    /// A pipe that is only read here, and does not end when its last writer goes.
    pub(super) fn report(&mut self) -> io::Result<OwnedFd> {
        let path = self.make_pipe(SlotItem::Report)?;
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(rustix::fs::open(&path, flags, MODE)?)
    }

    fn file(&mut self, item: SlotItem) -> io::Result<OwnedFd> {
        let path = self.path(item);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::open(&path, flags, MODE)?;
        self.made.push(path);
        Ok(file)
    }

    /// A file that holds these bytes.
    pub(super) fn filled(&mut self, item: SlotItem, bytes: &[u8]) -> io::Result<()> {
        let file = self.file(item)?;
        protocol::write_whole(&file, bytes)
    }

    /// A file with what this one in memory holds.
    pub(super) fn copied(&mut self, item: SlotItem, from: &OwnedFd) -> io::Result<()> {
        self.filled(item, &protocol::read_memory_file(from)?)
    }

    /// The text of the call, to be filled later.
    pub(super) fn text(&mut self) -> io::Result<SlotText> {
        let file = self.file(SlotItem::Text)?;
        // Its memory is there when the text comes, and it is empty again.
        let _ = rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, ROOM);
        Ok(SlotText { file: file.into() })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        for path in &self.made {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The text of a call, as its shell reads it, and whether the shell has begun it.
///
/// A shell may end, stop reading, or be unable to open what a call needs: `exit` in a trap, `set
/// -t`, a disabled builtin, a limit on descriptors or memory. What it then reports, or ends with,
/// is no answer to the call. So the shell empties the text in the moment before it evaluates it,
/// and evaluates nothing if it can't: a text that is still there was never begun.
pub(super) struct SlotText {
    file: File,
}

impl SlotText {
    /// Puts the text there.
    pub(super) fn fill(&self, bytes: &[u8]) -> io::Result<()> {
        protocol::write_whole(&self.file, bytes)
    }

    /// Whether the shell has begun to evaluate it; `true` also if the kernel does not say.
    pub(super) fn was_begun(&self) -> bool {
        rustix::fs::fstat(&self.file).map_or(true, |stat| stat.st_size == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_begun_when_it_was_emptied() {
        let state = tempfile::tempdir().unwrap();
        let mut slot = Rendezvous::open(state.path()).unwrap().slot();
        let text = slot.text().unwrap();
        text.fill(b"echo hi\0").unwrap();
        assert!(!text.was_begun());
        let path = slot.name(SlotItem::Text);
        assert_eq!(std::fs::read(&path).unwrap(), b"echo hi\0");
        File::create(&path).unwrap(); // what `>|` does
        assert!(text.was_begun());
    }

    #[test]
    fn names_go_with_their_call_and_the_directory_with_its_session() {
        let state = tempfile::tempdir().unwrap();
        let mut rendezvous = Rendezvous::open(state.path()).unwrap();
        let directory = rendezvous.directory.path().to_owned();
        let mut slot = rendezvous.slot();
        slot.pipe(SlotItem::Out).unwrap();
        slot.report().unwrap();
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 2);
        drop(slot);
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        drop(rendezvous);
        assert!(!directory.exists());
    }
}
