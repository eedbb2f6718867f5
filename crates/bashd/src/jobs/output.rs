//! Reading a job's output: any part of it, at any time, by anybody.
//!
//! Offsets are those of the stream itself, whatever was dropped from it: a caller that remembers
//! `next_offset` gets exactly what came since.

use super::control::Control;
use super::directory;
use super::state::Job;
use super::{JobState, Jobs};
use crate::errand::{self, CalledBack};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Stream;
use crate::output::veiled::Veil;
use crate::output::view::View;
use crate::output::{Source, StreamPiece};
use bashd_keeper::spool::{
    SegmentedFile, SpoolReader, SpoolSegment, StoredTimes, TimesHeader, TimesOfStream, open_to_read,
};
use bashd_keeper::text::{self, decode};
use regex::Regex;
use std::io;

/// Bytes that are read at once.
const CHUNK: u64 = 256 * 1024;

/// Output above which reading it takes long enough to be noticed by other calls.
pub(super) const MUCH: u64 = 256 * 1024;

/// Longest text that counts as one line.
const LONGEST_LINE: usize = 64 * 1024;

/// Which part of a job's output is wanted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OutputQuery {
    /// Which stream, if they are separate.
    pub stream: Stream,
    /// Where to begin.
    pub part: OutputStart,
    /// Only lines that match.
    pub grep: Option<Regex>,
    /// At most this many bytes.
    pub most_bytes: u64,
}

impl OutputQuery {
    /// Everything from this offset on.
    pub fn since(offset: u64) -> Self {
        Self {
            part: OutputStart::From(offset),
            ..Self::default()
        }
    }

    /// The last lines of the output.
    pub fn tail(lines: u64) -> Self {
        Self {
            part: OutputStart::Tail(lines),
            ..Self::default()
        }
    }

    /// Limits the query to this many bytes.
    #[must_use]
    pub fn at_most(mut self, bytes: u64) -> Self {
        self.most_bytes = bytes;
        self
    }

    /// Only lines that match.
    #[must_use]
    pub fn grep(mut self, pattern: Regex) -> Self {
        self.grep = Some(pattern);
        self
    }
}

/// A job's streams, and their times if these are recorded.
pub(crate) type RecordedStreams = (Vec<Box<dyn Source + Send>>, Option<StoredTimes>);

/// A part as text, the offsets of its ends, and what was found in it.
type ReadPart = (String, u64, u64, Option<SearchCount>);

impl OutputQuery {
    /// How much it reads at most of a stream that is so long.
    fn reads_at_most(&self, total: u64) -> u64 {
        if self.grep.is_some() {
            return total;
        }
        total.min(self.most_bytes.max(1))
    }

    fn read(
        &self,
        reading: &OutputSource,
        total: u64,
        called_back: &CalledBack,
    ) -> io::Result<ReadPart> {
        let view = reading.view(self.stream);
        let view = view.ok_or(io::ErrorKind::NotFound)?;
        let source = view.source();
        let most = self.most_bytes.max(1);
        let most_back = if self.grep.is_some() { total } else { most };
        let from = match self.part {
            OutputStart::From(offset) => offset.min(total),
            // If a tail is too long, its end is what was asked for.
            OutputStart::Tail(lines) => tail_start(
                source,
                lines,
                (total.saturating_sub(most_back), total),
                called_back,
            )?,
        };
        if let Some(pattern) = &self.grep {
            let (text, found) = grep(source, from..total, pattern, (most, called_back))?;
            return Ok((text, from, total, Some(found)));
        }
        let upto = match self.part {
            OutputStart::From(_) => total.min(from.saturating_add(most)),
            OutputStart::Tail(_) => total,
        };
        let (text, upto) = read_text(source, from, upto, total)?;
        Ok((text, from, upto, None))
    }
}

impl Default for OutputQuery {
    fn default() -> Self {
        Self {
            stream: Stream::Out,
            part: OutputStart::From(0),
            grep: None,
            most_bytes: 32 * 1024,
        }
    }
}

/// Where a look at the output begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStart {
    /// At this offset of the stream.
    From(u64),
    /// This many lines before its end.
    Tail(u64),
}

/// A part of a job's output.
#[derive(Debug, Clone, serde::Serialize)]
#[non_exhaustive]
pub struct JobOutput {
    /// The text, decoded.
    pub text: String,
    /// Offset of its first byte.
    pub offset: u64,
    /// Offset after its last byte: where the next look begins.
    pub next_offset: u64,
    /// Bytes of the stream so far.
    pub output_bytes: u64,
    /// Bytes of the stream that are no longer kept.
    pub dropped_bytes: u64,
    /// What a search found, if there was one.
    pub found: Option<SearchCount>,
    /// The job, after the look.
    pub job: Job,
}

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct SearchCount {
    /// Lines that match.
    pub lines: u64,
    /// How many of them the text shows.
    pub shown: u64,
}

