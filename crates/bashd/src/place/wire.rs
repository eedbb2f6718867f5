//! The wire between an engine and an outpost: frames, and the messages that are made of them.
//!
//! `docs/outpost.md` documents it. A frame is `u32 length | u32 channel | u8 part | bytes`, with
//! numbers in network order and at most [`LARGEST_FRAME`] bytes. A message is a `MessagePack` map
//! in one frame, or in several of its channel, so that a large one never holds up a small one:
//! what is urgent travels whole between the parts of others. How much of what is not urgent has
//! arrived is told in frames of its own, so that on a slow wire little is on its way (`flow`).
//! Pure; nothing here reads or writes.

use super::conclusion::{Along, Conclusion};
use super::managed::{ManagedCall, ManagedReply, PlaceFacts};
use super::order::Order;
use super::stored::{PartThere, StoredWish};
use crate::event::{Event, Excerpt, Stream};
use crate::output::StreamPiece;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::collections::HashMap;
use std::io;

/// Both sides must have the same: they are the same build, or close to it.
pub(crate) const VERSION: u32 = 4;

/// Bytes that a frame may have behind its head.
pub const LARGEST_FRAME: usize = 32 * 1024;

/// Bytes of a part of a large message behind its head: half of what is on its way at least.
pub(crate) const PIECE: usize = 16 * 1024 - HEAD;

/// Bytes of all unfinished messages that an engine takes from an outpost, which it does not trust.
pub(crate) const MOST_FROM_OUTPOST: usize = 4 * 1024 * 1024;

/// Bytes of all unfinished messages that an outpost takes: orders have scripts and input in them.
pub(crate) const MOST_TO_OUTPOST: usize = 64 * 1024 * 1024;

/// Bytes before the content of a frame.
const HEAD: usize = 9;

/// The channel of what belongs to no run.
pub(crate) const CONTROL: u32 = 0;

/// Which part of a message a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The last, or the only one.
    Last = 0,
    /// More follow on this channel.
    More = 1,
    /// A whole message that came in between.
    Whole = 2,
    /// How many bytes of the first two kinds have arrived.
    Arrived = 3,
}

/// What an engine says to an outpost. Each is about the run of its channel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ToOutpost {
    /// The first message, on channel 0.
    Hello {
        version: u32,
        build: String,
    },
    /// Carry this out, unless it was begun before: then tell how it went.
    Order(Box<Order>),
    /// Tell how the run with this id went; begin nothing.
    Attach {
        id: String,
    },
    /// End the run with this id, or never begin it.
    Cancel {
        id: String,
    },
    /// The event behind this one is wanted.
    NextEvent {
        after: u64,
    },
    /// This part of a stream is wanted.
    Read {
        ask: u32,
        stream: Stream,
        from: u64,
        upto: u64,
    },
    /// A call about jobs is to be answered.
    Manage {
        ask: u32,
        call: Box<ManagedCall>,
    },
    /// The next ends of jobs are wanted of which their owner was not told; he knows of these.
    NextEnds {
        ask: u32,
        call: Box<ManagedCall>,
        #[serde(default)]
        told: Vec<String>,
    },
    /// An owner knows now that these jobs have ended.
    EndsTold {
        call: Box<ManagedCall>,
        ids: Vec<String>,
    },
    /// A part of an output is wanted that is stored there.
    Stored {
        ask: u32,
        wish: Box<StoredWish>,
    },
    /// What this place is like is wanted.
    Describe {
        ask: u32,
    },
    /// Nobody waits any more for the answer to this: what has not been told counts as untold.
    Withdraw {
        ask: u32,
    },
    /// The run's end has arrived, and nothing more will be asked.
    Forget {
        id: String,
    },
    Ping,
    Pong,
}

