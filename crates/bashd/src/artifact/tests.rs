//! Tests of artifacts: every byte and line where it was, whatever the spool did.

use super::*;
use crate::output::fixed::Fixed;
use crate::output::{Source, StreamPiece};
use crate::plan::Quota;
use bashd_keeper::spool::SpoolReader;
use bashd_keeper::spool::{STEP, SpoolWriter};
use keep::{Output, Writers};
use proptest::prelude::*;
use std::ops::ControlFlow;

struct Place {
    home: tempfile::TempDir,
    store: ArtifactStore,
}

fn place() -> Place {
    let home = tempfile::tempdir().unwrap();
    let store = ArtifactStore::of(&Config::new(home.path()));
    fs::create_dir_all(&store.runs).unwrap();
    Place { home, store }
}

/// A spool of this quota into which the bytes were written.
fn spool(place: &Place, quota: Quota, bytes: &[u8]) -> (SpoolWriter, SpoolReader) {
    let mut writer = SpoolWriter::create(&place.store.runs, quota).unwrap();
    writer.append(bytes);
    let mut fds = writer.descriptors().into_iter();
    let page = fds.next().unwrap().try_clone_to_owned().unwrap();
    let head = fds.next().map(|fd| fd.try_clone_to_owned().unwrap());
    let reader = SpoolReader::new(page, head).unwrap();
    if let Some(ring) = writer.ring() {
        reader.set_ring(ring.try_clone_to_owned().unwrap());
    }
    let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
    let reader = reader.ending_at(bytes.len() as u64, lines);
    (writer, reader)
}

fn keep(place: &Place, name: &str, out: &SpoolReader, writers: Writers) -> KeptArtifact {
    let output = Output {
        hides_secrets: false,
        owner: "tests",
        out,
        err: None,
        separator: "",
        writers,
        kind: ArtifactKind::Bash,
        terminal: None,
        ran_for: std::time::Duration::ZERO,
    };
    let directory = place.store.runs.join(name);
    place.store.keep(&directory, "default", &output).unwrap()
}

fn kept_bytes(source: &dyn Source, range: std::ops::Range<u64>) -> Vec<u8> {
    let mut all = Vec::new();
    for piece in source.read(range).unwrap() {
        match piece {
            StreamPiece::Kept(bytes) => all.extend(bytes),
            StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => {
                all.extend(format!("<{count}>").into_bytes());
            }
        }
    }
    all
}

fn text(artifact: &Artifact, range: Range) -> String {
    let selection = Selection { range, grep: None };
    artifact.passage(&selection, usize::MAX).unwrap().text
}

const SMALL: Quota = Quota {
    head: 4096,
    ring: 8192,
};

#[test]
fn what_fits_the_head_is_there_whole_and_is_the_plain_file() {
    let place = place();
    let bytes = b"one\ntwo\nthree";
    let (writer, reader) = spool(&place, SMALL, bytes);
    let kept = keep(&place, "r1", &reader, Writers::Gone);
    drop((writer, reader));
    assert_eq!((kept.id, kept.dropped), (0, 0));
    let artifact = place.store.open(0).unwrap();
    assert_eq!(kept_bytes(&artifact, 0..13), bytes);
    assert_eq!(text(&artifact, Range::Lines(2, Some(2))), "two\n");
    assert_eq!(text(&artifact, Range::Lines(2, None)), "two\nthree");
    assert_eq!(text(&artifact, Range::Lines(9, None)), "");
    assert_eq!(text(&artifact, Range::Bytes(2, Some(4))), "e\nt");
    assert_eq!(text(&artifact, Range::Tail(1)), "three");
    assert_eq!(text(&artifact, Range::Tail(0)), "");
    assert_eq!(text(&artifact, Range::Tail(99)), "one\ntwo\nthree");
    assert_eq!(fs::read(place.store.path(0).unwrap()).unwrap(), bytes);
}

/// Numbered lines, so that every byte tells where it is from.
fn numbered(count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|n| format!("{n:07}\n").into_bytes())
        .collect()
}

