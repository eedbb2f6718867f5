//! The keeper's protocol: what engine, fork server and keeper say to each other.
//!
//! `docs/keeper.md` documents it for people; this file has the encoding, `messages` the content. A
//! message is one packet of a `SOCK_SEQPACKET` socket: a flag byte, the message's name, a NUL, and
//! a map in `MessagePack`. Descriptors travel beside it. A body too large for a packet travels in a
//! memfd, as the first descriptor. Receivers ignore fields that they do not know, so an addition
//! raises the minor version; they refuse an unknown message by name.

pub use super::messages::{
    Beginning, CallForm, CallMessage, EndMessage, ExitedMessage, FailedMessage, ForkMessage,
    GoneMessage, GrownMessage, HelloMessage, OpenMessage, PrepareMessage, PreparedMessage,
    QueryMessage, ReadyMessage, RefusedMessage, ReleaseMessage, ResizeMessage, SoonMessage,
    SpilledMessage, StartMessage, StartedMessage, StartedShellMessage, TypedMessage,
    WelcomeMessage,
};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Raised by a change that an older side cannot follow.
pub const MAJOR: u16 = 1;

/// Raised by an addition.
pub const MINOR: u16 = 7;

/// Bodies above this travel in a memfd: a packet must fit the socket's buffer.
const LARGEST_INLINE: usize = 32 * 1024;

/// The largest packet: such a body, behind the flag, a name and its end.
const LARGEST_PACKET: usize = LARGEST_INLINE + 256;

/// Descriptors that one message may carry.
const MOST_DESCRIPTORS: usize = 8;

/// Flag byte: the body follows the name.
const INLINE: u8 = 0;

/// Flag byte: the body is in the first descriptor.
const IN_DESCRIPTOR: u8 = 1;

/// A message.
pub trait KeeperMessage: Serialize + DeserializeOwned {
    /// Its name on the wire.
    const NAME: &'static str;
}

/// Gives messages their names.
macro_rules! messages {
    ($($type:ident = $name:literal),* $(,)?) => {
        $(impl KeeperMessage for $type { const NAME: &'static str = $name; })*

        /// The names of the messages of this file.
        #[cfg(test)]
        pub(super) const NAMES: &[&str] = &[$($name),*];
    };
}
pub(super) use messages;

/// A message as it arrived.
#[derive(Debug)]
pub struct MessageFrame {
    /// Its name on the wire.
    pub name: String,
    body: Vec<u8>,
    /// The descriptors that came beside it, without that of the body.
    pub fds: Vec<OwnedFd>,
}

impl MessageFrame {
    /// Reads the body as a message of its name.
    pub fn body<M: KeeperMessage>(&self) -> io::Result<M> {
        debug_assert_eq!(self.name, M::NAME);
        rmp_serde::from_slice(&self.body).map_err(invalid)
    }

    /// Reads the body if this is a message of type `M`.
    pub fn body_if<M: KeeperMessage>(&self) -> io::Result<M> {
        if !self.is::<M>() {
            return Err(invalid("another message"));
        }
        self.body()
    }

    /// Whether this is a message of type `M`.
    pub fn is<M: KeeperMessage>(&self) -> bool {
        self.name == M::NAME
    }
}

/// Sends one message without waiting; `WouldBlock` when the receiver does not keep up.
pub fn send<M: KeeperMessage>(
    socket: impl AsFd,
    message: &M,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = rmp_serde::to_vec_named(message).map_err(invalid)?;
    if body.len() <= LARGEST_INLINE {
        return send_packet(socket.as_fd(), INLINE, M::NAME, &body, fds);
    }
    let holder = memory_file(&body)?;
    let all: Vec<_> = std::iter::once(holder.as_fd())
        .chain(fds.iter().copied())
        .collect();
    send_packet(socket.as_fd(), IN_DESCRIPTOR, M::NAME, &[], &all)
}

fn send_packet(
    socket: BorrowedFd<'_>,
    flag: u8,
    name: &str,
    body: &[u8],
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(invalid("too many descriptors in one message"));
    }
    let flag = [flag];
    let parts = [&flag[..], name.as_bytes(), &[0], body].map(IoSlice::new);
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    loop {
        match rustix::net::sendmsg(socket, &parts, &mut control, flags) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

thread_local! {
    /// Where packets arrive. Most are small and touch one page of it.
    static PACKET: RefCell<[u8; LARGEST_PACKET]> = const { RefCell::new([0; LARGEST_PACKET]) };
}

/// Receives one message without waiting; `None` at the end of the stream.
pub fn receive(socket: impl AsFd) -> io::Result<Option<MessageFrame>> {
    PACKET.with_borrow_mut(|buffer| receive_into(buffer, socket.as_fd()))
}

fn receive_into(buffer: &mut [u8], socket: BorrowedFd<'_>) -> io::Result<Option<MessageFrame>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = loop {
        let mut parts = [IoSliceMut::new(buffer)];
        match rustix::net::recvmsg(socket, &mut parts, &mut control, flags) {
            Ok(received) => break received,
            // A reset (the other end left with something unread) is reported once, before what the
            // other end had sent.
            Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNRESET) => {}
            Err(error) => return Err(error.into()),
        }
    };
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        // The kernel drops descriptors for which the receiver has no room, and this flag is all it
        // says.
        return Err(rustix::io::Errno::MFILE.into());
    }
    if received.flags.contains(ReturnFlags::TRUNC) {
        return Err(invalid("a packet that is too large"));
    }
    unpack(buffer.get(..received.bytes).unwrap_or_default(), fds).map(Some)
}

