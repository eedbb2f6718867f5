//! Keeping a run's output: the spool's files are named, and a record says what is in them.

use super::record::{ArtifactFile, ArtifactPart, ArtifactRecord, NAME};
use super::{ArtifactKind, ArtifactStore, check_limit, counter, prepare, times};
use crate::exec::Run;
use crate::jobs::Job;
use crate::output::joined::Joined;
use crate::output::run_output::RunOutput;
use crate::output::veiled::Veil;
use crate::output::{Source, StreamPiece};
use crate::place::StoredThere;
use crate::plan::Outline;
use crate::profile::Profile;
use crate::profile::rules::ArtifactsWhen;
use crate::screen::Size;
use bashd_keeper::spool::{self, Ring, STEP, SpoolReader, TIMES, link_descriptor};
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An artifact of this size or larger triggers a check of the total size.
const LARGE: u64 = 1024 * 1024;

/// Output of another place up to this size is brought home to be kept.
pub(crate) const LONGEST_BROUGHT: u64 = 1024 * 1024;

/// The output of a finished run.
pub(crate) struct Output<'a> {
    pub(crate) out: &'a SpoolReader,
    /// Kept after `out`, with the separator between them.
    pub(crate) err: Option<&'a SpoolReader>,
    pub(crate) separator: &'a str,
    /// Who may still write to the spool.
    pub(crate) writers: Writers,
    pub(crate) kind: ArtifactKind,
    /// Whose call it was.
    pub(crate) owner: &'a str,
    /// Whether it is shown without secrets.
    pub(crate) hides_secrets: bool,
    /// The size of the terminal that it was written to, if it was one.
    pub(crate) terminal: Option<Size>,
    /// How long the run took.
    pub(crate) ran_for: Duration,
}

/// Who may still write to a spool whose run was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    /// Nobody.
    Gone,
    /// Processes that outlived the run.
    Left,
}

/// An artifact that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptArtifact {
    pub(crate) id: u64,
    /// Bytes of the output that it does not contain.
    pub(crate) dropped: u64,
    /// A plain file with all of it, where a text names one.
    pub(crate) path: Option<PathBuf>,
}

impl KeptArtifact {
    fn of(record: &ArtifactRecord) -> Self {
        Self {
            id: record.id,
            dropped: record.bytes.saturating_sub(record.kept()),
            path: None,
        }
    }
}

impl ArtifactStore {
    /// Keeps a run's output, if its profile does that. After a failure there is just no artifact.
    pub(crate) fn keep_run(
        &self,
        profile: &Profile,
        outline: &Outline,
        run: &Run,
        kind: ArtifactKind,
    ) -> Option<KeptArtifact> {
        let is_unwanted = profile.output.artifacts == ArtifactsWhen::Never;
        if is_unwanted && kind != ArtifactKind::Recording {
            return None;
        }
        let Some(out) = run.out.spool() else {
            return self.bring_home(profile, outline, run, kind);
        };
        let output = Output {
            out,
            err: run.err.as_ref().and_then(RunOutput::spool),
            separator: &profile.output.separator,
            writers: run.writers,
            kind,
            owner: &outline.owner,
            hides_secrets: outline.veil.hides(),
            terminal: outline.terminal,
            ran_for: run.ran_for,
        };
        let mut kept = self.keep(&outline.directory, &profile.name, &output).ok()?;
        if profile.output.names_path() {
            kept.path = self.path(kept.id).ok();
        }
        Some(kept)
    }

    /// Keeps the output of a run at another place: what is short is brought here, if that can be
    /// done in time.
    fn bring_home(
        &self,
        profile: &Profile,
        outline: &Outline,
        run: &Run,
        kind: ArtifactKind,
    ) -> Option<KeptArtifact> {
        let joined = run.err.as_ref().map(|err| {
            let streams: [&dyn Source; 2] = [&run.out, err];
            Joined::new(streams, &profile.output.separator)
        });
        let source = joined
            .as_ref()
            .map_or(&run.out as &dyn Source, |joined| joined);
        let mut streams = std::iter::once(&run.out).chain(&run.err);
        let is_cut_off = streams.any(RunOutput::is_cut_off);
        let brought = (source.len() <= LONGEST_BROUGHT && !is_cut_off).then(|| {
            let of_whom = (&*outline.owner, kind, &outline.veil);
            self.keep_part(profile, &outline.directory, source, of_whom)
        });
        brought.flatten().or_else(|| {
            let there = run.stored_there.clone()?;
            self.note_there(profile, outline, source, (there, kind))
        })
    }

