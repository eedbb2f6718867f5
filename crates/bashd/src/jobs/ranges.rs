//! A job for a viewer that draws it itself: slices of its output, hits of a search in it, a wait
//! for more of it, and a keyboard that reads nothing.

use super::control::Control;
use super::output::OutputSource;
use super::state::Job;
use super::{AfterInput, Jobs};
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Stream;
use crate::output::search::search;
use crate::output::slice::slice;
use crate::output::{OutputSearch, OutputSlice, SearchHits, SliceQuery};
use crate::screen::Size;
use bashd_keeper::keeper::protocol::ResizeMessage;
use std::io;
use std::time::Duration;

impl Jobs {
    /// A slice of one of its streams.
    pub async fn slice(
        &self,
        job: &Job,
        stream: Stream,
        query: &SliceQuery,
    ) -> Result<OutputSlice> {
        let reading = OutputSource::open(self, job, stream).await?;
        let written = reading.raw(stream).ok_or_else(apart)?.len();
        let dropped = reading.dropped(stream);
        let view = reading.view(stream).ok_or_else(apart)?;
        let cut = slice(view.source(), query).map_err(unreadable)?;
        Ok(OutputSlice {
            written,
            dropped,
            ..cut
        })
    }

    /// Searches one of its streams.
    pub async fn search(
        &self,
        job: &Job,
        stream: Stream,
        query: OutputSearch,
    ) -> Result<SearchHits> {
        let reading = OutputSource::open(self, job, stream).await?.so_far();
        let searching = errand::read(move |called_back| {
            let view = reading.view(stream).ok_or(io::ErrorKind::NotFound)?;
            search(view.source(), &query, called_back)
        });
        let found = searching.await.unwrap_or_else(|why| Err(why.into()));
        found.map_err(unreadable)
    }

    /// Waits until it has written more than this to its stdout, or has ended, or the time is over.
    pub async fn until_grown(&self, job: &Job, beyond: u64, longest: Duration) {
        let waiting = async {
            let Ok(mut control) = Control::open(job).await else {
                return;
            };
            if let Ok(readers) = control.attach().await {
                control.more_than(beyond, u64::MAX, &readers).await;
            }
        };
        let _ = tokio::time::timeout(longest, waiting).await;
    }

    /// A keyboard at the terminal of a job that lives. That somebody types is recorded, once; what
    /// is typed is not.
    pub async fn keyboard(&self, job: &Job) -> Result<JobKeyboard> {
        let opening = Control::open(job);
        let control = self.book.noted(job, "send", opening).await?;
        Ok(JobKeyboard { control })
    }
}

/// Types at a job's terminal and changes its size, without reading what it shows.
pub struct JobKeyboard {
    control: Control,
}

impl JobKeyboard {
    /// Sends bytes as if they were typed.
    pub async fn type_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.control.input(bytes, AfterInput::StayOpen).await
    }

    /// Resizes the terminal; the command is notified.
    pub async fn resize(&self, size: Size) -> io::Result<()> {
        let connection = self.control.connection();
        connection.send(&ResizeMessage { size }, &[]).await
    }
}

fn unreadable(error: io::Error) -> Error {
    Error::io(ErrorKind::Job, "read the output", error)
}

fn apart() -> Error {
    Error::new(
        ErrorKind::Job,
        "stdout and stderr were not captured separately: there is only one output",
    )
}
