//! Every filter on any text: never larger, nothing of a failure lost, the same when done again.

use crate::minimize_cases::{Case, Shown, cases};
use bashd::minimize::{Reach, Settings, Subject, minimize};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static CASES: LazyLock<Vec<Case>> = LazyLock::new(cases);

/// Lines that nobody may lose, in the words of many tools.
const TROUBLE: &[&str] = &[
    "error[E0308]: mismatched types",
    "src/a.c:3:1: error: expected ';'",
    "FAILED tests/test_a.py::test_b - AssertionError: 1 != 2",
    "thread 'main' panicked at src/main.rs:7:5:",
    "npm ERR! code ERESOLVE",
    "fatal: not a git repository",
    "  ✗ adds numbers",
    "WARNING: the disk is nearly full",
    "E   ValueError: bad value",
    "Compiling error: cannot find crate",
    "test errors::all ... FAILED",
];

fn shown(command: &str, exit: i32, text: &str) -> String {
    let subject = Subject {
        command,
        exit: Some(exit),
        text,
    };
    minimize(subject, &Settings::default()).map_or_else(|_| text.to_owned(), |digest| digest.text)
}

/// A part of a recorded text with other lines in between.
fn mixed() -> impl Strategy<Value = (usize, String)> {
    let line = prop_oneof![
        4 => Just(None),
        1 => proptest::sample::select(TROUBLE).prop_map(|line| Some(line.to_owned())),
        1 => "[ -~]{0,60}".prop_map(Some),
        1 => "\\PC{0,20}".prop_map(Some),
        1 => proptest::sample::select(vec!["\u{1b}[31mred\u{1b}[0m", "10%\r50%\r100%", "\u{1b}[2A\u{1b}[K", "a\u{8}b", "\u{1b}]0;x", "\t", "}"])
            .prop_map(|line| Some(line.to_owned())),
    ];
    let lines = proptest::collection::vec(line, 1..60);
    (
        any::<proptest::sample::Index>(),
        any::<proptest::sample::Index>(),
        lines,
    )
        .prop_map(|(case, from, inserted)| {
            let case = case.index(CASES.len());
            let recorded: Vec<&str> = CASES[case].raw.split('\n').collect();
            let from = from.index(recorded.len());
            let mut text = String::new();
            for (line, inserted) in recorded
                .iter()
                .skip(from)
                .take(200)
                .zip(inserted.iter().cycle())
            {
                for line in std::iter::once(*line).chain(inserted.as_deref()) {
                    text.push_str(line);
                    text.push('\n');
                }
            }
            (case, text)
        })
}

fn repetitions(many: u32) -> ProptestConfig {
    ProptestConfig::with_cases(if std::env::var_os("BASHD_SOAK").is_some() {
        many * 40
    } else {
        many
    })
}

proptest! {
    #![proptest_config(repetitions(150))]

    #[test]
    fn any_text_is_never_larger_and_the_same_again((case, text) in mixed(), exit in 0..2) {
        let command = &CASES[case].command;
        let once = shown(command, exit, &text);
        prop_assert!(once.len() <= text.len());
        prop_assert_eq!(shown(command, exit, &once), once);
    }

    #[test]
    fn a_failure_keeps_every_line_of_trouble((case, text) in mixed()) {
        let once = shown(&CASES[case].command, 1, &text);
        let expanded = Shown::new(&once);
        for line in TROUBLE {
            let before = text.lines().filter(|found| found == line).count();
            // A count stands for neighbours that are the same, so once is enough.
            prop_assert!(before == 0 || expanded.has(line.trim()), "{} is lost:\n{}", line, once);
        }
    }

    #[test]
    fn any_cut_passes(case in any::<proptest::sample::Index>(), from in 0.0..1.0_f64, to in 0.0..1.0_f64, exit in 0..2) {
        let case = &CASES[case.index(CASES.len())];
        let at = |share: f64| {
            let wanted = (case.raw.len() as f64 * share) as usize;
            (wanted..=case.raw.len()).find(|at| case.raw.is_char_boundary(*at)).unwrap_or(0)
        };
        let (from, to) = (at(from.min(to)), at(from.max(to)));
        let text = case.raw.get(from..to).expect("ends of characters");
        let once = shown(&case.command, exit, text);
        prop_assert!(once.len() <= text.len());
        prop_assert_eq!(shown(&case.command, exit, &once), once);
    }
}

/// On failure every word of a recorded text that is visible is shown: nothing is only counted.
#[test]
fn a_failure_loses_no_word() {
    let mut losses = Vec::new();
    for case in CASES.iter() {
        let words = |text: &str| -> BTreeSet<String> {
            let parts = text.split(|c: char| !c.is_alphanumeric());
            parts
                .filter(|word| word.len() > 3 && !word.bytes().all(|byte| byte.is_ascii_digit()))
                .map(str::to_owned)
                .collect()
        };
        let subject = Subject {
            command: &case.command,
            exit: Some(1),
            text: &case.raw,
        };
        let lossless = Settings {
            reach: Reach::Lossless,
            ..Settings::default()
        };
        let (Ok(all), Ok(visible)) = (
            minimize(subject, &Settings::default()),
            minimize(subject, &lossless),
        ) else {
            continue;
        };
        assert_eq!(all.left_out, 0, "{}/{}", case.tool, case.name);
        // Without what the lossless tier says itself.
        let ours = ["[minimized: ", "[these "];
        let plain = visible.text.lines().filter(|line| {
            !ours.iter().any(|mark| line.starts_with(mark))
                && !line.contains(" lines as above, from: ")
        });
        let plain = plain.collect::<Vec<_>>().join("\n");
        let shown = words(&all.text);
        let lost: Vec<String> = words(&plain)
            .into_iter()
            .filter(|word| !shown.contains(word))
            .collect();
        // Hashes of commits are shortened, and the filler words of a kind's lines are said once as its name.
        let lost: Vec<String> = lost.into_iter().filter(|word| !is_filler(word)).collect();
        if !lost.is_empty() {
            losses.push(format!("{}/{} loses {lost:?}", case.tool, case.name));
        }
    }
    assert!(losses.is_empty(), "{losses:#?}");
}

/// Words that a filter says otherwise, that a kind's name stands for, or that say how long a passed test took.
fn is_filler(word: &str) -> bool {
    let is_hash = word.len() > 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = word.trim_end_matches('s').trim_end_matches('m');
    let is_time = number != word && number.bytes().all(|byte| byte.is_ascii_digit());
    is_hash || is_time || FILLERS.contains(&word)
}

const FILLERS: &[&str] = &[
    // "[12 lines as above, from: …]" of the lossless tier.
    "above",
    "from",
    // A passed test is listed as such.
    "PASSED",
    "Passed",
    "PASS",
    "Test",
    // `commit HASH DATE AUTHOR` on one line.
    "Author",
    "Date",
    // Counts of zero in a test's result.
    "ignored",
    "measured",
    "filtered",
    // "Requirement already satisfied", "Refreshing state...".
    "Requirement",
    "Refreshing",
    "state",
];
