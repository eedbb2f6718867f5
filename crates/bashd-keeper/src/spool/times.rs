//! When a stream's bytes came, for a run that is recorded: what was written when, what was typed,
//! and how large the terminal was.
//!
//! The times lie behind the line index, in the file of the counter page: whoever reads the spool
//! has them, and nothing is written to the disk while the command runs. Each entry is a few bytes,
//! numbers in groups of seven bits with the lowest first:
//!
//! ```text
//! microseconds since the entry before, times 4, plus the kind
//!   0  the stream grew: by so many bytes
//!   1  typed: how many bytes, and these
//!   2  the terminal's size: columns, rows
//!   3  typed, and not recorded: how many bytes
//! ```
//!
//! Bytes that follow each other within [`FINEST`] share an entry, which has the time of the last of
//! them. Room is for a mebibyte. Of what is left of it, each half is filled four times more slowly
//! than the one before, so that there is room for the end however long the run is; what comes when
//! nothing is left has the time of the end.

use crate::os::counters::CounterPage;
use crate::size::Size;
use crate::spool::{INDEX_AT, open_to_read, write_private};
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// The file with the times of a run, in its directory.
pub const TIMES: &str = "times";

/// Where the times begin in the counter page's file: behind any line index.
const TIMES_AT: u64 = INDEX_AT + (1 << 20);

/// Room for the times of one stream.
const ROOM: u64 = 1 << 20;

/// The most that one entry without typed bytes takes.
const LONGEST_ENTRY: u64 = 32;

/// Time between two entries at first; no eye sees less.
const FINEST: Duration = Duration::from_millis(4);

/// The most typed bytes that one entry has; more are a paste, of which only the length is recorded.
const MOST_TYPED: usize = 1024;

/// The most that a file with times may have.
const MOST_STORED: u64 = 4 * ROOM;

/// Writes the times of one stream.
#[derive(Debug)]
pub(super) struct TimesWriter {
    started: Instant,
    used: u64,
    /// Time of the last entry, and how long the stream was then.
    last_us: u64,
    last_total: u64,
    /// Growth that no entry has yet: when, and up to where.
    pending: Option<(u64, u64)>,
}

impl TimesWriter {
    /// Makes room behind the page; `None` if there can be none.
    pub(super) fn begin(page: &CounterPage, started: Instant) -> Option<Self> {
        let end = TIMES_AT + ROOM;
        let length = rustix::fs::fstat(page).ok()?.st_size as u64;
        if length > TIMES_AT {
            return None; // a line index of more than a hundred GiB
        }
        rustix::fs::ftruncate(page, end).ok()?;
        let counters = page.get();
        counters.times_bytes.store(0, Relaxed);
        counters.times_at.store(TIMES_AT, Release);
        Some(Self {
            started,
            used: 0,
            last_us: 0,
            last_total: 0,
            pending: None,
        })
    }

    /// The stream is so long now.
    pub(super) fn written(&mut self, page: &CounterPage, total: u64) {
        let now = self.now_us();
        if let Some((since, upto)) = self.pending
            && now.saturating_sub(since.max(self.last_us)) >= self.gap_us()
        {
            self.grew(page, since, upto);
        }
        self.pending = Some((now, total));
        if now.saturating_sub(self.last_us) >= self.gap_us() {
            self.settle(page);
        }
    }

    /// Somebody typed.
    pub(super) fn typed(&mut self, page: &CounterPage, bytes: &[u8], is_hidden: bool) {
        self.settle(page);
        let mut entry = self.entry(if is_hidden || bytes.len() > MOST_TYPED {
            Kind::TypedUnseen
        } else {
            Kind::Typed
        });
        number(&mut entry, bytes.len() as u64);
        if !is_hidden && bytes.len() <= MOST_TYPED {
            entry.extend_from_slice(bytes);
        }
        self.append(page, &entry);
    }

    /// The terminal has another size.
    pub(super) fn resized(&mut self, page: &CounterPage, size: Size) {
        self.settle(page);
        let mut entry = self.entry(Kind::Resized);
        number(&mut entry, size.columns().into());
        number(&mut entry, size.rows().into());
        self.append(page, &entry);
    }

