//! The guard on cases that are data: `tests/cases/guard/`. To add one, add a line there.

use crate::documented::{denied_by, directory, documented, documented_rows};
use bashd_script::guard::{Guard, RULES};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// One file: scripts that a rule denies, and neighbours that it does not.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    deny: Vec<String>,
    allow: Vec<String>,
}

/// Every case file by its rule's name.
fn files() -> BTreeMap<String, Cases> {
    let entries = fs::read_dir(directory()).expect("the cases of the guard");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let files = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a readable case file");
        let cases =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, cases)
    };
    files.map(read).collect()
}

/// Scripts that some rule denies, with that rule's name; for tests that change them.
pub(crate) fn denied() -> Vec<(String, String)> {
    let files = files().into_iter();
    let of_rules = files.filter(|(name, _)| RULES.iter().any(|rule| rule.name == name));
    of_rules
        .flat_map(|(name, cases)| {
            cases
                .deny
                .into_iter()
                .map(move |script| (name.clone(), script))
        })
        .collect()
}

/// Every script of the case files, denied or not.
pub(crate) fn all_scripts() -> Vec<String> {
    let files = files().into_values();
    files
        .flat_map(|cases| cases.deny.into_iter().chain(cases.allow))
        .collect()
}

#[test]
fn every_rule_judges_its_cases_right() {
    let files = files();
    for rule in RULES {
        assert!(
            files.contains_key(rule.name),
            "{} has no case file",
            rule.name
        );
    }
    let mut wrong = Vec::new();
    for (name, cases) in &files {
        // A file that is not named after a rule is about the three of the documents.
        let guard = match RULES.iter().find(|rule| rule.name == name) {
            Some(rule) => Guard::new([rule.name], &[]),
            None => documented(),
        };
        let unique: BTreeSet<&String> = cases.deny.iter().chain(&cases.allow).collect();
        assert_eq!(
            unique.len(),
            cases.deny.len() + cases.allow.len(),
            "{name}: a case is there twice"
        );
        for script in &cases.deny {
            if denied_by(&guard, script).is_none() {
                wrong.push(format!("{name}: must be denied: {script}"));
            }
        }
        for script in &cases.allow {
            if let Some(rule) = denied_by(&guard, script) {
                wrong.push(format!(
                    "{name}: must be allowed, but {rule} denies: {script}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn there_are_enough_cases_on_both_sides() {
    let files = files();
    let count = |of: fn(&Cases) -> usize| files.values().map(of).sum::<usize>();
    let (deny, allow) = (
        count(|cases| cases.deny.len()),
        count(|cases| cases.allow.len()),
    );
    assert!(deny + allow >= 300, "{deny} + {allow}");
    assert!(
        deny.abs_diff(allow) * 5 <= deny + allow,
        "{deny} and {allow} are not about equal"
    );
}

#[test]
fn p_29_every_row_of_the_documented_table() {
    let rows = documented_rows();
    assert_eq!(rows.len(), 169);
    let guard = documented();
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(_, script, is_denied)| denied_by(&guard, script).is_some() != *is_denied)
        .map(|(id, script, is_denied)| format!("{id} (denied: {is_denied}): {script}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
