//! How a carrier becomes a link: what a machine prints first is passed over, a program that is
//! missing there is sent, and the outpost greets.
//!
//! `connect` is how long the other side may take for its next answer; sending a program takes as
//! long as it goes on.

use super::BUILD;
use super::carrier::{Carrier, CarrierStream};
use super::line::LineMark;
use super::link::Link;
use super::program::ProgramToSend;
use super::wire::{
    self, Assembler, CONTROL, FromOutpost, MOST_FROM_OUTPOST, ToOutpost, VERSION, Welcome,
};
use crate::errand::{self, ErrandFailure};
use crate::error::{Error, ErrorKind};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

/// Bytes that a machine may print before an outpost speaks.
const MOST_NOISE: usize = 4 * 1024 * 1024;

/// How much of the end of that is kept.
const KEPT_NOISE: usize = 4096;

/// What stands before the last line of what a machine printed.
const PRINTED: &str = " after it printed: ";

/// Bytes of a line with which the other side answers.
const LONGEST_LINE: usize = 4096;

/// How often a program is sent: once for each directory that seemed to allow it.
const MOST_SENT: usize = 6;

/// Bytes that are read or sent at once.
const BUFFER: usize = 64 * 1024;

/// Bytes of a program that are read at once, by an errand.
const PIECE: u64 = 1024 * 1024;

/// How long the last words of a carrier may take after its end.
const LAST_WORDS_AFTER: Duration = Duration::from_millis(50);

/// How long the end of a carrier may take to be known after it closed its stdout.
const END_AFTER: Duration = Duration::from_secs(1);

/// A carrier that was started.
pub(crate) struct Greeter {
    pub(crate) carrier: Carrier,
    pub(crate) stream: CarrierStream,
    /// What comes before the other side speaks ends with it.
    pub(crate) mark: Option<LineMark>,
    /// What is sent if the other side asks for it.
    pub(crate) program: Option<Arc<ProgramToSend>>,
    pub(crate) connect: Duration,
    /// Whether its mark has come.
    pub(crate) had_begun: bool,
}

/// What came of it.
pub(crate) enum Greeted {
    Link(Box<Link>),
    /// The program is kept there, at this path.
    Kept(String),
    /// A program for this kind of machine is asked for.
    OtherMachine {
        system: String,
        machine: String,
    },
}

/// Why there is no outpost to speak to.
pub(crate) struct DialFailure {
    pub(crate) error: Error,
    /// Whether somebody killed the carrier, so that another may fare better.
    pub(crate) was_killed: bool,
    /// Whether the other side had begun to speak.
    pub(crate) had_begun: bool,
}

impl Greeter {
    /// Greets the outpost at the other end.
    pub(crate) async fn greet(mut self) -> Result<Greeted, DialFailure> {
        match self.speak().await {
            Ok(Spoken::Welcome(spoken)) => {
                let link = Link::over(self.carrier, self.stream, *spoken);
                Ok(Greeted::Link(Box::new(link)))
            }
            Ok(Spoken::Kept(path)) => Ok(Greeted::Kept(path)),
            Ok(Spoken::OtherMachine { system, machine }) => {
                Ok(Greeted::OtherMachine { system, machine })
            }
            Err(error) => {
                // Its last words may be a moment behind, and on a busy machine its end, too.
                tokio::time::sleep(LAST_WORDS_AFTER).await;
                let has_ended = [io::ErrorKind::UnexpectedEof, io::ErrorKind::BrokenPipe];
                if has_ended.contains(&error.kind()) {
                    let _ = self.carrier.succeeded_within(END_AFTER).await;
                }
                Err(self.failure(&error))
            }
        }
    }

    /// What went wrong, or rather what the carrier said about it.
    fn failure(&self, error: &io::Error) -> DialFailure {
        let words = self.carrier.last_words();
        let is_late = error.kind() == io::ErrorKind::TimedOut;
        let text = match &*words {
            "" => error.to_string(),
            words if is_late => format!("{error}: {words}"),
            // What the login printed says more than that it ended.
            words if error.to_string().contains(PRINTED) => format!("{error}; {words}"),
            words => words.to_owned(),
        };
        DialFailure {
            error: Error::new(ErrorKind::Place, format!("no outpost answers: {text}")),
            was_killed: self.carrier.was_killed(),
            had_begun: self.had_begun,
        }
    }

