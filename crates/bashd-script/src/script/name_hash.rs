//! Tables by the names of programs, for questions about every command.
//!
//! The keys are ours, so that no script can make them collide; variables of a script are kept in
//! maps with the usual hash.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A table by name.
pub(crate) type NameMap<V> = HashMap<&'static str, V, BuildHasherDefault<NameHasher>>;

/// A set of names.
pub(crate) type NameSet = HashSet<&'static str, BuildHasherDefault<NameHasher>>;

/// FNV-1a: short names are hashed in a few steps.
#[derive(Default)]
pub(crate) struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