/// Where a job's output is read from.
pub(super) enum OutputSource {
    /// From its keeper's spool.
    Live(Box<Control>, Vec<SpoolReader>, Veil),
    /// From its files, if the keeper is gone.
    Stored(SegmentedFile, u64, Veil),
}

impl OutputSource {
    /// Opens the output of a job.
    pub(super) async fn open(jobs: &Jobs, job: &Job, stream: Stream) -> Result<Self> {
        let mut job = job.clone();
        let veil = jobs.veil(&job);
        if job.state.is_alive() {
            match attach(&job, &veil).await {
                Ok(live) => return Ok(live),
                // It may have ended since it was read.
                Err(error) => {
                    job = jobs.again(&job).await?;
                    if job.state.is_alive() && !directory::is_alive(&job.directory) {
                        job = jobs.again(&job).await?;
                    }
                    if matches!(job.state, JobState::Running | JobState::WaitingForInput) {
                        return Err(error);
                    }
                }
            }
        }
        let (name, index) = match stream {
            Stream::Out => (directory::OUTPUT, 0),
            Stream::Err => (directory::STDERR, 1),
        };
        stored(&job, (name, index), veil).map_err(|error| {
            Error::io(
                ErrorKind::Job,
                format!("read the output of {}", job.id),
                error,
            )
        })
    }

    /// The same as it is now: what is written from now on is not part of it.
    pub(super) fn so_far(self) -> Self {
        let fixed = |reader: SpoolReader| {
            let (bytes, lines) = (reader.readable_end(), reader.lines());
            reader.ending_at(bytes, lines)
        };
        match self {
            Self::Live(control, readers, veil) => {
                Self::Live(control, readers.into_iter().map(fixed).collect(), veil)
            }
            stored @ Self::Stored(..) => stored,
        }
    }

    /// A stream as it may be shown.
    pub(super) fn view(&self, stream: Stream) -> Option<View<'_>> {
        match self {
            Self::Live(_, readers, veil) => {
                let reader = readers.get(usize::from(stream == Stream::Err))?;
                View::of_growing(reader, reader.readable_end(), veil).ok()
            }
            Self::Stored(file, _, veil) => Some(View::of(file, veil)),
        }
    }

    /// A stream as it was written, for what keeps it.
    pub(super) fn raw(&self, stream: Stream) -> Option<&dyn Source> {
        match self {
            Self::Live(_, readers, _) => {
                let reader = readers.get(usize::from(stream == Stream::Err));
                reader.map(|reader| reader as &dyn Source)
            }
            Self::Stored(file, ..) => Some(file),
        }
    }

    pub(super) fn dropped(&self, stream: Stream) -> u64 {
        match self {
            Self::Live(_, readers, _) => readers
                .get(usize::from(stream == Stream::Err))
                .map_or(0, SpoolReader::dropped),
            Self::Stored(_, dropped, _) => *dropped,
        }
    }
}

async fn attach(job: &Job, veil: &Veil) -> Result<OutputSource> {
    let mut control = Control::open(job).await?;
    let readers = control.attach().await?;
    Ok(OutputSource::Live(Box::new(control), readers, veil.clone()))
}

fn stored(job: &Job, (name, index): (&str, usize), veil: Veil) -> io::Result<OutputSource> {
    let file = open_to_read(&job.directory.join(name))?;
    if let Some(stream) = job.stored.get(index) {
        let segments = stream.segments.clone();
        let file = SegmentedFile::new(file, segments, stream.bytes, stream.lines);
        return Ok(OutputSource::Stored(file, stream.dropped, veil));
    }
    // Its keeper was killed: only the file is left.
    let size = file.metadata()?.len();
    let whole = SpoolSegment {
        from: 0,
        upto: size,
        at: 0,
    };
    Ok(OutputSource::Stored(
        SegmentedFile::new(file, vec![whole], size, 0),
        0,
        veil,
    ))
}

