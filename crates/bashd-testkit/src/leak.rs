//! The leak check: a test must leave no process, no descriptor and no file behind.
//!
//! [`Leaks::watch`] records what is there when a test starts; the check at its end waits, bounded,
//! until nothing more is there, and else panics with the list. A leak is
//! - a process that carries one of the test's marks in its environment, wherever it is in the
//!   process tree,
//! - a process below the test that was not there before, also one that has ended and was not waited
//!   for,
//! - an open descriptor of the test that was not open before,
//! - a file in a watched directory that was not there before and is not allowed to stay.
//!
//! All but the last are facts of the whole process, so that tests which watch take turns where
//! several run in one process (`cargo test`); under nextest each has a process of its own. Drop
//! what you started (engines, runtimes) before the check: locals that are declared after the watch
//! are.

use crate::home::AT_A_PLACE;
use crate::keeper_hook::{MARK, process_mark};
use crate::processes::{self, Process};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// How long things may take to go away after a test: ends are asynchronous, and the machine may be
/// busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often descriptors and files are looked at; ends of processes are waited for by event.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A watch that ends in the check.
#[derive(Debug)]
pub struct Leaks {
    marks: Vec<String>,
    descriptors: BTreeMap<i32, String>,
    family: BTreeSet<Process>,
    directories: Vec<Watched>,
    patience: Duration,
    done: bool,
    _turn: Turn,
}

/// Something that a test left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leak {
    /// A process that carries the test's mark.
    Marked(Process),
    /// A process below the test.
    Child(Process),
    /// An open descriptor, and what it is.
    Descriptor(i32, String),
    /// A file in a watched directory.
    File(PathBuf),
}

#[derive(Debug)]
struct Watched {
    path: PathBuf,
    allowed: Vec<String>,
    before: BTreeSet<PathBuf>,
}

/// Makes the runtime open its process-wide descriptors (its signal driver has a pair, where another
/// crate of the build asks for that feature), so that no test is taken to have left them.
fn open_what_the_runtime_keeps() {
    let is_open_already = tokio::runtime::Handle::try_current().is_ok();
    if !is_open_already {
        drop(
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build(),
        );
    }
}

impl Leaks {
    /// Records what is there now.
    pub fn watch() -> Self {
        let turn = Turn::take();
        open_what_the_runtime_keeps();
        Self {
            marks: vec![process_mark().to_owned()],
            descriptors: open_descriptors(),
            family: processes::below_this_one().into_iter().collect(),
            directories: Vec::new(),
            patience: PATIENCE,
            done: false,
            _turn: turn,
        }
    }

    /// Also looks for processes that carry this mark.
    pub fn watch_mark(&mut self, mark: impl Into<String>) {
        self.marks.push(mark.into());
    }

    /// Also looks for files in `path`, which need not exist yet; entries of it named in `allowed`
    /// may stay.
    ///
    /// Directories right in `path` may stay as well: they are places, made once. Those below are
    /// somebody's.
    pub fn watch_directory(&mut self, path: impl Into<PathBuf>, allowed: &[&str]) {
        let path = path.into();
        self.directories.push(Watched {
            before: entries_below(&path),
            allowed: allowed.iter().map(ToString::to_string).collect(),
            path,
        });
    }

    /// Sets how long things may take to go away.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// What is left behind at this moment.
    pub fn look(&self) -> Vec<Leak> {
        let mut marked: Vec<Process> = self
            .marks
            .iter()
            .flat_map(|mark| processes::with_variable(MARK, mark))
            .collect();
        marked.sort();
        marked.dedup();
        let known = |process: &Process| {
            let mut all = self.family.iter().chain(&marked);
            all.any(|other| (other.pid, other.started) == (process.pid, process.started))
        };
        let children: Vec<Process> = processes::below_this_one()
            .into_iter()
            .filter(|process| !known(process))
            .collect();
        let descriptors = open_descriptors()
            .into_iter()
            .filter(|(fd, target)| self.descriptors.get(fd) != Some(target));
        let files = self.directories.iter().flat_map(Watched::new_files);
        let mut leaks: Vec<Leak> = marked.into_iter().map(Leak::Marked).collect();
        leaks.extend(children.into_iter().map(Leak::Child));
        leaks.extend(descriptors.map(|(fd, target)| Leak::Descriptor(fd, target)));
        leaks.extend(files.map(Leak::File));
        if is_at_a_place() {
            leaks.retain(|leak| !leak.is_of_place());
        }
        leaks
    }

    /// Waits until nothing is left, and panics with the list if something stays.
    pub fn finish(mut self) {
        self.check();
    }

    fn check(&mut self) {
        self.done = true;
        if is_at_a_place() {
            // They stay for a while by design, and end with what they have ready.
            let marked = self.marks.iter();
            marked
                .flat_map(|mark| processes::with_variable(MARK, mark))
                .filter(|process| process.command.contains(" outpost "))
                .for_each(|process| process.kill());
        }
        let deadline = Instant::now() + self.patience;
        let mut leaks = self.look();
        while !leaks.is_empty() && Instant::now() < deadline {
            match leaks.first() {
                Some(Leak::Marked(process) | Leak::Child(process)) if process.state != 'Z' => {
                    process.wait_for_end(LOOK_EVERY * 5);
                }
                _ => std::thread::sleep(LOOK_EVERY),
            }
            leaks = self.look();
        }
        if leaks.is_empty() {
            return;
        }
        let list: Vec<String> = leaks.iter().map(|leak| format!("  {leak}")).collect();
        end_all(&leaks);
        panic!("the test left this behind:\n{}", list.join("\n"));
    }
}

