//! Fresh lists: commands that were written down, with what is wanted of each, before any was
//! judged.
//!
//! They measure what the guard makes of commands nobody tuned it for; `docs/guard.md` has the
//! shares as they were first measured. Since then most of what was missed is caught, and the tests
//! hold what was reached.

use crate::corpus::decided;
use crate::documented::directory;
use bashd_script::guard::interceptor::Interceptor;
use bashd_script::guard::safe_mode::SafeMode;
use bashd_script::guard::{DEFAULT_RULES, Decision, Gate, Guard, Verdict};
use bashd_script::rewrite::Command;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

/// The cells of each row of a list, with what is written as an escape in the last of them.
fn rows(name: &str) -> Vec<Vec<String>> {
    let path = directory().join("fresh").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let columns = text
        .lines()
        .next()
        .map_or(0, |head| head.split('\t').count());
    let head = text.lines().next().unwrap_or_default();
    let has_backslashes = head.contains("\\\\ = backslash");
    // A NUL and odd blanks are a matter of safe mode; elsewhere `\0` is what a shell reads.
    let odd = [
        ("\\0", "\0"),
        ("\\u00a0", "\u{a0}"),
        ("\\u2028", "\u{2028}"),
    ];
    let odd = odd.into_iter().filter(|_| name.ends_with("strict.tsv"));
    let escapes: Vec<(&str, &str)> = odd.chain([("\\n", "\n")]).collect();
    let row = |line: &str| {
        let mut cells: Vec<String> = line.splitn(columns, '\t').map(str::to_owned).collect();
        assert_eq!(cells.len(), columns, "{name}: {line}");
        if let Some(command) = cells.last_mut() {
            if has_backslashes {
                *command = unescaped(command);
            } else {
                for (written, meant) in &escapes {
                    *command = command.replace(written, meant);
                }
            }
        }
        cells
    };
    text.lines().skip(1).map(row).collect()
}

/// A cell in which a backslash is written as two.
fn unescaped(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell.chars();
    while let Some(character) = rest.next() {
        let meant = match (character, character == '\\') {
            (character, false) => character,
            (_, true) => match rest.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('0') => '\0',
                Some('u') => {
                    let digits: String = rest.by_ref().take(4).collect();
                    let number = u32::from_str_radix(&digits, 16).expect("four digits");
                    char::from_u32(number).expect("a character")
                }
                Some(other) => other,
                None => panic!("{cell}: a lone backslash"),
            },
        };
        text.push(meant);
    }
    text
}

/// Judges a list with the default rules: of its bad rows, as many may be missed as the page about
/// the guard tells, and nothing everyday may be refused.
fn measure(name: &str, most_missed: usize) {
    let guard = Guard::new([DEFAULT_RULES], &[]);
    let mut classes: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    let mut refused = Vec::new();
    for row in rows(name) {
        // Where a row has a list and a class, the share is that of the list.
        let (wanted, class, command) = match row.as_slice() {
            [wanted, class, command] | [wanted, class, _, command] => (wanted, class, command),
            row => panic!("{name}: three or four cells, not {row:?}"),
        };
        let is_caught = decided(&guard, command) != Decision::Allow;
        match wanted.as_str() {
            "caught" => {
                let (count, missed) = classes.entry(class.clone()).or_default();
                *count += 1;
                missed.extend((!is_caught).then(|| command.clone()));
            }
            "pass" => refused.extend(is_caught.then(|| command.clone())),
            other => panic!("{name}: what is {other}?"),
        }
    }
    let mut is_enough = refused.is_empty();
    let mut told = format!(
        "{name}: {} everyday rows are refused: {refused:#?}",
        refused.len()
    );
    for (class, (count, missed)) in &classes {
        let _ = write!(
            told,
            "\n{class}: {} of {count} missed: {missed:#?}",
            missed.len()
        );
    }
    let missed: usize = classes.values().map(|(_, missed)| missed.len()).sum();
    is_enough &= missed <= most_missed;
    assert!(is_enough, "{told}");
}

