//! Forking a keeper from a process that has one thread and agreed to it.

use rustix::process::Pid;
use std::io;

/// On which side of the fork we are.
pub(crate) enum Forked {
    /// The process that forked, with its child's pid.
    Parent(Pid),
    /// The child.
    Child,
}

/// Forks a single-threaded process.
///
/// With more than one thread it refuses: locks held elsewhere would stay locked in the child for
/// ever.
pub(crate) fn fork() -> io::Result<Forked> {
    if threads()? > 1 {
        return Err(io::Error::other(
            "a process with several threads can't fork a keeper",
        ));
    }
    // SAFETY: the process has one thread, so that the child owns a consistent copy of everything.
    #[expect(unsafe_code, reason = "fork has no safe wrapper")]
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Pid::from_raw(pid)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("fork")),
    }
}

/// Ends this process at once: no destructors, no exit handlers of a host we were forked from.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` takes no memory of ours and does not return.
    #[expect(unsafe_code, reason = "_exit has no safe wrapper")]
    unsafe {
        libc::_exit(status)
    }
}

fn threads() -> io::Result<usize> {
    match std::fs::read_dir("/proc/self/task") {
        Ok(tasks) => Ok(tasks.count()),
        Err(error) => Err(error),
    }
}