    async fn speak(&mut self) -> io::Result<Spoken> {
        let mut heard = Vec::new();
        if let Some(mark) = self.mark.take() {
            heard = within(self.connect, self.pass_over(&mark)).await?;
            self.had_begun = true;
            if let Some(other) = self.prepare(&mut heard).await? {
                return Ok(other);
            }
        }
        let hello = wire::encode(&ToOutpost::Hello {
            version: VERSION,
            build: BUILD.to_owned(),
        })?;
        // Outside of all counts: no link is there yet that could keep them.
        if let Some(frame) = wire::whole_frame(CONTROL, &hello) {
            // One that ended is heard below, with its last words.
            let _ = self.stream.0.write_all(&frame).await;
        }
        let spoken = within(self.connect, self.welcome(heard)).await?;
        Ok(Spoken::Welcome(Box::new(spoken)))
    }

    /// Reads up to the mark; what is behind it.
    async fn pass_over(&mut self, mark: &LineMark) -> io::Result<Vec<u8>> {
        let mut noise = Noise::before(mark);
        loop {
            let bytes = match self.read().await {
                Ok(bytes) => bytes,
                Err(error) => {
                    let text = format!("{error}{}", noise.said());
                    return Err(io::Error::new(error.kind(), text));
                }
            };
            if let Some(behind) = noise.pass_over(&bytes)? {
                return Ok(behind);
            }
        }
    }

    /// Sends the program as long as it is asked for; `None` once the outpost is next.
    async fn prepare(&mut self, heard: &mut Vec<u8>) -> io::Result<Option<Spoken>> {
        // What was sent may still be on its way when the last of it is written.
        let mut way = Duration::ZERO;
        for _ in 0..=MOST_SENT {
            let line = within(self.connect + way, self.line(heard)).await?;
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["ready"] => return Ok(None),
                ["kept", path] if path.starts_with('/') => {
                    return Ok(Some(Spoken::Kept(path.to_owned())));
                }
                ["none"] => return Err(io::Error::other("no program can be kept there")),
                ["want", system, machine, form] => {
                    let program = self.program.clone();
                    let fits = |own: &Arc<ProgramToSend>| system == "Linux" && own.is_for(machine);
                    if let Some(program) = program.filter(fits) {
                        let begun = Instant::now();
                        self.send(&program, form == "gzip").await?;
                        way = begun.elapsed();
                    } else {
                        let (system, machine) = (system.to_owned(), machine.to_owned());
                        self.stream.0.write_all(b"none\n").await?;
                        return Ok(Some(Spoken::OtherMachine { system, machine }));
                    }
                }
                _ => {
                    let line = crate::output::plain(line.as_bytes());
                    return Err(io::Error::other(format!("it said: {line}")));
                }
            }
        }
        Err(io::Error::other("it asks for the program again and again"))
    }

    /// Sends the program, for as long as that goes on.
    async fn send(&mut self, program: &ProgramToSend, unpacks: bool) -> io::Result<()> {
        let pressed = program.pressed.as_ref().filter(|_| unpacks);
        let (path, size, form) = match pressed {
            Some((path, size)) => (path, *size, "gzip"),
            None => (&program.path, program.bytes, "raw"),
        };
        let (path, opening) = (path.clone(), path.clone());
        let opening = errand::go(&path, move || File::open(opening));
        let file = Arc::new(within(self.connect, done(opening)).await?);
        let head = format!("{size} {form}\n");
        let to_it = &mut self.stream.0;
        within(self.connect, to_it.write_all(head.as_bytes())).await?;
        let mut sent = 0;
        while sent < size {
            let (file, most) = (Arc::clone(&file), PIECE.min(size - sent) as usize);
            let read = errand::go(&path, move || {
                let mut piece = vec![0; most];
                let count = file.read_at(&mut piece, sent)?;
                piece.truncate(count);
                io::Result::Ok(piece)
            });
            let piece = within(self.connect, done(read)).await?;
            if piece.is_empty() {
                return Err(io::Error::other("the program for the place has changed"));
            }
            for part in piece.chunks(BUFFER) {
                within(self.connect, to_it.write_all(part)).await?;
            }
            sent += piece.len() as u64;
        }
        Ok(())
    }

    /// One line of an answer.
    async fn line(&mut self, heard: &mut Vec<u8>) -> io::Result<String> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', heard) {
                let line: Vec<u8> = heard.drain(..=at).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if heard.len() > LONGEST_LINE {
                return Err(io::Error::other("it answers with a line that does not end"));
            }
            heard.extend(self.read().await?);
        }
    }

    /// The outpost's first message.
    async fn welcome(&mut self, heard: Vec<u8>) -> io::Result<(Assembler, Welcome)> {
        let mut assembler = Assembler::new(MOST_FROM_OUTPOST);
        let mut first = assembler.push(&heard)?;
        while first.is_empty() {
            first = assembler.push(&self.read().await?)?;
        }
        let (_, bytes) = first.into_iter().next().unwrap_or_default();
        match wire::decode(&bytes)? {
            FromOutpost::Welcome(welcome) if welcome.version == VERSION => {
                Ok((assembler, *welcome))
            }
            FromOutpost::Welcome(welcome) => {
                let theirs = welcome.version;
                let text = format!("it speaks version {theirs}, and this bashd {VERSION}");
                Err(io::Error::other(text))
            }
            _ => Err(io::Error::other("it does not greet")),
        }
    }

    async fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; BUFFER];
        let count = self.stream.1.read(&mut buffer).await?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ended"));
        }
        buffer.truncate(count);
        Ok(buffer)
    }
}

