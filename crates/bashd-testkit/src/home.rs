//! A hermetic place for one test: directories of its own, an environment of its own, the leak check
//! at its end.
//!
//! Nothing of the machine's user is read or written: no home, no configuration, no locale, no
//! variable but `PATH`.

use crate::keeper_hook::{MARK, fresh_mark};
use crate::leak::Leaks;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What may stay in the state directory after a test: the ledger, the feed, what was said in
/// sessions of `acp`, the numbers of artifacts, what shells start with, the places of all jobs, the
/// mark of the last sweep, which clients a server had, and where a run could be seen whose keeper
/// and engine were both killed.
const MAY_STAY: &[&str] = &[
    "said",
    "acp",
    "artifacts",
    "clients",
    "feed",
    "key",
    "ledger",
    "live",
    "runs/bell",
    "runs/names",
    "runs/names.lock",
    "runs/swept",
    "runs/clock",
    "shells",
];

/// Set, to the program that is an outpost there, where tests run all their calls through a place.
pub const AT_A_PLACE: &str = "BASHD_TEST_AT_A_PLACE";

/// Directories and environment of one test. Dropping it checks for leaks, then removes everything.
#[derive(Debug)]
pub struct Home {
    // Declared first, checked first: the directories must still be there.
    leaks: Option<Leaks>,
    mark: String,
    root: TempDir,
}

impl Home {
    /// Makes a fresh home, and starts to watch for leaks.
    pub fn new() -> Self {
        let root = TempDir::with_prefix("bashd-test-").expect("a temporary directory");
        let mark = fresh_mark();
        let mut home = Self {
            leaks: None,
            mark,
            root,
        };
        for directory in [home.home(), home.workspace(), home.tmp(), home.config()] {
            fs::create_dir_all(&directory).expect("a directory of the test's home");
        }
        let mut leaks = Leaks::watch();
        leaks.watch_mark(home.mark.clone());
        leaks.watch_directory(home.state(), &may_stay());
        leaks.watch_directory(home.tmp(), &[]);
        home.leaks = Some(leaks);
        home
    }

    /// The directory that holds all the others.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// `HOME`.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// bashd's state directory, as it follows from `HOME`. Not made yet.
    pub fn state(&self) -> PathBuf {
        self.home().join(".local/state/bashd")
    }

    /// bashd's configuration directory, as it follows from `HOME`; empty.
    pub fn config(&self) -> PathBuf {
        self.home().join(".config/bashd")
    }

    /// Where commands run; the test may leave there what it likes.
    pub fn workspace(&self) -> PathBuf {
        self.root().join("workspace")
    }

    /// `TMPDIR`; must be empty again at the end.
    pub fn tmp(&self) -> PathBuf {
        self.root().join("tmp")
    }

    /// The value of the variable that marks this test's processes.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// The whole environment for commands and for the binary.
    pub fn env(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        vec![
            ("PATH".into(), path),
            ("HOME".into(), self.home().into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("TMPDIR".into(), self.tmp().into()),
            (MARK.into(), self.mark().into()),
        ]
    }

    /// Lets this test keep further entries of the state directory, and says by its name that it
    /// means to.
    #[must_use]
    pub fn keeping_in_state(mut self, names: &[&str]) -> Self {
        let allowed: Vec<&str> = may_stay()
            .into_iter()
            .chain(names.iter().copied())
            .collect();
        let mut leaks = Leaks::watch();
        leaks.watch_mark(self.mark.clone());
        leaks.watch_directory(self.state(), &allowed);
        leaks.watch_directory(self.tmp(), &[]);
        if let Some(former) = self.leaks.replace(leaks) {
            former.finish();
        }
        self
    }

    /// Checks for leaks now, and removes everything; the same happens when a home is dropped.
    pub fn finish(mut self) {
        if let Some(leaks) = self.leaks.take() {
            leaks.finish();
        }
    }
}

/// What may stay in every test; where all calls go through a place, what its outpost keeps.
fn may_stay() -> Vec<&'static str> {
    let outpost = std::env::var_os(AT_A_PLACE).map(|_| "outpost");
    MAY_STAY.iter().copied().chain(outpost).collect()
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}
