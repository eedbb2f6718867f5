//! The system calls that name files, and what each wants with them.

use super::listener::WaitingCall;
use landlock::AccessFs;
use std::ffi::c_int;

/// What a call wants with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathWish {
    /// To read what is there.
    Read,
    /// To write what is there; and to make it, if it is missing and this says so.
    Write { makes: bool },
    /// To execute it.
    Execute,
    /// To make something where nothing is.
    Make,
    /// To put something else in its place, or in an empty one.
    Replace,
    /// To take it away.
    Remove,
    /// To change its mode, owner, times or attributes.
    Change,
    /// To connect to it.
    Connect,
}

impl PathWish {
    /// The right of Landlock that stands for it, if there is one.
    pub(super) fn right(self, is_directory: bool) -> Option<AccessFs> {
        match self {
            Self::Read if is_directory => Some(AccessFs::ReadDir),
            Self::Read => Some(AccessFs::ReadFile),
            Self::Write { .. } => Some(AccessFs::WriteFile),
            Self::Execute => Some(AccessFs::Execute),
            Self::Make | Self::Replace => Some(AccessFs::MakeReg),
            Self::Remove => Some(AccessFs::RemoveFile),
            Self::Change | Self::Connect => None,
        }
    }
}

/// A path that a call names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamedPath {
    /// The directory to which it is relative; `AT_FDCWD` is the caller's own.
    pub(super) from: c_int,
    /// The address of the text.
    pub(super) address: u64,
    pub(super) wish: PathWish,
    /// Whether a link at its end is followed.
    pub(super) follows: bool,
    /// Whether it is in the address of a socket, of this length.
    pub(super) socket: Option<u64>,
}

impl NamedPath {
    fn new(from: Option<u64>, address: u64, wish: PathWish) -> Self {
        Self {
            // The kernel reads the low half alone.
            from: from.map_or(libc::AT_FDCWD, |from| from as u32 as c_int),
            address,
            wish,
            follows: !matches!(wish, PathWish::Make | PathWish::Replace | PathWish::Remove),
            socket: None,
        }
    }

    fn unfollowed(self, is_so: bool) -> Self {
        let follows = self.follows && !is_so;
        Self { follows, ..self }
    }
}

/// Calls that may be made without a path, for an open file: then their second argument is null.
pub(in super::super) const MAY_BE_WITHOUT_PATH: &[i64] = &[libc::SYS_utimensat];

/// Calls of Linux 6.6 have the same number on every machine, and `libc` knows it on a few only.
const SYS_FCHMODAT2: i64 = 452;

/// The calls that are watched. None of them is one that the filter refuses.
pub(in super::super) fn watched() -> impl Iterator<Item = i64> {
    WATCHED.iter().chain(WATCHED_HERE).copied()
}

const WATCHED: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_truncate,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_connect,
];

