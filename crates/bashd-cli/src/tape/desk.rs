//! Where servers that one client started meet: each takes a number, and notes what went wrong.
//!
//! Agents throw away what their servers say on stderr, so whoever started the agent reads it here.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Servers that one client may start.
const MOST: u32 = 1000;

/// The file with what went wrong.
const PROBLEMS: &str = "problems";

/// A directory that servers share.
pub(super) struct Desk(PathBuf);

impl Desk {
    /// The desk in this directory.
    pub(super) fn at(directory: PathBuf) -> Self {
        Self(directory)
    }

    /// The next number, from 1, which nobody else has; `None` if the desk is gone.
    pub(super) fn take_number(&self) -> Option<u32> {
        (1..MOST).find(|number| {
            let file = self.0.join(format!("server-{number}"));
            fs::File::create_new(file).is_ok()
        })
    }

    /// How many servers were started.
    pub(super) fn servers(&self) -> u32 {
        let is_taken = |number: &u32| self.0.join(format!("server-{number}")).exists();
        (1..MOST).take_while(is_taken).count() as u32
    }

    /// Notes what went wrong.
    pub(super) fn note(&self, problem: &str) {
        let file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.0.join(PROBLEMS));
        // Nobody else would hear of a failure either.
        let _ = file.and_then(|mut file| writeln!(file, "{problem}"));
    }

    /// What went wrong.
    pub(super) fn problems(&self) -> String {
        fs::read_to_string(self.0.join(PROBLEMS)).unwrap_or_default()
    }
}

/// The tape of the server with this number: the first has the name that was given.
pub(super) fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{number}"));
    path.with_file_name(name)
}
