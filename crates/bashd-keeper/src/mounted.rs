//! What is mounted where, as the kernel lists it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// One place where something is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountPoint {
    /// Where.
    pub path: PathBuf,
    /// Whether it can only be read.
    pub is_read_only: bool,
}

/// Every place where something is mounted, in the order of the kernel.
pub fn points() -> Vec<MountPoint> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(point).collect()
}

/// `36 35 98:0 /root /mnt ro,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn point(line: &[u8]) -> Option<MountPoint> {
    let mut words = line.split(|byte| *byte == b' ');
    let path = OsString::from_vec(plain(words.nth(4)?));
    let own = words.next()?;
    let of_file_system = words.next_back()?;
    let is_read_only = |options: &[u8]| options.split(|byte| *byte == b',').any(|o| o == b"ro");
    Some(MountPoint {
        path: path.into(),
        is_read_only: is_read_only(own) || is_read_only(of_file_system),
    })
}

/// A path without the octal numbers that stand for blanks and backslashes.
fn plain(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((byte, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *byte == b'\\');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(code) = code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            plain.push(code);
            rest = after.get(3..).unwrap_or_default();
        } else {
            plain.push(*byte);
            rest = after;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_with_their_blanks() {
        let line = br"36 35 98:0 / /mnt/a\040b\134c rw,noatime shared:1 - ext4 /dev/x ro,errors=x";
        let expected = MountPoint {
            path: "/mnt/a b\\c".into(),
            is_read_only: true,
        };
        assert_eq!(point(line), Some(expected));
        assert_eq!(point(b""), None);
        assert!(points().iter().any(|point| point.path.as_os_str() == "/"));
    }
}
