//! From a command's pipe into its spool, at the pipe's speed.

use crate::output::spool::SpoolWriter;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Size of a pipe's buffer at first; what the kernel gives by default.
const SMALL_PIPE: usize = 64 * 1024;

/// Size of a pipe's buffer once its writer proved to be fast. An unprivileged user has only 64 such
/// pipes before every new pipe of his shrinks to 8 KiB, so they are not given away.
const LARGE_PIPE: usize = 1024 * 1024;

/// Full reads in a row after which a pipe grows.
const FULL_READS_TO_GROW: u32 = 4;

/// Small reads in a row after which a grown pipe is given back.
const SMALL_READS_TO_SHRINK: u32 = 64;

/// Bytes of one read; larger ones fall out of the processor's cache before they are counted.
const READ_BYTES: usize = 256 * 1024;

/// Bytes after which a flood must let the keeper look at its clock and its engine.
const TURN_BYTES: usize = 8 * 1024 * 1024;

/// What a turn of reading found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing more to read now.
    Empty,
    /// There may be more.
    More,
    /// Every writer is gone.
    Ended,
}

/// One stream: the reading end of a pipe, and the spool behind it.
pub(super) struct Pump {
    pipe: Option<OwnedFd>,
    pub(super) spool: SpoolWriter,
    buffer: Vec<u8>,
    is_large: bool,
    full_reads: u32,
    small_reads: u32,
    /// Whether the ring's descriptor has been sent to the engine.
    pub(super) spill_told: bool,
}

impl Pump {
    /// Makes a pipe into this spool; returns the writing end as well.
    pub(super) fn new(spool: SpoolWriter) -> io::Result<(Self, OwnedFd)> {
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        // Only our end: the command's must block as any pipe does.
        rustix::io::ioctl_fionbio(&read, true)?;
        Ok((Self::over(read, spool), write))
    }

    /// Reads this descriptor into the spool; it must not block.
    pub(super) fn over(pipe: OwnedFd, spool: SpoolWriter) -> Self {
        Self {
            pipe: Some(pipe),
            spool,
            buffer: Vec::new(),
            is_large: false,
            full_reads: 0,
            small_reads: 0,
            spill_told: false,
        }
    }

    /// The pipe, while it has writers.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads for one turn; says whether anything came.
    pub(super) fn turn(&mut self) -> (Turn, bool) {
        let before = self.spool.total();
        let mut taken = 0;
        let turn = loop {
            match self.read_once() {
                Ok(0) => break Turn::Ended,
                Ok(count) => {
                    taken += count;
                    self.adapt(count);
                    if taken >= TURN_BYTES {
                        break Turn::More;
                    }
                }
                Err(Errno::AGAIN) => break Turn::Empty,
                Err(Errno::INTR) => {}
                Err(_) => break Turn::Ended,
            }
        };
        if turn == Turn::Ended {
            self.pipe = None;
            self.buffer = Vec::new();
        }
        (turn, self.spool.total() > before)
    }

    /// Reads until the pipe is empty or ended; only when no writer is left that could go on.
    pub(super) fn finish(&mut self) {
        while matches!(self.turn(), (Turn::More, _)) {}
    }

    /// Gives back what only speed needs, until the next byte comes.
    pub(super) fn rest(&mut self) {
        self.buffer = Vec::new();
    }

    fn read_once(&mut self) -> rustix::io::Result<usize> {
        let Some(pipe) = &self.pipe else { return Ok(0) };
        let wanted = if self.is_large {
            READ_BYTES
        } else {
            SMALL_PIPE
        };
        if self.buffer.len() != wanted {
            self.buffer = vec![0; wanted];
        }
        let count = rustix::io::read(pipe, &mut self.buffer[..])?;
        self.spool
            .append(self.buffer.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn adapt(&mut self, count: usize) {
        let full = count == self.buffer.len();
        self.full_reads = if full { self.full_reads + 1 } else { 0 };
        self.small_reads = if count < SMALL_PIPE / 4 {
            self.small_reads + 1
        } else {
            0
        };
        if !self.is_large && self.full_reads >= FULL_READS_TO_GROW {
            self.resize(LARGE_PIPE);
        } else if self.is_large && self.small_reads >= SMALL_READS_TO_SHRINK {
            self.resize(SMALL_PIPE);
        }
    }

    /// A refusal (quota of the user used up, still full) only means that the size stays.
    fn resize(&mut self, size: usize) {
        self.full_reads = 0;
        self.small_reads = 0;
        if let Some(pipe) = &self.pipe
            && rustix::pipe::fcntl_setpipe_size(pipe, size).is_ok()
        {
            self.is_large = size == LARGE_PIPE;
        }
    }
}
