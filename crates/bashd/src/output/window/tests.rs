//! Tests of the window: exact cases, and properties against a naive reading of the whole.

use super::*;
use crate::output::fixed::Fixed;
use crate::output::joined::Joined;
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

fn cut(source: &dyn Source, window: &Window) -> Capture {
    cut_text(source, window, TextReader::Decoded)
        .unwrap()
        .arrange(window, None)
}

/// A character or a lost line of the whole stream, as the naive reading sees it.
struct Unit {
    text: String,
    cost: usize,
    raw: usize,
}

/// Everything of the stream, one unit after the other.
fn units_of(bytes: &[u8], source: &Fixed) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let gone = source.is_gone(at);
        let end = (at..bytes.len()).find(|&next| source.is_gone(next) != gone);
        let end = end.unwrap_or(bytes.len());
        if gone {
            let text = match end - at {
                1 => "[bashd: 1 byte of output was lost]\n".to_owned(),
                count => format!("[bashd: {count} bytes of output were lost]\n"),
            };
            units.push(Unit {
                cost: text.len() + 1,
                text,
                raw: 0,
            });
        } else {
            let mut part = &bytes[at..end];
            if end < bytes.len() {
                let broken = part
                    .utf8_chunks()
                    .last()
                    .map_or(&b""[..], |last| last.invalid());
                let open = std::str::from_utf8(broken).is_err_and(|e| e.error_len().is_none());
                part = &part[..part.len() - if open { broken.len() } else { 0 }];
            }
            if at > 0 {
                for _ in 0..3 {
                    if part.first().is_some_and(|byte| (0x80..0xC0).contains(byte)) {
                        part = &part[1..];
                    }
                }
            }
            for chunk in part.utf8_chunks() {
                for character in chunk.valid().chars() {
                    let raw = character.len_utf8();
                    units.push(Unit {
                        text: character.to_string(),
                        cost: raw,
                        raw,
                    });
                }
                if !chunk.invalid().is_empty() {
                    let raw = chunk.invalid().len();
                    units.push(Unit {
                        text: "\u{FFFD}".to_owned(),
                        cost: 3,
                        raw,
                    });
                }
            }
        }
        at = end;
    }
    units
}

fn show(units: &[Unit]) -> (String, usize, usize) {
    let (mut text, mut raw, mut lines) = (String::new(), 0, 0);
    for unit in units {
        if unit.raw == 0 && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&unit.text);
        raw += unit.raw;
        lines += usize::from(unit.text == "\n");
    }
    (text, raw, lines)
}

