//! What a script runs, seen through its disguises: `tests/cases/reading/`, a line a script with its
//! class.

use bashd_script::guard::safe_mode::SafeMode;
use bashd_script::guard::{Gate, Guard, RULES, Verdict};
use bashd_script::rewrite::Command;
use bashd_script::script::Script;
use std::collections::BTreeMap;

/// The rows of a file: class and script.
fn rows(text: &str) -> Vec<(&str, String)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line| {
        let (class, script): (&str, &str) = str::split_once(line, '\t').expect("two columns");
        (class, unescape(script))
    };
    lines.map(row).collect()
}

/// `\n` and `\t` are a new line and a tab, but not inside single quotes.
fn unescape(script: &str) -> String {
    let mut text = String::new();
    let mut rest = script.chars().peekable();
    let mut quote = None;
    while let Some(character) = rest.next() {
        match (character, quote, rest.peek()) {
            ('\\', None, Some('n')) => {
                rest.next();
                text.push('\n');
            }
            ('\\', None, Some('t')) => {
                rest.next();
                text.push('\t');
            }
            ('\'', None, _) => {
                quote = Some('\'');
                text.push(character);
            }
            ('\'', Some('\''), _) => {
                quote = None;
                text.push(character);
            }
            _ => text.push(character),
        }
    }
    text
}

/// The scripts of a file that are not judged as they should be, by class.
fn wrong(text: &str, is_right: fn(&Verdict) -> bool) -> BTreeMap<&str, Vec<String>> {
    let guard = Guard::new(RULES.iter().map(|rule| rule.name), &[]);
    let mut wrong: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (class, script) in rows(text) {
        let verdict = guard.check(&Script::parse(&script), &script);
        if !is_right(&verdict) {
            let said = match verdict {
                Verdict::Allow => script,
                Verdict::Ask(it) | Verdict::Deny(it) => format!("{script} ({})", it.rule),
            };
            wrong.entry(class).or_default().push(said);
        }
    }
    wrong
}

fn told(wrong: &BTreeMap<&str, Vec<String>>) -> String {
    let lines = wrong.iter().flat_map(|(class, scripts)| {
        scripts
            .iter()
            .map(move |script| format!("{class}\t{script}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn disguises_are_seen_through() {
    let text = include_str!("../cases/reading/disguised.tsv");
    let wrong = wrong(text, |verdict| *verdict != Verdict::Allow);
    let count = wrong.values().map(Vec::len).sum::<usize>();
    assert!(
        wrong.is_empty(),
        "{count} of {} pass:\n{}",
        rows(text).len(),
        told(&wrong)
    );
}

#[test]
fn ordinary_scripts_by_the_same_means_are_let_alone() {
    let text = include_str!("../cases/reading/ordinary.tsv");
    let wrong = wrong(text, |verdict| *verdict == Verdict::Allow);
    let count = wrong.values().map(Vec::len).sum::<usize>();
    assert!(
        wrong.is_empty(),
        "{count} of {} are refused:\n{}",
        rows(text).len(),
        told(&wrong)
    );
}

#[test]
fn bounds_of_the_parser_make_no_command_invalid_in_strict_safe_mode() {
    let gate = Gate {
        safe_mode: SafeMode::Strict,
        ..Gate::default()
    };
    let verdict = |text: &str| gate.judge(&Command::as_given(text)).verdict;
    let long = "a".repeat(6000);
    let many = "ls; ".repeat(300);
    for text in [
        "grep -E 'a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|t' f".to_owned(),
        format!("grep '{}' f", "(".repeat(40)),
        format!("grep \"{}\" f", "{[".repeat(20)),
        format!("grep -E 'alias|shopt|{}' f", "x|".repeat(30)),
        format!("grep {long} f | wc -l"),
        format!("{many}ls"),
        format!("grep '{}' f", "<>&;!".repeat(100)),
    ] {
        assert_eq!(verdict(&text), Verdict::Allow, "{text}");
    }
    for text in [
        format!("grep '{}f", "(".repeat(40)),
        format!("grep {long} f |"),
        format!("{many}ls; touch x"),
        format!("grep {long} f > x"),
        format!("{many}$(ls)"),
    ] {
        assert_ne!(verdict(&text), Verdict::Allow, "{text}");
    }
}