/// What an outpost says to an engine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum FromOutpost {
    /// The answer to the first message.
    Welcome(Box<Welcome>),
    /// What happened next.
    Event {
        number: u64,
        event: FarEvent,
    },
    /// The run is over, or was never begun.
    Concluded {
        conclusion: Box<Conclusion>,
        along: Vec<Along>,
    },
    /// The part of a stream that was asked for, or why it can't be read.
    Range {
        ask: u32,
        pieces: Result<Vec<FarPiece>, String>,
    },
    /// The answer to a call about jobs.
    Managed {
        ask: u32,
        reply: Box<ManagedReply>,
    },
    /// The part of a stored output, or why there is none.
    PartThere {
        ask: u32,
        part: Result<PartThere, String>,
    },
    /// What this place is like.
    Described {
        ask: u32,
        facts: Box<PlaceFacts>,
    },
    Ping,
    Pong,
}

/// What an outpost says about itself and where it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Welcome {
    pub(crate) version: u32,
    pub(crate) build: String,
    /// The boot of the machine: a run of another boot is lost.
    pub(crate) boot: String,
    /// Which process it is.
    pub(crate) pid: u32,
    pub(crate) user: u32,
    pub(crate) home: Option<String>,
    /// Where it writes down what it began: an outpost elsewhere knows nothing of that.
    #[serde(default)]
    pub(crate) state: String,
    pub(crate) kernel: String,
    pub(crate) machine: String,
    /// Whether carriers to it hold a write back until the one before was acknowledged, as those of
    /// Slurm do: then little is said by itself, and that a frame has begun is told at once.
    #[serde(default)]
    pub(crate) is_held_back: bool,
}

/// An event of a run, as it travels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum FarEvent {
    Started {
        pid: i32,
    },
    Output {
        stream: Stream,
        offset: u64,
        text: String,
    },
    Excerpt(Excerpt),
}

impl From<FarEvent> for Event {
    fn from(event: FarEvent) -> Self {
        match event {
            FarEvent::Started { pid } => Self::Started { pid },
            FarEvent::Output {
                stream,
                offset,
                text,
            } => Self::Output {
                stream,
                offset,
                text,
            },
            FarEvent::Excerpt(excerpt) => Self::Excerpt(excerpt),
        }
    }
}

/// A piece of a stream, as it travels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum FarPiece {
    Kept(ByteBuf),
    Dropped(u64),
    Replaced { bytes: u64, by: String },
}

impl From<StreamPiece> for FarPiece {
    fn from(piece: StreamPiece) -> Self {
        match piece {
            StreamPiece::Kept(bytes) => Self::Kept(ByteBuf::from(bytes)),
            StreamPiece::Dropped(count) => Self::Dropped(count),
            StreamPiece::Replaced { bytes, by } => Self::Replaced { bytes, by },
        }
    }
}

impl From<FarPiece> for StreamPiece {
    fn from(piece: FarPiece) -> Self {
        match piece {
            FarPiece::Kept(bytes) => Self::Kept(bytes.into_vec()),
            FarPiece::Dropped(count) => Self::Dropped(count),
            FarPiece::Replaced { bytes, by } => Self::Replaced { bytes, by },
        }
    }
}

/// A message as bytes.
pub(crate) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    rmp_serde::to_vec_named(message).map_err(invalid)
}

/// A message from bytes.
pub(crate) fn decode<M: DeserializeOwned>(bytes: &[u8]) -> io::Result<M> {
    rmp_serde::from_slice(bytes).map_err(invalid)
}

/// Whether these bytes are a message of either side. For fuzzing.
pub fn is_message(bytes: &[u8]) -> bool {
    decode::<FromOutpost>(bytes).is_ok() || decode::<ToOutpost>(bytes).is_ok()
}

/// The one frame of a small message that may travel between the parts of others; `None` if it is
/// too large for that.
pub fn whole_frame(channel: u32, message: &[u8]) -> Option<Vec<u8>> {
    (message.len() <= LARGEST_FRAME).then(|| frame(channel, Part::Whole, message))
}

/// The frames of a message.
pub fn frames(channel: u32, message: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = message.chunks(PIECE).peekable();
    if parts.peek().is_none() {
        return vec![frame(channel, Part::Last, &[])];
    }
    let mut frames = Vec::new();
    while let Some(part) = parts.next() {
        let kind = match parts.peek() {
            Some(_) => Part::More,
            None => Part::Last,
        };
        frames.push(frame(channel, kind, part));
    }
    frames
}

