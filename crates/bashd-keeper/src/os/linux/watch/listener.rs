//! The kernel's side of watching: calls that wait for an answer, and what is in their callers'
//! memory.

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use std::ffi::{c_int, c_ulong, c_void};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

/// The requests to a listener, as the kernel numbers them.
const RECEIVE: c_ulong = 0xc050_2100;
const SEND: c_ulong = 0xc018_2101;
const IS_VALID: c_ulong = 0x4008_2102;
const SET_FLAGS: c_ulong = 0x4008_2104;

/// Has a caller run at once, on the core of its watcher, when it is answered: five times as fast.
const SYNC_WAKE_UP: u64 = 1;

/// Room for a report of the kernel, also of one that tells more than today's.
const REPORT_WORDS: usize = 32;

/// The longest path.
const LONGEST_PATH: usize = libc::PATH_MAX as usize;

/// A call that waits.
pub(super) struct WaitingCall {
    id: u64,
    /// The thread that makes it, as this process sees it.
    pub(super) thread: u32,
    pub(super) number: i64,
    pub(super) arguments: [u64; 6],
}

/// What becomes of a call.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    /// The kernel carries it out, as far as its rules allow.
    GoOn,
    /// It fails as it does without a watcher.
    Refuse,
}

/// Where the kernel reports calls.
pub(super) struct CallListener {
    descriptor: OwnedFd,
}

impl CallListener {
    /// Waits for the one that somebody hands over.
    pub(super) fn receive(door: &OwnedFd) -> io::Result<Self> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let parts = &mut [IoSliceMut::new(&mut byte)];
        rustix::net::recvmsg(door, parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        let descriptor = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        let descriptor = descriptor.ok_or(io::ErrorKind::UnexpectedEof)?;
        let listener = Self { descriptor };
        // Unknown to kernels before 6.6: then it is just slower.
        let _ = listener.request_number(SET_FLAGS, SYNC_WAKE_UP);
        Ok(listener)
    }

    /// The next call; `None` if its caller is gone already.
    pub(super) fn next(&mut self) -> io::Result<Option<WaitingCall>> {
        let mut report = [0_u64; REPORT_WORDS];
        if let Err(error) = self.request(RECEIVE, report.as_mut_ptr().cast()) {
            return match error.raw_os_error() {
                Some(libc::ENOENT | libc::EINTR) => Ok(None),
                _ => Err(error),
            };
        }
        // id; thread and flags; number and architecture; instruction; six arguments.
        let [id, thread, number, _, rest @ ..] = report;
        let half = |word: u64| u32::from_ne_bytes(first_half(word));
        let (arguments, _) = rest.split_first_chunk().ok_or(io::ErrorKind::InvalidData)?;
        Ok(Some(WaitingCall {
            id,
            thread: half(thread),
            number: i64::from(half(number)),
            arguments: *arguments,
        }))
    }

    /// Whether the caller still waits: if so, what was read of its memory was its own.
    pub(super) fn is_waiting(&self, call: &WaitingCall) -> bool {
        self.request_number(IS_VALID, call.id).is_ok()
    }

    pub(super) fn answer(&mut self, call: &WaitingCall, answer: Answer) -> io::Result<()> {
        let (error, flags): (c_int, u32) = match answer {
            Answer::GoOn => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
            Answer::Refuse => (-libc::EPERM, 0),
        };
        // id; value; error and flags.
        let mut last = [0; size_of::<u64>()];
        let (first, second) = last.split_at_mut(size_of::<c_int>());
        first.copy_from_slice(&error.to_ne_bytes());
        second.copy_from_slice(&flags.to_ne_bytes());
        let mut response = [call.id, 0, u64::from_ne_bytes(last)];
        match self.request(SEND, response.as_mut_ptr().cast()) {
            // It is gone, or does something else by now.
            Err(error) if error.raw_os_error() != Some(libc::ENOENT) => Err(error),
            _ => Ok(()),
        }
    }

    fn request_number(&self, request: c_ulong, mut number: u64) -> io::Result<()> {
        if request == SET_FLAGS {
            // This one takes its flags by value.
            let value = std::ptr::without_provenance_mut(number as usize);
            return self.request(request, value);
        }
        self.request(request, (&raw mut number).cast())
    }

    fn request(&self, request: c_ulong, argument: *mut c_void) -> io::Result<()> {
        // SAFETY: each request gets as much as it reads and writes, by the callers above.
        #[expect(unsafe_code, reason = "these requests have no safe wrappers")]
        let done = unsafe { libc::ioctl(self.descriptor.as_raw_fd(), request as _, argument) };
        if done == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

fn first_half(word: u64) -> [u8; 4] {
    let [a, b, c, d, ..] = word.to_ne_bytes();
    [a, b, c, d]
}

impl WaitingCall {
    /// The string at an address of the caller's.
    pub(super) fn string(&self, address: u64) -> io::Result<Vec<u8>> {
        /// Reading ends at the end of a page: the next one may not be there.
        const PAGE: usize = 4096;
        let mut text = Vec::new();
        let mut address = usize::try_from(address).map_err(io::Error::other)?;
        while text.len() < LONGEST_PATH {
            let mut piece = [0; PAGE];
            let room = PAGE - address % PAGE;
            let read = self.read(address, piece.get_mut(..room).unwrap_or_default())?;
            let read = piece.get(..read).unwrap_or_default();
            if let Some(end) = memchr::memchr(0, read) {
                text.extend(read.get(..end).unwrap_or_default());
                return Ok(text);
            }
            text.extend(read);
            address += room;
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    /// Reads from an address of the caller's; as much as is there.
    pub(super) fn read(&self, address: usize, into: &mut [u8]) -> io::Result<usize> {
        let ours = libc::iovec {
            iov_base: into.as_mut_ptr().cast(),
            iov_len: into.len(),
        };
        let its = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(address),
            iov_len: into.len(),
        };
        let thread = self.thread.cast_signed();
        // SAFETY: writes into our buffer alone, at most its length.
        #[expect(unsafe_code, reason = "this call has no safe wrapper")]
        let read =
            unsafe { libc::process_vm_readv(thread, &raw const ours, 1, &raw const its, 1, 0) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }
}

#[cfg(test)]
impl WaitingCall {
    /// A call of this number, whose caller is this process.
    pub(super) fn of(number: i64) -> Self {
        Self {
            id: 0,
            thread: std::process::id(),
            number,
            arguments: [0; 6],
        }
    }
}
