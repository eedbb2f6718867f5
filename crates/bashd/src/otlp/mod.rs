//! A span for each call, sent to a collector of OpenTelemetry by OTLP over HTTP.
//!
//! A call only puts its record into a queue with a bound: it waits for no collector. A thread turns
//! records into spans and sends them in batches; if the collector can't be reached, the oldest are
//! dropped and counted. The messages are OTLP's JSON, which every collector takes: a few lines with
//! what is here already, where the crates of OpenTelemetry would bring some forty others.
//!
//! `span` is what a span says, `post` one request.

mod post;
mod span;
#[cfg(test)]
mod tests;

use crate::ledger::{Record, RecordListener};
use post::Collector;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Records that wait to be sent at most; of more the new ones are dropped.
const MOST_WAITING: usize = 4096;

/// Spans of one message at most.
const MOST_SENT: usize = 512;

/// How long spans are gathered.
const GATHERED: Duration = Duration::from_secs(1);

/// How long nothing is tried after a failure.
const PAUSE: Duration = Duration::from_secs(5);

/// How long the end of a server waits for the last spans.
const AT_THE_END: Duration = Duration::from_secs(2);

/// What spans say beside their calls, and where they go.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SpanSettings {
    /// The collector, as `http://127.0.0.1:4318`; the path is added if there is none.
    pub endpoint: String,
    /// Whether spans have the text of commands.
    pub commands: bool,
    /// The version of this program.
    pub version: String,
}

impl SpanSettings {
    /// Spans for a collector.
    pub fn new(endpoint: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            commands: false,
            version: version.into(),
        }
    }

    /// Also with the text of commands.
    #[must_use]
    pub fn with_commands(mut self, commands: bool) -> Self {
        self.commands = commands;
        self
    }
}

/// Sends spans until it is dropped, which waits a moment for the last.
pub struct SpanSender {
    queue: Option<SyncSender<Record>>,
    thread: Option<JoinHandle<()>>,
    state: Arc<Mutex<SenderState>>,
}

/// How it goes.
#[derive(Debug, Default)]
struct SenderState {
    dropped: u64,
    /// Why the collector did not take the last message.
    complaint: Option<String>,
    is_over: bool,
}

impl SpanSender {
    /// Begins to send; fails if the address is none that it can use.
    pub fn start(settings: SpanSettings) -> io::Result<Self> {
        let collector = Collector::at(&settings.endpoint)?;
        let (queue, records) = sync_channel(MOST_WAITING);
        let state = Arc::<Mutex<SenderState>>::default();
        let sending = Sending {
            collector,
            settings,
            state: Arc::clone(&state),
            waiting: VecDeque::new(),
        };
        let thread = std::thread::Builder::new().name("bashd-otlp".to_owned());
        let thread = thread.spawn(move || sending.run(&records))?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
            state,
        })
    }

    /// Who is to be told of records.
    pub fn listener(&self) -> RecordListener {
        let (queue, state) = (self.queue.clone(), Arc::clone(&self.state));
        RecordListener(Arc::new(move |record| {
            let Some(queue) = &queue else { return };
            let is_over = || locked(&state).is_over;
            if let Err(TrySendError::Full(_)) = queue.try_send(record.clone())
                && !is_over()
            {
                locked(&state).dropped += 1;
            }
        }))
    }

    /// How many spans were dropped, and why the last message was not taken.
    pub fn trouble(&self) -> (u64, Option<String>) {
        let state = locked(&self.state);
        (state.dropped, state.complaint.clone())
    }
}

impl Drop for SpanSender {
    fn drop(&mut self) {
        // Listeners may still be there, so that the queue has no end of its own.
        locked(&self.state).is_over = true;
        self.queue = None;
        let until = Instant::now() + AT_THE_END;
        while let Some(thread) = &self.thread {
            if thread.is_finished() || Instant::now() >= until {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // A collector that does not answer must not delay the end: its thread ends with the
        // process.
        self.thread = None;
    }
}

fn locked(state: &Mutex<SenderState>) -> std::sync::MutexGuard<'_, SenderState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's side.
struct Sending {
    collector: Collector,
    settings: SpanSettings,
    state: Arc<Mutex<SenderState>>,
    waiting: VecDeque<Value>,
}

impl Sending {
    fn run(mut self, records: &Receiver<Record>) {
        /// How often the end is looked for.
        const LOOK: Duration = Duration::from_millis(50);
        let mut send_at: Option<Instant> = None;
        loop {
            let is_over = locked(&self.state).is_over;
            match records.recv_timeout(LOOK) {
                Ok(record) => {
                    self.waiting.push_back(span::of(&record, &self.settings));
                    send_at.get_or_insert_with(|| Instant::now() + GATHERED);
                    if self.waiting.len() > MOST_WAITING {
                        self.waiting.pop_front();
                        locked(&self.state).dropped += 1;
                    }
                    send_when_full(&mut send_at, self.waiting.len());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.send_all();
                    return;
                }
            }
            if is_over {
                while let Ok(record) = records.try_recv() {
                    self.waiting.push_back(span::of(&record, &self.settings));
                }
                self.send_all();
                return;
            }
            if send_at.is_some_and(|at| Instant::now() >= at) {
                send_at = self.send_all().then(|| Instant::now() + PAUSE);
            }
        }
    }

    /// Sends what waits; whether something is left.
    fn send_all(&mut self) -> bool {
        while !self.waiting.is_empty() {
            let count = self.waiting.len().min(MOST_SENT);
            let spans: Vec<&Value> = self.waiting.iter().take(count).collect();
            let message = message(&spans, &self.settings);
            let done = self.collector.post(&message);
            let mut state = locked(&self.state);
            match done {
                Ok(()) => {
                    state.complaint = None;
                    self.waiting.drain(..count);
                }
                // What it does not take it will never take.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    state.complaint = Some(error.to_string());
                    state.dropped += count as u64;
                    self.waiting.drain(..count);
                }
                Err(error) => {
                    state.complaint = Some(error.to_string());
                    return true;
                }
            }
        }
        false
    }
}

/// A full message goes at once.
fn send_when_full(send_at: &mut Option<Instant>, waiting: usize) {
    if waiting == MOST_SENT {
        *send_at = Some(Instant::now());
    }
}

/// Spans as one message.
fn message(spans: &[&Value], settings: &SpanSettings) -> Vec<u8> {
    let resource = [
        span::text("service.name", "bashd"),
        span::text("service.version", &settings.version),
        span::number("process.pid", i64::from(std::process::id())),
    ];
    let message = json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{
            "scope": {"name": "bashd", "version": settings.version},
            "spans": spans,
        }],
    }]});
    message.to_string().into_bytes()
}
