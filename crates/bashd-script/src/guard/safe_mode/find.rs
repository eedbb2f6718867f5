//! find in strict safe mode: it searches, and does nothing with what it finds.

use super::StepWord;
use super::policy::PolicyDenial;

/// Predicates that start programs, delete, or write files. find has no abbreviations.
const ACTS: &[&str] = &[
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls",
];

pub(super) fn check(arguments: &[StepWord]) -> Result<(), PolicyDenial> {
    let acts =
        |word: &&StepWord| matches!(word, StepWord::Literal(text) if ACTS.contains(&text.as_str()));
    match arguments.iter().find(acts) {
        Some(StepWord::Literal(predicate)) => Err(PolicyDenial::new(
            format!("find with {predicate}"),
            "find with tests and -print, -print0, -printf, -ls",
        )),
        _ => Ok(()),
    }
}
