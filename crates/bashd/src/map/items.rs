//! The items of a map: read from the caller as fast as they come, into a file, and from there one
//! by one. So neither a slow map nor a million items take memory, and a map that is resumed has its
//! items.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use tokio::sync::watch;

/// Bytes that are read at once.
const BUFFER: usize = 64 * 1024;

/// Bytes of the longest item: a command with it must still be one.
const LONGEST: usize = 1024 * 1024;

/// What follows the list when all of it was read: no list ends like this, since it is beside it.
const WHOLE: &str = "items.whole";

/// The file of a list.
const LIST: &str = "items";

/// How items are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemSeparator {
    /// Each line is one; empty lines are none.
    #[default]
    Line,
    /// A NUL ends each.
    Nul,
}

/// How much of a list has been read.
#[derive(Debug, Clone, Default)]
struct ReadSoFar {
    bytes: u64,
    /// Whether that is all, or why there is no more.
    end: Option<Result<(), String>>,
}

/// A list, read one by one.
pub(super) struct ItemList {
    file: File,
    separator: ItemSeparator,
    so_far: watch::Receiver<ReadSoFar>,
    /// What was read of the file and is no whole item yet.
    buffer: Vec<u8>,
    /// Up to where the buffer was taken out,
    taken: usize,
    /// and up to where the file was read.
    at: u64,
}

/// Whether the list in a directory was read to its end.
pub(super) fn is_whole(directory: &Path) -> bool {
    directory.join(WHOLE).exists()
}

/// How many items the list in a directory has, if it was read to its end.
pub(super) fn count(directory: &Path, separator: ItemSeparator) -> Option<u64> {
    if !is_whole(directory) {
        return None;
    }
    let mut file = BufReader::new(File::open(directory.join(LIST)).ok()?);
    let (mut items, mut line) = (0, Vec::new());
    loop {
        line.clear();
        if file.read_until(separator.byte(), &mut line).ok()? == 0 {
            return Some(items);
        }
        let is_empty = line == [separator.byte()];
        items += u64::from(!is_empty || separator == ItemSeparator::Nul);
    }
}

impl ItemSeparator {
    fn byte(self) -> u8 {
        match self {
            Self::Line => b'\n',
            Self::Nul => 0,
        }
    }
}

impl ItemList {
    /// The list in a directory; the rest of it, if that is not whole, comes from `source`, which
    /// begins with what is there.
    pub(super) fn open(
        directory: &Path,
        separator: ItemSeparator,
        source: Option<Box<dyn Read + Send>>,
    ) -> io::Result<Self> {
        let mut options = File::options();
        let file = options
            .read(true)
            .append(true)
            .create(true)
            .open(directory.join(LIST))?;
        let there = file.metadata()?.len();
        let is_whole = is_whole(directory);
        let (sender, so_far) = watch::channel(ReadSoFar {
            bytes: there,
            end: is_whole.then_some(Ok(())),
        });
        if !is_whole {
            let source = source.ok_or_else(|| {
                io::Error::other("its items were not read to their end: give them again on stdin")
            })?;
            let (file, directory) = (file.try_clone()?, directory.to_owned());
            let reader = thread::Builder::new().name("bashd-items".to_owned());
            reader.spawn(move || {
                let read = read_in(source, &file, there, &sender);
                let read = read.and_then(|()| File::create(directory.join(WHOLE)).map(drop));
                let read = read.map_err(|error| error.to_string());
                sender.send_modify(|so_far| so_far.end = Some(read));
            })?;
        }
        Ok(Self {
            file,
            separator,
            so_far,
            buffer: Vec::new(),
            taken: 0,
            at: 0,
        })
    }

    /// Whether the whole list is known, so that a number of its items is, too.
    pub(super) fn is_known(&self) -> bool {
        let so_far = self.so_far.borrow();
        so_far.end.is_some() && so_far.bytes <= self.at
    }

