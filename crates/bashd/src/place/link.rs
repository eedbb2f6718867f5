//! The near end of one carrier: all runs of a place share it, each by a channel of its own.
//!
//! Two tasks read and write. The other side is not trusted: everything that arrives was asked for,
//! one thing at a time, and what was not ends the link. Nobody waits for a link that is silent: it
//! asks for a sign of life after [`SILENT`], and is given up after [`GONE`].

use super::allocations::Berth;
use super::carrier::{Carrier, CarrierStream};
use super::flow::Arrivals;
use super::managed::{ManagedCall, ManagedReply, PlaceFacts};
use super::outbox::FrameQueue;
use super::stored::{PartThere, StoredWish};
use super::wire::{self, Assembler, CONTROL, FromOutpost, ToOutpost, Welcome};
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

/// How long the last messages of a process may take to be written.
const LAST_WRITE: Duration = Duration::from_millis(50);

/// How long a carrier has to end by itself.
const FAREWELL: Duration = Duration::from_millis(300);

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
    /// The node that it leads to, of an allocation.
    pub(crate) berth: Option<Berth>,
    /// What became of that: then this leads to who reads what was left.
    pub(crate) word: Option<String>,
    /// Whether it is certain that nothing of that lives any more.
    pub(crate) is_all_ended: bool,
}

/// Who waits for what.
#[derive(Debug, Default)]
struct Routes {
    last_number: u32,
    runs: HashMap<u32, mpsc::Sender<FromOutpost>>,
    asks: HashMap<u32, oneshot::Sender<FromOutpost>>,
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
    /// A link over a carrier whose outpost has greeted.
    pub(crate) fn over(
        carrier: Carrier,
        (to_it, from_it): CarrierStream,
        (assembler, welcome): (Assembler, Welcome),
    ) -> Self {
        let link = Self {
            outbox: Arc::default(),
            routes: Arc::default(),
            closed: CancellationToken::new(),
            carrier: Arc::new(carrier),
            welcome,
            berth: None,
            word: None,
            is_all_ended: false,
        };
        link.attend(to_it, from_it, assembler);
        link
    }

