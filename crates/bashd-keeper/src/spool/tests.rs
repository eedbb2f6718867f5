//! Writer and reader together, compared with a plain vector that forgets nothing.

use super::storage::SpoolFile;
use super::*;
use crate::capture::Quota;
use crate::source::{Source, StreamPiece};
use proptest::prelude::*;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A reader of everything that the writer has so far.
fn reader_of(writer: &SpoolWriter) -> SpoolReader {
    let mut fds = writer
        .descriptors()
        .into_iter()
        .map(|fd| fd.try_clone_to_owned().unwrap());
    let reader = SpoolReader::new(fds.next().unwrap(), fds.next()).unwrap();
    if let Some(ring) = writer.ring() {
        reader.set_ring(ring.as_fd().try_clone_to_owned().unwrap());
    }
    reader
}

/// What a spool of this quota still has of a stream: every byte, or `None` if it is gone.
fn expected(stream: &[u8], quota: Quota) -> Vec<Option<u8>> {
    let kept_from = (stream.len() as u64)
        .saturating_sub(quota.ring)
        .max(quota.head);
    let is_kept = |offset: u64| offset < quota.head || offset >= kept_from;
    stream
        .iter()
        .enumerate()
        .map(|(at, &byte)| is_kept(at as u64).then_some(byte))
        .collect()
}

fn flatten(pieces: Vec<StreamPiece>) -> Vec<Option<u8>> {
    pieces
        .into_iter()
        .flat_map(|piece| match piece {
            StreamPiece::Kept(bytes) => bytes.into_iter().map(Some).collect::<Vec<_>>(),
            StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => {
                vec![None; count as usize]
            }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_range_of_any_stream_is_exact_however_it_was_written(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
        head in 0_u64..300,
        ring in 0_u64..300,
        start in 0_usize..2000,
        length in 0_usize..2000,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let quota = Quota { head, ring };
        let mut writer = SpoolWriter::create(directory.path(), quota).unwrap();
        for chunk in &chunks {
            writer.append(chunk);
        }
        let stream = chunks.concat();
        let reader = reader_of(&writer);
        let newlines = memchr::memchr_iter(b'\n', &stream).count() as u64;
        prop_assert_eq!(reader.len(), stream.len() as u64);
        prop_assert_eq!(reader.lines(), newlines);

        let expected = expected(&stream, quota);
        let gone = expected.iter().filter(|byte| byte.is_none()).count() as u64;
        prop_assert_eq!(reader.dropped(), gone);
        let end = start.saturating_add(length).min(stream.len());
        let range = start.min(end)..end;
        let read = flatten(reader.read(range.start as u64..range.end as u64).unwrap());
        prop_assert_eq!(read, &expected[range]);
    }

    #[test]
    fn a_stream_without_a_disk_keeps_its_last_bytes_in_memory(
        chunks in prop::collection::vec(1_usize..50_000, 0..6),
    ) {
        let missing = std::path::Path::new("/proc/bashd-runs");
        let quota = Quota { head: 1000, ring: 1000 };
        let mut writer = SpoolWriter::create(missing, quota).unwrap();
        let mut stream = Vec::new();
        for (seed, length) in chunks.into_iter().enumerate() {
            let chunk: Vec<_> = (0..length).map(|at| (at * 7 + seed) as u8).collect();
            writer.append(&chunk);
            stream.extend(chunk);
        }
        let reader = reader_of(&writer);
        let kept = stream.len().min(MEMORY_TAIL as usize);
        let gone = stream.len() - kept;
        prop_assert_eq!(reader.dropped(), gone as u64);
        let read = flatten(reader.read(0..stream.len() as u64).unwrap());
        let expected: Vec<_> = stream
            .iter()
            .enumerate()
            .map(|(at, &byte)| (at >= gone).then_some(byte))
            .collect();
        prop_assert_eq!(read, expected);
        let error = reader.storage_error().and_then(|error| error.raw_os_error());
        prop_assert_eq!(error, (gone > 0).then_some(libc::ENOENT));
    }
}

#[test]
fn a_line_is_found_by_its_number_in_head_and_ring() {
    let directory = tempfile::tempdir().unwrap();
    let quota = Quota {
        head: 2 << 20,
        ring: 3 << 20,
    };
    let mut writer = SpoolWriter::create(directory.path(), quota).unwrap();
    // Ten bytes a line: line n begins at 10 n.
    let lines: u64 = 900_000;
    let all: Vec<_> = (0..lines).map(|line| format!("{line:09}\n")).collect();
    for some in all.chunks(1000) {
        writer.append(some.concat().as_bytes());
    }
    let reader = reader_of(&writer);
    for line in [0, 1, 5, 104_857, 104_858, 209_000, 899_999, 700_000] {
        let offset = reader.offset_of_line(line).unwrap();
        assert_eq!(offset, Some(line * 10), "line {line}");
    }
    assert_eq!(reader.offset_of_line(400_000).unwrap(), None, "dropped");
    assert_eq!(
        reader.offset_of_line(lines + 1).unwrap(),
        None,
        "never written"
    );
}

#[test]
fn a_named_log_ends_with_what_was_dropped_and_the_tail() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = SpoolWriter::create(directory.path(), Quota { head: 5, ring: 4 }).unwrap();
    let path = directory.path().join("log");
    writer.append(b"headxmiddletail");
    writer.link(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "headx");
    writer.complete_head().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        "headx\n[bashd: 6 bytes of output were dropped here]\ntail"
    );
}