impl Jobs {
    /// Reads a part of a job's output.
    pub async fn output(&self, job: &Job, query: &OutputQuery) -> Result<JobOutput> {
        let reading = OutputSource::open(self, job, query.stream).await?;
        let unreadable = |error| Error::io(ErrorKind::Job, "read the output", error);
        let apart = || {
            Error::new(
                ErrorKind::Job,
                "stdout and stderr were not captured separately: there is only one output",
            )
        };
        let written = reading.raw(query.stream).ok_or_else(apart)?.len();
        let total = reading.view(query.stream).ok_or_else(apart)?.source().len();
        let dropped_bytes = reading.dropped(query.stream);
        let part = if query.reads_at_most(total) <= MUCH {
            query.read(&reading, total, &CalledBack::default())
        } else {
            let query = query.clone();
            let read = errand::read(move |called_back| query.read(&reading, total, called_back));
            read.await.unwrap_or_else(|failure| Err(failure.into()))
        };
        let (text, offset, next_offset, found) = part.map_err(unreadable)?;
        Ok(JobOutput {
            text,
            offset,
            next_offset,
            output_bytes: written,
            dropped_bytes,
            found,
            job: self.again(job).await.unwrap_or_else(|_| job.clone()),
        })
    }

    /// Each of a job's streams as it was written so far, and their times if these are recorded.
    pub(crate) async fn recorded(&self, job: &Job) -> Result<RecordedStreams> {
        let reading = OutputSource::open(self, job, Stream::Out).await?;
        if let OutputSource::Live(_, readers, _) = reading.so_far() {
            let stored = live_times(job, &readers);
            let boxed = |reader: SpoolReader| Box::new(reader) as Box<dyn Source + Send>;
            return Ok((readers.into_iter().map(boxed).collect(), stored));
        }
        let names = [directory::OUTPUT, directory::STDERR];
        let mut streams: Vec<Box<dyn Source + Send>> = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            let source = stored(job, (name, index), Veil::default());
            if let Ok(OutputSource::Stored(file, ..)) = source {
                streams.push(Box::new(file));
            }
        }
        Ok((streams, StoredTimes::load(&job.directory)))
    }

    /// A job with exact counts, even if only its keeper knows them.
    pub async fn exact(&self, job: Job) -> Job {
        if !job.has_spilled || !job.state.is_alive() {
            return job;
        }
        match attach(&job, &Veil::default()).await {
            Ok(OutputSource::Live(_, readers, _)) => Job {
                output_bytes: readers.iter().map(Source::len).sum(),
                dropped_bytes: readers.iter().map(SpoolReader::dropped).sum(),
                ..job
            },
            Ok(OutputSource::Stored(..)) | Err(_) => job,
        }
    }
}

/// The times of a job that runs, as far as they are.
fn live_times(job: &Job, readers: &[SpoolReader]) -> Option<StoredTimes> {
    let times = readers.iter().map(|reader| reader.times().ok().flatten());
    let streams = times.collect::<Option<Vec<_>>>()?;
    let lengths = readers
        .iter()
        .map(|reader| TimesOfStream::whole(reader.len()));
    let header = TimesHeader {
        started_ms: job.started_ms,
        terminal: job.terminal,
        streams: lengths.collect(),
        ..TimesHeader::default()
    };
    Some(StoredTimes { header, streams })
}

/// Decodes a range; an incomplete character at its end is left for the next look, unless the stream
/// ends there.
fn read_text(source: &dyn Source, from: u64, upto: u64, total: u64) -> io::Result<(String, u64)> {
    let mut shown = String::new();
    let mut end = upto;
    let pieces = source.read(from..upto)?;
    let last = pieces.len().saturating_sub(1);
    for (number, piece) in pieces.iter().enumerate() {
        match piece {
            StreamPiece::Dropped(count) => shown.push_str(&gap(*count)),
            StreamPiece::Replaced { by, .. } => shown.push_str(by),
            StreamPiece::Kept(bytes) if number == last && upto < total => {
                let (whole, rest) = text::split_incomplete(bytes);
                // A piece that is only part of a character would never make progress.
                let whole = if whole.is_empty() { bytes } else { whole };
                end -= if whole.len() == bytes.len() {
                    0
                } else {
                    rest.len() as u64
                };
                shown.push_str(&decode(whole));
            }
            StreamPiece::Kept(bytes) => shown.push_str(&decode(bytes)),
        }
    }
    Ok((shown, end))
}

fn gap(count: u64) -> String {
    let dropped =
        bashd_keeper::counted::counted(count, "byte of output was", "bytes of output were");
    format!("\n[bashd: {dropped} dropped here]\n")
}

/// Offset at which the last lines begin, not before the least.
fn tail_start(
    source: &dyn Source,
    lines: u64,
    (least, total): (u64, u64),
    called_back: &CalledBack,
) -> io::Result<u64> {
    let mut wanted = lines;
    let mut end = total;
    let mut is_last_byte = true;
    while end > least {
        called_back.check()?;
        let from = end.saturating_sub(CHUNK).max(least);
        let mut offset = end;
        for piece in source.read(from..end)?.into_iter().rev() {
            let bytes = match piece {
                StreamPiece::Kept(bytes) => bytes,
                StreamPiece::Replaced { bytes, .. } => {
                    offset -= bytes;
                    is_last_byte = false;
                    continue;
                }
                StreamPiece::Dropped(_) => return Ok(offset),
            };
            offset -= bytes.len() as u64;
            for newline in memchr::memrchr_iter(b'\n', &bytes) {
                let at = offset + newline as u64;
                let ends_the_text = is_last_byte && at + 1 == total;
                is_last_byte = false;
                if ends_the_text {
                    continue;
                }
                if wanted <= 1 {
                    return Ok(at + 1);
                }
                wanted -= 1;
            }
            is_last_byte = false;
        }
        end = from;
    }
    Ok(least)
}

