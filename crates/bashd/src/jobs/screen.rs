//! A job's terminal as a person would see it: its screen now, or as it changes.
//!
//! The screen is rebuilt from the spool by the viewer, so nobody has to have followed the job from
//! its start. If the output is too long to be read again and again, its beginning, where
//! full-screen programs configure the terminal, and its end are enough.

use super::control::{Control, Told};
use super::output::OutputSource;
use super::state::Job;
use super::wait::Met;
use super::{JobState, Jobs};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Stream;
use crate::exec::{Keyboard, Strokes};
use crate::output::veiled::Veil;
use crate::output::view::View;
use crate::output::{Source, StreamPiece};
use crate::screen::{Cursor, Screen, Size};
use bashd_keeper::spool::SpoolReader;
use regex::Regex;
use std::io;
use std::ops::Range;
use std::time::Duration;

/// Bytes that are read at once.
const CHUNK: u64 = 256 * 1024;

/// Bytes that a screen is fed at once: it takes a millisecond or two.
const FED_AT_ONCE: u64 = 32 * 1024;

/// Bytes of the output's beginning that are always read.
const BEGINNING: u64 = 64 * 1024;

/// Bytes of its end that are always read.
const ENDING: u64 = 8 * 1024 * 1024;

/// Bytes of its end that show a person what a terminal looks like by now. Feeding them takes a
/// tenth of a second.
const RECENT: u64 = 1024 * 1024;

/// A query of a job's screen.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScreenQuery {
    /// Wait until the screen shows this.
    pub until: Option<Regex>,
    /// Wait until nothing has been written for this long.
    pub silence: Option<Duration>,
    /// Longest wait.
    pub timeout: Duration,
    /// Also this many lines that scrolled off the screen.
    pub scrollback: usize,
}

impl Default for ScreenQuery {
    fn default() -> Self {
        Self {
            until: None,
            silence: None,
            timeout: Duration::from_secs(30),
            scrollback: 0,
        }
    }
}

impl ScreenQuery {
    /// The screen, once it shows this.
    pub fn showing(pattern: Regex) -> Self {
        Self {
            until: Some(pattern),
            ..Self::default()
        }
    }
}

/// What a job's terminal shows.
#[derive(Debug, Clone, serde::Serialize)]
#[non_exhaustive]
pub struct JobScreen {
    /// The screen's rows, without trailing spaces and trailing empty rows; before them the lines
    /// that scrolled off, as far as requested.
    pub lines: Vec<String>,
    /// How many of the lines scrolled off.
    pub scrolled: usize,
    /// Where the cursor is, counted from 0.
    pub cursor: Cursor,
    /// The title that the program gave its window.
    pub title: String,
    /// Whether it is the alternate screen, on which full-screen programs draw.
    pub alternate: bool,
    /// Columns and rows.
    pub size: Size,
    /// Whether the condition was met.
    pub met: Met,
    /// The job, after the look.
    pub job: Job,
}

/// The terminal of a live job, for as long as somebody looks at it: its output, and a keyboard.
pub struct JobTerminal {
    control: Box<Control>,
    readers: Vec<SpoolReader>,
    offset: u64,
    size: Size,
    keyboard: Keyboard,
    strokes: Strokes,
}

impl JobTerminal {
    /// Its size at the first look.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Bytes that were written and that [`JobTerminal::next`] has not returned yet.
    pub fn behind(&self) -> u64 {
        let spool = self.readers.first();
        spool.map_or(0, |spool| spool.readable_end().saturating_sub(self.offset))
    }

    /// What it shows by now, at this size; [`JobTerminal::next`] goes on from there. Ends however
    /// fast the program writes meanwhile. May be dropped and called again at any time.
    pub async fn by_now(&mut self, size: Size) -> Screen {
        let mut screen = Screen::new(size);
        let Some(spool) = self.readers.first() else {
            return screen;
        };
        let end = spool.readable_end();
        for range in worth_a_look(0, end, RECENT) {
            let mut at = range.start;
            while at < range.end {
                let upto = range.end.min(at + FED_AT_ONCE);
                let view = View::of_shown(spool);
                let Ok(pieces) = view.source().read(at..upto) else {
                    break;
                };
                screen.feed(&kept(pieces));
                at = upto;
                tokio::task::yield_now().await;
            }
        }
        self.offset = self.offset.max(end);
        screen
    }