    /// Reads and writes until an end.
    fn attend(
        &self,
        mut to_it: tokio::net::unix::pipe::Sender,
        mut from_it: tokio::net::unix::pipe::Receiver,
        mut assembler: Assembler,
    ) {
        let (outbox, closed) = (Arc::clone(&self.outbox), self.closed.clone());
        let carrier = Arc::clone(&self.carrier);
        tokio::spawn(async move {
            let writing = async {
                loop {
                    match timeout(SILENT, outbox.next()).await {
                        Ok(frame) => to_it.write_all(&frame).await?,
                        Err(_) => outbox.urgent(CONTROL, &ToOutpost::Ping)?,
                    }
                }
            };
            let ended: Option<io::Result<()>> = closed.run_until_cancelled(writing).await;
            closed.cancel();
            if ended.is_none() {
                // What its last user said is still to be heard: that it needs nothing more.
                outbox.nothing_follows();
                let last = async {
                    while !outbox.is_written() {
                        to_it.write_all(&outbox.next().await).await?;
                    }
                    io::Result::Ok(())
                };
                let _ = timeout(LAST_WRITE, last).await;
            } else {
                carrier.end();
            }
        });
        let (outbox, closed) = (Arc::clone(&self.outbox), self.closed.clone());
        let (routes, carrier) = (Arc::clone(&self.routes), Arc::clone(&self.carrier));
        let mut arrivals = Arrivals::of(self.welcome.is_held_back);
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
                    outbox.keep_up(&mut assembler, &mut arrivals);
                }
            };
            let ended: Option<io::Result<()>> = closed.run_until_cancelled(reading).await;
            let is_by_us = ended.is_none();
            let why = match ended {
                Some(Err(error)) => error.to_string(),
                Some(Ok(())) | None => "the carrier ended".to_owned(),
            };
            // Who leaves lets it carry what was said last.
            if !is_by_us {
                carrier.end();
            }
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

    /// A run is not needed any more. Where each write waits for the one before, that goes with the
    /// next order.
    pub(crate) fn forget(&self, channel: u32, id: String) {
        let forget = ToOutpost::Forget { id };
        if self.welcome.is_held_back {
            // Only what can't be encoded fails, and these can.
            let _ = self.outbox.along(channel, &forget);
        } else {
            self.send_first(channel, &forget);
        }
        self.release(channel);
    }

    /// Nothing more is sent for now: what goes along with something goes by itself.
    pub(crate) fn nothing_follows(&self) {
        self.outbox.nothing_follows();
    }

    /// Waits until what was sent is written, for a moment: a process that ends now would take it
    /// along.
    pub(crate) async fn flush(&self) {
        let written = async {
            while !self.outbox.is_written() && !self.is_closed() {
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

    /// Asks something, and waits for the answer.
    async fn answer(
        &self,
        channel: u32,
        question: impl FnOnce(u32) -> ToOutpost,
    ) -> io::Result<FromOutpost> {
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
        self.ask(channel, &question(ask));
        let mut waiting = Waiting(Some((self, channel, ask)));
        let gone = |_| io::Error::new(io::ErrorKind::NotConnected, self.why_closed());
        let answer = answer.await;
        waiting.0 = None;
        answer.map_err(gone)
    }

    /// Has a call about jobs answered.
    pub(crate) async fn manage(&self, call: Box<ManagedCall>) -> io::Result<ManagedReply> {
        match (self.answer(CONTROL, |ask| ToOutpost::Manage { ask, call })).await? {
            FromOutpost::Managed { reply, .. } => Ok(*reply),
            _ => Err(other_answer()),
        }
    }

    /// Asks something that costs nothing there.
    pub(crate) async fn round_trip(&self) -> io::Result<()> {
        // A run that there is none of has no part that could be read.
        let asked = self.answer(CONTROL, |ask| ToOutpost::Read {
            ask,
            stream: Stream::Out,
            from: 0,
            upto: 0,
        });
        asked.await.map(drop)
    }

    /// Waits for ends of jobs of which their owner was not told.
    pub(crate) async fn next_ends(
        &self,
        call: Box<ManagedCall>,
        told: Vec<String>,
    ) -> io::Result<ManagedReply> {
        match (self.answer(CONTROL, |ask| ToOutpost::NextEnds { ask, call, told })).await? {
            FromOutpost::Managed { reply, .. } => Ok(*reply),
            _ => Err(other_answer()),
        }
    }

    /// Reads a part of what is stored there.
    pub(crate) async fn stored(&self, wish: StoredWish) -> io::Result<PartThere> {
        let wish = Box::new(wish);
        match (self.answer(CONTROL, |ask| ToOutpost::Stored { ask, wish })).await? {
            FromOutpost::PartThere { part, .. } => part.map_err(io::Error::other),
            _ => Err(other_answer()),
        }
    }

    /// Asks what the place is like.
    pub(crate) async fn facts(&self) -> io::Result<PlaceFacts> {
        match (self.answer(CONTROL, |ask| ToOutpost::Describe { ask })).await? {
            FromOutpost::Described { facts, .. } => Ok(*facts),
            _ => Err(other_answer()),
        }
    }

    /// Reads a part of a run's stream.
    pub(crate) async fn read(
        &self,
        channel: u32,
        stream: Stream,
        range: Range<u64>,
    ) -> io::Result<Vec<StreamPiece>> {
        let answer = self.answer(channel, |ask| ToOutpost::Read {
            ask,
            stream,
            from: range.start,
            upto: range.end,
        });
        let FromOutpost::Range { pieces, .. } = answer.await? else {
            return Err(other_answer());
        };
        let pieces = pieces.map_err(io::Error::other)?;
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
        let carrier = Arc::clone(&self.carrier);
        // What was written last may still be on its way through it: it ends with its pipes, and is
        // only ended if it does not. The runtime's thread waits for nobody.
        let leave = move || {
            carrier.ends_within(FAREWELL);
            carrier.end();
        };
        if tokio::runtime::Handle::try_current().is_err() {
            leave();
        } else if std::thread::Builder::new().spawn(leave).is_err() {
            self.carrier.end();
        }
    }
}

/// A question on whose answer somebody waits; if he leaves, the other side hears it.
struct Waiting<'a>(Option<(&'a Link, u32, u32)>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some((link, channel, ask)) = self.0 {
            // Behind its question. It is answered all the same, so that it is forgotten here.
            link.ask(channel, &ToOutpost::Withdraw { ask });
        }
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
            FromOutpost::Range { ask, .. }
            | FromOutpost::Managed { ask, .. }
            | FromOutpost::PartThere { ask, .. }
            | FromOutpost::Described { ask, .. } => {
                // Who asked may have gone.
                if let Some(asked) = self.asks.remove(&ask) {
                    let _ = asked.send(message);
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

fn other_answer() -> io::Error {
    io::Error::other("the outpost answers something else than was asked")
}

fn lock(routes: &Mutex<Routes>) -> MutexGuard<'_, Routes> {
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}
