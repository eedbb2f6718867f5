//! Reading an artifact: any range of the stream that it was made from, by byte or by line.

use super::Summary;
use super::record::{ArtifactFile, ArtifactPart, ArtifactRecord, NAME};
use crate::output::veiled::Veil;
use crate::output::view::View;
use crate::output::{Source, StreamPiece};
use crate::secrets::KnownSecrets;
use bashd_keeper::file_lock::{LockKind, lock_within};
use bashd_keeper::spool::open_to_read;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// Bytes of one read while a line is looked for.
const BLOCK: u64 = 256 * 1024;

/// How long the lock of an artifact is waited for: who sweeps holds it for a moment.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often to reopen an artifact that was put in order meanwhile.
const TRIES: usize = 3;

/// An open artifact. Offsets and line numbers are those of the command's output, even where parts
/// of it were dropped. It is not swept while it is open.
#[derive(Debug)]
pub struct Artifact {
    record: ArtifactRecord,
    /// In the order of [`Place::ALL`]; `None` if there is no such file.
    files: Vec<Option<File>>,
    /// Locked while we read.
    _lock: File,
    veil: Veil,
}

/// Where a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// It begins at this offset.
    At(u64),
    /// Its start was among these bytes, which were dropped.
    Dropped(Range<u64>),
    /// There is no such line.
    Beyond,
}