    /// The next item; `None` after the last. May be dropped at any time.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(item) = self.take() {
                if item.is_empty() && self.separator == ItemSeparator::Line {
                    continue;
                }
                return Ok(Some(item));
            }
            if self.buffer.len() - self.taken > LONGEST {
                return Err(io::Error::other("an item has more than 1 MiB"));
            }
            let so_far = self.so_far.borrow_and_update().clone();
            if so_far.bytes > self.at {
                self.read(so_far.bytes)?;
                continue;
            }
            match so_far.end {
                Some(Ok(())) => return Ok(self.last()),
                Some(Err(problem)) => return Err(io::Error::other(problem)),
                // Its sender lives until there is an end.
                None => drop(self.so_far.changed().await),
            }
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let rest = self.buffer.get(self.taken..)?;
        let length = memchr::memchr(self.separator.byte(), rest)?;
        let item = rest.get(..length)?.to_vec();
        self.taken += length + 1;
        Some(item)
    }

    /// What is behind the last separator.
    fn last(&mut self) -> Option<Vec<u8>> {
        let rest = self.buffer.split_off(self.taken);
        self.taken = 0;
        self.buffer.clear();
        Some(rest).filter(|rest| !rest.is_empty())
    }

    fn read(&mut self, upto: u64) -> io::Result<()> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let more = (upto - self.at).min(BUFFER as u64) as usize;
        let before = self.buffer.len();
        self.buffer.resize(before + more, 0);
        let room = self.buffer.get_mut(before..).unwrap_or_default();
        self.file.read_exact_at(room, self.at)?;
        self.at += more as u64;
        Ok(())
    }
}

/// Copies a source into the file, as it comes. What is there already must be its beginning.
fn read_in(
    mut source: Box<dyn Read + Send>,
    mut file: &File,
    there: u64,
    told: &watch::Sender<ReadSoFar>,
) -> io::Result<()> {
    let (mut buffer, mut known) = (vec![0; BUFFER], vec![0; BUFFER]);
    let mut compared = 0;
    loop {
        let count = match source.read(&mut buffer) {
            Ok(0) if compared < there => return Err(other_items()),
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let mut bytes = buffer.get(..count).unwrap_or_default();
        if compared < there {
            let most = (there - compared).min(bytes.len() as u64) as usize;
            let (again, rest) = bytes.split_at(most);
            let known = known.get_mut(..most).unwrap_or_default();
            file.read_exact_at(known, compared)?;
            if known != again {
                return Err(other_items());
            }
            compared += most as u64;
            bytes = rest;
        }
        if !bytes.is_empty() {
            file.write_all(bytes)?;
            told.send_modify(|so_far| so_far.bytes += bytes.len() as u64);
        }
    }
}

fn other_items() -> io::Error {
    io::Error::other("these are other items than those with which the map began")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(directory: &Path, separator: ItemSeparator, text: &'static [u8]) -> Vec<String> {
        let list = ItemList::open(directory, separator, Some(Box::new(text))).unwrap();
        all(list).unwrap()
    }

    fn all(mut list: ItemList) -> io::Result<Vec<String>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut found = Vec::new();
        while let Some(item) = runtime.block_on(list.next())? {
            found.push(String::from_utf8(item).unwrap());
        }
        assert!(list.is_known());
        Ok(found)
    }

    #[test]
    fn lines_and_nuls_tell_items_apart() {
        let there = tempfile::tempdir().unwrap();
        let lines = items(there.path(), ItemSeparator::Line, b"a b\n\n c\nlast");
        assert_eq!(lines, ["a b", " c", "last"]);
        assert_eq!(count(there.path(), ItemSeparator::Line), Some(3));
        let there = tempfile::tempdir().unwrap();
        let nuls = items(there.path(), ItemSeparator::Nul, b"a\nb\0\0c\0");
        assert_eq!(nuls, ["a\nb", "", "c"]);
        assert_eq!(count(there.path(), ItemSeparator::Nul), Some(3));
    }

    #[test]
    fn a_list_that_was_cut_short_goes_on_where_it_was() {
        let there = tempfile::tempdir().unwrap();
        std::fs::write(there.path().join(LIST), "a\nb").unwrap();
        assert!(!is_whole(there.path()));
        let missing = ItemList::open(there.path(), ItemSeparator::Line, None);
        assert!(missing.is_err_and(|error| error.to_string().contains("give them again")));
        let other: Box<dyn Read + Send> = Box::new(&b"a\nc\n"[..]);
        let other = ItemList::open(there.path(), ItemSeparator::Line, Some(other)).unwrap();
        assert!(all(other).unwrap_err().to_string().contains("other items"));
        let again = items(there.path(), ItemSeparator::Line, b"a\nbc\nd\n");
        assert_eq!(again, ["a", "bc", "d"]);
        assert!(is_whole(there.path()));
        let list = ItemList::open(there.path(), ItemSeparator::Line, None).unwrap();
        assert_eq!(all(list).unwrap(), ["a", "bc", "d"]);
    }
}
