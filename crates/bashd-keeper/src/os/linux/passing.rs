//! Short messages between processes of ours, with descriptors beside them. Allocates nothing, so
//! that it may be done between clone and exec.

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

/// stdin, stdout and stderr, a script or two pipes, a control group.
pub(super) const MOST_DESCRIPTORS: usize = 8;

/// Two ends between which they are passed.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    Ok(rustix::net::socketpair(
        family,
        kind,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

/// Descriptors that came with a message.
pub(super) type ReceivedDescriptors = [Option<OwnedFd>; MOST_DESCRIPTORS];

/// Sends all of it at once; it is short.
pub(super) fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let parts = [IoSlice::new(bytes)];
    rustix::io::retry_on_intr(|| {
        rustix::net::sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL)
    })?;
    Ok(())
}

/// Receives a message, and what came with it.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, ReceivedDescriptors)> {
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
    let mut fds = ReceivedDescriptors::default();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            for (place, fd) in fds.iter_mut().zip(received) {
                *place = Some(fd);
            }
        }
    }
    Ok((count, fds))
}
