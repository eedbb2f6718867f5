//! What a process of ours beside a confined shell has seen, in a file in memory that its keeper
//! reads: neither waits for the other.
//!
//! The file has two places for a report, and at its beginning the number of the last one. A new
//! report goes to the place that is not the last one's, and its number is written afterwards. A
//! reader who finds another number in the place looks again.

use crate::refusals::{Connected, Dealings, RefusedKind};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

/// Most entries of each list.
const MOST_KNOWN: usize = 64;

/// Characters of a host, a path or a call that are kept.
const LONGEST: usize = 512;

/// Bytes of each place.
const PLACE: u64 = 256 * 1024;

/// How often a reader looks.
const LOOKS: usize = 16;

/// Writes down what happens.
pub(super) struct Recorder {
    file: OwnedFd,
    state: Mutex<(u64, Dealings)>,
}

impl Recorder {
    pub(super) fn new(file: OwnedFd) -> Self {
        Self {
            file,
            state: Mutex::default(),
        }
    }

    /// Something was refused.
    pub(super) fn refused(&self, kind: RefusedKind, what: &str) {
        let what: String = what.chars().take(LONGEST).collect();
        self.change(|seen| seen.refuse(kind, &what, MOST_KNOWN));
    }

    /// A call could not be looked at.
    pub(super) fn unseen(&self) {
        self.change(|seen| seen.unseen += 1);
    }

    /// A host was connected to.
    pub(super) fn connected(&self, host: &str) {
        self.change(|seen| {
            let mut known = seen.connected.iter_mut();
            if let Some(known) = known.find(|known| known.host == host) {
                known.count += 1;
            } else if seen.connected.len() < MOST_KNOWN {
                seen.connected.push(Connected {
                    host: host.to_owned(),
                    count: 1,
                    sent: 0,
                    received: 0,
                });
            } else {
                seen.more_connected += 1;
            }
        });
    }

    /// Bytes went to a host, and came from it.
    pub(super) fn moved(&self, host: &str, sent: u64, received: u64) {
        if sent + received > 0 {
            self.change(|seen| {
                let mut known = seen.connected.iter_mut();
                if let Some(known) = known.find(|known| known.host == host) {
                    known.sent += sent;
                    known.received += received;
                }
            });
        }
    }

    fn change(&self, change: impl FnOnce(&mut Dealings)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, seen) = &mut *state;
        change(seen);
        // What can't be written down now is in the next report.
        if write(&self.file, *number + 1, seen).is_ok() {
            *number += 1;
        }
    }
}

fn write(file: &OwnedFd, number: u64, seen: &Dealings) -> io::Result<()> {
    let body = rmp_serde::to_vec_named(seen).map_err(io::Error::other)?;
    let mut whole = number.to_ne_bytes().to_vec();
    whole.extend((body.len() as u64).to_ne_bytes());
    whole.extend(body);
    let mut rest = whole.as_slice();
    let mut at = place_of(number);
    while !rest.is_empty() {
        let written = rustix::io::pwrite(file, rest, at)?;
        at += written as u64;
        rest = rest.get(written..).unwrap_or_default();
    }
    rustix::io::pwrite(file, &number.to_ne_bytes(), 0)?;
    Ok(())
}

fn place_of(number: u64) -> u64 {
    8 + (number % 2) * PLACE
}

/// The last report; nothing if there is none.
pub(super) fn read(file: &OwnedFd) -> Dealings {
    let looks = (0..LOOKS).find_map(|_| look(file));
    looks.unwrap_or_default()
}

fn look(file: &OwnedFd) -> Option<Dealings> {
    let number_at = |at| {
        let mut bytes = [0; 8];
        let read = rustix::io::pread(file, &mut bytes, at).ok()?;
        Some(u64::from_ne_bytes(bytes)).filter(|_| read == bytes.len())
    };
    let Some(number) = number_at(0) else {
        return Some(Dealings::default());
    };
    let at = place_of(number);
    let length = number_at(at + 8).filter(|length| *length < PLACE)?;
    let mut body = vec![0; usize::try_from(length).ok()?];
    let read = rustix::io::pread(file, &mut body, at + 16).ok()?;
    let is_whole = read == body.len() && number_at(at) == Some(number);
    // A third report may have begun to overwrite this one.
    let is_last = number_at(0).is_some_and(|last| last <= number + 1);
    rmp_serde::from_slice(&body)
        .ok()
        .filter(|_| is_whole && is_last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::MemfdFlags;

    #[test]
    fn a_reader_sees_whole_reports_while_they_are_written() {
        let file = rustix::fs::memfd_create(c"test", MemfdFlags::CLOEXEC).unwrap();
        let reader = file.try_clone().unwrap();
        assert_eq!(read(&reader), Dealings::default());
        let recorder = Recorder::new(file);
        recorder.connected("a:1");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..3000 {
                    recorder.refused(RefusedKind::Connect, &format!("host-{}", number % 40));
                    recorder.moved("a:1", 1, 2);
                }
            });
            let mut last = 0;
            for _ in 0..2000 {
                let seen = look(&reader).map_or(last, |seen| {
                    let sum: u64 = seen.refused.iter().map(|one| one.count).sum();
                    assert!(seen.connected[0].sent <= sum);
                    sum
                });
                assert!(seen >= last);
                last = seen;
            }
        });
        let seen = read(&reader);
        assert_eq!(seen.refused.len(), 40);
        assert_eq!(seen.refused.iter().map(|one| one.count).sum::<u64>(), 3000);
        let host = &seen.connected[0];
        assert_eq!((host.count, host.sent, host.received), (1, 3000, 6000));
    }
}
