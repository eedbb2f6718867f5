//! The recorded outputs of `tests/outside/`, and the half that each tool belongs to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Which of two halves a tool belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Half {
    /// Who writes filters may look at these.
    Developed,
    /// Nobody looks at these while writing filters.
    HeldOut,
}

/// One run of a tool on a public project.
pub(crate) struct RecordedOutput {
    pub(crate) tool: String,
    pub(crate) name: String,
    pub(crate) half: Half,
    pub(crate) command: String,
    pub(crate) exit: i32,
    pub(crate) raw: String,
}

impl RecordedOutput {
    /// Whether it is one of the failures that the other corpus lacks.
    pub(crate) fn is_chosen_failure(&self) -> bool {
        self.name.starts_with("failure_")
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outside")
}

/// The half of each tool.
fn halves() -> BTreeMap<String, Half> {
    let text = fs::read_to_string(root().join("halves")).expect("the halves");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.map(|line| {
        let (half, tool) = line.split_once(' ').expect("a half and a tool");
        let half = match half {
            "developed" => Half::Developed,
            "held-out" => Half::HeldOut,
            other => panic!("{other} is no half"),
        };
        (tool.to_owned(), half)
    });
    rows.collect()
}

/// Every recorded output, in order.
pub(crate) fn recordings() -> Vec<RecordedOutput> {
    let halves = halves();
    let mut found = Vec::new();
    for tool in sorted(&root().join("recordings")) {
        let name = stem_of(&tool);
        let half = *halves
            .get(&name)
            .unwrap_or_else(|| panic!("{name} is in no half"));
        let files = sorted(&tool).into_iter();
        let files = files.filter(|file| file.extension().is_some_and(|kind| kind == "bytes"));
        found.extend(files.map(|file| recorded_output(&file, &name, half)));
    }
    found
}

fn recorded_output(file: &Path, tool: &str, half: Half) -> RecordedOutput {
    let bytes = fs::read(file).expect("a recorded output");
    let text = String::from_utf8_lossy(&bytes);
    let parts = text.split_once('\n').and_then(|(command, rest)| {
        let (exit, raw) = rest.split_once('\n')?;
        let exit = exit.strip_prefix("exit ")?.parse().ok()?;
        Some((command.strip_prefix("$ ")?, exit, raw))
    });
    let (command, exit, raw) =
        parts.unwrap_or_else(|| panic!("{}: no command and status", file.display()));
    RecordedOutput {
        tool: tool.to_owned(),
        name: stem_of(file),
        half,
        command: command.to_owned(),
        exit,
        raw: raw.to_owned(),
    }
}

fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a folder of outputs");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

fn stem_of(path: &Path) -> String {
    let stem = path.file_stem().expect("a name");
    stem.to_string_lossy().into_owned()
}
