//! How many facts of long outputs a window shows, by its size: why `default` shows 32 KiB of an
//! output that is too long, where Claude Code's own tool shows 2 kB of a success and 10 kB of a
//! failure. The figures are in `docs/agents.md`.

use crate::cases::{Case, cases};
use bashd_minimize::Reach;

/// Above this many characters Claude Code's own tool shows only a part.
const LONG: usize = 30_000;

/// The first quarter and the last three quarters of a window, of what is shown.
fn window(text: &str, size: usize) -> String {
    if text.len() <= size {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(size / 4);
    let tail = text.ceil_char_boundary(text.len() - size * 3 / 4);
    let (head, tail) = (text.get(..head), text.get(tail..));
    format!("{}\n{}", head.unwrap_or_default(), tail.unwrap_or_default())
}

/// What Claude Code's own tool shows of an output that is too long.
fn preview(case: &Case) -> String {
    let characters: Vec<char> = case.raw.chars().take(LONG).collect();
    let of = |part: &[char]| part.iter().collect::<String>();
    match case.exit {
        0 => of(&characters[..2_000]),
        _ => format!(
            "{}\n{}",
            of(&characters[..5_000]),
            of(&characters[LONG - 5_000..])
        ),
    }
}

#[test]
fn a_window_of_32_kib_shows_most_facts_of_long_outputs() {
    let mut seen = [0; 4];
    let mut all = 0;
    for case in cases() {
        if case.raw.chars().count() <= LONG {
            continue;
        }
        let shown = case.shown(Reach::default());
        let texts = [
            preview(&case),
            window(&shown, 8 * 1024),
            window(&shown, 16 * 1024),
            window(&shown, 32 * 1024),
        ];
        for fact in case.facts().lines().filter(|fact| !fact.trim().is_empty()) {
            all += 1;
            for (seen, text) in seen.iter_mut().zip(&texts) {
                *seen += usize::from(text.contains(fact));
            }
        }
    }
    let percent = seen.map(|seen| seen * 100 / all);
    let told = format!("of {all} facts: {seen:?}, {percent:?} %");
    eprintln!("{told}");
    let [preview, eighth, half, whole] = percent;
    assert!(
        preview < 30 && eighth < 60 && half < 70 && whole > 80,
        "{told}"
    );
}