#[test]
fn the_first_fresh_list_is_caught() {
    measure("first.tsv", 3);
}

#[test]
fn the_second_fresh_list_is_caught() {
    measure("second.tsv", 0);
}

#[test]
fn the_third_fresh_list_is_caught() {
    measure("third.tsv", 0);
}

/// By somebody who had not seen the guard.
#[test]
fn the_fourth_fresh_list_is_caught() {
    measure("fourth.tsv", 7);
}

/// By somebody else who had not seen the rules.
#[test]
fn the_fifth_fresh_list_is_caught() {
    measure("fifth.tsv", 3);
}

#[test]
fn the_sixth_fresh_list_is_caught() {
    measure("sixth.tsv", 7);
}

#[test]
fn the_seventh_fresh_list_is_caught() {
    measure("seventh.tsv", 2);
}

/// By somebody who had read the page about the guard, but no rule's source.
#[test]
fn the_thirteenth_fresh_list_is_caught() {
    measure("thirteenth.tsv", 0);
}

#[test]
fn the_fourteenth_fresh_list_is_caught() {
    measure("fourteenth.tsv", 0);
}

#[test]
fn the_fifteenth_fresh_list_is_caught() {
    measure("fifteenth.tsv", 0);
}

/// By somebody who had seen neither the guard's source nor another list.
#[test]
fn the_sixteenth_fresh_list_is_caught() {
    measure("sixteenth.tsv", 0);
}

#[test]
fn strict_safe_mode_lets_nothing_through_and_refuses_nothing_that_reads() {
    let gate = Gate {
        safe_mode: SafeMode::Strict,
        ..Gate::default()
    };
    let mut wrong = Vec::new();
    let lists = [
        "strict.tsv",
        "third_strict.tsv",
        "fourth_strict.tsv",
        "fifth_strict.tsv",
        "sixth_strict.tsv",
        "seventh_strict.tsv",
        "eighth_strict.tsv",
        "ninth_strict.tsv",
        "tenth_strict.tsv",
        "eleventh_strict.tsv",
        "twelfth_strict.tsv",
        "thirteenth_strict.tsv",
        "sixteenth_strict.tsv",
        // Every option that git 2.47 names by `git SUBCOMMAND --git-completion-helper-all`.
        "git_options_strict.tsv",
    ];
    for row in lists.into_iter().flat_map(rows) {
        let (wanted, command) = match row.as_slice() {
            [wanted, command] | [wanted, _, command] => (wanted, command),
            row => panic!("two or three cells, not {row:?}"),
        };
        let is_allowed = gate.judge(&Command::as_given(command)).verdict == Verdict::Allow;
        if is_allowed != (wanted == "allowed") {
            wrong.push(format!("{wanted} is wanted: {command}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_interceptor_names_the_tool_for_contested_commands() {
    let tools = ["read", "search", "find", "edit", "write"];
    let gate = Gate {
        interceptor: Some(Interceptor::new(&[])),
        tools: tools.map(str::to_owned).to_vec(),
        ..Gate::default()
    };
    let mut wrong = Vec::new();
    let lists = [
        "interceptor.tsv",
        "third_interceptor.tsv",
        "fifth_interceptor.tsv",
        "sixth_interceptor.tsv",
        "thirteenth_interceptor.tsv",
        "sixteenth_interceptor.tsv",
    ];
    for row in lists.into_iter().flat_map(rows) {
        let (wanted, command) = match row.as_slice() {
            [wanted, command] | [wanted, _, command] => (wanted, command),
            row => panic!("two or three cells, not {row:?}"),
        };
        let suggested = gate.judge(&Command::as_given(command)).suggested_tool;
        let suggested = suggested.as_deref().unwrap_or("-");
        if suggested != wanted {
            wrong.push(format!("{wanted}, not {suggested}: {command}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
