//! Whether the kernel will refuse a file to a confined command, and only because it is confined.
//!
//! It is asked for the file as the command sees it: mounts, modes and what is in front of hidden
//! files are its own answer (`access`); the rules of Landlock are known here as the list they were
//! made of. Then it is asked for the same path outside. What a user may not do there either is no
//! refusal of the confinement. About hidden paths it is not asked: whether something is there is
//! nobody's business.

use super::super::confine::FileRules;
use super::super::record::Recorder;
use super::calls::{NamedPath, PathWish};
use super::listener::WaitingCall;
use crate::confinement::Network;
use crate::refusals::RefusedKind;
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxAttributes,
    StatxFlags,
};
use rustix::io::Errno;
use std::ffi::{OsString, c_int};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// What the kernel will hold a command to.
pub(in super::super) struct FileScene {
    /// The rules of Landlock.
    pub(in super::super) rules: FileRules,
    /// What it sees nothing of.
    pub(in super::super) hidden: Vec<PathBuf>,
    /// What it has of the network.
    pub(in super::super) network: Network,
}

/// Longest address of a socket.
const LONGEST_ADDRESS: usize = 128;

pub(super) struct Judge {
    scene: FileScene,
    /// The root of the command's view, once it could be opened.
    root: Option<OwnedFd>,
}

impl Judge {
    pub(super) fn new(scene: FileScene) -> Self {
        Self { scene, root: None }
    }

    /// What a call will be refused.
    pub(super) fn refused(
        &mut self,
        call: &WaitingCall,
        paths: &[NamedPath],
        recorder: &Recorder,
    ) -> Vec<(RefusedKind, String)> {
        let thread = call.thread;
        if self.root.is_none() {
            let link = format!("/proc/{thread}/root");
            self.root = rustix::fs::open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok();
        }
        let mut refused = Vec::new();
        for named in paths {
            match self.refused_path(call, named) {
                Ok(found) => refused.extend(found),
                // Its first program is executed by a process of ours, which is closed to all.
                Err(_) if named.wish == PathWish::Execute => {}
                Err(_) => recorder.unseen(),
            }
        }
        refused
    }

    /// What will be refused of one path; an error if it can't be known.
    fn refused_path(
        &self,
        call: &WaitingCall,
        named: &NamedPath,
    ) -> std::io::Result<Option<(RefusedKind, String)>> {
        let told = |kind, path: PathBuf| Some((kind, path.to_string_lossy().into_owned()));
        if let Some(length) = named.socket {
            let Some(target) = socket_target(call, named.address, length)? else {
                return Ok(None);
            };
            return Ok(match target {
                SocketTarget::Path(path) => {
                    let path = absolute(call, libc::AT_FDCWD, path)?;
                    let refused = self.judged(&path, PathWish::Connect, true);
                    refused.and_then(|path| told(RefusedKind::Connect, path))
                }
                SocketTarget::Address(address) => (self.scene.network == Network::None
                    && !is_own(address.ip()))
                .then(|| (RefusedKind::Connect, address.to_string())),
            });
        }
        let text = call.string(named.address)?;
        if text.is_empty() {
            return Ok(None);
        }
        let path = absolute(call, named.from, OsString::from_vec(text).into())?;
        let kind = match named.wish {
            PathWish::Read => RefusedKind::Read,
            PathWish::Execute => RefusedKind::Exec,
            PathWish::Connect => RefusedKind::Connect,
            PathWish::Write { .. }
            | PathWish::Make
            | PathWish::Replace
            | PathWish::Remove
            | PathWish::Change => RefusedKind::Write,
        };
        let refused = self.judged(&path, named.wish, named.follows);
        Ok(refused.and_then(|path| told(kind, path)))
    }

    /// The path itself, with links resolved, if this is refused.
    fn judged(&self, path: &Path, wish: PathWish, follows: bool) -> Option<PathBuf> {
        let root = self.root.as_ref()?;
        match look(root, path, follows) {
            Ok(found) => self.judged_found(&found, wish),
            Err(Errno::NOENT) => self.judged_missing(root, path, wish, follows),
            // The way to it is closed.
            Err(Errno::ACCESS) => {
                let path = plain(path);
                (self.is_hidden(&path) || is_allowed_outside(&path, wish)).then_some(path)
            }
            Err(_) => None,
        }
    }

