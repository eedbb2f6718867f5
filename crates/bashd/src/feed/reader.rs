//! The feed as its readers see it: what happened since a place in it, and then what happens.

use super::event::{LINE_START, VERSION};
use super::{BEFORE, FeedRecord, NOW};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::fmt;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Bytes that are read at once; no line is longer.
const AT_ONCE: usize = 256 << 10;

/// How long a reader leaves writers alone after it was woken: on a machine with few processors
/// every look takes time from the calls that it looks at. Nobody sees a pause of this length.
const AT_MOST_EVERY: Duration = Duration::from_millis(20);

/// Bytes of a first line at most.
const LONGEST_FIRST_LINE: usize = 64;

/// The first line of the file with this number.
pub(super) fn first_line(number: i64) -> String {
    format!("{LINE_START}{VERSION},\"feed\":{number}}}\n")
}

/// A place in the feed: what is before it was read. It has a text form, for those who come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedPlace {
    /// The number of the file.
    file: i64,
    /// The offset in it.
    offset: u64,
}

impl fmt::Display for FeedPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.offset)
    }
}

impl FromStr for FeedPlace {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once(':');
        let place = parts.and_then(|(file, offset)| {
            let (file, offset) = (file.parse().ok()?, offset.parse().ok()?);
            Some(Self { file, offset })
        });
        place.ok_or("a place in the feed is two numbers with a colon between them")
    }
}

/// What was read at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeedBatch {
    /// What happened, in order, each with the place behind it.
    pub records: Vec<(FeedPlace, FeedRecord)>,
    /// Whether something before it may be missing: the reader came too late for it.
    pub has_gap: bool,
    /// Lines that are no records.
    pub damaged: u64,
}

/// Reads a feed.
#[derive(Debug)]
pub struct FeedReader {
    directory: PathBuf,
    /// The file that is read.
    now: Option<FeedFile>,
    /// The one before it: a process that was just writing may still do so.
    before: Option<FeedFile>,
    /// What is known of the place before the first file was opened.
    sought: Option<FeedPlace>,
    /// Tells that something was written.
    watch: Option<OwnedFd>,
    /// When it last did.
    woken: Option<Instant>,
    /// What is read goes through here.
    buffer: Vec<u8>,
}

/// An open file of the feed.
#[derive(Debug)]
struct FeedFile {
    number: i64,
    file: File,
    offset: u64,
}