    /// Types at it and changes its size while [`JobTerminal::next`] is awaited.
    pub fn keyboard(&self) -> Keyboard {
        self.keyboard.clone()
    }

    /// The next bytes that were written to it, beginning with those of the past; `None` at its end.
    /// May be dropped and called again at any time.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        let mut is_over = false;
        loop {
            let spool = self.readers.first()?;
            let end = spool.readable_end();
            if self.offset < end {
                // A program that writes without a pause is typed at, too.
                let connection = self.control.connection();
                self.strokes.pass_typed_on(connection).await;
                let upto = end.min(self.offset + CHUNK);
                // A person's own terminal gets what was written, byte by byte.
                let view = View::of_shown(spool);
                let pieces = view.source().read(self.offset..upto).ok()?;
                self.offset = upto;
                return Some(kept(pieces));
            }
            if is_over {
                return None;
            }
            tokio::select! {
                told = self.control.more_than(self.offset, u64::MAX, &self.readers) => {
                    is_over = matches!(told, Told::Exited | Told::Gone);
                }
                never = self.strokes.pass_all_on(self.control.connection()) => match never {},
            }
        }
    }
}

impl Jobs {
    /// The terminal of a job that lives, to be followed and typed at.
    pub async fn terminal(&self, job: &Job) -> Result<JobTerminal> {
        let mut control = Control::open(job).await?;
        let readers = control.attach().await?;
        let size = control.terminal.ok_or_else(|| no_terminal(job))?;
        let (keyboard, strokes) = Keyboard::new();
        Ok(JobTerminal {
            control: Box::new(control),
            readers,
            offset: 0,
            size,
            keyboard,
            strokes,
        })
    }

    /// What a job's terminal shows, now or as soon as the condition is met.
    pub async fn screen(&self, job: &Job, query: &ScreenQuery) -> Result<JobScreen> {
        let size = job.terminal.ok_or_else(|| no_terminal(job))?;
        let mut look = ScreenLook {
            screen: Screen::new(size),
            offset: 0,
            veil: self.veil(job),
        };
        let looked = tokio::time::timeout(query.timeout, look.until(self, job, query)).await;
        let met = looked.unwrap_or(Ok(Met::NotYet))?;
        let ScreenLook {
            mut screen, veil, ..
        } = look;
        let mut lines = match query.scrollback {
            0 => Vec::new(),
            _ => screen.scrollback(),
        };
        lines.drain(..lines.len().saturating_sub(query.scrollback));
        let scrolled = lines.len();
        let text = screen.text();
        lines.extend(text.split('\n').map(str::to_owned));
        // Line breaks stay where they are.
        let text = veil.text(lines.join("\n"));
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        Ok(JobScreen {
            lines,
            scrolled,
            cursor: screen.cursor(),
            title: veil.text(screen.title().to_owned()),
            alternate: screen.is_alternate(),
            size: screen.size(),
            met,
            job: self.again(job).await.unwrap_or_else(|_| job.clone()),
        })
    }

    /// How the program at a job's terminal wants its keys encoded.
    pub(super) async fn key_modes(&self, job: &Job) -> Result<crate::screen::keys::KeyModes> {
        let mut look = ScreenLook {
            screen: Screen::new(job.terminal.unwrap_or_default()),
            offset: 0,
            veil: self.veil(job),
        };
        let reading = OutputSource::open(self, job, Stream::Out).await?;
        look.catch_up(&reading).await?;
        Ok(look.screen.key_modes())
    }
}

/// A screen, and how much of the output it has seen.
struct ScreenLook {
    screen: Screen,
    offset: u64,
    veil: Veil,
}

