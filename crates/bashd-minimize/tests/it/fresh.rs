//! Outputs that nobody recorded, written by hand with their facts before they were measured: every
//! fact is in what is shown, and nothing in it is false.
//!
//! `tests/fresh/README.md` says how they came to be.

use crate::outside::judged_facts;
use bashd_minimize::{FilterSettings, Subject, minimize, rebuild};
use std::fs;
use std::path::Path;

/// What a fact is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FactForm {
    /// A line of the output.
    Line,
    /// A piece of one.
    Piece,
}

/// A written output, and what of it is a fact.
struct FreshOutput {
    name: String,
    command: String,
    exit: i32,
    raw: String,
    facts: Vec<String>,
}

/// The outputs of one folder, in order.
fn outputs(folder: &str) -> Vec<FreshOutput> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fresh");
    let entries = fs::read_dir(root.join(folder)).expect("the folder");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "bytes"))
        .collect();
    paths.sort();
    let read = |path: &Path| fs::read_to_string(path).expect("a text");
    let output = |path: &Path| {
        let text = read(path);
        let (command, rest) = text.split_once('\n').expect("a command");
        let (exit, raw) = rest.split_once('\n').expect("a status");
        let name = path.file_stem().expect("a name");
        FreshOutput {
            name: name.to_string_lossy().into_owned(),
            command: command.strip_prefix("$ ").expect("a command").to_owned(),
            exit: exit
                .strip_prefix("exit ")
                .and_then(|status| status.parse().ok())
                .expect("a status"),
            raw: raw.to_owned(),
            facts: read(&path.with_extension("facts"))
                .lines()
                .map(str::to_owned)
                .collect(),
        }
    };
    paths.iter().map(|path| output(path)).collect()
}

/// Nothing is lost or false of the outputs of a folder, which has at least so many.
fn check(folder: &str, least: usize, form: FactForm) -> String {
    let all = outputs(folder);
    assert!(all.len() >= least, "{} outputs", all.len());
    let (mut facts, mut shorter) = (0, 0);
    let mut wrong = Vec::new();
    for one in &all {
        facts += one.facts.len();
        for fact in &one.facts {
            let is_there = match form {
                FactForm::Line => one.raw.split(['\n', '\r']).any(|line| line == fact),
                FactForm::Piece => one.raw.contains(fact.as_str()),
            };
            assert!(is_there, "{folder}/{} does not have {fact}", one.name);
        }
        let subject = Subject {
            command: &one.command,
            exit: Some(one.exit),
            text: &one.raw,
        };
        let Ok(digest) = minimize(subject, &FilterSettings::default()) else {
            continue;
        };
        shorter += 1;
        let (mut lost, falsehoods) = judged_facts(&one.raw, &digest.text, &one.facts);
        if form == FactForm::Piece {
            let written_out = rebuild(&digest.text).join("\n");
            lost.retain(|fact| !digest.text.contains(fact) && !written_out.contains(fact));
        }
        let name = format!("{folder}/{}", one.name);
        wrong.extend(lost.iter().map(|fact| format!("{name} lost: {fact}")));
        wrong.extend(
            falsehoods
                .iter()
                .map(|line| format!("{name} false: {line}")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    format!(
        "{folder}: {} outputs, {shorter} of them shorter, {facts} facts, none lost and nothing false",
        all.len()
    )
}

#[test]
fn no_fact_of_an_unseen_output_is_lost() {
    println!("{}", check("first", 60, FactForm::Line));
}

#[test]
fn no_fact_of_a_second_set_is_lost() {
    println!("{}", check("second", 30, FactForm::Line));
}

#[test]
fn no_fact_of_a_third_set_is_lost() {
    println!("{}", check("third", 36, FactForm::Line));
}

/// Its author had not seen the filters.
#[test]
fn no_fact_of_an_outsiders_set_is_lost() {
    println!("{}", check("fourth", 170, FactForm::Piece));
}