#[test]
fn an_anonymous_spool_leaves_no_name() {
    let directory = tempfile::tempdir().unwrap();
    let quota = Quota { head: 5, ring: 5 };
    let mut writer = SpoolWriter::create(directory.path(), quota).unwrap();
    writer.append(b"0123456789abcdef");
    drop(writer);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// Names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_spool_of_named_files_is_as_good_and_removes_them() {
    let directory = tempfile::tempdir().unwrap();
    let quota = Quota { head: 5, ring: 4 };
    let mut writer = SpoolWriter::create_with(SpoolFile::named, directory.path(), quota).unwrap();
    writer.append(b"headxmiddletail");
    let found = names(directory.path());
    assert_eq!(found.len(), 2, "head and ring: {found:?}");
    for name in &found {
        let mode = std::fs::metadata(directory.path().join(name))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
    let read = flatten(reader_of(&writer).read(0..15).unwrap());
    assert_eq!(read, expected(b"headxmiddletail", quota));
    drop(writer);
    assert_eq!(names(directory.path()), Vec::<String>::new());
}

#[test]
fn a_named_spool_that_becomes_a_log_keeps_only_that() {
    let directory = tempfile::tempdir().unwrap();
    let quota = Quota { head: 5, ring: 4 };
    let mut writer = SpoolWriter::create_with(SpoolFile::named, directory.path(), quota).unwrap();
    writer.append(b"headxmiddletail");
    let path = directory.path().join("log");
    writer.link(&path).unwrap();
    writer.complete_head().unwrap();
    drop(writer);
    assert_eq!(names(directory.path()), ["log"]);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        "headx\n[bashd: 6 bytes of output were dropped here]\ntail"
    );
}

#[test]
fn named_files_are_swept_when_nobody_holds_their_lock() {
    let directory = tempfile::tempdir().unwrap();
    let runs = directory.path();
    let living = SpoolFile::named(runs).unwrap();
    let of_the_living = names(runs);
    // What killed keepers left: the kernel has released their locks.
    std::fs::write(runs.join("1-0.spool"), "abandoned").unwrap();
    std::fs::write(runs.join("1-1.spool"), "abandoned").unwrap();
    std::fs::write(runs.join("somebody-elses"), "").unwrap();
    storage::sweep_abandoned(runs).unwrap();
    let mut left = names(runs);
    left.retain(|name| name != "somebody-elses");
    assert_eq!(left, of_the_living);
    assert!(runs.join("somebody-elses").exists());
    drop(living);
    assert_eq!(names(runs), ["somebody-elses"]);
}

#[test]
fn a_name_that_is_taken_is_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let pid = std::process::id();
    for number in 0..20 {
        std::fs::write(directory.path().join(format!("{pid}-{number}.spool")), "").unwrap();
    }
    drop(SpoolFile::named(directory.path()).unwrap());
    assert_eq!(
        names(directory.path()).len(),
        20,
        "only its own was removed"
    );
}

#[test]
fn a_runs_directory_that_was_removed_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let runs = directory.path().join("state/runs");
    let mut writer = SpoolWriter::create(&runs, Quota { head: 5, ring: 5 }).unwrap();
    std::fs::remove_dir_all(directory.path().join("state")).unwrap();
    writer.append(b"0123456789");
    assert_eq!(reader_of(&writer).dropped(), 0, "the ring was made as well");
    let mode = std::fs::metadata(&runs).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_reader_refuses_what_is_not_a_counter_page() {
    let file = tempfile::tempfile().unwrap();
    assert!(SpoolReader::new(file.into(), None).is_err());
}
