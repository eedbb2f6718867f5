//! The Unix sockets of this machine on which somebody listens.
//!
//! The kernel tells the names by which they were bound. One that was bound by a relative name, or
//! moved to another directory since, can't be found by it (`SECURITY.md` says so).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The flags of a socket that accepts connections, as a column.
const ACCEPTS: &[u8] = b" 00010000 ";

/// Columns before that one.
const BEFORE_FLAGS: usize = 3;

/// The sockets with whole paths on which somebody listens.
pub(super) fn listening() -> io::Result<Vec<PathBuf>> {
    let text = read_at_once(Path::new("/proc/net/unix"))?;
    Ok(paths(&text))
}

/// Where a socket may be that was bound by this name. The name may lead through links. If nothing
/// is there, it was renamed, as servers do that want to be found only when they listen: then it may
/// be any socket beside it.
pub(super) fn places_of(name: &Path) -> Vec<PathBuf> {
    let whole = |parent: &Path| parent.canonicalize().ok();
    let Some((parent, own)) = name.parent().and_then(whole).zip(name.file_name()) else {
        return Vec::new();
    };
    let place = parent.join(own);
    if place.symlink_metadata().is_ok() {
        return vec![place];
    }
    let beside = fs::read_dir(parent).into_iter().flatten().flatten();
    let is_socket = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_socket());
    beside.filter(is_socket).map(|entry| entry.path()).collect()
}

/// Those of a list of the kernel's. Names are bytes, and may have spaces. Most lines are of sockets
/// on which nobody listens, and are not looked at.
fn paths(text: &[u8]) -> Vec<PathBuf> {
    let accepting = memchr::memmem::find_iter(text, ACCEPTS).filter_map(|at| {
        let rest = text.get(at..)?;
        let line = rest.get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len()))?;
        let before = text.get(..at)?;
        let begins = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        // It may also be a part of a name.
        let words = text.get(begins..at)?.split(|byte| *byte == b' ');
        let is_column = words.filter(|word| !word.is_empty()).count() == BEFORE_FLAGS;
        // Of what is before a path, nothing has a slash.
        let path = line.get(memchr::memchr(b'/', line)?..)?;
        let has_path = line.get(line.len() - path.len() - 1) == Some(&b' ');
        (is_column && has_path).then(|| PathBuf::from(OsStr::from_bytes(path)))
    });
    accepting.collect()
}

/// A file of the kernel's, in as few reads as it allows: it says no length beforehand.
fn read_at_once(path: &Path) -> io::Result<Vec<u8>> {
    const PIECE: usize = 16 * 1024;
    let file = fs::File::open(path)?;
    let mut text = Vec::new();
    loop {
        let read = text.len();
        text.resize(read + PIECE, 0);
        let more = text.get_mut(read..).unwrap_or_default();
        let count = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut *more))?;
        text.truncate(read + count);
        if count == 0 {
            return Ok(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_is_known_while_somebody_listens_whatever_its_name() {
        let directory = tempfile::tempdir().unwrap();
        for name in [&b"plain"[..], b"x y", b" two  spaces ", b"no text \xff\xfe"] {
            let path = directory.path().join(OsStr::from_bytes(name));
            let is_known = || listening().unwrap().contains(&path);
            assert!(!is_known());
            let listener = UnixListener::bind(&path).unwrap();
            assert!(is_known(), "{}", path.display());
            // What is no text hides no other name.
            let other = directory.path().join("other");
            let _other = UnixListener::bind(&other).unwrap();
            assert!(listening().unwrap().contains(&other));
            fs::remove_file(&other).unwrap();
            drop(listener);
            assert!(!is_known());
        }
    }

    #[test]
    fn a_socket_is_found_through_links_and_after_it_was_renamed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["real", "other"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        let bound = root.join("link/first");
        let _listener = UnixListener::bind(&bound).unwrap();
        fs::write(root.join("real/file"), "").unwrap();
        assert_eq!(places_of(&bound), [root.join("real/first")]);
        fs::rename(&bound, root.join("real/second")).unwrap();
        assert_eq!(places_of(&bound), [root.join("real/second")]);
        assert_eq!(places_of(&root.join("gone/x")), Vec::<PathBuf>::new());
    }

    #[test]
    fn only_what_accepts_and_has_a_path_counts() {
        let text = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01  1234 /run/a b\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 12345 /run/c\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12346 @/run/d\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12347\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 12348 /run/e 00010000 /f\n\
            00000000: 00000002 00000000 00010000 0001 01  1235 /run/g 00010000 /h\n";
        let expected = ["/run/a b", "/run/g 00010000 /h"].map(PathBuf::from);
        assert_eq!(paths(text), expected);
    }
}
