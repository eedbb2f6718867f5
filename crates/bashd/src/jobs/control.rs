//! A connection to a job's keeper, for as long as somebody looks.

use super::directory::CONTROL;
use super::state::Job;
use super::{ANSWER_BOUND, AfterInput};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::connection::KeeperConnection;
use crate::output::Source;
use crate::screen::Size;
use bashd_keeper::keeper::job_messages::{
    AttachMessage, AttachedMessage, DoneMessage, InputMessage, SignalMessage,
};
use bashd_keeper::keeper::protocol::{
    EndMessage, ExitedMessage, GrownMessage, KeeperMessage, MessageFrame, QueryMessage,
    SpilledMessage,
};
use bashd_keeper::spool::SpoolReader;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// A connection to a job's keeper.
pub(super) struct Control {
    connection: KeeperConnection,
    id: String,
    /// By what people and models know it.
    alias: String,
    /// The size of its terminal when we attached, if it has one.
    pub(super) terminal: Option<Size>,
}

/// What an attached keeper reports next.
pub(super) enum Told {
    /// There is more output.
    Grown,
    /// The shell ended, and the status is written.
    Exited,
    /// The keeper is gone; the rest is in the directory.
    Gone,
}

impl Control {
    /// Connects; a job that has ended has no keeper to connect to.
    pub(super) async fn open(job: &Job) -> Result<Self> {
        let not_there = |error: io::Error| {
            let text = if job.state.is_alive() {
                format!("job {} can't be reached: {error}", job.alias)
            } else {
                format!("job {} is already {}", job.alias, job.state.name())
            };
            Error::new(ErrorKind::Job, text).about(&job.id)
        };
        let socket = connect(&job.directory).await.map_err(not_there)?;
        Ok(Self {
            connection: KeeperConnection::new(socket).map_err(not_there)?,
            id: job.id.clone(),
            alias: job.alias.clone(),
            terminal: job.terminal,
        })
    }

    /// Gets readers of its streams.
    pub(super) async fn attach(&mut self) -> Result<Vec<SpoolReader>> {
        self.say(&AttachMessage {}).await?;
        let frame = self.answer::<AttachedMessage>().await?;
        let attached: AttachedMessage = frame.body().map_err(|error| self.broken(error))?;
        self.terminal = attached.terminal.or(self.terminal);
        let mut fds = frame.fds.into_iter();
        let mut readers = Vec::new();
        for (has_head, has_ring) in attached.streams {
            let page = fds
                .next()
                .ok_or_else(|| self.broken(io::ErrorKind::UnexpectedEof.into()))?;
            let head = if has_head { fds.next() } else { None };
            let reader = SpoolReader::new(page, head).map_err(|error| self.broken(error))?;
            if has_ring && let Some(ring) = fds.next() {
                reader.set_ring(ring);
            }
            readers.push(reader);
        }
        Ok(readers)
    }

    /// Waits for more output than these readers have shown, or for the end.
    pub(super) async fn next(&mut self, readers: &[SpoolReader]) -> Told {
        let length = |stream: usize| readers.get(stream).map_or(u64::MAX, Source::len);
        self.more_than(length(0), length(1), readers).await
    }

    /// Waits for more output than this, or for the end.
    pub(super) async fn more_than(&self, out: u64, err: u64, readers: &[SpoolReader]) -> Told {
        if self.say(&QueryMessage { out, err }).await.is_err() {
            return Told::Gone;
        }
        loop {
            let Ok(Some(frame)) = self.connection.receive().await else {
                return Told::Gone;
            };
            if frame.is::<GrownMessage>() {
                return Told::Grown;
            } else if frame.is::<ExitedMessage>() {
                return Told::Exited;
            } else if let Ok(SpilledMessage { stream }) = frame.body_if()
                && let (Some(reader), Some(ring)) =
                    (readers.get(stream), frame.fds.into_iter().next())
            {
                reader.set_ring(ring);
            }
        }
    }

    pub(super) async fn input(&mut self, bytes: &[u8], then: AfterInput) -> Result<()> {
        let input = InputMessage {
            bytes: bytes.to_vec(),
            close: then == AfterInput::Close,
        };
        self.ask(&input).await
    }

    pub(super) async fn signal(&mut self, signal: i32) -> Result<()> {
        self.ask(&SignalMessage { signal }).await
    }

    pub(super) async fn end(&mut self) -> Result<()> {
        self.ask(&EndMessage::CANCEL).await
    }

    /// The connection, for messages that need no answer.
    pub(super) fn connection(&self) -> &KeeperConnection {
        &self.connection
    }

    async fn ask(&mut self, message: &impl KeeperMessage) -> Result<()> {
        self.say(message).await?;
        let frame = self.answer::<DoneMessage>().await?;
        let DoneMessage { error } = frame.body().map_err(|error| self.broken(error))?;
        match error {
            None => Ok(()),
            Some(reason) => Err(self.refused(&reason)),
        }
    }

    async fn say(&self, message: &impl KeeperMessage) -> Result<()> {
        let sent = self.connection.send(message, &[]).await;
        sent.map_err(|error| self.broken(error))
    }

    async fn answer<M: KeeperMessage>(&self) -> Result<MessageFrame> {
        let answer = async {
            loop {
                match self.connection.receive().await? {
                    Some(frame) if frame.is::<M>() => return Ok(frame),
                    Some(_) => {}
                    None => return Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
        };
        match tokio::time::timeout(ANSWER_BOUND, answer).await {
            Ok(frame) => frame.map_err(|error| self.broken(error)),
            Err(_) => Err(self.refused("its keeper does not answer")),
        }
    }

    fn broken(&self, error: io::Error) -> Error {
        Error::io(
            ErrorKind::Job,
            format!("communicate with job {}", self.alias),
            error,
        )
        .about(&self.id)
    }

    fn refused(&self, reason: &str) -> Error {
        Error::new(ErrorKind::Job, format!("job {}: {reason}", self.alias)).about(&self.id)
    }
}

async fn connect(directory: &Path) -> io::Result<OwnedFd> {
    /// Pause before a busy keeper's socket is tried again.
    const BUSY_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(directory, flags, Mode::empty())?;
    // Short wherever the directory is: an address has room for 108 bytes.
    let address = format!("/proc/self/fd/{}/{CONTROL}", folder.as_raw_fd());
    let address = SocketAddrUnix::new(address)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let begun = tokio::time::Instant::now();
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => return Ok(socket),
            Err(Errno::AGAIN | Errno::INTR) if begun.elapsed() < ANSWER_BOUND => {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}