/// The frame that says how many bytes have arrived of messages that are not urgent.
pub(crate) fn arrived_frame(bytes: u64) -> Vec<u8> {
    frame(CONTROL, Part::Arrived, &bytes.to_be_bytes())
}

fn frame(channel: u32, part: Part, bytes: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD + bytes.len());
    frame.extend((bytes.len() as u32).to_be_bytes());
    frame.extend(channel.to_be_bytes());
    frame.push(part as u8);
    frame.extend(bytes);
    frame
}

/// Makes messages of bytes as they arrive. Whatever arrives, it holds a bounded amount of it.
#[derive(Debug)]
pub struct Assembler {
    /// What is not a whole frame yet.
    rest: Vec<u8>,
    /// Messages whose last part is still on its way.
    unfinished: HashMap<u32, Vec<u8>>,
    /// Bytes of these.
    held: usize,
    most: usize,
    /// Bytes of frames that have come of messages which are not urgent.
    arrived: u64,
    /// What the other side has said of ours, until it is taken.
    told: Option<u64>,
}

impl Assembler {
    /// One that holds at most so many bytes of unfinished messages.
    pub fn new(most: usize) -> Self {
        Self {
            rest: Vec::new(),
            unfinished: HashMap::new(),
            held: 0,
            most,
            arrived: 0,
            told: None,
        }
    }

    /// Bytes of frames that have come of messages which are not urgent.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Whether a frame has begun and is not whole.
    pub(crate) fn has_begun(&self) -> bool {
        !self.rest.is_empty()
    }

    /// What the other side has said since the last time of how many of ours have arrived there.
    pub(crate) fn take_told(&mut self) -> Option<u64> {
        self.told.take()
    }

