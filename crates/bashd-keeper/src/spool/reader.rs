//! The reading side of a spool: any range, any time, by anybody who has the descriptors.

use super::{INDEX_AT, LineIndex, MEMORY_TAIL, MEMORY_TAIL_AT, index, times};
use crate::capture::Quota;
use crate::os::counters::{CounterPage, Counters};
use crate::source::{Source, StreamPiece};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

/// Reads one stream's spool, while it grows or after.
pub struct SpoolReader {
    page: CounterPage,
    head: Option<OwnedFd>,
    ring: OnceLock<OwnedFd>,
    /// The end of what this reader shows, if survivors go on writing beyond it.
    end: Option<FixedEnd>,
}

/// Where the bytes of a stream are.
pub struct SpoolLayout<'a> {
    /// The head file, and how many bytes of the stream's start it holds.
    pub head: Option<(BorrowedFd<'a>, u64)>,
    /// The ring, if there is one.
    pub ring: Option<Ring<'a>>,
    /// What only memory holds, since the disk refused it.
    pub memory: Range<u64>,
    /// Whether the disk refused anything.
    pub has_memory: bool,
}

/// A ring file and what it holds.
pub struct Ring<'a> {
    /// The file, open for reading.
    pub fd: BorrowedFd<'a>,
    /// The part of the stream.
    pub holds: Range<u64>,
    /// The stream offset that was first written at the file's start.
    pub begins: u64,
    /// Bytes that it has room for.
    pub capacity: u64,
}

/// A fixed end of a stream.
#[derive(Debug, Clone, Copy)]
struct FixedEnd {
    bytes: u64,
    lines: u64,
}

impl SpoolReader {
    /// A reader over a counter page and a head file; the latter is missing if the disk refused it.
    pub fn new(page: OwnedFd, head: Option<OwnedFd>) -> io::Result<Self> {
        Ok(Self::over(CounterPage::open(page)?, head))
    }

    /// Likewise for a spool that one of our keepers has just made, and that may never be read.
    pub fn new_later(page: OwnedFd, head: Option<OwnedFd>) -> Self {
        Self::over(CounterPage::open_later(page), head)
    }

    fn over(page: CounterPage, head: Option<OwnedFd>) -> Self {
        Self {
            page,
            head,
            ring: OnceLock::new(),
            end: None,
        }
    }

    /// Hands over the ring, once there is one.
    pub fn set_ring(&self, ring: OwnedFd) {
        let _ = self.ring.set(ring);
    }

    /// Fixes the end, so the same reads give the same answers from now on.
    #[must_use]
    pub fn ending_at(mut self, bytes: u64, lines: u64) -> Self {
        self.end = Some(FixedEnd { bytes, lines });
        self
    }

    /// How far a reader that follows the stream can read: not into a ring whose descriptor is still
    /// on its way.
    pub fn readable_end(&self) -> u64 {
        let total = self.len();
        let head = self.counters().head_capacity.load(Relaxed);
        let waits_for_ring = self.end.is_none()
            && self.ring.get().is_none()
            && self.counters().ring_capacity.load(Relaxed) > 0
            && self.counters().disk_end.load(Acquire) > head;
        if waits_for_ring {
            total.min(head)
        } else {
            total
        }
    }

    /// Bytes of the stream that can no longer be read: overwritten in the ring, or never stored.
    pub fn dropped(&self) -> u64 {
        if self.len() == 0 {
            return 0;
        }
        let counters = self.counters();
        let overwritten = counters
            .tail_start
            .load(Acquire)
            .min(self.len())
            .saturating_sub(counters.head_capacity.load(Relaxed));
        overwritten + self.lost()
    }

    /// Bytes of the stream that were never stored, because the disk refused them.
    pub fn lost(&self) -> u64 {
        if self.len() == 0 {
            return 0;
        }
        let counters = self.counters();
        let disk_end = counters.disk_end.load(Acquire);
        let unwritten = self.len().saturating_sub(disk_end);
        let not_in_memory = counters.memory_start.load(Acquire).saturating_sub(disk_end);
        not_in_memory.min(unwritten)
    }

