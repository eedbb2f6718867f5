//! A call that is under way, and what it tells meanwhile.

use crate::event::{Event, Snapshot};
use crate::exec::Keyboard;
use crate::exec::snapshots::Slot;
use crate::reply::Reply;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A call that tells what happens while it happens. Dropping it ends the command.
pub struct Running {
    state: State,
    keyboard: Keyboard,
    events: mpsc::Receiver<Event>,
    snapshots: Option<Arc<Slot>>,
}

enum State {
    Running(Pin<Box<dyn Future<Output = Reply> + Send>>),
    Finished(Option<Box<Reply>>),
}

impl Running {
    /// A call whose reply is on its way; with excerpts of its output where somebody asked for those.
    pub(crate) fn new(
        reply: impl Future<Output = Reply> + Send + 'static,
        keyboard: Keyboard,
        events: mpsc::Receiver<Event>,
        snapshots: Option<Arc<Slot>>,
    ) -> Self {
        Self {
            state: State::Running(Box::pin(reply)),
            keyboard,
            events,
            snapshots,
        }
    }

    /// The keyboard of the command's terminal, if it has one.
    pub fn keyboard(&self) -> Keyboard {
        self.keyboard.clone()
    }

    /// The next event; `None` after [`Event::Finished`].
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match &mut self.state {
                State::Running(reply) => tokio::select! {
                    biased;
                    Some(event) = self.events.recv() => return Some(event),
                    snapshot = next_snapshot(self.snapshots.as_deref()) => {
                        return Some(Event::Snapshot(snapshot));
                    }
                    reply = reply => self.state = State::Finished(Some(Box::new(reply))),
                },
                State::Finished(reply) => {
                    let newest = || self.snapshots.as_ref()?.take().map(Event::Snapshot);
                    let waiting = self.events.try_recv().ok().or_else(newest);
                    return waiting.or_else(|| reply.take().map(Event::Finished));
                }
            }
        }
    }
}

/// The next snapshot, if there are any.
async fn next_snapshot(slot: Option<&Slot>) -> Snapshot {
    match slot {
        Some(slot) => slot.next().await,
        None => std::future::pending().await,
    }
}
