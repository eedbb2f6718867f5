//! The counters of a spool: one page that keeper and readers share.
//!
//! One writer (the keeper), any number of readers. The memfd behind the page also holds, after it,
//! the bytes kept in memory when the disk fails, the line index, and the times of a run that is
//! recorded; all are accessed by `pread`/`pwrite`, so only this page is mapped.

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

/// Bytes of the mapped page.
pub const PAGE_BYTES: usize = 4096;

/// The counters, at fixed places in the page.
#[repr(C)]
pub struct Counters {
    /// Bytes in the stream so far; stored after the bytes themselves.
    pub total: AtomicU64,
    /// Newlines among them.
    pub lines: AtomicU64,
    /// Oldest stream offset that the ring still holds; moves before bytes are overwritten.
    pub tail_start: AtomicU64,
    /// Stream offset from which nothing was written to disk; `u64::MAX` while the disk is fine.
    pub disk_end: AtomicU64,
    /// Oldest stream offset that the memory tail holds; moves before bytes are overwritten.
    pub memory_start: AtomicU64,
    /// The error that stopped writing, as errno; 0 if none did.
    pub errno: AtomicU64,
    /// Capacity of the head file.
    pub head_capacity: AtomicU64,
    /// Capacity of the ring.
    pub ring_capacity: AtomicU64,
    /// Where the times are in the file behind the page; 0 if none are recorded.
    pub times_at: AtomicU64,
    /// How many bytes of times there are; stored after the bytes themselves.
    pub times_bytes: AtomicU64,
}

/// Stands in for a page that cannot be mapped: it says that nothing was stored.
static NOTHING: Counters = Counters {
    total: AtomicU64::new(0),
    lines: AtomicU64::new(0),
    tail_start: AtomicU64::new(0),
    disk_end: AtomicU64::new(u64::MAX),
    memory_start: AtomicU64::new(0),
    errno: AtomicU64::new(0),
    head_capacity: AtomicU64::new(0),
    ring_capacity: AtomicU64::new(0),
    times_at: AtomicU64::new(0),
    times_bytes: AtomicU64::new(0),
};

/// The page and the memfd behind it. Most commands write little or nothing, so a reader maps the
/// page only when it looks at it.
pub struct CounterPage {
    fd: OwnedFd,
    mapped: OnceLock<Mapped>,
}

impl CounterPage {
    /// Makes a new page with `extra` bytes behind it.
    pub fn create(extra: u64) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create(c"bashd-spool", flags)?;
        rustix::fs::ftruncate(&fd, PAGE_BYTES as u64 + extra)?;
        // Nobody may shrink it under a mapping: that would cause SIGBUS.
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK)?;
        Self::open(fd)
    }

    /// Maps the page of somebody else's spool.
    pub fn open(fd: OwnedFd) -> io::Result<Self> {
        let mapped = Mapped::new(&fd)?.into();
        Ok(Self { fd, mapped })
    }

    /// Like `open`, but mapped at the first access.
    pub fn open_later(fd: OwnedFd) -> Self {
        let mapped = OnceLock::new();
        Self { fd, mapped }
    }

    /// The counters themselves.
    pub fn get(&self) -> &Counters {
        let mapped = self.mapped.get().or_else(|| {
            let mapped = Mapped::new(&self.fd).ok()?;
            Some(self.mapped.get_or_init(|| mapped))
        });
        mapped.map_or(&NOTHING, Mapped::get)
    }
}

impl AsFd for CounterPage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A mapped page.
struct Mapped(NonNull<Counters>);

// SAFETY: the page holds atomics only, and stays mapped as long as the value lives.
#[expect(unsafe_code, reason = "a raw pointer to shared atomics")]
unsafe impl Send for Mapped {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a raw pointer to shared atomics")]
unsafe impl Sync for Mapped {}

impl Mapped {
    fn new(fd: &OwnedFd) -> io::Result<Self> {
        let size = rustix::fs::fstat(fd)?.st_size;
        let sealed = rustix::fs::fcntl_get_seals(fd)?.contains(SealFlags::SHRINK);
        if !sealed || (size as usize) < PAGE_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "not a spool's counter page",
            ));
        }
        // SAFETY: a fresh shared mapping of a file that is at least a page and can't shrink.
        #[expect(unsafe_code, reason = "mmap")]
        let address = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                PAGE_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                fd,
                0,
            )
        }?;
        let page = NonNull::new(address.cast())
            .ok_or_else(|| io::Error::other("mmap returned no address"))?;
        Ok(Self(page))
    }

    fn get(&self) -> &Counters {
        // SAFETY: mapped for the life of `self`, page-aligned, and any bytes are valid atomics.
        #[expect(unsafe_code, reason = "a reference into the mapping")]
        unsafe {
            self.0.as_ref()
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, with this size, and unmapped once.
        #[expect(unsafe_code, reason = "munmap")]
        unsafe {
            let _ = rustix::mm::munmap(self.0.as_ptr().cast(), PAGE_BYTES);
        }
    }
}
