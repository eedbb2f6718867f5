//! How long stored output stays: by age, and by total size.
//!
//! A run's directory exists if some of it outlives the call. Writers hold a lock on the files of a
//! directory, so what is in use is never removed. Sweeping is done by a keeper that is about to
//! exit, when nobody waits for it, and at most once an hour unless much was stored.

use super::storage::{is_locked, sweep_abandoned, write_private};
use crate::job::abandoned;
use crate::seen_clock::SeenClock;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time between two sweeps.
const INTERVAL: Duration = Duration::from_hours(1);

/// How long the newest output stays even if it alone is too large: a reply has just named it.
const JUST_NAMED: Duration = Duration::from_mins(1);

/// The file whose age shows when the last sweep was.
const STAMP: &str = "swept";

/// How much stored output is kept, over all runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Retention {
    /// Total bytes; `None` for no limit.
    pub total: Option<u64>,
    /// Age after which stored output is removed; `None` for never.
    pub max_age: Option<Duration>,
}

/// A run's directory.
struct StoredRun {
    path: PathBuf,
    bytes: u64,
    age: Duration,
}

/// Sweeps if the last time was long enough ago.
pub fn sweep_if_due(runs: &Path, retention: Retention) -> io::Result<()> {
    let stamp = runs.join(STAMP);
    if fs::metadata(&stamp).is_ok_and(|metadata| !is_due(&metadata)) {
        return Ok(());
    }
    write_private(&stamp, &[])?;
    // First: what is removed later could be needed to find it.
    abandoned::settle_all(runs);
    sweep_abandoned(runs)?;
    sweep(runs, retention)
}

/// Makes the next keeper that exits sweep, however recent the last sweep was.
pub fn sweep_soon(runs: &Path) {
    // Without a stamp a sweep is due.
    let _ = fs::remove_file(runs.join(STAMP));
}

/// Removes what is too old, then the oldest until the rest is small enough.
pub fn sweep(runs: &Path, retention: Retention) -> io::Result<()> {
    let clock = SeenClock::look(runs);
    let mut stored: Vec<_> = fs::read_dir(runs)?
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| measure(entry.path(), &clock))
        .collect();
    stored.sort_by_key(|run| std::cmp::Reverse(run.age));
    let mut total: u64 = stored.iter().map(|run| run.bytes).sum();
    let newest = stored.len().saturating_sub(1);
    for (index, run) in stored.into_iter().enumerate() {
        let is_old = retention.max_age.is_some_and(|limit| run.age > limit);
        let is_just_named = index == newest && run.age < JUST_NAMED;
        let is_too_much = retention.total.is_some_and(|limit| total > limit) && !is_just_named;
        if (is_old || is_too_much) && fs::remove_dir_all(&run.path).is_ok() {
            total -= run.bytes;
        }
    }
    Ok(())
}

/// The size and age of a run's directory; `None` while somebody writes to it.
fn measure(path: PathBuf, clock: &SeenClock) -> Option<StoredRun> {
    let age = |metadata: &fs::Metadata| Some(clock.age(metadata.modified().ok()?));
    let mut bytes = 0;
    let mut youngest = age(&fs::metadata(&path).ok()?)?;
    for file in fs::read_dir(&path).ok()?.flatten() {
        if is_locked(&file.path()) {
            return None;
        }
        let metadata = file.metadata().ok()?;
        bytes += metadata.len();
        youngest = youngest.min(age(&metadata)?);
    }
    Some(StoredRun {
        path,
        bytes,
        age: youngest,
    })
}

/// Whether the last sweep was long enough ago; also if the clock was set back since.
fn is_due(stamp: &fs::Metadata) -> bool {
    let age = stamp.modified().map(|then| then.elapsed());
    !matches!(age, Ok(Ok(age)) if age < INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen_clock::pretend_jump;
    use rustix::fs::FlockOperation;
    use std::time::SystemTime;

    fn store(runs: &Path, name: &str, bytes: usize, days: u64) -> fs::File {
        fs::create_dir(runs.join(name)).unwrap();
        let path = runs.join(name).join("output");
        fs::write(&path, vec![b'x'; bytes]).unwrap();
        let then = SystemTime::now() - Duration::from_hours(24 * days);
        for path in [&path, &runs.join(name)] {
            fs::File::open(path).unwrap().set_modified(then).unwrap();
        }
        fs::File::open(path).unwrap()
    }

    fn names(runs: &Path) -> Vec<String> {
        let entries = fs::read_dir(runs).unwrap().flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .filter(|name| name != "clock")
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_old_goes_and_what_is_in_use_stays() {
        let runs = tempfile::tempdir().unwrap();
        store(runs.path(), "old", 10, 8);
        store(runs.path(), "new", 10, 6);
        let in_use = store(runs.path(), "used", 10, 9);
        rustix::fs::flock(&in_use, FlockOperation::LockExclusive).unwrap();
        let week = Retention {
            total: None,
            max_age: Some(Duration::from_hours(24 * 7)),
        };
        sweep(runs.path(), week).unwrap();
        assert_eq!(names(runs.path()), ["new", "used"]);
    }

    /// Everything looks ten days older, and nothing is.
    #[test]
    fn a_clock_that_jumped_removes_nothing() {
        let runs = tempfile::tempdir().unwrap();
        let week = Retention {
            total: None,
            max_age: Some(Duration::from_hours(24 * 7)),
        };
        sweep(runs.path(), week).unwrap();
        store(runs.path(), "new", 10, 10);
        pretend_jump(runs.path(), Duration::from_hours(24 * 10));
        sweep(runs.path(), week).unwrap();
        sweep(runs.path(), week).unwrap();
        assert_eq!(names(runs.path()), ["new"]);
        fs::remove_file(runs.path().join("clock")).unwrap();
        sweep(runs.path(), week).unwrap();
        assert!(names(runs.path()).is_empty());
    }

    #[test]
    fn the_oldest_go_until_the_rest_fits() {
        let runs = tempfile::tempdir().unwrap();
        for (name, days) in [("a", 1), ("b", 3), ("c", 2), ("d", 0)] {
            store(runs.path(), name, 100, days);
        }
        sweep(
            runs.path(),
            Retention {
                total: Some(250),
                max_age: None,
            },
        )
        .unwrap();
        assert_eq!(names(runs.path()), ["a", "d"]);
    }

    #[test]
    fn the_newest_stays_for_a_while_however_large_it_is() {
        let runs = tempfile::tempdir().unwrap();
        store(runs.path(), "named", 100, 0);
        store(runs.path(), "older", 100, 1);
        let little = Retention {
            total: Some(10),
            max_age: None,
        };
        sweep(runs.path(), little).unwrap();
        assert_eq!(names(runs.path()), ["named"]);
    }

    #[test]
    fn a_second_sweep_waits_for_its_hour() {
        let runs = tempfile::tempdir().unwrap();
        let none = Retention {
            total: Some(0),
            max_age: None,
        };
        sweep_if_due(runs.path(), none).unwrap();
        store(runs.path(), "later", 1, 1);
        sweep_if_due(runs.path(), none).unwrap();
        assert_eq!(names(runs.path()), ["later", STAMP]);
        let long_ago = SystemTime::now() - 2 * INTERVAL;
        fs::File::open(runs.path().join(STAMP))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        sweep_if_due(runs.path(), none).unwrap();
        assert_eq!(names(runs.path()), [STAMP]);
        store(runs.path(), "large", 1, 1);
        sweep_soon(runs.path());
        sweep_if_due(runs.path(), none).unwrap();
        assert_eq!(names(runs.path()), [STAMP]);
    }
}
