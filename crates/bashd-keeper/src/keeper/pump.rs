//! Copies a command's pipe into its spool, at the pipe's speed.

use crate::spool::SpoolWriter;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Initial size of a pipe's buffer; the kernel's default.
const SMALL_PIPE: usize = 64 * 1024;

/// Size of a pipe's buffer once its writer proved fast. An unprivileged user can have only 64 such
/// pipes before each new pipe shrinks to 8 KiB, so they are used sparingly.
const LARGE_PIPE: usize = 1024 * 1024;

/// Number of full buffers in a row, without the pipe ever being empty, after which the pipe grows.
const FULL_BUFFERS_TO_GROW: u32 = 4;

/// Number of small reads in a row, each emptying the pipe, after which a grown pipe is given back.
const LULLS_TO_SHRINK: u32 = 64;

/// What counts as small.
const LITTLE: usize = SMALL_PIPE / 4;

/// Bytes written at once; more would fall out of the processor's cache before they are counted.
const BUFFER_BYTES: usize = 256 * 1024;

/// Size of the siding of a large pipe.
const SIDING_BYTES: usize = 512 * 1024;

/// Bytes after which a flood must let the keeper look at its clock and its engine.
const TURN_BYTES: usize = 8 * 1024 * 1024;

/// What a turn of reading found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PumpRound {
    /// Nothing more to read now.
    Empty,
    /// There may be more.
    More,
    /// Every writer is gone.
    Ended,
}

/// A pipe of our own, empty between two reads, into which a large pipe's pages are moved before
/// they are copied.
///
/// While a pipe is read its writer has to wait for as long as the copying takes. Moving pages takes
/// almost no time, and nobody waits while the siding is copied out.
struct Siding {
    read: OwnedFd,
    write: OwnedFd,
}

impl Siding {
    /// `None` if the user has no room for one.
    fn open() -> Option<Self> {
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).ok()?;
        rustix::pipe::fcntl_setpipe_size(&write, SIDING_BYTES).ok()?;
        Some(Self { read, write })
    }

    /// Moves what fits; like a non-blocking read, without the bytes.
    fn fill(&self, pipe: BorrowedFd<'_>) -> rustix::io::Result<usize> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        rustix::pipe::splice(pipe, None, &self.write, None, SIDING_BYTES, flags)
    }
}

/// One stream: the reading end of a pipe, and the spool behind it.
pub(super) struct Pump {
    pipe: Option<OwnedFd>,
    /// The pipe once its writers are gone: closing it takes longer than reporting that.
    spent: Option<OwnedFd>,
    /// The other end, so that the pipe has a writer for as long as the shell lives.
    held: Option<OwnedFd>,
    siding: Option<Siding>,
    pub(super) spool: SpoolWriter,
    /// What was read and is not in the spool yet; empty between two turns.
    ///
    /// A writer that is about as fast as we are has a page or two in a small pipe whenever we look.
    /// Writing those one by one would cost more than all of the reading, and no read would ever be
    /// full.
    buffer: Vec<u8>,
    is_large: bool,
    full_buffers: u32,
    lulls: u32,
    /// Bytes that came since the pipe was last empty.
    since_empty: usize,
    /// Whether the engine had the spool's descriptors before the run.
    pub(super) is_told: bool,
    /// Whether the ring's descriptor has been sent to the engine.
    pub(super) spill_told: bool,
}

