//! Passing bytes between a command and a host, until both have said everything.
//!
//! The first bytes of the command are looked at before they go out: if they are TLS, the name in
//! them must be the one that was allowed. Much data goes from socket to socket through a pipe,
//! without being copied.

use super::tls::{Hello, hello};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::Shutdown;
use rustix::pipe::{PipeFlags, SpliceFlags};
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Bytes that are read at once.
const PIECE: usize = 32 * 1024;

/// Bytes after which data goes through a pipe.
const MUCH: u64 = 512 * 1024;

/// Bytes that the pipe may hold.
const PIPE_BYTES: usize = 1 << 20;

/// How long the first message of TLS may take.
const GREETS_WITHIN: Duration = Duration::from_secs(10);

/// Time between two reports of how much went through.
const TOLD_EVERY: Duration = Duration::from_millis(500);

/// Why bytes stopped going through.
pub(super) enum RelayStop {
    /// Both sides have said everything, or one is gone.
    Ended,
    /// The command named another host than the one it was allowed.
    OtherName(String),
}

/// Passes bytes both ways. `first` goes to the host before anything else; `moved` is told how many
/// bytes went to the host and came from it since it was last told.
pub(super) fn relay(
    client: &TcpStream,
    host: &TcpStream,
    first: Vec<u8>,
    name: &str,
    mut moved: impl FnMut(u64, u64),
) -> RelayStop {
    let mut greeting = Greeting::new(name);
    let _ = client.set_nonblocking(true);
    let _ = host.set_nonblocking(true);
    let mut out = RelayWay::new(client, host);
    let mut back = RelayWay::new(host, client);
    out.waits = first;
    let mut told = (0, 0);
    let mut told_at = Instant::now();
    let stopped = loop {
        match greeting.judge(&out.waits) {
            RelayVerdict::Passed | RelayVerdict::Waits => {}
            RelayVerdict::OtherName(name) => break RelayStop::OtherName(name),
        }
        out.is_held = !greeting.is_over;
        if out.is_over && back.is_over || wait(&mut out, &mut back, greeting.ends_at()).is_err() {
            break RelayStop::Ended;
        }
        if greeting.ends_at().is_some_and(|at| Instant::now() > at) {
            break RelayStop::Ended;
        }
        let heard = out.hear().and_then(|()| back.hear());
        // Before the command has it: it may end at once. Of much data it is told now and then.
        let now = (out.written, back.heard);
        let is_due = now.0 + now.1 < MUCH || back.has_ended || told_at.elapsed() >= TOLD_EVERY;
        if now != told && is_due {
            moved(now.0 - told.0, now.1 - told.1);
            (told, told_at) = (now, Instant::now());
        }
        if heard.is_err() || out.pass_on().and_then(|()| back.pass_on()).is_err() {
            break RelayStop::Ended;
        }
    };
    moved(out.written - told.0, back.heard - told.1);
    stopped
}

/// Whether the first bytes may go out.
struct Greeting<'a> {
    name: &'a str,
    is_over: bool,
    began: Option<Instant>,
}

enum RelayVerdict {
    Passed,
    Waits,
    OtherName(String),
}

impl<'a> Greeting<'a> {
    fn new(name: &'a str) -> Self {
        Self {
            name,
            is_over: false,
            began: None,
        }
    }

    fn judge(&mut self, bytes: &[u8]) -> RelayVerdict {
        if self.is_over {
            return RelayVerdict::Passed;
        }
        match hello(bytes) {
            Hello::Unfinished => {
                if !bytes.is_empty() {
                    self.began.get_or_insert_with(Instant::now);
                }
                RelayVerdict::Waits
            }
            Hello::To(name) if name != self.name => RelayVerdict::OtherName(name),
            Hello::Broken => RelayVerdict::OtherName("no name that can be read".to_owned()),
            Hello::Nameless | Hello::To(_) => {
                self.is_over = true;
                RelayVerdict::Passed
            }
        }
    }

    /// When the rest of it must be there.
    fn ends_at(&self) -> Option<Instant> {
        let began = self.began.filter(|_| !self.is_over);
        began.map(|began| began + GREETS_WITHIN)
    }
}

