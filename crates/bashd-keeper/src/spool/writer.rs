//! The writing side of a spool: one keeper, one stream.

use super::storage::SpoolFile;
use super::times::{self, TimesWriter};
use super::{INDEX_AT, LineIndex, MEMORY_TAIL, MEMORY_TAIL_AT, SpoolReader, SpoolSegment, index};
use crate::capture::Quota;
use crate::os::counters::CounterPage;
use crate::size::Size;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::time::Instant;

/// Opens a file of a spool in a directory.
pub(super) type SpoolOpener = fn(&Path) -> io::Result<SpoolFile>;

/// Takes a stream's bytes in order and keeps what the quota allows.
pub struct SpoolWriter {
    page: CounterPage,
    open: SpoolOpener,
    runs: PathBuf,
    quota: Quota,
    index: LineIndex,
    head: Option<SpoolFile>,
    ring: Option<SpoolFile>,
    store: SpoolTarget,
    /// Whether the head file has a name by which people read it.
    is_named: bool,
    /// The last line of a named head file once the stream continues in the ring.
    spill_line: Option<String>,
    total: u64,
    lines: u64,
    /// When the bytes came, if that is recorded.
    times: Option<Box<TimesWriter>>,
}

/// Where the bytes go. It only gets worse: a store that refused once is not tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpoolTarget {
    /// Head file and ring.
    Disk,
    /// The memory tail, since the disk refused a byte.
    Memory,
    /// Nowhere: a file size limit below the counter page's size applies to memory as well.
    Nothing,
}

impl SpoolWriter {
    /// Opens a spool in the runs directory. If the disk refuses even that, the counters say so;
    /// only a lack of memory or descriptors is an error.
    pub fn create(runs: &Path, quota: Quota) -> io::Result<Self> {
        Self::create_with(SpoolFile::create, runs, quota)
    }

    /// Likewise, with another way to open files.
    pub(super) fn create_with(open: SpoolOpener, runs: &Path, quota: Quota) -> io::Result<Self> {
        let index = LineIndex::new(quota);
        let page = CounterPage::create(MEMORY_TAIL + index.bytes())?;
        let counters = page.get();
        counters.disk_end.store(u64::MAX, Relaxed);
        counters.head_capacity.store(quota.head, Relaxed);
        counters.ring_capacity.store(quota.ring, Release);
        let mut writer = Self {
            page,
            open,
            runs: runs.to_owned(),
            quota,
            index,
            head: None,
            ring: None,
            store: SpoolTarget::Disk,
            is_named: false,
            spill_line: None,
            total: 0,
            lines: 0,
            times: None,
        };
        match open(runs) {
            Ok(file) => writer.head = Some(file),
            Err(error) if is_out_of_descriptors(&error) => return Err(error),
            Err(error) => writer.give_up_disk(&error),
        }
        Ok(writer)
    }