    /// Remembers where output is stored that is not brought here.
    fn note_there(
        &self,
        profile: &Profile,
        outline: &Outline,
        source: &dyn Source,
        (there, kind): (StoredThere, ArtifactKind),
    ) -> Option<KeptArtifact> {
        let directory = &outline.directory;
        prepare(directory).ok()?;
        let run = directory.file_name().unwrap_or_default();
        let run = run.to_string_lossy().into_owned();
        let mut record = ArtifactRecord::new(run, &profile.name, source.len(), source.lines());
        record.kind = kind;
        record.owner = Some(outline.owner.clone());
        record.hides_secrets = outline.veil.hides();
        record.there = Some(there);
        if self.publish(directory, &mut record).is_err() {
            clear(directory);
            return None;
        }
        Some(KeptArtifact::of(&record))
    }

    /// At a place: keeps the output of a run of which who asked gets less than all at once. He may
    /// not be able to fetch the rest.
    pub(crate) fn keep_there(
        &self,
        profile: &Profile,
        outline: &Outline,
        (run, sent): (&Run, u64),
    ) -> Option<StoredThere> {
        let length = run.out.len() + run.err.as_ref().map_or(0, Source::len);
        if length <= sent {
            return None;
        }
        let kept = self.keep_run(profile, outline, run, ArtifactKind::Bash)?;
        Some(StoredThere {
            place: String::new(),
            node: None,
            id: kept.id,
            kept: length.saturating_sub(kept.dropped),
        })
    }

    /// Keeps the output of the run with this directory.
    pub(crate) fn keep(
        &self,
        directory: &Path,
        profile: &str,
        output: &Output<'_>,
    ) -> io::Result<KeptArtifact> {
        prepare(directory)?;
        let kept = self.keep_in(directory, profile, output);
        if kept.is_err() {
            clear(directory);
        }
        kept
    }

    fn keep_in(
        &self,
        directory: &Path,
        profile: &str,
        output: &Output<'_>,
    ) -> io::Result<KeptArtifact> {
        let name = directory.file_name().unwrap_or_default();
        let joined = output.err.map(|err| {
            let streams: [&dyn Source; 2] = [output.out, err];
            Joined::new(streams, output.separator)
        });
        let source = joined
            .as_ref()
            .map_or(output.out as &dyn Source, |joined| joined);
        let run = name.to_string_lossy().into_owned();
        let mut record = ArtifactRecord::new(run, profile, source.len(), source.lines());
        record.kind = output.kind;
        record.owner = Some(output.owner.to_owned());
        record.hides_secrets = output.hides_secrets;
        let can_adopt = output.err.is_none()
            && (output.writers == Writers::Gone || output.out.places().ring.is_none());
        if !can_adopt || adopt(directory, output.out, &mut record).is_err() {
            clear(directory);
            prepare(directory)?;
            record.parts.clear();
            record.steps.clear();
            copy(directory, source, &mut record)?;
        }
        // Without its times the output is still an artifact.
        let _ = times::keep(directory, output);
        self.publish(directory, &mut record)?;
        if record.kept() >= LARGE {
            self.sweep_aside(directory);
        }
        Ok(KeptArtifact::of(&record))
    }

    /// Keeps a copy of output, if the profile does that: a part of what a terminal session wrote,
    /// or what is at another place.
    pub(crate) fn keep_part(
        &self,
        profile: &Profile,
        directory: &Path,
        part: &dyn Source,
        (owner, kind, veil): (&str, ArtifactKind, &Veil),
    ) -> Option<KeptArtifact> {
        if profile.output.artifacts == ArtifactsWhen::Never {
            return None;
        }
        prepare(directory).ok()?;
        let name = directory.file_name().unwrap_or_default();
        let run = name.to_string_lossy().into_owned();
        let mut record = ArtifactRecord::new(run, &profile.name, part.len(), part.lines());
        record.kind = kind;
        record.owner = Some(owner.to_owned());
        record.hides_secrets = veil.hides();
        let kept = copy(directory, part, &mut record);
        if kept
            .and_then(|()| self.publish(directory, &mut record))
            .is_err()
        {
            clear(directory);
            return None;
        }
        let mut kept = KeptArtifact::of(&record);
        if profile.output.names_path() {
            kept.path = self.path(kept.id).ok();
        }
        Some(kept)
    }

    /// Gives an artifact its number.
    fn publish(&self, directory: &Path, record: &mut ArtifactRecord) -> io::Result<()> {
        let name = directory.file_name().unwrap_or_default();
        record.id = counter::next(&self.links)?;
        record.store(directory)?;
        let target = Path::new("..").join(self.runs_name()).join(name);
        std::os::unix::fs::symlink(target, self.link(record.id))?;
        counter::note(&self.links, record.id, &record.run);
        Ok(())
    }