enum Spoken {
    Welcome(Box<(Assembler, Welcome)>),
    OtherMachine { system: String, machine: String },
    Kept(String),
}

/// An errand whose step may fail.
async fn done<T>(
    errand: impl Future<Output = Result<io::Result<T>, ErrandFailure>>,
) -> io::Result<T> {
    errand.await.map_err(io::Error::from)?
}

/// Waits for a step of the other side.
async fn within<T>(most: Duration, step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(most, step).await.unwrap_or_else(|_| {
        let text = format!("it did not answer within {} s", most.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    })
}

/// What a machine prints before an outpost speaks.
struct Noise {
    mark: Vec<u8>,
    /// The end of it: what may be the beginning of the mark, and what is shown if that never comes.
    end: Vec<u8>,
    bytes: usize,
}

impl Noise {
    fn before(mark: &LineMark) -> Self {
        Self {
            mark: mark.bytes(),
            end: Vec::new(),
            bytes: 0,
        }
    }

    /// What is behind the mark, once that came.
    fn pass_over(&mut self, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.bytes += bytes.len();
        self.end.extend(bytes);
        if let Some(at) = memchr::memmem::find(&self.end, &self.mark) {
            let behind = self.end.get(at + self.mark.len()..);
            return Ok(Some(behind.unwrap_or_default().to_vec()));
        }
        if self.bytes > MOST_NOISE {
            let text = format!(
                "it printed {MOST_NOISE} bytes and no outpost began{}",
                self.said()
            );
            return Err(io::Error::other(text));
        }
        let excess = self.end.len().saturating_sub(KEPT_NOISE);
        self.end.drain(..excess);
        Ok(None)
    }

    /// The last line of it, if there is one.
    fn said(&self) -> String {
        let text = String::from_utf8_lossy(&self.end);
        let mut lines = text.lines().rev();
        let last = lines.find(|line| !line.trim().is_empty());
        let last = last.map(|line| crate::output::plain(line.as_bytes()));
        last.map_or_else(String::new, |line| format!("{PRINTED}{line}"))
    }
}
