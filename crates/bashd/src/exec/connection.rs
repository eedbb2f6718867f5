//! The engine's end of a keeper's socket, for async code.

use bashd_keeper::confinement::SharedConfinement;
use bashd_keeper::keeper::protocol::{self, KeeperMessage, MessageFrame};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// Pause before a full socket is tried again. A keeper reads its messages at once, so this is too
/// rare to be worth watching for.
const FULL_PAUSE: Duration = Duration::from_millis(1);

/// A socket to a keeper or to the fork server. Dropping it tells the other end that we are gone.
#[derive(Debug)]
pub(crate) struct KeeperConnection {
    socket: AsyncFd<OwnedFd>,
    /// The confinement that the keeper knows, and need not be told again.
    told: Option<SharedConfinement>,
}

impl KeeperConnection {
    /// Watches a socket; needs a running runtime.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            socket: super::reactor::register(socket)?,
            told: None,
        })
    }

    /// Remembers which confinement its keeper was told.
    pub(super) fn told(self, told: Option<SharedConfinement>) -> Self {
        Self { told, ..self }
    }

    /// Whether the keeper knows this confinement.
    pub(super) fn knows(&self, confinement: &SharedConfinement) -> bool {
        self.told.as_ref() == Some(confinement)
    }

    /// Sends a message, waiting for room if there is none.
    pub(crate) async fn send<M: KeeperMessage>(
        &self,
        message: &M,
        fds: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        loop {
            match protocol::send(self.socket.get_ref(), message, fds) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    tokio::time::sleep(FULL_PAUSE).await;
                }
                result => return result,
            }
        }
    }

    /// Waits until the other end has said something, or is gone; `false` if it did neither in time.
    pub(super) async fn is_heard_within(&self, longest: Duration) -> bool {
        // Most keepers have said that they are ready before their call comes.
        let mut polled = [PollFd::new(self.socket.get_ref(), PollFlags::IN)];
        let now = Timespec::default();
        if rustix::event::poll(&mut polled, Some(&now)).is_ok_and(|count| count > 0) {
            return true;
        }
        tokio::time::timeout(longest, self.socket.readable())
            .await
            .is_ok()
    }

    /// Whether the other end is gone, and has said nothing that was not read.
    pub(super) fn is_closed(&self) -> bool {
        let mut byte = [0];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(self.socket.get_ref(), &mut byte, flags) {
            Ok((count, _)) => count == 0,
            // It went without having read what it was sent.
            Err(error) => error == Errno::CONNRESET,
        }
    }

    /// Sends a message if there is room, for callers that cannot wait.
    pub(super) fn send_now<M: KeeperMessage>(&self, message: &M) -> io::Result<()> {
        protocol::send(self.socket.get_ref(), message, &[])
    }

    /// A second descriptor of the socket.
    pub(super) fn again(&self) -> io::Result<OwnedFd> {
        self.socket.get_ref().try_clone()
    }

    /// The socket itself, no longer watched by any runtime.
    pub(super) fn into_socket(self) -> OwnedFd {
        self.socket.into_inner()
    }

    /// Receives the next message; `None` when the other end is gone.
    pub(crate) async fn receive(&self) -> io::Result<Option<MessageFrame>> {
        // What was sent before anybody listened can be read without asking the reactor.
        let mut received = protocol::receive(self.socket.get_ref());
        loop {
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            let mut ready = self.socket.readable().await?;
            received = protocol::receive(self.socket.get_ref());
            if matches!(&received, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
                ready.clear_ready();
            }
        }
    }
}
