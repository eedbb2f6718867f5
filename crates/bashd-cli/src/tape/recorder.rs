//! Writes a tape: every message that goes by, without secrets.
//!
//! Reading messages and hiding what is secret takes a while, and the tape may be on a file system
//! that does not answer. So a thread of its own does that, and whoever serves only hands it what
//! went by. If the thread is behind by too much the tape ends, and that is said.

use super::compare::SECRET;
use super::{TapedProtocol, VERSION};
use crate::print::Printer;
use bashd::secrets::{KnownSecrets, is_credential, is_ordinary, is_secret, mark};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What links a request with its notices is no secret, whatever its name says.
const PROGRESS_TOKEN: &str = "progressToken";

/// The longest message that is recorded.
const LONGEST: usize = 32 << 20;

/// Bytes that may wait until they are written.
const MOST_WAITING: usize = 64 << 20;

/// Bytes to which a piece grows before the next one begins.
const LONGEST_PIECE: usize = 64 << 10;

/// How long the end of a server waits for what is not written yet.
const WRITTEN_WITHIN: Duration = Duration::from_secs(10);

/// Between a server and its client.
pub(crate) struct TapeRecorder {
    waiting: Arc<WaitingForTape>,
}

/// What went by and is not on the tape yet.
#[derive(Default)]
struct WaitingForTape {
    passed: Mutex<PassedBytes>,
    /// Something was added, or nothing is left.
    changed: Condvar,
}

#[derive(Default)]
struct PassedBytes {
    pieces: VecDeque<(Side, Vec<u8>)>,
    /// Of those, and of what is being written.
    bytes: usize,
    /// Nothing more is recorded.
    has_failed: bool,
    /// Nobody hands on anything any more.
    is_over: bool,
}

impl WaitingForTape {
    fn lock(&self) -> MutexGuard<'_, PassedBytes> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, passed: MutexGuard<'a, PassedBytes>) -> MutexGuard<'a, PassedBytes> {
        let waited = self.changed.wait_timeout(passed, WRITTEN_WITHIN);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl PassedBytes {
    /// Adds what went by. Who writes byte by byte makes no piece for each.
    fn add(&mut self, side: Side, bytes: &[u8]) {
        self.bytes += bytes.len();
        match self.pieces.back_mut() {
            Some((last, piece)) if *last == side && piece.len() < LONGEST_PIECE => {
                piece.extend_from_slice(bytes);
            }
            _ => self.pieces.push_back((side, bytes.to_vec())),
        }
    }

    /// Ends the tape; the first reason is said.
    fn fail(&mut self, why: &str) {
        if !std::mem::replace(&mut self.has_failed, true) {
            Printer::err(&format!("bashd: the tape is not whole: {why}\n"));
        }
        self.pieces.clear();
        self.bytes = 0;
    }
}

/// The thread's end.
struct TapeFile {
    file: File,
    known: KnownSecrets,
    heard: LineBuffer,
    said: LineBuffer,
}

#[derive(Default)]
struct LineBuffer {
    begun: Vec<u8>,
    is_too_long: bool,
}

impl LineBuffer {
    /// The lines that these bytes end.
    fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.is_too_long |= self.begun.len() + part.len() > LONGEST;
            if self.is_too_long {
                self.begun.clear();
            } else {
                self.begun.extend_from_slice(part);
            }
            if parts.peek().is_some() {
                let line = std::mem::take(&mut self.begun);
                let is_too_long = std::mem::take(&mut self.is_too_long);
                if is_too_long {
                    lines.push(b"too long to be recorded".to_vec());
                } else if !line.trim_ascii().is_empty() {
                    lines.push(line);
                }
            }
        }
        lines
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

impl TapeRecorder {
    /// A new tape, which only its user can read.
    pub(super) fn create(
        path: &Path,
        protocol: TapedProtocol,
        known: KnownSecrets,
    ) -> io::Result<Self> {
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        let version = env!("CARGO_PKG_VERSION");
        let header = json!({"bashd_tape": VERSION, "protocol": protocol.name(), "bashd": version});
        writeln!(file, "{header}")?;
        let mut tape = TapeFile {
            file,
            known,
            heard: LineBuffer::default(),
            said: LineBuffer::default(),
        };
        let waiting = Arc::new(WaitingForTape::default());
        let passed = Arc::clone(&waiting);
        let thread = std::thread::Builder::new().name("bashd-tape".to_owned());
        thread.spawn(move || tape.write_all_of(&passed))?;
        Ok(Self { waiting })
    }

    /// Hands on what went by.
    fn pass(&self, side: Side, bytes: &[u8]) {
        let mut passed = self.waiting.lock();
        if passed.has_failed {
            return;
        }
        if passed.bytes + bytes.len() > MOST_WAITING {
            passed.fail("it is written too slowly, and ends here");
            return;
        }
        passed.add(side, bytes);
        drop(passed);
        self.waiting.changed.notify_all();
    }

    /// Waits, for a while, until everything is written. For the end of a server.
    pub(crate) fn finish(&self) {
        let begun = Instant::now();
        let mut passed = self.waiting.lock();
        while passed.bytes > 0 && begun.elapsed() < WRITTEN_WITHIN {
            passed = self.waiting.wait(passed);
        }
        if passed.bytes > 0 {
            passed.fail("its end could not be written in time");
        }
    }
}

impl Drop for TapeRecorder {
    fn drop(&mut self) {
        self.waiting.lock().is_over = true;
        self.waiting.changed.notify_all();
    }
}

