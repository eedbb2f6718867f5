//! Forking a keeper from a process that has one thread and agreed to it.

use rustix::process::Pid;
use std::os::unix::fs::MetadataExt;
use std::{fs, io};

/// On which side of the fork we are.
pub enum Forked {
    /// The process that forked, with its child's pid.
    Parent(Pid),
    /// The child.
    Child,
}

/// Refuses a process with more than one thread: locks held by the other threads would stay locked
/// forever in a forked child.
pub fn check_single_thread() -> io::Result<()> {
    /// A directory's usual links plus one for a single thread: then there is no need to read it.
    const LINKS: u64 = 3;
    let threads = "/proc/self/task";
    if fs::metadata(threads)?.nlink() != LINKS && fs::read_dir(threads)?.count() > 1 {
        let text = "a process with several threads can't fork a keeper";
        return Err(io::Error::other(text));
    }
    Ok(())
}

/// Forks this process, which must have a single thread.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: the process has one thread, so that the child owns a consistent copy of everything.
    #[expect(unsafe_code, reason = "fork has no safe wrapper")]
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            abort_on_panic();
            Ok(Forked::Child)
        }
        pid => Pid::from_raw(pid)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("fork")),
    }
}

/// Forks this process, which must have a single thread. The child is its sibling: its parent is
/// ours.
pub(super) fn fork_sibling() -> io::Result<Forked> {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: as `fork`: the process has one thread; without a stack the child goes on with a copy
    // of ours.
    #[expect(unsafe_code, reason = "clone has no safe wrapper")]
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    cloned(pid)
}

/// Forks this process, which must have a single thread. No wait of its parent reports the child,
/// and no signal tells of its end.
pub(super) fn fork_unreported() -> io::Result<Forked> {
    // SAFETY: as `fork_sibling`.
    #[expect(unsafe_code, reason = "clone has no safe wrapper")]
    let pid = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
    cloned(pid)
}

fn cloned(pid: libc::c_long) -> io::Result<Forked> {
    match i32::try_from(pid) {
        Ok(-1) | Err(_) => Err(io::Error::last_os_error()),
        Ok(0) => Ok(Forked::Child),
        Ok(pid) => Pid::from_raw(pid)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("clone")),
    }
}

/// Makes a panic end this process where it happens. Unwinding would run the rest of the program
/// that it was forked from: destructors, exit status, and whatever comes next.
fn abort_on_panic() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        told(panic);
        std::process::abort();
    }));
}

/// Ends this process at once: no destructors, no exit handlers of a host we were forked from.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` takes no memory of ours and does not return.
    #[expect(unsafe_code, reason = "_exit has no safe wrapper")]
    unsafe {
        libc::_exit(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, WaitOptions};

    #[test]
    fn a_process_with_several_threads_is_refused() {
        std::thread::scope(|scope| {
            let (done, waits) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || waits.recv());
            assert!(check_single_thread().is_err());
            drop(done);
        });
    }

    #[test]
    fn one_thread_is_told_by_the_links_of_its_directory() {
        let child = match fork().unwrap() {
            Forked::Parent(child) => child,
            // Only the thread that forks exists in the child.
            Forked::Child => exit_now(i32::from(check_single_thread().is_err())),
        };
        let (_, status) = rustix::process::waitpid(Some(child), WaitOptions::empty())
            .unwrap()
            .unwrap();
        assert_eq!(status.exit_status(), Some(0), "{status:?}");
    }

    #[test]
    fn a_panic_ends_a_forked_process_where_it_happens() {
        let child = match fork().unwrap() {
            Forked::Parent(child) => child,
            Forked::Child => {
                let caught = std::panic::catch_unwind(|| panic!("a defect in a keeper"));
                exit_now(i32::from(caught.is_err()))
            }
        };
        let (_, status) = rustix::process::waitpid(Some(child), WaitOptions::empty())
            .unwrap()
            .unwrap();
        assert_eq!(
            status.terminating_signal(),
            Some(Signal::ABORT.as_raw()),
            "{status:?}"
        );
    }
}
