//! Recorded programs against the screen that another emulator shows for the same bytes.
//!
//! `tests/screens/record.py` made the recordings and asked tmux for the screens.

use bashd::screen::{Screen, Size};
use std::fs;
use std::path::PathBuf;

/// Programs whose recordings must be there.
const AT_LEAST: usize = 20;

/// Those that write lines and draw nothing.
const ONLY_LINES: &[&str] = &[
    "git_diff", "git_log", "ls", "more", "password", "progress", "python", "wide",
];

struct Recording {
    name: String,
    bytes: Vec<u8>,
    column: u16,
    row: u16,
    is_alternate: bool,
    rows: String,
}

fn recordings() -> Vec<Recording> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/screens");
    let paths = fs::read_dir(directory)
        .expect("a recording")
        .map(|entry| entry.expect("a recording").path());
    let recorded = paths.filter(|path| path.extension().is_some_and(|end| end == "bytes"));
    recorded
        .map(|path| {
            let shown = fs::read_to_string(path.with_extension("screen")).expect("a recording");
            let (place, rows) = shown.split_once('\n').expect("a recording");
            let mut numbers = place
                .split(' ')
                .map(|number| number.parse().expect("a recording"));
            Recording {
                name: path
                    .file_stem()
                    .expect("a recording")
                    .to_string_lossy()
                    .into_owned(),
                bytes: fs::read(&path).expect("a recording"),
                column: numbers.next().expect("a recording"),
                row: numbers.next().expect("a recording"),
                is_alternate: numbers.next().expect("a recording") == 1,
                rows: rows.trim_end_matches('\n').to_owned(),
            }
        })
        .collect()
}

fn fed(bytes: &[u8], piece: usize) -> Screen {
    let mut screen = Screen::new(Size::new(80, 24));
    for piece in bytes.chunks(piece) {
        screen.feed(piece);
    }
    screen
}

#[test]
fn recorded_programs_look_as_in_another_emulator() {
    let recordings = recordings();
    assert!(recordings.len() >= AT_LEAST, "only {}", recordings.len());
    let mut wrong = Vec::new();
    for recording in &recordings {
        let screen = fed(&recording.bytes, usize::MAX);
        let name = &recording.name;
        if screen.text() != recording.rows {
            let (ours, theirs) = (screen.text(), &recording.rows);
            wrong.push(format!("{name}:\n{ours}\n--- expected\n{theirs}\n"));
        }
        let cursor = screen.cursor();
        let place = (cursor.column, cursor.row, screen.is_alternate());
        // A cursor beyond the last column is shown in it.
        let place = (place.0.min(79), place.1, place.2);
        let expected = (
            recording.column.min(79),
            recording.row,
            recording.is_alternate,
        );
        if place != expected {
            wrong.push(format!(
                "{name}: cursor and screen {place:?}, expected {expected:?}"
            ));
        }
        let draws = !ONLY_LINES.contains(&name.as_str());
        if screen.drew() != draws {
            wrong.push(format!(
                "{name}: drawing is {}, expected {draws}",
                screen.drew()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn recordings_may_come_in_pieces_of_any_size() {
    for recording in recordings() {
        let whole = fed(&recording.bytes, usize::MAX);
        for piece in [1, 7, 64] {
            let split = fed(&recording.bytes, piece);
            assert_eq!(split.text(), whole.text(), "{} by {piece}", recording.name);
            assert_eq!(split.cursor(), whole.cursor(), "{}", recording.name);
            assert_eq!(split.title(), whole.title(), "{}", recording.name);
        }
    }
}

#[test]
fn a_program_that_took_its_picture_with_it_leaves_it_to_us() {
    let quit = recordings().into_iter().find(|one| one.name == "vim_quit");
    let mut screen = fed(&quit.expect("a recording").bytes, usize::MAX);
    assert!(screen.used_alternate() && !screen.is_alternate());
    let text = screen.final_text();
    assert!(
        text.starts_with("Helloline 1: the quick brown fox"),
        "{text}"
    );
}
