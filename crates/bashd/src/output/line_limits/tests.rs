//! Tests of the line limits, compared with plain `head` and `tail`.

use super::*;
use crate::output::fixed::Fixed;
use proptest::prelude::*;

fn limits(head: u64, tail: u64) -> LineLimits {
    LineLimits::new(Some(head), Some(tail))
}

fn left(source: &Fixed, limits: LineLimits) -> String {
    let limited = Limited::new(source, limits).unwrap();
    let pieces = limited.read(0..limited.len()).unwrap();
    let shown = pieces.into_iter().map(|piece| match piece {
        StreamPiece::Kept(bytes) => String::from_utf8(bytes).unwrap(),
        StreamPiece::Dropped(bytes) | StreamPiece::Replaced { bytes, .. } => format!("<{bytes}>"),
    });
    shown.collect()
}

/// What `head -n` and then `tail -n` leave of a text.
fn expected(text: &str, LineLimits { head, tail }: LineLimits) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if let Some(head) = head {
        lines.truncate(head.get() as usize);
    }
    if let Some(tail) = tail {
        lines.drain(..lines.len().saturating_sub(tail.get() as usize));
    }
    lines.concat()
}

#[test]
fn pi_normalize_head_tail_and_both() {
    let text = Fixed::text("1\n2\n3\n4\n5\n");
    assert_eq!(left(&text, limits(2, 0)), "1\n2\n");
    assert_eq!(left(&text, limits(0, 2)), "4\n5\n");
    assert_eq!(left(&text, limits(4, 2)), "3\n4\n");
    assert_eq!(left(&text, limits(0, 0)), "1\n2\n3\n4\n5\n");
    assert_eq!(left(&text, limits(9, 9)), "1\n2\n3\n4\n5\n");
    assert!(limits(0, 0).is_none() && !limits(0, 1).is_none());
}

#[test]
fn what_is_left_out_is_counted_on_its_side() {
    let text = Fixed::text("1\n2\n3\n4\n5");
    let hidden = Limited::new(&text, limits(4, 2)).unwrap().hidden();
    assert_eq!(hidden.before, Omitted { bytes: 4, lines: 2 });
    assert_eq!(hidden.after, Omitted { bytes: 1, lines: 0 });
    assert_eq!(hidden.unended, 1);
    let unended = |text: &str, limits| {
        let text = Fixed::text(text);
        Limited::new(&text, limits).unwrap().hidden().unended
    };
    assert_eq!(unended("1\n2\n", limits(1, 0)), 0);
    assert_eq!(unended("1\n2", limits(0, 1)), 0, "it is shown");
    let mut capture = Capture {
        text: "3\n4\n".to_owned(),
        bytes: 4,
        lines: 2,
        ..Capture::default()
    };
    hidden.count_into(&mut capture);
    assert_eq!((capture.bytes, capture.lines), (9, 4));
    assert_eq!(capture.omitted, Some(Omitted { bytes: 5, lines: 2 }));
    assert!(
        Limited::new(&text, limits(0, 5))
            .unwrap()
            .hidden()
            .is_nothing()
    );
}

#[test]
fn what_was_lost_is_never_passed_over() {
    let text = Fixed::text("a\nb\nc\nd\ne\nf\n").without(4..8);
    assert_eq!(left(&text, limits(2, 0)), "a\nb\n");
    // The third is lost: those before it are shown, and it counts as left out.
    assert_eq!(left(&text, limits(3, 0)), "a\nb\n");
    let hidden = Limited::new(&text, limits(3, 0)).unwrap().hidden();
    assert_eq!(hidden.after, Omitted { bytes: 8, lines: 4 });
    let within = Fixed::text("a\nbb\nc\nd\ne\nf\n").without(3..8);
    assert_eq!(left(&within, limits(3, 0)), "a\n");
    assert_eq!(left(&text, limits(5, 0)), "a\nb\n<4>e\n");
    assert_eq!(left(&text, limits(0, 1)), "f\n");
    // It is unknown whether a line begins at the `e`.
    assert_eq!(left(&text, limits(0, 2)), "<4>e\nf\n");
    assert_eq!(left(&text, limits(0, 3)), "<4>e\nf\n");
}

proptest! {
    #[test]
    fn it_leaves_what_head_and_tail_would(
        text in "[ab\n]{0,60}",
        head in 0_u64..12,
        tail in 0_u64..12,
        piece in 1_usize..9,
    ) {
        let limits = limits(head, tail);
        let source = Fixed::text(&text).in_pieces_of(piece);
        prop_assert_eq!(left(&source, limits), expected(&text, limits));
        let limited = Limited::new(&source, limits).unwrap();
        let shown = expected(&text, limits);
        prop_assert_eq!(limited.lines(), shown.matches('\n').count() as u64);
        let hidden = limited.hidden();
        let bytes = hidden.before.bytes + hidden.after.bytes + limited.len();
        prop_assert_eq!(bytes, text.len() as u64);
        let lines = hidden.before.lines + hidden.after.lines + limited.lines();
        prop_assert_eq!(lines, source.lines());
    }
}
