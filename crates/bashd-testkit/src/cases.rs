//! Data-driven cases: TOML files with one `[[case]]` table each, so that adding a case needs no
//! Rust.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A script that must behave as under plain bash.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OracleCase {
    /// Unique in its file.
    pub name: String,
    /// The script.
    pub script: String,
    /// What it reads; `/dev/null` if not given.
    pub stdin: Option<String>,
    /// Whether it is also run with a long comment at its end. Not where that must change what bash
    /// says: syntax errors name lines, and an open quote would swallow the comment.
    #[serde(default = "yes")]
    pub pad: bool,
}

/// A case with a name that tells it from the others of its file.
pub trait Named {
    /// The name.
    fn name(&self) -> &str;
}

impl Named for OracleCase {
    fn name(&self) -> &str {
        &self.name
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "T: DeserializeOwned")]
struct File<T> {
    case: Vec<T>,
}

fn yes() -> bool {
    true
}

/// Loads all cases of all `*.toml` files of a directory, in order, each under the name `file/case`.
pub fn load<T: DeserializeOwned + Named>(directory: &Path) -> Vec<(String, T)> {
    let entries = fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("cases in {}: {error}", directory.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable directory").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();
    files.iter().flat_map(|file| load_file(file)).collect()
}

fn load_file<T: DeserializeOwned + Named>(path: &Path) -> Vec<(String, T)> {
    let text = fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cases of {}: {error}", path.display()));
    let file: File<T> =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut seen = BTreeSet::new();
    let with_id = |case: T| {
        let id = format!("{stem}/{}", case.name());
        assert!(seen.insert(id.clone()), "two cases are called {id}");
        (id, case)
    };
    file.case.into_iter().map(with_id).collect()
}
