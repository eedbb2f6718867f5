//! The end of a run's output while it grows: an excerpt now and then, and always the last one.
//!
//! A viewer gets the newest excerpt and no older one, so nothing waits for it and nothing piles
//! up.

use crate::event::Excerpt;
use crate::output::Source;
use crate::output::rendered;
use crate::output::veiled::Veil;
use crate::output::view::View;
use bashd_keeper::spool::SpoolReader;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Shortest time between two excerpts.
const INTERVAL: Duration = Duration::from_millis(50);

/// Bytes of text of an excerpt.
const MOST_TEXT: usize = 50 * 1024;

/// The newest excerpt that nobody has seen yet.
#[derive(Debug, Default)]
pub(crate) struct NewestExcerpt {
    newest: Mutex<Option<Excerpt>>,
    arrived: Notify,
}

impl NewestExcerpt {
    fn put(&self, excerpt: Excerpt) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(excerpt);
        self.arrived.notify_one();
    }

    /// Takes the newest, if it was not taken yet.
    pub(crate) fn take(&self) -> Option<Excerpt> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.take()
    }

    /// Waits for the next.
    pub(crate) async fn next(&self) -> Excerpt {
        loop {
            self.arrived.notified().await;
            if let Some(excerpt) = self.take() {
                return excerpt;
            }
        }
    }
}

/// Makes the excerpts of one run.
pub(super) struct ExcerptMaker {
    newest: Arc<NewestExcerpt>,
    /// What is not shown.
    pub(super) veil: Veil,
    /// Whether something new came too soon after the last excerpt.
    is_held_back: bool,
    /// When the last one was shown.
    shown: Option<Instant>,
    /// Bytes of both streams that it covered.
    told: u64,
}

impl ExcerptMaker {
    /// Shows an excerpt that was made elsewhere.
    pub(super) fn put(&self, excerpt: Excerpt) {
        self.newest.put(excerpt);
    }

    pub(super) fn new(slot: Arc<NewestExcerpt>) -> Self {
        Self {
            newest: slot,
            veil: Veil::default(),
            is_held_back: false,
            shown: None,
            told: 0,
        }
    }

    /// Looks at the streams and shows what there is, or schedules that for when its time has come.
    pub(super) fn look(&mut self, spools: &[SpoolReader], ends: &[u64]) {
        self.is_held_back = ends.iter().sum::<u64>() != self.told;
        if self.is_held_back && self.due().is_none_or(|due| due <= Instant::now()) {
            self.show(spools, ends);
        }
    }

    /// When what was held back may be shown.
    pub(super) fn due(&self) -> Option<Instant> {
        let shown = self.shown.filter(|_| self.is_held_back)?;
        Some(shown + INTERVAL)
    }

    /// Shows what there is, if something was held back.
    pub(super) fn show_held(&mut self, spools: &[SpoolReader]) {
        if self.is_held_back {
            self.show(spools, &ends_of(spools));
        }
    }

    fn show(&mut self, spools: &[SpoolReader], ends: &[u64]) {
        self.is_held_back = false;
        let Ok(newest) = excerpt(spools, ends, &self.veil) else {
            return; // what can't be read now is in the reply, or the reason is
        };
        self.told = newest.bytes;
        self.shown = Some(Instant::now());
        self.newest.put(newest);
    }
}

/// How far each stream can be read.
pub(super) fn ends_of(spools: &[SpoolReader]) -> Vec<u64> {
    spools.iter().map(SpoolReader::readable_end).collect()
}

/// The end of the streams, the second behind the first.
fn excerpt(spools: &[SpoolReader], ends: &[u64], veil: &Veil) -> io::Result<Excerpt> {
    let mut excerpt = Excerpt::default();
    let mut texts = Vec::new();
    let mut room = MOST_TEXT;
    for (spool, end) in spools.iter().zip(ends).rev() {
        excerpt.bytes += end;
        excerpt.lines += spool.lines();
        // If both streams have something to show, neither may take all the room.
        let limit = room.min(MOST_TEXT / spools.len());
        let view = View::of_growing(spool, *end, veil)?;
        let text = rendered::tail(view.source(), view.source().len(), limit)?;
        room -= text.len();
        texts.push(text);
    }
    texts.reverse();
    excerpt.text = texts.concat();
    Ok(excerpt)
}
