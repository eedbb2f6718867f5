//! Every part of a veiled stream reads like the whole, however it was written and is read.

use super::*;
use crate::output::fixed::Fixed;
use crate::output::line_limits::{Limited, LineLimits};
use crate::output::view::View;
use crate::output::window::{TextReader, Window, cut_text};
use bashd_keeper::text::decode;
use proptest::prelude::*;
use std::num::NonZeroU64;

fn known(values: &[String]) -> Arc<Secrets> {
    let mut known = Secrets::default();
    for value in values {
        known.register(&[("IT", value)]).unwrap();
    }
    Arc::new(known)
}

/// The pieces as text, and the bytes that they stand for.
fn shown(pieces: Vec<StreamPiece>) -> (String, u64) {
    let span = pieces.iter().map(StreamPiece::span).sum();
    let bytes = pieces.into_iter().filter_map(StreamPiece::shown);
    (decode(&bytes.collect::<Vec<_>>().concat()), span)
}

/// Values, and a text in which they stand among other things.
fn values_and_text() -> impl Strategy<Value = (Vec<String>, String)> {
    let value = prop_oneof![
        "[a-c]{8,12}x",
        "[a-zA-Z0-9/+é]{8,30}",
        "(abc){3,4}\n(xyz){6}1"
    ];
    proptest::collection::vec(value, 1..3).prop_flat_map(|values| {
        let part = prop_oneof![
            proptest::sample::select(values.clone()),
            "[a-c \n]{0,12}",
            "\\PC{0,8}",
            "\n{1,3}",
        ];
        let text = proptest::collection::vec(part, 0..14).prop_map(|parts| parts.concat());
        (Just(values), text)
    })
}

proptest! {
    /// Read in steps of any length, from the front or from the back, it is the same text, and as
    /// long as what was written.
    #[test]
    fn steps_of_any_length_add_up((values, text) in values_and_text(), step in 1..40_u64) {
        let secrets = known(&values);
        let source = Fixed::new(text.as_bytes());
        let veil = Veil::over(Arc::clone(&secrets));
        let view = View::of(&source, &veil);
        let expected = secrets.veil(&text);
        let (whole, span) = shown(view.source().read(0..source.len()).unwrap());
        prop_assert_eq!(&whole, &expected);
        prop_assert_eq!(span, source.len());
        let (mut pieces, mut back, mut at) = (Vec::new(), Vec::new(), 0);
        while at < source.len() {
            let upto = (at + step).min(source.len());
            let more = view.source().read(at..upto).unwrap();
            prop_assert_eq!(more.iter().map(StreamPiece::span).sum::<u64>(), upto - at);
            pieces.extend(more);
            at = upto;
        }
        while at > 0 {
            let from = at.saturating_sub(step);
            back.splice(0..0, view.source().read(from..at).unwrap());
            at = from;
        }
        prop_assert_eq!(&shown(pieces).0, &expected);
        prop_assert_eq!(&shown(back).0, &expected);
        prop_assert_eq!(view.source().lines(), source.lines());
    }

    /// What is shown of a stream while it grows, byte by byte, is what is shown in the end.
    #[test]
    fn a_stream_that_grows_tells_no_secret((values, text) in values_and_text(), step in 1..9_usize) {
        let secrets = known(&values);
        let veil = Veil::over(Arc::clone(&secrets));
        let (mut told, mut pieces) = (0, Vec::new());
        let mut lengths: Vec<usize> = (0..text.len()).step_by(step).collect();
        lengths.push(text.len());
        for length in lengths {
            let so_far = Fixed::new(text.as_bytes().get(..length).unwrap());
            let end = if length == text.len() {
                length as u64
            } else {
                veil.settled(&so_far, length as u64).unwrap()
            };
            prop_assert!(end >= told, "what was told is taken back");
            let view = View::of(&so_far, &veil);
            pieces.extend(view.source().read(told..end).unwrap());
            told = end;
        }
        let bytes: Vec<_> = pieces.into_iter().filter_map(StreamPiece::shown).collect();
        prop_assert_eq!(decode(&bytes.concat()), secrets.veil(&text));
    }

    /// No window, limit of lines or kind of reader shows a value, or counts other lines.
    #[test]
    fn no_window_shows_a_value(
        (values, text) in values_and_text(),
        (head, tail) in (0..60_usize, 0..60_usize),
        lines in 0..4_u64,
        is_rendered in any::<bool>(),
    ) {
        let secrets = known(&values);
        let veil = Veil::over(Arc::clone(&secrets));
        let source = Fixed::new(text.as_bytes());
        let view = View::of(&source, &veil);
        let limits = LineLimits { tail: NonZeroU64::new(lines), ..LineLimits::default() };
        let limited = Limited::new(view.source(), limits).unwrap();
        let plain = Limited::new(&source, limits).unwrap();
        prop_assert_eq!((limited.len(), limited.lines()), (plain.len(), plain.lines()));
        let window = Window {
            max: head + tail, head, tail,
            unit: crate::output::TextUnit::Bytes,
            template: "{head}<{omitted_bytes}>{tail}".to_owned(),
            artifact: String::new(),
            settable_head: None,
        };
        let reader = if is_rendered { TextReader::Rendered(None) } else { TextReader::Decoded };
        let cut = cut_text(&limited, &window, reader).unwrap().arrange(&window, None);
        prop_assume!(!values.iter().any(|value| "[secret IT, 8 characters]".contains(&**value)));
        for value in &values {
            prop_assert!(!cut.text.contains(&**value), "{:?} of {text:?}", cut.text);
        }
        prop_assert_eq!(cut.bytes, plain.len());
    }
}

