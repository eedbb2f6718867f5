//! The Unix sockets of this machine on which somebody listens.
//!
//! The kernel tells the names by which they were bound. One that was bound by a relative name can't
//! be found by it (`SECURITY.md` says so).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
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