impl FeedReader {
    /// A reader of everything that the feed in this directory still has.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            now: None,
            before: None,
            sought: None,
            watch: None,
            woken: None,
            buffer: Vec::new(),
        }
    }

    /// A reader of what comes after this place.
    #[must_use]
    pub fn from_place(mut self, place: FeedPlace) -> Self {
        self.sought = Some(place);
        self
    }

    /// The place up to which it has read; `None` before there is a feed.
    pub fn place(&self) -> Option<FeedPlace> {
        let now = self.now.as_ref()?;
        Some(FeedPlace {
            file: now.number,
            offset: now.offset,
        })
    }

    /// Reads what was written since the last time.
    pub fn read(&mut self) -> io::Result<FeedBatch> {
        let mut batch = FeedBatch::default();
        if self.now.is_none() {
            self.begin(&mut batch)?;
        }
        for file in [&mut self.before, &mut self.now].into_iter().flatten() {
            file.read_into(&mut batch, &mut self.buffer)?;
        }
        self.follow(&mut batch)?;
        Ok(batch)
    }

    /// Opens the files for the first time, at the place that was asked for.
    fn begin(&mut self, batch: &mut FeedBatch) -> io::Result<()> {
        let (mut before, mut now) = (self.open(BEFORE)?, self.open(NOW)?);
        if let (Some(place), true) = (self.sought, before.is_some() || now.is_some()) {
            self.sought = None;
            let is_in = |file: &Option<FeedFile>| {
                let number = file.as_ref().map(|file| file.number);
                number == Some(place.file)
            };
            if is_in(&now) {
                before = None;
                now = now.map(|file| file.at(place.offset));
            } else if is_in(&before) {
                before = before.map(|file| file.at(place.offset));
            } else {
                batch.has_gap = true;
            }
        }
        (self.before, self.now) = (before, now);
        Ok(())
    }

    /// Goes to the next file, where there is one.
    fn follow(&mut self, batch: &mut FeedBatch) -> io::Result<()> {
        let Some(next) = self.open(NOW)? else {
            return Ok(());
        };
        let number = self.now.as_ref().map(|now| now.number);
        if number == Some(next.number) {
            return Ok(());
        }
        let between = self.open(BEFORE)?;
        self.before = self.now.take();
        if let Some(before) = &mut self.before {
            before.read_into(batch, &mut self.buffer)?;
        }
        // The file before the new one is ours, unless more than one was begun meanwhile.
        if let Some(mut between) = between
            && number.is_some()
            && number != Some(between.number)
        {
            batch.has_gap = true;
            between.read_into(batch, &mut self.buffer)?;
            self.before = Some(between);
        }
        let now = self.now.insert(next);
        now.read_into(batch, &mut self.buffer)
    }

    fn open(&self, name: &str) -> io::Result<Option<FeedFile>> {
        let mut options = File::options();
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.read(true).custom_flags(flags.bits().cast_signed());
        let file = match options.open(self.directory.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut start = [0; LONGEST_FIRST_LINE];
        let count = file.read_at(&mut start, 0)?;
        let start = start.get(..count).unwrap_or_default();
        let end = start.iter().position(|byte| *byte == b'\n');
        let line = end.and_then(|end| start.get(..end)).unwrap_or_default();
        let number = serde_json::from_slice::<serde_json::Value>(line)
            .ok()
            .and_then(|line| line.get("feed")?.as_i64());
        // Without its number it is still a feed: the file itself tells it apart.
        let number = match number {
            Some(number) => number,
            None => file.metadata()?.ino().cast_signed(),
        };
        let offset = end.map_or(0, |end| end as u64 + 1);
        Ok(Some(FeedFile {
            number,
            file,
            offset,
        }))
    }

    /// Waits until something may have been written, at most this long. What comes close behind
    /// what woke it before waits for its end, and is read with it.
    pub fn wait(&mut self, longest: Duration) -> io::Result<()> {
        if self.watch.is_none() {
            crate::appending::make_directory(&self.directory)?;
            let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            let events = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO;
            inotify::add_watch(&watch, &self.directory, events)?;
            // What was written before the watch began is there already.
            self.watch = Some(watch);
            return Ok(());
        }
        if let Some(watch) = &self.watch {
            let longest = Timespec::try_from(longest).unwrap_or(Timespec {
                tv_sec: 3600,
                tv_nsec: 0,
            });
            let mut fds = [PollFd::new(watch, PollFlags::IN)];
            match rustix::event::poll(&mut fds, Some(&longest)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => {
                    let since = self.woken.map(|woken| woken.elapsed());
                    let rest = since.and_then(|since| AT_MOST_EVERY.checked_sub(since));
                    std::thread::sleep(rest.unwrap_or_default());
                    self.woken = Some(Instant::now());
                }
                Err(error) => return Err(error.into()),
            }
            let mut space = [MaybeUninit::uninit(); 4096];
            let mut reader = inotify::Reader::new(watch, &mut space);
            while reader.next().is_ok() {}
        }
        Ok(())
    }
}

impl FeedFile {
    fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Reads the whole lines from its offset on.
    fn read_into(&mut self, batch: &mut FeedBatch, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.resize(AT_ONCE, 0);
        loop {
            let count = self.file.read_at(buffer, self.offset)?;
            let read = buffer.get(..count).unwrap_or_default();
            let Some(end) = memchr::memrchr(b'\n', read) else {
                if count == AT_ONCE {
                    // No line of ours is that long.
                    batch.damaged += 1;
                    self.offset += count as u64;
                    continue;
                }
                return Ok(());
            };
            let (lines, _) = read.split_at(end);
            let mut place = FeedPlace {
                file: self.number,
                offset: self.offset,
            };
            for line in lines.split(|byte| *byte == b'\n') {
                place.offset += line.len() as u64 + 1;
                match record(line) {
                    Some(record) => batch.records.push((place, record)),
                    None if line.is_empty() || is_first(line) => {}
                    None => batch.damaged += 1,
                }
            }
            self.offset += end as u64 + 1;
        }
    }
}

/// The record in a line, perhaps behind a torn one.
fn record(line: &[u8]) -> Option<FeedRecord> {
    let start = memchr::memmem::rfind(line, LINE_START.as_bytes())?;
    serde_json::from_slice(line.get(start..)?).ok()
}

fn is_first(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"\"feed\":").is_some() && line.len() < LONGEST_FIRST_LINE
}
