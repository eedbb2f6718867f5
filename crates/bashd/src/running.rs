//! A call in progress, and what it reports meanwhile.

use crate::event::{Event, Excerpt};
use crate::exec::Keyboard;
use crate::exec::excerpts::NewestExcerpt;
use crate::reply::Reply;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A call that reports what happens as it happens. Dropping it ends the command.
pub struct Running {
    state: RunningState,
    keyboard: Keyboard,
    events: mpsc::Receiver<Event>,
    excerpts: Option<Arc<NewestExcerpt>>,
}

enum RunningState {
    Running(Pin<Box<dyn Future<Output = Reply> + Send>>),
    Finished(Option<Box<Reply>>),
}

impl Running {
    /// A call whose reply is on its way; with excerpts of its output where somebody asked for
    /// those.
    pub(crate) fn new(
        reply: impl Future<Output = Reply> + Send + 'static,
        keyboard: Keyboard,
        events: mpsc::Receiver<Event>,
        excerpts: Option<Arc<NewestExcerpt>>,
    ) -> Self {
        Self {
            state: RunningState::Running(Box::pin(reply)),
            keyboard,
            events,
            excerpts,
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
                RunningState::Running(reply) => tokio::select! {
                    biased;
                    Some(event) = self.events.recv() => return Some(event),
                    excerpt = next_excerpt(self.excerpts.as_deref()) => {
                        return Some(Event::Excerpt(excerpt));
                    }
                    reply = reply => self.state = RunningState::Finished(Some(Box::new(reply))),
                },
                RunningState::Finished(reply) => {
                    let newest = || self.excerpts.as_ref()?.take().map(Event::Excerpt);
                    let waiting = self.events.try_recv().ok().or_else(newest);
                    return waiting.or_else(|| reply.take().map(Event::Finished));
                }
            }
        }
    }
}

/// The next excerpt, if there are any.
async fn next_excerpt(slot: Option<&NewestExcerpt>) -> Excerpt {
    match slot {
        Some(slot) => slot.next().await,
        None => std::future::pending().await,
    }
}
