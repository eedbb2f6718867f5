//! Edge cases of the screen, and every key. Recorded programs are in `tests/it/screens.rs`.

use super::keys::{KeyModes, KeyPress, paste};
use super::*;
use proptest::prelude::*;

fn screen(bytes: &str) -> Screen {
    let mut screen = Screen::new(Size::new(20, 5));
    screen.feed(bytes.as_bytes());
    screen
}

#[test]
fn sizes_are_moved_inside() {
    assert_eq!(Size::default(), Size::new(120, 40));
    let size = |columns, rows| <(u16, u16)>::from(Size::new(columns, rows));
    assert_eq!(size(0, 0), (20, 5));
    assert_eq!(size(1000, 1000), (400, 200));
    assert_eq!(size(80, 24), (80, 24));
}

#[test]
fn lines_scroll_away_and_stay_known() {
    let mut screen = screen("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7");
    assert_eq!(screen.text(), "3\n4\n5\n6\n7");
    assert_eq!(screen.scrollback(), ["1", "2"]);
    assert_eq!(screen.final_text(), "1\n2\n3\n4\n5\n6\n7");
    assert!(!screen.drew());
    screen.look_back(1);
    assert_eq!(screen.rows().first().unwrap(), "2");
}

#[test]
fn a_long_scrollback_is_read_whole() {
    let mut screen = Screen::new(Size::new(20, 5));
    for line in 0..1000 {
        screen.feed(format!("{line}\r\n").as_bytes());
    }
    let lines: Vec<_> = (0..1000).map(|line| line.to_string()).collect();
    assert_eq!(screen.final_text(), lines.join("\n"));
}

#[test]
fn the_picture_of_a_left_alternate_screen_is_kept() {
    let mut screen = screen("\x1b[?1049h\x1b[2;3Hpicture\x1b[?1049l");
    assert!(screen.used_alternate() && !screen.is_alternate());
    assert_eq!(screen.text(), "");
    assert_eq!(screen.final_text(), "\n  picture");
    screen.feed(b"\r\nbye");
    assert_eq!(screen.final_text(), "\nbye");
}

#[test]
fn title_and_cursor_are_told() {
    let screen = screen("\x1b]2;my \x01title\x07ab\x1b[3;4H\x1b[?25l");
    assert_eq!(screen.title(), "my title");
    let cursor = screen.cursor();
    assert_eq!(
        (cursor.row, cursor.column, cursor.is_visible),
        (2, 3, false)
    );
}

#[test]
fn only_what_draws_counts_as_drawing() {
    for lines in [
        "plain\r\n",
        "\x1b[31mred\x1b[0m\r\n",
        "10%\r20%\r30%\n",
        "x\x1b[K\r\n",
        "\x1b]0;title\x07",
        "a\x08b\ttab",
        "\x1b[?25l\x1b[?2004h",
        "\x1b(B\x1b[m",
    ] {
        assert!(!screen(lines).drew(), "{lines:?}");
    }
    for picture in [
        "\x1b[H",
        "\x1b[2J",
        "\x1b[5;5Hx",
        "\x1b[A",
        "\x1b[2K\x1b[1A",
        "\x1b[?1049h",
        "\x1b[?47h",
        "\x1bM",
        "\x1b7\x1b8",
        "\x1b[1;3r",
        "\x1bc",
    ] {
        assert!(screen(picture).drew(), "{picture:?}");
    }
}

#[test]
fn letters_stand_for_lines_while_the_program_says_so() {
    let box_of_lines = "\x1b(0lqk\x1b(B\r\n\x1b)0\x0ex\x0fq\x0ex\x0f\r\n\x1b(0mq日j\x1b(Bq";
    let expected = "┌─┐\n│q│\n└─日┘q";
    assert_eq!(screen(box_of_lines).text(), expected);
    let mut in_pieces = Screen::new(Size::new(20, 5));
    for byte in box_of_lines.as_bytes() {
        in_pieces.feed(&[*byte]);
    }
    assert_eq!(in_pieces.text(), expected);
}

#[test]
fn colours_are_told_cell_by_cell() {
    let cells = screen("\x1b[1;31;48;5;17ma\x1b[0;7m日\x1b[0;38;2;1;2;3;4mz").cells(0);
    let look: Vec<_> = cells
        .iter()
        .take(3)
        .map(|cell| (cell.text.as_str(), cell.foreground, cell.background))
        .collect();
    assert_eq!(
        look,
        [
            ("a", Colour::Indexed(1), Colour::Indexed(17)),
            ("日", Colour::Default, Colour::Default),
            ("z", Colour::Rgb(1, 2, 3), Colour::Default),
        ]
    );
    assert!(cells[0].is_bold && cells[1].is_inverse && cells[2].is_underlined);
}