fn grep(
    source: &dyn Source,
    range: std::ops::Range<u64>,
    pattern: &Regex,
    (most, called_back): (u64, &CalledBack),
) -> io::Result<(String, SearchCount)> {
    let mut text = String::new();
    let mut found = SearchCount { lines: 0, shown: 0 };
    let mut lines = LineCutter::from(range.start);
    let mut take = |line: &str| {
        if pattern.is_match(line) {
            found.lines += 1;
            if text.len() as u64 + line.len() as u64 <= most {
                found.shown += 1;
                text.push_str(line);
                text.push('\n');
            }
        }
        false
    };
    lines.read(source, range.end, called_back, &mut take)?;
    lines.rest(&mut take);
    Ok((text, found))
}

/// Cuts a stream into lines while it grows.
pub(super) struct LineCutter {
    offset: u64,
    unfinished: Vec<u8>,
}

impl LineCutter {
    pub(super) fn from(offset: u64) -> Self {
        Self {
            offset,
            unfinished: Vec::new(),
        }
    }

    /// Hands out the finished lines up to an offset, until one is enough; returns whether one was.
    pub(super) fn read(
        &mut self,
        source: &dyn Source,
        upto: u64,
        called_back: &CalledBack,
        is_enough: &mut dyn FnMut(&str) -> bool,
    ) -> io::Result<bool> {
        while self.offset < upto {
            called_back.check()?;
            let end = upto.min(self.offset + CHUNK);
            for piece in source.read(self.offset..end)? {
                let Some(bytes) = piece.shown() else {
                    self.unfinished.clear();
                    continue;
                };
                let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
                while let Some(line) = lines.next() {
                    self.unfinished.extend_from_slice(line);
                    let is_finished = lines.peek().is_some();
                    if is_finished || self.unfinished.len() > LONGEST_LINE {
                        let line = decode(&std::mem::take(&mut self.unfinished));
                        if is_enough(line.trim_end_matches('\r')) {
                            self.offset = end;
                            return Ok(true);
                        }
                    }
                }
            }
            self.offset = end;
        }
        Ok(false)
    }

    /// Hands out the unfinished line, without taking it.
    pub(super) fn rest(&self, is_enough: &mut dyn FnMut(&str) -> bool) -> bool {
        !self.unfinished.is_empty() && is_enough(&decode(&self.unfinished))
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixed::Fixed;

    #[test]
    fn the_last_lines_begin_where_people_count_them() {
        for (text, lines, expected) in [
            ("a\nb\nc\n", 1, "c\n"),
            ("a\nb\nc", 1, "c"),
            ("a\nb\nc\n", 2, "b\nc\n"),
            ("a\nb\nc\n", 9, "a\nb\nc\n"),
            ("a\n\n\n", 2, "\n\n"),
            ("", 3, ""),
            ("abc", 1, "abc"),
        ] {
            let source = Fixed::new(text.as_bytes());
            let total = source.len();
            let called_back = CalledBack::default();
            let from = tail_start(&source, lines, (0, total), &called_back).unwrap();
            let (shown, _) = read_text(&source, from, total, total).unwrap();
            assert_eq!(shown, expected, "{lines} of {text:?}");
        }
    }

    #[test]
    fn a_character_is_left_whole_for_the_next_look() {
        let source = Fixed::new("aäb".as_bytes());
        let (text, next) = read_text(&source, 0, 2, 4).unwrap();
        assert_eq!((text.as_str(), next), ("a", 1));
        let (text, next) = read_text(&source, 1, 4, 4).unwrap();
        assert_eq!((text.as_str(), next), ("äb", 4));
    }

    #[test]
    fn a_search_counts_what_it_does_not_show() {
        let text = "one\ntwo\nthree\none more\none";
        let source = Fixed::new(text.as_bytes());
        let pattern = Regex::new("one").unwrap();
        let (shown, found) = grep(
            &source,
            0..text.len() as u64,
            &pattern,
            (12, &CalledBack::default()),
        )
        .unwrap();
        assert_eq!(shown, "one\none more\n");
        assert_eq!((found.lines, found.shown), (3, 2));
    }
}
