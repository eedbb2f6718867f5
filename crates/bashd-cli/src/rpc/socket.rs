//! `bashd rpc --socket PATH`: many clients on a Unix socket, all of them of the same user.
//!
//! Only its owner can use the socket (0600) from the moment it exists; the kernel also tells each
//! peer's user. A socket that a killed server left behind is replaced; one that somebody serves is
//! not.

use super::RpcServer;
use super::answer;
use super::connection::{self, ConnectionEnds};
use crate::failure::{Failure, FailureKind};
use bashd::CancellationToken;
use rustix::fs::{CWD, Mode, RenameFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

/// Clients at once; each has two threads here.
const MOST_CLIENTS: usize = 64;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 64;

/// Pause after an accept failed for lack of descriptors or memory.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// A socket in the file system; dropping it takes it away.
#[derive(Debug)]
pub(super) struct Listening {
    listener: net::UnixListener,
    path: PathBuf,
    /// Device and inode, which show that the socket is ours.
    is: (u64, u64),
}

impl Listening {
    /// Listens at `path`.
    pub(super) fn at(path: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let context = format!("{} can't be served", path.display());
            Failure::of(
                FailureKind::System,
                anyhow::Error::new(error).context(context),
            )
        };
        let listener = match bind(path) {
            Err(Errno::ADDRINUSE) => {
                remove_stale(path)?;
                bind(path)
            }
            bound => bound,
        };
        let listener = listener.map_err(|error| failed(error.into()))?;
        listener.set_nonblocking(true).map_err(failed)?;
        let metadata = fs::symlink_metadata(path).map_err(failed)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            is: (metadata.dev(), metadata.ino()),
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.is);
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens at a name aside first, and takes the name only then: whoever finds the socket can
/// connect to it, and no other server takes it for one that nobody serves. Where that can't be
/// done, the name comes first.
fn bind(path: &Path) -> Result<net::UnixListener, Errno> {
    let aside = path.with_file_name(format!(".{}", std::process::id()));
    let Ok(listener) = listen_at(&aside) else {
        return listen_at(path);
    };
    match rustix::fs::renameat_with(CWD, &aside, CWD, path, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(listener),
        Err(error) => {
            let _ = fs::remove_file(&aside);
            match error {
                Errno::EXIST => Err(Errno::ADDRINUSE),
                _ => listen_at(path),
            }
        }
    }
}

fn listen_at(path: &Path) -> Result<net::UnixListener, Errno> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Set before the socket has a name, so that nobody finds it with another mode.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// Removes a socket that nobody serves.
fn remove_stale(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if !is_socket {
        let message = format!("{shown} exists and is not a socket");
        return Err(Failure::new(FailureKind::Usage, message).hint("choose another path"));
    }
    match net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|error| Failure::of(FailureKind::System, error.into()))
        }
        _ => {
            let message = format!("{shown} is already in use by another server");
            Err(Failure::new(FailureKind::Usage, message)
                .hint("connect to it, or choose another path"))
        }
    }
}

/// Serves clients until the token is cancelled; all of them have ended when this returns.
pub(super) async fn serve(
    host: RpcServer,
    listening: Listening,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::of(FailureKind::System, error.into());
    let listener = listening.listener.try_clone().map_err(failed)?;
    let listener = UnixListener::from_std(listener).map_err(failed)?;
    let mut clients = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = clients.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        // A client that is turned away has been told, if possible.
        if let Ok(ends) = admit(&stream, clients.len()).and_then(|()| ends(stream)) {
            clients.spawn(connection::serve(host.clone(), ends, stop.clone()));
        }
    }
    drop(listening);
    clients.join_all().await;
    Ok(())
}

fn admit(stream: &UnixStream, clients: usize) -> io::Result<()> {
    let ours = rustix::process::geteuid().as_raw();
    let refusal = if stream.peer_cred()?.uid() != ours {
        "this socket belongs to another user"
    } else if clients >= MOST_CLIENTS {
        "too many clients"
    } else {
        return Ok(());
    };
    let line = format!("{}\n", answer::failure(None, "connect", refusal));
    let _ = stream.try_write(line.as_bytes());
    Err(io::Error::other(refusal))
}

fn ends(stream: UnixStream) -> io::Result<ConnectionEnds> {
    let stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    ConnectionEnds::socket(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_has_its_name_only_when_it_can_be_connected_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listening = bind(&path).unwrap();
        // It listened under another name before.
        let first = listening.local_addr().unwrap();
        assert_ne!(first.as_pathname(), Some(&*path));
        net::UnixStream::connect(&path).unwrap();
        assert_eq!(bind(&path).unwrap_err(), Errno::ADDRINUSE);
        let names = fs::read_dir(&directory).unwrap().flatten();
        let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["s"]);
    }

    #[test]
    fn a_name_that_is_as_long_as_an_address_can_be_is_served() {
        let directory = tempfile::tempdir().unwrap();
        let most = 107 - directory.path().as_os_str().len() - 1;
        // Too long for any name aside but a very short one.
        let nested = directory.path().join("d".repeat(most - 2));
        fs::create_dir(&nested).unwrap();
        let path = nested.join("s");
        let _listening = bind(&path).unwrap();
        net::UnixStream::connect(&path).unwrap();
    }
}
