//! What is written down of a map: a directory with its items, what was asked for, and a journal, to
//! which one line is appended before an item begins and one when it has ended.
//!
//! Whoever is killed in between leaves an item that had begun and whose end is not known. A line
//! is one `write`, so it is there whole as soon as it is there, as far as processes go; a machine
//! that loses its power may lose the last ones.

use super::items;
use super::{ItemResult, ItemState, MapSpec};
use crate::appending;
use crate::error::{Error, ErrorKind, Result};
use bashd_keeper::file_lock::{self, LockKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What was asked for.
const SPEC: &str = "spec.json";

/// What happened.
const JOURNAL: &str = "journal";

/// How long somebody else may hold a map that is looked at.
const PATIENCE: Duration = Duration::from_millis(200);

/// Characters of a name.
const LONGEST_NAME: usize = 64;

/// Where a line is in the journal.
pub(super) type JournalSpot = (u64, usize);

/// A line of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JournalLine {
    /// An item begins, here or at a place.
    Begun { number: u64, place: Option<String> },
    /// It did not begin after all.
    NotBegun { number: u64 },
    /// It has ended.
    Ended(ItemResult),
}

/// What is known of an item of a map that is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownItem {
    /// It had begun, and its end is not known.
    Begun,
    /// Its result is there.
    Ended(JournalSpot, ItemState),
}

/// The record of a map; it is this process's alone while this is held.
#[derive(Debug)]
pub(super) struct MapJournal {
    pub(super) directory: PathBuf,
    file: File,
    end: u64,
}

/// A map that was begun at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownMap {
    /// Its name.
    pub name: String,
    /// The command.
    pub command: String,
    /// Items that have begun.
    pub begun: u64,
    /// Items that have ended.
    pub ended: u64,
    /// Of these, those that did not end with status 0.
    pub failed: u64,
    /// All items, if the list was read to its end.
    pub items: Option<u64>,
    /// Whether it runs now.
    pub running: bool,
}

/// A name for a map, checked: it is a directory's.
pub(super) fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_good = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.starts_with('.')
        && name.chars().all(is_plain);
    if is_good {
        return Ok(());
    }
    let text = format!("`{name}` is no name for a map: letters, digits, `-`, `_` and `.`");
    Err(Error::new(ErrorKind::Config, text))
}

impl MapJournal {
    /// Begins one of this name.
    pub(super) fn begin(maps: &Path, name: &str, spec: &MapSpec) -> Result<Self> {
        check_name(name)?;
        let directory = maps.join(name);
        appending::make_directory(maps).map_err(|error| failed("make", maps, error))?;
        fs::create_dir(&directory).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                let text = format!(
                    "there is a map `{name}` already: go on with it (--resume {name}), or remove it (--forget {name})"
                );
                Error::new(ErrorKind::Config, text)
            }
            _ => failed("make", &directory, error),
        })?;
        let journal = Self::open(directory)?;
        // Last, and whole: a directory without it is no map.
        let text = serde_json::to_vec(spec).unwrap_or_default();
        let path = journal.directory.join(SPEC);
        let beside = journal.directory.join("spec.new");
        let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, &path));
        written.map_err(|error| failed("write", &path, error))?;
        Ok(journal)
    }

    /// Goes on with one; what was asked for.
    pub(super) fn resume(maps: &Path, name: &str) -> Result<(Self, MapSpec)> {
        check_name(name)?;
        let directory = maps.join(name);
        let spec = spec_of(&directory).map_err(|_| {
            let text =
                format!("there is no map `{name}`: `bashd map --list` shows those there are");
            Error::new(ErrorKind::Config, text)
        })?;
        Ok((Self::open(directory)?, spec))
    }

    fn open(directory: PathBuf) -> Result<Self> {
        let path = directory.join(JOURNAL);
        let mut options = File::options();
        let file = options.read(true).append(true).create(true).open(&path);
        let mut file = file.map_err(|error| failed("open", &path, error))?;
        file_lock::lock_within(&file, LockKind::Exclusive, PATIENCE).map_err(|_| {
            let name = directory.file_name().unwrap_or_default().display();
            Error::new(ErrorKind::Config, format!("the map `{name}` runs already"))
        })?;
        let end = file.seek(SeekFrom::End(0));
        let end = end.map_err(|error| failed("read", &path, error))?;
        Ok(Self {
            directory,
            file,
            end,
        })
    }

    /// What is known of its items, by number. What a full disk has torn is passed over.
    pub(super) fn known(&mut self) -> Result<BTreeMap<u64, KnownItem>> {
        let mut known = BTreeMap::new();
        let mut is_torn = false;
        let read = each_line(&self.file, |place, line| match line {
            Some(JournalLine::Begun { number, .. }) => {
                known.insert(number, KnownItem::Begun);
            }
            Some(JournalLine::NotBegun { number }) => drop(known.remove(&number)),
            Some(JournalLine::Ended(result)) => {
                known.insert(result.number, KnownItem::Ended(place, result.state));
            }
            None => is_torn = true,
        });
        let end = read.map_err(|error| failed("read", &self.directory, error))?;
        if is_torn || end < self.end {
            // What follows begins a line of its own.
            self.append(b"\n")?;
        }
        Ok(known)
    }

    /// An item is about to begin. It must not, if this fails.
    pub(super) fn begun(&mut self, number: u64, place: Option<&str>) -> Result<()> {
        let place = place.map(str::to_owned);
        self.write(&JournalLine::Begun { number, place }).map(drop)
    }

    /// It did not.
    pub(super) fn not_begun(&mut self, number: u64) -> Result<()> {
        self.write(&JournalLine::NotBegun { number }).map(drop)
    }

    /// It has ended.
    pub(super) fn ended(&mut self, result: ItemResult) -> Result<(JournalSpot, ItemResult)> {
        let line = JournalLine::Ended(result);
        let place = self.write(&line)?;
        let JournalLine::Ended(result) = line else {
            unreachable!("it was just made");
        };
        Ok((place, result))
    }

    /// A result that was written before.
    pub(super) fn result(&self, (at, length): JournalSpot) -> Result<ItemResult> {
        let mut bytes = vec![0; length];
        let read = self.file.read_exact_at(&mut bytes, at);
        let line = read.and_then(|()| Ok(serde_json::from_slice(&bytes)?));
        match line.map_err(|error| failed("read", &self.directory, error))? {
            JournalLine::Ended(result) => Ok(result),
            _ => Err(Error::new(ErrorKind::Io, "the journal has changed")),
        }
    }

    /// Removes all of it.
    pub(super) fn remove(self) {
        // Nothing depends on it; the next map of that name would say so.
        let _ = fs::remove_dir_all(&self.directory);
        let _ = self.directory.parent().map(fs::remove_dir);
    }

    fn write(&mut self, line: &JournalLine) -> Result<JournalSpot> {
        let mut bytes = serde_json::to_vec(line).unwrap_or_default();
        let place = (self.end, bytes.len());
        bytes.push(b'\n');
        self.append(&bytes)?;
        Ok(place)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| failed("write", &self.directory.join(JOURNAL), error))?;
        self.end += bytes.len() as u64;
        Ok(())
    }
}

