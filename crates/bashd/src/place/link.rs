//! The near end of one carrier: all runs of a place share it, each by a channel of its own.
//!
//! Two tasks read and write. The other side is not trusted: everything that arrives was asked for,
//! one thing at a time, and what was not ends the link. Nobody waits for a link that is silent: it
//! asks for a sign of life after [`SILENT`], and is given up after [`GONE`].

use super::carrier::{Carrier, CarrierStream};
use super::outbox::FrameQueue;
use super::ssh::LineMark;
use super::wire::{
    self, Assembler, CONTROL, FarPiece, FromOutpost, MOST_FROM_OUTPOST, ToOutpost, VERSION, Welcome,
};
use crate::error::{Error, ErrorKind};
use crate::event::Stream;
use crate::output::StreamPiece;
use crate::output::run_output::length;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// After this long without a byte a side asks for a sign of life.
pub(crate) const SILENT: Duration = Duration::from_secs(5);

/// After this long without one the link is given up.
pub(crate) const GONE: Duration = Duration::from_secs(15);

/// Bytes that a machine may print before an outpost speaks.
const MOST_NOISE: usize = 4 * 1024 * 1024;

/// How much of the end of that is kept.
const KEPT_NOISE: usize = 4096;

/// What stands before the last line of what a machine printed.
const PRINTED: &str = " after it printed: ";

/// How long the last messages of a process may take to be written.
const LAST_WRITE: Duration = Duration::from_millis(50);

/// Messages of a run that nobody has read yet: an event, and its end.
const AHEAD: usize = 4;

/// Bytes that are read at once.
const BUFFER: usize = 64 * 1024;

/// A link to an outpost. It ends with its last user, or when the other side does.
#[derive(Debug)]
pub(crate) struct Link {
    outbox: Arc<FrameQueue>,
    routes: Arc<Mutex<Routes>>,
    closed: CancellationToken,
    carrier: Arc<Carrier>,
    pub(crate) welcome: Welcome,
}

/// Who waits for what.
#[derive(Debug, Default)]
struct Routes {
    last_number: u32,
    runs: HashMap<u32, mpsc::Sender<FromOutpost>>,
    asks: HashMap<u32, oneshot::Sender<Result<Vec<FarPiece>, String>>>,
    /// Why it ended.
    end: Option<String>,
}

/// A run's channel on a link.
#[derive(Debug)]
pub(crate) struct RunChannel {
    pub(crate) number: u32,
    pub(crate) messages: mpsc::Receiver<FromOutpost>,
}

impl Link {
    /// Greets the outpost at the other end of a stream.
    pub(crate) async fn greet(
        carrier: Carrier,
        (mut to_it, mut from_it): CarrierStream,
        mark: Option<&LineMark>,
        build: &str,
    ) -> Result<Self, DialFailure> {
        let carrier = Arc::new(carrier);
        let failed = |error: io::Error| DialFailure::of(&carrier, &error.to_string());
        let hello = ToOutpost::Hello {
            version: VERSION,
            build: build.to_owned(),
        };
        let hello = wire::encode(&hello).map_err(failed)?;
        for frame in wire::frames(CONTROL, &hello) {
            // One that ended is heard below, with its last words.
            if to_it.write_all(&frame).await.is_err() {
                break;
            }
        }
        let mut assembler = Assembler::new(MOST_FROM_OUTPOST);
        let mut first = Vec::new();
        let mut buffer = vec![0; BUFFER];
        let mut noise = mark.map(Noise::before);
        while first.is_empty() {
            let count = from_it.read(&mut buffer).await.map_err(failed)?;
            if count == 0 {
                // Its last words may be a moment behind.
                tokio::time::sleep(Duration::from_millis(50)).await;
                let said = noise.as_ref().map_or_else(String::new, Noise::said);
                let why = format!("it ended{said}");
                return Err(DialFailure::of(&carrier, &why));
            }
            let bytes = buffer.get(..count).unwrap_or_default();
            let behind = match noise.take() {
                None => bytes.to_vec(),
                Some(mut before) => {
                    let Some(behind) = before.pass_over(bytes).map_err(failed)? else {
                        noise = Some(before);
                        continue;
                    };
                    behind
                }
            };
            first = assembler.push(&behind).map_err(failed)?;
        }
        let mut first = first.into_iter();
        let (_, bytes) = first.next().unwrap_or_default();
        let welcome = match wire::decode(&bytes).map_err(failed)? {
            FromOutpost::Welcome(welcome) if welcome.version == VERSION => *welcome,
            FromOutpost::Welcome(welcome) => {
                let theirs = welcome.version;
                let text = format!("it speaks version {theirs}, and this bashd {VERSION}");
                return Err(DialFailure::of(&carrier, &text));
            }
            _ => return Err(DialFailure::of(&carrier, "it does not greet")),
        };
        let link = Self {
            outbox: Arc::default(),
            routes: Arc::default(),
            closed: CancellationToken::new(),
            carrier,
            welcome,
        };
        link.attend(to_it, from_it, assembler);
        Ok(link)
    }

