//! The transport on stdin and stdout: one JSON-RPC message per line, in bounded memory.
//!
//! rmcp's own transport ignores what it can't read. Here every message gets an answer, even a line
//! that is not JSON or too long, or a message whose id is in use.

use super::load::Load;
use super::message::{self, LONGEST};
use super::outlet::Outlet;
use crate::serve::id_scan::IdScan;
use crate::serve::stdio::{ServerInput, Writer};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// A line buffer that grew larger than this for one message is freed.
const KEPT: usize = 256 * 1024;

/// How long the last answers may take at the end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// One client on two streams.
pub(super) struct Stdio {
    read: BufReader<ServerInput>,
    line: Vec<u8>,
    /// The scan of a message that is too long, and of which nothing is kept.
    skipped: Option<IdScan>,
    /// Whether there was a request: before the first, other messages mean nothing.
    has_begun: bool,
    outlet: Arc<Outlet>,
    /// What the client did not take at once.
    answers: Option<mpsc::UnboundedSender<OutgoingMessage>>,
    writing: Option<JoinHandle<()>>,
    load: Arc<Load>,
}

/// A message on its way out, and whom to tell when it is out.
struct OutgoingMessage {
    line: Vec<u8>,
    done: oneshot::Sender<()>,
}

/// What was read.
enum LineRead {
    Whole,
    /// Of a message that was too long only its id, if it has one.
    TooLong(Option<RequestId>),
    End,
}

