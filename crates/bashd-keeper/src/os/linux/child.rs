//! What a process does between its making and its exec: system calls only, no allocation. It may
//! run on memory borrowed from its keeper (`launch`), or wait ahead in a confinement of its own
//! (`confine`).

use super::{namespaces, signals};
use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong};
use std::os::fd::RawFd;

/// The lowest descriptor that the program must not see.
const FIRST_PRIVATE_FD: RawFd = 3;

/// Has `close_range` mark instead of close: the exec closes.
const MARK_ONLY: c_uint = 1 << 2;

/// The steps of a start, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchStep {
    /// A process of its own.
    Process,
    /// Its own session.
    Session,
    /// What confines it.
    Bonds,
    /// Its control group, and its limits.
    Limits,
    /// The directory in which it begins.
    Directory,
    /// Its descriptors.
    Descriptors,
    /// Its terminal.
    Terminal,
    /// The program itself.
    Program,
}

impl LaunchStep {
    const ALL: [Self; 8] = [
        Self::Process,
        Self::Session,
        Self::Bonds,
        Self::Limits,
        Self::Directory,
        Self::Descriptors,
        Self::Terminal,
        Self::Program,
    ];

    /// Its number, for a process that can say no more.
    pub(super) fn number(self) -> u8 {
        self as u8
    }

    /// The step of this number.
    pub(super) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// Which terminal becomes the session's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controls {
    /// None: nothing can prompt a person.
    Nothing,
    /// The one on stdout.
    Stdout,
}

/// Everything that the last steps need, as plain values.
#[derive(Clone, Copy)]
pub(super) struct Child {
    pub(super) program: *const c_char,
    pub(super) argv: *const *const c_char,
    pub(super) env: *const *const c_char,
    pub(super) directory: ChildDirectory,
    pub(super) stdio: [RawFd; 3],
    pub(super) extra: *mut RawFd,
    pub(super) extra_count: usize,
    pub(super) controls: Controls,
    pub(super) group: Option<RawFd>,
    pub(super) limits: *const (u32, u64, u64),
    pub(super) limit_count: usize,
}

/// Where the program begins.
#[derive(Clone, Copy)]
pub(super) enum ChildDirectory {
    /// In an open directory.
    Open(RawFd),
    /// In a view of its own, into which no descriptor of a directory leads: at a path there, and
    /// with this device and inode, if they can be compared. Where the program goes by itself, or
    /// null, must be there, too.
    Path(*const c_char, Option<(u64, u64)>, *const c_char),
}

/// What confines a process, as plain values.
pub(super) struct ChildBonds {
    pub(super) ruleset: RawFd,
    pub(super) program: libc::sock_fprog,
    /// Who wants the listener of the filter, if it has one.
    pub(super) watcher: Option<RawFd>,
}

/// Gives the process its own session and process group, and makes it die with its keeper as a
/// second line of defence.
///
/// # Safety
///
/// For a process that is to execute something, and has no handlers of signals.
#[expect(unsafe_code, reason = "runs between clone and exec")]
pub(super) unsafe fn lead() -> Result<(), LaunchStep> {
    signals::restore_defaults();
    // SAFETY: plain system calls.
    let done =
        unsafe { libc::setsid() != -1 && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0 };
    done.then_some(()).ok_or(LaunchStep::Session)
}

/// Ties the process to its ruleset, and gives up capabilities and system calls: no program that it
/// executes can get more rights.
///
/// # Safety
///
/// The filter is valid.
#[expect(unsafe_code, reason = "runs between clone and exec")]
pub(super) unsafe fn bind(bonds: &ChildBonds) -> Result<(), LaunchStep> {
    // SAFETY: plain system calls; the filter outlives them.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_landlock_restrict_self, bonds.ruleset, 0) == 0
            && namespaces::give_up_capabilities()
            && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
            && match bonds.watcher {
                None => filter_calls(bonds, 0) == 0,
                Some(watcher) => filter_watched(bonds, watcher),
            }
    };
    done.then_some(()).ok_or(LaunchStep::Bonds)
}

#[expect(unsafe_code, reason = "runs between clone and exec")]
unsafe fn filter_calls(bonds: &ChildBonds, flags: c_ulong) -> c_long {
    // SAFETY: a plain system call; the filter outlives it.
    unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const bonds.program,
        )
    }
}

/// Installs a filter that reports calls, and hands its listener over. From then on this process
/// waits for the watcher at every call that is watched.
#[expect(unsafe_code, reason = "runs between clone and exec")]
unsafe fn filter_watched(bonds: &ChildBonds, watcher: RawFd) -> bool {
    let listens = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // SAFETY: plain system calls; the filter outlives them, the descriptor is our own.
    unsafe {
        // A signal between report and answer would have the call reported without end.
        let killable = libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        let mut listener = filter_calls(bonds, listens | killable);
        if listener == -1 && *libc::__errno_location() == libc::EINVAL {
            listener = filter_calls(bonds, listens); // Linux before 5.19
        }
        let Ok(listener) = RawFd::try_from(listener) else {
            return false;
        };
        let is_sent = listener != -1 && send_descriptor(watcher, listener);
        libc::close(watcher);
        if listener != -1 {
            libc::close(listener);
        }
        is_sent
    }
}

