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

/// Refuses a process with more than one thread: locks held by the others would stay locked in a
/// forked child for ever.
pub(crate) fn check_single_thread() -> io::Result<()> {
    if std::fs::read_dir("/proc/self/task")?.count() > 1 {
        let text = "a process with several threads can't fork a keeper";
        return Err(io::Error::other(text));
    }
    Ok(())
}

/// Forks this process, which must have a single thread.
pub(crate) fn fork() -> io::Result<Forked> {
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
