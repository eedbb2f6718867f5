//! maven, gradle, sbt, javac: downloads, banners, tasks that had nothing to do.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput};

pub(super) struct Jvm;

impl Filter for Jvm {
    fn name(&self) -> &'static str {
        "jvm"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "mvn", "gradle", "sbt", "javac", "kotlinc", "ant", "bazelisk",
        ]
    }

    fn shows_code(&self) -> bool {
        true
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        for line in input.lines() {
            let said = line.strip_prefix("[INFO] ").unwrap_or(line);
            let is_info = said.len() != line.len() || line.trim_end() == "[INFO]";
            if let Some(item) = ["Downloading from ", "Downloaded from ", "Download "]
                .iter()
                .find_map(|start| said.strip_prefix(start))
            {
                sheet.fold("downloads", item, line);
            } else if is_info
                && said
                    .trim_matches(['-', ' ', '<', '>', '=', '[', ']'])
                    .is_empty()
                || line.trim_end() == "[INFO]"
            {
                sheet.skip("");
            } else if let Some(item) = goal(said) {
                sheet.fold("goals", item, line);
            } else if let Some(item) = said.strip_prefix("Running ").filter(|_| is_info) {
                sheet.fold("classes of tests", item, line);
            } else if is_info && is_passed_class(said) {
                // Its words suggest trouble, its numbers do not.
                sheet.fold_known("classes that passed", said, line);
            } else if is_info && is_idle(said) {
                sheet.leave("lines of progress", line);
            } else if let Some(item) = idle_task(line) {
                sheet.fold("tasks with nothing to do", item, line);
            } else if let Some(item) = line.strip_prefix("> Task ") {
                sheet.fold("tasks", item, line);
            } else if line.is_empty() {
                sheet.skip("");
            } else {
                sheet.keep(line);
            }
        }
    }
}

/// `--- maven-compiler-plugin:3.10.1:compile (default-compile) @ shop ---`
fn goal(said: &str) -> Option<&str> {
    let goal = said.strip_prefix("--- ")?.strip_suffix(" ---")?;
    goal.contains(" @ ").then_some(goal)
}

/// `Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.01 s - in demo.CartTest`: the
/// total is below.
fn is_passed_class(said: &str) -> bool {
    said.starts_with("Tests run: ")
        && said.contains(", Failures: 0, Errors: 0, ")
        && said.contains("Time elapsed: ")
}

/// What a goal prints that has next to nothing to do.
fn is_idle(said: &str) -> bool {
    [
        "skip non existing resourceDirectory ",
        "Nothing to compile",
        "Changes detected",
        "Copying ",
        "Scanning for projects",
    ]
    .iter()
    .any(|start| said.starts_with(start))
}

/// `> Task :compileJava UP-TO-DATE`
fn idle_task(line: &str) -> Option<&str> {
    let (task, state) = line.strip_prefix("> Task ")?.split_once(' ')?;
    matches!(
        state.trim(),
        "UP-TO-DATE" | "NO-SOURCE" | "FROM-CACHE" | "SKIPPED"
    )
    .then_some(task)
}
