//! Places: running commands somewhere else.
//!
//! The near side reads, judges and records a call, and shows its output; the far side, an *outpost*
//! (`crate::outpost`), plans it there, runs it and keeps its output. Between them an *order*
//! travels one way (`order`), and a *conclusion* the other (`conclusion`), in the frames of `wire`,
//! over a *carrier*: a program of the user's (`carrier`). `link` is the near end of one carrier,
//! which all runs of a place share; `far_run` is the near half of one run, whatever becomes of its
//! carriers.

pub(crate) mod carrier;
pub(crate) mod conclusion;
pub(crate) mod far_run;
pub(crate) mod link;
pub(crate) mod order;
pub(crate) mod outbox;
mod settings;
mod ssh;
pub(crate) mod wire;

pub(crate) use far_run::{FarCall, FarEnd};
pub(crate) use settings::OrderSettings;
pub use settings::{PlaceKind, PlaceSettings};
pub use wire::{Assembler, LARGEST_FRAME, frames, is_message, whole_frame};

use crate::error::{Error, ErrorKind, Result};
use carrier::Carrier;
use link::Link;
use ssh::LineMark;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Mutex as AsyncMutex;
use wire::{CONTROL, ToOutpost};

/// What this program is: an outpost of another build is another outpost.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "-1");

/// A place, and the link to it while there is one.
#[derive(Debug)]
pub(crate) struct FarPlace {
    pub(crate) settings: PlaceSettings,
    /// What its carriers inherit.
    env: Vec<(OsString, OsString)>,
    link: AsyncMutex<Option<Arc<Link>>>,
    /// Ids of runs that were cancelled while nobody could be told.
    cancelled: Mutex<Vec<String>>,
}

impl FarPlace {
    pub(crate) fn new(settings: PlaceSettings, env: Vec<(OsString, OsString)>) -> Self {
        Self {
            settings,
            env,
            link: AsyncMutex::default(),
            cancelled: Mutex::default(),
        }
    }

    /// The link to it; a new one, if there is none. One caller at a time makes one.
    pub(crate) async fn link(&self) -> Result<Arc<Link>> {
        let mut slot = self.link.lock().await;
        if let Some(link) = slot.as_ref().filter(|link| !link.is_closed()) {
            return Ok(Arc::clone(link));
        }
        *slot = None;
        let name = &self.settings.name;
        let connect = self.settings.connect;
        let late = |_| {
            let seconds = connect.as_secs();
            let text = format!("the place `{name}` did not answer within {seconds} s");
            Error::new(ErrorKind::Place, text)
        };
        let about = |error: Error| {
            let text = format!("the place `{name}` can't be reached: {error}");
            Error::new(ErrorKind::Place, text)
        };
        let dialled = tokio::time::timeout(connect, self.dial());
        let link = Arc::new(dialled.await.map_err(late)?.map_err(about)?);
        // Before anything else is begun.
        for id in self.cancelled().drain(..) {
            link.send_first(CONTROL, &ToOutpost::Cancel { id });
        }
        *slot = Some(Arc::clone(&link));
        Ok(link)
    }

    /// Starts a carrier; another one if somebody kills it before it has answered.
    async fn dial(&self) -> Result<Link> {
        let mut tries = 0;
        loop {
            let (words, mark) = match &self.settings.kind {
                PlaceKind::Pipe { command } => (command.clone(), None),
                PlaceKind::Ssh { host, bin } => {
                    let mark = LineMark::new();
                    let words = ssh::words(host, bin, self.settings.connect, &mark);
                    (words, Some(mark))
                }
            };
            let failed = |error| {
                let program = words.first().map_or("", String::as_str);
                Error::io(ErrorKind::Place, format!("start {program}"), error)
            };
            let (carrier, stream) = Carrier::start(&words, &self.env).map_err(failed)?;
            tries += 1;
            match Link::greet(carrier, stream, mark.as_ref(), BUILD).await {
                Ok(link) => return Ok(link),
                Err(failure) if failure.was_killed && tries < MOST_TRIES => {}
                Err(failure) => return Err(failure.error),
            }
        }
    }

    /// Waits, for a moment, until what was sent is written.
    pub(crate) async fn flush(&self) {
        let link = self.link.lock().await.clone();
        if let Some(link) = link {
            link.flush().await;
        }
    }

    /// Ends a run as soon as the place is reached again.
    pub(crate) fn cancel_later(&self, id: &str) {
        let mut cancelled = self.cancelled();
        if cancelled.len() < MOST_CANCELLED {
            cancelled.push(id.to_owned());
        }
    }

    fn cancelled(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.cancelled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many carriers are started for one call that only somebody's kill keeps from answering.
const MOST_TRIES: usize = 3;

/// How many cancelled runs of a place that can't be reached are remembered: they have deadlines of
/// their own.
const MOST_CANCELLED: usize = 1000;
