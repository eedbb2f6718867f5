//! A job's directory: its files and their contents.
//!
//! The directory is the source of truth. `claim.json` is written by the engine that is about to
//! hand a run over, and by who takes the job over later (it holds owner and short name);
//! `spec.json`, `status.json` and `waiting.json` by the keeper alone; `name` and `told` by the
//! process that renames a job or first hears of its end. `lock` is locked for as long as the keeper
//! lives; the kernel releases it, whatever happens to the keeper.

use super::end_line::EndLines;
use crate::capture::Streams;
use crate::confinement::ConfinementInForce;
use crate::exit::{EndedBy, Exit};
use crate::file_lock::{LockKind, lock_within};
use crate::left_behind::LeftBehind;
use crate::refusals::Dealings;
use crate::resources::LimitsInForce;
use crate::seal::{SealKey, Unsealed};
use crate::size::Size;
use crate::spool::{NEVER_WAITS, SpoolSegment, open_to_read, read_small};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Version of this format; a reader accepts older versions, and reports newer ones.
pub const VERSION: u16 = 1;

/// Whose it is, and its short name.
pub const CLAIM: &str = "claim.json";
/// What runs, written when the run becomes a job.
pub const SPEC: &str = "spec.json";
/// How it ended, written before anybody is told.
pub const STATUS: &str = "status.json";
/// That it waits for input, while it does.
pub const WAITING: &str = "waiting.json";
/// Locked while the keeper lives.
pub const LOCK: &str = "lock";
/// The keeper's socket.
pub const CONTROL: &str = "control";
/// stdout, or both streams.
pub const OUTPUT: &str = "output";
/// stderr, if the streams are separate.
pub const STDERR: &str = "stderr";
/// Newlines before each mebibyte of the output, written at the end.
pub const INDEX: &str = "index";
/// The name that somebody gave it.
pub const NAME: &str = "name";
/// Exists once its end was delivered.
pub const TOLD: &str = "told";
/// How far its owner has been shown its streams.
pub const SEEN: &str = "seen.json";

/// How long a keeper waits for its own lock, which readers hold for a moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// What a job is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spec {
    /// [`VERSION`] of who wrote it.
    pub version: u16,
    /// The run's id, which is also the directory's name.
    pub id: String,
    /// Whose job it is, as the front end said.
    pub owner: String,
    /// Its short name among its owner's, `bg_1`.
    pub alias: String,
    /// How it became a job.
    pub kind: JobKind,
    /// Name of the profile that its call had.
    pub profile: String,
    /// The command as its caller gave it.
    pub command: String,
    /// The working directory in which it began.
    pub cwd: String,
    /// Milliseconds since 1970 at which the call began.
    pub started_ms: u64,
    /// Its time limit, in milliseconds after its start.
    pub limit_ms: u64,
    /// Whether its stdin takes more input while it runs.
    pub stdin_open: bool,
    /// The size of its terminal, if it has one.
    #[serde(default)]
    pub terminal: Option<Size>,
    /// One pipe for both streams, or two.
    pub streams: Streams,
    /// Whether its output is shown without secrets; missing in older ones.
    #[serde(default)]
    pub hides_secrets: bool,
    /// Filled in by the keeper: its resource limits, if any.
    #[serde(default)]
    pub limits: Option<LimitsInForce>,
    /// Filled in by the keeper: its confinement, if any.
    #[serde(default)]
    pub confinement: Option<ConfinementInForce>,
    /// Filled in by the keeper: the boot in which it runs.
    pub boot: String,
    /// Filled in by the keeper: the shell, which is also its process group.
    pub pid: i32,
    /// Filled in by the keeper: itself.
    pub keeper: i32,
    /// Filled in by the keeper: bytes of each stream that go to its file before the ring begins.
    pub head_bytes: u64,
    /// Filled in by the keeper: what its output file says at its end, if another process writes it
    /// in the keeper's place.
    #[serde(default)]
    pub end_lines: Option<EndLines>,
}

/// How a run became a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// Its call returned first.
    Background,
    /// Its shell ended, and left processes behind.
    Survivors,
    /// Not a job: its call still waits, and it is visible meanwhile.
    Foreground,
}

/// Where runs are visible while their calls still wait, beside the directory of jobs.
pub fn live(runs: &Path) -> PathBuf {
    runs.with_file_name("live")
}

