//! The process that becomes a confined program: in the view, with everything given up that it has
//! to give up, it waits for what it is to execute. So all of this can be done ahead of a call.
//!
//! An *order* is a length and then, in the order of [`WaiterOrder::bytes`], numbers and strings
//! that end with NUL; its descriptors travel beside the beginning. An order that was carried out is
//! answered by the end of the socket, which the exec closes.

use super::super::child::{self, Child, ChildDirectory, Controls, LaunchStep};
use super::super::descriptors::keep_only;
use super::super::fork::exit_now;
use super::super::launch::{Bonds, Hold, Launch, LaunchError};
use super::super::seclusion::seclude;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use rustix::process::Pid;
use rustix::pty::OpenptFlags;
use std::ffi::{CStr, CString, c_char};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr;

/// stdin, stdout and stderr, a script or two pipes, a control group.
const MOST_DESCRIPTORS: usize = 8;

/// The longest answer: what it is, a step, an error.
const ANSWER_BYTES: usize = 6;

/// What an answer is about.
const READY: u8 = 0;
const FAILED: u8 = 1;

/// What an order asks for.
const EXECUTE: u64 = 0;
const OPEN_TERMINAL: u64 = 1;

/// A process that waits, as its keeper sees it.
pub(super) struct Waiter {
    pub(super) pid: Pid,
    pub(super) socket: OwnedFd,
}