#[test]
fn of_a_flood_both_ends_are_exact_and_the_loss_is_counted() {
    let place = place();
    let bytes = numbered(5000); // 40,000 bytes
    for (name, writers) in [("gone", Writers::Gone), ("left", Writers::Left)] {
        let (writer, reader) = spool(&place, SMALL, &bytes);
        let kept = keep(&place, name, &reader, writers);
        drop((writer, reader));
        assert_eq!(kept.dropped, 40_000 - 4096 - 8192, "{name}");
        let artifact = place.store.open(kept.id).unwrap();
        assert_eq!(kept_bytes(&artifact, 0..4096), bytes[..4096], "{name}");
        assert_eq!(
            kept_bytes(&artifact, 31_808..40_000),
            bytes[31_808..],
            "{name}"
        );
        assert_eq!(
            kept_bytes(&artifact, 4090..31_810),
            b"0000511\n"[2..]
                .iter()
                .copied()
                .chain(*b"<27712>00")
                .collect::<Vec<_>>(),
            "{name}"
        );
        assert_eq!(
            text(&artifact, Range::Lines(512, Some(512))),
            "0000511\n",
            "{name}"
        );
        assert_eq!(
            text(&artifact, Range::Lines(3978, Some(3978))),
            "0003977\n",
            "{name}"
        );
        assert_eq!(
            text(&artifact, Range::Lines(5000, None)),
            "0004999\n",
            "{name}"
        );
        assert_eq!(
            artifact.locate(1000).unwrap(),
            Located::Dropped(4096..31_808)
        );
        let across = text(&artifact, Range::Lines(511, Some(3977)));
        assert_eq!(
            across, "0000510\n0000511\n[bashd: 27712 bytes of output were dropped here]\n0003976\n",
            "{name}"
        );
    }
}

#[test]
fn a_plain_file_has_everything_in_order_and_reads_stay_the_same() {
    let place = place();
    let bytes = numbered(5000);
    let (writer, reader) = spool(&place, SMALL, &bytes);
    let id = keep(&place, "r", &reader, Writers::Gone).id;
    drop((writer, reader));
    let before = place.store.open(id).unwrap();
    let path = place.store.path(id).unwrap();
    let expected = [
        &bytes[..4096],
        b"\n[bashd: 27712 bytes of output were dropped here]\n",
        &bytes[31_808..],
    ];
    assert_eq!(fs::read(&path).unwrap(), expected.concat());
    assert_eq!(place.store.path(id).unwrap(), path);
    let after = place.store.open(id).unwrap();
    for artifact in [&before, &after] {
        assert_eq!(kept_bytes(artifact, 31_808..40_000), bytes[31_808..]);
        assert_eq!(
            text(artifact, Range::Lines(3978, Some(3979))),
            "0003977\n0003978\n"
        );
    }
    let mut names: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["artifact", "artifact.json"]);
}

/// What a disk that was full leaves: the beginning in memory alone, or nothing of the end.
#[test]
fn a_plain_file_of_a_full_disk_has_what_is_kept_and_says_what_is_not() {
    use record::{ArtifactFile, ArtifactPart};
    let bytes = numbered(1000);
    let part = |place, bytes: usize| ArtifactPart {
        from: 0,
        bytes: bytes as u64,
        place,
        at: 0,
    };
    let gap = |count: usize| format!("\n[bashd: {count} bytes of output were dropped here]\n");
    for (on_disk, in_memory, end) in [(0, 8000, String::new()), (4096, 0, gap(3904))] {
        let place = place();
        let run = place.store.runs.join("r");
        fs::create_dir_all(&run).unwrap();
        fs::create_dir_all(&place.store.links).unwrap();
        let mut record = ArtifactRecord::new("r".to_owned(), "default", 8000, 1000);
        record.parts.push(part(ArtifactFile::Head, on_disk));
        fs::write(run.join(ArtifactFile::Head.file()), &bytes[..on_disk]).unwrap();
        if in_memory > 0 {
            record.parts.push(part(ArtifactFile::Rest, in_memory));
            fs::write(run.join(ArtifactFile::Rest.file()), &bytes[..in_memory]).unwrap();
        }
        record.store(&run).unwrap();
        std::os::unix::fs::symlink("../runs/r", place.store.link(0)).unwrap();
        let expected = [&bytes[..on_disk.max(in_memory)], end.as_bytes()].concat();
        for _ in 0..2 {
            let path = place.store.path(0).unwrap();
            assert!(fs::read(path).unwrap() == expected, "{on_disk} {in_memory}");
        }
    }
}

