//! stdin and stdout for a server, without a thread in between if the system allows it.
//!
//! Clients start servers on pipes, some on sockets; the runtime itself can wait for both. Anything
//! else (a file, a terminal) is read and written by threads of the runtime.

use rustix::fs::{FileType, Mode, OFlags};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// What a server reads.
pub(crate) type ServerInput = Box<dyn AsyncRead + Send + Unpin>;

/// What a server writes to.
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// This process's stdin. Needs the runtime.
pub(crate) fn reader() -> ServerInput {
    let stdin = rustix::stdio::stdin();
    let waiting: io::Result<ServerInput> = match kind(stdin) {
        Some(FileType::Fifo) => reopen(0, OFlags::RDONLY)
            .and_then(pipe::Receiver::from_owned_fd)
            .map(|pipe| Box::new(pipe) as ServerInput),
        Some(FileType::Socket) => socket(stdin).map(|socket| Box::new(socket) as ServerInput),
        _ => Err(io::ErrorKind::Unsupported.into()),
    };
    waiting.unwrap_or_else(|_| Box::new(tokio::io::stdin()))
}

/// This process's stdout. Needs the runtime.
pub(crate) fn writer() -> Writer {
    let stdout = rustix::stdio::stdout();
    let waiting: io::Result<Writer> = match kind(stdout) {
        Some(FileType::Fifo) => reopen(1, OFlags::WRONLY)
            .and_then(pipe::Sender::from_owned_fd)
            .map(|pipe| Box::new(pipe) as Writer),
        Some(FileType::Socket) => socket(stdout).map(|socket| Box::new(socket) as Writer),
        _ => Err(io::ErrorKind::Unsupported.into()),
    };
    waiting.unwrap_or_else(|_| Box::new(tokio::io::stdout()))
}

fn kind(descriptor: BorrowedFd<'_>) -> Option<FileType> {
    let facts = rustix::fs::fstat(descriptor).ok()?;
    Some(FileType::from_raw_mode(facts.st_mode))
}

/// Opens our pipe a second time, so that others who share ours keep a blocking one.
fn reopen(number: u32, access: OFlags) -> io::Result<OwnedFd> {
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{number}");
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn socket(descriptor: BorrowedFd<'_>) -> io::Result<UnixStream> {
    let own = rustix::io::fcntl_dupfd_cloexec(descriptor, 3)?;
    let socket = StdUnixStream::from(own);
    // Fails for sockets of other families.
    socket.local_addr()?;
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
