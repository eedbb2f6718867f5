//! What a person's commands and the session of calls leave to each other: variables, functions,
//! aliases, options, the directory.
//!
//! Each command has a terminal and so a shell of its own. `state.sh` has that shell take over what
//! the one before left, and leave its own (`own_state.sh`); the session of calls does the same
//! (`session_state.sh`). To the person who types, they are one shell. Only the user can read the
//! files, which go away with the console.

use super::in_time;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// What shells need to share it, after the name of its file.
const SHARING: &str = include_str!("state.sh");

/// What the shell of a person's command does with it.
const OF_COMMAND: &str = include_str!("own_state.sh");

/// What the session of calls does with it.
const OF_SESSION: &str = include_str!("session_state.sh");

/// What a session leaves; fails in one that has never taken the state over.
const LEAVING: &str = r#"[[ -v __bashd_options ]] && {
    __bashd_now=$(builtin set +o; builtin shopt -p)
    __bashd_keep "$__bashd_now"
    builtin eval "$__bashd_now"
}"#;

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

    /// What the shell of a person's command evaluates to share it.
    pub(super) fn setup(&self) -> String {
        let file = quoted(&self.file);
        format!("__bashd_state={file}\n{SHARING}{OF_COMMAND}")
    }

    /// A command that has a session take it over, and go to this directory.
    pub(super) fn takeover(&self, directory: &Path) -> String {
        let (file, directory) = (quoted(&self.file), quoted(directory));
        format!("__bashd_state={file}\n__bashd_directory={directory}\n{SHARING}{OF_SESSION}")
    }

    /// A command that has a session leave what the next shell takes over.
    pub(super) fn leaving() -> &'static str {
        LEAVING
    }

    /// The directory in which the last command ended, if it is still there, and answers.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        let path = std::fs::read(self.part("directory")).ok()?;
        let path = PathBuf::from(OsString::from_vec(path));
        in_time(move || path.is_dir().then_some(path)).flatten()
    }

    fn part(&self, name: &str) -> PathBuf {
        self.file.with_extension(name)
    }
}

fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!("'{}'", path.replace('\'', r"'\''"))
}

impl Drop for SharedState {
    fn drop(&mut self) {
        for path in [self.file.clone(), self.part("directory"), self.part("new")] {
            let _ = std::fs::remove_file(path);
        }
    }
}