#[test]
fn a_gap_stays_a_gap_and_what_is_cut_off_by_it_is_no_secret() {
    let text = "0123 hunter2-token 456 hunter2-token 789";
    let source = Fixed::text(text).without(28..32);
    let veil = Veil::over(known(&["hunter2-token".to_owned()]));
    let view = View::of(&source, &veil);
    let pieces = view.source().read(0..source.len()).unwrap();
    assert_eq!(
        pieces,
        [
            StreamPiece::Kept(b"0123 ".to_vec()),
            StreamPiece::Replaced {
                bytes: 13,
                by: "[secret IT, 13 characters]".to_owned()
            },
            StreamPiece::Kept(b" 456 hunte".to_vec()),
            StreamPiece::Dropped(4),
            StreamPiece::Kept(b"oken 789".to_vec()),
        ]
    );
}

#[test]
fn lines_keep_their_numbers() {
    let source = Fixed::text("one\nsecret-1\nsecret-2\nfour\n");
    let veil = Veil::over(known(&["secret-1\nsecret-2".to_owned()]));
    let view = View::of(&source, &veil);
    assert_eq!(view.source().offset_of_line(3).unwrap(), Some(22));
    let (text, _) = shown(view.source().read(0..27).unwrap());
    assert_eq!(text, "one\n[secret IT, 16 characters]\n\nfour\n");
}

/// A place hides what it knows, and whoever asked for its output what he knows.
#[test]
fn what_is_hidden_already_stays_hidden_and_what_is_around_it_is_looked_through() {
    let text = "a one-of-there-7 b two-of-here-8 c one-of-there-7two-of-here-8\n";
    let veil = |value: &str| Veil::over(known(&[value.to_owned()]));
    let source = Fixed::new(text.as_bytes());
    let (there, here) = (veil("one-of-there-7"), veil("two-of-here-8"));
    let from_there = View::of(&source, &there);
    let view = View::of(from_there.source(), &here);
    let (one, two) = ("[secret IT, 14 characters]", "[secret IT, 13 characters]");
    let expected = format!("a {one} b {two} c {one}{two}\n");
    for step in 1..source.len() {
        let (mut pieces, mut at) = (Vec::new(), 0);
        while at < source.len() {
            let upto = (at + step).min(source.len());
            pieces.extend(view.source().read(at..upto).unwrap());
            at = upto;
        }
        let (text, span) = shown(pieces);
        assert_eq!((&*text, span), (&*expected, source.len()), "{step}");
    }
}