    /// Appends bytes to the stream. Never fails and never blocks on anything but the disk.
    pub fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = index::STEP - self.total % index::STEP;
            let (now, later) = bytes.split_at(bytes.len().min(room as usize));
            self.append_within_step(now);
            if self.total.is_multiple_of(index::STEP) {
                self.write_index_entry();
            }
            bytes = later;
        }
        if let Some(times) = &mut self.times {
            times.written(&self.page, self.total);
        }
        let counters = self.page.get();
        counters.lines.store(self.lines, Relaxed);
        counters.total.store(self.total, Release);
    }

    fn append_within_step(&mut self, mut bytes: &[u8]) {
        self.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        while !bytes.is_empty() {
            let written = match self.store {
                SpoolTarget::Disk if self.total < self.quota.head => self.write_head(bytes),
                SpoolTarget::Disk => self.write_ring(bytes),
                SpoolTarget::Memory => self.write_memory(bytes),
                SpoolTarget::Nothing => Ok(self.lose(bytes)),
            };
            match written {
                Ok(count) => {
                    self.total += count as u64;
                    bytes = bytes.get(count..).unwrap_or_default();
                }
                Err(_) if self.store == SpoolTarget::Memory => self.store = SpoolTarget::Nothing,
                Err(error) => self.give_up_disk(&error),
            }
        }
    }

    fn write_head(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.quota.head - self.total;
        let file = self
            .head
            .as_ref()
            .ok_or_else(|| io::Error::other("no head file"))?;
        write_at(file.as_fd(), bytes, room, self.total)
    }

    fn write_ring(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Quota { head, ring } = self.quota;
        if ring == 0 {
            self.page
                .get()
                .tail_start
                .store(self.total + bytes.len() as u64, SeqCst);
            return Ok(bytes.len());
        }
        if self.ring.is_none() {
            self.page.get().tail_start.store(head, SeqCst);
            self.ring = Some((self.open)(&self.runs)?);
            self.tell_spill();
        }
        let position = (self.total - head) % ring;
        let count = (bytes.len() as u64).min(ring - position);
        // Readers must know before the bytes are overwritten, or they would take new bytes for old
        // ones.
        let oldest = (self.total + count).saturating_sub(ring).max(head);
        self.page.get().tail_start.store(oldest, SeqCst);
        let file = self
            .ring
            .as_ref()
            .ok_or_else(|| io::Error::other("no ring file"))?;
        write_at(file.as_fd(), bytes, count, position)
    }

    fn write_memory(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let begun = self.page.get().disk_end.load(Relaxed);
        let position = (self.total - begun) % MEMORY_TAIL;
        let count = (bytes.len() as u64).min(MEMORY_TAIL - position);
        let oldest = (self.total + count).saturating_sub(MEMORY_TAIL).max(begun);
        self.page.get().memory_start.store(oldest, SeqCst);
        write_at(self.page.as_fd(), bytes, count, MEMORY_TAIL_AT + position)
    }

    /// Keeps nothing, and says so before the byte count does.
    fn lose(&self, bytes: &[u8]) -> usize {
        let counters = self.page.get();
        let upto = self.total + bytes.len() as u64;
        counters.memory_start.store(upto, SeqCst);
        bytes.len()
    }

    fn give_up_disk(&mut self, error: &io::Error) {
        self.store = SpoolTarget::Memory;
        let counters = self.page.get();
        counters.memory_start.store(self.total, Relaxed);
        counters
            .errno
            .store(error.raw_os_error().unwrap_or(libc::EIO) as u64, Relaxed);
        counters.disk_end.store(self.total, Release);
    }

    fn write_index_entry(&self) {
        let position = self.index.position(self.total / index::STEP);
        let entry = self.lines.to_ne_bytes();
        // A missing entry only costs a longer scan.
        let _ = write_at(
            self.page.as_fd(),
            &entry,
            entry.len() as u64,
            INDEX_AT + position,
        );
    }

    /// Records from now on when bytes come, counted from this moment; nothing is recorded if the
    /// file behind the page can't grow.
    pub fn record_times(&mut self, started: Instant) {
        self.times = TimesWriter::begin(&self.page, started).map(Box::new);
    }

    /// Records that somebody typed this, or that something was typed that nobody may know.
    pub fn note_typed(&mut self, bytes: &[u8], is_hidden: bool) {
        if let Some(times) = &mut self.times {
            times.typed(&self.page, bytes, is_hidden);
        }
    }

    /// Records that the terminal has this size now.
    pub fn note_resized(&mut self, size: Size) {
        if let Some(times) = &mut self.times {
            times.resized(&self.page, size);
        }
    }

    /// Writes down what is known of the last bytes, since none may follow.
    pub fn settle_times(&mut self) {
        if let Some(times) = &mut self.times {
            times.settle(&self.page);
        }
    }

    /// The times so far, as they are stored; `None` if they are not recorded.
    pub fn times(&self) -> Option<Vec<u8>> {
        self.times.as_ref()?;
        times::read(&self.page).ok().flatten()
    }

    /// Bytes of the stream so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Newlines of the stream so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The descriptors a reader needs: counter page, then head file.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        std::iter::once(self.page.as_fd())
            .chain(self.head.as_ref().map(AsFd::as_fd))
            .collect()
    }

    /// The ring's descriptor, once there is a ring.
    pub fn ring(&self) -> Option<BorrowedFd<'_>> {
        self.ring.as_ref().map(AsFd::as_fd)
    }

    /// Gives the head file a name, under which it can be read while it grows.
    pub fn link(&mut self, path: &Path) -> io::Result<()> {
        self.head
            .as_mut()
            .ok_or_else(|| io::Error::other("no head file"))?
            .link(path)?;
        self.is_named = true;
        Ok(())
    }

    /// Gives the head file a name again after somebody removed it. A file without any name can't be
    /// named, so what was written is copied into a new one.
    pub fn name_anew(&mut self, path: &Path) -> io::Result<()> {
        if let Some(head) = self.head.as_ref().filter(|_| self.is_named) {
            let anew = SpoolFile::copied(head, path)?;
            self.head = Some(anew);
        }
        Ok(())
    }

    /// Enlarges the head file, if the stream has not gone beyond it yet.
    pub fn raise_head(&mut self, head: u64) -> io::Result<()> {
        let is_beyond = self.ring.is_some() || self.total > self.quota.head;
        if head <= self.quota.head || is_beyond || self.store != SpoolTarget::Disk {
            return Ok(());
        }
        let quota = Quota { head, ..self.quota };
        let index = LineIndex::new(quota);
        // Entries of the head keep their places; the ring has none yet.
        rustix::fs::ftruncate(self.page.as_fd(), INDEX_AT + index.bytes())?;
        self.quota = quota;
        self.index = index;
        self.page.get().head_capacity.store(head, Release);
        Ok(())
    }

    /// Bytes that go to the head file before the ring begins.
    pub fn head_bytes(&self) -> u64 {
        self.quota.head
    }

    /// Makes a named head file end with this once the stream continues in the ring.
    pub fn say_at_spill(&mut self, line: String) {
        self.spill_line = Some(line);
        if self.ring.is_some() {
            self.tell_spill();
        }
    }

    fn tell_spill(&mut self) {
        if let (Some(head), Some(line)) = (&self.head, self.spill_line.take()) {
            // Beyond what readers take for the stream; a full disk shows elsewhere.
            let _ = write_all_at(head.as_fd(), line.as_bytes(), self.quota.head);
        }
    }

    /// Appends to a named head file what the stream has beyond it: a line that says what is
    /// missing, and the tail in order. The file is then complete for anyone who opens it. Returns
    /// where the stream's bytes are in the file.
    pub fn complete_head(&self) -> io::Result<Vec<SpoolSegment>> {
        let Some(head) = self.head.as_ref().filter(|_| self.is_named) else {
            return Ok(Vec::new());
        };
        let reader = SpoolReader::new(
            self.page.as_fd().try_clone_to_owned()?,
            Some(head.as_fd().try_clone_to_owned()?),
        )?;
        if let Some(ring) = self.ring() {
            reader.set_ring(ring.try_clone_to_owned()?);
        }
        let mut end = rustix::fs::fstat(head)?.st_size as u64;
        let mut offset = self.quota.head.min(self.total).min(self.disk_end());
        let mut segments = vec![SpoolSegment {
            from: 0,
            upto: offset,
            at: 0,
        }];
        while offset < self.total {
            let upto = (offset + index::STEP).min(self.total);
            for piece in crate::source::Source::read(&reader, offset..upto)? {
                let (bytes, kept) = match piece {
                    crate::source::StreamPiece::Kept(bytes) => {
                        let kept = bytes.len() as u64;
                        (bytes, offset..offset + kept)
                    }
                    crate::source::StreamPiece::Dropped(count)
                    | crate::source::StreamPiece::Replaced { bytes: count, .. } => {
                        offset += count;
                        let dropped = crate::counted::counted(
                            count,
                            "byte of output was",
                            "bytes of output were",
                        );
                        let line = format!("\n[bashd: {dropped} dropped here]\n");
                        (line.into_bytes(), offset..offset)
                    }
                };
                if write_all_at(head.as_fd(), &bytes, end).is_err() {
                    return Ok(segments); // a full disk: what is there is there
                }
                if !kept.is_empty() {
                    offset = kept.end;
                    SpoolSegment::add(&mut segments, kept, end);
                }
                end += bytes.len() as u64;
            }
            offset = upto;
        }
        Ok(segments)
    }

    fn disk_end(&self) -> u64 {
        self.page.get().disk_end.load(Relaxed)
    }

    /// Bytes of the stream that are not kept.
    pub fn dropped(&self) -> u64 {
        let reader = self.page.as_fd().try_clone_to_owned();
        let reader = reader.and_then(|page| SpoolReader::new(page, None));
        reader.map_or(0, |reader| reader.dropped())
    }

    /// Appends a line to a named head file that is not part of the stream.
    pub fn append_line(&self, line: &str) -> io::Result<()> {
        let Some(head) = self.head.as_ref().filter(|_| self.is_named) else {
            return Ok(());
        };
        let end = rustix::fs::fstat(head)?.st_size as u64;
        write_all_at(head.as_fd(), line.as_bytes(), end)
    }

    /// Makes sure that a named head file is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        match self.head.as_ref().filter(|_| self.is_named) {
            Some(head) => Ok(rustix::fs::fdatasync(head)?),
            None => Ok(()),
        }
    }

    /// The unfinished last line, or the last finished one if there is none: at most this many
    /// bytes.
    pub fn last_line(&self, most: u64) -> String {
        let upto = self.total.min(self.quota.head).min(self.disk_end());
        let from = upto.saturating_sub(most);
        let mut bytes = vec![0; (upto - from) as usize];
        let read = self
            .head
            .as_ref()
            .map(|head| rustix::io::pread(head, &mut bytes[..], from));
        if !matches!(read, Some(Ok(count)) if count == bytes.len()) {
            return String::new();
        }
        crate::text::last_line(&bytes)
    }

    /// Newlines before each mebibyte of what the head file holds of the stream, one number each.
    pub fn line_index(&self) -> io::Result<Vec<u8>> {
        let steps = self.quota.head.min(self.total) / index::STEP;
        let mut bytes = vec![0; (steps as usize + 1) * 8];
        rustix::io::pread(self.page.as_fd(), &mut bytes[..], INDEX_AT)?;
        Ok(bytes)
    }
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Writes at most `room` bytes at a position; writing nothing is an error.
fn write_at(fd: BorrowedFd<'_>, bytes: &[u8], room: u64, position: u64) -> io::Result<usize> {
    let count = (bytes.len() as u64).min(room) as usize;
    loop {
        match rustix::io::pwrite(fd, bytes.get(..count).unwrap_or(bytes), position) {
            Ok(0) => return Err(io::Error::from_raw_os_error(libc::ENOSPC)),
            Ok(count) => return Ok(count),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn write_all_at(fd: BorrowedFd<'_>, mut bytes: &[u8], mut position: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = write_at(fd, bytes, u64::MAX, position)?;
        bytes = bytes.get(count..).unwrap_or_default();
        position += count as u64;
    }
    Ok(())
}
