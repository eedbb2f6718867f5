//! The corpus: commands as attackers, careless models and everybody write them, with the class of each.
//!
//! A row is what is wanted, a class, a rule, a command. With all rules that are on by default a bad row must
//! be denied or asked about, and an everyday row must pass. With its own rule alone it must be judged as wanted.

use crate::documented::{directory, documented};
use bashd_script::guard::{DEFAULT_RULES, Decision, Guard, RULES, Verdict};
use bashd_script::script::Script;
use std::collections::BTreeMap;
use std::fs;

/// What a guard decides about a script.
pub(crate) fn decided(guard: &Guard, script: &str) -> Decision {
    match guard.check(&Script::parse(script), script) {
        Verdict::Allow => Decision::Allow,
        Verdict::Ask(_) => Decision::Ask,
        Verdict::Deny(_) => Decision::Deny,
    }
}

struct Row {
    wanted: Decision,
    class: String,
    rule: String,
    command: String,
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(directory().join("corpus.tsv")).expect("the corpus");
    let rows = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.splitn(4, '\t').collect();
        let wanted = match cells[0] {
            "deny" => Decision::Deny,
            "ask" => Decision::Ask,
            "allow" => Decision::Allow,
            other => panic!("{line}: what is {other}?"),
        };
        Row {
            wanted,
            class: cells[1].to_owned(),
            rule: cells[2].to_owned(),
            command: cells[3].replace("\\n", "\n"),
        }
    });
    rows.collect()
}

#[test]
fn each_row_is_judged_as_wanted_by_its_own_rule() {
    let mut wrong = Vec::new();
    for row in rows().iter().filter(|row| row.rule != "-") {
        let given = decided(&Guard::new([row.rule.as_str()], &[]), &row.command);
        if given != row.wanted {
            wrong.push(format!(
                "{} {:?}, not {given:?}: {}",
                row.rule, row.wanted, row.command
            ));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn with_default_settings_bad_rows_are_caught_and_everyday_rows_pass() {
    let guard = Guard::new([DEFAULT_RULES], &[]);
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows() {
        let is_default = row.rule != "no_blind_git_add";
        let given = decided(&guard, &row.command);
        let is_bad = row.wanted != Decision::Allow && is_default;
        if is_bad != (given != Decision::Allow) {
            wrong.entry(row.class).or_default().push(row.command);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_documents_table_and_the_default_rules_agree_on_what_is_catastrophic() {
    // What the documents' rules have against everyday work below a home is not shared by the default.
    let everyday = ["rm -rf ~/.cache/pip", "git add -A", "rm -rf ~/x"];
    let guard = Guard::new([DEFAULT_RULES], &[]);
    for command in everyday {
        assert_eq!(decided(&documented(), command), Decision::Deny, "{command}");
        assert_eq!(decided(&guard, command), Decision::Allow, "{command}");
    }
}

#[test]
fn the_corpus_is_large_and_every_rule_is_on_both_sides() {
    let rows = rows();
    let count = |is_bad: bool| {
        rows.iter()
            .filter(|row| (row.wanted != Decision::Allow) == is_bad)
            .count()
    };
    assert!(
        count(true) >= 400 && count(false) >= 400,
        "{} {}",
        count(true),
        count(false)
    );
    for rule in RULES {
        let of = |wanted: fn(Decision) -> bool| {
            let mine = rows.iter().filter(|row| row.rule == rule.name);
            mine.filter(|row| wanted(row.wanted)).count()
        };
        assert!(
            of(|wanted| wanted == Decision::Allow) >= 3,
            "{} allows too little",
            rule.name
        );
        assert!(
            of(|wanted| wanted != Decision::Allow) >= 3,
            "{} catches too little",
            rule.name
        );
    }
}
