//! maven, gradle, sbt, javac: downloads, banners, tasks that had nothing to do.

use super::super::sheet::Sheet;
use super::{Filter, Input};

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

    fn apply<'a>(&self, input: &Input<'a>, sheet: &mut Sheet<'a>) {
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

/// `> Task :compileJava UP-TO-DATE`
fn idle_task(line: &str) -> Option<&str> {
    let (task, state) = line.strip_prefix("> Task ")?.split_once(' ')?;
    matches!(
        state.trim(),
        "UP-TO-DATE" | "NO-SOURCE" | "FROM-CACHE" | "SKIPPED"
    )
    .then_some(task)
}
