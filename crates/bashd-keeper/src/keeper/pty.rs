//! A run's terminal: both ends of a pseudoterminal, its size, and who types at it. `input` holds
//! what waits to be read.
//!
//! The keeper holds the command's end open as well, as long as something lives: a program that
//! closes its terminal and opens it again through `/dev/tty` must not find it gone, and our end
//! must not report a false end. When the shell exits, the kernel hangs the terminal up
//! for everybody, as any terminal does; what was written before is still read, because a read of
//! our end waits for what is under way between the two.

use super::life::KeeperRun;
use super::prompt::EmptyStdin;
use super::protocol::{MessageFrame, ResizeMessage, TypedMessage};
use crate::job::directory::Asks;
use crate::os::confine::PreparedView;
use crate::size::Size;
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The terminal of a run.
pub(super) struct RunTerminal {
    ours: OwnedFd,
    /// The command's end.
    theirs: OwnedFd,
    size: Size,
}

impl RunTerminal {
    /// Opens a terminal of this size; in the view of the command, if it has one of its own, so that
    /// its name there is its name.
    pub(super) fn open(size: Size, view: Option<&PreparedView>) -> io::Result<Self> {
        let (ours, theirs) = view.map_or_else(open_pair, PreparedView::open_terminal)?;
        // Only our end: the command's must block as any terminal does.
        rustix::io::ioctl_fionbio(&ours, true)?;
        let mut terminal = Self { ours, theirs, size };
        terminal.resize(size)?;
        Ok(terminal)
    }

    /// The command's end.
    pub(super) fn theirs(&self) -> BorrowedFd<'_> {
        self.theirs.as_fd()
    }

    /// Our end, to read from and to type at.
    pub(super) fn ours(&self) -> io::Result<OwnedFd> {
        self.ours.try_clone()
    }

    /// The command's end, if everything that was typed has been read.
    pub(super) fn if_read(&self) -> Option<EmptyStdin> {
        if rustix::io::ioctl_fionread(&self.theirs).ok()? > 0 {
            return None;
        }
        let is_hidden = self.hides_typing();
        let link = std::fs::read_link(format!("/proc/self/fd/{}", self.theirs.as_raw_fd())).ok()?;
        Some(EmptyStdin {
            links: vec![
                link.into_os_string().into_string().ok()?,
                "/dev/tty".to_owned(),
            ],
            asks: if is_hidden {
                Asks::Password
            } else {
                Asks::Input
            },
            foreground: rustix::termios::tcgetpgrp(&self.ours).ok(),
        })
    }

    /// Whether it reads lines without showing them, as for a password; so too if nobody knows.
    fn hides_typing(&self) -> bool {
        rustix::termios::tcgetattr(&self.theirs).map_or(true, |modes| {
            let modes = modes.local_modes;
            modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO)
        })
    }

    /// Its size.
    fn size(&self) -> Size {
        self.size
    }

    fn resize(&mut self, size: Size) -> io::Result<()> {
        self.size = size;
        let size = Winsize {
            ws_row: size.rows(),
            ws_col: size.columns(),
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(rustix::termios::tcsetwinsize(&self.ours, size)?)
    }

    /// Handles messages for the terminal; returns whether it was one.
    fn obey(&mut self, frame: &MessageFrame) -> bool {
        if frame.is::<ResizeMessage>() {
            if let Ok(ResizeMessage { size }) = frame.body() {
                let _ = self.resize(size);
            }
            return true;
        }
        false
    }
}

/// Both ends of a new terminal of the machine.
fn open_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = rustix::pty::openpt(flags)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags)?;
    Ok((ours, theirs))
}

impl KeeperRun {
    /// Handles messages for the terminal; returns whether it was one.
    pub(super) fn obey_keyboard(&mut self, frame: &MessageFrame) -> bool {
        let Some(terminal) = &mut self.terminal else {
            return false;
        };
        let spool = self.pumps.first_mut().map(|pump| &mut pump.spool);
        if !frame.is::<TypedMessage>() {
            let is_obeyed = terminal.obey(frame);
            if let (Some(spool), true) = (spool, is_obeyed) {
                spool.note_resized(terminal.size());
            }
            return is_obeyed;
        }
        if let (Some(input), Ok(TypedMessage { bytes })) = (&mut self.input, frame.body()) {
            if let Some(spool) = spool {
                spool.note_typed(&bytes, terminal.hides_typing());
            }
            let _ = input.send(&bytes, false);
        }
        true
    }

    /// Records what is sent to the command, if that is recorded.
    pub(super) fn note_input(&mut self, bytes: &[u8]) {
        let is_hidden = self
            .terminal
            .as_ref()
            .is_some_and(RunTerminal::hides_typing);
        if let (Some(pump), Some(_)) = (self.pumps.first_mut(), &self.input) {
            pump.spool.note_typed(bytes, is_hidden);
        }
    }

    /// The size of the terminal, if there is one.
    pub(super) fn terminal_size(&self) -> Option<Size> {
        self.terminal.as_ref().map(RunTerminal::size)
    }
}
