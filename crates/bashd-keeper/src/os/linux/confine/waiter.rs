//! The process that becomes a confined program: in the view, with everything given up that it has
//! to give up, it waits for what it is to execute. So all of this can be done ahead of a call.
//!
//! It has the memory of its keeper until then (`borrowed`), so an *order* is a byte with the
//! descriptors beside it; everything else stands on its *desk*. While it waits, it sleeps in the
//! kernel; while it works, the keeper sleeps, and it allocates nothing. An order that was carried
//! out is answered by the end of the socket, which the exec closes.

use super::super::borrowed::{BorrowedStack, start_sibling};
use super::super::child::{self, Child, ChildDirectory, LaunchStep};
use super::super::descriptors::keep_only;
use super::super::fork::exit_now;
use super::super::launch::{Bonds, Hold, Launch, LaunchError, pointers};
use super::super::passing::{self, MOST_DESCRIPTORS, ReceivedDescriptors, receive, send};
use super::super::seclusion::seclude;
use rustix::event::{PollFd, PollFlags};
use rustix::net::SendFlags;
use rustix::process::Pid;
use rustix::pty::OpenptFlags;
use std::ffi::{CStr, CString, c_int, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The longest answer: what it is, a step, an error.
const ANSWER_BYTES: usize = 6;

/// What an answer is about.
const READY: u8 = 0;
const FAILED: u8 = 1;

/// What an order asks for.
const EXECUTE: u8 = 0;
const OPEN_TERMINAL: u8 = 1;
const WAKE_UP: u8 = 2;

/// Stands for a descriptor that travels beside an order.
const TRAVELS: RawFd = -1;

/// Where a waiter will be, as its keeper sees it: made by the keeper, who has it until the waiter
/// has executed something, or is gone.
pub(super) struct WaiterPlace {
    socket: OwnedFd,
    desk: Box<WaiterDesk>,
    stack: BorrowedStack,
}

/// Where a waiter finds what it is to execute.
struct WaiterDesk {
    /// Its end of the socket, by its own number.
    socket: RawFd,
    order: AtomicPtr<Child>,
}

/// What a waiter begins with.
struct WaiterStart<'a> {
    desk: &'a WaiterDesk,
    bonds: &'a Bonds<'a>,
}

