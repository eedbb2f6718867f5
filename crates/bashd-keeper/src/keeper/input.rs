//! The command's stdin, if it stays open: what is sent waits here until the command reads it.

use super::prompt::EmptyStdin;
use crate::job::directory::Asks;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Bytes that may wait for a command that does not read.
const MOST_WAITING: usize = 1024 * 1024;

/// The character that ends the input of a terminal's line (Ctrl-D).
const END_OF_INPUT: u8 = 4;

/// The writing end of the command's stdin.
pub(super) struct StdinWriter {
    pipe: Option<OwnedFd>,
    waiting: VecDeque<u8>,
    /// Close it once everything has been read.
    is_ending: bool,
    /// What marks the end of input where closing does not: at a terminal.
    end_mark: Option<u8>,
}

impl StdinWriter {
    /// Makes the pipe; returns the command's end as well.
    pub(super) fn open() -> io::Result<(Self, OwnedFd)> {
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&write, true)?;
        let input = Self {
            pipe: Some(write),
            waiting: VecDeque::new(),
            is_ending: false,
            end_mark: None,
        };
        Ok((input, read))
    }

    /// What is typed at a terminal; `pipe` is our end of it.
    pub(super) fn at_terminal(ours: OwnedFd) -> Self {
        Self {
            pipe: Some(ours),
            waiting: VecDeque::new(),
            is_ending: false,
            end_mark: Some(END_OF_INPUT),
        }
    }

    /// Takes bytes for the command, and perhaps the end of its input.
    pub(super) fn send(&mut self, bytes: &[u8], close: bool) -> Result<(), &'static str> {
        if self.pipe.is_none() || self.is_ending {
            return Err("its stdin is closed");
        }
        if self.waiting.len() + bytes.len() > MOST_WAITING {
            return Err("it has not read the earlier input yet");
        }
        self.waiting.extend(bytes);
        match self.end_mark {
            Some(mark) if close => self.waiting.push_back(mark),
            Some(_) => {}
            None => self.is_ending = close,
        }
        self.turn();
        Ok(())
    }

    /// Writes what the command takes now.
    pub(super) fn turn(&mut self) {
        while let Some(pipe) = &self.pipe
            && !self.waiting.is_empty()
        {
            let (first, _) = self.waiting.as_slices();
            match rustix::io::write(pipe, first) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // Nobody reads any more.
                Err(_) => {
                    self.pipe = None;
                    self.waiting.clear();
                }
            }
        }
        if self.is_ending && self.waiting.is_empty() {
            self.pipe = None;
        }
    }

    /// The pipe, while something waits to be written.
    pub(super) fn wants_to_write(&self) -> Option<BorrowedFd<'_>> {
        let pipe = self.pipe.as_ref().filter(|_| !self.waiting.is_empty());
        pipe.map(AsFd::as_fd)
    }

    /// Whether nothing waits to be written.
    pub(super) fn has_sent_all(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The command's end, if the command has read everything and more could come.
    pub(super) fn if_read(&self) -> Option<EmptyStdin> {
        let pipe = self.pipe.as_ref()?;
        let is_read = self.has_sent_all() && rustix::io::ioctl_fionread(pipe).ok()? == 0;
        if !is_read {
            return None;
        }
        let link = std::fs::read_link(format!("/proc/self/fd/{}", pipe.as_raw_fd())).ok()?;
        Some(EmptyStdin {
            links: vec![link.into_os_string().into_string().ok()?],
            asks: Asks::Input,
            foreground: None,
        })
    }
}