#[test]
fn the_keyboard_protocol_is_followed() {
    let kitty = |bytes| screen(bytes).key_modes().kitty;
    assert_eq!(kitty(""), 0);
    assert_eq!(kitty("\x1b[>1u"), 1);
    assert_eq!(kitty("\x1b[>1u\x1b[>5u"), 5);
    assert_eq!(kitty("\x1b[>1u\x1b[>5u\x1b[<u"), 1);
    assert_eq!(kitty("\x1b[>1u\x1b[<9u"), 0);
    assert_eq!(kitty("\x1b[=3u\x1b[=4;2u"), 7);
    assert_eq!(kitty("\x1b[=7u\x1b[=2;3u"), 5);
    let modes = screen("\x1b[?1h\x1b[?2004h").key_modes();
    assert!(modes.application_cursor && modes.bracketed_paste);
}

/// Name; xterm's bytes; in application cursor mode; in Kitty's protocol (flag 1); with all keys
/// (9).
#[rustfmt::skip]
const KEYS: &[(&str, &str, &str, &str, &str)] = &[
    ("a", "a", "a", "a", "\x1b[97u"),
    ("S-a", "A", "A", "A", "\x1b[97;2u"),
    ("ä", "ä", "ä", "ä", "\x1b[228u"),
    ("日", "日", "日", "日", "\x1b[26085u"),
    ("C-a", "\x01", "\x01", "\x1b[97;5u", "\x1b[97;5u"),
    ("C-c", "\x03", "\x03", "\x1b[99;5u", "\x1b[99;5u"),
    ("c-C", "\x03", "\x03", "\x1b[99;5u", "\x1b[99;5u"),
    ("C-d", "\x04", "\x04", "\x1b[100;5u", "\x1b[100;5u"),
    ("C-z", "\x1a", "\x1a", "\x1b[122;5u", "\x1b[122;5u"),
    ("C-Space", "\0", "\0", "\x1b[32;5u", "\x1b[32;5u"),
    ("C-@", "\0", "\0", "\x1b[64;5u", "\x1b[64;5u"),
    ("C-[", "\x1b", "\x1b", "\x1b[91;5u", "\x1b[91;5u"),
    ("C-\\", "\x1c", "\x1c", "\x1b[92;5u", "\x1b[92;5u"),
    ("C-]", "\x1d", "\x1d", "\x1b[93;5u", "\x1b[93;5u"),
    ("C-^", "\x1e", "\x1e", "\x1b[94;5u", "\x1b[94;5u"),
    ("C-_", "\x1f", "\x1f", "\x1b[95;5u", "\x1b[95;5u"),
    ("C-?", "\x7f", "\x7f", "\x1b[63;5u", "\x1b[63;5u"),
    ("C--", "-", "-", "\x1b[45;5u", "\x1b[45;5u"),
    ("-", "-", "-", "-", "\x1b[45u"),
    ("M-x", "\x1bx", "\x1bx", "\x1b[120;3u", "\x1b[120;3u"),
    ("C-M-x", "\x1b\x18", "\x1b\x18", "\x1b[120;7u", "\x1b[120;7u"),
    ("Space", " ", " ", " ", "\x1b[32u"),
    ("Enter", "\r", "\r", "\r", "\x1b[13u"),
    ("Return", "\r", "\r", "\r", "\x1b[13u"),
    ("M-Enter", "\x1b\r", "\x1b\r", "\x1b[13;3u", "\x1b[13;3u"),
    ("C-Enter", "\r", "\r", "\x1b[13;5u", "\x1b[13;5u"),
    ("Tab", "\t", "\t", "\t", "\x1b[9u"),
    ("S-Tab", "\x1b[Z", "\x1b[Z", "\x1b[9;2u", "\x1b[9;2u"),
    ("Backspace", "\x7f", "\x7f", "\x7f", "\x1b[127u"),
    ("BSpace", "\x7f", "\x7f", "\x7f", "\x1b[127u"),
    ("C-Backspace", "\x08", "\x08", "\x1b[127;5u", "\x1b[127;5u"),
    ("M-Backspace", "\x1b\x7f", "\x1b\x7f", "\x1b[127;3u", "\x1b[127;3u"),
    ("Escape", "\x1b", "\x1b", "\x1b[27u", "\x1b[27u"),
    ("esc", "\x1b", "\x1b", "\x1b[27u", "\x1b[27u"),
    ("M-Escape", "\x1b\x1b", "\x1b\x1b", "\x1b[27;3u", "\x1b[27;3u"),
    ("Up", "\x1b[A", "\x1bOA", "\x1b[A", "\x1b[A"),
    ("Down", "\x1b[B", "\x1bOB", "\x1b[B", "\x1b[B"),
    ("Right", "\x1b[C", "\x1bOC", "\x1b[C", "\x1b[C"),
    ("Left", "\x1b[D", "\x1bOD", "\x1b[D", "\x1b[D"),
    ("S-Up", "\x1b[1;2A", "\x1b[1;2A", "\x1b[1;2A", "\x1b[1;2A"),
    ("M-Down", "\x1b[1;3B", "\x1b[1;3B", "\x1b[1;3B", "\x1b[1;3B"),
    ("C-Right", "\x1b[1;5C", "\x1b[1;5C", "\x1b[1;5C", "\x1b[1;5C"),
    ("C-M-S-Left", "\x1b[1;8D", "\x1b[1;8D", "\x1b[1;8D", "\x1b[1;8D"),
    ("Home", "\x1b[H", "\x1bOH", "\x1b[H", "\x1b[H"),
    ("End", "\x1b[F", "\x1bOF", "\x1b[F", "\x1b[F"),
    ("C-Home", "\x1b[1;5H", "\x1b[1;5H", "\x1b[1;5H", "\x1b[1;5H"),
    ("S-End", "\x1b[1;2F", "\x1b[1;2F", "\x1b[1;2F", "\x1b[1;2F"),
    ("Insert", "\x1b[2~", "\x1b[2~", "\x1b[2~", "\x1b[2~"),
    ("IC", "\x1b[2~", "\x1b[2~", "\x1b[2~", "\x1b[2~"),
    ("Delete", "\x1b[3~", "\x1b[3~", "\x1b[3~", "\x1b[3~"),
    ("DC", "\x1b[3~", "\x1b[3~", "\x1b[3~", "\x1b[3~"),
    ("PageUp", "\x1b[5~", "\x1b[5~", "\x1b[5~", "\x1b[5~"),
    ("PPage", "\x1b[5~", "\x1b[5~", "\x1b[5~", "\x1b[5~"),
    ("PageDown", "\x1b[6~", "\x1b[6~", "\x1b[6~", "\x1b[6~"),
    ("NPage", "\x1b[6~", "\x1b[6~", "\x1b[6~", "\x1b[6~"),
    ("C-Delete", "\x1b[3;5~", "\x1b[3;5~", "\x1b[3;5~", "\x1b[3;5~"),
    ("F1", "\x1bOP", "\x1bOP", "\x1b[P", "\x1b[P"),
    ("F2", "\x1bOQ", "\x1bOQ", "\x1b[Q", "\x1b[Q"),
    ("F3", "\x1bOR", "\x1bOR", "\x1b[13~", "\x1b[13~"),
    ("F4", "\x1bOS", "\x1bOS", "\x1b[S", "\x1b[S"),
    ("F5", "\x1b[15~", "\x1b[15~", "\x1b[15~", "\x1b[15~"),
    ("F6", "\x1b[17~", "\x1b[17~", "\x1b[17~", "\x1b[17~"),
    ("F7", "\x1b[18~", "\x1b[18~", "\x1b[18~", "\x1b[18~"),
    ("F8", "\x1b[19~", "\x1b[19~", "\x1b[19~", "\x1b[19~"),
    ("F9", "\x1b[20~", "\x1b[20~", "\x1b[20~", "\x1b[20~"),
    ("F10", "\x1b[21~", "\x1b[21~", "\x1b[21~", "\x1b[21~"),
    ("F11", "\x1b[23~", "\x1b[23~", "\x1b[23~", "\x1b[23~"),
    ("F12", "\x1b[24~", "\x1b[24~", "\x1b[24~", "\x1b[24~"),
    ("S-F1", "\x1b[1;2P", "\x1b[1;2P", "\x1b[1;2P", "\x1b[1;2P"),
    ("C-F3", "\x1b[1;5R", "\x1b[1;5R", "\x1b[13;5~", "\x1b[13;5~"),
    ("M-F12", "\x1b[24;3~", "\x1b[24;3~", "\x1b[24;3~", "\x1b[24;3~"),
];