#[test]
fn lines_of_a_long_artifact_are_found_by_its_index() {
    let place = place();
    let quota = Quota {
        head: 2 * STEP,
        ring: 3 * STEP,
    };
    let bytes = numbered(1_000_000); // 8,000,000 bytes
    let (writer, reader) = spool(&place, quota, &bytes);
    let id = keep(&place, "r", &reader, Writers::Gone).id;
    drop((writer, reader));
    let artifact = place.store.open(id).unwrap();
    let tail_start = 8_000_000 - 3 * STEP;
    for line in [0, 1, 131_071, 131_072, 262_143, 999_999] {
        let expected = format!("{line:07}\n");
        let shown = text(&artifact, Range::Lines(line + 1, Some(line + 1)));
        assert_eq!(shown, expected, "{line}");
    }
    // Whether the first byte behind a gap begins a line is not known.
    for line in (tail_start / 8 + 1..1_000_000).step_by(9973) {
        assert_eq!(
            artifact.locate(line).unwrap(),
            Located::At(line * 8),
            "{line}"
        );
    }
    assert!(matches!(
        artifact.locate(262_145).unwrap(),
        Located::Dropped(_)
    ));
    assert_eq!(artifact.locate(1_000_001).unwrap(), Located::Beyond);
}

#[test]
fn a_search_has_numbers_context_and_breaks() {
    let place = place();
    let (_writer, reader) = spool(&place, SMALL, b"a1\nb\nc\na2\nb\nb\nb\nb\na3");
    let id = keep(&place, "r", &reader, Writers::Gone).id;
    let artifact = place.store.open(id).unwrap();
    let grep = |pattern: &str, context| Some(Grep::new(pattern).unwrap().with_context(context));
    let found = |range, grep| {
        let selection = Selection { range, grep };
        artifact.passage(&selection, 1000).unwrap().text
    };
    assert_eq!(
        found(Range::Whole, grep("a", 0)),
        "1:a1\n--\n4:a2\n--\n9:a3\n"
    );
    assert_eq!(
        found(Range::Whole, grep("^a[12]$", 1)),
        "1:a1\n2-b\n3-c\n4:a2\n5-b\n"
    );
    assert_eq!(found(Range::Whole, grep("3", 1)), "8-b\n9:a3\n");
    assert_eq!(found(Range::Lines(3, Some(5)), grep("a", 0)), "4:a2\n");
    assert_eq!(found(Range::Tail(2), grep("a", 1)), "8-b\n9:a3\n");
    assert_eq!(found(Range::Bytes(3, None), grep("a2", 0)), "4:a2\n");
    assert_eq!(found(Range::Whole, grep("zz", 3)), "");
    assert!(Grep::new("(").is_err());
}

#[test]
fn a_search_tells_gaps_and_knows_the_numbers_behind_them() {
    // The second is longer than what is read at a time, and still one.
    for (lines, dropped) in [(5000, 27_712), (200_000, 1_587_712)] {
        let place = place();
        let bytes = numbered(lines);
        let (_writer, reader) = spool(&place, SMALL, &bytes);
        let id = keep(&place, "r", &reader, Writers::Gone).id;
        let artifact = place.store.open(id).unwrap();
        let last = lines - 1;
        let grep = Some(Grep::new(&format!("^0000[05]00$|{last:07}")).unwrap());
        let selection = Selection {
            range: Range::Whole,
            grep,
        };
        let text = artifact.passage(&selection, 1000).unwrap().text;
        let gap = format!("[bashd: {dropped} bytes of output were dropped here]");
        let expected = format!("1:0000000\n--\n501:0000500\n{gap}\n--\n{lines}:{last:07}\n");
        assert_eq!(text, expected);
    }
}