fn unpack(packet: &[u8], mut fds: Vec<OwnedFd>) -> io::Result<MessageFrame> {
    let (flag, rest) = packet
        .split_first()
        .ok_or_else(|| invalid("an empty packet"))?;
    // Names are short: a search made for long texts would first ask the processor what it can do,
    // once per process, which takes longer.
    let end = rest.iter().position(|&byte| byte == 0);
    let end = end.ok_or_else(|| invalid("a packet without a name"))?;
    let (name, body) = rest.split_at(end);
    let body = match *flag {
        INLINE => body.get(1..).unwrap_or_default().to_vec(),
        IN_DESCRIPTOR if !fds.is_empty() => read_memory_file(&fds.remove(0))?,
        _ => return Err(invalid("a packet without a body")),
    };
    Ok(MessageFrame {
        name: String::from_utf8_lossy(name).into_owned(),
        body,
        fds,
    })
}

/// Tells the sender that we do not know its message.
pub fn refuse(socket: impl AsFd, name: &str) -> io::Result<()> {
    let reason = format!("this side speaks version {MAJOR}.{MINOR}, which has no such message");
    send(
        socket,
        &RefusedMessage {
            name: name.to_owned(),
            reason,
        },
        &[],
    )
}

/// A file in memory with these bytes, for any process that has its descriptor; nobody can change
/// it.
///
/// Even a file in memory may exceed `RLIMIT_FSIZE`, and writing it would then kill the host by
/// SIGXFSZ, so the limit is checked first.
pub fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    use rustix::fs::SealFlags;
    let fd = empty_memory_file()?;
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
    fill_memory_file(&fd, bytes, seals)?;
    Ok(fd)
}

/// A file in memory that is to be filled later.
pub(super) fn empty_memory_file() -> io::Result<OwnedFd> {
    use rustix::fs::MemfdFlags;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(rustix::fs::memfd_create(c"bashd-text", flags)?)
}

/// Fills an empty file in memory, and forbids what the seals say.
pub(super) fn fill_memory_file(
    fd: &OwnedFd,
    bytes: &[u8],
    seals: rustix::fs::SealFlags,
) -> io::Result<()> {
    write_whole(fd, bytes)?;
    Ok(rustix::fs::fcntl_add_seals(fd, seals)?)
}

/// Writes to the beginning of a file, all of it or not at all as far as limits tell.
pub(super) fn write_whole(fd: impl AsFd, bytes: &[u8]) -> io::Result<()> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_some_and(|limit| bytes.len() as u64 > limit) {
        return Err(rustix::io::Errno::FBIG.into());
    }
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        written += rustix::io::pwrite(&fd, rest, written as u64)?;
    }
    Ok(())
}

