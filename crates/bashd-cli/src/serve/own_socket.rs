//! A Unix socket for one user: only its owner can use it (0600) from the moment it exists. A socket
//! that a killed server left behind is replaced; one that somebody serves is not.

use crate::failure::{Failure, FailureKind};
use rustix::fs::{CWD, Mode, RenameFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net;
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 64;

/// A socket in the file system; dropping it takes it away.
#[derive(Debug)]
pub(crate) struct Listening {
    listener: net::UnixListener,
    path: PathBuf,
    /// Device and inode, which show that the socket is ours.
    is: (u64, u64),
}

impl Listening {
    /// Listens at `path`.
    pub(crate) fn at(path: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let context = format!("{} can't be served", path.display());
            Failure::of(
                FailureKind::System,
                anyhow::Error::new(error).context(context),
            )
            .hint("choose a path in a directory that is there and can be written")
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

impl Listening {
    /// A listener for the runtime; the socket stays as long as this value.
    pub(crate) fn listener(&self) -> Result<UnixListener, Failure> {
        let failed = |error: io::Error| Failure::of(FailureKind::System, error.into());
        let listener = self.listener.try_clone().map_err(failed)?;
        UnixListener::from_std(listener).map_err(failed)
    }
}

/// Whether the other end of a connection is of this user.
pub(crate) fn is_own(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw())
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

/// The longest name that a socket can have, without room for the one aside.
const LONGEST_NAME: usize = 96;

/// Listens at a name aside first, and takes the name only then: whoever finds the socket can
/// connect to it, and no other server takes it for one that nobody serves. Where that can't be
/// done, the name comes first. The kernel lists the name aside, and confinement hides every socket
/// beside a listed one that is gone: so it has to be a whole one.
fn bind(path: &Path) -> Result<net::UnixListener, Errno> {
    let whole = std::path::absolute(path).ok();
    let whole = whole.filter(|whole| whole.as_os_str().len() < LONGEST_NAME);
    let path = whole.as_deref().unwrap_or(path);
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