    /// The operating system's reason why output was lost, if any was.
    pub fn storage_error(&self) -> Option<io::Error> {
        if self.lost() == 0 {
            return None;
        }
        let errno = self.counters().errno.load(Acquire);
        (errno != 0).then(|| io::Error::from_raw_os_error(errno as i32))
    }

    /// Offset at which the line with this number (from 0) begins, if it is still there.
    pub fn offset_of_line(&self, line: u64) -> io::Result<Option<u64>> {
        if line == 0 {
            return Ok(Some(0));
        }
        if line > self.lines() {
            return Ok(None);
        }
        let (mut offset, mut seen) = self.nearest_step(line)?;
        while offset < self.len() {
            for piece in self.read(offset..(offset + index::STEP).min(self.len()))? {
                let StreamPiece::Kept(bytes) = piece else {
                    return Ok(None);
                };
                for newline in memchr::memchr_iter(b'\n', &bytes) {
                    seen += 1;
                    if seen == line {
                        return Ok(Some(offset + newline as u64 + 1));
                    }
                }
                offset += bytes.len() as u64;
            }
        }
        Ok(None)
    }

    /// The last indexed step with fewer newlines before it than asked for: its offset and count.
    fn nearest_step(&self, line: u64) -> io::Result<(u64, u64)> {
        let steps = self.line_steps()?;
        let near = steps.partition_point(|(_, before)| *before < line);
        Ok(near
            .checked_sub(1)
            .and_then(|at| steps.get(at))
            .map_or((0, 0), |step| *step))
    }

    /// Offsets of what is still kept, one per mebibyte, each with the newlines before it.
    pub fn line_steps(&self) -> io::Result<Vec<(u64, u64)>> {
        let counters = self.counters();
        let quota = Quota {
            head: counters.head_capacity.load(Relaxed),
            ring: counters.ring_capacity.load(Relaxed),
        };
        let index = LineIndex::new(quota);
        let kept_from = counters.tail_start.load(Acquire).div_ceil(index::STEP);
        let in_head = 1..=quota.head.min(self.len()) / index::STEP;
        let in_ring = kept_from.max(quota.head / index::STEP + 1)..=self.len() / index::STEP;
        if in_head.is_empty() && in_ring.is_empty() {
            return Ok(Vec::new());
        }
        let entries = read_exactly(self.page.as_fd(), INDEX_AT, index.bytes())?;
        let before = |step: u64| {
            let at = index.position(step) as usize;
            let entry = entries.get(at..at + 8)?.try_into().ok()?;
            Some((step * index::STEP, u64::from_ne_bytes(entry)))
        };
        let mut steps: Vec<(u64, u64)> = in_head.chain(in_ring).filter_map(before).collect();
        // An entry that could not be written is zero; a scan replaces it.
        let mut most = 0;
        steps.retain(|(_, lines)| {
            let is_sound = *lines >= most;
            most = most.max(*lines);
            is_sound
        });
        Ok(steps)
    }

    /// When its bytes came, as it is stored; `None` if that is not recorded.
    pub fn times(&self) -> io::Result<Option<Vec<u8>>> {
        times::read(&self.page)
    }