    fn judged_found(&self, found: &OwnedFd, wish: PathWish) -> Option<PathBuf> {
        let real = path_of(found)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(found).ok()?.st_mode);
        let parent = real.parent().unwrap_or(Path::new("/"));
        let is_refused = match wish {
            PathWish::Read => is_closed(found, Access::READ_OK),
            PathWish::Execute => is_closed(found, Access::EXEC_OK),
            // The kernel has another answer for those.
            PathWish::Write { .. } if kind.is_dir() => return None,
            PathWish::Write { .. } | PathWish::Connect => is_closed(found, Access::WRITE_OK),
            PathWish::Make => return None,
            PathWish::Change => is_read_only(found),
            PathWish::Replace | PathWish::Remove => {
                let root = self.root.as_ref()?;
                let parent = look(root, parent, true).ok()?;
                is_mounted(found) || is_closed(&parent, Access::WRITE_OK | Access::EXEC_OK)
            }
        };
        let ruled = match wish {
            PathWish::Replace | PathWish::Remove => parent,
            _ => &real,
        };
        let right = wish.right(kind.is_dir());
        let by_rules = right.is_some_and(|right| !self.scene.rules.allows(ruled, right));
        if !is_refused && !by_rules {
            return None;
        }
        let is_told = self.is_hidden(&real) || is_allowed_outside(&real, wish);
        is_told.then_some(real)
    }

    fn judged_missing(
        &self,
        root: &OwnedFd,
        path: &Path,
        wish: PathWish,
        follows: bool,
    ) -> Option<PathBuf> {
        if !matches!(
            wish,
            PathWish::Write { makes: true } | PathWish::Make | PathWish::Replace
        ) {
            return None;
        }
        // A link that leads nowhere from here may lead somewhere for the command (`/dev/stdout`).
        if follows && look(root, path, false).is_ok() {
            return None;
        }
        let parent = look(root, path.parent()?, true).ok()?;
        let real = path_of(&parent)?;
        let is_refused = is_closed(&parent, Access::WRITE_OK | Access::EXEC_OK)
            || !self.scene.rules.allows(&real, landlock::AccessFs::MakeReg);
        let path = real.join(path.file_name()?);
        (is_refused && is_allowed_outside(&path, PathWish::Make)).then_some(path)
    }

    fn is_hidden(&self, path: &Path) -> bool {
        let mut hidden = self.scene.hidden.iter();
        hidden.any(|hidden| path.starts_with(hidden))
    }
}

/// What is at a path of a view.
fn look(root: &OwnedFd, path: &Path, follows: bool) -> Result<OwnedFd, Errno> {
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follows);
    rustix::fs::openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)
}

/// The kernel's own word on an open file, for a user without capabilities.
fn is_closed(found: &OwnedFd, access: Access) -> bool {
    let flags = libc::AT_EMPTY_PATH | libc::AT_EACCESS;
    let (descriptor, access) = (found.as_raw_fd(), access.bits());
    // SAFETY: a plain system call on an open file and a constant.
    #[expect(unsafe_code, reason = "no safe wrapper takes this flag")]
    let asked = unsafe {
        libc::syscall(
            libc::SYS_faccessat2,
            descriptor,
            c"".as_ptr(),
            access,
            flags,
        )
    };
    let refusals = [libc::EACCES, libc::EROFS, libc::EPERM].map(Some);
    asked != 0 && refusals.contains(&std::io::Error::last_os_error().raw_os_error())
}

fn is_read_only(found: &OwnedFd) -> bool {
    rustix::fs::fstatvfs(found).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Whether something is mounted right there: then it can be neither moved nor removed.
fn is_mounted(found: &OwnedFd) -> bool {
    let asked = rustix::fs::statx(found, c"", AtFlags::EMPTY_PATH, StatxFlags::empty());
    asked.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Whether the user may do this outside of the view, where it has the rights it began with.
fn is_allowed_outside(path: &Path, wish: PathWish) -> bool {
    let may =
        |path: &Path, access| rustix::fs::accessat(CWD, path, access, AtFlags::empty()).is_ok();
    let around = || path.parent().unwrap_or(Path::new("/"));
    match wish {
        PathWish::Read => may(path, Access::READ_OK),
        PathWish::Execute => may(path, Access::EXEC_OK),
        PathWish::Write { makes } => {
            may(path, Access::WRITE_OK)
                || makes && !path.exists() && may(around(), Access::WRITE_OK | Access::EXEC_OK)
        }
        PathWish::Connect => may(path, Access::WRITE_OK),
        PathWish::Make | PathWish::Replace | PathWish::Remove => {
            may(around(), Access::WRITE_OK | Access::EXEC_OK)
        }
        PathWish::Change => rustix::fs::statvfs(path)
            .is_ok_and(|found| !found.f_flag.contains(StatVfsMountFlags::RDONLY)),
    }
}

fn path_of(found: &OwnedFd) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).ok()?;
    path.is_absolute().then_some(path)
}