/// The same window by reading everything: `capture` must equal it.
fn naive(bytes: &[u8], source: &Fixed, window: &Window) -> (String, Option<(usize, usize)>) {
    let units = units_of(bytes, source);
    let all_lines = bytes.split(|byte| *byte == b'\n').count() - 1;
    let total: usize = units.iter().map(|unit| unit.cost).sum();
    if total <= window.max {
        let (text, raw, lines) = show(&units);
        let omitted = bytes.len() - raw;
        return (text, (omitted > 0).then_some((omitted, all_lines - lines)));
    }
    let fitting = |costs: &mut dyn Iterator<Item = usize>, limit: usize| {
        costs
            .scan(0, |sum, cost| {
                *sum += cost;
                (*sum <= limit).then_some(())
            })
            .count()
    };
    let first = fitting(&mut units.iter().map(|unit| unit.cost), window.head);
    let last = fitting(&mut units.iter().rev().map(|unit| unit.cost), window.tail);
    let (head, head_raw, head_lines) = show(&units[..first]);
    let (tail, tail_raw, tail_lines) = show(&units[units.len() - last..]);
    let omitted = (
        bytes.len() - head_raw - tail_raw,
        all_lines - head_lines - tail_lines,
    );
    let text = format!("{head}<{},{}>{tail}", omitted.0, omitted.1);
    (text, Some(omitted))
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just("é\n".as_bytes().to_vec()),
        Just("€".as_bytes().to_vec()),
        Just("😀".as_bytes().to_vec()),
        Just(vec![0xE2, 0x82]),
        Just(vec![0xF0, 0x9F, 0x98]),
        Just(vec![0x80; 5]),
        Just(b"\r\n".to_vec()),
        Just(b"plain text".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(part, 0..30).prop_map(|parts| parts.concat())
}

fn any_window() -> impl Strategy<Value = Window> {
    (0_usize..160, 0_usize..100, 0_usize..100)
        .prop_map(|(more, head, tail)| window(head + tail + more % 80, head, tail))
}

fn gaps() -> impl Strategy<Value = Vec<(usize, usize)>> {
    proptest::collection::vec((0_usize..200, 1_usize..90), 0..3)
}

fn source_of(bytes: &[u8], gaps: &[(usize, usize)]) -> Fixed {
    gaps.iter().fold(Fixed::new(bytes), |source, (at, length)| {
        source.without(*at..at + length)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn equals_the_naive_reading(bytes in stream(), window in any_window(), gaps in gaps()) {
        let source = source_of(&bytes, &gaps);
        let capture = cut(&source, &window);
        let omitted = capture.omitted.map(|o| (o.bytes as usize, o.lines as usize));
        prop_assert_eq!((capture.text, omitted), naive(&bytes, &source, &window));
        prop_assert_eq!(capture.bytes, bytes.len() as u64);
    }

    #[test]
    fn any_splitting_gives_the_same_capture(
        bytes in stream(), window in any_window(), gaps in gaps(), size in 1_usize..20,
    ) {
        let source = source_of(&bytes, &gaps);
        let pieces = source.clone().in_pieces_of(size);
        prop_assert_eq!(cut(&source, &window), cut(&pieces, &window));
        let middle = bytes.len() / 2;
        let (left, right) = (Fixed::new(&bytes[..middle]), Fixed::new(&bytes[middle..]));
        let joined = Joined::new([&left as &dyn Source, &right], "");
        prop_assert_eq!(cut(&joined, &window), cut(&Fixed::new(bytes), &window));
    }

    #[test]
    fn never_exceeds_its_limits(bytes in stream(), window in any_window(), gaps in gaps()) {
        let window = Window { template: "{head}{tail}".to_owned(), ..window };
        let capture = cut(&source_of(&bytes, &gaps), &window);
        prop_assert!(capture.text.len() <= window.max);
    }

    #[test]
    fn valid_text_is_never_broken(text in "[a-zé€😀\n]{0,120}", window in any_window()) {
        let capture = cut(&Fixed::text(&text), &window);
        prop_assert_eq!(capture.text.find('\u{FFFD}'), None);
    }
}

#[test]
fn a_text_of_exactly_max_is_whole_and_one_more_is_not() {
    let whole = cut(&Fixed::text("12345678"), &window(8, 3, 2));
    assert_eq!((whole.text.as_str(), whole.omitted), ("12345678", None));
    let longer = cut(&Fixed::text("1\n3456\n89"), &window(8, 3, 2));
    assert_eq!(longer.text, "1\n3<4,1>89");
    assert_eq!(longer.omitted, Some(Omitted { bytes: 4, lines: 1 }));
    assert_eq!((longer.bytes, longer.lines), (9, 2));
}

#[test]
fn limits_count_decoded_bytes() {
    let garbage = Fixed::new([0xFF; 4]);
    assert_eq!(cut(&garbage, &window(12, 0, 0)).text, "\u{FFFD}".repeat(4));
    assert_eq!(
        cut(&garbage, &window(11, 7, 3)).text,
        "\u{FFFD}\u{FFFD}<1,0>\u{FFFD}"
    );
}

#[test]
fn lost_output_is_a_line_in_its_place() {
    let source = Fixed::text("before, the gap, after").without(6..15);
    let capture = cut(&source, &window(100, 0, 0));
    assert_eq!(
        capture.text,
        "before\n[bashd: 9 bytes of output were lost]\n, after"
    );
    assert_eq!(capture.omitted, Some(Omitted { bytes: 9, lines: 0 }));
}

#[test]
fn what_is_kept_behind_a_large_gap_is_shown_by_a_head_window() {
    let bytes = [vec![b'x'; 3_000_000], b"the end\n".to_vec()].concat();
    let source = Fixed::new(bytes).without(0..3_000_000);
    let capture = cut(&source, &window(1000, 1000, 0));
    assert_eq!(
        capture.text,
        "[bashd: 3000000 bytes of output were lost]\nthe end\n"
    );
}

#[test]
fn a_character_cut_by_a_gap_is_left_out_at_both_edges() {
    let source = Fixed::text("a€b€c").without(2..6);
    let capture = cut(&source, &window(100, 0, 0));
    assert_eq!(capture.text, "a\n[bashd: 4 bytes of output were lost]\nc");
    assert_eq!(capture.omitted, Some(Omitted { bytes: 7, lines: 0 }));
}

#[test]
fn output_that_looks_like_a_template_stays_as_it_is() {
    let capture = cut(&Fixed::text("{tail}{max}{got}"), &window(8, 6, 2));
    assert_eq!(capture.text, "{tail}<8,0>t}");
}

#[test]
fn p_22_sizes_are_written_for_people() {
    let sizes = [
        (0, "0B"),
        (4095, "4095B"),
        (4096, "4kB"),
        (131_072, "128kB"),
        (200_000, "195kB"),
        (1_048_575, "1024kB"),
        (1_048_576, "1MB"),
        (1_073_741_823, "1024MB"),
        (1_073_741_824, "more than 1GB"),
    ];
    for (bytes, text) in sizes {
        assert_eq!(size_for_people(bytes), text);
    }
}