/// How a job ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobStatus {
    /// [`VERSION`] of who wrote it.
    pub version: u16,
    /// How its shell ended.
    pub exit: Exit,
    /// What ended it, if it did not end by itself.
    pub ended_by: Option<EndedBy>,
    /// Milliseconds since 1970.
    pub ended_ms: u64,
    /// Microseconds from the shell's start to its end.
    pub ran_for_us: u64,
    /// For each stream, its size and where its bytes are in the file.
    pub streams: Vec<StoredStream>,
    /// The last size of its terminal, if it has one.
    #[serde(default)]
    pub terminal: Option<Size>,
    /// What stayed alive; while the lock is held, these processes are the job.
    pub left_behind: Vec<LeftBehind>,
    /// Whether the kernel killed one of its processes for lack of memory, if that is known.
    #[serde(default)]
    pub out_of_memory: bool,
    /// What it was refused, and whom it spoke to, if that is known.
    #[serde(default)]
    pub dealings: Option<Dealings>,
    /// Why nobody knows how it ended, if its keeper did not write this.
    #[serde(default)]
    pub lost: Option<Lost>,
}

/// Why nobody knows how a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// Its keeper is gone, and the machine is still the same.
    NoKeeper,
    /// The machine was restarted since.
    Restart,
}

impl Lost {
    /// Why a job of this kind was lost that has neither a keeper nor a status.
    pub fn of(spec: &Spec) -> Self {
        if spec.boot == boot_id() {
            Self::NoKeeper
        } else {
            Self::Restart
        }
    }

    /// The reason, to be put after "lost: ".
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoKeeper => "its keeper was killed, or its container stopped",
            Self::Restart => "the machine was restarted",
        }
    }
}

/// A stream whose keeper is gone, or soon will be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredStream {
    /// Bytes that were written to it.
    pub bytes: u64,
    /// Newlines among them.
    pub lines: u64,
    /// Bytes that are not in the file.
    pub dropped: u64,
    /// Where its kept bytes are in the file.
    pub segments: Vec<SpoolSegment>,
}

impl StoredStream {
    /// Bytes that its file has.
    pub fn kept(&self) -> u64 {
        let length = |segment: &SpoolSegment| segment.upto - segment.from;
        self.segments.iter().map(length).sum()
    }
}

/// That a job waits for input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AwaitedInput {
    /// The last line of the output, probably the prompt.
    pub prompt: String,
    /// How sure that is.
    pub sure: Sure,
    /// What it wants.
    #[serde(default)]
    pub asks: Asks,
}

/// What a job that waits for input wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asks {
    /// Something to read.
    #[default]
    Input,
    /// A password: its terminal reads lines without echo.
    Password,
}

/// How certain it is that a job waits for input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sure {
    /// One of its processes is in a read of its stdin, and nothing is unread.
    Yes,
    /// One of its processes waits for its stdin alone, with `select` or `poll`.
    Probably,
}

/// Owner and short name of a job, from before there is a job: a client that takes it over writes it
/// again.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Claim {
    /// Whose job it is.
    pub owner: String,
    /// The short name that is taken.
    pub alias: String,
    /// The directory in which its owner's client works, if the owner is a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// What its call asked for.
    #[serde(default)]
    pub call: CallTerms,
}

/// What a job keeps of its call, so that its end is told as the call would have told it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallTerms {
    /// Show only this many first lines of the whole output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<u64>,
    /// Show only this many last lines of the whole output, or of its head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<u64>,
    /// The timeout in seconds that was asked for, if another one holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_timeout: Option<f64>,
    /// How many milliseconds it would have waited, if its server's own limit ended its wait before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_wait_ms: Option<u64>,
    /// What was said about the request, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// What the command does, in the caller's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The version of a job created by a newer bashd, whose files may mean something else.
pub fn newer_version(directory: &Path) -> Option<u16> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u16,
    }
    let versioned: Versioned = read(directory, SPEC)?;
    Some(versioned.version).filter(|version| *version > VERSION)
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}

/// Time since a moment in milliseconds since 1970; zero if the clock was set back.
pub fn since_ms(then: u64) -> Duration {
    Duration::from_millis(now_ms().saturating_sub(then))
}

/// Identifies this boot of the machine.
pub fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// Writes a file completely or not at all, even across a power failure.
pub fn write_durably(directory: &Path, name: &str, value: &impl Serialize) -> io::Result<()> {
    let written = write_aside(directory, name, &serde_json::to_vec(value)?).and_then(|file| {
        file.sync_all()?;
        fs::rename(aside(directory, name), directory.join(name))
    });
    nothing_beside(directory, name, written)?;
    fs::File::open(directory)?.sync_all()
}