impl Waiter {
    /// Waits until it waits: then everything holds that confines it.
    pub(super) fn is_ready(&self) -> Result<(), LaunchError> {
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
        let order = WaiterOrder::to_execute(what, held, directory, expected);
        let group = held.group.into_iter();
        let stdio = what.stdio.into_iter().chain(what.extra.iter().copied());
        let fds: Vec<BorrowedFd<'_>> = stdio.chain(group).collect();
        send(&self.socket, &order.bytes(), &fds).map_err(lost)?;
        match self.hear()? {
            None => Ok(()),
            Some(_) => Err(lost(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Has it open a terminal of its own view; returns both ends.
    pub(super) fn open_terminal(&self) -> Result<(OwnedFd, OwnedFd), LaunchError> {
        let mut order = WaiterOrder::default();
        order.number(OPEN_TERMINAL);
        send(&self.socket, &order.bytes(), &[]).map_err(lost)?;
        let mut ends = self.hear()?.unwrap_or_default().into_iter();
        match (ends.next(), ends.next()) {
            (Some(ours), Some(theirs)) => Ok((ours, theirs)),
            _ => Err(lost(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// What it says, with what it sends; `None` if it is not there any more.
    fn hear(&self) -> Result<Option<Vec<OwnedFd>>, LaunchError> {
        let mut answer = [0; ANSWER_BYTES];
        let (count, fds) = receive(&self.socket, &mut answer).map_err(lost)?;
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

/// What a waiter is told, as it travels.
#[derive(Default)]
struct WaiterOrder {
    body: Vec<u8>,
}

impl WaiterOrder {
    fn to_execute(
        what: &Launch<'_>,
        held: &Hold<'_>,
        directory: &CStr,
        expected: Option<(u64, u64)>,
    ) -> Self {
        let mut order = Self::default();
        let (device, inode) = expected.unwrap_or_default();
        order.number(EXECUTE);
        for number in [
            u64::from(what.controls == Controls::Stdout),
            u64::from(held.group.is_some()),
            what.extra.len() as u64,
            u64::from(expected.is_some()),
            device,
            inode,
            u64::from(what.goes_to.is_some()),
            held.limits.len() as u64,
            what.argv.len() as u64,
        ] {
            order.number(number);
        }
        for &(which, soft, hard) in held.limits {
            for number in [u64::from(which), soft, hard] {
                order.number(number);
            }
        }
        order.string(what.program);
        order.string(directory);
        order.string(what.goes_to.unwrap_or_default());
        for argument in what.argv {
            order.string(argument);
        }
        for entry in what.env.c_strings() {
            order.string(entry);
        }
        order
    }

    fn number(&mut self, number: u64) {
        self.body.extend(number.to_ne_bytes());
    }

    fn string(&mut self, string: &CStr) {
        self.body.extend(string.to_bytes_with_nul());
    }

    fn bytes(&self) -> Vec<u8> {
        let length = self.body.len() as u64;
        [&length.to_ne_bytes(), self.body.as_slice()].concat()
    }
}

/// An order as it is read.
struct OrderReader<'a>(&'a [u8]);

impl<'a> OrderReader<'a> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*number))
    }

    fn flag(&mut self) -> Option<bool> {
        Some(self.number()? != 0)
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn string(&mut self) -> Option<&'a CStr> {
        let string = CStr::from_bytes_until_nul(self.0).ok()?;
        self.0 = self.0.get(string.to_bytes_with_nul().len()..)?;
        Some(string)
    }
}

/// Sends all of it; descriptors travel with the beginning.
fn send(socket: &OwnedFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut sent = 0;
    while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
        let parts = [IoSlice::new(rest)];
        match rustix::net::sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL) {
            Ok(count) => {
                sent += count;
                control.clear();
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let count = loop {
        let parts = &mut [IoSliceMut::new(buffer)];
        match rustix::net::recvmsg(socket, parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(message) => break message.bytes,
            Err(rustix::io::Errno::INTR) => {}
            // It ended without having read what it was sent.
            Err(rustix::io::Errno::CONNRESET) => break 0,
            Err(error) => return Err(error.into()),
        }
    };
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    Ok((count, fds))
}

/// The life of a waiter, until it executes something. Nothing of its keeper's memory is left then.
pub(super) fn wait_inside(socket: &OwnedFd, bonds: &Bonds<'_>) -> ! {
    let watcher = bonds.watcher.as_ref().map(AsRawFd::as_raw_fd);
    let ours = [socket.as_raw_fd(), bonds.ruleset.as_raw_fd()];
    let ours: Vec<RawFd> = ours.into_iter().chain(watcher).collect();
    let kept = keep_only(&ours);
    if let Err(step) = kept
        .map_err(|_| LaunchStep::Descriptors)
        .and_then(|()| give_up(bonds))
    {
        say_failed(socket, step, io::Error::last_os_error().raw_os_error());
        exit_now(1);
    }
    seclude();
    let _ = send(socket, &[READY], &[]);
    while let Some((body, fds)) = next_order(socket) {
        let mut order = OrderReader(&body);
        let failed = match order.number() {
            Some(OPEN_TERMINAL) => match open_terminal(socket) {
                Ok(()) => continue,
                Err(error) => Some((LaunchStep::Terminal, error.raw_os_error())),
            },
            Some(EXECUTE) => carry_out(&mut order, fds),
            _ => None,
        };
        let (step, errno) = failed.unwrap_or((LaunchStep::Process, None));
        say_failed(socket, step, errno);
        exit_now(1);
    }
    exit_now(0)
}

fn give_up(bonds: &Bonds<'_>) -> Result<(), LaunchStep> {
    let plain = bonds.plain().map_err(|_| LaunchStep::Bonds)?;
    // SAFETY: this process is to execute something, and has no handlers; the filter is borrowed.
    #[expect(unsafe_code, reason = "the steps before an exec are unsafe")]
    unsafe {
        child::lead()?;
        child::bind(&plain)
    }
}

fn say_failed(socket: &OwnedFd, step: LaunchStep, errno: Option<i32>) {
    let [a, b, c, d] = errno.unwrap_or(libc::EINVAL).to_ne_bytes();
    let _ = send(socket, &[FAILED, step.number(), a, b, c, d], &[]);
}

/// The next order, whole; `None` if the keeper is gone.
fn next_order(socket: &OwnedFd) -> Option<(Vec<u8>, Vec<OwnedFd>)> {
    let mut length = [0; size_of::<u64>()];
    let (count, fds) = receive(socket, &mut length).ok()?;
    let length = usize::try_from(u64::from_ne_bytes(length)).ok()?;
    let mut body = vec![
        0;
        if count == size_of::<u64>() {
            length
        } else {
            return None;
        }
    ];
    let mut read = 0;
    while read < body.len() {
        let (count, _) = receive(socket, body.get_mut(read..)?).ok()?;
        if count == 0 {
            return None;
        }
        read += count;
    }
    Some((body, fds))
}

/// Executes what was ordered. Returns the step that failed, and its error.
fn carry_out(order: &mut OrderReader<'_>, fds: Vec<OwnedFd>) -> Option<(LaunchStep, Option<i32>)> {
    let (takes_terminal, has_group) = (order.flag()?, order.flag()?);
    let (extra_count, is_compared) = (order.count()?, order.flag()?);
    let expected = (order.number()?, order.number()?);
    let (is_told_goal, limit_count, argument_count) =
        (order.flag()?, order.count()?, order.count()?);
    let mut limits = Vec::new();
    for _ in 0..limit_count {
        let which = u32::try_from(order.number()?).ok()?;
        limits.push((which, order.number()?, order.number()?));
    }
    let (program, directory, goal) = (order.string()?, order.string()?, order.string()?);
    let mut argv: Vec<*const c_char> = Vec::with_capacity(argument_count + 1);
    for _ in 0..argument_count {
        argv.push(order.string()?.as_ptr());
    }
    argv.push(ptr::null());
    let mut env: Vec<*const c_char> = Vec::new();
    while let Some(entry) = order.string() {
        env.push(entry.as_ptr());
    }
    env.push(ptr::null());
    // The program has them from here on.
    let mut fds = fds.into_iter().map(OwnedFd::into_raw_fd);
    let stdio = [fds.next()?, fds.next()?, fds.next()?];
    let mut extra: Vec<RawFd> = fds.by_ref().take(extra_count).collect();
    let child = Child {
        program: program.as_ptr(),
        argv: argv.as_ptr(),
        env: env.as_ptr(),
        directory: ChildDirectory::Path(
            directory.as_ptr(),
            is_compared.then_some(expected),
            if is_told_goal {
                goal.as_ptr()
            } else {
                ptr::null()
            },
        ),
        stdio,
        extra: extra.as_mut_ptr(),
        extra_count: extra.len(),
        controls: if takes_terminal {
            Controls::Stdout
        } else {
            Controls::Nothing
        },
        group: if has_group { Some(fds.next()?) } else { None },
        limits: limits.as_ptr(),
        limit_count: limits.len(),
    };
    // SAFETY: everything that it points to is in this function's hands.
    #[expect(unsafe_code, reason = "the steps before an exec are unsafe")]
    let failed = unsafe { child::become_program(&child) };
    Some((failed, io::Error::last_os_error().raw_os_error()))
}

/// Opens a terminal in this view, so that its name there is its name, and sends both ends.
fn open_terminal(socket: &OwnedFd) -> io::Result<()> {
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
