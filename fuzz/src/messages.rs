//! Packets between engine, fork server and keeper: read or refused, whatever they hold.

use bashd_keeper::keeper::protocol::{
    CallMessage, EndMessage, ExitedMessage, FailedMessage, ForkMessage, GoneMessage, GrownMessage,
    HelloMessage, KeeperMessage, MessageFrame, OpenMessage, PreparedMessage, QueryMessage,
    ReadyMessage, RefusedMessage, ReleaseMessage, ResizeMessage, SpilledMessage, StartMessage,
    StartedMessage, StartedShellMessage, TypedMessage, WelcomeMessage, memory_file, receive, send,
};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

/// Sends the bytes as a packet, and reads it as each message. Where the flag says so, what is
/// behind the first half is the body in a descriptor.
pub fn try_bytes(bytes: &[u8]) {
    let Some((ours, theirs)) = sockets() else {
        return;
    };
    let is_elsewhere = bytes.first() == Some(&1);
    let (packet, body) = bytes.split_at(if is_elsewhere {
        bytes.len() / 2
    } else {
        bytes.len()
    });
    let body = is_elsewhere.then(|| memory_file(body).ok()).flatten();
    if !packet.is_empty() && put(&theirs, packet, body.as_ref()) {
        while let Ok(Some(frame)) = receive(&ours) {
            read_all(&frame);
        }
    }
}

fn sockets() -> Option<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).ok()
}

fn put(socket: &OwnedFd, packet: &[u8], body: Option<&OwnedFd>) -> bool {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = body.map(|body| [body.as_fd()]);
    if let Some(fds) = &fds {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    rustix::net::sendmsg(
        socket,
        &[IoSlice::new(packet)],
        &mut control,
        SendFlags::DONTWAIT,
    )
    .is_ok()
}

fn read_all(frame: &MessageFrame) {
    again::<CallMessage>(frame);
    again::<EndMessage>(frame);
    again::<ExitedMessage>(frame);
    again::<FailedMessage>(frame);
    again::<ForkMessage>(frame);
    again::<GoneMessage>(frame);
    again::<GrownMessage>(frame);
    again::<HelloMessage>(frame);
    again::<OpenMessage>(frame);
    again::<PreparedMessage>(frame);
    again::<QueryMessage>(frame);
    again::<ReadyMessage>(frame);
    again::<RefusedMessage>(frame);
    again::<ReleaseMessage>(frame);
    again::<ResizeMessage>(frame);
    again::<SpilledMessage>(frame);
    again::<StartMessage>(frame);
    again::<StartedMessage>(frame);
    again::<StartedShellMessage>(frame);
    again::<TypedMessage>(frame);
    again::<WelcomeMessage>(frame);
}

/// What was read can be sent, and is read again.
fn again<M: KeeperMessage>(frame: &MessageFrame) {
    let Ok(message) = frame.body_if::<M>() else {
        return;
    };
    let Some((ours, theirs)) = sockets() else {
        return;
    };
    if send(&theirs, &message, &[]).is_ok() {
        let again = receive(&ours).ok().flatten();
        let again = again.is_some_and(|again| again.body_if::<M>().is_ok());
        assert!(again, "{} was read once, not twice", M::NAME);
    }
}