/// A path that a caller names, from the root of its view.
fn absolute(call: &WaitingCall, from: c_int, path: PathBuf) -> std::io::Result<PathBuf> {
    if path.is_absolute() {
        return Ok(path);
    }
    let thread = call.thread;
    let base = if from == libc::AT_FDCWD {
        std::fs::read_link(format!("/proc/{thread}/cwd"))?
    } else {
        std::fs::read_link(format!("/proc/{thread}/fd/{from}"))?
    };
    Ok(base.join(path))
}

/// A path without `.` and `..`, by its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Whom a socket is connected to.
enum SocketTarget {
    Path(PathBuf),
    Address(SocketAddr),
}

fn socket_target(
    call: &WaitingCall,
    address: u64,
    length: u64,
) -> std::io::Result<Option<SocketTarget>> {
    let mut bytes = [0; LONGEST_ADDRESS];
    let length = usize::try_from(length).unwrap_or(0).min(LONGEST_ADDRESS);
    let address = usize::try_from(address).map_err(std::io::Error::other)?;
    let read = call.read(address, bytes.get_mut(..length).unwrap_or_default())?;
    let bytes = bytes.get(..read).unwrap_or_default();
    Ok(target_in(bytes))
}

fn target_in(bytes: &[u8]) -> Option<SocketTarget> {
    let (family, rest) = bytes.split_first_chunk()?;
    match c_int::from(u16::from_ne_bytes(*family)) {
        libc::AF_UNIX => {
            let path = rest.split(|byte| *byte == 0).next()?.to_vec();
            (!path.is_empty()).then(|| SocketTarget::Path(OsString::from_vec(path).into()))
        }
        libc::AF_INET => {
            let (port, rest) = rest.split_first_chunk()?;
            let (address, _) = rest.split_first_chunk::<4>()?;
            let ip = IpAddr::V4(Ipv4Addr::from(*address));
            Some(SocketTarget::Address(
                (ip, u16::from_be_bytes(*port)).into(),
            ))
        }
        libc::AF_INET6 => {
            let (port, rest) = rest.split_first_chunk()?;
            let (_flow, rest) = rest.split_first_chunk::<4>()?;
            let (address, _) = rest.split_first_chunk::<16>()?;
            let ip = IpAddr::V6(Ipv6Addr::from(*address));
            Some(SocketTarget::Address(
                (ip, u16::from_be_bytes(*port)).into(),
            ))
        }
        _ => None,
    }
}

/// Whether an address is of the command's own network, whatever it has.
fn is_own(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_taken_out_by_the_text() {
        assert_eq!(plain(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(plain(Path::new("/../a")), Path::new("/a"));
    }

    #[test]
    fn addresses_of_sockets_are_read() {
        let mut bytes = u16::to_ne_bytes(libc::AF_UNIX as u16).to_vec();
        bytes.extend(b"/run/x\0junk");
        assert!(
            matches!(target_in(&bytes), Some(SocketTarget::Path(path)) if path == Path::new("/run/x"))
        );
        let mut bytes = u16::to_ne_bytes(libc::AF_INET as u16).to_vec();
        bytes.extend([1, 187, 192, 0, 2, 1]);
        let found = target_in(&bytes);
        assert!(
            matches!(found, Some(SocketTarget::Address(address)) if address.to_string() == "192.0.2.1:443")
        );
        for short in 0..bytes.len() {
            assert!(target_in(bytes.get(..short).unwrap()).is_none());
        }
        // Abstract, and unnamed.
        assert!(target_in(&[1, 0, 0, b'x']).is_none() && target_in(&[1, 0]).is_none());
    }
}
