//! Processes that share this one's memory, and nothing else of it: making one copies no page table,
//! touches no page for the first time, and leaves nothing to free when it executes a program.
//!
//! Everybody who shares memory must take turns: this process has one thread, and either waits for
//! the other one, or knows that it is asleep in the kernel and will touch nothing but its own
//! stack.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use rustix::process::{Pid, WaitOptions};
use std::ffi::{c_int, c_void};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Bytes of a stack: only what is used of it becomes memory.
const STACK_BYTES: usize = 1 << 20;

/// Bytes below it that nobody can touch.
const GUARD_BYTES: usize = 64 * 1024;

/// The stack of a process that shares our memory.
pub(super) struct BorrowedStack {
    base: *mut c_void,
}

impl BorrowedStack {
    /// A stack that nobody uses yet.
    pub(super) fn new() -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
        // SAFETY: new memory, wherever there is room; its lowest part is closed before anybody
        // uses it.
        #[expect(unsafe_code, reason = "mapping memory has no safe wrapper")]
        let base = unsafe {
            let base = rustix::mm::mmap_anonymous(ptr::null_mut(), STACK_BYTES, access, flags)?;
            rustix::mm::mprotect(base, GUARD_BYTES, MprotectFlags::empty())?;
            base
        };
        Ok(Self { base })
    }

    /// Its upper end, where a process begins.
    fn top(&self) -> *mut c_void {
        self.base.wrapping_byte_add(STACK_BYTES)
    }
}

impl Drop for BorrowedStack {
    fn drop(&mut self) {
        // SAFETY: whoever ran on it is gone, or has memory of its own by now.
        #[expect(unsafe_code, reason = "unmapping memory has no safe wrapper")]
        let _ = unsafe { rustix::mm::munmap(self.base, STACK_BYTES) };
    }
}

/// What is done by another process, and what came of it.
struct SharedErrand<F, T> {
    todo: Option<F>,
    done: Option<T>,
}

/// Has a child process do something while this one, which must have one thread, waits for it. It
/// has our memory, and descriptors, directory and namespaces of its own: it must not close what a
/// value here owns.
pub(super) fn in_child<T>(todo: impl FnOnce() -> T) -> io::Result<T> {
    let stack = BorrowedStack::new()?;
    let mut errand = SharedErrand {
        todo: Some(todo),
        done: None,
    };
    let run = run_errand_of(&errand);
    // SAFETY: the child runs on a stack of its own while this process is suspended, and the errand
    // outlives it.
    #[expect(unsafe_code, reason = "clone has no safe wrapper")]
    let pid = unsafe {
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        libc::clone(run, stack.top(), flags, (&raw mut errand).cast())
    };
    let pid = pid_of(pid)?;
    let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
    errand
        .done
        .ok_or_else(|| io::Error::other("it ended early"))
}

/// What runs an errand of this type.
fn run_errand_of<F: FnOnce() -> T, T>(
    _: &SharedErrand<F, T>,
) -> extern "C" fn(*mut c_void) -> c_int {
    run_errand::<F, T>
}

extern "C" fn run_errand<F: FnOnce() -> T, T>(errand: *mut c_void) -> c_int {
    // SAFETY: `in_child` passes an errand of this type, which nobody else uses meanwhile.
    #[expect(unsafe_code, reason = "a plain function gets a plain pointer")]
    let errand = unsafe { &mut *errand.cast::<SharedErrand<F, T>>() };
    let todo = errand.todo.take();
    // There is no frame below to which a panic could unwind.
    let done = catch_unwind(AssertUnwindSafe(|| todo.map(|todo| todo())));
    errand.done = done.ok().flatten();
    0
}

/// Starts a sibling (its parent is ours) that shares our memory, on this stack.
///
/// # Safety
///
/// `run` gets `argument`, which outlives what it does with it, and never returns. Until it executes
/// a program or ends, it and everybody else who has this memory take turns, and the stack stays.
#[expect(unsafe_code, reason = "both go on with the same memory")]
pub(super) unsafe fn start_sibling(
    stack: &BorrowedStack,
    run: extern "C" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
) -> io::Result<Pid> {
    let flags = libc::CLONE_VM | libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: as the caller promises.
    pid_of(unsafe { libc::clone(run, stack.top(), flags, argument) })
}

fn pid_of(cloned: c_int) -> io::Result<Pid> {
    if cloned == -1 {
        return Err(io::Error::last_os_error());
    }
    Pid::from_raw(cloned).ok_or_else(|| io::Error::other("clone returned no pid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_our_memory_and_a_directory_of_its_own() {
        let before = std::env::current_dir().unwrap();
        let mut seen = Vec::new();
        let own = in_child(|| {
            rustix::process::chdir("/").unwrap();
            seen.push(std::env::current_dir().unwrap());
            rustix::process::getpid()
        });
        assert_eq!(seen, [std::path::PathBuf::from("/")]);
        assert_ne!(own.unwrap(), rustix::process::getpid());
        assert_eq!(std::env::current_dir().unwrap(), before);
    }

    #[test]
    fn a_panic_of_a_child_is_an_error_here() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let done: io::Result<()> = in_child(|| panic!("a defect"));
        std::panic::set_hook(hook);
        assert!(done.is_err());
    }
}