impl WaiterPlace {
    /// A place for a waiter; also returns its end of the socket, which it must have inherited.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (socket, inner) = passing::pair()?;
        let desk = Box::new(WaiterDesk {
            socket: inner.as_raw_fd(),
            order: AtomicPtr::new(ptr::null_mut()),
        });
        let stack = BorrowedStack::new()?;
        let place = Self {
            socket,
            desk,
            stack,
        };
        Ok((place, inner))
    }

    /// Starts a waiter there, in the namespaces and the view of this process, and waits until it
    /// waits: then everything holds that confines it. `made` is its pid as soon as there is one.
    /// Whoever shares the memory of this process must wait for it.
    pub(super) fn start(
        &self,
        bonds: &Bonds<'_>,
        made: &mut Option<Pid>,
    ) -> Result<(), LaunchError> {
        let start = WaiterStart {
            desk: &self.desk,
            bonds,
        };
        let argument = (&raw const start).cast_mut().cast();
        // SAFETY: this process does nothing until the waiter has said that it waits; `start`
        // outlives that, desk and stack outlive the waiter.
        #[expect(unsafe_code, reason = "both go on with the same memory")]
        let pid = unsafe { start_sibling(&self.stack, wait_inside, argument) };
        *made = Some(pid.map_err(lost)?);
        match self.hear()? {
            Some(_) => Ok(()),
            None => Err(lost(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// Has it become a program, in a directory that is told by its path.
    pub(super) fn execute(
        &self,
        what: &Launch<'_>,
        held: &Hold<'_>,
        directory: &CStr,
        expected: Option<(u64, u64)>,
    ) -> Result<(), LaunchError> {
        let argv = pointers(what.argv.iter().map(CString::as_c_str));
        let env = pointers(what.env.c_strings());
        let goes_to = what.goes_to.map_or(ptr::null(), CStr::as_ptr);
        let mut order = Child {
            program: what.program.as_ptr(),
            argv: argv.as_ptr(),
            env: env.as_ptr(),
            directory: ChildDirectory::Path(directory.as_ptr(), expected, goes_to),
            stdio: [TRAVELS; 3],
            extra: ptr::null_mut(),
            extra_count: what.extra.len(),
            controls: what.controls,
            group: held.group.map(|_| TRAVELS),
            limits: held.limits.as_ptr(),
            limit_count: held.limits.len(),
        };
        self.desk.order.store(&raw mut order, Ordering::Release);
        let group = held.group.into_iter();
        let stdio = what.stdio.into_iter().chain(what.extra.iter().copied());
        let fds: Vec<BorrowedFd<'_>> = stdio.chain(group).collect();
        send(self.socket.as_fd(), &[EXECUTE], &fds).map_err(lost)?;
        // Until it is answered, all of this stays where it is.
        match self.hear()? {
            None => Ok(()),
            Some(_) => Err(lost(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Has it look up: an order will follow. This is not answered.
    pub(super) fn wake(&self) {
        // One that was stopped keeps nobody waiting.
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = rustix::net::send(&self.socket, &[WAKE_UP], flags);
    }

    /// Has it open a terminal of its own view; returns both ends.
    pub(super) fn open_terminal(&self) -> Result<(OwnedFd, OwnedFd), LaunchError> {
        send(self.socket.as_fd(), &[OPEN_TERMINAL], &[]).map_err(lost)?;
        let mut ends = self.hear()?.unwrap_or_default().into_iter().flatten();
        match (ends.next(), ends.next()) {
            (Some(ours), Some(theirs)) => Ok((ours, theirs)),
            _ => Err(lost(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// What it says, with what it sends; `None` if it is not there any more.
    fn hear(&self) -> Result<Option<ReceivedDescriptors>, LaunchError> {
        // Asleep in a read, this process would be woken as soon as its order is taken, on the core
        // that the waiter needs.
        let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
        let polled = rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, None));
        polled.map_err(|error| lost(error.into()))?;
        let mut answer = [0; ANSWER_BYTES];
        let (count, fds) = receive(self.socket.as_fd(), &mut answer).map_err(lost)?;
        match answer {
            _ if count == 0 => Ok(None),
            [FAILED, step, a, b, c, d] => Err(LaunchError {
                step: LaunchStep::from_number(step).unwrap_or(LaunchStep::Process),
                error: io::Error::from_raw_os_error(i32::from_ne_bytes([a, b, c, d])),
            }),
            _ => Ok(Some(fds)),
        }
    }
}

fn lost(error: io::Error) -> LaunchError {
    let step = LaunchStep::Process;
    LaunchError { step, error }
}

/// The life of a waiter, until it executes something.
extern "C" fn wait_inside(start: *mut c_void) -> c_int {
    // SAFETY: `WaiterPlace::start` passes this, and waits until this process has said that it is
    // ready; the desk is there for as long as it lives, and the socket is its own until then.
    #[expect(unsafe_code, reason = "a plain function gets a plain pointer")]
    let (desk, bonds, socket) = unsafe {
        let start = &*start.cast_const().cast::<WaiterStart<'_>>();
        (
            start.desk,
            start.bonds,
            BorrowedFd::borrow_raw(start.desk.socket),
        )
    };
    if let Err(step) = get_ready(socket, bonds) {
        say_failed(socket, step, io::Error::last_os_error().raw_os_error());
        exit_now(1);
    }
    let _ = send(socket, &[READY], &[]);
    let mut asked = [0];
    while let Ok((1, fds)) = receive(socket, &mut asked) {
        let failed = match asked {
            [WAKE_UP] => continue,
            [OPEN_TERMINAL] => match open_terminal(socket) {
                Ok(()) => continue,
                Err(error) => Some((LaunchStep::Terminal, error.raw_os_error())),
            },
            [EXECUTE] => carry_out(desk, fds),
            _ => None,
        };
        let (step, errno) = failed.unwrap_or((LaunchStep::Process, None));
        say_failed(socket, step, errno);
        exit_now(1);
    }
    exit_now(0)
}

/// Lets go of what was inherited, and gives up all that is to be given up. May allocate: nobody
/// else who has this memory does anything meanwhile.
fn get_ready(socket: BorrowedFd<'_>, bonds: &Bonds<'_>) -> Result<(), LaunchStep> {
    let watcher = bonds.watcher.as_ref().map(AsRawFd::as_raw_fd);
    let ours = [socket.as_raw_fd(), bonds.ruleset.as_raw_fd()];
    let ours: Vec<RawFd> = ours.into_iter().chain(watcher).collect();
    keep_only(&ours).map_err(|_| LaunchStep::Descriptors)?;
    let plain = bonds.plain().map_err(|_| LaunchStep::Bonds)?;
    // SAFETY: this process is to execute something, and has no handlers; the filter is borrowed.
    #[expect(unsafe_code, reason = "the steps before an exec are unsafe")]
    unsafe {
        child::lead()?;
        child::bind(&plain)?;
    }
    seclude();
    Ok(())
}

fn say_failed(socket: BorrowedFd<'_>, step: LaunchStep, errno: Option<i32>) {
    let [a, b, c, d] = errno.unwrap_or(libc::EINVAL).to_ne_bytes();
    let _ = send(socket, &[FAILED, step.number(), a, b, c, d], &[]);
}

/// Executes what is on the desk. Returns the step that failed, and its error.
fn carry_out(desk: &WaiterDesk, fds: ReceivedDescriptors) -> Option<(LaunchStep, Option<i32>)> {
    let order = desk.order.load(Ordering::Acquire);
    // SAFETY: the keeper waits for the answer to what it has put there, and keeps it until then.
    #[expect(unsafe_code, reason = "a desk has a plain pointer")]
    let order = unsafe { order.as_ref()? };
    // The program has them from here on.
    let mut fds = fds.into_iter().flatten().map(OwnedFd::into_raw_fd);
    let stdio = [fds.next()?, fds.next()?, fds.next()?];
    let mut extra = [TRAVELS; MOST_DESCRIPTORS];
    for place in extra.get_mut(..order.extra_count)? {
        *place = fds.next()?;
    }
    let child = Child {
        stdio,
        extra: extra.as_mut_ptr(),
        group: if order.group.is_some() {
            Some(fds.next()?)
        } else {
            None
        },
        ..*order
    };
    // SAFETY: everything that it points to is in this function's hands, or the keeper's, who waits.
    #[expect(unsafe_code, reason = "the steps before an exec are unsafe")]
    let failed = unsafe { child::become_program(&child) };
    Some((failed, io::Error::last_os_error().raw_os_error()))
}

/// Opens a terminal in this view, so that its name there is its name, and sends both ends.
fn open_terminal(socket: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = rustix::pty::openpt(flags)?;
    rustix::pty::unlockpt(&ours)?;
    let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags)?;
    send(socket, &[READY], &[ours.as_fd(), theirs.as_fd()])
}

/// The path of an open directory: by descriptor a program would be in the machine's view, from
/// which `..` leads everywhere.
pub(super) fn path_of(directory: BorrowedFd<'_>) -> io::Result<CString> {
    use std::os::unix::ffi::OsStringExt;
    let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let path = std::fs::read_link(link)?.into_os_string().into_vec();
    Ok(CString::new(path)?)
}
