//! The variables of a process, in the form that the kernel takes.
//!
//! Every call has an environment, and most of it is the same for all calls. So it is one block of
//! `NAME=VALUE` entries, each ended by NUL: copied, compared and passed to `execve` as it is.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_bytes::ByteBuf;
use std::collections::HashSet;
use std::ffi::{CStr, OsStr};
use std::fmt;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

/// The variable by which a command learns the id of its run.
pub const RUN_VARIABLE: &str = "BASHD_RUN";

/// Up to this many variables are looked for one by one, which is what most calls need.
const FEW: usize = 8;

/// An environment: no name is there twice.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables {
    block: Vec<u8>,
    /// Where each entry ends, after its NUL.
    ends: Vec<usize>,
}

impl Variables {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.entries().map(|entry| {
            let (name, value) = split(entry);
            (OsStr::from_bytes(name), OsStr::from_bytes(value))
        })
    }

    /// The value of a variable.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        let name = name.as_ref().as_bytes();
        let value = self.entries().find_map(|entry| value_of(name, entry))?;
        Some(OsStr::from_bytes(value))
    }

    /// Sets a variable, replacing its value. Anything that cannot be passed to a process is left
    /// out: an empty name, or anything with a NUL.
    pub fn set(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        let (name, value) = (name.as_ref().as_bytes(), value.as_ref().as_bytes());
        if !can_be_passed(name, value) {
            return;
        }
        let is_it = |entry| value_of(name, entry).is_some();
        let known = self.entries().position(is_it);
        if let Some(at) = known {
            self.remove(at);
        }
        self.push(name, value);
    }

    /// Removes all but those that should stay, by name and value.
    pub fn retain(&mut self, mut stays: impl FnMut(&OsStr, &OsStr) -> bool) {
        let (mut block, mut ends) = (Vec::with_capacity(self.block.len()), Vec::new());
        for range in (0..self.ends.len()).filter_map(|at| self.range(at)) {
            let Some(entry) = self.entry(range.clone()) else {
                continue;
            };
            let (name, value) = split(entry);
            if stays(OsStr::from_bytes(name), OsStr::from_bytes(value)) {
                block.extend_from_slice(self.block.get(range).unwrap_or_default());
                ends.push(block.len());
            }
        }
        *self = Self { block, ends };
    }

    /// Appends a variable that is not there.
    fn push(&mut self, name: &[u8], value: &[u8]) {
        self.block.reserve(name.len() + value.len() + 2);
        for part in [name, b"=", value, &[0]] {
            self.block.extend_from_slice(part);
        }
        self.ends.push(self.block.len());
    }

    /// Sets many variables, in time that grows with their number and not with its square: a caller
    /// may name any number of them.
    fn set_many(&mut self, variables: &[(&[u8], &[u8])]) {
        let mut names = HashSet::with_capacity(variables.len());
        let last_of_each = variables
            .iter()
            .rev()
            .filter(|(name, _)| names.insert(*name));
        let new: Vec<_> = last_of_each.collect();
        self.retain(|name, _| !names.contains(name.as_bytes()));
        for (name, value) in new.into_iter().rev() {
            self.push(name, value);
        }
    }

    /// Whether both are equal, in the same order, ignoring this one variable.
    pub fn equals_but_for(&self, name: &str, other: &Self) -> bool {
        let counts = |entry: &&[u8]| value_of(name.as_bytes(), entry).is_none();
        let (ours, theirs) = (self.entries(), other.entries());
        ours.filter(counts).eq(theirs.filter(counts))
    }

    /// Each entry as `execve` takes it.
    pub fn c_strings(&self) -> impl Iterator<Item = &CStr> {
        let ranges = (0..self.ends.len()).filter_map(|at| self.range(at));
        let entries = ranges.filter_map(|range| self.block.get(range));
        entries.filter_map(|entry| CStr::from_bytes_with_nul(entry).ok())
    }

    /// `NAME=VALUE` of each.
    fn entries(&self) -> impl Iterator<Item = &[u8]> {
        let ranges = (0..self.ends.len()).filter_map(|at| self.range(at));
        ranges.filter_map(|range| self.entry(range))
    }

    /// Where an entry is, with its NUL.
    fn range(&self, at: usize) -> Option<Range<usize>> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before));
        Some(start.copied().unwrap_or(0)..end)
    }

    fn entry(&self, range: Range<usize>) -> Option<&[u8]> {
        self.block.get(range.start..range.end - 1)
    }

    fn remove(&mut self, at: usize) {
        let Some(range) = self.range(at) else { return };
        let length = range.len();
        self.block.drain(range);
        self.ends.remove(at);
        for end in self.ends.iter_mut().skip(at) {
            *end -= length;
        }
    }

    /// A block that another process sent.
    fn from_block(mut block: Vec<u8>) -> Self {
        if block.last().is_some_and(|&last| last != 0) {
            block.push(0);
        }
        let nuls = block.iter().enumerate().filter(|(_, byte)| **byte == 0);
        let ends = nuls.map(|(at, _)| at + 1).collect();
        Self { block, ends }
    }
}