impl Artifact {
    /// Opens the artifact of a run's directory.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let mut result = Self::open_once(directory);
        for _ in 1..TRIES {
            match result {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    result = Self::open_once(directory);
                }
                _ => break,
            }
        }
        result
    }

    fn open_once(directory: &Path) -> io::Result<Self> {
        let lock = open_to_read(&directory.join(NAME))?;
        lock_within(&lock, LockKind::Shared, PATIENCE)?;
        let mut record = ArtifactRecord::load(directory)?;
        if let Some(there) = &record.there {
            let text = format!(
                "it is stored at the place `{}`: the artifact tool and `bashd artifact read` read it there",
                there.place
            );
            return Err(io::Error::other(text));
        }
        let mut files = Vec::new();
        for place in ArtifactFile::ALL {
            let is_used = record.parts.iter().any(|part| part.place == place);
            let file = is_used.then(|| open_to_read(&directory.join(place.file())));
            files.push(file.transpose()?);
        }
        // A truncated file has less than its record says.
        for (place, file) in ArtifactFile::ALL.into_iter().zip(&files) {
            let length = file.as_ref().map(File::metadata).transpose()?;
            let length = length.map_or(0, |metadata| metadata.len());
            let parts = record.parts.iter_mut();
            for part in parts.filter(|part| part.place == place) {
                part.bytes = part.bytes.min(length.saturating_sub(part.at));
            }
        }
        record.parts.retain(|part| part.bytes > 0);
        Ok(Self {
            record,
            files,
            _lock: lock,
            veil: Veil::default(),
        })
    }

    /// Hides these secrets in what is read of it, if its call did.
    pub(super) fn veiled(mut self, known: &KnownSecrets) -> Self {
        if self.record.hides_secrets {
            self.veil = Veil::over(known.now());
        }
        self
    }

    /// The same with every byte as the command wrote it, for its user's own eyes.
    #[must_use]
    pub fn raw(mut self) -> Self {
        self.veil = Veil::default();
        self
    }

    /// What may be shown of it.
    pub(super) fn view(&self) -> View<'_> {
        View::of(self, &self.veil)
    }

    /// What is known of it.
    pub fn summary(&self) -> Summary {
        self.record.summary()
    }

    /// The parts in the order of the stream.
    pub(super) fn parts(&self) -> &[ArtifactPart] {
        &self.record.parts
    }

    /// Number of lines, including a last one without a newline.
    pub fn line_count(&self) -> io::Result<u64> {
        Ok(self.record.lines + u64::from(self.has_open_end()?))
    }

    /// Finds where the line with this number (from 0) begins.
    pub fn locate(&self, line: u64) -> io::Result<Located> {
        if line == 0 {
            return Ok(Located::At(0));
        }
        if line > self.record.lines {
            return Ok(Located::Beyond);
        }
        let steps = &self.record.steps;
        let near = steps.partition_point(|(_, before)| *before < line);
        let known = near.checked_sub(1).and_then(|at| steps.get(at));
        let (mut offset, mut seen) = known.map_or((0, 0), |step| *step);
        let until = steps.get(near).map_or(self.record.bytes, |step| step.0);
        while offset < until {
            for piece in self.read(offset..(offset + BLOCK).min(until))? {
                let bytes = match piece {
                    StreamPiece::Kept(bytes) => bytes,
                    StreamPiece::Dropped(_) | StreamPiece::Replaced { .. } => {
                        return Ok(Located::Dropped(self.gap_at(offset)));
                    }
                };
                for newline in memchr::memchr_iter(b'\n', &bytes) {
                    seen += 1;
                    if seen == line {
                        return Ok(Located::At(offset + newline as u64 + 1));
                    }
                }
                offset += bytes.len() as u64;
            }
        }
        // Its newline is the last byte before the step, or the record and the files disagree.
        Ok(Located::Dropped(offset..until.max(offset)))
    }

    /// The whole gap that contains this offset.
    fn gap_at(&self, offset: u64) -> Range<u64> {
        let parts = &self.record.parts;
        let before = parts
            .iter()
            .map(ArtifactPart::end)
            .filter(|end| *end <= offset);
        let behind = parts.iter().map(|part| part.from).filter(|at| *at > offset);
        before.max().unwrap_or(0)..behind.min().unwrap_or(self.record.bytes)
    }

    /// The last offset up to this one for which the number of preceding newlines is known, and that
    /// number.
    pub(super) fn step_before(&self, offset: u64) -> (u64, u64) {
        let steps = &self.record.steps;
        let near = steps.partition_point(|(known, _)| *known <= offset);
        let step = near.checked_sub(1).and_then(|at| steps.get(at));
        step.map_or((0, 0), |step| *step)
    }

    /// The newlines before an offset that begins a part, if known.
    pub(super) fn lines_before(&self, offset: u64) -> Option<u64> {
        if offset == 0 {
            return Some(0);
        }
        let steps = &self.record.steps;
        let found = steps.iter().find(|(known, _)| *known == offset);
        found.map(|(_, lines)| *lines)
    }

    fn read_part(&self, part: &ArtifactPart, range: &Range<u64>) -> io::Result<Vec<u8>> {
        let file = ArtifactFile::ALL
            .iter()
            .position(|place| *place == part.place);
        let file = file
            .and_then(|at| self.files.get(at))
            .and_then(Option::as_ref);
        let file = file.ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; (range.end - range.start) as usize];
        file.read_exact_at(&mut bytes, part.at + (range.start - part.from))?;
        Ok(bytes)
    }
}

impl Source for Artifact {
    fn len(&self) -> u64 {
        self.record.bytes
    }

    fn lines(&self) -> u64 {
        self.record.lines
    }

    fn offset_of_line(&self, line: u64) -> io::Result<Option<u64>> {
        Ok(match self.locate(line)? {
            Located::At(offset) => Some(offset),
            Located::Dropped(_) | Located::Beyond => None,
        })
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        let end = range.end.min(self.record.bytes);
        let mut offset = range.start;
        let mut pieces = Vec::new();
        for part in &self.record.parts {
            let wanted = offset.max(part.from)..end.min(part.end());
            if wanted.is_empty() {
                continue;
            }
            if wanted.start > offset {
                pieces.push(StreamPiece::Dropped(wanted.start - offset));
            }
            pieces.push(StreamPiece::Kept(self.read_part(part, &wanted)?));
            offset = wanted.end;
        }
        if offset < end {
            pieces.push(StreamPiece::Dropped(end - offset));
        }
        Ok(pieces)
    }
}
