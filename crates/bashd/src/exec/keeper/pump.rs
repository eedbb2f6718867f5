//! From a command's pipe into its spool, at the pipe's speed.

use crate::output::spool::SpoolWriter;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags};
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

/// Size of the siding of a large pipe.
const SIDING_BYTES: usize = 512 * 1024;

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

/// A pipe of our own, empty between two reads, into which a large pipe's pages are moved before they
/// are copied.
///
/// While a pipe is read its writer has to wait, for as long as the copying takes. Moving pages takes
/// next to no time, and nobody waits for the copying out of the siding.
struct Siding {
    read: OwnedFd,
    write: OwnedFd,
}

impl Siding {
    /// `None` where the user has no room for one.
    fn open() -> Option<Self> {
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).ok()?;
        rustix::pipe::fcntl_setpipe_size(&write, SIDING_BYTES).ok()?;
        Some(Self { read, write })
    }

    /// Moves what fits; as a read that does not wait, without the bytes.
    fn fill(&self, pipe: BorrowedFd<'_>) -> rustix::io::Result<usize> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        rustix::pipe::splice(pipe, None, &self.write, None, SIDING_BYTES, flags)
    }
}

/// One stream: the reading end of a pipe, and the spool behind it.
pub(super) struct Pump {
    pipe: Option<OwnedFd>,
    siding: Option<Siding>,
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
            siding: None,
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
            self.siding = None;
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
        self.buffer.clear();
        if self.buffer.capacity() != wanted {
            // Never filled with zeros: a short output touches a page of it.
            self.buffer = Vec::with_capacity(wanted);
        }
        let Some(siding) = &self.siding else {
            let count = rustix::io::read(pipe, spare_capacity(&mut self.buffer))?;
            self.spool.append(&self.buffer);
            return Ok(count);
        };
        let moved = siding.fill(pipe.as_fd())?;
        let mut left = moved;
        while left > 0 {
            self.buffer.clear();
            // What was moved is there: this neither waits nor fails.
            let count = rustix::io::read(&siding.read, spare_capacity(&mut self.buffer))?;
            if count == 0 {
                return Err(Errno::IO);
            }
            self.spool.append(&self.buffer);
            left = left.saturating_sub(count);
        }
        Ok(moved)
    }

    fn adapt(&mut self, count: usize) {
        let full = count >= self.buffer.capacity();
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
            self.siding = self.is_large.then(Siding::open).flatten();
        }
    }
}