    /// Takes bytes in; gives every message that they complete, with its channel. After an error
    /// nothing that follows can be understood.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<(u32, Vec<u8>)>> {
        let mut messages = Vec::new();
        let mut bytes = bytes;
        loop {
            let missing = self.missing()?;
            let (taken, left) = bytes.split_at(missing.min(bytes.len()));
            self.rest.extend(taken);
            bytes = left;
            // A frame that is too large is refused as soon as that is known.
            let still_missing = self.missing()?;
            if taken.len() < missing {
                return Ok(messages);
            }
            if still_missing == 0 {
                messages.extend(self.take_frame()?);
            }
        }
    }

    /// Bytes held now.
    pub fn held(&self) -> usize {
        self.held + self.rest.len()
    }

    /// How many bytes the frame that has begun, or its head, still lacks.
    fn missing(&self) -> io::Result<usize> {
        let Some(length) = self.rest.first_chunk::<4>() else {
            return Ok(HEAD - self.rest.len());
        };
        let length = u32::from_be_bytes(*length) as usize;
        if length > LARGEST_FRAME {
            return Err(invalid(format!("a frame of {length} bytes")));
        }
        Ok((HEAD + length).saturating_sub(self.rest.len()))
    }

    fn take_frame(&mut self) -> io::Result<Option<(u32, Vec<u8>)>> {
        let frame = std::mem::take(&mut self.rest);
        let (head, bytes) = frame.split_at(HEAD);
        let channel = head.get(4..).and_then(<[u8]>::first_chunk::<4>);
        let channel = u32::from_be_bytes(*channel.unwrap_or(&[0; 4]));
        if let Some(0 | 1) = head.last() {
            self.arrived += (HEAD + bytes.len()) as u64;
        }
        match head.last() {
            Some(3) => {
                let told = <[u8; 8]>::try_from(bytes).map_err(invalid)?;
                self.told = Some(u64::from_be_bytes(told));
                Ok(None)
            }
            Some(2) => Ok(Some((channel, bytes.to_vec()))),
            Some(1) => {
                self.held += bytes.len();
                let unfinished = self.unfinished.len();
                let message = self.unfinished.entry(channel).or_default();
                // An empty part costs something, too.
                if self.held > self.most || unfinished > self.most / HEAD || bytes.is_empty() {
                    return Err(invalid("messages that do not end"));
                }
                message.extend(bytes);
                Ok(None)
            }
            Some(0) => {
                let mut message = self.unfinished.remove(&channel).unwrap_or_default();
                self.held -= message.len();
                message.extend(bytes);
                Ok(Some((channel, message)))
            }
            _ => Err(invalid("a frame that is no part of anything")),
        }
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_arrive_as_they_were_sent_however_the_bytes_are_split(
            messages in prop::collection::vec((0u32..4, 0usize..3 * LARGEST_FRAME), 0..6),
            step in 1usize..100_000,
        ) {
            let sent: Vec<(u32, Vec<u8>)> = messages
                .into_iter()
                .enumerate()
                .map(|(number, (channel, size))| (channel, vec![number as u8; size]))
                .collect();
            let bytes: Vec<u8> = sent
                .iter()
                .flat_map(|(channel, message)| frames(*channel, message))
                .flatten()
                .collect();
            let mut assembler = Assembler::new(MOST_TO_OUTPOST);
            let mut arrived = Vec::new();
            for piece in bytes.chunks(step) {
                arrived.extend(assembler.push(piece).unwrap());
            }
            prop_assert_eq!(arrived, sent);
            prop_assert_eq!(assembler.held(), 0);
        }

        #[test]
        fn any_bytes_are_read_or_refused_and_little_is_held(bytes: Vec<u8>) {
            let mut assembler = Assembler::new(1000);
            let _ = assembler.push(&bytes);
            prop_assert!(assembler.held() <= 1000 + LARGEST_FRAME + HEAD);
            let _ = decode::<FromOutpost>(&bytes);
            let _ = decode::<ToOutpost>(&bytes);
        }
    }

    #[test]
    fn an_urgent_message_passes_between_the_parts_of_a_large_one() {
        let large = vec![7; 2 * PIECE];
        let mut parts = frames(5, &large).into_iter();
        let mut assembler = Assembler::new(MOST_FROM_OUTPOST);
        assert_eq!(assembler.push(&parts.next().unwrap()).unwrap(), []);
        let urgent = whole_frame(5, b"now").unwrap();
        assert_eq!(assembler.push(&urgent).unwrap(), [(5, b"now".to_vec())]);
        assert_eq!(
            assembler.push(&parts.next().unwrap()).unwrap(),
            [(5, large)]
        );
    }

    #[test]
    fn what_has_arrived_is_counted_and_told() {
        let mut assembler = Assembler::new(MOST_FROM_OUTPOST);
        let sent: Vec<u8> = frames(3, &vec![7; 40_000]).concat();
        assembler.push(&sent).unwrap();
        assembler.push(&whole_frame(3, b"urgent").unwrap()).unwrap();
        assert_eq!(assembler.arrived(), sent.len() as u64);
        assert_eq!(assembler.take_told(), None);
        let told = [arrived_frame(1), arrived_frame(70_000)].concat();
        assert_eq!(assembler.push(&told).unwrap(), []);
        assert_eq!(
            (assembler.take_told(), assembler.take_told()),
            (Some(70_000), None)
        );
        let broken = frame(CONTROL, Part::Arrived, b"few");
        assert!(assembler.push(&broken).is_err());
    }

    #[test]
    fn a_message_that_does_not_end_and_a_frame_that_is_too_large_are_refused() {
        let mut assembler = Assembler::new(100_000);
        let part = frame(1, Part::More, &vec![0; LARGEST_FRAME]);
        let refused = (0..10).find_map(|_| assembler.push(&part).err());
        assert_eq!(refused.unwrap().to_string(), "messages that do not end");
        let mut assembler = Assembler::new(100_000);
        let huge = u32::MAX.to_be_bytes();
        let refused = assembler.push(&huge).unwrap_err();
        assert_eq!(refused.to_string(), "a frame of 4294967295 bytes");
        assert!(assembler.held() < 100);
    }
}