impl ScreenLook {
    /// Watches until the condition is met or the job has ended.
    async fn until(&mut self, jobs: &Jobs, job: &Job, query: &ScreenQuery) -> Result<Met> {
        let mut reading = OutputSource::open(jobs, job, Stream::Out).await?;
        if let OutputSource::Live(control, _, _) = &reading {
            // Somebody may have resized it since it was started.
            self.screen.resize(control.terminal.unwrap_or_default());
        }
        loop {
            self.catch_up(&reading).await?;
            let is_shown = self.shows(query);
            if is_shown && query.silence.is_none() {
                return Ok(Met::Yes);
            }
            let OutputSource::Live(control, readers, _) = &mut reading else {
                return Ok(if is_shown { Met::Yes } else { Met::Ended });
            };
            let more = control.more_than(self.offset, u64::MAX, readers);
            let silence = query.silence.filter(|_| is_shown);
            let told = tokio::time::timeout(silence.unwrap_or(query.timeout), more).await;
            match told {
                Ok(Told::Grown) => {}
                Err(_) if silence.is_some() => return Ok(Met::Yes),
                Err(_) => return Ok(Met::NotYet),
                Ok(Told::Exited | Told::Gone) => {
                    // What it wrote last is in its files, or will not change any more.
                    let job = jobs.again(job).await?;
                    if !matches!(job.state, JobState::Running | JobState::WaitingForInput) {
                        let stored = OutputSource::open(jobs, &job, Stream::Out).await?;
                        self.catch_up(&stored).await?;
                        let is_shown = self.shows(query);
                        return Ok(if is_shown { Met::Yes } else { Met::Ended });
                    }
                    reading = OutputSource::open(jobs, &job, Stream::Out).await?;
                }
            }
        }
    }

    /// Whether it shows what is waited for.
    fn shows(&self, query: &ScreenQuery) -> bool {
        let text = || self.veil.text(self.screen.text());
        query
            .until
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(&text()))
    }

    /// Feeds the screen what was written since the last look, a little at a time: other calls come
    /// between.
    async fn catch_up(&mut self, reading: &OutputSource) -> Result<()> {
        let unreadable = |error| Error::io(ErrorKind::Job, "read the output", error);
        let end = match reading {
            OutputSource::Live(_, readers, _) => {
                readers.first().map_or(0, SpoolReader::readable_end)
            }
            OutputSource::Stored(file, ..) => Source::len(file),
        };
        for range in worth_a_look(self.offset, end, ENDING) {
            let mut at = range.start;
            while at < range.end {
                let upto = range.end.min(at + FED_AT_ONCE);
                let bytes = read(reading, at..upto).map_err(unreadable)?;
                self.screen.feed(&bytes);
                at = upto;
                tokio::task::yield_now().await;
            }
        }
        self.offset = self.offset.max(end);
        Ok(())
    }
}

/// The parts of this range that a screen needs to see.
fn worth_a_look(from: u64, upto: u64, ending: u64) -> [Range<u64>; 2] {
    let beginning = from..upto.min(from.max(BEGINNING));
    let ending = beginning.end.max(upto.saturating_sub(ending))..upto;
    [beginning, ending]
}

/// What is kept of a range, as it was written: what a screen shows of it is veiled.
fn read(reading: &OutputSource, range: Range<u64>) -> io::Result<Vec<u8>> {
    let raw = reading.raw(Stream::Out);
    raw.map_or(Ok(Vec::new()), |raw| Ok(kept(raw.read(range)?)))
}

fn kept(pieces: Vec<StreamPiece>) -> Vec<u8> {
    let bytes = pieces.into_iter().filter_map(StreamPiece::shown);
    bytes.flatten().collect()
}

fn no_terminal(job: &Job) -> Error {
    let text = format!("job {} has no terminal; read its output instead", job.alias);
    Error::new(ErrorKind::Job, text).about(&job.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_the_beginning_and_the_end_are_looked_at() {
        assert_eq!(worth_a_look(0, 10, ENDING), [0..10, 10..10]);
        assert_eq!(worth_a_look(4, 10, ENDING), [4..10, 10..10]);
        let flood = 100 * ENDING;
        assert_eq!(
            worth_a_look(0, flood, ENDING),
            [0..BEGINNING, flood - ENDING..flood]
        );
        assert_eq!(
            worth_a_look(flood, flood + 5, ENDING),
            [flood..flood, flood..flood + 5]
        );
    }
}
