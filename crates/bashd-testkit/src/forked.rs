//! A fork without exec, as some hosts make it: Python's multiprocessing, programs that become
//! daemons.
//!
//! Such a child holds every descriptor of its parent, close-on-exec or not, for as long as it
//! lives.

use std::time::Duration;

/// How long the child lives if nobody ends it.
const BOUND: Duration = Duration::from_secs(30);

/// Forks; the child does nothing but hold what it inherited, and leaves after half a minute.
/// Returns its pid.
#[expect(unsafe_code, reason = "fork and _exit have no safe wrapper")]
pub fn without_exec() -> i32 {
    // SAFETY: the child makes two system calls, whatever threads and locks the parent has.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        std::thread::sleep(BOUND);
        // SAFETY: ends the process without running anything of the parent's.
        unsafe { libc::_exit(0) }
    }
    pid
}