    /// Reads and writes until an end.
    fn attend(
        &self,
        mut to_it: tokio::net::unix::pipe::Sender,
        mut from_it: tokio::net::unix::pipe::Receiver,
        mut assembler: Assembler,
    ) {
        let (outbox, closed) = (Arc::clone(&self.outbox), self.closed.clone());
        tokio::spawn(async move {
            let writing = async {
                loop {
                    match timeout(SILENT, outbox.next()).await {
                        Ok(frame) => to_it.write_all(&frame).await?,
                        Err(_) => outbox.urgent(CONTROL, &ToOutpost::Ping)?,
                    }
                }
            };
            let _: Option<io::Result<()>> = closed.run_until_cancelled(writing).await;
            closed.cancel();
        });
        let (outbox, closed) = (Arc::clone(&self.outbox), self.closed.clone());
        let (routes, carrier) = (Arc::clone(&self.routes), Arc::clone(&self.carrier));
        tokio::spawn(async move {
            let reading = async {
                let mut buffer = vec![0; BUFFER];
                loop {
                    let read = timeout(GONE, from_it.read(&mut buffer)).await;
                    let count = read.map_err(|_| io::Error::other("nothing came for 15 s"))??;
                    if count == 0 {
                        return Err(io::Error::other("the carrier ended"));
                    }
                    let bytes = buffer.get(..count).unwrap_or_default();
                    for (channel, message) in assembler.push(bytes)? {
                        match wire::decode(&message)? {
                            FromOutpost::Ping => outbox.urgent_once(CONTROL, &ToOutpost::Pong)?,
                            message => lock(&routes).pass_on(channel, message)?,
                        }
                    }
                }
            };
            let ended: Option<io::Result<()>> = closed.run_until_cancelled(reading).await;
            let why = match ended {
                Some(Err(error)) => error.to_string(),
                Some(Ok(())) | None => "the carrier ended".to_owned(),
            };
            carrier.end();
            lock(&routes).close(why);
            closed.cancel();
        });
    }

    /// Opens a channel for a run.
    pub(crate) fn open(&self) -> RunChannel {
        let (sender, messages) = mpsc::channel(AHEAD);
        let mut routes = lock(&self.routes);
        let number = routes.next_number();
        if routes.end.is_none() {
            routes.runs.insert(number, sender);
        }
        RunChannel { number, messages }
    }

    /// A run's channel is not needed any more.
    pub(crate) fn release(&self, channel: u32) {
        lock(&self.routes).runs.remove(&channel);
    }

    /// Sends a large message.
    pub(crate) fn send(&self, channel: u32, message: &ToOutpost) -> io::Result<()> {
        self.outbox.bulk(channel, message)
    }

    /// Asks for something of a run, behind what was sent of it before: its order.
    pub(crate) fn ask(&self, channel: u32, message: &ToOutpost) {
        // Only what can't be encoded fails, and these can.
        let _ = self.outbox.bulk(channel, message);
    }

    /// Sends a small one, before all that is large.
    pub(crate) fn send_first(&self, channel: u32, message: &ToOutpost) {
        // Only what can't be encoded fails, and these can.
        let _ = self.outbox.urgent(channel, message);
    }

    /// Waits until what was sent is written, for a moment: a process that ends now would take it
    /// along.
    pub(crate) async fn flush(&self) {
        let written = async {
            while !self.outbox.is_empty() && !self.is_closed() {
                tokio::task::yield_now().await;
            }
        };
        let _ = timeout(LAST_WRITE, written).await;
    }

    /// Whether it has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Waits for its end.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Why it ended.
    pub(crate) fn why_closed(&self) -> String {
        let end = lock(&self.routes).end.clone();
        let words = self.carrier.last_words();
        let end = end.unwrap_or_else(|| "the carrier ended".to_owned());
        if words.is_empty() {
            end
        } else {
            format!("{end}: {words}")
        }
    }