    /// Writes the entry that waits.
    pub(super) fn settle(&mut self, page: &CounterPage) {
        if let Some((since, upto)) = self.pending.take() {
            self.grew(page, since, upto);
        }
    }

    fn grew(&mut self, page: &CounterPage, at_us: u64, upto: u64) {
        self.pending = None;
        let mut entry = Vec::with_capacity(LONGEST_ENTRY as usize);
        let at_us = at_us.max(self.last_us);
        number(&mut entry, (at_us - self.last_us) << 2 | Kind::Grew as u64);
        number(&mut entry, upto - self.last_total);
        if self.append(page, &entry) {
            self.last_total = upto;
        }
    }

    /// The beginning of an entry of now.
    fn entry(&mut self, kind: Kind) -> Vec<u8> {
        let mut entry = Vec::with_capacity(LONGEST_ENTRY as usize);
        let now = self.now_us().max(self.last_us);
        number(&mut entry, (now - self.last_us) << 2 | kind as u64);
        entry
    }

    fn append(&mut self, page: &CounterPage, entry: &[u8]) -> bool {
        let length = entry.len() as u64;
        if self.used + length > ROOM {
            return false;
        }
        let written = rustix::io::pwrite(page.as_fd(), entry, TIMES_AT + self.used);
        if written != Ok(entry.len()) {
            self.used = ROOM; // the rest has the time of the end
            return false;
        }
        let kind_and_time = first_number(entry);
        self.last_us += kind_and_time >> 2;
        self.used += length;
        page.get().times_bytes.store(self.used, Release);
        true
    }

    /// The shortest time between two entries now.
    fn gap_us(&self) -> u64 {
        let left = (ROOM - self.used).max(LONGEST_ENTRY);
        let halvings = (ROOM / left).ilog2();
        (FINEST.as_micros() as u64) << (2 * halvings)
    }

    fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }
}

/// What an entry is about.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Grew = 0,
    Typed = 1,
    Resized = 2,
    TypedUnseen = 3,
}

fn number(entry: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        entry.push(value as u8 | 0x80);
        value >>= 7;
    }
    entry.push(value as u8);
}

fn first_number(entry: &[u8]) -> u64 {
    take_number(&mut { entry }).unwrap_or(0)
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0_u64, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
    }
}

/// One thing that happened to a stream or its terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamMoment {
    /// When, since the start of the run.
    pub at: Duration,
    /// What.
    pub kind: StreamMomentKind,
}

/// What happened at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamMomentKind {
    /// The stream had so many bytes then.
    Grew(u64),
    /// Somebody typed this.
    Typed(Vec<u8>),
    /// Somebody typed so many bytes, which are not recorded: a password, or a long text.
    TypedUnseen(u64),
    /// The terminal had this size from then on.
    Resized(Size),
}

/// The moments that these times tell, in order; what can't be read ends them.
pub fn moments(mut times: &[u8]) -> Vec<StreamMoment> {
    let mut found = Vec::new();
    let (mut at_us, mut total) = (0_u64, 0_u64);
    while let Some(moment) = next(&mut times, &mut at_us, &mut total) {
        found.push(moment);
    }
    found
}

fn next(times: &mut &[u8], at_us: &mut u64, total: &mut u64) -> Option<StreamMoment> {
    let first = take_number(times)?;
    *at_us = at_us.checked_add(first >> 2)?;
    let value = take_number(times)?;
    let kind = match first & 3 {
        0 => {
            *total = total.checked_add(value)?;
            StreamMomentKind::Grew(*total)
        }
        1 => {
            let (bytes, rest) = times.split_at_checked(usize::try_from(value).ok()?)?;
            *times = rest;
            StreamMomentKind::Typed(bytes.to_vec())
        }
        2 => {
            let rows = u16::try_from(take_number(times)?).ok()?;
            StreamMomentKind::Resized(Size::new(u16::try_from(value).ok()?, rows))
        }
        _ => StreamMomentKind::TypedUnseen(value),
    };
    Some(StreamMoment {
        at: Duration::from_micros(*at_us),
        kind,
    })
}