    /// Keeps the output of a job that has ended, if its profile does that; a second time it has the
    /// number of the first. After a failure there is just no artifact.
    pub(crate) fn keep_job(
        &self,
        profile: &Profile,
        job: &Job,
        output: &dyn Source,
    ) -> Option<KeptArtifact> {
        if profile.output.artifacts == ArtifactsWhen::Never {
            return None;
        }
        if let Ok(record) = ArtifactRecord::load(&job.directory) {
            counter::note(&self.links, record.id, &record.run);
            return Some(KeptArtifact::of(&record));
        }
        let mut record =
            ArtifactRecord::new(job.id.clone(), &profile.name, output.len(), output.lines());
        record.owner = Some(job.owner.clone());
        record.hides_secrets = job.hides_secrets;
        if adopt_file(job, &mut record).is_err() {
            copy(&job.directory, output, &mut record).ok()?;
        }
        let published = self.publish(&job.directory, &mut record);
        published.ok().map(|()| KeptArtifact::of(&record))
    }

    /// Checks the total size: removing large files takes time, and the reply need not wait for it.
    /// What cannot be swept here is swept by the next keeper that exits.
    fn sweep_aside(&self, newest: &Path) {
        if self.is_for_one_call {
            // A thread of ours would end with us, before its work is done.
            spool::sweep_soon(&self.runs);
            return;
        }
        // Not this one, however large it is: the reply names it.
        let in_use = super::Artifact::open(newest);
        let store = self.clone();
        let sweep = std::thread::Builder::new().name("bashd-sweep".to_owned());
        let _ = sweep.spawn(move || {
            let _ = store.sweep();
            drop(in_use);
        });
    }

    fn runs_name(&self) -> &Path {
        self.runs.file_name().map_or(Path::new("runs"), Path::new)
    }
}

/// Removes everything of an artifact from its run's directory, and the directory too if nothing
/// else is in it.
pub(super) fn clear(directory: &Path) {
    for place in ArtifactFile::ALL {
        let _ = fs::remove_file(directory.join(place.file()));
    }
    let _ = fs::remove_file(directory.join(NAME));
    let _ = fs::remove_file(directory.join(TIMES));
    let _ = fs::remove_dir(directory);
}

/// Names the file of a job that has ended, if it is the output and nothing else.
fn adopt_file(job: &Job, record: &mut ArtifactRecord) -> io::Result<()> {
    let length = fs::metadata(&job.output_file)?.len();
    let is_whole = matches!(job.stored.as_slice(), [stream] if stream.bytes == length);
    if !is_whole || record.bytes != length {
        return Err(io::ErrorKind::Unsupported.into());
    }
    fs::hard_link(
        &job.output_file,
        job.directory.join(ArtifactFile::Head.file()),
    )?;
    record.parts.push(ArtifactPart {
        from: 0,
        bytes: length,
        place: ArtifactFile::Head,
        at: 0,
    });
    Ok(())
}

/// Names the spool's own files.
fn adopt(directory: &Path, spool: &SpoolReader, record: &mut ArtifactRecord) -> io::Result<()> {
    let places = spool.places();
    record.steps = spool.line_steps()?;
    let (head, bytes) = places.head.ok_or(io::ErrorKind::NotFound)?;
    link_descriptor(head, &directory.join(ArtifactFile::Head.file()))?;
    record.parts.push(ArtifactPart {
        from: 0,
        bytes,
        place: ArtifactFile::Head,
        at: 0,
    });
    if let Some(ring) = &places.ring {
        link_descriptor(ring.fd, &directory.join(ArtifactFile::Tail.file()))?;
        record.parts.extend(parts_of(ring));
        add_step(record, spool, ring.holds.start)?;
    }
    if places.has_memory {
        // On a full disk this may or may not work.
        let rest = keep_memory(directory, spool, &places.memory);
        record.parts.extend(rest.ok().flatten());
        add_step(record, spool, places.memory.start)?;
    }
    let parts = &record.parts;
    let is_kept = |at: u64| {
        parts
            .iter()
            .any(|part| (part.from..part.end()).contains(&at))
    };
    record.steps.retain(|(offset, _)| is_kept(*offset));
    Ok(())
}

/// The one or two ranges of bytes of a ring.
fn parts_of(ring: &Ring<'_>) -> Vec<ArtifactPart> {
    let mut parts = Vec::new();
    let mut from = ring.holds.start;
    while from < ring.holds.end {
        let at = (from - ring.begins) % ring.capacity;
        let bytes = (ring.holds.end - from).min(ring.capacity - at);
        parts.push(ArtifactPart {
            from,
            bytes,
            place: ArtifactFile::Tail,
            at,
        });
        from += bytes;
    }
    parts
}