    /// Where the stream's bytes are, for those who keep the files.
    pub fn places(&self) -> SpoolLayout<'_> {
        let counters = self.counters();
        let total = self.len();
        let capacity = counters.head_capacity.load(Relaxed);
        let disk_end = counters.disk_end.load(Acquire).min(total);
        let head_end = capacity.min(disk_end);
        let tail_start = counters.tail_start.load(SeqCst).clamp(head_end, disk_end);
        let memory_start = counters.memory_start.load(SeqCst).clamp(disk_end, total);
        let ring = self.ring.get().filter(|_| tail_start < disk_end);
        SpoolLayout {
            head: self.head.as_ref().map(|head| (head.as_fd(), head_end)),
            ring: ring.map(|ring| Ring {
                fd: ring.as_fd(),
                holds: tail_start..disk_end,
                begins: capacity,
                capacity: counters.ring_capacity.load(Relaxed),
            }),
            memory: memory_start..total,
            has_memory: disk_end < total,
        }
    }

    fn counters(&self) -> &Counters {
        self.page.get()
    }

    fn read_head(&self, range: Range<u64>, pieces: &mut Vec<StreamPiece>) -> io::Result<()> {
        let Some(head) = &self.head else {
            pieces.push(StreamPiece::Dropped(range.end - range.start));
            return Ok(());
        };
        pieces.push(StreamPiece::Kept(read_exactly(
            head.as_fd(),
            range.start,
            range.end - range.start,
        )?));
        Ok(())
    }

    fn read_ring(&self, range: Range<u64>, pieces: &mut Vec<StreamPiece>) -> io::Result<()> {
        let counters = self.counters();
        let head = counters.head_capacity.load(Relaxed);
        let ring = counters.ring_capacity.load(Relaxed);
        let Some(file) = self.ring.get().filter(|_| ring > 0) else {
            pieces.push(StreamPiece::Dropped(range.end - range.start));
            return Ok(());
        };
        let start = counters
            .tail_start
            .load(SeqCst)
            .clamp(range.start, range.end);
        let mut bytes = Vec::with_capacity((range.end - start) as usize);
        let mut offset = start;
        while offset < range.end {
            let position = (offset - head) % ring;
            let count = (range.end - offset).min(ring - position);
            bytes.extend(read_exactly(file.as_fd(), position, count)?);
            offset += count;
        }
        // What was overwritten while we read is invalid: look again, and drop it.
        std::sync::atomic::fence(SeqCst);
        let valid = counters.tail_start.load(SeqCst).clamp(start, range.end);
        if valid > range.start {
            pieces.push(StreamPiece::Dropped(valid - range.start));
        }
        bytes.drain(..(valid - start) as usize);
        pieces.push(StreamPiece::Kept(bytes));
        Ok(())
    }

    fn read_memory(&self, range: Range<u64>, pieces: &mut Vec<StreamPiece>) -> io::Result<()> {
        let counters = self.counters();
        let begun = counters.disk_end.load(Acquire);
        let start = counters
            .memory_start
            .load(SeqCst)
            .clamp(range.start, range.end);
        let mut bytes = Vec::new();
        let mut offset = start;
        while offset < range.end {
            let position = (offset - begun) % MEMORY_TAIL;
            let count = (range.end - offset).min(MEMORY_TAIL - position);
            bytes.extend(read_exactly(
                self.page.as_fd(),
                MEMORY_TAIL_AT + position,
                count,
            )?);
            offset += count;
        }
        std::sync::atomic::fence(SeqCst);
        let valid = counters.memory_start.load(SeqCst).clamp(start, range.end);
        if valid > range.start {
            pieces.push(StreamPiece::Dropped(valid - range.start));
        }
        bytes.drain(..(valid - start) as usize);
        pieces.push(StreamPiece::Kept(bytes));
        Ok(())
    }
}

impl Source for SpoolReader {
    fn len(&self) -> u64 {
        self.end
            .map_or_else(|| self.counters().total.load(Acquire), |end| end.bytes)
    }

    fn lines(&self) -> u64 {
        self.end
            .map_or_else(|| self.counters().lines.load(Acquire), |end| end.lines)
    }

    fn offset_of_line(&self, line: u64) -> io::Result<Option<u64>> {
        Self::offset_of_line(self, line)
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        let range = range.start..range.end.min(self.len());
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let disk_end = self.counters().disk_end.load(Acquire);
        let head_end = self.counters().head_capacity.load(Relaxed).min(disk_end);
        let mut pieces = Vec::new();
        for (part, read) in [
            (0..head_end, Self::read_head as fn(&Self, _, &mut _) -> _),
            (head_end..disk_end, Self::read_ring),
            (disk_end..u64::MAX, Self::read_memory),
        ] {
            let part = range.start.max(part.start)..range.end.min(part.end);
            if part.start < part.end {
                read(self, part, &mut pieces)?;
            }
        }
        pieces.retain(|piece| !matches!(piece, StreamPiece::Kept(bytes) if bytes.is_empty()));
        Ok(pieces)
    }
}

impl std::fmt::Debug for SpoolReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpoolReader")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Reads this many bytes; fewer is an error, since the counters promised them.
fn read_exactly(fd: BorrowedFd<'_>, mut position: u64, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count as usize];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(fd, rest, position) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                filled += count;
                position += count as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}
