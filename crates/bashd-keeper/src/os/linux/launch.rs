//! Starting the shell: clone like vfork, set up the child, exec.
//!
//! `posix_spawn` would do most of this, but has neither a parent-death signal nor a place for the
//! sandbox. The child shares the keeper's memory until it execs (the keeper is suspended
//! meanwhile), so nothing is copied and an error is just a value left in a struct.

use super::{namespaces, signals};
use crate::variables::Variables;
use rustix::process::Pid;
use seccompiler::sock_filter;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;

/// Stack of the child between clone and exec; it makes a handful of system calls.
const STACK_BYTES: usize = 64 * 1024;

/// The lowest descriptor that the shell must not see.
const FIRST_PRIVATE_FD: RawFd = 3;

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
    /// In a view of its own: the path where it begins, and the device and inode that must be there,
    /// if they can be compared. It is then a child of our parent.
    pub directory: Option<(&'a CStr, Option<(u64, u64)>)>,
}

/// Which terminal becomes the session's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controls {
    /// None: nothing can prompt a person.
    Nothing,
    /// The one on stdout.
    Stdout,
}

/// Everything the child needs, as plain values, and the place where it leaves an error.
struct Child {
    program: *const c_char,
    argv: *const *const c_char,
    env: *const *const c_char,
    cwd: RawFd,
    stdio: [RawFd; 3],
    extra: *mut RawFd,
    extra_count: usize,
    controls: Controls,
    group: Option<RawFd>,
    limits: *const (u32, u64, u64),
    limit_count: usize,
    bonds: Option<ChildBonds>,
    errno: c_int,
}

/// The bonds of a child, as plain values.
struct ChildBonds {
    ruleset: RawFd,
    program: libc::sock_fprog,
    directory: Option<(*const c_char, Option<(u64, u64)>)>,
}

impl ChildBonds {
    fn of(bonds: &Bonds<'_>) -> io::Result<Self> {
        let filter: *const sock_filter = bonds.program.as_ptr();
        Ok(Self {
            ruleset: bonds.ruleset.as_raw_fd(),
            program: libc::sock_fprog {
                len: u16::try_from(bonds.program.len()).map_err(io::Error::other)?,
                filter: filter.cast::<libc::sock_filter>().cast_mut(),
            },
            directory: bonds.directory.map(|(path, there)| (path.as_ptr(), there)),
        })
    }
}

/// Starts the program in its own session and returns its pid; the error is the child's own.
pub fn launch(what: &Launch<'_>, held: &Hold<'_>) -> io::Result<Pid> {
    let argv = pointers(what.argv.iter().map(CString::as_c_str));
    let env = pointers(what.env.c_strings());
    let mut extra: Vec<RawFd> = what.extra.iter().map(AsRawFd::as_raw_fd).collect();
    let mut child = Child {
        program: what.program.as_ptr(),
        argv: argv.as_ptr(),
        env: env.as_ptr(),
        cwd: what.cwd.as_raw_fd(),
        stdio: what.stdio.map(|fd| fd.as_raw_fd()),
        extra: extra.as_mut_ptr(),
        extra_count: extra.len(),
        controls: what.controls,
        group: held.group.map(|fd| fd.as_raw_fd()),
        limits: held.limits.as_ptr(),
        limit_count: held.limits.len(),
        bonds: held.bonds.as_ref().map(ChildBonds::of).transpose()?,
        errno: 0,
    };
    let is_in_view = held.bonds.is_some_and(|bonds| bonds.directory.is_some());
    let parent = if is_in_view { libc::CLONE_PARENT } else { 0 };
    // Not zeroed: the child touches only a page or two of it.
    let mut stack = Vec::<u128>::with_capacity(STACK_BYTES / size_of::<u128>());
    let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
    // SAFETY: the child runs `set_up_and_exec` on its own aligned stack while this thread is
    // suspended (CLONE_VFORK); `child`, `argv`, `env`, `extra` and `stack` outlive that. The
    // process has no other thread and no signal handler.
    #[expect(unsafe_code, reason = "clone has no safe wrapper")]
    let pid = unsafe {
        libc::clone(
            set_up_and_exec,
            top.cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD | parent,
            (&raw mut child).cast(),
        )
    };
    if pid == -1 {
        return Err(io::Error::last_os_error());
    }
    let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("clone returned no pid"))?;
    // SAFETY: written by the child before it ended, which was before clone returned.
    #[expect(unsafe_code, reason = "the child wrote through a pointer")]
    let errno = unsafe { ptr::read_volatile(&raw const child.errno) };
    if errno == 0 {
        return Ok(pid);
    }
    let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    Err(io::Error::from_raw_os_error(errno))
}

fn pointers<'a>(strings: impl Iterator<Item = &'a CStr>) -> Vec<*const c_char> {
    let pointers = strings.map(CStr::as_ptr);
    pointers.chain([ptr::null()]).collect()
}

/// Runs in the child, on borrowed memory: system calls only, no allocation, no return to Rust code
/// of the keeper.
extern "C" fn set_up_and_exec(argument: *mut c_void) -> c_int {
    // SAFETY: `launch` passes a `Child` that lives until exec, and is suspended meanwhile.
    #[expect(unsafe_code, reason = "runs between clone and exec")]
    unsafe {
        let child = &mut *argument.cast::<Child>();
        signals::restore_defaults();
        if become_leader().is_some()
            && restrain(child).is_some()
            && go_to_directory(child).is_some()
            && tie(child).is_some()
            && place_descriptors(child).is_some()
            && take_terminal(child).is_some()
            && give_up_rights(child).is_some()
        {
            libc::execve(child.program, child.argv, child.env);
        }
        child.errno = *libc::__errno_location();
        libc::_exit(127)
    }
}

