//! Tests of rendered windows: exact cases, and properties against a naive reading of the whole.

use super::*;
use crate::output::fixed::Fixed;
use crate::output::window::{TextReader, Window, cut_text};
use crate::output::{Capture, Extent};
use proptest::prelude::*;

fn window(max: usize, head: usize, tail: usize) -> Window {
    Window {
        unit: crate::output::TextUnit::Bytes,
        max,
        head,
        tail,
        template: "{head}<{omitted_bytes},{omitted_lines}>{tail}".to_owned(),
        artifact: String::new(),
        settable_head: None,
    }
}

fn shown(source: &dyn Source, window: &Window, cap: Cap) -> Capture {
    cut_text(source, window, TextReader::Rendered(cap))
        .unwrap()
        .arrange(window, None)
}

/// What is shown of a stream, by definition: every line rendered, all in one text.
fn naive(bytes: &[u8], cap: Cap) -> String {
    let mut text = String::new();
    for raw in bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = raw.strip_suffix(b"\n").unwrap_or(raw);
        text.push_str(&crate::output::plain_line::line(line, cap).text);
        text.push_str(if raw.ends_with(b"\n") { "\n" } else { "" });
    }
    text
}

/// A thousand lines of five bytes.
fn numbered() -> String {
    let line = |number: u32| format!("{number:04}\n");
    (1..=1000).map(line).collect()
}

#[test]
fn a_short_text_is_whole_and_its_lines_are_counted() {
    for (raw, text, lines) in [
        ("", "", 0),
        ("a", "a", 1),
        ("a\n", "a\n", 1),
        ("a\n\n", "a\n\n", 2),
        ("\u{1b}[1ma\u{1b}[0m\r\nb", "a\nb", 2),
        ("1%\r2%\rdone\n", "done\n", 1),
    ] {
        let capture = shown(&Fixed::text(raw), &window(100, 0, 100), None);
        assert_eq!(
            (capture.text.as_str(), capture.omitted),
            (text, None),
            "{raw:?}"
        );
        assert_eq!(
            (capture.extent.lines, capture.extent.head),
            (lines, lines),
            "{raw:?}"
        );
    }
}

#[test]
fn of_a_longer_one_the_last_bytes_and_their_lines() {
    let text = numbered();
    let capture = shown(&Fixed::text(&text), &window(52, 0, 52), Some(768));
    assert!(
        capture.text.starts_with("<4948,989>0\n0991\n"),
        "{}",
        capture.text
    );
    assert_eq!((capture.extent.lines, capture.extent.tail), (1000, 11));
}

#[test]
fn a_cut_line_of_which_only_the_end_is_shown_counts_as_cut() {
    let text = Fixed::text("0123456789abcdef\n0123456789abcdef\n");
    let capture = shown(&text, &window(16, 0, 16), Some(10));
    assert_eq!(capture.text, "<6,0>6…\n0123456…\n");
    let Extent {
        cut_lines,
        cut_bytes,
        tail,
        ..
    } = capture.extent;
    assert_eq!((cut_lines, cut_bytes, tail), (2, 18, 2));
    // Its newline alone says nothing about a cut.
    let capture = shown(&text, &window(12, 0, 12), Some(10));
    assert_eq!(capture.text, "<16,0>\n0123456…\n");
    assert_eq!(capture.extent.cut_lines, 1);
}

#[test]
fn a_head_window_is_a_setting() {
    let text = numbered();
    let capture = shown(&Fixed::text(&text), &window(30, 10, 20), None);
    assert_eq!(
        capture.text,
        "0001\n0002\n<4970,994>0997\n0998\n0999\n1000\n"
    );
    assert_eq!((capture.extent.head, capture.extent.tail), (2, 4));
}