#[test]
fn an_excerpt_keeps_to_its_limit_and_says_so() {
    let place = place();
    let (_writer, reader) = spool(&place, SMALL, "ééééé".as_bytes());
    let id = keep(&place, "r", &reader, Writers::Gone).id;
    let artifact = place.store.open(id).unwrap();
    let excerpt = |limit| artifact.passage(&Selection::default(), limit).unwrap();
    assert_eq!(
        (excerpt(10).text.as_str(), excerpt(10).truncated),
        ("ééééé", false)
    );
    assert_eq!(
        (excerpt(9).text.as_str(), excerpt(9).truncated),
        ("éééé", true)
    );
}

/// Somebody removed everything, and another process has given the number again.
#[test]
fn a_number_that_means_another_output_by_now_is_not_found() {
    let place = place();
    let kept = |name: &str, text: &[u8]| {
        let (_writer, reader) = spool(&place, SMALL, text);
        keep(&place, name, &reader, Writers::Gone).id
    };
    let (first, second) = (kept("r1", b"mine"), kept("r2", b"another's"));
    assert!(place.store.open(first).is_ok());
    fs::remove_file(place.store.link(first)).unwrap();
    fs::rename(place.store.link(second), place.store.link(first)).unwrap();
    let viewer = place.store.seen_by("tests");
    for store in [&place.store, &viewer] {
        let opened = store.open(first).map(drop).unwrap_err();
        assert_eq!(opened.kind(), std::io::ErrorKind::NotFound);
        let path = store.path(first).unwrap_err();
        assert_eq!(path.kind(), std::io::ErrorKind::NotFound);
        assert!(store.ids().unwrap().is_empty());
    }
}

#[test]
fn numbers_are_never_given_twice_and_what_is_removed_is_gone() {
    let place = place();
    let (_writer, reader) = spool(&place, SMALL, b"x");
    let first = keep(&place, "r1", &reader, Writers::Gone).id;
    place.store.remove(first).unwrap();
    let second = keep(&place, "r2", &reader, Writers::Gone).id;
    assert_eq!((first, second), (0, 1));
    assert_eq!(place.store.ids().unwrap(), [1]);
    let error = place.store.open(0).unwrap_err();
    assert_eq!(error.to_string(), "there is no artifact 0");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(!place.store.runs.join("r1").exists());
    assert!(place.store.remove(0).is_err());
    assert!(place.home.path().exists());
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let place = place();
    let (_writer, reader) = spool(&place, SMALL, b"x");
    // No counter can be created where a file is.
    fs::write(&place.store.links, "").unwrap();
    let output = Output {
        hides_secrets: false,
        owner: "tests",
        out: &reader,
        err: None,
        separator: "",
        writers: Writers::Gone,
        kind: ArtifactKind::Bash,
        terminal: None,
        ran_for: std::time::Duration::ZERO,
    };
    let directory = place.store.runs.join("r");
    assert!(place.store.keep(&directory, "default", &output).is_err());
    assert!(!directory.exists());
}

#[test]
fn the_oldest_goes_first_but_never_one_that_is_read() {
    let mut place = place();
    place.store.retention.total = Some(3000);
    for (number, name) in (0..).zip(["r0", "r1", "r2", "r3"]) {
        // A spool each: a shared file would have one age for all.
        let (_writer, reader) = spool(&place, SMALL, &[b'x'; 1000]);
        keep(&place, name, &reader, Writers::Left);
        let past = std::time::SystemTime::now() - std::time::Duration::from_secs(1000);
        let directory = place.store.runs.join(name);
        let files = fs::read_dir(&directory).unwrap().flatten();
        let paths: Vec<_> = files.map(|entry| entry.path()).chain([directory]).collect();
        for path in paths {
            let then = past + std::time::Duration::from_secs(1) * number;
            fs::File::open(path).unwrap().set_modified(then).unwrap();
        }
    }
    let reading = place.store.open(0).unwrap();
    place.store.sweep().unwrap();
    let left = place.store.ids().unwrap();
    assert!(left.contains(&0) && left.contains(&3), "{left:?}");
    assert!(!left.contains(&1), "{left:?}");
    assert_eq!(kept_bytes(&reading, 0..1000), [b'x'; 1000]);
    assert!(
        !place.store.link(1).is_symlink(),
        "its number points to nothing"
    );
}

