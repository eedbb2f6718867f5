//! When this store itself moved things: a path that changed at such a moment, and is otherwise as a
//! change knows it, was moved there and back by another change, and by nobody else.
//!
//! A file that one command wrote and a later one wrote again is put back when the later change is
//! undone. Its change time is another then, and so is that of every directory on the way; without
//! this the earlier change could not be undone any more. What a file has in it is never taken on
//! trust: its inode, size and time of writing have to be the same.

use super::record::ChangeRecord;
use super::tree::{FileTime, TreeContent, TreeStamp};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A longer list loses its older half.
const LONGEST: usize = 64 << 10;

/// From when until when the things of a change were moved.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnMove {
    id: String,
    from: FileTime,
    until: FileTime,
}

impl OwnMove {
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let id = words.next()?.to_owned();
        let mut number = || words.next()?.parse().ok();
        Some(Self {
            id,
            from: (number()?, number()?),
            until: (number()?, number()?),
        })
    }

    fn line(&self) -> String {
        let Self { id, from, until } = self;
        format!("{id} {} {} {} {}\n", from.0, from.1, until.0, until.1)
    }
}

/// The moment as the file system tells it, or a little earlier.
pub(super) fn moment() -> FileTime {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    (now.tv_sec, now.tv_nsec)
}

/// The moment, not earlier than the file system tells it.
fn moment_after() -> FileTime {
    let now = clock_gettime(ClockId::Realtime);
    (now.tv_sec, now.tv_nsec)
}

/// All that were noted.
#[derive(Debug, Default)]
pub(super) struct OwnMoves(Vec<OwnMove>);

impl OwnMoves {
    pub(super) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        Self(text.lines().filter_map(OwnMove::read).collect())
    }

    /// Notes that the things of a change were moved since a moment. If that fails, what was moved
    /// counts as changed by somebody else.
    pub(super) fn note(path: &Path, id: &str, from: FileTime) {
        let until = moment_after();
        let id = id.to_owned();
        let line = OwnMove { id, from, until }.line();
        let is_long = path
            .metadata()
            .is_ok_and(|found| found.len() > LONGEST as u64);
        if is_long {
            let mut all = Self::read(path);
            all.0.drain(..all.0.len() / 2);
            let _ = all.write(path);
        }
        let mut options = fs::File::options();
        let opened = options.append(true).create(true).mode(0o600).open(path);
        let _ = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    }

    /// What a change did that is no longer known, but real, is somebody else's from now on.
    pub(super) fn forget(path: &Path, id: &str) -> io::Result<()> {
        let mut all = Self::read(path);
        let before = all.0.len();
        all.0.retain(|own| own.id != id);
        if all.0.len() == before {
            return Ok(());
        }
        all.write(path)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let text: String = self.0.iter().map(OwnMove::line).collect();
        super::record::write_file(path, text.as_bytes(), super::record::Durability::Later)
    }

    pub(super) fn has(&self, time: FileTime) -> bool {
        let mut moves = self.0.iter();
        moves.any(|own| own.from <= time && time <= own.until)
    }

    /// Whether what is there is what a change knows, but for times at which we moved things. `now`
    /// has the newest of the other times.
    pub(super) fn explain(&self, known: &TreeStamp, now: &TreeStamp) -> bool {
        let is_in_place = known.changed == now.changed || self.has(now.changed);
        let facts = |stamp: &TreeStamp| (stamp.inode, stamp.mode, stamp.modified, stamp.size);
        let below = match (&known.below, &now.below) {
            (None, None) => true,
            (Some(known), Some(now)) => is_as_before(known, now),
            _ => false,
        };
        is_in_place && below && facts(known) == facts(now)
    }
}

fn is_as_before(known: &TreeContent, now: &TreeContent) -> bool {
    (known.count, known.bytes) == (now.count, now.bytes) && now.newest <= known.newest
}

/// The last change that is applied, was so later than another, and has something in the way of its
/// path.
pub(super) fn later_in_the_way<'a>(
    others: &'a [ChangeRecord],
    record: &ChangeRecord,
    path: &Path,
) -> Option<&'a str> {
    let since = record.moved_ms.unwrap_or(record.began_ms);
    let is_in_the_way = |other: &&ChangeRecord| {
        let mut steps = other.steps.iter().flatten().filter(|step| step.is_applied);
        other.moved_ms.is_some_and(|moved| moved >= since)
            && steps.any(|step| {
                let root = other.layers.get(step.layer).map(|layer| &layer.root);
                let place: PathBuf = root.map(|root| root.join(&step.path)).unwrap_or_default();
                place.starts_with(path) || path.starts_with(&place)
            })
    };
    others
        .iter()
        .filter(|other| other.id != record.id)
        .filter(is_in_the_way)
        .max_by_key(|other| (other.moved_ms, &other.id))
        .map(|other| &*other.id)
}
