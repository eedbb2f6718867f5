//! Every filter on any text: never larger, nothing of a failure lost, the same when done again,
//! whatever part of it is there.
//!
//! The filters are those of the registry, each with the recorded texts of its own family and with
//! what is made of them. One without such a text fails.

use crate::cases::{Case, cases};
use bashd_minimize::{FilterSettings, Subject, filter_names, filter_of, minimize};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static CASES: LazyLock<Vec<Case>> = LazyLock::new(cases);

/// The recorded texts of each filter of the registry.
static FILTERS: LazyLock<Vec<(&str, Vec<&Case>)>> = LazyLock::new(|| {
    let of_filter = |name: &str| -> Vec<&Case> {
        let cases = CASES.iter();
        cases
            .filter(|case| filter_of(&case.command) == Some(name))
            .collect()
    };
    filter_names().map(|name| (name, of_filter(name))).collect()
});

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

/// Lines that a terminal, or nobody, understands.
const ODD: &[&str] = &[
    "\u{1b}[31mred\u{1b}[0m",
    "10%\r50%\r100%",
    "\u{1b}[2A\u{1b}[K",
    "a\u{8}b",
    "\u{1b}]0;x",
    "\t",
    "}",
    "--",
    "F401 a finding without its place",
    "src/alone.js",
    "  3:5  error  x is bad  no-x",
];

fn shown(command: &str, exit: i32, text: &str) -> String {
    let subject = Subject {
        command,
        exit: Some(exit),
        text,
    };
    minimize(subject, &FilterSettings::default())
        .map_or_else(|_| text.to_owned(), |digest| digest.text)
}

/// What may be done to a line of a recorded text.
#[derive(Debug, Clone)]
enum Change {
    Nothing,
    Lost,
    Twice,
    Followed(String),
}

/// What is done to the lines of a part of a recorded text.
fn changes() -> impl Strategy<Value = (Index, Vec<Change>)> {
    let trouble = prop_oneof![
        select(TROUBLE).prop_map(str::to_owned),
        (
            "[a-z]{1,8}",
            1..900_u32,
            select(vec!["error", "warning", "fatal error"]),
            "[a-z]{4,12}( [a-z]{1,9}){0,4}"
        )
            .prop_map(|(file, line, kind, text)| format!("src/{file}.c:{line}:1: {kind}: {text}")),
    ];
    let change = prop_oneof![
        5 => Just(Change::Nothing),
        1 => Just(Change::Lost),
        1 => Just(Change::Twice),
        2 => trouble.prop_map(Change::Followed),
        1 => "[ -~]{0,60}".prop_map(Change::Followed),
        1 => "\\PC{0,20}".prop_map(Change::Followed),
        1 => select(ODD).prop_map(|line| Change::Followed(line.to_owned())),
    ];
    (any::<Index>(), proptest::collection::vec(change, 1..60))
}

/// A part of the text with these changes, and the lines of trouble that were put in.
fn changed<'a>(raw: &str, from: Index, changes: &'a [Change]) -> (String, BTreeSet<&'a str>) {
    let recorded: Vec<&str> = raw.split('\n').collect();
    let part = recorded.iter().skip(from.index(recorded.len())).take(200);
    let mut text = String::new();
    let mut trouble = BTreeSet::new();
    for (line, change) in part.zip(changes.iter().cycle()) {
        let (times, inserted) = match change {
            Change::Nothing => (1, None),
            Change::Lost => (0, None),
            Change::Twice => (2, None),
            Change::Followed(line) => (1, Some(line.as_str())),
        };
        let lines = std::iter::repeat_n(*line, times).chain(inserted);
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        trouble.extend(inserted.filter(|line| TROUBLE.contains(line) || is_finding(line)));
    }
    (text, trouble)
}

/// Whether a line is of the generated kind `src/abc.c:7:1: error: text`.
fn is_finding(line: &str) -> bool {
    line.starts_with("src/") && line.contains(".c:") && line.contains(":1: ")
}

/// Checks a property of every filter of the registry, on as many texts for each.
fn for_every_filter<S: Strategy>(
    many: u32,
    strategy: impl Fn() -> S,
    check: impl Fn(&str, &[&Case], S::Value) -> Result<(), TestCaseError>,
) {
    let soaks = std::env::var_os("BASHD_SOAK").is_some();
    for (name, cases) in FILTERS.iter() {
        assert!(!cases.is_empty(), "the filter {name} has no recorded case");
        let config = ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(if soaks { many * 40 } else { many })
        };
        let result = TestRunner::new(config).run(&strategy(), |value| check(name, cases, value));
        if let Err(error) = result {
            panic!("the filter {name}: {error}");
        }
    }
}

/// What is shown is no larger than the text, and stays as it is when it is minimized again.
fn check_shown(command: &str, exit: i32, text: &str) -> Result<(), TestCaseError> {
    let once = shown(command, exit, text);
    prop_assert!(once.len() <= text.len(), "{} grew", command);
    prop_assert_eq!(shown(command, exit, &once), once);
    Ok(())
}

#[test]
fn every_filter_makes_no_text_larger_and_none_twice() {
    for_every_filter(
        12,
        || (any::<Index>(), changes(), 0..2),
        |_, cases, (case, (from, changes), exit)| {
            let case = case.get(cases);
            check_shown(&case.command, exit, &changed(&case.raw, from, &changes).0)
        },
    );
}

#[test]
fn every_filter_keeps_the_trouble_of_a_failure() {
    for_every_filter(
        12,
        || (any::<Index>(), changes()),
        |_, cases, (case, (from, changes))| {
            let case = case.get(cases);
            let (text, trouble) = changed(&case.raw, from, &changes);
            let once = shown(&case.command, 1, &text);
            let shown: BTreeSet<&str> = once.lines().collect();
            for line in trouble {
                // A count stands for neighbours that are the same, so once is enough.
                prop_assert!(shown.contains(line), "{} is lost:\n{}", line, once);
            }
            Ok(())
        },
    );
}

#[test]
fn every_filter_takes_any_cut() {
    for_every_filter(
        16,
        || (any::<Index>(), 0.0..1.0_f64, 0.0..1.0_f64, 0..2),
        |_, cases, (case, one, other, exit)| {
            let case = case.get(cases);
            let at = |share: f64| {
                let wanted = (case.raw.len() as f64 * share) as usize;
                let mut ends = wanted..=case.raw.len();
                ends.find(|at| case.raw.is_char_boundary(*at)).unwrap_or(0)
            };
            let cut = case.raw.get(at(one.min(other))..at(one.max(other)));
            check_shown(&case.command, exit, cut.expect("ends of characters"))
        },
    );
}
