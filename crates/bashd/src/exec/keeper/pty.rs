//! A run's terminal: both ends of a pseudoterminal, its size, and what is typed.
//!
//! The keeper holds the command's end open as well, as long as something lives: a program that closes
//! its terminal and opens it again through `/dev/tty` must not find it gone, and our end must not tell
//! of an end that is none. When the shell exits, the kernel hangs the terminal up for everybody, as any
//! terminal does; what was written before is still read, because a read of our end waits for what is
//! under way between the two.

use super::protocol::{Frame, Resize, Typed};
use crate::screen::Size;
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes that may wait for a command that does not read.
const MOST_WAITING: usize = 1024 * 1024;

/// The terminal of a run.
pub(super) struct Terminal {
    ours: OwnedFd,
    /// The command's end.
    theirs: OwnedFd,
    waiting: VecDeque<u8>,
}

impl Terminal {
    /// Opens a terminal of this size.
    pub(super) fn open(size: Size) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = rustix::pty::openpt(flags)?;
        rustix::pty::grantpt(&ours)?;
        rustix::pty::unlockpt(&ours)?;
        let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags)?;
        // Only our end: the command's must block as any terminal does.
        rustix::io::ioctl_fionbio(&ours, true)?;
        let terminal = Self {
            ours,
            theirs,
            waiting: VecDeque::new(),
        };
        terminal.resize(size)?;
        Ok(terminal)
    }

    /// The command's end.
    pub(super) fn theirs(&self) -> BorrowedFd<'_> {
        self.theirs.as_fd()
    }

    /// Our end, to read from.
    pub(super) fn reader(&self) -> io::Result<OwnedFd> {
        self.ours.try_clone()
    }

    fn resize(&self, size: Size) -> io::Result<()> {
        let size = Winsize {
            ws_row: size.rows(),
            ws_col: size.columns(),
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(rustix::termios::tcsetwinsize(&self.ours, size)?)
    }

    /// Takes what is typed; a command that never reads gets no more than a bounded lot.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        let room = MOST_WAITING.saturating_sub(self.waiting.len());
        self.waiting.extend(bytes.iter().take(room));
        self.turn();
    }

    /// Writes what the terminal takes now.
    pub(super) fn turn(&mut self) {
        while !self.waiting.is_empty() {
            let (first, _) = self.waiting.as_slices();
            match rustix::io::write(&self.ours, first) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.waiting.clear(),
            }
        }
    }

    /// Our end, while something waits to be written.
    pub(super) fn wants_to_write(&self) -> Option<BorrowedFd<'_>> {
        (!self.waiting.is_empty()).then(|| self.ours.as_fd())
    }

    /// Obeys what is for the terminal; says whether it was.
    pub(super) fn obey(&mut self, frame: &Frame) -> bool {
        if frame.is::<Resize>() {
            if let Ok(Resize { size }) = frame.body() {
                let _ = self.resize(size);
            }
        } else if frame.is::<Typed>() {
            if let Ok(Typed { bytes }) = frame.body() {
                self.send(&bytes);
            }
        } else {
            return false;
        }
        true
    }
}