#[test]
fn every_key_sends_what_its_program_expects() {
    let application = KeyModes {
        application_cursor: true,
        ..KeyModes::default()
    };
    let kitty = |kitty| KeyModes {
        kitty,
        ..KeyModes::default()
    };
    for (name, old, cursor, new, all) in KEYS {
        let key = KeyPress::named(name).unwrap_or_else(|| panic!("{name} is no key"));
        let sent = |modes| String::from_utf8(key.bytes(modes)).unwrap();
        assert_eq!(sent(KeyModes::default()), *old, "{name}");
        assert_eq!(sent(application), *cursor, "{name} in application mode");
        assert_eq!(sent(kitty(1)), *new, "{name} in Kitty's protocol");
        assert_eq!(sent(kitty(9)), *all, "{name} in Kitty's protocol, all keys");
    }
    for control in 'a'..='z' {
        let key = KeyPress::named(&format!("C-{control}")).unwrap();
        assert_eq!(key.bytes(KeyModes::default()), [control as u8 - b'`']);
    }
    // Every key that writes nothing, with everything that can be held: xterm's one rule for all.
    let held = ["S-", "M-", "S-M-", "C-", "C-S-", "C-M-", "C-M-S-"];
    let letters = "Up A Down B Right C Left D Home H End F F1 P F2 Q F4 S";
    let numbers =
        "Insert 2 Delete 3 PageUp 5 PageDown 6 F5 15 F6 17 F7 18 F8 19 F9 20 F10 21 F11 23 F12 24";
    for (held, number) in held.iter().zip(2..) {
        let words: Vec<_> = letters.split(' ').collect();
        let other: Vec<_> = numbers.split(' ').collect();
        let letters = words
            .chunks(2)
            .map(|pair| (pair[0], format!("\x1b[1;{number}{}", pair[1])));
        let numbers = other
            .chunks(2)
            .map(|pair| (pair[0], format!("\x1b[{};{number}~", pair[1])));
        for (name, expected) in letters.chain(numbers) {
            let key = KeyPress::named(&format!("{held}{name}")).unwrap();
            for modes in [KeyModes::default(), application, kitty(1), kitty(9)] {
                let sent = String::from_utf8(key.bytes(modes)).unwrap();
                assert_eq!(sent, expected, "{held}{name} {modes:?}");
            }
        }
    }
    for unknown in ["", "F0", "F13", "Foo", "C-", "X-a", "Ctrl"] {
        assert_eq!(KeyPress::named(unknown), None, "{unknown}");
    }
}