/// The times behind a counter page; `None` if none are recorded.
pub(super) fn read(page: &CounterPage) -> io::Result<Option<Vec<u8>>> {
    let counters = page.get();
    let at = counters.times_at.load(Acquire);
    if at == 0 {
        return Ok(None);
    }
    let bytes = counters.times_bytes.load(Acquire).min(ROOM);
    let mut times = vec![0; bytes as usize];
    let count = rustix::io::pread(page.as_fd(), &mut times[..], at)?;
    times.truncate(count);
    Ok(Some(times))
}

/// The times of a run, as they are stored beside its output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredTimes {
    /// What is known of the run.
    pub header: TimesHeader,
    /// The times of each stream.
    pub streams: Vec<Vec<u8>>,
}

/// The first line of a file with times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimesHeader {
    /// Version of the format.
    pub v: u32,
    /// When the run began, in milliseconds since 1970.
    pub started_ms: u64,
    /// How long it ran, in microseconds.
    pub ran_us: u64,
    /// The size of its terminal when it began, if it had one.
    #[serde(default)]
    pub terminal: Option<Size>,
    /// The streams.
    pub streams: Vec<TimesOfStream>,
}

/// Where a stream and its times are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimesOfStream {
    /// Where the stream begins in the stored output.
    pub from: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// How many bytes of times it has.
    pub times: u64,
}

impl TimesOfStream {
    /// A stream that is stored by itself.
    pub fn whole(bytes: u64) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }
}

/// The version of the format.
const VERSION: u32 = 1;

impl StoredTimes {
    /// Writes the file.
    pub fn store(&self, directory: &Path) -> io::Result<()> {
        let mut header = self.header.clone();
        header.v = VERSION;
        for (stream, times) in header.streams.iter_mut().zip(&self.streams) {
            stream.times = times.len() as u64;
        }
        let mut text = serde_json::to_vec(&header)?;
        text.push(b'\n');
        for times in &self.streams {
            text.extend_from_slice(times);
        }
        write_private(&directory.join(TIMES), &text)
    }

