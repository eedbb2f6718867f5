//! The numbers of artifacts: one counter per state directory, for every process that uses it.
//!
//! A number is recorded as taken before it is used, so a crash wastes it and never gives it twice.
//! A counter that is missing or unreadable continues after the highest number that exists, and
//! after the highest that this process knows: somebody may have removed them all, and an address
//! that a client has must not come to mean something else.

use super::check_limit;
use bashd_keeper::file_lock::{LockKind, lock_within};
use bashd_keeper::spool::open_to_read;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The counter's file.
const NAME: &str = "next";

/// How long the lock is waited for: a process that was stopped while holding it must not delay
/// others for more than a moment.
const PATIENCE: Duration = Duration::from_millis(200);

/// Digits of the file: always this many, so that one write replaces all of it.
const DIGITS: usize = 20;

/// The highest number that was taken by this process, for each place that it took some from.
static TAKEN: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

/// How many numbers this process remembers for each place: more than a client asks for again.
const MOST_GIVEN: usize = 4096;

/// The runs whose outputs this process gave numbers to, for each place.
static GIVEN: Mutex<BTreeMap<PathBuf, BTreeMap<u64, String>>> = Mutex::new(BTreeMap::new());

/// Remembers which run a number was given to. If somebody removes the state directory, another
/// process may give the number again, and whoever was told of it here must not be shown that.
pub(super) fn note(links: &Path, number: u64, run: &str) {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let given = given.entry(links.to_owned()).or_default();
    given.insert(number, run.to_owned());
    if given.len() > MOST_GIVEN {
        given.pop_first();
    }
}

/// Whether a number means another run than the one to which this process gave it.
pub(super) fn means_another(links: &Path, number: u64, run: &str) -> bool {
    let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let first = given.get(links).and_then(|given| given.get(&number));
    first.is_some_and(|first| first != run)
}

/// Takes the next number.
pub(super) fn next(links: &Path) -> io::Result<u64> {
    super::prepare(links)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let flags = flags | OFlags::NONBLOCK;
    let file = rustix::fs::open(links.join(NAME), flags, Mode::RUSR | Mode::WUSR)?;
    lock_within(&file, LockKind::Exclusive, PATIENCE)?;
    let mut text = [0; DIGITS];
    let count = rustix::io::pread(&file, &mut text, 0)?;
    let known = std::str::from_utf8(text.get(..count).unwrap_or_default());
    let known = known.ok().and_then(|text| text.trim().parse::<u64>().ok());
    let next = match known {
        Some(number) => number,
        None => behind_the_highest(links)?,
    };
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let next = taken.get(links).map_or(next, |last| next.max(last + 1));
    let text = format!("{:0width$}\n", next + 1, width = DIGITS);
    check_limit(0, text.len() as u64)?;
    if rustix::io::pwrite(&file, text.as_bytes(), 0)? < text.len() {
        return Err(Errno::NOSPC.into());
    }
    taken.insert(links.to_owned(), next);
    Ok(next)
}

/// Whether somebody has the counter's lock just now, so that a number may have to be waited for.
pub(super) fn is_held(links: &Path) -> bool {
    let file = open_to_read(&links.join(NAME));
    file.is_ok_and(|file| {
        let tried = lock_within(&file, LockKind::Shared, Duration::ZERO);
        tried.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    })
}

fn behind_the_highest(links: &Path) -> io::Result<u64> {
    let names = fs::read_dir(links)?
        .flatten()
        .map(|entry| entry.file_name());
    let numbers = names.filter_map(|name| name.to_str()?.parse::<u64>().ok());
    Ok(numbers.max().map_or(0, |highest| highest + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_up_from_zero_and_never_back() {
        let home = tempfile::tempdir().unwrap();
        let links = home.path().join("artifacts");
        assert_eq!(next(&links).unwrap(), 0);
        assert_eq!(next(&links).unwrap(), 1);
        std::os::unix::fs::symlink("../runs/x", links.join("7")).unwrap();
        assert_eq!(next(&links).unwrap(), 2, "the counter knows better");
        fs::write(links.join(NAME), "gibberish").unwrap();
        assert_eq!(next(&links).unwrap(), 8);
        fs::remove_file(links.join(NAME)).unwrap();
        assert_eq!(next(&links).unwrap(), 9);
        fs::remove_dir_all(&links).unwrap();
        assert_eq!(next(&links).unwrap(), 10, "who has an address keeps it");
    }

    #[test]
    fn many_at_once_get_different_numbers() {
        let home = tempfile::tempdir().unwrap();
        let links = home.path().join("artifacts");
        let taken: Vec<u64> = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| (0..20).map(|_| next(&links).unwrap()).collect::<Vec<_>>()))
                .collect();
            let taken = takers.into_iter().flat_map(|taker| taker.join().unwrap());
            taken.collect()
        });
        let mut sorted = taken;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..160).collect::<Vec<_>>());
    }
}
