//! Watching a descriptor with the async runtime.

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the current runtime, which must have its I/O driver enabled.
///
/// Only for reading: a socket that is also watched for writing wakes its thread each time the other
/// end takes a message.
pub(crate) fn register(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    #[expect(
        unsafe_code,
        reason = "the runtime relies on the descriptor staying open"
    )]
    // SAFETY: an `OwnedFd` is open, stays the same descriptor, and is closed only when dropped.
    let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
    Ok(registered?)
}
