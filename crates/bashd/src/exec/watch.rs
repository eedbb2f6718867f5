//! Following a run's output while it grows: from spool to events.

use super::Strokes;
use super::excerpts::{ExcerptMaker, NewestExcerpt, ends_of};
use crate::event::{Event, Stream};
use crate::output::StreamPiece;
use crate::output::view::View;
use bashd_keeper::keeper::protocol::QueryMessage;
use bashd_keeper::spool::SpoolReader;
use bashd_keeper::text::Decoder;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Bytes of one output event at most.
const CHUNK: u64 = 64 * 1024;

/// Passes a run's output on as events. A slow receiver slows only itself: the command's output goes
/// to the spool, and what the ring drops before it was passed on is reported as a gap.
pub(crate) struct OutputWatch {
    events: mpsc::Sender<Event>,
    streams: Vec<StreamProgress>,
    /// What is typed meanwhile.
    pub(super) strokes: Option<Strokes>,
    /// Set if only the end of the output is wanted.
    excerpts: Option<ExcerptMaker>,
}

/// How far one stream has been passed on.
#[derive(Default)]
struct StreamProgress {
    offset: u64,
    /// Where the next text begins: behind `offset` by what is held back.
    told: u64,
    decoder: Decoder,
    /// Bytes of a gap that was not reported yet, since it may grow.
    gap: u64,
}

impl OutputWatch {
    /// A watch that reports here.
    pub(crate) fn new(events: mpsc::Sender<Event>) -> Self {
        Self {
            strokes: None,
            events,
            streams: vec![StreamProgress::default(), StreamProgress::default()],
            excerpts: None,
        }
    }

    /// Also reads what somebody types meanwhile.
    pub(crate) fn typed_by(mut self, strokes: Strokes) -> Self {
        self.strokes = Some(strokes);
        self
    }

    /// A watch that puts the end of the output here instead of passing on all of it.
    pub(crate) fn of_the_end(events: mpsc::Sender<Event>, slot: Arc<NewestExcerpt>) -> Self {
        Self {
            excerpts: Some(ExcerptMaker::new(slot)),
            ..Self::new(events)
        }
    }

    /// The shell runs.
    pub(super) fn begin(&mut self, pid: i32) {
        // The channel is empty at this point, so there is room.
        let _ = self.events.try_send(Event::Started { pid });
    }

    /// The command runs in a terminal of the client.
    pub(super) async fn begin_in_terminal(&mut self, id: &str) {
        let id = id.to_owned();
        let _ = self.events.send(Event::Terminal { id }).await;
    }

    /// Passes on what there is; the returned message asks for what comes after it.
    ///
    /// What is written meanwhile waits for the next turn: a flood must not keep the caller from the
    /// keeper, nor one stream from the other.
    pub(super) async fn pass_on(&mut self, spools: &[SpoolReader]) -> QueryMessage {
        if let Some(excerpts) = &mut self.excerpts {
            let ends = ends_of(spools);
            excerpts.look(spools, &ends);
            let end = |stream: usize| ends.get(stream).copied().unwrap_or_default();
            return QueryMessage {
                out: end(0),
                err: end(1),
            };
        }
        for ((spool, progress), stream) in spools
            .iter()
            .zip(&mut self.streams)
            .zip([Stream::Out, Stream::Err])
        {
            let end = spool.readable_end();
            while progress.offset < end {
                let upto = end.min(progress.offset + CHUNK);
                let text = match View::of(spool).source().read(progress.offset..upto) {
                    Ok(pieces) => progress.decode(pieces),
                    Err(error) => format!("\n[bashd: output can't be read: {error}]\n"),
                };
                progress.offset = upto;
                let offset = progress.told_upto(upto);
                send(&self.events, stream, offset, text).await;
            }
        }
        let offset = |stream: usize| {
            self.streams
                .get(stream)
                .map_or(0, |progress| progress.offset)
        };
        QueryMessage {
            out: offset(0),
            err: offset(1),
        }
    }

    /// When something that is held back now should be shown.
    pub(super) fn due(&self) -> Option<Instant> {
        self.excerpts.as_ref().and_then(ExcerptMaker::due)
    }

    /// Shows what was held back until its time.
    pub(super) fn show_held(&mut self, spools: &[SpoolReader]) {
        if let Some(excerpts) = &mut self.excerpts {
            excerpts.show_held(spools);
        }
    }

    /// Passes on what was held back.
    pub(super) async fn finish(&mut self, spools: &[SpoolReader]) {
        self.show_held(spools);
        for (progress, stream) in self.streams.iter_mut().zip([Stream::Out, Stream::Err]) {
            let text = progress.finish();
            let offset = progress.told_upto(progress.offset);
            send(&self.events, stream, offset, text).await;
        }
    }
}

impl StreamProgress {
    fn decode(&mut self, pieces: Vec<StreamPiece>) -> String {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                StreamPiece::Kept(bytes) => {
                    text.push_str(&self.take_gap());
                    text.push_str(&self.decoder.push(&bytes));
                }
                StreamPiece::Dropped(count) => {
                    text.push_str(&std::mem::take(&mut self.decoder).finish());
                    self.gap += count;
                }
            }
        }
        text
    }

    /// Where the text just decoded begins: everything read up to `upto` except what is held back.
    fn told_upto(&mut self, upto: u64) -> u64 {
        let held_back = self.decoder.held_back() as u64 + self.gap;
        std::mem::replace(&mut self.told, upto - held_back)
    }

    fn finish(&mut self) -> String {
        self.take_gap() + &std::mem::take(&mut self.decoder).finish()
    }

    fn take_gap(&mut self) -> String {
        match std::mem::take(&mut self.gap) {
            0 => String::new(),
            count => gap(count),
        }
    }
}

/// What stands in for bytes that the ring dropped before they were passed on.
fn gap(count: u64) -> String {
    let lost = bashd_keeper::counted::counted(count, "byte of output was", "bytes of output were");
    format!("\n[bashd: {lost} lost]\n")
}

async fn send(events: &mpsc::Sender<Event>, stream: Stream, offset: u64, text: String) {
    if !text.is_empty() {
        let output = Event::Output {
            stream,
            offset,
            text,
        };
        let _ = events.send(output).await;
    }
}