#[test]
fn long_lines_are_cut_and_counted_apart_from_the_window() {
    let text = format!("{}\nshort\n", "x".repeat(1000));
    let (text, window) = (Fixed::text(&text), window(5000, 0, 5000));
    let cut = cut_text(&text, &window, TextReader::Rendered(Some(768))).unwrap();
    let kept = u64::from(cut.leaves_out());
    let capture = cut.arrange(&window, None);
    assert_eq!(capture.text, format!("{}…\nshort\n", "x".repeat(765)));
    assert_eq!((capture.omitted, kept), (None, 1));
    assert_eq!(
        (capture.extent.cut_lines, capture.extent.cut_bytes),
        (1, 235)
    );
}

#[test]
fn a_line_of_ten_megabytes_is_one_line() {
    let long = "y".repeat(10_000_000);
    let source = Fixed::text(&format!("first\n{long}\nlast\n"));
    let capture = shown(&source, &window(51_200, 0, 51_200), Some(768));
    let cut = format!("{}…\n", "y".repeat(765));
    assert!(
        capture.text.ends_with(&format!("{cut}last\n")),
        "{}",
        capture.text.len()
    );
    assert_eq!(capture.extent.cut_lines, 1);
    assert!(capture.text.starts_with("first\n"), "what is before it too");
    let alone = shown(&Fixed::text(&long), &window(51_200, 0, 51_200), Some(768));
    assert_eq!((alone.text.len(), alone.omitted), (768, None));
    let progress = "10%\r".repeat(2_000_000) + "done";
    let progress = shown(
        &Fixed::text(&progress),
        &window(51_200, 0, 51_200),
        Some(768),
    );
    assert_eq!((progress.text.as_str(), progress.omitted), ("done", None));
    let zeros = shown(
        &Fixed::new(vec![0; 9_000_000]),
        &window(51_200, 0, 51_200),
        Some(768),
    );
    assert_eq!(zeros.text, "…");
}

#[test]
fn a_gap_is_where_the_window_begins() {
    let source = Fixed::text("one\ntwo\nthree\nfour\n").without(2..9);
    let capture = shown(&source, &window(100, 0, 100), None);
    assert_eq!(capture.text, "<9,2>hree\nfour\n");
    assert_eq!((capture.extent.lines, capture.extent.tail), (4, 2));
}

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just("é😀".as_bytes().to_vec()),
        Just(b"\x1b[31m".to_vec()),
        Just(b"\x1b]0;t\x07".to_vec()),
        Just(vec![0, 0xff, 0xe2, 0x82]),
        Just(vec![b'x'; 30]),
        proptest::collection::vec(any::<u8>(), 0..5),
    ];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn a_window_is_the_end_of_the_whole(bytes in hostile(), limit in 1_usize..200, cap in prop_oneof![Just(None), Just(Some(20))]) {
        let whole = naive(&bytes, cap);
        let capture = shown(&Fixed::new(bytes.clone()), &window(limit, 0, limit), cap);
        if whole.len() <= limit {
            prop_assert_eq!(&capture.text, &whole);
            prop_assert_eq!(capture.omitted, None);
        } else {
            let tail = capture.text.split_once('>').unwrap().1;
            prop_assert!(whole.ends_with(tail));
            prop_assert!(tail.len() <= limit && tail.len() + 3 >= limit);
            let newlines = |text: &str| text.matches('\n').count() as u64;
            prop_assert_eq!(capture.omitted.unwrap().lines, newlines(&whole) - newlines(tail));
        }
        let lines = newline_count(&bytes) + u64::from(bytes.last().is_some_and(|last| *last != b'\n'));
        prop_assert_eq!(capture.extent.lines, lines);
    }

    #[test]
    fn reads_of_any_size_give_the_same(bytes in hostile(), piece in 1_usize..10, limit in 1_usize..200) {
        let whole = shown(&Fixed::new(bytes.clone()), &window(limit, limit / 3, limit / 2), Some(20));
        let pieces = Fixed::new(bytes).in_pieces_of(piece);
        prop_assert_eq!(shown(&pieces, &window(limit, limit / 3, limit / 2), Some(20)), whole);
    }
}

fn newline_count(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
