//! Starting the shell: clone like vfork, set up the child, exec.
//!
//! `posix_spawn` would do most of this, but has neither a parent-death signal nor a place for the
//! sandbox. The child shares the keeper's memory until it execs (the keeper is suspended
//! meanwhile), so nothing is copied and an error is just a value left in a struct.

use super::child::{self, Child, ChildBonds, ChildDirectory};
pub use super::child::{Controls, LaunchStep};
use crate::variables::Variables;
use rustix::process::Pid;
use seccompiler::sock_filter;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;

/// Stack of the child between clone and exec; it makes a handful of system calls.
const STACK_BYTES: usize = 64 * 1024;

/// What is to be started.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// Absolute path of the program.
    pub program: &'a CStr,
    /// Arguments, `argv[0]` first.
    pub argv: &'a [CString],
    /// The whole environment.
    pub env: &'a Variables,
    /// Working directory.
    pub cwd: BorrowedFd<'a>,
    /// Where the program goes by itself, if that is known: a confined one does not start without
    /// it.
    pub goes_to: Option<&'a CStr>,
    /// stdin, stdout, stderr; each above 2.
    pub stdio: [BorrowedFd<'a>; 3],
    /// More descriptors, which become 3 and up: a script that is too long for an argument, or what
    /// a shell waits on.
    pub extra: &'a [BorrowedFd<'a>],
    /// The controlling terminal of the program's session.
    pub controls: Controls,
}

/// What applies to the program and everything that it starts, from before its first instruction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hold<'a> {
    /// `cgroup.procs` of the control group that it enters.
    pub group: Option<BorrowedFd<'a>>,
    /// Limits of each process: which one, soft, hard. They never raise a limit.
    pub limits: &'a [(u32, u64, u64)],
    /// What confines it.
    pub bonds: Option<Bonds<'a>>,
}

/// What confines a program. All of it was compiled before: here it is only applied.
#[derive(Debug, Clone, Copy)]
pub struct Bonds<'a> {
    /// A ruleset of Landlock.
    pub ruleset: BorrowedFd<'a>,
    /// A filter of system calls.
    pub program: &'a [sock_filter],
    /// Who wants the listener of the filter, if it has one.
    pub watcher: Option<BorrowedFd<'a>>,
}

impl Bonds<'_> {
    /// As plain values, valid as long as these are.
    pub(super) fn plain(&self) -> io::Result<ChildBonds> {
        let filter: *const sock_filter = self.program.as_ptr();
        Ok(ChildBonds {
            ruleset: self.ruleset.as_raw_fd(),
            program: libc::sock_fprog {
                len: u16::try_from(self.program.len()).map_err(io::Error::other)?,
                filter: filter.cast::<libc::sock_filter>().cast_mut(),
            },
            watcher: self.watcher.map(|door| door.as_raw_fd()),
        })
    }
}

/// What could not be done in order to start a program, and why.
#[derive(Debug)]
pub struct LaunchError {
    /// The step that failed.
    pub step: LaunchStep,
    /// The system's word.
    pub error: io::Error,
}

impl LaunchError {
    /// What was being done, for a person.
    pub fn doing(&self, what: &Launch<'_>) -> String {
        match self.step {
            LaunchStep::Process => "make a process".to_owned(),
            LaunchStep::Session => "make a session of its own".to_owned(),
            LaunchStep::Bonds => "apply what confines it".to_owned(),
            LaunchStep::Limits => "enter its control group and set its limits".to_owned(),
            LaunchStep::Directory => "go to its working directory".to_owned(),
            LaunchStep::Descriptors => "place its descriptors".to_owned(),
            LaunchStep::Terminal => "take its terminal".to_owned(),
            LaunchStep::Program => what.program.to_string_lossy().into_owned(),
        }
    }
}

/// What the child was given, and the place where it leaves an error.
struct Attempt {
    child: Child,
    bonds: Option<ChildBonds>,
    failed: LaunchStep,
    errno: c_int,
}

/// Starts the program in its own session and returns its pid; the error is the child's own.
pub fn launch(what: &Launch<'_>, held: &Hold<'_>) -> Result<Pid, LaunchError> {
    let at = |step| move |error| LaunchError { step, error };
    let argv = pointers(what.argv.iter().map(CString::as_c_str));
    let env = pointers(what.env.c_strings());
    let mut extra: Vec<RawFd> = what.extra.iter().map(AsRawFd::as_raw_fd).collect();
    let bonds = held.bonds.as_ref().map(Bonds::plain).transpose();
    let mut attempt = Attempt {
        child: Child {
            program: what.program.as_ptr(),
            argv: argv.as_ptr(),
            env: env.as_ptr(),
            directory: ChildDirectory::Open(what.cwd.as_raw_fd()),
            stdio: what.stdio.map(|fd| fd.as_raw_fd()),
            extra: extra.as_mut_ptr(),
            extra_count: extra.len(),
            controls: what.controls,
            group: held.group.map(|fd| fd.as_raw_fd()),
            limits: held.limits.as_ptr(),
            limit_count: held.limits.len(),
        },
        bonds: bonds.map_err(at(LaunchStep::Bonds))?,
        failed: LaunchStep::Process,
        errno: 0,
    };
    // Not zeroed: the child touches only a page or two of it.
    let mut stack = Vec::<u128>::with_capacity(STACK_BYTES / size_of::<u128>());
    let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
    // SAFETY: the child runs `set_up_and_exec` on its own aligned stack while this thread is
    // suspended (CLONE_VFORK); `attempt`, `argv`, `env`, `extra` and `stack` outlive that. The
    // process has no other thread and no signal handler.
    #[expect(unsafe_code, reason = "clone has no safe wrapper")]
    let pid = unsafe {
        libc::clone(
            set_up_and_exec,
            top.cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            (&raw mut attempt).cast(),
        )
    };
    if pid == -1 {
        return Err(at(LaunchStep::Process)(io::Error::last_os_error()));
    }
    let pid = Pid::from_raw(pid)
        .ok_or_else(|| at(LaunchStep::Process)(io::Error::other("clone returned no pid")))?;
    // SAFETY: written by the child before it ended, which was before clone returned.
    #[expect(unsafe_code, reason = "the child wrote through a pointer")]
    let (errno, failed) = unsafe {
        (
            ptr::read_volatile(&raw const attempt.errno),
            ptr::read_volatile(&raw const attempt.failed),
        )
    };
    if errno == 0 {
        return Ok(pid);
    }
    let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    Err(at(failed)(io::Error::from_raw_os_error(errno)))
}

/// Strings as a program gets them, valid as long as they are.
pub(super) fn pointers<'a>(strings: impl Iterator<Item = &'a CStr>) -> Vec<*const c_char> {
    let pointers = strings.map(CStr::as_ptr);
    pointers.chain([ptr::null()]).collect()
}

/// Runs in the child, on borrowed memory: system calls only, no allocation, no return to Rust code
/// of the keeper.
extern "C" fn set_up_and_exec(argument: *mut c_void) -> c_int {
    // SAFETY: `launch` passes an `Attempt` that lives until exec, and is suspended meanwhile.
    #[expect(unsafe_code, reason = "runs between clone and exec")]
    unsafe {
        let attempt = &mut *argument.cast::<Attempt>();
        let mut ready = child::lead();
        if let (Ok(()), Some(bonds)) = (ready, &attempt.bonds) {
            ready = child::bind(bonds);
        }
        attempt.failed = match ready {
            Ok(()) => child::become_program(&attempt.child),
            Err(step) => step,
        };
        attempt.errno = *libc::__errno_location();
        libc::_exit(127)
    }
}
