//! A carrier: a program of the user's whose stdin and stdout are a stream to an outpost.
//!
//! What it writes to stderr, and its status, are shown if it fails. They never say anything about a
//! command.
//!
//! It is started by an errand: who starts a program waits until that is found and loaded, and it,
//! or a directory of `PATH`, may be on a file system that does not answer.

use crate::errand;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::unix::pipe;

/// Bytes of its last words that are shown.
const LAST_WORDS: usize = 2048;

/// Lines of them: a banner has many.
const LAST_LINES: usize = 5;

/// A carrier that runs; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Carrier {
    pid: Pid,
    words: Arc<Mutex<LastWords>>,
}

/// The stream that a carrier is: what it reads, what it writes.
pub(crate) type CarrierStream = (pipe::Sender, pipe::Receiver);

/// What a carrier had to say, and how it ended.
#[derive(Debug, Default)]
struct LastWords {
    text: Vec<u8>,
    ended: Option<String>,
    was_killed: bool,
    succeeded: bool,
}

impl Carrier {
    /// Starts it, within so long. One that starts only after that is ended at once.
    pub(crate) async fn start(
        words: &[String],
        env: &[(OsString, OsString)],
        most: Duration,
    ) -> io::Result<(Self, CarrierStream)> {
        let (to_it, its_stdin) = pipe::pipe()?;
        let (its_stdout, from_it) = pipe::pipe()?;
        let ends = (
            its_stdin.into_blocking_fd()?,
            its_stdout.into_blocking_fd()?,
        );
        let program = words.first().cloned().unwrap_or_default();
        let (words, env) = (words.to_vec(), env.to_vec());
        let starting = errand::start(&program, move || {
            Self::start_here(&words, &env, (ends.0.into(), ends.1.into()))
        });
        let Ok(started) = tokio::time::timeout(most, starting).await else {
            let text = format!("it did not start within {} s", most.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        };
        Ok((started?, (to_it, from_it)))
    }

    /// Starts it with this stdin and stdout, in a process group of its own: a key at our terminal
    /// is not for it. For threads that may wait.
    pub(super) fn start_here(
        words: &[String],
        env: &[(OsString, OsString)],
        (stdin, stdout): (Stdio, Stdio),
    ) -> io::Result<Self> {
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "a carrier is the user's own program, and no command: it ends with its pipes"
        )]
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(env.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(stdin)
            .stdout(stdout)
            .stderr(Stdio::piped());
        let child = command.spawn();
        drop(command); // and with it our hold on its ends, so that their close shows
        let mut child = child?;
        let pid = Pid::from_child(&child);
        let words = Arc::new(Mutex::new(LastWords::default()));
        let heard = Arc::clone(&words);
        let listening = std::thread::Builder::new().name("bashd-carrier".to_owned());
        let stderr = child.stderr.take();
        listening.spawn(move || listen(child, stderr, &heard))?;
        Ok(Self { pid, words })
    }

    /// What it said last, and how it ended if it has.
    pub(crate) fn last_words(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&words.text);
        let lines = (said
            .lines()
            .map(|line| crate::output::plain(line.as_bytes())))
        .filter(|line| !line.trim().is_empty());
        let mut lines: Vec<String> = lines.collect();
        lines.drain(..lines.len().saturating_sub(LAST_LINES));
        match (&words.ended, lines.is_empty()) {
            (Some(how), true) => how.clone(),
            (Some(how), false) => format!("{} ({how})", lines.join("; ")),
            (None, _) => lines.join("; "),
        }
    }

    /// Whether a signal ended it.
    pub(crate) fn was_killed(&self) -> bool {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.was_killed
    }

    /// Whether it succeeded, once it has ended; `None` if that takes longer.
    pub(crate) async fn succeeded_within(&self, most: Duration) -> Option<bool> {
        let begun = Instant::now();
        loop {
            {
                let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
                if words.ended.is_some() {
                    return Some(words.succeeded);
                }
            }
            if begun.elapsed() > most {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// What tells the last line that it wrote to stderr so far.
    pub(crate) fn teller(&self) -> impl Fn() -> Option<String> + use<> {
        let words = Arc::clone(&self.words);
        move || {
            let words = words.lock().unwrap_or_else(PoisonError::into_inner);
            let said = String::from_utf8_lossy(&words.text);
            let mut lines = said.lines().rev().map(str::trim);
            let line = lines.find(|line| !line.is_empty())?;
            Some(crate::output::plain(line.as_bytes()))
        }
    }

    /// Waits until it has ended, for so long at most.
    pub(crate) fn ends_within(&self, most: Duration) {
        /// Pause between two looks.
        const PAUSE: Duration = Duration::from_millis(2);
        let begun = Instant::now();
        let has_ended = || {
            let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
            words.ended.is_some()
        };
        while !has_ended() && begun.elapsed() < most {
            std::thread::sleep(PAUSE);
        }
    }

    /// Ends it, and what it started in its group, such as the ssh of a script.
    pub(crate) fn end(&self) {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        // Until it was waited for nobody else can have its number.
        if words.ended.is_none() {
            let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.end();
    }
}

/// Keeps the end of what it writes to stderr, and waits for its end.
fn listen(mut child: Child, stderr: Option<ChildStderr>, words: &Mutex<LastWords>) {
    let lock = || words.lock().unwrap_or_else(PoisonError::into_inner);
    let mut buffer = [0; 1024];
    if let Some(mut stderr) = stderr {
        while let Ok(count @ 1..) = stderr.read(&mut buffer) {
            let text = &mut lock().text;
            text.extend(buffer.get(..count).unwrap_or_default());
            let excess = text.len().saturating_sub(LAST_WORDS);
            text.drain(..excess);
        }
    }
    // It keeps its number until its end is written down.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let _ = rustix::process::waitid(WaitId::Pid(Pid::from_child(&child)), options);
    let mut words = lock();
    let ended = child.wait();
    words.succeeded = ended.as_ref().is_ok_and(ExitStatus::success);
    words.was_killed = (ended.as_ref()).is_ok_and(|status| status.signal().is_some());
    words.ended = Some(match ended {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    });
}
