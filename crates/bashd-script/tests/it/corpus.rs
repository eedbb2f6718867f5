//! The corpus: commands as attackers, careless models and everybody write them, with the class of
//! each.
//!
//! A row is what is wanted, a class, a rule, a command. With all rules that are on by default a bad
//! row must be denied or asked about, and an everyday row must pass. With its own rule alone it
//! must be judged as wanted.

use crate::documented::{directory, documented};
use bashd_script::guard::{
    Ancestor, DEFAULT_RULES, Decision, Guard, RULES, Rule, Verdict, default_rules,
};
use bashd_script::script::Script;
use std::collections::{BTreeMap, BTreeSet};
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
    // What the documents' rules have against everyday work below a home is not shared by the
    // default.
    let everyday = ["rm -rf ~/.cache/pip", "git add -A", "rm -rf ~/x"];
    let guard = Guard::new([DEFAULT_RULES], &[]);
    for command in everyday {
        assert_eq!(decided(&documented(), command), Decision::Deny, "{command}");
        assert_eq!(decided(&guard, command), Decision::Allow, "{command}");
    }
}

#[test]
fn the_corpus_is_large_on_both_sides() {
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
}

/// What a rule does to what offends, as it says itself.
fn verdicts_of(rule: &Rule) -> Vec<Decision> {
    let text = rule.denies;
    let asks = text.starts_with("asks ") || text.contains("; asks ");
    let denies = !text.starts_with("asks ") || text.contains("; denies ");
    let both = [(Decision::Deny, denies), (Decision::Ask, asks)];
    let both = both.into_iter().filter(|(_, does)| *does);
    both.map(|(decision, _)| decision).collect()
}

#[test]
fn every_rule_has_lines_for_each_of_its_verdicts_and_no_others() {
    let rows = rows();
    for rule in RULES {
        let verdicts = verdicts_of(rule);
        let count = |wanted: Decision| {
            let mine = rows.iter().filter(|row| row.rule == rule.name);
            mine.filter(|row| row.wanted == wanted).count()
        };
        for decision in [Decision::Deny, Decision::Ask] {
            let count = count(decision);
            if verdicts.contains(&decision) {
                assert!(count >= 4, "{}: {count} lines of {decision:?}", rule.name);
            } else {
                assert_eq!(
                    count, 0,
                    "{} does not say that it does {decision:?}",
                    rule.name
                );
            }
        }
        assert!(
            count(Decision::Allow) >= 8,
            "{} allows too little",
            rule.name
        );
    }
}

/// Everything that a model reads of an objection: one line that says what is wrong and what to do,
/// and the place in the text.
#[test]
fn every_objection_is_one_line_that_helps_and_points_at_the_command() {
    // `no_blind_git_add` has a document's text, which says both in its own words.
    let guard = Guard::new([DEFAULT_RULES], &[]);
    let mut seen = BTreeSet::new();
    for row in rows().iter().filter(|row| row.wanted != Decision::Allow) {
        let script = Script::parse(&row.command);
        let objections = guard.objections(&script, &row.command, no_processes);
        for objection in objections {
            let what = format!("{}: {}", objection.rule, row.command);
            assert!(!objection.message.contains('\n'), "{what}");
            assert!(
                objection.message.len() <= 240,
                "{what}: {}",
                objection.message
            );
            let instead = objection.instead.as_deref().unwrap_or_default();
            assert!(!instead.is_empty(), "{what}: nothing instead");
            assert!(
                objection.message.ends_with(instead),
                "{what}: {}",
                objection.message
            );
            let span = objection.span.expect("a place");
            let text = row.command.get(span.start..span.end);
            assert!(
                text.is_some_and(|text| !text.trim().is_empty()),
                "{what}: {span:?}"
            );
            seen.insert(objection.rule);
        }
    }
    assert_eq!(seen.len(), default_rules().count(), "{seen:?}");
}

fn no_processes() -> &'static [Ancestor] {
    &[]
}

/// The example of a rule offends, and what it recommends is said so that it could be followed.
#[test]
fn every_rule_is_told_whole() {
    for rule in RULES {
        let given = decided(&Guard::new([rule.name], &[]), rule.example);
        assert!(
            verdicts_of(rule).contains(&given),
            "{}: {given:?}",
            rule.name
        );
        assert!(
            !rule.message.ends_with('.') && !rule.message.contains('\n'),
            "{}",
            rule.name
        );
        let is_by_default = default_rules().any(|name| name == rule.name);
        assert_eq!(
            rule.instead.starts_with(char::is_uppercase),
            is_by_default,
            "{}",
            rule.name
        );
        assert!(
            !rule.denies.is_empty() && rule.denies.len() <= 200,
            "{}",
            rule.name
        );
    }
}