/// Likewise, on machines that have them.
#[cfg(target_arch = "x86_64")]
const WATCHED_HERE: &[i64] = &[
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_mkdir,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const WATCHED_HERE: &[i64] = &[libc::SYS_renameat];

/// The paths that a watched call names; `None` if it is not one of them.
pub(super) fn named(call: &WaitingCall) -> Option<Vec<NamedPath>> {
    let [first, second, third, fourth, fifth, _] = call.arguments;
    let at = |from, address, wish| NamedPath::new(Some(from), address, wish);
    let here = |address, wish| NamedPath::new(None, address, wish);
    let no_link = |flags: u64| flags as c_int & libc::AT_SYMLINK_NOFOLLOW != 0;
    let paths = match call.number {
        libc::SYS_openat => opened(at, (first, second), third),
        libc::SYS_openat2 => {
            let mut flags = [0; size_of::<u64>()];
            // The flags are the first of what the third argument points to.
            let read = usize::try_from(third)
                .ok()
                .and_then(|how| call.read(how, &mut flags).ok());
            read.map_or_else(Vec::new, |_| {
                opened(at, (first, second), u64::from_ne_bytes(flags))
            })
        }
        libc::SYS_execve => vec![here(first, PathWish::Execute)],
        libc::SYS_execveat => vec![at(first, second, PathWish::Execute).unfollowed(no_link(fifth))],
        libc::SYS_mkdirat => vec![at(first, second, PathWish::Make)],
        libc::SYS_unlinkat => vec![at(first, second, PathWish::Remove)],
        libc::SYS_renameat | libc::SYS_renameat2 => {
            vec![
                at(first, second, PathWish::Remove),
                at(third, fourth, PathWish::Replace),
            ]
        }
        libc::SYS_linkat => vec![at(third, fourth, PathWish::Make)],
        libc::SYS_symlinkat => vec![at(second, third, PathWish::Make)],
        libc::SYS_truncate => vec![here(first, PathWish::Write { makes: false })],
        libc::SYS_fchmodat => vec![at(first, second, PathWish::Change)],
        SYS_FCHMODAT2 | libc::SYS_utimensat => {
            vec![at(first, second, PathWish::Change).unfollowed(no_link(fourth))]
        }
        libc::SYS_fchownat => vec![at(first, second, PathWish::Change).unfollowed(no_link(fifth))],
        libc::SYS_setxattr | libc::SYS_removexattr => vec![here(first, PathWish::Change)],
        libc::SYS_lsetxattr | libc::SYS_lremovexattr => {
            vec![here(first, PathWish::Change).unfollowed(true)]
        }
        libc::SYS_connect => vec![NamedPath {
            socket: Some(third),
            ..here(second, PathWish::Connect)
        }],
        number => return named_here(number, call),
    };
    Some(paths)
}

#[cfg(target_arch = "x86_64")]
fn named_here(number: i64, call: &WaitingCall) -> Option<Vec<NamedPath>> {
    let [a, b, ..] = call.arguments;
    let here = |address, wish| NamedPath::new(None, address, wish);
    let paths = match number {
        libc::SYS_open => opened(|_, path, wish| here(path, wish), (0, a), b),
        libc::SYS_creat => vec![here(a, PathWish::Write { makes: true })],
        libc::SYS_mkdir => vec![here(a, PathWish::Make)],
        libc::SYS_unlink | libc::SYS_rmdir => vec![here(a, PathWish::Remove)],
        libc::SYS_rename => vec![here(a, PathWish::Remove), here(b, PathWish::Replace)],
        libc::SYS_link | libc::SYS_symlink => vec![here(b, PathWish::Make)],
        libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => {
            vec![here(a, PathWish::Change)]
        }
        libc::SYS_lchown => vec![here(a, PathWish::Change).unfollowed(true)],
        libc::SYS_futimesat => vec![NamedPath::new(Some(a), b, PathWish::Change)],
        _ => return None,
    };
    Some(paths)
}

#[cfg(not(target_arch = "x86_64"))]
fn named_here(_: i64, _: &WaitingCall) -> Option<Vec<NamedPath>> {
    None
}

/// What is opened with these flags.
fn opened(
    path: impl Fn(u64, u64, PathWish) -> NamedPath,
    (from, address): (u64, u64),
    flags: u64,
) -> Vec<NamedPath> {
    let flags = flags as c_int;
    let has = |flag: c_int| flags & flag == flag;
    if has(libc::O_PATH) {
        return Vec::new();
    }
    let wish = if has(libc::O_TMPFILE) {
        // A file without a name, in this directory.
        return vec![path(from, address, PathWish::Change)];
    } else if flags & (libc::O_ACCMODE | libc::O_TRUNC | libc::O_CREAT) != libc::O_RDONLY {
        let makes = has(libc::O_CREAT);
        if makes && flags & (libc::O_ACCMODE | libc::O_TRUNC) == libc::O_RDONLY {
            PathWish::Make
        } else {
            PathWish::Write { makes }
        }
    } else {
        PathWish::Read
    };
    let named = path(from, address, wish);
    vec![
        NamedPath {
            follows: true,
            ..named
        }
        .unfollowed(has(libc::O_NOFOLLOW) || has(libc::O_CREAT | libc::O_EXCL)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(flags: c_int) -> Vec<(PathWish, bool)> {
        let path = |from, address, wish| NamedPath::new(Some(from), address, wish);
        let opened = opened(path, (0, 0), u64::from(flags.cast_unsigned()));
        opened
            .iter()
            .map(|path| (path.wish, path.follows))
            .collect()
    }

    #[test]
    fn flags_tell_what_is_wanted() {
        assert_eq!(
            wishes(libc::O_RDONLY | libc::O_CLOEXEC),
            [(PathWish::Read, true)]
        );
        assert_eq!(
            wishes(libc::O_RDONLY | libc::O_NOFOLLOW),
            [(PathWish::Read, false)]
        );
        let writes = |makes| PathWish::Write { makes };
        assert_eq!(wishes(libc::O_WRONLY), [(writes(false), true)]);
        assert_eq!(
            wishes(libc::O_RDONLY | libc::O_TRUNC),
            [(writes(false), true)]
        );
        let made = libc::O_RDWR | libc::O_CREAT;
        assert_eq!(wishes(made), [(writes(true), true)]);
        assert_eq!(wishes(made | libc::O_EXCL), [(writes(true), false)]);
        assert_eq!(
            wishes(libc::O_RDONLY | libc::O_CREAT),
            [(PathWish::Make, true)]
        );
        assert_eq!(wishes(libc::O_PATH | libc::O_WRONLY), []);
    }

    #[test]
    fn every_watched_call_names_its_paths() {
        for number in watched() {
            let call = WaitingCall::of(number);
            assert!(named(&call).is_some(), "{number}");
        }
        assert!(named(&WaitingCall::of(libc::SYS_mount)).is_none());
    }
}