/// One direction.
struct RelayWay<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    /// Bytes that were read and not yet written.
    waits: Vec<u8>,
    /// Whether they must not go out yet.
    is_held: bool,
    pipe: Option<(OwnedFd, OwnedFd)>,
    /// Bytes in the pipe.
    in_pipe: usize,
    /// Bytes that were read, and those that were written.
    heard: u64,
    written: u64,
    /// Whether everything was read.
    has_ended: bool,
    /// Whether the other side was told.
    is_over: bool,
}

impl<'a> RelayWay<'a> {
    fn new(from: &'a TcpStream, to: &'a TcpStream) -> Self {
        Self {
            from,
            to,
            waits: Vec::new(),
            is_held: false,
            pipe: None,
            in_pipe: 0,
            heard: 0,
            written: 0,
            has_ended: false,
            is_over: false,
        }
    }

    fn has_to_write(&self) -> bool {
        self.in_pipe > 0 || !self.waits.is_empty() && !self.is_held
    }

    fn wants_to_read(&self) -> bool {
        !self.has_ended && !self.has_to_write()
    }

    /// Reads what is there.
    fn hear(&mut self) -> io::Result<()> {
        if self.wants_to_read() {
            self.read()?;
        }
        Ok(())
    }

    /// Writes what can be written without waiting.
    fn pass_on(&mut self) -> io::Result<()> {
        if self.is_over {
            return Ok(());
        }
        if self.has_to_write() {
            self.write()?;
        }
        if self.has_ended && !self.has_to_write() && (self.waits.is_empty() || self.is_held) {
            self.is_over = true;
            let _ = rustix::net::shutdown(self.to, Shutdown::Write);
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        if self.heard > MUCH && self.pipe.is_none() && !self.is_held {
            self.pipe = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).ok();
            if let Some((_, end)) = &self.pipe {
                // Less room is slower, and no more than that.
                let _ = rustix::pipe::fcntl_setpipe_size(end, PIPE_BYTES);
            }
        }
        let read = if let Some((_, end)) = &self.pipe {
            let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
            let read = rustix::pipe::splice(self.from, None, end, None, PIPE_BYTES, flags);
            self.in_pipe += read.unwrap_or(0);
            read
        } else {
            let had = self.waits.len();
            self.waits.resize(had + PIECE, 0);
            let room = self.waits.get_mut(had..).unwrap_or_default();
            let read = rustix::io::read(self.from, room);
            self.waits.truncate(had + read.unwrap_or(0));
            read
        };
        match read {
            Ok(0) => self.has_ended = true,
            Ok(count) => self.heard += count as u64,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let written = if let (Some((end, _)), true) = (&self.pipe, self.waits.is_empty()) {
            let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
            let written = rustix::pipe::splice(end, None, self.to, None, self.in_pipe, flags);
            self.in_pipe -= written.unwrap_or(0);
            written
        } else {
            let written = rustix::net::send(self.to, &self.waits, rustix::net::SendFlags::NOSIGNAL);
            self.waits.drain(..written.unwrap_or(0));
            written
        };
        match written {
            Ok(count) => self.written += count as u64,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Waits until one of them can do something.
fn wait(out: &mut RelayWay<'_>, back: &mut RelayWay<'_>, until: Option<Instant>) -> io::Result<()> {
    let interest = |reads: bool, writes: bool| {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, reads);
        flags.set(PollFlags::OUT, writes);
        flags
    };
    let of_client = interest(out.wants_to_read(), back.has_to_write());
    let of_host = interest(back.wants_to_read(), out.has_to_write());
    // One that nobody wants anything of is left out: its end would be told again and again.
    let sides = [(out.from, of_client), (back.from, of_host)];
    let wanted = sides.into_iter().filter(|(_, flags)| !flags.is_empty());
    let mut fds: Vec<_> = wanted
        .map(|(side, flags)| PollFd::new(side, flags))
        .collect();
    if fds.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let left = until.map_or(TOLD_EVERY * 20, |at| {
        at.saturating_duration_since(Instant::now())
    });
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut fds, Some(&left)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