pub(super) fn read_memory_file(fd: &OwnedFd) -> io::Result<Vec<u8>> {
    let size = rustix::fs::fstat(fd)?.st_size as usize;
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(fd, rest, filled as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    Ok(bytes)
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::super::{job_messages, messages};
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType};
    use serde::Deserialize;
    use std::collections::BTreeSet;

    #[test]
    fn the_page_about_the_protocol_has_its_version_and_every_message() {
        let page = include_str!("../../../../docs/keeper.md");
        assert!(page.contains(&format!("\nVersion {MAJOR}.{MINOR}. ")));
        let (_, table) = page.split_once("\n## Messages\n").expect("the messages");
        let (table, _) = table.split_once("\nNot yet").expect("their end");
        let rows = table.lines().filter(|line| line.contains(" | `"));
        let listed: BTreeSet<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        let known = messages::NAMES.iter().chain(job_messages::NAMES);
        assert_eq!(listed, known.copied().collect());
    }

    fn pair() -> (OwnedFd, OwnedFd) {
        rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap()
    }

    #[test]
    fn a_message_arrives_with_its_descriptors() {
        let (near, far) = pair();
        let file = memory_file(b"text").unwrap();
        send(&near, &SpilledMessage { stream: 1 }, &[file.as_fd()]).unwrap();
        let frame = receive(&far).unwrap().unwrap();
        assert!(frame.is::<SpilledMessage>());
        assert_eq!(frame.body::<SpilledMessage>().unwrap().stream, 1);
        assert_eq!(read_memory_file(&frame.fds[0]).unwrap(), b"text");
    }

    #[test]
    fn a_body_of_megabytes_arrives_whole() {
        let (near, far) = pair();
        let doing = "x".repeat(3 << 20);
        send(
            &near,
            &FailedMessage {
                doing: doing.clone(),
                errno: 7,
            },
            &[],
        )
        .unwrap();
        let frame = receive(&far).unwrap().unwrap();
        assert_eq!(frame.body::<FailedMessage>().unwrap().doing, doing);
        assert!(frame.fds.is_empty());
    }

    #[test]
    fn the_last_word_of_an_end_that_left_is_heard() {
        let (near, far) = pair();
        send(&near, &GrownMessage {}, &[]).unwrap();
        send(&far, &SpilledMessage { stream: 1 }, &[]).unwrap();
        drop(far); // with something unread: a reset
        assert!(receive(&near).unwrap().unwrap().is::<SpilledMessage>());
        assert!(receive(&near).unwrap().is_none());
    }

    #[test]
    fn an_unknown_message_is_refused_by_name() {
        let (near, far) = pair();
        send_packet(near.as_fd(), INLINE, "dance", &[0x80], &[]).unwrap();
        let frame = receive(&far).unwrap().unwrap();
        refuse(&far, &frame.name).unwrap();
        let answer = receive(&near).unwrap().unwrap();
        assert_eq!(answer.body::<RefusedMessage>().unwrap().name, "dance");
    }

    #[test]
    fn unknown_fields_are_ignored_and_broken_packets_are_errors() {
        #[derive(Serialize, Deserialize)]
        struct Newer {
            stream: usize,
            colour: String,
        }
        let (near, far) = pair();
        let newer = Newer {
            stream: 0,
            colour: "red".into(),
        };
        let body = rmp_serde::to_vec_named(&newer).unwrap();
        send_packet(near.as_fd(), INLINE, SpilledMessage::NAME, &body, &[]).unwrap();
        assert_eq!(
            receive(&far)
                .unwrap()
                .unwrap()
                .body::<SpilledMessage>()
                .unwrap()
                .stream,
            0
        );
        for packet in [&b"\0noend"[..], b"\x01grown\0", b"\x07grown\0"] {
            rustix::net::send(&near, packet, SendFlags::empty()).unwrap();
            assert!(receive(&far).is_err());
        }
        drop(near);
        assert!(receive(&far).unwrap().is_none());
    }
}