/// Sends a descriptor with one byte.
#[expect(unsafe_code, reason = "runs between clone and exec")]
unsafe fn send_descriptor(socket: RawFd, descriptor: RawFd) -> bool {
    let mut byte = 0_u8;
    let mut part = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    // Aligned, and enough for one descriptor.
    let mut space = [0_u64; 4];
    // SAFETY: all zeroes is a valid value of the plain struct; what it points to outlives the call,
    // and has room for the header and one number.
    unsafe {
        let size = size_of::<RawFd>() as c_uint;
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = space.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(header)
            .cast::<RawFd>()
            .write_unaligned(descriptor);
        libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) == 1
    }
}

/// Becomes the program; returns only the step that failed, whose error is the thread's last.
///
/// # Safety
///
/// What the pointers point to is valid.
#[expect(unsafe_code, reason = "runs between clone and exec")]
pub(super) unsafe fn become_program(child: &Child) -> LaunchStep {
    // SAFETY: as promised.
    unsafe {
        if restrain(child).is_none() {
            return LaunchStep::Limits;
        }
        if go_to_directory(child).is_none() {
            return LaunchStep::Directory;
        }
        if place_descriptors(child).is_none() {
            return LaunchStep::Descriptors;
        }
        if take_terminal(child).is_none() {
            return LaunchStep::Terminal;
        }
        libc::execve(child.program, child.argv, child.env);
        LaunchStep::Program
    }
}

/// Goes where the program begins. In a view of its own that must be the same directory as outside.
#[expect(unsafe_code, reason = "runs between clone and exec")]
unsafe fn go_to_directory(child: &Child) -> Option<()> {
    // SAFETY: plain system calls on valid paths; all zeroes is a valid value of the plain struct.
    unsafe {
        let (path, expected, goes_to) = match child.directory {
            ChildDirectory::Open(fd) => return (libc::fchdir(fd) == 0).then_some(()),
            ChildDirectory::Path(path, expected, goes_to) => (path, expected, goes_to),
        };
        let mut found: libc::stat = std::mem::zeroed();
        if !goes_to.is_null() && libc::chdir(goes_to) != 0 {
            return None;
        }
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

/// Enters the control group, and lowers the limits of this process and of everything it will start.
#[expect(unsafe_code, reason = "runs between clone and exec")]
unsafe fn restrain(child: &Child) -> Option<()> {
    // SAFETY: plain system calls on valid values.
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
            // Each C library has its own type for it.
            if libc::getrlimit(which as _, &raw mut limit) != 0 {
                return None;
            }
            limit.rlim_max = limit.rlim_max.min(hard);
            limit.rlim_cur = limit.rlim_max.min(soft);
            if libc::setrlimit(which as _, &raw const limit) != 0 {
                return None;
            }
        }
    }
    Some(())
}

/// Makes the terminal the session's own, so that keys become signals and job control works.
#[expect(unsafe_code, reason = "runs between clone and exec")]
unsafe fn take_terminal(child: &Child) -> Option<()> {
    if child.controls == Controls::Nothing {
        return Some(());
    }
    // SAFETY: a plain system call; stdout is in place.
    let taken = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCSCTTY, 0) };
    (taken == 0).then_some(())
}

#[expect(unsafe_code, reason = "runs between clone and exec")]
unsafe fn place_descriptors(child: &Child) -> Option<()> {
    // SAFETY: plain system calls on valid values. The sources of 0 to 2 are above 2, so that no
    // dup2 overwrites a later one, and the extra ones come last.
    unsafe {
        for (target, &source) in (0..).zip(&child.stdio) {
            if libc::dup2(source, target) == -1 {
                return None;
            }
        }
        let first_private = place_extra(child)?;
        // Marked, not closed: a process that waited ahead still has to say what fails. A kernel
        // that can't do so does no harm: everything of ours is close-on-exec.
        libc::syscall(libc::SYS_close_range, first_private, c_int::MAX, MARK_ONLY);
    }
    Some(())
}

/// Puts the extra descriptors into their places; returns the number behind the last.
#[expect(unsafe_code, reason = "runs between clone and exec")]
unsafe fn place_extra(child: &Child) -> Option<RawFd> {
    let end = FIRST_PRIVATE_FD + RawFd::try_from(child.extra_count).ok()?;
    // SAFETY: plain system calls on valid values.
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
