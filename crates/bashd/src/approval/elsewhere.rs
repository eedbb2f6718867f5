//! Questions that a person may answer at another process of the same user (`bashd top`).
//!
//! While a call waits for a person, a socket of its name is in the directory `asks` of the state
//! directory, which only its user can enter. An answer is one word. Who watches all calls says so
//! by a lock there; only then does a call wait that could ask nobody else. What a call started is
//! of the same user, so an answer from below one of our processes does not count.

use super::ApprovalAnswer;
use crate::ancestors;
use crate::appending;
use crate::config::Config;
use crate::errand;
use crate::near::is_near_or_missing;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::Instant;

/// The directory, in the state directory.
const DIRECTORY: &str = "asks";

/// How the files of those who watch begin.
const WATCHER: &str = "watch-";

/// How long a call waits at most for somebody who watches.
const PATIENCE: Duration = Duration::from_mins(10);

/// How often it looks whether anybody still watches.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long an answer may take to arrive, once somebody begins to give one.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// How old a socket must be before nobody behind it means that its call was killed: a socket is
/// there a moment before anybody listens.
const SETTLED: Duration = Duration::from_secs(10);

/// Bytes of an answer at most.
const LONGEST: u64 = 16;

/// What is said of an answer that counted.
const TAKEN: &[u8] = b"taken\n";

/// What is said of one from a command of ours.
const NOT_YOURS: &[u8] = b"a command of bashd can't answer\n";

/// The open questions of a state directory, for those who answer them.
#[derive(Debug, Clone)]
pub struct AskingCalls {
    directory: PathBuf,
}

/// Somebody watches, for as long as this value lives.
#[derive(Debug)]
pub struct Watching {
    path: PathBuf,
    _lock: OwnedFd,
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl AskingCalls {
    /// The questions of this configuration's state directory.
    pub fn of(config: &Config) -> Self {
        Self::in_state(&config.state_dir)
    }

    pub(super) fn in_state(state_dir: &Path) -> Self {
        Self {
            directory: state_dir.join(DIRECTORY),
        }
    }

    /// Says that somebody watches who can answer.
    pub fn watch(&self) -> io::Result<Watching> {
        appending::make_directory(&self.directory)?;
        self.clear(SETTLED);
        let pid = rustix::process::getpid().as_raw_nonzero();
        let path = self.directory.join(format!("{WATCHER}{pid}"));
        let lock = appending::open(&path)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Watching { path, _lock: lock })
    }

    /// Whether this call waits for an answer here.
    pub fn is_open(&self, id: &str) -> bool {
        self.socket(id).is_some_and(|path| path.exists())
    }

    /// Answers the question of a call. Takes a moment; an error is for people.
    pub fn answer(&self, id: &str, answer: ApprovalAnswer) -> io::Result<()> {
        let mut choices = ApprovalAnswer::CHOICES.into_iter();
        let word = choices
            .find(|(_, other)| *other == answer)
            .map_or("deny", |(word, _)| word);
        let gone = || io::Error::new(io::ErrorKind::NotFound, "nobody waits for that answer");
        self.socket(id).ok_or_else(gone)?;
        let mut stream = connect(&self.directory, id, SocketFlags::CLOEXEC).map_err(|_| gone())?;
        stream.set_read_timeout(Some(ANSWERED_WITHIN))?;
        stream.set_write_timeout(Some(ANSWERED_WITHIN))?;
        stream.write_all(format!("{word}\n").as_bytes())?;
        let mut said = Vec::new();
        stream.take(64).read_to_end(&mut said)?;
        match said.as_slice() {
            TAKEN => Ok(()),
            [] => Err(gone()),
            other => Err(io::Error::other(
                String::from_utf8_lossy(other).trim_end().to_owned(),
            )),
        }
    }

