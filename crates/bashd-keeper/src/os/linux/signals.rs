//! Signal dispositions of a keeper, and SIGCHLD as something to poll.

use std::io;
use std::mem;
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// Ignored in the keeper, so that a full pipe or a file-size limit is an error code to it; the
/// shell gets the defaults back. Every other signal is blocked: whatever a command sends to its
/// keeper, the keeper lives on.
pub(super) const IGNORED: [i32; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Read from the descriptor.
const WATCHED: [i32; 4] = [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// What a signalfd says about one signal.
type Info = libc::signalfd_siginfo;

/// How many signals one read takes. Each watched signal is pending at most once, so one read takes
/// them all, and its length shows that there are no more.
const MOST_PENDING: usize = WATCHED.len() + 1;

/// Signals that the C library keeps for its threads, and refuses to change. A program that it
/// started with `posix_spawn` finds them ignored, and so would every command below.
const LIBRARY_OWN: RangeInclusive<i32> = 32..=34;

/// Restores the default of a signal without asking the C library.
fn reset_by_kernel(signal: i32) {
    /// `struct sigaction` as the kernel has it, in which all zero is the default.
    const DEFAULT: [u64; 4] = [0; 4];
    /// Bytes of a signal mask.
    const MASK_BYTES: usize = 8;
    // SAFETY: no handler is installed; the kernel reads a struct of at most this size.
    #[expect(unsafe_code, reason = "the C library does not pass this on")]
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigaction,
            signal,
            DEFAULT.as_ptr(),
            ptr::null::<u64>(),
            MASK_BYTES,
        );
    }
}

/// The signals of this process as a descriptor.
pub struct SignalFd(OwnedFd);

/// What has arrived since the last look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrived {
    /// A child changed its state.
    pub child: bool,
    /// Somebody asked this process to end.
    pub end: bool,
}

/// Gives this process a keeper's dispositions: everything blocked, except what a keeper ignores;
/// what it heeds comes from the returned descriptor.
pub fn take_over() -> io::Result<SignalFd> {
    for signal in 1..=64 {
        let handler = if IGNORED.contains(&signal) {
            libc::SIG_IGN
        } else {
            libc::SIG_DFL
        };
        // SAFETY: only default and ignore are installed, no handler of ours. Errors (KILL, STOP,
        // and those that the C library keeps) are expected and mean nothing.
        #[expect(unsafe_code, reason = "signal dispositions have no safe wrapper")]
        unsafe {
            libc::signal(signal, handler);
        }
    }
    LIBRARY_OWN.for_each(reset_by_kernel);
    block_all()?;
    SignalFd::of_this_process()
}

/// Blocks every signal that can be blocked. The C library would leave its own out.
fn block_all() -> io::Result<()> {
    // A mask as the kernel has it, with every signal in it.
    let all = u64::MAX;
    // SAFETY: the kernel reads a mask of the size that is passed; the result is checked.
    #[expect(unsafe_code, reason = "the C library does not pass all of this on")]
    let done = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const all,
            ptr::null_mut::<u64>(),
            size_of::<u64>(),
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

impl std::os::fd::AsFd for SignalFd {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl SignalFd {
    /// What this process heeds, as a descriptor. A forked child makes one of its own: on Linux that
    /// of its parent would do, but gVisor's goes on to report the signals of who made it.
    pub fn of_this_process() -> io::Result<Self> {
        let set = set_of(&WATCHED);
        // SAFETY: `set` is an initialized signal set; the result is checked.
        #[expect(unsafe_code, reason = "signalfd has no safe wrapper")]
        unsafe {
            let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd == -1 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Takes what has arrived, without waiting.
    pub fn take(&self) -> Arrived {
        let mut arrived = Arrived::default();
        loop {
            let mut infos = [const { mem::MaybeUninit::uninit() }; MOST_PENDING];
            let taken = self.read(&mut infos);
            for info in taken {
                if info.ssi_signo as i32 == libc::SIGCHLD {
                    arrived.child = true;
                } else {
                    arrived.end = true;
                }
            }
            if taken.len() < MOST_PENDING {
                return arrived;
            }
        }
    }

    /// Reads what has arrived, as far as there is room for it.
    fn read<'a>(&self, infos: &'a mut [mem::MaybeUninit<Info>]) -> &'a [Info] {
        let room = size_of_val(infos);
        // SAFETY: the buffer has the size that is passed, and only what was filled whole is read.
        #[expect(unsafe_code, reason = "a signalfd yields C structs")]
        unsafe {
            let read = libc::read(self.0.as_raw_fd(), infos.as_mut_ptr().cast(), room);
            let count = usize::try_from(read).unwrap_or_default() / size_of::<Info>();
            std::slice::from_raw_parts(infos.as_ptr().cast(), count)
        }
    }
}

/// Whether this process was started with SIGHUP ignored, and has left it so.
pub fn is_hang_up_ignored() -> bool {
    let mut action = mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: nothing is installed; the answer is read only where it was written.
    #[expect(unsafe_code, reason = "signal dispositions have no safe wrapper")]
    unsafe {
        libc::sigaction(libc::SIGHUP, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Restores the default for the signals with which people and systems end programs, whatever
/// handled them until now.
pub fn end_by_default() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        if signal == libc::SIGHUP && is_hang_up_ignored() {
            continue;
        }
        // SAFETY: only the default is installed, no handler of ours.
        #[expect(unsafe_code, reason = "signal dispositions have no safe wrapper")]
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

/// Puts the shell's signals in place: defaults and an empty mask. Runs between clone and exec.
pub(super) fn restore_defaults() {
    let empty = set_of(&[]);
    // SAFETY: async-signal-safe calls on initialized values.
    #[expect(unsafe_code, reason = "runs between clone and exec")]
    unsafe {
        for signal in IGNORED {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const empty, ptr::null_mut());
    }
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = mem::MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initializes the set; the numbers are valid signals.
    #[expect(unsafe_code, reason = "signal sets have no safe wrapper")]
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}
