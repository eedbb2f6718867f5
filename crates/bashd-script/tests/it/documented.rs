//! The guard as the documents have it, and their table of cases. Shared with the tests of `bashd`.

use bashd_script::guard::{Guard, Verdict};
use bashd_script::script::Script;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the guard's cases are, from any crate of the workspace.
pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bashd-script/tests/cases/guard")
}

/// The three rules of the documents.
pub(crate) fn documented() -> Guard {
    Guard::new(
        ["no_blind_git_add", "no_force_push", "no_dangerous_rm"],
        &[],
    )
    .to_the_letter()
}

/// The rule that denies a script, if one does.
pub(crate) fn denied_by(guard: &Guard, script: &str) -> Option<String> {
    match guard.check(&Script::parse(script), script) {
        Verdict::Allow => None,
        Verdict::Ask(objection) | Verdict::Deny(objection) => Some(objection.rule),
    }
}

/// The rows of the documents' table: id, script, what is wanted.
pub(crate) fn documented_rows() -> Vec<(String, String, bool)> {
    let text = fs::read_to_string(directory().join("documented/table.tsv")).expect("the table");
    let rows = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let script = cells[1].replace("\\n", "\n").replace("\\t", "\t");
        let is_denied = match cells[5] {
            "BLOCK" => true,
            "allow" => false,
            other => panic!("{line}: what is {other}?"),
        };
        (cells[0].to_owned(), script, is_denied)
    });
    rows.collect()
}
