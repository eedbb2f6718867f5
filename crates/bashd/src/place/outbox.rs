//! What waits to be written to the other side: urgent messages first, then the parts of large ones,
//! one of each channel in turn.

use super::wire::{self, frames, whole_frame};
use serde::Serialize;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
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
    urgent: VecDeque<Vec<u8>>,
    bulk: VecDeque<(u32, VecDeque<Vec<u8>>)>,
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
        if let Some(frame) = queues.urgent.pop_front() {
            return Some(frame);
        }
        let (channel, mut waiting) = queues.bulk.pop_front()?;
        let frame = waiting.pop_front();
        if !waiting.is_empty() {
            queues.bulk.push_back((channel, waiting));
        }
        frame
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
    use super::super::wire::{Assembler, MOST_FROM_OUTPOST};
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
            order.extend(
                arrived.into_iter().map(|(channel, bytes)| {
                    (channel, wire::decode::<String>(&bytes).unwrap().len())
                }),
            );
        }
        assert_eq!(order, [(1, 4), (1, 100_000), (2, 100_000)]);
    }
}
