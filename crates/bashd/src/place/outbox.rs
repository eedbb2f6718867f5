//! What waits to be written to the other side: urgent messages first, then the parts of large ones,
//! one of each channel in turn, and of these no more than may be on its way (`flow`).

use super::flow::{Arrivals, Flow};
use super::wire::{self, Assembler, arrived_frame, frames, whole_frame};
use serde::Serialize;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long what goes along with something waits for that.
const ALONG: Duration = Duration::from_millis(100);

/// Messages on their way out. Everything in it was asked for by the other side or by a call, so
/// its size is theirs to bound.
#[derive(Debug, Default)]
pub(crate) struct FrameQueue {
    queues: Mutex<Queues>,
    filled: Notify,
    /// Whether a frame was taken that is not written yet.
    is_writing: AtomicBool,
}

#[derive(Debug, Default)]
struct Queues {
    /// How much has arrived here, if that is to be told.
    arrived: Option<u64>,
    urgent: VecDeque<Vec<u8>>,
    bulk: VecDeque<(u32, VecDeque<Vec<u8>>)>,
    /// Whole frames that go with whatever is next.
    along: Vec<u8>,
    flow: Flow,
}

impl FrameQueue {
    /// Sends a message as soon as it can be; one that is large after all takes its turn.
    pub(crate) fn urgent(&self, channel: u32, message: &impl Serialize) -> io::Result<()> {
        let bytes = wire::encode(message)?;
        match whole_frame(channel, &bytes) {
            Some(frame) => self.lock().urgent.push_back(frame),
            None => self.lock().push_bulk(channel, frames(channel, &bytes)),
        }
        self.filled.notify_one();
        Ok(())
    }

    /// Sends an answer of which one is as good as many: whoever asks without end and reads nothing
    /// fills no memory.
    pub(crate) fn urgent_once(&self, channel: u32, message: &impl Serialize) -> io::Result<()> {
        let bytes = wire::encode(message)?;
        if let Some(frame) = whole_frame(channel, &bytes) {
            let mut queues = self.lock();
            if !queues.urgent.contains(&frame) {
                queues.urgent.push_back(frame);
            }
        }
        self.filled.notify_one();
        Ok(())
    }

    /// Sends a small message with whatever is next, in one write, or by itself after a moment.
    pub(crate) fn along(&self, channel: u32, message: &impl Serialize) -> io::Result<()> {
        let bytes = wire::encode(message)?;
        if let Some(frame) = whole_frame(channel, &bytes) {
            self.lock().along.extend(frame);
        }
        self.filled.notify_one();
        Ok(())
    }

    /// Nothing more comes for now: what goes along with something goes by itself.
    pub(crate) fn nothing_follows(&self) {
        let mut queues = self.lock();
        let along = std::mem::take(&mut queues.along);
        if !along.is_empty() {
            queues.urgent.push_back(along);
            self.filled.notify_one();
        }
    }

    /// Sends a message in its turn.
    pub(crate) fn bulk(&self, channel: u32, message: &impl Serialize) -> io::Result<()> {
        let bytes = wire::encode(message)?;
        self.lock().push_bulk(channel, frames(channel, &bytes));
        self.filled.notify_one();
        Ok(())
    }

    /// Hears what the other side said of what has arrived there, and tells it what has here.
    pub(crate) fn keep_up(&self, assembler: &mut Assembler, arrivals: &mut Arrivals) {
        if let Some(bytes) = assembler.take_told() {
            self.has_arrived(bytes);
        }
        if let Some(bytes) = arrivals.due(assembler.arrived(), assembler.has_begun()) {
            self.tell_arrived(bytes);
        }
    }

    fn tell_arrived(&self, bytes: u64) {
        self.lock().arrived = Some(bytes);
        self.filled.notify_one();
    }

    fn has_arrived(&self, bytes: u64) {
        self.lock().flow.hears(bytes, Instant::now());
        self.filled.notify_one();
    }

    /// What is to be written next, whole frames; what came before was written.
    pub(crate) async fn next(&self) -> Vec<u8> {
        self.is_writing.store(false, Ordering::Relaxed);
        loop {
            if let Some(frame) = self.take() {
                self.is_writing.store(true, Ordering::Relaxed);
                return frame;
            }
            let more = self.filled.notified();
            if self.lock().along.is_empty() {
                more.await;
            } else if timeout(ALONG, more).await.is_err() {
                self.nothing_follows();
            }
        }
    }

    /// Whether everything was written but for what goes along with something.
    pub(crate) fn is_written(&self) -> bool {
        let queues = self.lock();
        let is_writing = self.is_writing.load(Ordering::Relaxed);
        queues.urgent.is_empty() && queues.bulk.is_empty() && !is_writing
    }