    /// The socket of a call, if that is a name.
    fn socket(&self, id: &str) -> Option<PathBuf> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let is_name = !id.is_empty() && id.bytes().all(is_letter);
        is_name.then(|| self.directory.join(id))
    }

    /// Opens the socket of a call.
    fn open(&self, id: &str) -> Option<(StdListener, SocketFile)> {
        let path = self.socket(id)?;
        appending::make_directory(&self.directory).ok()?;
        self.clear(SETTLED);
        let listener = listen(&self.directory, id).ok()?;
        Some((listener, SocketFile(path)))
    }

    /// Removes the sockets of calls that were killed while they asked, if they are this old.
    fn clear(&self, age: Duration) {
        for entry in fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let is_old = entry.metadata().is_ok_and(|about| {
                let elapsed = about.modified().map(|at| at.elapsed().unwrap_or_default());
                about.file_type().is_socket() && elapsed.is_ok_and(|elapsed| elapsed >= age)
            });
            let name = entry.file_name();
            // Someone who is there may be stopped, and must not hold us up.
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            if is_old
                && let Err(error) = connect(&self.directory, &name.to_string_lossy(), flags)
                && error.kind() == io::ErrorKind::ConnectionRefused
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Has a step done with the files of the questions; `None` if they do not answer for a while.
    async fn with_files<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        if is_near_or_missing(&self.directory) {
            return Some(step(self));
        }
        let (questions, there) = (self.clone(), &self.directory);
        errand::look(there, move || step(&questions)).await
    }

    /// Whether anybody watches. What those who were killed left is cleared away.
    pub(super) async fn is_watched(&self) -> bool {
        self.with_files(Self::has_watchers).await.unwrap_or(false)
    }

    fn has_watchers(&self) -> bool {
        let entries = fs::read_dir(&self.directory).into_iter().flatten();
        let watchers = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(WATCHER));
        let is_alive = |path: &Path| {
            let Ok(file) = File::open(path) else {
                return false;
            };
            let is_free = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
            if is_free {
                let _ = fs::remove_file(path);
            }
            !is_free
        };
        // All are looked at, so that all of the dead are cleared away.
        watchers.filter(|entry| is_alive(&entry.path())).count() > 0
    }
}

/// The question of one call, open to those who watch.
pub(super) struct PostedQuestion {
    questions: AskingCalls,
    listener: Option<(UnixListener, SocketFile)>,
}

/// A socket's file, which goes with whoever has it last: also with an errand whose caller gave up.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.0);
        if is_near_or_missing(&path) {
            let _ = fs::remove_file(path);
        } else {
            errand::here_or_aside(move || drop(fs::remove_file(path)));
        }
    }
}

impl PostedQuestion {
    /// Opens the question of this call. If that is not possible, nobody answers it here.
    pub(super) async fn post(state_dir: &Path, id: &str) -> Self {
        let (questions, id) = (AskingCalls::in_state(state_dir), id.to_owned());
        let opening = questions.with_files(move |questions| questions.open(&id));
        let opened = opening.await.flatten();
        let listener = opened.and_then(|(listener, file)| {
            let listener = UnixListener::from_std(listener).ok()?;
            Some((listener, file))
        });
        Self {
            questions,
            listener,
        }
    }

    /// Waits for an answer, however long that takes.
    pub(super) async fn answered(&self) -> ApprovalAnswer {
        let Some((listener, _)) = &self.listener else {
            return std::future::pending().await;
        };
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let heard = tokio::time::timeout(ANSWERED_WITHIN, heard(stream)).await;
                    if let Ok(Ok(Some(answer))) = heard {
                        return answer;
                    }
                }
                Err(_) => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }

    /// Likewise, but only as long as somebody watches, since nobody else could answer, and no
    /// longer than the call's own time.
    pub(super) async fn answered_by_watchers(&self, until: Instant) -> ApprovalAnswer {
        let latest = until.min(Instant::now() + PATIENCE);
        let gone = async {
            while self.listener.is_some() && self.questions.is_watched().await {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            biased;
            answer = self.answered() => answer,
            () = gone => ApprovalAnswer::Nobody,
            () = tokio::time::sleep_until(latest) => ApprovalAnswer::Nobody,
        }
    }
}

/// Reads an answer; `None` if it does not count.
async fn heard(mut stream: UnixStream) -> io::Result<Option<ApprovalAnswer>> {
    let peer = stream.peer_cred()?;
    let is_ours = peer.uid() == rustix::process::getuid().as_raw();
    let is_below = peer.pid().is_none_or(is_below_one_of_us);
    let mut word = String::new();
    let mut byte = [0; 1];
    while (word.len() as u64) < LONGEST && byte != *b"\n" {
        // Somebody who only looked whether we are here, or was killed, has not answered.
        if stream.read(&mut byte).await? == 0 {
            return Ok(None);
        }
        word.push(char::from(byte[0]));
    }
    if !is_ours || is_below {
        stream.write_all(NOT_YOURS).await?;
        return Ok(None);
    }
    stream.write_all(TAKEN).await?;
    Ok(Some(ApprovalAnswer::of_word(word.trim_end())))
}

