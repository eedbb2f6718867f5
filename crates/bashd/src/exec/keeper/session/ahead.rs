//! What the next call of a session needs, made while nobody waits for it.
//!
//! bash reads its script byte by byte, and for the line of a call that takes longer than a short call
//! itself. So the line of the next call is written when the last one is over, all but its end: the shell
//! has read it when the call comes, and waits for the newline. It names descriptors whose numbers are
//! known ahead: pipes that are there already, and a *slot* into which the call's text is put. Between
//! calls the slot is `/dev/null`: a line that comes to its end without a call reads no text, and ends
//! the shell.
//!
//! A call that is not like the last one can't use the line. It has it run with an empty text, into
//! pipes that nobody reads, and comes with a line of its own.

use super::driver::{self, Descriptors, Directory, Mark};
use super::shell::SessionShell;
use crate::exec::keeper::protocol::{self, Call};
use crate::exec::keeper::pump::Pump;
use crate::exec::keeper::start;
use crate::output::spool::SpoolWriter;
use crate::plan::{Quota, Streams};
use rustix::io::DupFlags;
use rustix::pipe::PipeFlags;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// What the line of a call, and the pipes that it names, depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    number: u64,
    streams: Streams,
    quota: Quota,
    pub(super) directory: Directory,
    has_input: bool,
}

impl From<&Call> for Form {
    fn from(message: &Call) -> Self {
        Self {
            number: message.number,
            streams: message.streams,
            quota: message.quota,
            directory: message.directory,
            has_input: message.stdin,
        }
    }
}

impl Form {
    /// The next call's, if it is like this one and reads nothing.
    fn next(self) -> Option<Self> {
        let number = self.number + 1;
        (!self.has_input).then_some(Self { number, ..self })
    }
}

/// A call's pipes: what is read here, and what the shell opens by path.
pub(super) struct Pipes {
    pumps: Vec<Pump>,
    writers: Vec<OwnedFd>,
    report: OwnedFd,
    report_writer: OwnedFd,
}

impl Pipes {
    fn open(form: Form, runs: &Path, spool: Option<(Quota, SpoolWriter)>) -> io::Result<Self> {
        let (pumps, writers) = start::open_streams(form.streams, form.quota, runs, spool)?;
        let (report, report_writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&report, true)?;
        Ok(Self {
            pumps,
            writers,
            report,
            report_writer,
        })
    }

    /// Their numbers, with those of text and input.
    fn descriptors(&self, text: &OwnedFd, stdin: Option<&OwnedFd>) -> Descriptors {
        let out = self.writers.first().unwrap_or(&self.report_writer);
        Descriptors {
            text: text.as_raw_fd(),
            stdin: stdin.map(AsRawFd::as_raw_fd),
            out: out.as_raw_fd(),
            err: self.writers.get(1).map(AsRawFd::as_raw_fd),
            report: self.report_writer.as_raw_fd(),
        }
    }

    /// What is pumped, the report, and what only the shell needs.
    pub(super) fn into_parts(self) -> (Vec<Pump>, OwnedFd, Vec<OwnedFd>) {
        let mut theirs = self.writers;
        theirs.push(self.report_writer);
        (self.pumps, self.report, theirs)
    }
}

/// A call for which everything but its text is there.
struct Ahead {
    form: Form,
    mark: Mark,
    pipes: Pipes,
    /// Where the shell is, if it was to stay there.
    directory: Option<Vec<u8>>,
}

/// A call that its shell has begun with.
pub(super) struct Begun {
    pub(super) mark: Mark,
    pub(super) pipes: Pipes,
    /// Pipes of a line that was passed over: the shell still opens them, and nobody reads them.
    pub(super) unused: Option<Pipes>,
    /// Where the shell was before.
    pub(super) directory: Option<Vec<u8>>,
}