/// Gives the child its own session and process group, and makes it die with its keeper as a second
/// line of defence.
fn become_leader() -> Option<()> {
    // SAFETY: plain system calls.
    #[expect(unsafe_code, reason = "runs between clone and exec")]
    let done =
        unsafe { libc::setsid() != -1 && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0 };
    done.then_some(())
}

/// Goes where the program begins. Into a view of its own no descriptor of a directory leads: it is
/// entered by its path there, which must be the same directory.
fn go_to_directory(child: &Child) -> Option<()> {
    let view = child.bonds.as_ref().and_then(|bonds| bonds.directory);
    // SAFETY: plain system calls; the path is borrowed from the suspended parent, and all zeroes is
    // a valid value of the plain struct.
    #[expect(unsafe_code, reason = "runs between clone and exec")]
    unsafe {
        let Some((path, expected)) = view else {
            return (libc::fchdir(child.cwd) == 0).then_some(());
        };
        let mut found: libc::stat = std::mem::zeroed();
        if libc::chdir(path) != 0 || libc::stat(c".".as_ptr(), &raw mut found) != 0 {
            return None;
        }
        if expected.is_some_and(|there| there != (found.st_dev, found.st_ino)) {
            *libc::__errno_location() = libc::ESTALE;
            return None;
        }
    }
    Some(())
}

/// Ties the process to its ruleset; no program that it executes can get more rights.
fn tie(child: &Child) -> Option<()> {
    let Some(bonds) = &child.bonds else {
        return Some(());
    };
    // SAFETY: plain system calls.
    #[expect(unsafe_code, reason = "runs between clone and exec")]
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_landlock_restrict_self, bonds.ruleset, 0) == 0
    };
    done.then_some(())
}

/// Gives up capabilities, and system calls: the last thing, since what came before needed both.
fn give_up_rights(child: &Child) -> Option<()> {
    let Some(bonds) = &child.bonds else {
        return Some(());
    };
    // SAFETY: plain system calls; the filter is borrowed from the suspended parent.
    #[expect(unsafe_code, reason = "runs between clone and exec")]
    let done = unsafe {
        namespaces::give_up_capabilities()
            && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
            && libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                &raw const bonds.program,
            ) == 0
    };
    done.then_some(())
}

/// Enters the control group, and lowers the limits of this process and of everything it will start.
fn restrain(child: &Child) -> Option<()> {
    // SAFETY: plain system calls; the limits are borrowed from the suspended keeper.
    #[expect(unsafe_code, reason = "runs between clone and exec")]
    unsafe {
        if let Some(group) = child.group
            && libc::write(group, c"0".as_ptr().cast(), 1) != 1
        {
            return None;
        }
        for index in 0..child.limit_count {
            let (which, soft, hard) = *child.limits.add(index);
            let mut limit = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            if libc::getrlimit(which, &raw mut limit) != 0 {
                return None;
            }
            limit.rlim_max = limit.rlim_max.min(hard);
            limit.rlim_cur = limit.rlim_max.min(soft);
            if libc::setrlimit(which, &raw const limit) != 0 {
                return None;
            }
        }
    }
    Some(())
}

/// Makes the terminal the session's own, so that keys become signals and job control works.
fn take_terminal(child: &Child) -> Option<()> {
    if child.controls == Controls::Nothing {
        return Some(());
    }
    // SAFETY: a plain system call; stdout is in place.
    #[expect(unsafe_code, reason = "runs between clone and exec")]
    let taken = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCSCTTY, 0) };
    (taken == 0).then_some(())
}

fn place_descriptors(child: &Child) -> Option<()> {
    // SAFETY: plain system calls; the extra descriptors are borrowed from the suspended keeper. The
    // sources of 0 to 2 are above 2, so that no dup2 overwrites a later one, and the extra ones
    // come last.
    #[expect(unsafe_code, reason = "runs between clone and exec")]
    unsafe {
        for (target, &source) in (0..).zip(&child.stdio) {
            if libc::dup2(source, target) == -1 {
                return None;
            }
        }
        let first_private = place_extra(child)?;
        // A kernel without close_range does no harm: everything of ours is close-on-exec.
        libc::syscall(libc::SYS_close_range, first_private, c_int::MAX, 0);
    }
    Some(())
}

/// Puts the extra descriptors into their places; returns the number behind the last.
fn place_extra(child: &Child) -> Option<RawFd> {
    let end = FIRST_PRIVATE_FD + RawFd::try_from(child.extra_count).ok()?;
    // SAFETY: plain system calls; the numbers are borrowed from the suspended keeper.
    #[expect(unsafe_code, reason = "runs between clone and exec")]
    unsafe {
        // One that is in the place of another goes out of the way. So does one that is in its own:
        // a dup2 onto itself would leave close-on-exec set.
        for index in 0..child.extra_count {
            let source = child.extra.add(index);
            if *source < end {
                *source = libc::fcntl(*source, libc::F_DUPFD_CLOEXEC, end);
            }
        }
        for (index, target) in (0..child.extra_count).zip(FIRST_PRIVATE_FD..) {
            if libc::dup2(*child.extra.add(index), target) == -1 {
                return None;
            }
        }
    }
    Some(end)
}