impl TapeFile {
    /// Writes what goes by, until nobody hands on anything.
    fn write_all_of(&mut self, waiting: &WaitingForTape) {
        let mut passed = waiting.lock();
        loop {
            if let Some((side, bytes)) = passed.pieces.pop_front() {
                drop(passed);
                let written = self.write(side, &bytes);
                passed = waiting.lock();
                passed.bytes = passed.bytes.saturating_sub(bytes.len());
                if let Err(error) = written {
                    passed.fail(&error.to_string());
                }
            } else {
                waiting.changed.notify_all();
                if passed.is_over {
                    return;
                }
                passed = waiting.wait(passed);
            }
        }
    }

    fn write(&mut self, side: Side, bytes: &[u8]) -> io::Result<()> {
        let (lines, name) = match side {
            Side::Client => (self.heard.push(bytes), "client"),
            Side::Server => (self.said.push(bytes), "server"),
        };
        for line in lines {
            let message = serde_json::from_slice(&line)
                .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&line).into_owned()));
            let mut entry = Map::new();
            entry.insert(name.to_owned(), self.hidden(message));
            let mut text = Value::Object(entry).to_string();
            text.push('\n');
            // Whole lines at once: a server that is killed leaves a tape that can be read.
            self.file.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// The message without secrets.
    fn hidden(&self, mut message: Value) -> Value {
        self.learn(&message);
        let secrets = self.known.now();
        hide(&mut message, &mut |text| secrets.hide(text).into_owned());
        hide_by_name(&mut message);
        message
    }

    /// Learns what this message says to be secret, before its answer is written: the values of
    /// credentials, of secrets that a host registers, and of what it names when it connects.
    fn learn(&self, message: &Value) {
        let mut found = Vec::new();
        look_for_secrets(message, &mut found);
        for (name, value) in found {
            // What is too short to be hidden is no secret either.
            let _ = self.known.register(&[(&name, &value)]);
        }
    }
}

fn look_for_secrets(value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Array(values) => values
            .iter()
            .for_each(|value| look_for_secrets(value, found)),
        Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(Value::as_str);
            if let (Some(name), Some(value)) = (text("name"), text("value"))
                && (text("type") == Some("secret") || is_credential(name, value))
            {
                found.push((name.to_owned(), value.to_owned()));
            }
            for (name, value) in fields {
                if let ("bashd/secrets" | "env", Value::Object(given)) = (name.as_str(), value) {
                    let is_said = name == "bashd/secrets";
                    for (name, value) in given {
                        let value = value.as_str().unwrap_or_default();
                        if is_said || is_credential(name, value) {
                            found.push((name.clone(), value.to_owned()));
                        }
                    }
                }
                if let Value::String(value) = value
                    && name != PROGRESS_TOKEN
                    && is_credential(name, value)
                    // A word may be one by chance: it is hidden under this name alone.
                    && (name.chars().any(|one| one.is_ascii_uppercase()) || !is_ordinary(value))
                {
                    found.push((name.clone(), value.clone()));
                }
                look_for_secrets(value, found);
            }
        }
        _ => {}
    }
}

/// Replaces what stands under the name of a secret, however ordinary or short it is: a password may
/// be a word, which can't be hidden wherever it occurs.
fn hide_by_name(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(hide_by_name),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text)
                        if is_secret(name)
                            && name != PROGRESS_TOKEN
                            && !text.is_empty()
                            && !(text.starts_with(SECRET.0) && text.ends_with(SECRET.1)) =>
                    {
                        *text = mark(name, text.chars().count());
                    }
                    other => hide_by_name(other),
                }
            }
        }
        _ => {}
    }
}

/// Replaces every text.
pub(super) fn hide(value: &mut Value, hidden: &mut dyn FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = hidden(text),
        Value::Array(values) => values.iter_mut().for_each(|value| hide(value, hidden)),
        Value::Object(fields) => fields.values_mut().for_each(|value| hide(value, hidden)),
        _ => {}
    }
}

/// What a server reads, with a copy on the tape.
pub(crate) struct TapedIn<R>(pub(crate) R, pub(crate) Arc<TapeRecorder>);

/// What a server writes to, with a copy on the tape.
pub(crate) struct TapedOut<W>(pub(crate) W, pub(crate) Arc<TapeRecorder>);

impl<R: Read> Read for TapedIn<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1
            .pass(Side::Client, buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

impl<W: Write> Write for TapedOut<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.0.write(bytes)?;
        self.1
            .pass(Side::Server, bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for TapedIn<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.0).poll_read(context, buffer);
        let came = buffer.filled().get(before..).unwrap_or_default();
        if !came.is_empty() {
            self.1.pass(Side::Client, came);
        }
        polled
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for TapedOut<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.0).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = &polled {
            self.1
                .pass(Side::Server, bytes.get(..*count).unwrap_or_default());
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_come_one_by_one_are_few_pieces() {
        let mut passed = PassedBytes::default();
        for _ in 0..1000 {
            passed.add(Side::Client, b"x");
        }
        passed.add(Side::Server, b"y");
        for _ in 0..3 {
            passed.add(Side::Client, &vec![b'z'; LONGEST_PIECE]);
        }
        let lengths: Vec<usize> = passed.pieces.iter().map(|(_, piece)| piece.len()).collect();
        let full = LONGEST_PIECE;
        assert_eq!(lengths, [1000, 1, full, full, full]);
        assert_eq!(passed.bytes, 1001 + 3 * full);
    }
}
