//! What waits to be written to the other side: urgent messages first, then the parts of large ones,
//! one of each channel in turn, and of these no more than may be on its way (`flow`).

use super::flow::{Arrivals, Flow};
use super::wire::{self, Assembler, arrived_frame, frames, whole_frame};
use serde::Serialize;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

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
        if let Some(bytes) = arrivals.due(assembler.arrived()) {
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

    /// The next frame to write; the one before was written.
    pub(crate) async fn next(&self) -> Vec<u8> {
        self.is_writing.store(false, Ordering::Relaxed);
        loop {
            if let Some(frame) = self.take() {
                self.is_writing.store(true, Ordering::Relaxed);
                return frame;
            }
            self.filled.notified().await;
        }
    }

    /// Whether everything was written.
    pub(crate) fn is_empty(&self) -> bool {
        let queues = self.lock();
        let is_writing = self.is_writing.load(Ordering::Relaxed);
        queues.urgent.is_empty() && queues.bulk.is_empty() && !is_writing
    }

    fn take(&self) -> Option<Vec<u8>> {
        let mut queues = self.lock();
        if let Some(bytes) = queues.arrived.take() {
            return Some(arrived_frame(bytes));
        }
        if let Some(frame) = queues.urgent.pop_front() {
            return Some(frame);
        }
        let Queues { bulk, flow, .. } = &mut *queues;
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queues {
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
