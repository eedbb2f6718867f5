//! The guard on cases that are data: `tests/cases/guard/`. To add one, add a line there.

use crate::corpus::decided;
use crate::documented::{denied_by, directory, documented, documented_rows};
use bashd_script::guard::{DOCUMENTED, Decision, Guard, RULES};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// One file: scripts that a rule denies or asks about, and neighbours that it lets pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    deny: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    allow: Vec<String>,
}

impl Cases {
    fn len(&self) -> usize {
        self.deny.len() + self.ask.len() + self.allow.len()
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.deny.iter().chain(&self.ask).chain(&self.allow)
    }
}

/// Every case file of a directory by its rule's name.
fn files_in(directory: &Path) -> BTreeMap<String, Cases> {
    let entries = fs::read_dir(directory).expect("the cases of the guard");
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

/// The cases of the rules, by name.
fn files() -> BTreeMap<String, Cases> {
    files_in(&directory())
}

/// The cases of the documents' rules, to the letter.
fn documented_files() -> BTreeMap<String, Cases> {
    files_in(&directory().join("documented"))
}

/// Scripts that some rule denies, with that rule's name; for tests that change them.
pub(crate) fn denied() -> Vec<(String, String)> {
    let files = files().into_iter();
    files
        .flat_map(|(name, cases)| {
            let all = cases.deny.into_iter().chain(cases.ask);
            all.map(move |script| (name.clone(), script))
        })
        .collect()
}

/// Every script of the case files, denied or not.
pub(crate) fn all_scripts() -> Vec<String> {
    let files = files()
        .into_values()
        .chain(documented_files().into_values());
    files
        .flat_map(|cases| cases.deny.into_iter().chain(cases.ask).chain(cases.allow))
        .collect()
}

fn wanted(cases: &Cases) -> impl Iterator<Item = (Decision, &String)> {
    let with = |decision| move |script| (decision, script);
    let deny = cases.deny.iter().map(with(Decision::Deny));
    let ask = cases.ask.iter().map(with(Decision::Ask));
    let allow = cases.allow.iter().map(with(Decision::Allow));
    deny.chain(ask).chain(allow)
}

fn wrong_in(name: &str, cases: &Cases, guard: &Guard) -> Vec<String> {
    let unique: BTreeSet<&String> = cases.all().collect();
    assert_eq!(unique.len(), cases.len(), "{name}: a case is there twice");
    let judged = wanted(cases).map(|(decision, script)| (decision, decided(guard, script), script));
    let wrong = judged.filter(|(wanted, given, _)| wanted != given);
    wrong
        .map(|(wanted, given, script)| format!("{name}: {wanted:?}, not {given:?}: {script}"))
        .collect()
}

#[test]
fn every_rule_judges_its_cases_right() {
    let files = files();
    let mut wrong = Vec::new();
    for rule in RULES {
        if let Some(cases) = files.get(rule.name) {
            wrong.extend(wrong_in(rule.name, cases, &Guard::new([rule.name], &[])));
        }
    }
    for name in files.keys() {
        assert!(
            RULES.iter().any(|rule| rule.name == name),
            "{name} is no rule"
        );
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_documents_rules_judge_their_cases_to_the_letter() {
    let mut wrong = Vec::new();
    for (name, cases) in &documented_files() {
        // A file that is not named after a rule is about all three.
        let guard = match DOCUMENTED.iter().find(|rule| rule.name == name) {
            Some(rule) => Guard::new([rule.name], &[]).to_the_letter(),
            None => documented(),
        };
        wrong.extend(wrong_in(name, cases, &guard));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn there_are_enough_cases_on_both_sides() {
    let files = files();
    let documented = documented_files();
    let count = |of: fn(&Cases) -> usize| {
        files
            .values()
            .chain(documented.values())
            .map(of)
            .sum::<usize>()
    };
    let (deny, allow) = (
        count(|cases| cases.deny.len() + cases.ask.len()),
        count(|cases| cases.allow.len()),
    );
    assert!(deny + allow >= 700, "{deny} + {allow}");
    assert!(
        deny.abs_diff(allow) * 3 <= deny + allow,
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
