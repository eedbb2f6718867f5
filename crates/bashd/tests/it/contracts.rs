//! `docs/contracts.md` and `docs/decisions.md` tell the truth: every row names tests, and these
//! exist.

use bashd_testkit::sources;
use std::collections::{BTreeMap, BTreeSet};

/// The case ids of the documents: letter, and how many there are.
const CASES: &[(char, u32)] = &[
    ('V', 41),
    ('M', 33),
    ('P', 42),
    ('I', 99),
    ('J', 18),
    ('A', 15),
    ('S', 13),
    ('C', 25),
    ('G', 16),
    ('X', 18),
    ('O', 26),
];

#[test]
fn every_case_of_the_contracts_has_a_test() {
    let text = sources::text("docs/contracts.md").expect("docs/contracts.md");
    let problems = problems_of_contracts(&text, &sources::test_names());
    assert!(
        problems.is_empty(),
        "docs/contracts.md:\n{}",
        problems.join("\n")
    );
}

#[test]
fn every_decision_has_a_test() {
    let text = sources::text("docs/decisions.md").expect("docs/decisions.md");
    let rows = rows(&text, 4);
    assert!(rows.len() >= 10, "only {} decisions", rows.len());
    let tests = sources::test_names();
    let problems: Vec<String> = rows
        .iter()
        .flat_map(|row| problems_of_names(&row[0], &row[3], &tests))
        .collect();
    assert!(
        problems.is_empty(),
        "docs/decisions.md:\n{}",
        problems.join("\n")
    );
}

fn problems_of_contracts(text: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut by_id: BTreeMap<String, String> = BTreeMap::new();
    for row in rows(text, 3) {
        if by_id.insert(row[0].clone(), row[2].clone()).is_some() {
            problems.push(format!("{}: two rows", row[0]));
        }
    }
    let expected: BTreeSet<String> = CASES
        .iter()
        .flat_map(|(letter, count)| (1..=*count).map(move |number| format!("{letter}-{number:02}")))
        .collect();
    let missing = expected.iter().filter(|id| !by_id.contains_key(*id));
    problems.extend(missing.map(|id| format!("{id}: no row")));
    for (id, names) in &by_id {
        if expected.contains(id) {
            problems.extend(problems_of_names(id, names, tests));
        } else {
            problems.push(format!("{id}: no such case"));
        }
    }
    problems
}

/// What is wrong with a cell that names tests, each in backticks.
fn problems_of_names(row: &str, cell: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    if names.is_empty() {
        return vec![format!("{row}: names no test")];
    }
    let missing = names.iter().filter(|name| !tests.contains(**name));
    missing
        .map(|name| format!("{row}: there is no test `{name}`"))
        .collect()
}

/// The cells of a document's table rows, without heads and rules; `\|` is a bar inside a cell.
fn rows(text: &str, width: usize) -> Vec<Vec<String>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_rule = |line: &str| line.starts_with("|-") || line.starts_with("| -");
    let is_head = |index: usize| lines.get(index + 1).is_some_and(|next| is_rule(next));
    let mut rows = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !line.starts_with('|') || is_rule(line) || is_head(index) {
            continue;
        }
        let whole = line.replace("\\|", "\u{1}");
        let cells: Vec<String> = whole
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().replace('\u{1}', "|"))
            .collect();
        assert_eq!(cells.len(), width, "line {}: {line}", index + 1);
        rows.push(cells);
    }
    rows
}

#[test]
fn wrong_rows_are_found() {
    let tests = BTreeSet::from(["v_01_x".to_owned()]);
    let head = "| case | statement | tests |\n|---|---|---|\n";
    let problems = |rows: &str| problems_of_contracts(&format!("{head}{rows}"), &tests);
    let good = "| V-01 | a \\| b | `v_01_x` |\n";
    let baseline = problems(good);
    let rows: u32 = CASES.iter().map(|(_, count)| count).sum();
    assert_eq!(baseline.len() as u32, rows - 1, "{baseline:?}");
    assert!(baseline.contains(&"V-02: no row".to_owned()));
    for (row, expected) in [
        ("| V-02 | x | `v_02_y` |", "V-02: there is no test `v_02_y`"),
        ("| V-02 | x | later |", "V-02: names no test"),
        ("| V-01 | x | `v_01_x` |", "V-01: two rows"),
        ("| Q-01 | x | `v_01_x` |", "Q-01: no such case"),
    ] {
        let found = problems(&format!("{good}{row}\n"));
        assert!(found.contains(&expected.to_owned()), "{row}: {found:?}");
    }
}
