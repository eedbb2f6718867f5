//! Seals: short proofs that a record was written by a bashd with the key of its state directory.
//!
//! The key is a file that only its owner can read. Who can read it can seal anything: a seal shows
//! damage, and what a command did that could reach the records and not the key.

use hmac::{Hmac, KeyInit, Mac};
use rustix::fs::{Mode, OFlags};
use rustix::rand::GetRandomFlags;
use sha2::Sha256;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// The key's file in the state directory.
pub const FILE: &str = "key";

/// Bytes of the key.
const KEY_BYTES: usize = 32;

/// Bytes of a seal: half of what the hash gives.
const SEAL_BYTES: usize = 16;

/// What stands before the seal in a record of JSON, which it ends.
const FIELD: &str = ",\"seal\":\"";

/// The key of a state directory.
#[derive(Clone)]
pub struct SealKey(Hmac<Sha256>);

impl std::fmt::Debug for SealKey {
    /// Nothing of it.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SealKey")
    }
}

impl SealKey {
    /// The key that is there.
    pub fn read(state: &Path) -> io::Result<Self> {
        // NONBLOCK: a FIFO in its place must not hang a call. It has no effect on files.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::open(state.join(FILE), flags, Mode::empty())?;
        let mut bytes = Vec::new();
        let mut file = fs::File::from(file).take(KEY_BYTES as u64 + 1);
        file.read_to_end(&mut bytes)?;
        if bytes.len() != KEY_BYTES {
            let text = format!("{FILE} does not hold {KEY_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let mac = Hmac::new_from_slice(&bytes).map_err(io::Error::other)?;
        Ok(Self(mac))
    }

    /// The key that is there, or a new one.
    pub fn of(state: &Path) -> io::Result<Self> {
        match Self::read(state) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(state)?;
                Self::read(state)
            }
            read => read,
        }
    }

    /// The seal of these bytes as a record of this kind, in hexadecimal.
    pub fn seal(&self, kind: &str, name: &str, bytes: &[u8]) -> String {
        let mut mac = self.0.clone();
        for part in [kind, name] {
            mac.update(part.as_bytes());
            mac.update(&[0]);
        }
        mac.update(bytes);
        let whole = mac.finalize().into_bytes();
        let bytes = whole.iter().take(SEAL_BYTES);
        bytes.fold(String::new(), |seal, byte| seal + &format!("{byte:02x}"))
    }

    /// A JSON object with its seal as the last field. `name` is what must not be exchanged.
    pub fn sealed(&self, kind: &str, name: &str, mut object: Vec<u8>) -> Vec<u8> {
        let seal = self.seal(kind, name, &object);
        if object.pop_if(|last| *last == b'}').is_some() {
            object.extend(format!("{FIELD}{seal}\"}}").as_bytes());
        }
        object
    }

    /// What is wrong with such an object, if anything.
    pub fn check(&self, kind: &str, name: &str, object: &[u8]) -> Result<(), Unsealed> {
        let at = memchr::memmem::rfind(object, FIELD.as_bytes()).ok_or(Unsealed::Missing)?;
        let (before, field) = object.split_at_checked(at).ok_or(Unsealed::Missing)?;
        let given = field
            .strip_prefix(FIELD.as_bytes())
            .and_then(|rest| rest.strip_suffix(b"\"}"));
        let expected = self.seal(kind, name, &[before, b"}"].concat());
        match given {
            Some(given) if given == expected.as_bytes() => Ok(()),
            _ => Err(Unsealed::Altered),
        }
    }
}

/// What is wrong with a record's seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsealed {
    /// It has none: an older bashd wrote it, or somebody who has no key.
    Missing,
    /// It is not that of this record.
    Altered,
}

/// Makes a key, unless somebody else just did.
fn make(state: &Path) -> io::Result<()> {
    let mut key = [0; KEY_BYTES];
    if rustix::rand::getrandom(&mut key, GetRandomFlags::empty())? != KEY_BYTES {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // Writing beyond the limit would end the host by SIGXFSZ.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_some_and(|limit| limit < KEY_BYTES as u64) {
        return Err(rustix::io::Errno::FBIG.into());
    }
    crate::spool::prepare_runs_directory(state)?;
    let aside = state.join(format!(
        ".{FILE}.{}.{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = rustix::fs::open(&aside, flags, Mode::RUSR | Mode::WUSR)?;
    let made = rustix::io::write(&file, &key).map_err(io::Error::from);
    let made = made.and_then(|_| match fs::hard_link(&aside, state.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    let _ = fs::remove_file(&aside);
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_sealed_object_is_that_object_and_nothing_else() {
        let state = tempfile::tempdir().unwrap();
        let key = SealKey::of(state.path()).unwrap();
        let object = br#"{"exit":1,"text":",\"seal\":\"x"}"#.to_vec();
        let sealed = key.sealed("status", "a", object.clone());
        let value: serde_json::Value = serde_json::from_slice(&sealed).unwrap();
        assert_eq!(value["exit"], 1);
        assert_eq!(key.check("status", "a", &sealed), Ok(()));
        assert_eq!(key.check("status", "b", &sealed), Err(Unsealed::Altered));
        assert_eq!(key.check("artifact", "a", &sealed), Err(Unsealed::Altered));
        let altered = String::from_utf8(sealed).unwrap().replace(":1,", ":0,");
        let altered = key.check("status", "a", altered.as_bytes());
        assert_eq!(altered, Err(Unsealed::Altered));
        let missing = key.check("status", "a", br#"{"exit":1}"#);
        assert_eq!(missing, Err(Unsealed::Missing));
    }

    #[test]
    fn there_is_one_key_and_only_its_owner_reads_it() {
        let state = tempfile::tempdir().unwrap();
        let keys: Vec<_> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| SealKey::of(state.path()).unwrap().seal("a", "b", b"c")))
                .collect();
            makers
                .into_iter()
                .map(|maker| maker.join().unwrap())
                .collect()
        });
        assert!(keys.iter().all(|seal| *seal == keys[0]), "{keys:?}");
        let mode = fs::metadata(state.path().join(FILE)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(state.path().join(FILE), "short").unwrap();
        assert!(SealKey::of(state.path()).is_err());
    }
}