/// The shell, and what is there for its next call.
pub(super) struct Place {
    pub(super) shell: SessionShell,
    /// A spool that was opened for the first call.
    spool: Option<(Quota, SpoolWriter)>,
    slot: Slot,
    ahead: Option<Ahead>,
    nonces: RandomState,
}

impl Place {
    pub(super) fn new(
        shell: SessionShell,
        spool: Option<(Quota, SpoolWriter)>,
    ) -> io::Result<Self> {
        Ok(Self {
            shell,
            spool,
            slot: Slot::new()?,
            ahead: None,
            nonces: RandomState::new(),
        })
    }

    /// Gets ready for a call like the last one, which is over. Where that fails, the call itself finds
    /// out why.
    pub(super) fn prepare(&mut self, last: Form, runs: &Path) {
        let is_clear = self.slot.clear().is_ok();
        let form = last.next().filter(|_| is_clear);
        self.ahead = form.and_then(|form| self.write_ahead(form, runs));
    }

    fn write_ahead(&self, form: Form, runs: &Path) -> Option<Ahead> {
        let pipes = Pipes::open(form, runs, None).ok()?;
        let mark = self.mark(form);
        let fds = pipes.descriptors(&self.slot.fd, None);
        let line = driver::line(driver::own_pid(), fds, mark, form.directory);
        let but_its_end = line.strip_suffix('\n')?;
        let stays = form.directory == Directory::Stays;
        let directory = stays.then(|| self.shell.directory_before(form.number));
        self.shell.say(but_its_end.as_bytes()).ok()?;
        Some(Ahead {
            form,
            mark,
            pipes,
            directory: directory.flatten(),
        })
    }

    /// Has the shell begin with a call.
    pub(super) fn begin(
        &mut self,
        form: Form,
        text: &OwnedFd,
        stdin: Option<&OwnedFd>,
        runs: &Path,
    ) -> io::Result<Begun> {
        let mut line = String::new();
        let unused = match self.ahead.take() {
            Some(ahead) if ahead.form == form => {
                let directory = ahead.directory;
                let directory = directory.or_else(|| self.shell.directory_before(form.number));
                self.slot.put(text)?;
                self.shell.say(b"\n")?;
                return Ok(Begun {
                    mark: ahead.mark,
                    pipes: ahead.pipes,
                    unused: None,
                    directory,
                });
            }
            Some(other) => {
                self.slot.put_nothing()?;
                line.push('\n');
                Some(other.pipes)
            }
            None => None,
        };
        let directory = self.shell.directory_before(form.number);
        let pipes = Pipes::open(form, runs, self.spool.take())?;
        let mark = self.mark(form);
        let fds = pipes.descriptors(text, stdin);
        line += &driver::line(driver::own_pid(), fds, mark, form.directory);
        self.shell.say(line.as_bytes())?;
        Ok(Begun {
            mark,
            pipes,
            unused,
            directory,
        })
    }

    fn mark(&self, form: Form) -> Mark {
        Mark {
            number: form.number,
            nonce: self.nonces.hash_one(form.number),
        }
    }
}

/// The descriptor under whose number the shell finds the text of a call that was prepared.
struct Slot {
    fd: OwnedFd,
    null: OwnedFd,
}

impl Slot {
    fn new() -> io::Result<Self> {
        let null = start::open_null()?;
        let fd = rustix::io::fcntl_dupfd_cloexec(&null, 0)?;
        Ok(Self { fd, null })
    }

    /// Puts a call's text there.
    fn put(&mut self, text: &OwnedFd) -> io::Result<()> {
        Ok(rustix::io::dup3(text, &mut self.fd, DupFlags::CLOEXEC)?)
    }

    /// Puts a text there that does nothing.
    fn put_nothing(&mut self) -> io::Result<()> {
        self.put(&protocol::memory_file(&[0])?)
    }

    /// Takes away what is there.
    fn clear(&mut self) -> io::Result<()> {
        let Self { fd, null } = self;
        Ok(rustix::io::dup3(null, fd, DupFlags::CLOEXEC)?)
    }
}