    /// Reads the file; `None` if there is none, or nothing in it can be used.
    pub fn load(directory: &Path) -> Option<Self> {
        let mut text = Vec::new();
        let file = open_to_read(&directory.join(TIMES)).ok()?;
        file.take(MOST_STORED).read_to_end(&mut text).ok()?;
        let line = memchr::memchr(b'\n', &text)?;
        let (line, mut rest) = text.split_at_checked(line + 1)?;
        let header: TimesHeader = serde_json::from_slice(line).ok()?;
        if header.v != VERSION {
            return None;
        }
        let mut streams = Vec::new();
        for stream in &header.streams {
            // A torn file has the times up to where it was torn.
            let count = usize::try_from(stream.times).ok()?.min(rest.len());
            let (times, behind) = rest.split_at(count);
            streams.push(times.to_vec());
            rest = behind;
        }
        Some(Self { header, streams })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> CounterPage {
        CounterPage::create(INDEX_AT).unwrap()
    }

    fn written(times: &TimesWriter, page: &CounterPage) -> Vec<StreamMoment> {
        let bytes = read(page).unwrap().unwrap();
        assert_eq!(bytes.len() as u64, times.used);
        moments(&bytes)
    }

    #[test]
    fn what_happened_is_read_as_it_was_written() {
        let page = page();
        assert_eq!(read(&page).unwrap(), None);
        let started = Instant::now().checked_sub(Duration::from_secs(2)).unwrap();
        let mut times = TimesWriter::begin(&page, started).unwrap();
        times.written(&page, 10);
        times.typed(&page, b"ls\r", false);
        times.typed(&page, b"hunter2\r", true);
        times.typed(&page, &[b'x'; MOST_TYPED + 1], false);
        times.resized(&page, Size::new(90, 30));
        times.written(&page, 300_000);
        times.settle(&page);
        let found = written(&times, &page);
        let kinds: Vec<StreamMomentKind> = found.iter().map(|moment| moment.kind.clone()).collect();
        assert_eq!(
            kinds,
            [
                StreamMomentKind::Grew(10),
                StreamMomentKind::Typed(b"ls\r".to_vec()),
                StreamMomentKind::TypedUnseen(8),
                StreamMomentKind::TypedUnseen(MOST_TYPED as u64 + 1),
                StreamMomentKind::Resized(Size::new(90, 30)),
                StreamMomentKind::Grew(300_000),
            ]
        );
        assert!(found.is_sorted_by_key(|moment| moment.at));
        assert!(
            found
                .iter()
                .all(|moment| moment.at >= Duration::from_secs(2))
        );
        assert!(
            !read(&page)
                .unwrap()
                .unwrap()
                .windows(7)
                .any(|seven| seven == b"hunter2")
        );
    }

    /// A command that writes line by line for a week takes no more room than one that ends at once.
    #[test]
    fn room_is_bounded_and_the_end_has_a_time() {
        let page = page();
        let mut times = TimesWriter::begin(&page, Instant::now()).unwrap();
        let mut total = 0;
        // As if time passed: entries of a writer that never rests.
        let week = Duration::from_hours(24 * 7).as_micros() as u64;
        let mut now = 0;
        while now < week {
            total += 80;
            times.grew(&page, now, total);
            now += times.gap_us();
        }
        assert!(times.used < ROOM, "{} of {ROOM} are used", times.used);
        let found = written(&times, &page);
        assert_eq!(found.last().unwrap().kind, StreamMomentKind::Grew(total));
        assert!(found.last().unwrap().at > Duration::from_hours(24 * 6));
        assert!(found.len() > 100_000, "only {} entries", found.len());
    }

    #[test]
    fn bytes_that_come_together_share_an_entry_and_a_pause_ends_it() {
        let page = page();
        let mut times = TimesWriter::begin(&page, Instant::now()).unwrap();
        for total in 1..=500 {
            times.written(&page, total);
        }
        let before = times.last_us;
        // A pause: what came before it must not seem to have come after it.
        times.started = times.started.checked_sub(Duration::from_secs(5)).unwrap();
        times.written(&page, 501);
        times.settle(&page);
        let found = written(&times, &page);
        assert!(found.len() < 50, "{} entries", found.len());
        let before_the_pause = found
            .iter()
            .rev()
            .find(|one| one.at < Duration::from_secs(5));
        assert_eq!(before_the_pause.unwrap().kind, StreamMomentKind::Grew(500));
        assert!(before < 5_000_000);
    }

    #[test]
    fn any_bytes_are_moments_or_their_end() {
        for seed in 0..2000_u32 {
            let bytes: Vec<u8> = (0..40_u32)
                .map(|at| (seed.wrapping_mul(2_654_435_761).wrapping_add(at * at * 977) >> 7) as u8)
                .collect();
            assert!(moments(&bytes).len() <= 20);
        }
    }

    #[test]
    fn a_torn_file_has_what_came_before() {
        let directory = tempfile::tempdir().unwrap();
        let mut times = Vec::new();
        for value in [4000_u64 << 2, 10, 4000 << 2, 20] {
            number(&mut times, value);
        }
        let stored = StoredTimes {
            header: TimesHeader {
                streams: vec![TimesOfStream::default()],
                ..TimesHeader::default()
            },
            streams: vec![times],
        };
        stored.store(directory.path()).unwrap();
        let whole = StoredTimes::load(directory.path()).unwrap();
        assert_eq!(moments(&whole.streams[0]).len(), 2);
        let path = directory.path().join(TIMES);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let torn = StoredTimes::load(directory.path()).unwrap();
        assert_eq!(moments(&torn.streams[0]).len(), 1);
        std::fs::write(
            &path,
            b"{\"v\":7,\"started_ms\":0,\"ran_us\":0,\"streams\":[]}\n",
        )
        .unwrap();
        assert_eq!(StoredTimes::load(directory.path()), None);
    }
}