impl Drop for Leaks {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if std::thread::panicking() {
            // The test has failed already; its processes must not disturb the next ones.
            end_all(&self.look());
        } else {
            self.check();
        }
    }
}

/// Ends what a failed test left running; only what is certainly its own.
fn end_all(leaks: &[Leak]) {
    for leak in leaks {
        match leak {
            Leak::Marked(process) | Leak::Child(process) => process.kill(),
            Leak::Descriptor(..) | Leak::File(_) => {}
        }
    }
}

impl Leak {
    /// Whether a place has it as long as there is one: its processes, and the pipes of its carrier,
    /// which close when the test's runtime goes on.
    fn is_of_place(&self) -> bool {
        match self {
            Self::Marked(process) | Self::Child(process) => {
                process.is_of_outpost() || process.state == 'Z'
            }
            Self::Descriptor(_, target) => target.starts_with("pipe:"),
            Self::File(_) => false,
        }
    }
}

/// Whether tests run all their calls through a place.
fn is_at_a_place() -> bool {
    std::env::var_os(AT_A_PLACE).is_some()
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Marked(Process {
                pid,
                state,
                command,
                ..
            }) => {
                write!(
                    f,
                    "process {pid} ({state}) `{command}`, which carries the test's mark"
                )
            }
            Self::Child(Process {
                pid,
                state,
                command,
                ..
            }) => {
                write!(
                    f,
                    "process {pid} ({state}) `{command}`, which is below the test"
                )
            }
            Self::Descriptor(fd, target) => write!(f, "descriptor {fd} -> {target}"),
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}

impl Watched {
    fn new_files(&self) -> Vec<PathBuf> {
        let is_new = |path: &PathBuf| {
            let relative = path.strip_prefix(&self.path).unwrap_or(path);
            let is_place = relative.iter().count() == 1 && path.is_dir();
            let is_allowed = self.allowed.iter().any(|name| relative.starts_with(name));
            !is_place
                && !is_allowed
                && !is_artifact(path)
                && !is_ended_job(path)
                && !self.before.contains(path)
        };
        entries_below(&self.path)
            .into_iter()
            .filter(is_new)
            .collect()
    }
}

/// Whether this is an ended job, or a file of one: on a busy machine, a process that takes long to
/// end becomes a job for a moment, and ended jobs stay so that people can look at them.
fn is_ended_job(path: &Path) -> bool {
    let has_status = |directory: &Path| directory.join("status.json").exists();
    has_status(path) || path.parent().is_some_and(has_status)
}

/// Whether this is stored output that is meant to stay: a directory with a whole artifact, or a
/// file of it.
fn is_artifact(path: &Path) -> bool {
    let has_record = |directory: &Path| directory.join("artifact.json").exists();
    let name = path.file_name().and_then(|name| name.to_str());
    let is_part = [
        "artifact",
        "artifact.tail",
        "artifact.rest",
        "artifact.json",
        "times",
    ];
    has_record(path)
        || name.is_some_and(|name| is_part.contains(&name)) && path.parent().is_some_and(has_record)
}

fn entries_below(directory: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let Ok(entries) = fs::read_dir(directory) else {
        return found;
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(entries_below(&entry.path()));
        }
        found.insert(entry.path());
    }
    found
}

/// The open descriptors of this process, but for the one that reads the list.
fn open_descriptors() -> BTreeMap<i32, String> {
    let own_list = format!("/proc/{}/fd", std::process::id());
    // bashd watches the list of mounts: by one descriptor for the whole process, once it has
    // looked.
    let mounts = format!("/proc/{}/mountinfo", std::process::id());
    let entries = fs::read_dir("/proc/self/fd").expect("/proc shows descriptors");
    entries
        .flatten()
        .filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            let fd = entry.file_name().to_str()?.parse().ok()?;
            Some((fd, target.to_string_lossy().into_owned()))
        })
        .filter(|(_, target)| *target != own_list && *target != mounts)
        .collect()
}

/// The right to watch this process; held by one test's thread at a time, as often as it likes.
#[derive(Debug)]
struct Turn;

static HOLDER: Mutex<Option<(ThreadId, usize)>> = Mutex::new(None);
static FREED: Condvar = Condvar::new();

impl Turn {
    fn take() -> Self {
        let me = std::thread::current().id();
        let mut holder = HOLDER.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *holder {
                None => *holder = Some((me, 1)),
                Some((thread, count)) if thread == me => *holder = Some((me, count + 1)),
                Some(_) => {
                    holder = FREED.wait(holder).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            }
            return Self;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut holder = HOLDER.lock().unwrap_or_else(PoisonError::into_inner);
        *holder = holder.and_then(|(thread, count)| (count > 1).then_some((thread, count - 1)));
        FREED.notify_one();
    }
}
