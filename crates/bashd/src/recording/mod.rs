//! Runs that can be played again: their output with its times, as events, and what is made of them.
//!
//! [`RecordedRun::find`] takes any name of a run (of a call in the ledger, of a job, of an
//! artifact) and gives what is known of it: with `recording.enabled` when every byte came, what was
//! typed and how large the terminal was; without it the begin, the end and whatever of the output
//! is stored. [`RecordedRun::events`] are those things in order. [`cast`], [`svg`] and [`html`]
//! write them down for others.
//!
//! No secret that this process knows is in an event, and nothing that would act on a reader's
//! terminal ([`harmless`]).

pub mod cast;
mod find;
pub mod frames;
pub mod harmless;
pub mod html;
pub mod svg;
#[cfg(test)]
mod tests;

use crate::output::veiled::Veil;
use crate::output::view::View;
use crate::output::{Source, StreamPiece};
use crate::screen::Size;
use bashd_keeper::spool::{StreamMoment, StreamMomentKind};
use harmless::Harmless;
use jiff::Timestamp;
use std::io;
use std::time::Duration;

/// Bytes of a stream that are read at once.
const AT_ONCE: u64 = 256 * 1024;

/// A run as far as it is known.
pub struct RecordedRun {
    /// What it was, and how it went.
    pub about: AboutRun,
    sources: Vec<Box<dyn Source + Send>>,
    tracks: Vec<Track>,
    veil: Veil,
}

/// What is known of a run beside its output.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AboutRun {
    /// The id of the run, as in the ledger.
    pub id: String,
    /// The command as it was given, without secrets; empty if nothing knows it.
    pub command: String,
    /// When it began, if that is known.
    pub started: Option<Timestamp>,
    /// How long it ran, or has been running.
    pub ran_for: Duration,
    /// The exit status, if there is one.
    pub exit_code: Option<i32>,
    /// The size of its terminal when it began, if it had one.
    pub terminal: Option<Size>,
    /// How much is known about the times of its output.
    pub timing: Timing,
    /// Bytes of output that it wrote.
    pub output_bytes: u64,
    /// Whether it goes on.
    pub is_running: bool,
}

/// How much is known about the times of a run's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Timing {
    /// When each part came.
    Recorded,
    /// Only begin and end: it was not recorded.
    #[default]
    BeginAndEnd,
    /// Nor is its output stored.
    NoOutput,
}

impl Timing {
    /// What a person should know about it; nothing if all is known.
    pub fn remark(self) -> Option<&'static str> {
        match self {
            Self::Recorded => None,
            Self::BeginAndEnd => {
                Some("the times of its output were not recorded: all of it is shown at the start")
            }
            Self::NoOutput => Some(
                "its output is not stored: only its begin and end are known (`bashd run --record` stores it)",
            ),
        }
    }
}

/// A stream, where it is, and what is known of its times.
struct Track {
    /// Which of the sources has it, and where.
    source: usize,
    from: u64,
    bytes: u64,
    moments: Vec<StreamMoment>,
}

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEvent {
    /// When, since the run's start.
    pub at: Duration,
    /// What.
    pub what: Happening,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// Text for a terminal was written, with nothing in it that acts on one.
    Wrote(String),
    /// This was typed; nothing if that must not be known.
    Typed(Option<String>),
    /// The terminal had this size from then on.
    Resized(Size),
}

/// A part of a stream that came at once, before it is read.
struct RunStep {
    at: Duration,
    what: RunStepKind,
}

enum RunStepKind {
    /// The track up to this offset.
    Upto(usize, u64),
    Typed(Option<Vec<u8>>),
    Resized(Size),
}

impl RecordedRun {
    /// The size of the terminal on which it is shown.
    pub fn size(&self) -> Size {
        self.about.terminal.unwrap_or_default()
    }

    /// Tells every event in order, until `take` fails or there are no more.
    pub fn events(&self, take: &mut dyn FnMut(RunEvent) -> io::Result<()>) -> io::Result<()> {
        let mut outlets: Vec<TrackOutlet> = (self.tracks.iter())
            .map(|track| TrackOutlet::new(track.from, self.about.terminal.is_some()))
            .collect();
        for RunStep { at, what } in self.steps() {
            let what = match what {
                RunStepKind::Upto(number, upto) => {
                    let mut wrote = |text: String| {
                        let what = Happening::Wrote(text);
                        take(RunEvent { at, what })
                    };
                    self.read(number, upto, &mut outlets, &mut wrote)?;
                    continue;
                }
                RunStepKind::Typed(bytes) => Happening::Typed(bytes.map(|bytes| {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    self.veil.text(text)
                })),
                RunStepKind::Resized(size) => Happening::Resized(size),
            };
            take(RunEvent { at, what })?;
        }
        Ok(())
    }

