//! find in strict safe mode: it searches, and does nothing with what it finds.

use super::StepWord;
use super::policy::PolicyDenial;

/// Predicates that start programs, delete, or write files. find has no abbreviations.
const ACTS: &[&str] = &[
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls",
];

/// Tests that take the next word, whatever it looks like.
const WITH_VALUE: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-lname",
    "-ilname",
];

pub(super) fn check(arguments: &[StepWord]) -> Result<(), PolicyDenial> {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let StepWord::Literal(text) = word else {
            continue;
        };
        if ACTS.contains(&text.as_str()) {
            return Err(PolicyDenial::new(
                format!("find with {text}"),
                "find with tests and -print, -print0, -printf, -ls",
            ));
        }
        // A pattern may become no word or several: then the next one is not a value.
        let is_value = matches!(rest.as_slice().first(), Some(StepWord::Literal(_)));
        if WITH_VALUE.contains(&text.as_str()) && is_value {
            rest.next();
        }
    }
    Ok(())
}