/// Whether a process can be given such a variable.
fn can_be_passed(name: &[u8], value: &[u8]) -> bool {
    !name.is_empty() && !name.contains(&0) && !value.contains(&0)
}

/// The value in an entry, if the entry is that of the named variable.
fn value_of<'a>(name: &[u8], entry: &'a [u8]) -> Option<&'a [u8]> {
    let is_it = entry.get(name.len()) == Some(&b'=') && entry.starts_with(name);
    is_it.then(|| entry.get(name.len() + 1..)).flatten()
}

/// Name and value. A name may begin with `=`, as the system allows.
fn split(entry: &[u8]) -> (&[u8], &[u8]) {
    let rest = entry.get(1..).unwrap_or_default();
    let end = rest.iter().position(|&byte| byte == b'=');
    let end = end.map_or(entry.len(), |at| at + 1);
    let (name, value) = entry.split_at(end);
    (name, value.get(1..).unwrap_or_default())
}

impl<N: AsRef<OsStr>, V: AsRef<OsStr>> Extend<(N, V)> for Variables {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, variables: I) {
        let variables: Vec<(N, V)> = variables.into_iter().collect();
        let pairs = variables.iter().map(|(name, value)| {
            let (name, value) = (name.as_ref(), value.as_ref());
            (name.as_bytes(), value.as_bytes())
        });
        let pairs: Vec<_> = pairs
            .filter(|(name, value)| can_be_passed(name, value))
            .collect();
        match &*pairs {
            few if few.len() <= FEW => few.iter().for_each(|(name, value)| {
                self.set(OsStr::from_bytes(name), OsStr::from_bytes(value));
            }),
            many => self.set_many(many),
        }
    }
}

impl<N: AsRef<OsStr>, V: AsRef<OsStr>> FromIterator<(N, V)> for Variables {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let mut made = Self::default();
        made.extend(variables);
        made
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Variables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.block)
    }
}

impl<'de> Deserialize<'de> for Variables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let block = ByteBuf::deserialize(deserializer)?;
        Ok(Self::from_block(block.into_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn pairs(variables: &Variables) -> Vec<(String, String)> {
        let owned = |text: &OsStr| text.to_string_lossy().into_owned();
        let all = variables.iter();
        all.map(|(name, value)| (owned(name), owned(value)))
            .collect()
    }

    #[test]
    fn of_several_with_one_name_the_last_holds() {
        let variables: Variables = [("A", "1"), ("AB", "2"), ("A", "x=y"), ("E", "")]
            .into_iter()
            .collect();
        let expected = [("AB", "2"), ("A", "x=y"), ("E", "")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(pairs(&variables), expected);
        assert_eq!(variables.get("A"), Some(OsStr::new("x=y")));
        assert_eq!(variables.get("B"), None);
    }

    #[test]
    fn what_no_process_can_be_given_is_left_out() {
        let mut variables = Variables::default();
        variables.set("", "1");
        variables.set("A\0B", "1");
        variables.set("A", "1\0B=2");
        assert_eq!(variables, Variables::default());
        variables.set("=C:", "odd");
        assert_eq!(variables.get("=C:"), Some(OsStr::new("odd")));
    }

    /// With a search for each name this would take minutes, and a server's thread with it.
    #[test]
    fn a_hundred_thousand_are_set_and_filtered_in_linear_time() {
        let named = |at: usize| (format!("V{}", at % 90_000), at.to_string());
        let mut variables: Variables = (0..100_000).map(named).collect();
        assert_eq!(variables.iter().count(), 90_000);
        assert_eq!(variables.get("V1"), Some(OsStr::new("90001")));
        variables.extend((0..50_000).map(named));
        assert_eq!(variables.get("V1"), Some(OsStr::new("1")));
        variables.retain(|name, _| name.as_bytes().ends_with(b"7"));
        assert_eq!(variables.iter().count(), 9_000);
    }

    proptest! {
        #[test]
        fn they_are_a_map_and_arrive_as_they_were_sent(
            told in proptest::collection::vec(("[A-C]{1,2}", "[^\0]{0,4}"), 0..24),
            out in "[A-C]{1,2}",
        ) {
            let mut variables: Variables = told.iter().map(|(n, v)| (n, v)).collect();
            let mut map: BTreeMap<_, _> = told.into_iter().collect();
            variables.retain(|name, _| name != OsStr::new(&out));
            map.remove(&out);
            let sorted: BTreeMap<_, _> = pairs(&variables).into_iter().collect();
            prop_assert_eq!(sorted.len(), variables.c_strings().count());
            prop_assert_eq!(&sorted, &map);
            let sent = rmp_serde::to_vec_named(&variables).unwrap();
            prop_assert_eq!(rmp_serde::from_slice::<Variables>(&sent).unwrap(), variables);
        }
    }
}
