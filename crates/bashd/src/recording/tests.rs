//! Runs made by hand: what is told of them, and what others would show.

use super::cast::{self, CastVersion};
use super::frames::{Film, FilmLimits};
use super::*;
use crate::output::fixed::Fixed;
use crate::secrets::Secrets;
use std::fmt::Write as _;
use std::sync::Arc;

const LIMITS: (usize, usize) = (1000, 1 << 20);

fn grew(ms: u64, upto: u64) -> StreamMoment {
    StreamMoment {
        at: Duration::from_millis(ms),
        kind: StreamMomentKind::Grew(upto),
    }
}

fn run(terminal: Option<Size>, streams: &[(&str, Vec<StreamMoment>)], ran_ms: u64) -> RecordedRun {
    let mut run = RecordedRun {
        about: AboutRun {
            command: "make".to_owned(),
            ran_for: Duration::from_millis(ran_ms),
            exit_code: Some(3),
            terminal,
            timing: Timing::Recorded,
            ..AboutRun::default()
        },
        sources: Vec::new(),
        tracks: Vec::new(),
        veil: Veil::default(),
    };
    for (number, (text, moments)) in streams.iter().enumerate() {
        run.sources.push(Box::new(Fixed::text(text)));
        run.tracks.push(Track {
            source: number,
            from: 0,
            bytes: text.len() as u64,
            moments: moments.clone(),
        });
    }
    run
}

fn told(run: &RecordedRun) -> Vec<(u64, Happening)> {
    let mut told = Vec::new();
    run.events(&mut |event| {
        told.push((event.at.as_millis() as u64, event.what));
        Ok(())
    })
    .unwrap();
    told
}

fn wrote(text: &str) -> Happening {
    Happening::Wrote(text.to_owned())
}

#[test]
fn two_streams_are_told_in_the_order_of_their_times() {
    let run = run(
        None,
        &[
            ("one\nthree\nrest", vec![grew(0, 4), grew(20, 10)]),
            ("two\n", vec![grew(10, 4)]),
        ],
        50,
    );
    assert_eq!(
        told(&run),
        [
            (0, wrote("one\r\n")),
            (10, wrote("two\r\n")),
            (20, wrote("three\r\n")),
            (50, wrote("rest")),
        ]
    );
}

