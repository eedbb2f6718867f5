//! Letting go of everything a keeper inherited.

use rustix::fs::{Mode, OFlags};
use std::ffi::c_int;
use std::io;
use std::os::fd::RawFd;

/// Points 0 to 2 at `/dev/null` and closes everything else but `keep`.
///
/// A keeper that outlives its engine must not hold the engine's pipes open, or their readers would
/// wait for as long as a survivor lives.
pub fn keep_only(keep: &[RawFd]) -> io::Result<()> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    std::mem::forget(null); // closed below with the rest
    let mut keep = keep.to_vec();
    keep.sort_unstable();
    let mut from = 3;
    for fd in keep.into_iter().filter(|&fd| fd >= 3) {
        close_range(from, fd - 1);
        from = fd + 1;
    }
    close_range(from, c_int::MAX);
    Ok(())
}

fn close_range(first: RawFd, last: RawFd) {
    if first <= last {
        // SAFETY: called in a fresh keeper only, before it owns any descriptor but the kept ones.
        #[expect(unsafe_code, reason = "close_range has no safe wrapper")]
        unsafe {
            libc::syscall(libc::SYS_close_range, first, last, 0);
        }
    }
}