/// Whether a process was started by a command of ours: its keeper is above it.
fn is_below_one_of_us(pid: i32) -> bool {
    let own = fs::read_to_string("/proc/self/comm").unwrap_or_default();
    let names = [own.trim_end(), "bashd", "bashd-keeper"];
    let above = ancestors::above(pid.unsigned_abs());
    above.is_empty() || above.iter().skip(1).any(|one| names.contains(&&*one.name))
}

/// The address of a name in a directory: short wherever that is, since an address has room for 108
/// bytes.
fn address(directory: &Path, name: &str) -> io::Result<(SocketAddrUnix, OwnedFd)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(directory, flags, Mode::empty())?;
    let address = format!("/proc/self/fd/{}/{name}", folder.as_raw_fd());
    Ok((SocketAddrUnix::new(address)?, folder))
}

fn socket(flags: SocketFlags) -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    Ok(rustix::net::socket_with(family, kind, flags, None)?)
}

fn listen(directory: &Path, name: &str) -> io::Result<StdListener> {
    let ((address, _folder), socket) = (address(directory, name)?, socket(SocketFlags::CLOEXEC)?);
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, 4)?;
    let listener = StdListener::from(socket);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn connect(directory: &Path, name: &str, flags: SocketFlags) -> io::Result<StdStream> {
    let ((address, _folder), socket) = (address(directory, name)?, socket(flags)?);
    rustix::net::connect(&socket, &address)?;
    Ok(StdStream::from(socket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_from_elsewhere_counts_once() {
        let state = tempfile::tempdir().unwrap();
        let posted = PostedQuestion::post(state.path(), "ab_c-1").await;
        let questions = AskingCalls::in_state(state.path());
        assert!(questions.is_open("ab_c-1") && !questions.is_open("abd"));
        let (answering, answered) = (
            tokio::task::spawn_blocking({
                let questions = questions.clone();
                move || questions.answer("ab_c-1", ApprovalAnswer::Session)
            }),
            posted.answered(),
        );
        // The test's own process is not below one of ours, unless it is run by one.
        let answer = tokio::time::timeout(Duration::from_secs(20), answered).await;
        let said = answering.await.unwrap();
        match answer {
            Ok(answer) => assert_eq!(answer, ApprovalAnswer::Session),
            Err(_) => assert!(said.unwrap_err().to_string().contains("can't answer")),
        }
        drop(posted);
        assert!(!questions.is_open("ab_c-1"));
        assert!(questions.answer("ab_c-1", ApprovalAnswer::Once).is_err());
        assert!(questions.answer("../ab_c-1", ApprovalAnswer::Once).is_err());
    }

    #[tokio::test]
    async fn what_killed_calls_left_is_cleared_and_a_look_is_no_answer() {
        let state = tempfile::tempdir().unwrap();
        let questions = AskingCalls::in_state(state.path());
        let posted = PostedQuestion::post(state.path(), "alive").await;
        drop(listen(&questions.directory, "killed").unwrap());
        assert!(questions.is_open("killed"));
        // Too young, then old enough.
        questions.clear(SETTLED);
        assert!(questions.is_open("killed"));
        questions.clear(Duration::ZERO);
        assert!(!questions.is_open("killed") && questions.is_open("alive"));
        // That look came to the living one as a connection without a word.
        let waits = tokio::time::timeout(Duration::from_millis(50), posted.answered());
        assert!(waits.await.is_err(), "a look is no answer");
    }

    #[tokio::test]
    async fn a_call_that_can_ask_nobody_waits_only_while_somebody_watches() {
        let state = tempfile::tempdir().unwrap();
        let later = Instant::now() + PATIENCE;
        let questions = AskingCalls::in_state(state.path());
        let posted = PostedQuestion::post(state.path(), "abc").await;
        assert_eq!(
            posted.answered_by_watchers(later).await,
            ApprovalAnswer::Nobody
        );
        let watching = questions.watch().unwrap();
        assert!(questions.is_watched().await);
        let waits = posted.answered_by_watchers(later);
        let short = tokio::time::timeout(Duration::from_millis(50), waits).await;
        assert!(short.is_err(), "it waits");
        // Not longer than its call.
        let soon = Instant::now() + Duration::from_millis(50);
        let over = posted.answered_by_watchers(soon).await;
        assert_eq!(over, ApprovalAnswer::Nobody);
        drop(watching);
        assert_eq!(
            posted.answered_by_watchers(later).await,
            ApprovalAnswer::Nobody
        );
        // What a killed one left is cleared away.
        let left = state.path().join(DIRECTORY).join("watch-1");
        fs::write(&left, "").unwrap();
        assert!(!questions.is_watched().await && !left.exists());
    }
}