impl Stdio {
    /// Starts to write; reading starts with the first `receive`.
    pub(super) fn new(read: ServerInput, write: Writer, load: Arc<Load>) -> Self {
        // Its length is bounded by the load.
        let (answers, queue) = mpsc::unbounded_channel();
        let outlet = Arc::new(Outlet::new(write));
        let writing = tokio::spawn(write_all(Arc::clone(&outlet), queue, Arc::clone(&load)));
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            skipped: None,
            has_begun: false,
            outlet,
            answers: Some(answers),
            writing: Some(writing),
            load,
        }
    }

    /// Reads up to the end of a line. May be dropped and called again at any time.
    async fn read_line(&mut self) -> LineRead {
        loop {
            let available = match self.read.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                _ => return LineRead::End,
            };
            let newline = memchr::memchr(b'\n', available);
            let length = newline.map_or(available.len(), |at| at + 1);
            let (ours, _) = available.split_at(length);
            if self.line.len() + length > LONGEST {
                let mut scan = IdScan::default();
                scan.push(&std::mem::take(&mut self.line));
                self.skipped = Some(scan);
            }
            match &mut self.skipped {
                Some(scan) => scan.push(ours),
                None => self.line.extend_from_slice(ours),
            }
            self.read.consume(length);
            if newline.is_some() {
                return match self.skipped.take() {
                    Some(scan) => LineRead::TooLong(scan.found().and_then(request_id)),
                    None => LineRead::Whole,
                };
            }
        }
    }

    /// The message of a line; a line that is not a message is answered here.
    fn message(&self) -> Option<ClientJsonRpcMessage> {
        let line = self.line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let message = match message::read(line) {
            Ok(message) => message,
            Err(error) => {
                self.refuse(&error, line);
                return None;
            }
        };
        match &message {
            JsonRpcMessage::Request(request)
                if self.load.begin(&request.id, self.line.len()).is_err() =>
            {
                let text = format!("request id {} is in use", request.id);
                self.answer_error(ErrorData::invalid_request(text, None), None);
                return None;
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.load.end(id);
                }
            }
            _ => {}
        }
        Some(message)
    }

    /// Says why a line is not a message; with its id, if it has one.
    fn refuse(&self, error: &serde_json::Error, line: &[u8]) {
        if error.is_syntax() || error.is_eof() {
            let text = format!("not JSON: {error}");
            let id = IdScan::of(line).and_then(request_id);
            self.answer_error(ErrorData::parse_error(text, None), id);
            return;
        }
        let value: Value = serde_json::from_slice(line).unwrap_or_default();
        let id = value.get("id").cloned();
        let id: Option<RequestId> = id.and_then(|id| serde_json::from_value(id).ok());
        let is_message = value.get("method").is_some_and(Value::is_string);
        if is_message && id.is_none() && value.get("id").is_none() {
            return; // Notifications that we do not know are ignored.
        }
        let text = "not a valid JSON-RPC 2.0 message of this protocol";
        self.answer_error(ErrorData::invalid_request(text, None), id);
    }

    fn answer_error(&self, error: ErrorData, id: Option<RequestId>) {
        let message = ServerJsonRpcMessage::error(error, id);
        drop(self.push(&message));
    }

    /// Sends a message. If the client does not take it at once, the caller may wait for the rest.
    fn push(&self, message: &ServerJsonRpcMessage) -> Option<oneshot::Receiver<()>> {
        self.push_line(serde_json::to_vec(message).ok()?)
    }

    fn push_line(&self, mut line: Vec<u8>) -> Option<oneshot::Receiver<()>> {
        line.push(b'\n');
        // Waiting answers go first. Otherwise write at once: a task for it would be one more to
        // wake.
        if self.load.is_all_written() && self.outlet.write_now(&mut line) {
            return None;
        }
        self.load.queue(weight(&line));
        let (done, written) = oneshot::channel();
        if let Some(answers) = &self.answers {
            let _ = answers.send(OutgoingMessage { line, done });
        }
        Some(written)
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let id = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let waiting = match id.and_then(|id| self.load.end(id)) {
            Some(line) => self.push_line(line),
            None => self.push(&item),
        };
        async move {
            match waiting {
                Some(written) => written
                    .await
                    .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe)),
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let load = Arc::clone(&self.load);
        loop {
            load.room().await?;
            let line = tokio::select! {
                line = self.read_line() => line,
                () = load.gone.cancelled() => LineRead::End,
            };
            match line {
                LineRead::End => {
                    load.closing.cancel();
                    return None;
                }
                LineRead::TooLong(id) => {
                    let text = format!("the message has more than {LONGEST} bytes");
                    self.answer_error(ErrorData::new(ErrorCode::INVALID_REQUEST, text, None), id);
                }
                LineRead::Whole => {
                    let message = self.message();
                    self.line.clear();
                    self.line.shrink_to(KEPT);
                    let Some(message) = message else { continue };
                    self.has_begun |= matches!(message, JsonRpcMessage::Request(_));
                    if self.has_begun {
                        return Some(message);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.load.closing.cancel();
        self.answers = None;
        if let Some(writing) = self.writing.take() {
            let _ = tokio::time::timeout(LAST_WORDS, writing).await;
        }
        Ok(())
    }
}

fn request_id(id: Value) -> Option<RequestId> {
    serde_json::from_value(id).ok()
}

/// What a line counts while it waits: also one of which only the flush is left.
fn weight(line: &[u8]) -> usize {
    line.len() + 1
}

/// Writes answers in their order, as many at a time as there are.
async fn write_all(
    outlet: Arc<Outlet>,
    mut queue: mpsc::UnboundedReceiver<OutgoingMessage>,
    load: Arc<Load>,
) {
    while let Some(answer) = queue.recv().await {
        let written = outlet.write(&answer.line).await;
        let flushed = match (&written, queue.is_empty()) {
            (Ok(()), true) => outlet.flush().await,
            _ => Ok(()),
        };
        // Not before the flush: whoever writes at once meanwhile would be woken in place of this
        // task.
        load.written(weight(&answer.line));
        if written.and(flushed).is_err() {
            load.give_up(None);
            return;
        }
        let _ = answer.done.send(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::{Pin, pin};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Poll};
    use tokio::io::AsyncWrite;

    /// Takes everything at once, as files do; it is out only when the flag says so.
    struct SlowFile(Arc<AtomicBool>);

    impl AsyncWrite for SlowFile {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            if self.0.load(Ordering::Relaxed) {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            }
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn a_line_that_is_only_not_flushed_still_waits() {
        let (load, is_out) = (Arc::new(Load::default()), Arc::new(AtomicBool::new(false)));
        let outlet = Arc::new(Outlet::new(Box::new(SlowFile(Arc::clone(&is_out)))));
        let mut line = b"ab\n".to_vec();
        assert!(!outlet.write_now(&mut line));
        assert!(line.is_empty());
        load.queue(weight(&line));
        let (done, mut written) = oneshot::channel();
        let (answers, queue) = mpsc::unbounded_channel();
        assert!(answers.send(OutgoingMessage { line, done }).is_ok());
        // Whoever wrote at once now would be woken by the flush, in place of the task.
        assert!(!load.is_all_written());
        let mut writing = pin!(write_all(outlet, queue, Arc::clone(&load)));
        tokio::select! {
            biased;
            () = &mut writing => panic!("nothing more to write"),
            () = std::future::ready(()) => {}
        }
        assert!(!load.is_all_written());
        is_out.store(true, Ordering::Relaxed);
        tokio::select! {
            biased;
            () = &mut writing => panic!("nothing more to write"),
            done = &mut written => assert!(done.is_ok()),
        }
        assert!(load.is_all_written());
    }
}