    /// Reads a part of a run's stream.
    pub(crate) async fn read(
        &self,
        channel: u32,
        stream: Stream,
        range: Range<u64>,
    ) -> io::Result<Vec<StreamPiece>> {
        let (sender, answer) = oneshot::channel();
        let ask = {
            let mut routes = lock(&self.routes);
            if let Some(end) = &routes.end {
                return Err(io::Error::new(io::ErrorKind::NotConnected, end.clone()));
            }
            let ask = routes.next_number();
            routes.asks.insert(ask, sender);
            ask
        };
        let message = ToOutpost::Read {
            ask,
            stream,
            from: range.start,
            upto: range.end,
        };
        self.ask(channel, &message);
        let gone = |_| io::Error::new(io::ErrorKind::NotConnected, self.why_closed());
        let pieces = answer.await.map_err(gone)?.map_err(io::Error::other)?;
        let pieces: Vec<StreamPiece> = pieces.into_iter().map(StreamPiece::from).collect();
        if length(&pieces) != range.end - range.start {
            return Err(io::Error::other(
                "the outpost sent another part than asked for",
            ));
        }
        Ok(pieces)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.closed.cancel();
        self.carrier.end();
    }
}

impl Routes {
    fn next_number(&mut self) -> u32 {
        // 0 is the channel of what belongs to no run.
        self.last_number = self.last_number.wrapping_add(1).max(1);
        self.last_number
    }

    /// Gives a message to who waits for it.
    fn pass_on(&mut self, channel: u32, message: FromOutpost) -> io::Result<()> {
        match message {
            FromOutpost::Range { ask, pieces } => {
                // Who asked may have gone.
                if let Some(asked) = self.asks.remove(&ask) {
                    let _ = asked.send(pieces);
                }
                Ok(())
            }
            FromOutpost::Event { .. } | FromOutpost::Concluded { .. } => {
                let Some(run) = self.runs.get(&channel) else {
                    return Ok(());
                };
                match run.try_send(message) {
                    Err(mpsc::error::TrySendError::Full(_)) => {
                        Err(io::Error::other("the outpost sends what nobody asked for"))
                    }
                    Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
                }
            }
            FromOutpost::Pong | FromOutpost::Ping => Ok(()),
            FromOutpost::Welcome(_) => Err(io::Error::other("the outpost greets twice")),
        }
    }

    fn close(&mut self, why: String) {
        self.end = Some(why);
        self.runs.clear();
        self.asks.clear();
    }
}

fn lock(routes: &Mutex<Routes>) -> MutexGuard<'_, Routes> {
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a machine prints before an outpost speaks.
struct Noise {
    mark: Vec<u8>,
    /// The end of it: what may be the beginning of the mark, and what is shown if that never comes.
    end: Vec<u8>,
    bytes: usize,
}

impl Noise {
    fn before(mark: &LineMark) -> Self {
        Self {
            mark: mark.bytes(),
            end: Vec::new(),
            bytes: 0,
        }
    }

    /// What is behind the mark, once that came.
    fn pass_over(&mut self, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.bytes += bytes.len();
        self.end.extend(bytes);
        if let Some(at) = memchr::memmem::find(&self.end, &self.mark) {
            let behind = self.end.get(at + self.mark.len()..);
            return Ok(Some(behind.unwrap_or_default().to_vec()));
        }
        if self.bytes > MOST_NOISE {
            let text = format!(
                "it printed {MOST_NOISE} bytes and no outpost began{}",
                self.said()
            );
            return Err(io::Error::other(text));
        }
        let excess = self.end.len().saturating_sub(KEPT_NOISE);
        self.end.drain(..excess);
        Ok(None)
    }

    /// The last line of it, if there is one.
    fn said(&self) -> String {
        let text = String::from_utf8_lossy(&self.end);
        let mut lines = text.lines().rev();
        let last = lines.find(|line| !line.trim().is_empty());
        let last = last.map(|line| crate::output::plain(line.as_bytes()));
        last.map_or_else(String::new, |line| format!("{PRINTED}{line}"))
    }
}

/// Why there is no outpost to speak to.
pub(crate) struct DialFailure {
    pub(crate) error: Error,
    /// Whether somebody killed the carrier, so that another may fare better.
    pub(crate) was_killed: bool,
}

impl DialFailure {
    /// What went wrong, or rather what the carrier said about it.
    fn of(carrier: &Carrier, why: &str) -> Self {
        let words = match carrier.last_words() {
            words if words.is_empty() => why.to_owned(),
            // What the login printed says more than that it ended.
            words if why.contains(PRINTED) => format!("{why}; {words}"),
            words => words,
        };
        Self {
            error: Error::new(ErrorKind::Place, format!("no outpost answers: {words}")),
            was_killed: carrier.was_killed(),
        }
    }
}
