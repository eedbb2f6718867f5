//! Lines in and lines out, each in a thread of its own.
//!
//! It uses threads, because stdin and stdout are shared with the process that started us: making
//! them non-blocking would do so for everybody who has them. Both are bounded: a line by its
//! length, the way to the client by the number of waiting messages.

use super::id_scan::IdScan;
use bashd::CancellationToken;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc, oneshot};

/// Bytes that a line may have. Anything longer is thrown away while it is read.
pub(crate) const MOST_LINE_BYTES: usize = 8 * 1024 * 1024;

/// Bytes of one read.
const READ_BYTES: usize = 64 * 1024;

/// Messages that may wait for a client that does not read.
const MESSAGES_AHEAD: usize = 16;

/// Bytes of messages that a client may leave untaken before it gets no more.
const MOST_UNTAKEN: usize = 4 * 1024 * 1024;

/// How often that is looked at, at most.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// One line of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClientLine {
    /// Its bytes, without the newline.
    Text(Vec<u8>),
    /// It was longer than a line may be; the id that it has, if it is a message with one.
    TooLong(Option<serde_json::Value>),
}

/// stdin and stdout, each as a descriptor of its own.
pub(crate) fn stdio() -> io::Result<(OwnedFd, OwnedFd)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    Ok((input, output))
}

/// Reads lines until the input ends or nobody wants more.
pub(crate) fn read(mut input: impl Read + Send + 'static) -> mpsc::Receiver<ClientLine> {
    // One line ahead: lines may be large.
    let (sender, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut splitter = Splitter::default();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let count = match input.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            for line in splitter.push(buffer.get(..count).unwrap_or_default()) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        }
        // A last line without newline counts.
        if let Some(line) = splitter.finish() {
            let _ = sender.blocking_send(line);
        }
    });
    lines
}

/// Cuts a stream of bytes into lines.
#[derive(Default)]
struct Splitter {
    begun: Vec<u8>,
    /// The scan of a line that is too long.
    too_long: Option<IdScan>,
}

impl Splitter {
    fn push(&mut self, bytes: &[u8]) -> Vec<ClientLine> {
        let mut lines = Vec::new();
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            if self.begun.len() + part.len() > MOST_LINE_BYTES {
                let mut scan = IdScan::default();
                scan.push(&std::mem::take(&mut self.begun));
                self.too_long = Some(scan);
            }
            match &mut self.too_long {
                Some(scan) => scan.push(part),
                None => self.begun.extend_from_slice(part),
            }
            if parts.peek().is_some() {
                lines.extend(self.finish());
            }
        }
        lines
    }

    /// Ends the current line; blank lines are dropped.
    fn finish(&mut self) -> Option<ClientLine> {
        let text = std::mem::take(&mut self.begun);
        if let Some(scan) = self.too_long.take() {
            return Some(ClientLine::TooLong(scan.found()));
        }
        (!text.trim_ascii().is_empty()).then_some(ClientLine::Text(text))
    }
}

/// A line on its way to a client.
struct Outgoing {
    line: Vec<u8>,
    /// Notified when the line was written, if somebody wants to know.
    written: Option<oneshot::Sender<()>>,
}

/// The client is gone before it could be told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClientGone;

/// The way to a client. Senders wait while the client does not read.
#[derive(Clone)]
pub(crate) struct Outbox {
    messages: mpsc::Sender<Outgoing>,
    untaken: Arc<Untaken>,
    /// Cancelled when the client can't be written to any more.
    pub(crate) broken: CancellationToken,
}

impl Outbox {
    /// Sends one message as one line.
    pub(crate) async fn send(&self, message: &serde_json::Value) {
        self.send_line(message.to_string().into_bytes()).await;
    }

    /// Sends one message as one line, and waits until that and everything before it was written.
    pub(crate) async fn deliver(&self, message: &serde_json::Value) -> Result<(), ClientGone> {
        let (written, is_written) = oneshot::channel();
        self.put(message.to_string().into_bytes(), Some(written))
            .await;
        tokio::select! {
            biased;
            is_written = is_written => is_written.map_err(|_| ClientGone),
            () = self.broken.cancelled() => Err(ClientGone),
        }
    }

    /// Sends one line; when the client is gone, nobody needs to know.
    pub(crate) async fn send_line(&self, line: Vec<u8>) {
        self.put(line, None).await;
    }

    /// Waits until the client has taken enough of what it was sent to get more.
    pub(crate) async fn room(&self) {
        loop {
            let taken = self.untaken.taken.notified();
            if self.has_room() {
                return;
            }
            tokio::select! {
                () = taken => {}
                () = self.broken.cancelled() => return,
            }
        }
    }

    /// Whether it has, or will take nothing more.
    pub(crate) fn has_room(&self) -> bool {
        !self.untaken.is_much() || self.broken.is_cancelled()
    }

