//! Following a run's output while it grows: from spool to events.

use super::Strokes;
use super::excerpts::{ExcerptMaker, NewestExcerpt, ends_of};
use crate::event::{Event, Stream};
use crate::output::StreamPiece;
use crate::output::veiled::Veil;
use crate::output::view::View;
use crate::place::order::ToldMeanwhile;
use bashd_keeper::keeper::protocol::QueryMessage;
use bashd_keeper::spool::SpoolReader;
use bashd_keeper::text::Decoder;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Bytes of one output event at most.
const CHUNK: u64 = 64 * 1024;

/// So many last bytes are passed on even if they may begin a secret: a prompt and the echo of a key
/// are not held back for a letter, and a letter or two tell nothing.
const SHOWN_EARLY: u64 = 2;

/// Passes a run's output on as events. A slow receiver slows only itself: the command's output goes
/// to the spool, and what the ring drops before it was passed on is reported as a gap.
pub(crate) struct OutputWatch {
    events: mpsc::Sender<Event>,
    streams: Vec<StreamProgress>,
    /// What is typed meanwhile.
    pub(super) strokes: Option<Strokes>,
    /// Set if only the end of the output is wanted.
    excerpts: Option<ExcerptMaker>,
    /// What is not passed on.
    veil: Veil,
    /// Output of another place that may be the beginning of a secret.
    held_back: [HeldBack; 2],
}

/// Whether a stream may get longer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    GoesOn,
    HasEnded,
}

/// How far one stream has been passed on.
#[derive(Default)]
struct StreamProgress {
    offset: u64,
    /// How many bytes before `offset` were passed on early.
    early: u64,
    /// Where the next text begins: behind `offset` by what is held back.
    told: u64,
    decoder: Decoder,
    /// Bytes of a gap that was not reported yet, since it may grow.
    gap: u64,
}

/// Text that is not passed on yet, and where it begins.
#[derive(Debug, Default)]
struct HeldBack {
    offset: u64,
    text: String,
}

impl OutputWatch {
    /// A watch that reports here.
    pub(crate) fn new(events: mpsc::Sender<Event>) -> Self {
        Self {
            strokes: None,
            events,
            streams: vec![StreamProgress::default(), StreamProgress::default()],
            excerpts: None,
            veil: Veil::default(),
            held_back: Default::default(),
        }
    }

    /// Passes on nothing that must not be shown.
    pub(crate) fn behind(&mut self, veil: Veil) {
        if let Some(excerpts) = &mut self.excerpts {
            excerpts.veil = veil.clone();
        }
        self.veil = veil;
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

    /// What it wants to be told.
    pub(crate) fn watching(&self) -> ToldMeanwhile {
        match self.excerpts {
            Some(_) => ToldMeanwhile::End,
            None => ToldMeanwhile::All,
        }
    }

    /// Passes on what was told at another place.
    pub(crate) async fn forward(&mut self, event: Event) {
        match (event, &self.excerpts) {
            (Event::Excerpt(mut excerpt), Some(excerpts)) => {
                excerpt.text = self.veil.line(excerpt.text, true);
                excerpts.put(excerpt);
            }
            (
                Event::Output {
                    stream,
                    offset,
                    text,
                },
                _,
            ) if self.veil.hides() => {
                self.forward_output(stream, offset, &text).await;
            }
            (event, _) => drop(self.events.send(event).await),
        }
    }

    /// Passes on output of another place, but for what may be the beginning of a secret.
    async fn forward_output(&mut self, stream: Stream, offset: u64, text: &str) {
        let Some(held) = self.held_back.get_mut(stream as usize) else {
            return;
        };
        if held.text.is_empty() {
            held.offset = offset;
        }
        held.text.push_str(text);
        let decided = self.veil.decided(&held.text);
        let rest = held.text.split_off(decided);
        let shown = std::mem::replace(&mut held.text, rest);
        let offset = held.offset;
        held.offset += shown.len() as u64;
        send(&self.events, stream, offset, self.veil.text(shown)).await;
    }

    /// Nothing more comes from another place.
    pub(crate) async fn finish_forwarding(&mut self) {
        let held = std::mem::take(&mut self.held_back);
        for (held, stream) in held.into_iter().zip([Stream::Out, Stream::Err]) {
            let text = self.veil.text(held.text);
            send(&self.events, stream, held.offset, text).await;
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
        let ends = ends_of(spools);
        self.pass_on_upto(spools, &ends, Growth::GoesOn).await;
        let end = |stream: usize| ends.get(stream).copied().unwrap_or_default();
        QueryMessage {
            out: end(0),
            err: end(1),
        }
    }

    /// Passes on what there is up to these offsets; what may be the beginning of a secret is held
    /// back while there may be more, but for its first letters.
    async fn pass_on_upto(&mut self, spools: &[SpoolReader], ends: &[u64], growth: Growth) {
        for (((spool, end), progress), stream) in spools
            .iter()
            .zip(ends)
            .zip(&mut self.streams)
            .zip([Stream::Out, Stream::Err])
        {
            if progress.offset >= *end {
                continue;
            }
            let settled = match growth {
                // If that can't be read, the rest can't be, and its reader is told so.
                Growth::GoesOn => self.veil.settled(spool, *end).unwrap_or(*end),
                Growth::HasEnded => *end,
            };
            let open = end - settled.min(*end);
            let settled = if open <= SHOWN_EARLY { *end } else { settled };
            while progress.offset < settled {
                let upto = settled.min(progress.offset + CHUNK);
                let early = std::mem::take(&mut progress.early);
                let range = progress.offset - early..upto;
                let text = match View::of(spool, &self.veil).source().read(range) {
                    Ok(pieces) => progress.decode(unshown(pieces, early)),
                    Err(error) => format!("\n[bashd: output can't be read: {error}]\n"),
                };
                progress.offset = upto;
                let offset = progress.told_upto(upto);
                send(&self.events, stream, offset, text).await;
                if upto == *end {
                    progress.early = open.min(SHOWN_EARLY);
                }
            }
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
        if self.excerpts.is_none() {
            self.pass_on_upto(spools, &ends_of(spools), Growth::HasEnded)
                .await;
        }
        for (progress, stream) in self.streams.iter_mut().zip([Stream::Out, Stream::Err]) {
            let text = progress.finish();
            let offset = progress.told_upto(progress.offset);
            send(&self.events, stream, offset, text).await;
        }
    }
}

/// Pieces without the bytes at their beginning that were passed on early. If these began a secret,
/// the mark of all of it comes now.
fn unshown(mut pieces: Vec<StreamPiece>, early: u64) -> Vec<StreamPiece> {
    if let Some(StreamPiece::Kept(bytes)) = pieces.first_mut() {
        bytes.drain(..bytes.len().min(early as usize));
    }
    pieces
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
                StreamPiece::Replaced { by, .. } => {
                    text.push_str(&self.take_gap());
                    text.push_str(&self.decoder.push(by.as_bytes()));
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