    fn take(&self) -> Option<Vec<u8>> {
        let mut queues = self.lock();
        let next = queues.next()?;
        let mut bytes = std::mem::take(&mut queues.along);
        if bytes.is_empty() {
            return Some(next);
        }
        bytes.extend(next);
        Some(bytes)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queues {
    fn next(&mut self) -> Option<Vec<u8>> {
        if let Some(bytes) = self.arrived.take() {
            return Some(arrived_frame(bytes));
        }
        if let Some(frame) = self.urgent.pop_front() {
            return Some(frame);
        }
        let Self { bulk, flow, .. } = self;
        let size = |waiting: &VecDeque<Vec<u8>>| waiting.front().map_or(0, Vec::len);
        let mut sizes = bulk.iter().map(|(_, waiting)| size(waiting));
        let next = sizes.position(|size| flow.has_room_for(size))?;
        let (channel, mut waiting) = bulk.remove(next)?;
        let frame = waiting.pop_front()?;
        flow.sends(frame.len(), Instant::now());
        if !waiting.is_empty() {
            bulk.push_back((channel, waiting));
        }
        Some(frame)
    }

    fn push_bulk(&mut self, channel: u32, frames: Vec<Vec<u8>>) {
        let known = self.bulk.iter_mut().find(|(known, _)| *known == channel);
        match known {
            Some((_, waiting)) => waiting.extend(frames),
            None => self.bulk.push_back((channel, frames.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::MOST_FROM_OUTPOST;
    use super::*;

    #[test]
    fn of_answers_that_are_alike_one_waits() {
        let outbox = FrameQueue::default();
        for _ in 0..1000 {
            outbox.urgent_once(0, &"pong").unwrap();
        }
        assert!(outbox.take().is_some() && outbox.take().is_none());
        outbox.urgent_once(0, &"pong").unwrap();
        assert!(outbox.take().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_goes_along_is_written_with_the_next_or_by_itself_after_a_moment() {
        let (outbox, mut assembler) = (FrameQueue::default(), Assembler::new(MOST_FROM_OUTPOST));
        let mut arrive = |bytes: Vec<u8>| {
            let messages = assembler.push(&bytes).unwrap().into_iter();
            let texts = messages.map(|(_, bytes)| wire::decode::<String>(&bytes).unwrap());
            texts.collect::<Vec<_>>()
        };
        outbox.along(1, &"forget").unwrap();
        outbox.along(2, &"this too").unwrap();
        assert!(outbox.is_written() && outbox.take().is_none());
        outbox.bulk(3, &"order").unwrap();
        assert_eq!(arrive(outbox.next().await), ["forget", "this too", "order"]);
        outbox.along(1, &"forget").unwrap();
        let begun = tokio::time::Instant::now();
        assert_eq!(arrive(outbox.next().await), ["forget"]);
        assert!(begun.elapsed() >= ALONG);
        outbox.along(1, &"forget").unwrap();
        outbox.nothing_follows();
        assert_eq!(arrive(outbox.take().unwrap()), ["forget"]);
    }

    #[test]
    fn what_is_large_waits_until_it_is_heard_of_and_what_is_urgent_does_not() {
        let outbox = FrameQueue::default();
        outbox.bulk(1, &"x".repeat(1_000_000)).unwrap();
        let mut assembler = Assembler::new(MOST_FROM_OUTPOST);
        let mut sent = 0;
        while let Some(frame) = outbox.take() {
            sent += frame.len();
            assembler.push(&frame).unwrap();
        }
        assert!(sent <= 64 * 1024, "{sent} bytes on their way");
        outbox.urgent(1, &"stop").unwrap();
        outbox.tell_arrived(1);
        outbox.tell_arrived(2);
        assert_eq!(outbox.take(), Some(arrived_frame(2)), "the newest count");
        assert!(outbox.take().is_some() && outbox.take().is_none());
        outbox.has_arrived(assembler.arrived());
        assert!(outbox.take().is_some());
    }

    #[test]
    fn what_is_urgent_comes_first_and_large_messages_take_turns() {
        let outbox = FrameQueue::default();
        let large = "x".repeat(100_000);
        outbox.bulk(1, &large).unwrap();
        outbox.bulk(2, &large).unwrap();
        let mut assembler = Assembler::new(MOST_FROM_OUTPOST);
        assert!(assembler.push(&outbox.take().unwrap()).unwrap().is_empty());
        outbox.urgent(1, &"stop").unwrap();
        let mut order = Vec::new();
        while let Some(frame) = outbox.take() {
            let arrived = assembler.push(&frame).unwrap();
            outbox.has_arrived(assembler.arrived());
            order.extend(
                arrived.into_iter().map(|(channel, bytes)| {
                    (channel, wire::decode::<String>(&bytes).unwrap().len())
                }),
            );
        }
        assert_eq!(order, [(1, 4), (1, 100_000), (2, 100_000)]);
    }
}