/// Records how many newlines precede the first byte after a gap, from the next place where that is
/// known.
fn add_step(record: &mut ArtifactRecord, spool: &SpoolReader, offset: u64) -> io::Result<()> {
    let position = record.steps.partition_point(|(known, _)| *known < offset);
    let next = record.steps.get(position);
    let (upto, lines) = next.map_or((record.bytes, record.lines), |step| *step);
    if upto == offset || upto - offset > STEP {
        return Ok(());
    }
    let mut between = 0;
    for piece in spool.read(offset..upto)? {
        let StreamPiece::Kept(bytes) = piece else {
            return Ok(());
        };
        between += newlines(&bytes);
    }
    let before = lines.saturating_sub(between);
    record.steps.insert(position, (offset, before));
    Ok(())
}

fn keep_memory(
    directory: &Path,
    spool: &SpoolReader,
    range: &std::ops::Range<u64>,
) -> io::Result<Option<ArtifactPart>> {
    if range.is_empty() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    for piece in spool.read(range.clone())? {
        match piece {
            StreamPiece::Kept(more) => bytes.extend(more),
            StreamPiece::Dropped(_) | StreamPiece::Replaced { .. } => return Ok(None),
        }
    }
    let path = directory.join(ArtifactFile::Rest.file());
    let file = create(&path)?;
    if let Err(error) = append(&file, 0, &bytes) {
        let _ = fs::remove_file(path);
        return Err(error);
    }
    Ok(Some(ArtifactPart {
        from: range.start,
        bytes: bytes.len() as u64,
        place: ArtifactFile::Rest,
        at: 0,
    }))
}

/// Bytes that were copied together, with their lines counted from the first of them.
struct Copied {
    part: ArtifactPart,
    lines: u64,
    steps: Vec<(u64, u64)>,
}

/// Copies what is left of a stream into a plain file, with a line where something is missing, and
/// counts its lines on the way.
fn copy(directory: &Path, source: &dyn Source, record: &mut ArtifactRecord) -> io::Result<()> {
    let file = create(&directory.join(ArtifactFile::Head.file()))?;
    let mut all: Vec<Copied> = Vec::new();
    let (mut offset, mut at, mut missing) = (0, 0, 0);
    while offset < record.bytes {
        for piece in source.read(offset..(offset + STEP).min(record.bytes))? {
            let bytes = match piece {
                StreamPiece::Kept(bytes) => bytes,
                // Of another place, which does not tell it: as long as it was, for all offsets.
                StreamPiece::Replaced { bytes, .. } => vec![b'*'; bytes as usize],
                StreamPiece::Dropped(count) => {
                    offset += count;
                    missing += count;
                    continue;
                }
            };
            at = append_gap(&file, at, std::mem::take(&mut missing))?;
            append(&file, at, &bytes)?;
            take_in(&mut all, offset, at, &bytes);
            at += bytes.len() as u64;
            offset += bytes.len() as u64;
        }
    }
    append_gap(&file, at, missing)?;
    for copied in all {
        // How many newlines precede a part after a gap is known only at its end.
        let before = if copied.part.from == 0 {
            Some(0)
        } else if copied.part.end() == record.bytes {
            record.lines.checked_sub(copied.lines)
        } else {
            None
        };
        let steps = copied.steps.into_iter();
        let known = before.map(|before| steps.map(move |(at, lines)| (at, before + lines)));
        record.steps.extend(known.into_iter().flatten());
        record.parts.push(copied.part);
    }
    Ok(())
}

/// Adds bytes to the last part if they follow it, otherwise to a new one.
fn take_in(all: &mut Vec<Copied>, offset: u64, at: u64, bytes: &[u8]) {
    if all.last().is_none_or(|last| last.part.end() != offset) {
        let part = ArtifactPart {
            from: offset,
            bytes: 0,
            place: ArtifactFile::Head,
            at,
        };
        all.push(Copied {
            part,
            lines: 0,
            steps: Vec::new(),
        });
    }
    if let Some(last) = all.last_mut() {
        last.steps.push((offset, last.lines));
        last.part.bytes += bytes.len() as u64;
        last.lines += newlines(bytes);
    }
}

/// Writes the line that stands for missing bytes, if there are any; returns the new end.
pub(super) fn append_gap(file: &impl AsFd, end: u64, missing: u64) -> io::Result<u64> {
    if missing == 0 {
        return Ok(end);
    }
    let dropped =
        bashd_keeper::counted::counted(missing, "byte of output was", "bytes of output were");
    let line = format!("\n[bashd: {dropped} dropped here]\n");
    append(file, end, line.as_bytes())?;
    Ok(end + line.len() as u64)
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn create(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?)
}

/// Writes all of the bytes at a position.
pub(super) fn append(file: &impl AsFd, mut at: u64, mut bytes: &[u8]) -> io::Result<()> {
    check_limit(at, bytes.len() as u64)?;
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, at) {
            Ok(0) => return Err(rustix::io::Errno::NOSPC.into()),
            Ok(count) => {
                bytes = bytes.get(count..).unwrap_or_default();
                at += count as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
