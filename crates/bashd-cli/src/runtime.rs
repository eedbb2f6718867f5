//! The runtime of every front end that waits for something.

use std::io;
use std::os::fd::OwnedFd;
use tokio::runtime::{Builder, Runtime};

/// Descriptors that a runtime opens for itself, and one to spare.
const OWN_DESCRIPTORS: usize = 6;

/// Builds a runtime of one thread.
pub(crate) fn build() -> io::Result<Runtime> {
    check_room()?;
    Builder::new_current_thread().enable_all().build()
}

/// Fails if there are too few descriptors: tokio panics if it can't open those for its signals.
fn check_room() -> io::Result<()> {
    let one = || rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 0);
    let held: Result<Vec<OwnedFd>, _> = std::iter::repeat_with(one).take(OWN_DESCRIPTORS).collect();
    held.map(drop).map_err(io::Error::from)
}