#[test]
fn both_streams_one_after_the_other() {
    let place = place();
    let (_out_writer, out) = spool(&place, SMALL, b"o1\no2\n");
    let (_err_writer, err) = spool(&place, SMALL, b"e1\n");
    let output = Output {
        hides_secrets: false,
        owner: "tests",
        out: &out,
        err: Some(&err),
        separator: "\n",
        writers: Writers::Gone,
        kind: ArtifactKind::Bash,
        terminal: None,
        ran_for: std::time::Duration::ZERO,
    };
    let id = place
        .store
        .keep(&place.store.runs.join("r"), "voice", &output)
        .unwrap()
        .id;
    let artifact = place.store.open(id).unwrap();
    assert_eq!(text(&artifact, Range::Whole), "o1\no2\n\ne1\n");
    assert_eq!(text(&artifact, Range::Lines(4, Some(4))), "e1\n");
}

proptest! {
    /// Any stream, any quota: each byte is where it was or counted, adopted or copied, in order or
    /// not.
    #[test]
    fn every_range_is_that_of_the_stream(
        lines in proptest::collection::vec(0_usize..40, 0..200),
        head in 1_u64..600,
        ring in 1_u64..600,
        copied in any::<bool>(),
        ordered in any::<bool>(),
    ) {
        let bytes: Vec<u8> = lines.iter().flat_map(|length| {
            let mut line = vec![b'x'; *length];
            line.push(b'\n');
            line
        }).collect();
        let place = place();
        let (writer, reader) = spool(&place, Quota { head, ring }, &bytes);
        let writers = if copied { Writers::Left } else { Writers::Gone };
        let kept = keep(&place, "r", &reader, writers);
        drop((writer, reader));
        if ordered {
            place.store.path(kept.id).unwrap();
        }
        let artifact = place.store.open(kept.id).unwrap();
        let total = bytes.len() as u64;
        let gap = head.min(total)..total.saturating_sub(ring).max(head.min(total));
        prop_assert_eq!(kept.dropped, gap.end - gap.start);
        let mut expected = Fixed::new(bytes.clone());
        if !gap.is_empty() {
            expected = expected.without(gap.start as usize..gap.end as usize);
        }
        prop_assert_eq!(kept_bytes(&artifact, 0..total), kept_bytes(&expected, 0..total));
        // Each line that begins in what is kept is found there.
        let mut offset = 0;
        for (number, length) in lines.iter().enumerate() {
            let located = artifact.locate(number as u64).unwrap();
            // A line behind the gap is found if the newline before it is there.
            let newline = offset - u64::from(offset > 0);
            if gap.contains(&newline) && number > 0 {
                prop_assert!(located == Located::At(offset) || matches!(located, Located::Dropped(_)));
            } else {
                prop_assert_eq!(located, Located::At(offset));
            }
            offset += *length as u64 + 1;
        }
    }

    /// Handing out in pieces changes nothing.
    #[test]
    fn pieces_add_up_to_the_selection(first in 0_u64..300, last in 0_u64..300) {
        let place = place();
        let bytes = numbered(30);
        let (_writer, reader) = spool(&place, SMALL, &bytes);
        let id = keep(&place, "r", &reader, Writers::Gone).id;
        let artifact = place.store.open(id).unwrap();
        let selection = Selection { range: Range::Bytes(first, Some(last)), grep: None };
        let mut all = Vec::new();
        artifact.select(&selection, &mut |item| {
            item.write_to(&mut all);
            ControlFlow::Continue(())
        }).unwrap();
        let end = (last as usize + 1).min(bytes.len());
        let expected = bytes.get(first as usize..end).unwrap_or_default();
        prop_assert_eq!(all, expected);
    }
}