/// All maps of a state directory that can be gone on with or looked at.
pub(super) fn list(maps: &Path) -> Vec<KnownMap> {
    let directories = fs::read_dir(maps).into_iter().flatten().flatten();
    let known = directories.filter_map(|entry| look(&entry.path()));
    let mut known: Vec<KnownMap> = known.collect();
    known.sort_by(|one, other| one.name.cmp(&other.name));
    known
}

/// Removes one that does not run.
pub(super) fn forget(maps: &Path, name: &str) -> Result<()> {
    let (journal, _) = MapJournal::resume(maps, name)?;
    journal.remove();
    Ok(())
}

fn look(directory: &Path) -> Option<KnownMap> {
    let spec = spec_of(directory).ok()?;
    let file = File::open(directory.join(JOURNAL)).ok()?;
    let running = file_lock::lock_within(&file, LockKind::Shared, Duration::ZERO).is_err();
    let mut map = KnownMap {
        name: directory.file_name()?.to_str()?.to_owned(),
        command: spec.command,
        begun: 0,
        ended: 0,
        failed: 0,
        items: items::count(directory, spec.separator),
        running,
    };
    each_line(&file, |_, line| match line {
        Some(JournalLine::Begun { .. }) => map.begun += 1,
        Some(JournalLine::NotBegun { .. }) => map.begun = map.begun.saturating_sub(1),
        Some(JournalLine::Ended(result)) => {
            map.ended += 1;
            map.failed += u64::from(result.state != ItemState::Done);
        }
        None => {}
    })
    .ok()?;
    Some(map)
}

fn spec_of(directory: &Path) -> io::Result<MapSpec> {
    let text = fs::read(directory.join(SPEC))?;
    serde_json::from_slice(&text).map_err(io::Error::other)
}

/// Reads lines; where the last whole one ends. `None` is one that can't be read.
fn each_line(
    file: &File,
    mut each: impl FnMut(JournalSpot, Option<JournalLine>),
) -> io::Result<u64> {
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(0))?;
    let (mut at, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let count = reader.read_until(b'\n', &mut line)? as u64;
        let Some(text) = line.strip_suffix(b"\n") else {
            return Ok(at);
        };
        each((at, text.len()), serde_json::from_slice(text).ok());
        at += count;
    }
}

fn failed(doing: &str, path: &Path, error: io::Error) -> Error {
    let doing = format!("{doing} the record of the map, {},", path.display());
    Error::io(ErrorKind::Io, doing, error)
}