impl Pump {
    /// Makes a pipe: what is read here, and what the command writes to.
    pub(super) fn open_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        // Only our end: the command's must block as any pipe does.
        rustix::io::ioctl_fionbio(&read, true)?;
        Ok((read, write))
    }

    /// Reads this descriptor into the spool; it must not block.
    pub(super) fn over(pipe: OwnedFd, spool: SpoolWriter) -> Self {
        Self {
            pipe: Some(pipe),
            spent: None,
            held: None,
            siding: None,
            spool,
            buffer: Vec::new(),
            is_large: false,
            full_buffers: 0,
            lulls: 0,
            since_empty: 0,
            is_told: false,
            spill_told: false,
        }
    }

    /// The same, with the times of what they read recorded since this moment, if there is one.
    pub(super) fn recorded(mut pumps: Vec<Self>, since: Option<Instant>) -> Vec<Self> {
        if let Some(started) = since {
            for pump in &mut pumps {
                pump.spool.record_times(started);
            }
        }
        pumps
    }

    /// Keeps the other end open. Otherwise a shell that exits would wake us for each of its pipes,
    /// and once more for its death.
    pub(super) fn hold(&mut self, writer: OwnedFd) {
        self.held = Some(writer);
    }

    /// The shell is gone: from now on it matters who else writes.
    pub(super) fn let_go(&mut self) {
        self.held = None;
    }

    /// The pipe, while it has writers.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads for one turn; returns whether anything came.
    pub(super) fn turn(&mut self) -> (PumpRound, bool) {
        let before = self.spool.total();
        let mut taken = 0;
        let turn = loop {
            match self.read_once() {
                Ok(0) => {
                    self.spent = self.pipe.take().or(self.spent.take());
                    break PumpRound::Ended;
                }
                Ok(count) => {
                    taken += count;
                    self.since_empty += count;
                    if taken >= TURN_BYTES {
                        break PumpRound::More;
                    }
                }
                Err(Errno::AGAIN) => break PumpRound::Empty,
                Err(Errno::INTR) => {}
                Err(_) => break PumpRound::Ended,
            }
        };
        self.write();
        match turn {
            PumpRound::More => {}
            PumpRound::Empty => self.found_empty(),
            PumpRound::Ended => {
                self.pipe = None;
                self.siding = None;
                self.buffer = Vec::new();
            }
        }
        (turn, self.spool.total() > before)
    }

    /// Reads until the pipe is empty or ended; only for when no writer is left that could go on.
    pub(super) fn finish(&mut self) {
        while matches!(self.turn(), (PumpRound::More, _)) {}
    }

    /// Gives back memory that serves only speed, until the next byte comes.
    pub(super) fn rest(&mut self) {
        self.buffer = Vec::new();
        drop(self.spent.take());
    }

    /// Reads what the pipe has, and writes whenever the buffer is full.
    fn read_once(&mut self) -> rustix::io::Result<usize> {
        self.make_room();
        let Some(pipe) = &self.pipe else { return Ok(0) };
        let Some(siding) = &self.siding else {
            let count = rustix::io::read(pipe, spare_capacity(&mut self.buffer))?;
            self.write_if_full();
            return Ok(count);
        };
        let moved = siding.fill(pipe.as_fd())?;
        let mut left = moved;
        while left > 0 {
            let Some(siding) = &self.siding else { break };
            // What was moved is there: this neither waits nor fails.
            let count = rustix::io::read(&siding.read, spare_capacity(&mut self.buffer))?;
            if count == 0 {
                return Err(Errno::IO);
            }
            left = left.saturating_sub(count);
            self.write_if_full();
        }
        // At once, even if it is little: meanwhile the pipe fills. Merely looking again would find
        // it empty too often, and sleep.
        self.write();
        Ok(moved)
    }

    /// Makes sure that the buffer suits the pipe's size. Never zeroed: a short output touches one
    /// page of it.
    fn make_room(&mut self) {
        let wanted = if self.is_large {
            BUFFER_BYTES
        } else {
            SMALL_PIPE
        };
        if self.buffer.capacity() != wanted {
            self.write();
            self.buffer = Vec::with_capacity(wanted);
        }
    }

    fn write_if_full(&mut self) {
        if self.buffer.len() == self.buffer.capacity() {
            self.write();
            self.full_buffers += 1;
            if !self.is_large && self.full_buffers >= FULL_BUFFERS_TO_GROW {
                self.resize(LARGE_PIPE);
            }
        }
    }

    fn write(&mut self) {
        self.spool.append(&self.buffer);
        self.buffer.clear();
    }

    /// The pipe is empty: its writer is slower than we are.
    fn found_empty(&mut self) {
        self.full_buffers = 0;
        let is_little = std::mem::take(&mut self.since_empty) < LITTLE;
        self.lulls = if is_little { self.lulls + 1 } else { 0 };
        if self.is_large && self.lulls >= LULLS_TO_SHRINK {
            self.resize(SMALL_PIPE);
        }
    }

    /// A refusal (the user's quota is used up, or the pipe is still full) only means that the size
    /// stays.
    fn resize(&mut self, size: usize) {
        self.full_buffers = 0;
        self.lulls = 0;
        if let Some(pipe) = &self.pipe
            && rustix::pipe::fcntl_setpipe_size(pipe, size).is_ok()
        {
            self.is_large = size == LARGE_PIPE;
            self.siding = self.is_large.then(Siding::open).flatten();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Quota;
    use crate::source::{Source, StreamPiece};
    use crate::spool::SpoolReader;
    use std::fs::File;
    use std::io::Write;

    const QUOTA: Quota = Quota {
        head: 4 * 1024 * 1024,
        ring: 0,
    };

    fn pump(directory: &tempfile::TempDir) -> (Pump, File) {
        let spool = SpoolWriter::create(directory.path(), QUOTA).unwrap();
        let (pipe, writer) = Pump::open_pipe().unwrap();
        let pump = Pump::over(pipe, spool);
        // Room for more than the pump reads at once, as if its writer ran beside it.
        rustix::pipe::fcntl_setpipe_size(&writer, LARGE_PIPE).unwrap();
        (pump, File::from(writer))
    }

    fn spooled(pump: &Pump) -> Vec<u8> {
        let mut fds = pump.spool.descriptors().into_iter();
        let mut next = || fds.next().unwrap().try_clone_to_owned().unwrap();
        let reader = SpoolReader::new(next(), Some(next())).unwrap();
        let pieces = reader.read(0..pump.spool.total()).unwrap();
        let kept = pieces.into_iter().map(|piece| match piece {
            StreamPiece::Kept(bytes) => bytes,
            StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => {
                panic!("{count} bytes were dropped")
            }
        });
        kept.flatten().collect()
    }

    #[test]
    fn a_pipe_grows_that_is_not_once_empty_and_shrinks_when_little_comes() {
        let directory = tempfile::tempdir().unwrap();
        let (mut pump, mut writer) = pump(&directory);
        let mut all = Vec::new();
        let mut send = |pump: &mut Pump, count: usize| {
            let bytes: Vec<u8> = (0..count).map(|at| (at % 251) as u8).collect();
            writer.write_all(&bytes).unwrap();
            all.extend(bytes);
            assert_eq!(pump.turn(), (PumpRound::Empty, true));
        };
        for _ in 0..8 {
            send(&mut pump, 3 * SMALL_PIPE);
            assert!(!pump.is_large, "three full buffers were enough");
        }
        send(&mut pump, 4 * SMALL_PIPE + 1);
        assert!(pump.is_large && pump.siding.is_some());
        send(&mut pump, 3 * BUFFER_BYTES + 1);
        for _ in 1..LULLS_TO_SHRINK {
            send(&mut pump, 1);
        }
        send(&mut pump, LITTLE);
        for _ in 0..LULLS_TO_SHRINK {
            assert!(pump.is_large, "it shrank too soon");
            send(&mut pump, 1);
        }
        assert!(!pump.is_large && pump.siding.is_none());
        send(&mut pump, 1);
        drop(writer);
        assert_eq!(pump.turn(), (PumpRound::Ended, false));
        assert!(spooled(&pump) == all, "other bytes came out");
    }

    #[test]
    fn what_came_before_the_end_is_written_however_it_was_split() {
        for pieces in [vec![1; 300], vec![SMALL_PIPE - 1, 2], vec![4096; 80]] {
            let directory = tempfile::tempdir().unwrap();
            let (mut pump, mut writer) = pump(&directory);
            let mut all = Vec::new();
            for (piece, byte) in pieces.into_iter().zip((0..=u8::MAX).cycle()) {
                let bytes = vec![byte; piece];
                writer.write_all(&bytes).unwrap();
                all.extend(bytes);
            }
            drop(writer);
            assert_eq!(pump.turn(), (PumpRound::Ended, true));
            assert!(spooled(&pump) == all, "other bytes came out");
        }
    }
}