#[test]
fn a_paste_can_not_end_itself() {
    let plain = KeyModes::default();
    let marked = KeyModes {
        bracketed_paste: true,
        ..plain
    };
    assert_eq!(paste("a\r\nb\nc", plain), b"a\rb\rc");
    assert_eq!(
        paste("a\x1b[201~rm\n", marked),
        b"\x1b[200~a[201~rm\r\x1b[201~"
    );
}

proptest! {
    #[test]
    fn no_bytes_break_the_screen(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20),
        sizes in prop::collection::vec((0u16..60, 0u16..30), 0..4),
    ) {
        let mut screen = Screen::new(Size::new(40, 10));
        let mut sizes = sizes.into_iter();
        for piece in &pieces {
            screen.feed(piece);
            if let Some((columns, rows)) = sizes.next() {
                screen.resize(Size::new(columns, rows));
            }
        }
        let _ = (screen.final_text(), screen.cells(0), screen.cursor());
    }

    #[test]
    fn sequences_of_all_kinds_break_nothing_and_may_be_split(
        parts in prop::collection::vec(
            prop_oneof![
                "\\x1b\\[[?>=<]?[0-9;]{0,8}[@-~]",
                "\\x1b[()#][0A-Z]",
                "\\x1b[78DEMHc=>]",
                "[a-z日é👩\u{200d}\u{301}]{1,6}",
                "[\r\n\t\x08\x0e\x0f]",
            ],
            0..40,
        ),
        at in any::<prop::sample::Index>(),
    ) {
        let bytes = parts.concat().into_bytes();
        let (before, after) = bytes.split_at(at.index(bytes.len() + 1));
        let mut whole = Screen::new(Size::new(20, 6));
        whole.feed(&bytes);
        let mut split = Screen::new(Size::new(20, 6));
        split.feed(before);
        split.feed(after);
        prop_assert_eq!(whole.text(), split.text());
        prop_assert_eq!(whole.drew(), split.drew());
    }
}

#[test]
fn the_page_about_jobs_lists_every_key() {
    let page = include_str!("../../../../docs/jobs.md");
    let page: Vec<&str> = page.split_whitespace().collect();
    let listed = keys::names()
        .replace(", ", "`, `")
        .replace(" to ", "` to `");
    assert!(page.join(" ").contains(&format!("`{listed}`")), "{listed}");
}
