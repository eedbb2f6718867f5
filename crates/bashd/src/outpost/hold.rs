//! How an outpost is found: one socket and one lock in its state directory, whoever comes.
//!
//! Whoever dials holds the lock while it looks for the outpost, and starts one if there is none.
//! The socket is made by the one that dials, and handed to the outpost as its stdin: so it can be
//! connected to before the outpost has begun.

use crate::place::BUILD;
use bashd_keeper::file_lock::{self, LockKind};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Who looks for it holds this.
const LOCK: &str = "outpost.lock";

/// Carriers that may wait to be accepted.
const BACKLOG: i32 = 128;

/// How long somebody else may take to dial.
const LONGEST_DIAL: Duration = Duration::from_secs(10);

/// What a carrier says where there is none, and none is about to be.
pub const NOBODY_HERE: &str = "there is no outpost here";

/// What dialling came to.
#[derive(Debug)]
pub enum Dialled {
    /// An outpost is there.
    Connected(UnixStream),
    /// There is none: it is to be started with this socket as its stdin, and has the connection
    /// already.
    ToStart(OwnedFd, UnixStream),
}

/// Reaches the outpost of a state directory. While the result is being made nobody else dials.
pub fn dial(state: &Path, build: Option<&str>) -> io::Result<Dialled> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(state)?;
    let _alone = lock(state)?;
    let at = Directory::open(state, build)?;
    if let Ok(stream) = UnixStream::connect(at.socket()) {
        return Ok(Dialled::Connected(stream));
    }
    let _ = fs::remove_file(at.socket());
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Before it has a name, so that nobody finds it with another mode.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(at.socket())?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    let stream = UnixStream::connect(at.socket())?;
    Ok(Dialled::ToStart(socket, stream))
}

/// Reaches the outpost of a state directory, and starts none.
pub fn join(state: &Path, build: Option<&str>) -> io::Result<UnixStream> {
    let at = Directory::open(state, build)?;
    let _alone = lock(state)?;
    UnixStream::connect(at.socket())
}

/// The socket that an outpost got as its stdin.
pub fn listener_of_stdin() -> io::Result<UnixListener> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let listener = UnixListener::from(socket);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Whether somebody began to look after an outpost there before: the lock stays when it leaves.
pub fn was_here(state: &Path) -> bool {
    state.join(LOCK).exists()
}

/// Takes the name away by which an outpost is found, unless somebody has found it who was not
/// accepted yet, or `may_leave` says no. After that nobody comes any more: who connects holds the
/// same lock. So what runs always has a name by which the next carrier finds it.
pub(super) fn leave(
    state: &Path,
    build: Option<&str>,
    listener: BorrowedFd<'_>,
    may_leave: impl FnOnce() -> bool,
) -> io::Result<bool> {
    let _alone = lock(state)?;
    let mut waiting = [PollFd::new(&listener, PollFlags::IN)];
    let is_found = rustix::event::poll(&mut waiting, Some(&Timespec::default()))? > 0;
    if is_found || !may_leave() {
        return Ok(false);
    }
    fs::remove_file(Directory::open(state, build)?.socket())?;
    Ok(true)
}

fn lock(state: &Path) -> io::Result<File> {
    let mut options = File::options();
    let file = options
        .create(true)
        .mode(0o600)
        .truncate(false)
        .write(true)
        .open(state.join(LOCK))?;
    file_lock::lock_within(&file, LockKind::Exclusive, LONGEST_DIAL)?;
    Ok(file)
}

/// The state directory by a descriptor: the name of a socket may have a hundred bytes, and a
/// directory's name more.
struct Directory {
    fd: OwnedFd,
    /// The outpost's name in it: another build has one of its own.
    name: String,
}

/// Digits of a hash that tell programs apart.
const DIGITS: usize = 16;

impl Directory {
    fn open(state: &Path, build: Option<&str>) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let build = build.map_or(BUILD.to_owned(), |build| {
            let plain = build.chars().filter(char::is_ascii_alphanumeric);
            plain.take(DIGITS).collect()
        });
        Ok(Self {
            fd: rustix::fs::open(state, flags, Mode::empty())?,
            name: format!("outpost-{build}"),
        })
    }

    fn socket(&self) -> PathBuf {
        let fd = self.fd.as_raw_fd();
        PathBuf::from(format!("/proc/self/fd/{fd}/{}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn an_outpost_that_was_found_keeps_its_name() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path();
        let Dialled::ToStart(socket, first) = dial(state, None).unwrap() else {
            panic!("there is no outpost yet");
        };
        let listener = UnixListener::from(socket);
        let leaves = |may: bool| leave(state, None, listener.as_fd(), || may).unwrap();
        assert!(!leaves(true), "the first one was not accepted");
        drop((listener.accept().unwrap(), first));
        let joined = join(state, None).unwrap();
        assert!(!leaves(true), "somebody came meanwhile");
        drop((listener.accept().unwrap(), joined));
        assert!(!leaves(false), "there is something to do");
        join(state, None).unwrap();
        listener.accept().unwrap();
        assert!(leaves(true));
        assert!(join(state, None).is_err());
        assert!(matches!(dial(state, None).unwrap(), Dialled::ToStart(..)));
    }
}
