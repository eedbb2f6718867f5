//! What a person's commands leave to the next one: variables, functions, aliases, options, the
//! directory.
//!
//! Each command has a terminal and so a shell of its own. `state.sh` has that shell take over what
//! the one before left, and leave its own: to the person who types, they are one shell. Only the
//! user can read the files, which go away with the console.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// What takes the state over, after the name of its file.
const SCRIPT: &str = include_str!("state.sh");

/// The state that the console's commands share.
pub(super) struct SharedState {
    file: PathBuf,
}

impl SharedState {
    /// A state with nothing in it, below this directory.
    pub(super) fn below(directory: &Path) -> Self {
        let mut builder = std::fs::DirBuilder::new();
        // Without it every command just has a fresh shell.
        let _ = builder.recursive(true).mode(0o700).create(directory);
        Self {
            file: directory.join(format!("console-{}", std::process::id())),
        }
    }

    /// What a shell evaluates to share it.
    pub(super) fn setup(&self) -> String {
        format!("__bashd_state={}\n{SCRIPT}", self.quoted())
    }

    /// A command that takes it over for good, if a command has left something.
    pub(super) fn takeover(&self) -> Option<String> {
        self.file.exists().then(|| format!(". {}", self.quoted()))
    }

    /// The directory in which the last command ended, if it is still there.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        let path = std::fs::read(self.part("directory")).ok()?;
        Some(PathBuf::from(OsString::from_vec(path))).filter(|path| path.is_dir())
    }

    fn part(&self, name: &str) -> PathBuf {
        self.file.with_extension(name)
    }

    fn quoted(&self) -> String {
        let path = self.file.to_string_lossy();
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

impl Drop for SharedState {
    fn drop(&mut self) {
        for path in [self.file.clone(), self.part("directory"), self.part("new")] {
            let _ = std::fs::remove_file(path);
        }
    }
}
