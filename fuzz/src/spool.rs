//! A spool's files: what was written is read, and files that say anything at all are read without
//! harm.

use bashd_keeper::capture::Quota;
use bashd_keeper::keeper::protocol::memory_file;
use bashd_keeper::source::{Source, StreamPiece};
use bashd_keeper::spool::{SpoolReader, SpoolWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Bytes that a counter page and what is behind it have at least.
const PAGE: usize = 4096;

/// Bytes that are asked for at most, of a file that claims to have more.
const MOST: u64 = 1 << 20;

/// Writes the bytes in pieces and reads them again, or takes them for the files themselves.
pub fn try_bytes(bytes: &[u8]) {
    match bytes.split_first() {
        Some((kind, rest)) if kind % 2 == 0 => write_and_read(rest),
        Some((_, rest)) => read_anything(rest),
        None => {}
    }
}

fn write_and_read(bytes: &[u8]) {
    let [head, ring, step, text @ ..] = bytes else {
        return;
    };
    let quota = Quota {
        head: u64::from(*head),
        ring: u64::from(*ring),
    };
    let Some(Ok(mut writer)) = directory().map(|runs| SpoolWriter::create(runs, quota)) else {
        return;
    };
    for piece in text.chunks(usize::from(*step).max(1)) {
        writer.append(piece);
    }
    let Some(reader) = reader_of(&writer) else {
        return;
    };
    assert_eq!(reader.len(), text.len() as u64);
    assert_eq!(reader.lines(), newlines(text));
    let Ok(pieces) = reader.read(0..reader.len()) else {
        return;
    };
    let mut at = 0;
    for piece in pieces {
        match piece {
            StreamPiece::Kept(kept) => {
                assert_eq!(
                    text.get(at..at + kept.len()),
                    Some(kept.as_slice()),
                    "at {at}"
                );
                at += kept.len();
            }
            StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => {
                at += count as usize;
            }
        }
    }
    assert_eq!(at, text.len(), "a gap that nobody told of");
    for line in 0..reader.lines().min(8) {
        if let Ok(Some(offset)) = reader.offset_of_line(line) {
            let before = text.get(..offset as usize).unwrap_or_default();
            assert_eq!(
                newlines(before),
                line,
                "line {line} does not begin at {offset}"
            );
        }
    }
}

fn newlines(text: &[u8]) -> u64 {
    text.split(|byte| *byte == b'\n').skip(1).count() as u64
}

/// Where the files are, which have no names.
fn directory() -> Option<&'static Path> {
    static DIRECTORY: OnceLock<Option<TempDir>> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| tempfile::tempdir().ok());
    directory.as_ref().map(TempDir::path)
}

fn reader_of(writer: &SpoolWriter) -> Option<SpoolReader> {
    let mut fds = writer
        .descriptors()
        .into_iter()
        .map(|fd| fd.try_clone_to_owned().ok());
    let reader = SpoolReader::new(fds.next()??, fds.next().flatten()).ok()?;
    if let Some(ring) = writer.ring() {
        reader.set_ring(ring.as_fd().try_clone_to_owned().ok()?);
    }
    Some(reader)
}

/// A counter page, a head and a ring that say whatever the bytes say.
fn read_anything(bytes: &[u8]) {
    let (counters, rest) = bytes.split_at(bytes.len().min(128));
    let (head, ring) = rest.split_at(rest.len() / 2);
    let mut page = counters.to_vec();
    page.resize(PAGE, 0);
    page.extend_from_slice(rest);
    let file = |bytes: &[u8]| memory_file(bytes).ok();
    let (Some(page), Some(ring)) = (writable(&page), file(ring)) else {
        return;
    };
    let Ok(reader) = SpoolReader::new(page, file(head)) else {
        return;
    };
    reader.set_ring(ring);
    let end = reader.len();
    for range in [0..end.min(MOST), end.saturating_sub(MOST)..end] {
        if let Ok(pieces) = reader.read(range.clone()) {
            let length = |piece: &StreamPiece| match piece {
                StreamPiece::Kept(bytes) => bytes.len() as u64,
                StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => *count,
            };
            let told = pieces.iter().map(length).fold(0, u64::saturating_add);
            assert!(told <= range.end - range.start, "more than was asked for");
        }
    }
    let _ = reader.readable_end();
    let _ = reader.dropped();
    let _ = reader.lost();
    let _ = reader.line_steps();
    let _ = reader.has_open_end();
}

/// A file in memory that can be mapped for writing, as a counter page is.
fn writable(bytes: &[u8]) -> Option<OwnedFd> {
    let fd = rustix::fs::memfd_create(c"page", rustix::fs::MemfdFlags::CLOEXEC).ok()?;
    rustix::io::pwrite(&fd, bytes, 0).ok()?;
    Some(fd)
}