    /// Resolves when the client has taken nothing of much for so long: then it may be given up,
    /// where others want the place.
    pub(crate) async fn not_taken(&self, patience: Duration) {
        loop {
            let since = self.untaken.since();
            let is_stuck = self.untaken.is_much() && since.elapsed() >= patience;
            if is_stuck {
                return;
            }
            tokio::time::sleep(patience.saturating_sub(since.elapsed()).max(LOOK_AGAIN)).await;
        }
    }

    async fn put(&self, mut line: Vec<u8>, written: Option<oneshot::Sender<()>>) {
        line.push(b'\n');
        self.untaken.add(line.len());
        tokio::select! {
            biased;
            _ = self.messages.send(Outgoing { line, written }) => {}
            () = self.broken.cancelled() => {}
        }
    }
}

/// What was sent to a client and not yet written.
struct Untaken {
    bytes: AtomicUsize,
    /// When something was written last, or nothing waited.
    since: Mutex<Instant>,
    taken: Notify,
}

impl Default for Untaken {
    fn default() -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            since: Mutex::new(Instant::now()),
            taken: Notify::new(),
        }
    }
}

impl Untaken {
    fn add(&self, bytes: usize) {
        if self.bytes.fetch_add(bytes, Ordering::Relaxed) == 0 {
            self.note_progress();
        }
    }

    fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.note_progress();
        self.taken.notify_waiters();
    }

    fn is_much(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= MOST_UNTAKEN
    }

    fn since(&self) -> Instant {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_progress(&self) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Writes what is sent to the outbox; the token is cancelled when all of it has been written.
pub(crate) fn write(mut output: impl Write + Send + 'static) -> (Outbox, CancellationToken) {
    let (messages, mut waiting) = mpsc::channel::<Outgoing>(MESSAGES_AHEAD);
    let untaken = Arc::new(Untaken::default());
    let outbox = Outbox {
        messages,
        untaken: Arc::clone(&untaken),
        broken: CancellationToken::new(),
    };
    let (broken, flushed) = (outbox.broken.clone(), CancellationToken::new());
    let done = flushed.clone();
    std::thread::spawn(move || {
        while let Some(Outgoing { line, written }) = waiting.blocking_recv() {
            let wrote = output.write_all(&line).and_then(|()| output.flush());
            if wrote.is_err() {
                broken.cancel();
                break;
            }
            untaken.remove(line.len());
            if let Some(written) = written {
                // The receiver may be gone.
                let _ = written.send(());
            }
        }
        done.cancel();
    });
    (outbox, flushed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str) -> ClientLine {
        ClientLine::Text(line.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_found_however_they_arrive() {
        let mut splitter = Splitter::default();
        assert_eq!(splitter.push(b"on"), []);
        assert_eq!(
            splitter.push(b"e\n\n \ntwo\nth"),
            [text("one"), text("two")]
        );
        assert_eq!(splitter.finish(), Some(text("th")));
        assert_eq!(splitter.finish(), None);
    }

    /// Takes so many lines, then fails.
    struct Fails(usize);

    impl Write for Fails {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let left = self.0.checked_sub(1);
            self.0 = left.ok_or(io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn only_what_was_written_is_delivered() {
        let (outbox, _) = write(Fails(2));
        outbox.send(&serde_json::json!(1)).await;
        assert_eq!(outbox.deliver(&serde_json::json!(2)).await, Ok(()));
        assert_eq!(outbox.deliver(&serde_json::json!(3)).await, Err(ClientGone));
        assert_eq!(outbox.deliver(&serde_json::json!(4)).await, Err(ClientGone));
    }

    /// Takes nothing at all.
    struct Deaf(std::sync::mpsc::Receiver<()>);

    impl Write for Deaf {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn who_takes_nothing_gets_no_more_and_is_given_up_in_the_end() {
        let (take, taken) = std::sync::mpsc::channel();
        let (outbox, _) = write(Deaf(taken));
        outbox.room().await;
        outbox.send_line(vec![b'x'; MOST_UNTAKEN]).await;
        let short = Duration::from_millis(20);
        assert!(tokio::time::timeout(short, outbox.room()).await.is_err());
        let patience = Duration::from_secs(30);
        assert!(
            tokio::time::timeout(short, outbox.not_taken(patience))
                .await
                .is_err()
        );
        // As if it had been like this for long.
        let long_ago = Instant::now().checked_sub(patience).unwrap();
        *outbox.untaken.since.lock().unwrap() = long_ago;
        outbox.not_taken(patience).await;
        take.send(()).unwrap();
        outbox.room().await;
    }

    #[test]
    fn a_line_that_is_too_long_is_thrown_away_and_the_next_is_read() {
        let mut splitter = Splitter::default();
        let part = vec![b'x'; MOST_LINE_BYTES / 2 + 1];
        assert_eq!(splitter.push(&part), []);
        assert_eq!(splitter.push(&part), []);
        assert!(splitter.begun.is_empty());
        assert_eq!(
            splitter.push(b"x\nnext\n"),
            [ClientLine::TooLong(None), text("next")]
        );
    }
}