    /// Reads a track up to an offset, in parts.
    fn read(
        &self,
        number: usize,
        upto: u64,
        outlets: &mut [TrackOutlet],
        wrote: &mut dyn FnMut(String) -> io::Result<()>,
    ) -> io::Result<()> {
        let (Some(track), Some(outlet)) = (self.tracks.get(number), outlets.get_mut(number)) else {
            return Ok(());
        };
        let Some(source) = self.sources.get(track.source) else {
            return Ok(());
        };
        let view = View::of(&**source, &self.veil);
        let end = track.from + track.bytes;
        let upto = (track.from + upto).min(end);
        while outlet.at < upto {
            let next = upto.min(outlet.at + AT_ONCE);
            let mut text = String::new();
            for piece in view.source().read(outlet.at..next)? {
                text += &outlet.text(piece);
            }
            outlet.at = next;
            if next == end {
                text += &outlet.harmless.finish();
            }
            if !text.is_empty() {
                wrote(text)?;
            }
        }
        Ok(())
    }

    /// What happened in all tracks, in order.
    fn steps(&self) -> Vec<RunStep> {
        let mut steps = Vec::new();
        for (number, track) in self.tracks.iter().enumerate() {
            let mut known = 0;
            for moment in &track.moments {
                let what = match &moment.kind {
                    StreamMomentKind::Grew(upto) => {
                        known = *upto;
                        RunStepKind::Upto(number, *upto)
                    }
                    StreamMomentKind::Typed(bytes) => RunStepKind::Typed(Some(bytes.clone())),
                    StreamMomentKind::TypedUnseen(_) => RunStepKind::Typed(None),
                    StreamMomentKind::Resized(size) => RunStepKind::Resized(*size),
                };
                steps.push(RunStep {
                    at: moment.at,
                    what,
                });
            }
            if known < track.bytes {
                // What has no time came before the end; without any times it is shown at once.
                let at = match self.about.timing {
                    Timing::Recorded => self.about.ran_for,
                    Timing::BeginAndEnd | Timing::NoOutput => Duration::ZERO,
                };
                steps.push(RunStep {
                    at,
                    what: RunStepKind::Upto(number, track.bytes),
                });
            }
        }
        steps.sort_by_key(|step| step.at);
        steps
    }
}

/// How far a track was read, and what its text goes through.
struct TrackOutlet {
    at: u64,
    harmless: Harmless,
}

impl TrackOutlet {
    fn new(at: u64, is_terminal: bool) -> Self {
        let harmless = if is_terminal {
            Harmless::of_terminal()
        } else {
            Harmless::of_lines()
        };
        Self { at, harmless }
    }

    fn text(&mut self, piece: StreamPiece) -> String {
        match piece {
            StreamPiece::Kept(bytes) => self.harmless.text(&bytes),
            StreamPiece::Replaced { by, .. } => self.harmless.text(by.as_bytes()),
            StreamPiece::Dropped(count) => {
                let dropped = bashd_keeper::counted::counted(
                    count,
                    "byte of output was",
                    "bytes of output were",
                );
                // What follows a gap may begin in the middle of a sequence.
                let before = self.harmless.finish();
                format!("{before}\r\n[bashd: {dropped} dropped here]\r\n")
            }
        }
    }
}

/// Times with pauses of at most so long: each event's time becomes another.
#[derive(Debug, Clone, Copy)]
pub struct Pauses {
    longest: Option<Duration>,
    last: Duration,
    shown: Duration,
}

impl Pauses {
    /// Pauses as they were, or at most so long.
    pub fn at_most(longest: Option<Duration>) -> Self {
        Self {
            longest,
            last: Duration::ZERO,
            shown: Duration::ZERO,
        }
    }

    /// When an event is shown that happened then; events are given in order.
    pub fn shown(&mut self, at: Duration) -> Duration {
        let pause = at.saturating_sub(self.last);
        let pause = self.longest.map_or(pause, |longest| pause.min(longest));
        self.shown += pause;
        self.last = at.max(self.last);
        self.shown
    }
}