#[test]
fn a_secret_is_replaced_even_if_it_came_in_parts() {
    let mut run = run(
        None,
        &[(
            "token=s3cr3t-value-99\nok\n",
            vec![grew(0, 10), grew(5, 24)],
        )],
        5,
    );
    let mut secrets = Secrets::default();
    secrets.register(&[("KEY", "s3cr3t-value-99")]).unwrap();
    run.veil = Veil::over(Arc::new(secrets));
    let all: String = told(&run)
        .into_iter()
        .map(|(_, what)| match what {
            Happening::Wrote(text) => text,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(all, "token=[secret KEY, 15 characters]\r\nok\r\n");
}

#[test]
fn what_is_gone_is_said_and_what_was_cut_by_it_does_no_harm() {
    let text = "before\x1b]52;c;aGk=\x07after";
    let mut run = run(None, &[(text, vec![grew(0, text.len() as u64)])], 0);
    run.sources = vec![Box::new(Fixed::text(text).without(8..12))];
    assert_eq!(
        told(&run),
        [(
            0,
            wrote("before\r\n[bashd: 4 bytes of output were dropped here]\r\n;aGk=after")
        )]
    );
}

#[test]
fn only_what_draws_gets_through() {
    for (text, shown) in [
        ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
        ("\x1b[38;2;1;2;3mx", "\x1b[38;2;1;2;3mx"),
        ("\x1b[4:3mx", "\x1b[4:3mx"),
        ("\x1b[2J\x1b[5;7Hx", "\x1b[2J\x1b[5;7Hx"),
        ("\x1b[?1049h\x1b[?25lx", "\x1b[?1049h\x1b[?25lx"),
        ("\x1b[?1049;1000hx", "\x1b[?1049hx"),
        ("\x1b(0q\x1b(B", "\x1b(0q\x1b(B"),
        ("a\tb\x08\rc", "a\tb\x08\rc"),
        // The clipboard, the title, a link.
        ("\x1b]52;c;aGk=\x07x", "x"),
        ("\x1b]0;title\x1b\\x", "x"),
        ("\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"),
        // Questions, mice, keyboards, pasting, reports, printing, images.
        ("\x1b[6nx\x1b[cx\x1b[>cx\x1b[?u", "xxx"),
        ("\x1b[?1000h\x1b[?2004h\x1b[>1ux", "x"),
        ("\x1b[5ix\x1b[21tx\x1b[!px", "xxx"),
        ("\x1bPq#0~\x1b\\x\x1b_Ga=T;AAAA\x1b\\x\x1b^y\x1b\\", "xx"),
        ("\x07x\x05\x00", "x"),
        // As one character each.
        ("\u{9b}31mx\u{9d}52;c;aGk=\u{7}x", "31mx52;c;aGk=x"),
        ("a\u{202e}b\u{2066}c", "a\u{fffd}b\u{fffd}c"),
    ] {
        for piece in [1, 3, 1000] {
            let mut harmless = Harmless::of_terminal();
            let mut all = String::new();
            for bytes in text.as_bytes().chunks(piece) {
                all += &harmless.text(bytes);
            }
            all += &harmless.finish();
            assert_eq!(all, shown, "{text:?} in pieces of {piece}");
        }
    }
}

#[test]
fn casts_have_a_header_times_and_an_end() {
    let mut run = run(
        Some(Size::new(80, 24)),
        &[("hi\r\nthere\r\n", vec![grew(250, 4), grew(3250, 11)])],
        3300,
    );
    run.tracks[0].moments.insert(
        1,
        StreamMoment {
            at: Duration::from_millis(300),
            kind: StreamMomentKind::TypedUnseen(8),
        },
    );
    run.tracks[0].moments.insert(
        2,
        StreamMoment {
            at: Duration::from_millis(400),
            kind: StreamMomentKind::Resized(Size::new(100, 30)),
        },
    );
    let written = |version, idle| {
        let mut out = Vec::new();
        cast::write(&run, version, idle, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let second = Some(Duration::from_secs(1));
    assert_eq!(
        written(CastVersion::Two, None),
        "{\"version\":2,\"width\":80,\"height\":24,\"env\":{\"TERM\":\"xterm-256color\"},\"command\":\"make\"}\n\
         [0.250000, \"o\", \"hi\\r\\n\"]\n[0.300000, \"i\", \"[not recorded]\"]\n\
         [0.400000, \"r\", \"100x30\"]\n[3.250000, \"o\", \"there\\r\\n\"]\n[3.300000, \"m\", \"exit 3\"]\n"
    );
    assert_eq!(
        written(CastVersion::Three, second),
        "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24,\"type\":\"xterm-256color\"},\"command\":\"make\"}\n\
         [0.250000, \"o\", \"hi\\r\\n\"]\n[0.050000, \"i\", \"[not recorded]\"]\n\
         [0.100000, \"r\", \"100x30\"]\n[1.000000, \"o\", \"there\\r\\n\"]\n[0.050000, \"x\", \"3\"]\n"
    );
}

#[test]
fn a_run_without_times_is_told_at_once_and_says_so() {
    let mut run = run(None, &[("all\n", Vec::new())], 700);
    run.about.timing = Timing::BeginAndEnd;
    let mut out = Vec::new();
    cast::write(&run, CastVersion::Two, None, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("were not recorded"), "{}", lines[0]);
    assert_eq!(
        lines[1..],
        [
            "[0.000000, \"o\", \"all\\r\\n\"]",
            "[0.700000, \"m\", \"exit 3\"]"
        ]
    );
}

/// What a row shows at a moment of a film.
fn row_at(film: &Film, row: u16, ms: u64) -> String {
    let is_shown = |upto: Option<u64>| upto.is_none_or(|upto| upto > ms);
    let mut shots = film
        .shots
        .iter()
        .filter(|shot| shot.row == row && shot.from_ms <= ms && is_shown(shot.upto_ms));
    let text = shots.next().map(|shot| {
        let texts = shot.spans.iter().map(|span| span.text.as_str());
        texts.collect::<String>()
    });
    assert!(shots.next().is_none(), "two texts in one row");
    text.unwrap_or_default()
}

#[test]
fn a_film_shows_each_row_when_it_was_written() {
    let text = "one\r\ntwo\r\n\x1b[1;1HONE";
    let moments = vec![grew(0, 5), grew(100, 10), grew(500, text.len() as u64)];
    let run = run(Some(Size::new(40, 10)), &[(text, moments)], 900);
    let film = Film::of(&run, FilmLimits::new(LIMITS.0, LIMITS.1, None)).unwrap();
    assert_eq!((film.columns, film.rows, film.duration_ms), (40, 10, 900));
    for (ms, rows) in [
        (0, ["one", ""]),
        (99, ["one", ""]),
        (100, ["one", "two"]),
        (499, ["one", "two"]),
        (500, ["ONE", "two"]),
    ] {
        assert_eq!([row_at(&film, 0, ms), row_at(&film, 1, ms)], rows, "{ms}");
    }
    let last = Film::last_picture(&run).unwrap();
    assert_eq!([row_at(&last, 0, 0), row_at(&last, 1, 0)], ["ONE", "two"]);
}

#[test]
fn a_film_of_much_has_fewer_pictures_and_the_same_end() {
    let mut text = String::new();
    let mut moments = Vec::new();
    for number in 0..5000_u64 {
        let _ = writeln!(text, "line {number}");
        moments.push(grew(number * 50, text.len() as u64));
    }
    let run = run(None, &[(&text, moments)], 250_000);
    let film = Film::of(&run, FilmLimits::new(50, 1 << 20, None)).unwrap();
    let mut times: Vec<u64> = film.shots.iter().map(|shot| shot.from_ms).collect();
    times.sort_unstable();
    times.dedup();
    assert!((10..=50).contains(&times.len()), "{} pictures", times.len());
    assert_eq!(row_at(&film, film.rows - 1, 250_000), "line 4999");
}

#[test]
fn pictures_and_pages_have_text_only_as_text() {
    let text = "</script><script>alert(1)</script> & \"x\" ']]>' \u{202e}\u{2028}日本\n";
    let mut run = run(None, &[(text, vec![grew(0, text.len() as u64)])], 10);
    run.about.command = format!("echo '{text}'");
    let film = Film::of(&run, FilmLimits::new(LIMITS.0, LIMITS.1, None)).unwrap();
    let page = html::of(&film, &run.about);
    // Ours are two: the data, and the player.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains('\u{202e}') && !page.contains('\u{2028}'));
    let svg = svg::of(&film, &run.about);
    assert_eq!(svg.matches("<script").count(), 0);
    assert!(svg.contains("&lt;/script&gt;") && svg.contains('日'));
    assert!(!svg.contains('\u{202e}'));
}
