//! The repository as text: its files, and the names of its tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Names of what is not ours to check.
const NOT_OURS: &[&str] = &[".git", ".venv", "node_modules", "target"];

/// A text file of the repository.
pub struct Source {
    /// Path from the repository's root, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// Whether its name ends in `.extension`.
    pub fn is(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == extension)
    }

    /// Its lines that are neither blank nor only a comment, numbered from 1.
    pub fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate();
        lines
            .map(|(index, line)| (index + 1, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with("//"))
    }
}

/// The repository's root.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository's root")
}

/// All text files of the repository, in order.
pub fn all() -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root(), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 20, "only {} files found", found.len());
    found
}

/// The text of one file, if it exists.
pub fn text(path: &str) -> Option<String> {
    fs::read_to_string(root().join(path)).ok()
}

/// Names of all functions that a test runner runs: those under `#[test]` or `#[tokio::test]` that
/// are not ignored.
pub fn test_names() -> BTreeSet<String> {
    let sources = all();
    let rust = sources.iter().filter(|source| source.is("rs"));
    rust.flat_map(|source| test_names_of(&source.text))
        .collect()
}

fn test_names_of(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut is_test, mut is_ignored) = (false, false);
    for line in text.lines().map(str::trim) {
        is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
        is_ignored |= line.starts_with("#[ignore");
        let Some(name) = function_name(line) else {
            continue;
        };
        if is_test && !is_ignored {
            names.push(name.to_owned());
        }
        (is_test, is_ignored) = (false, false);
    }
    names
}

fn function_name(line: &str) -> Option<&str> {
    if line.starts_with("//") {
        return None;
    }
    let (before, after) = line.split_once("fn ")?;
    let is_declaration = before.split_whitespace().all(|word| {
        matches!(
            word,
            "pub" | "async" | "const" | "extern" | "unsafe" | "\"C\""
        ) || word.starts_with("pub(")
    });
    let name = after
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()?;
    (is_declaration && !name.is_empty()).then_some(name)
}

fn collect(directory: &Path, found: &mut Vec<Source>) {
    let entries = fs::read_dir(directory).expect("a directory of the repository");
    for entry in entries.map(|entry| entry.expect("an entry of a directory")) {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        // `.git` is a file in a linked worktree.
        if NOT_OURS.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let relative = path.strip_prefix(root()).expect("below the root");
            let path = relative.to_string_lossy().into_owned();
            found.push(Source { path, text });
        }
    }
}

#[test]
fn names_of_tests_are_found() {
    let text = "#[test]\nfn one() {}\nfn two() {}\n#[tokio::test(start_paused = true)]\nasync fn three() {}\n\
        #[test]\n#[ignore = \"x\"]\nfn four() {}\n#[test]\n#[expect(x, reason = \"a fn b\")]\nfn five() {}\n\
        // #[test] fn six() {}\nfn seven() {}\n    #[test]\n    fn eight(x in any::<u8>()) {}\n";
    assert_eq!(test_names_of(text), ["one", "three", "five", "eight"]);
}