/// Likewise, with its seal, if there is a key.
pub fn write_sealed(directory: &Path, name: &str, value: &impl Serialize) -> io::Result<()> {
    let text = sealed(directory, name, serde_json::to_vec(value)?);
    let written = write_aside(directory, name, &text).and_then(|file| {
        file.sync_all()?;
        fs::rename(aside(directory, name), directory.join(name))
    });
    nothing_beside(directory, name, written)?;
    fs::File::open(directory)?.sync_all()
}

/// A record of this run with its seal, under the key of the state directory that the run is in.
pub fn sealed(directory: &Path, name: &str, object: Vec<u8>) -> Vec<u8> {
    match key_of(directory) {
        Ok(key) => key.sealed(name, &run_of(directory), object),
        Err(_) => object,
    }
}

/// What is wrong with the seal of a record of a run, if anything.
pub fn check_seal(directory: &Path, name: &str, key: &SealKey) -> io::Result<Option<Unsealed>> {
    let object = fs::read(directory.join(name))?;
    Ok(key.check(name, &run_of(directory), &object).err())
}

fn key_of(directory: &Path) -> io::Result<SealKey> {
    let state = directory.parent().and_then(Path::parent);
    SealKey::read(state.ok_or(io::ErrorKind::NotFound)?)
}

fn run_of(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Writes a file so that nobody sees half of it.
pub fn write_whole(directory: &Path, name: &str, value: &impl Serialize) -> io::Result<()> {
    let written = write_aside(directory, name, &serde_json::to_vec(value)?)
        .and_then(|_| fs::rename(aside(directory, name), directory.join(name)));
    nothing_beside(directory, name, written)
}

/// Removes the partial file if writing failed.
fn nothing_beside(directory: &Path, name: &str, written: io::Result<()>) -> io::Result<()> {
    written.inspect_err(|_| {
        let _ = fs::remove_file(aside(directory, name));
    })
}

fn aside(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!(".{name}.{}", std::process::id()))
}

fn write_aside(directory: &Path, name: &str, text: &[u8]) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.custom_flags(NEVER_WAITS);
    let mut file = options.open(aside(directory, name))?;
    file.write_all(text)?;
    Ok(file)
}

/// Reads a file of a job; `None` if there is none that can be read.
pub fn read<T: DeserializeOwned>(directory: &Path, name: &str) -> Option<T> {
    /// Longer than nearly every file of a job.
    const USUAL: usize = 4096;
    let mut file = open_to_read(&directory.join(name)).ok()?;
    // One read for a file that fits: a list of jobs reads thousands.
    let mut bytes = vec![0; USUAL];
    let count = file.read(&mut bytes).ok()?;
    bytes.truncate(count);
    if count == USUAL {
        bytes = read_small(&directory.join(name)).ok()?;
    }
    serde_json::from_slice(&bytes).ok()
}

/// Takes the lock that shows that the keeper lives.
pub fn take_lock(directory: &Path) -> io::Result<OwnedFd> {
    lock_file(&directory.join(LOCK), LOCK_PATIENCE)
}

/// Takes the lock of a file, which need not exist.
///
/// Readers hold it shared for a moment, so this waits instead of failing; but not for somebody who
/// holds it for long.
pub fn lock_file(path: &Path, patience: Duration) -> io::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let lock = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    lock_within(&lock, LockKind::Exclusive, patience)?;
    Ok(lock)
}

/// Whether this job's keeper is alive.
pub fn is_alive(directory: &Path) -> bool {
    is_locked(&directory.join(LOCK))
}

/// Whether somebody holds this file's lock.
pub fn is_locked(file: &Path) -> bool {
    let Ok(file) = open_to_read(file) else {
        return false;
    };
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

/// Whether its shell has ended, or nobody will ever know; cheaper than reading the job.
pub fn has_ended(directory: &Path) -> bool {
    directory.join(STATUS).exists() || !is_alive(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_and_nothing_stays_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let claim = Claim {
            owner: "a".into(),
            alias: "bg_1".into(),
            ..Claim::default()
        };
        write_durably(directory.path(), CLAIM, &claim).unwrap();
        write_whole(directory.path(), CLAIM, &claim).unwrap();
        let read_back: Claim = read(directory.path(), CLAIM).unwrap();
        assert_eq!(read_back.alias, "bg_1");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(read::<Claim>(directory.path(), SPEC).is_none());
        fs::write(directory.path().join(SPEC), "{").unwrap();
        assert!(read::<Spec>(directory.path(), SPEC).is_none());
    }

    #[test]
    fn a_job_lives_as_long_as_its_lock_is_held() {
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_alive(directory.path()));
        let lock = take_lock(directory.path()).unwrap();
        assert!(is_alive(directory.path()) && is_alive(directory.path()));
        drop(lock);
        assert!(!is_alive(directory.path()));
    }
}
