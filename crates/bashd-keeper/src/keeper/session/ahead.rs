//! What the next call of a session needs, prepared while nobody waits for it.
//!
//! bash reads its script byte by byte, and for the line of a call that takes longer than a short
//! call itself. So the line of the next call is written, all but its end, when the last one is
//! over: when the call comes, the shell has read the line and waits for the newline. The line names
//! descriptors whose numbers are known ahead: pipes that already exist, and a file into which the
//! call's text is put. Until then the file is empty: a line that is completed without a call reads
//! no text, and ends the shell.
//!
//! The engine is told as well, and has the spool's descriptors before it sends the call, which then
//! begins without another message.
//!
//! A call unlike the last one cannot use the line. It runs the line with an empty text, into pipes
//! that nobody reads, and brings its own line.

use super::driver::{self, Descriptors, DirectoryAfter, Mark};
use super::shell::SessionShell;
use super::text::MemoryText;
use crate::keeper::protocol::{self, CallForm, StartedMessage};
use crate::keeper::pump::Pump;
use crate::keeper::start::OpenedSpool;
use crate::keeper::{report, start};
use rustix::pipe::PipeFlags;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// A call's pipes: what is read here, and what the shell opens by path.
pub(super) struct Pipes {
    pumps: Vec<Pump>,
    writers: Vec<OwnedFd>,
    report: OwnedFd,
    report_writer: OwnedFd,
}

impl Pipes {
    fn open(form: CallForm, runs: &Path, spool: Option<OpenedSpool>) -> io::Result<Self> {
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
    fn descriptors(&self, text: &MemoryText, stdin: Option<&OwnedFd>) -> Descriptors {
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

/// A call for which everything but its text is ready.
struct PreparedCall {
    form: CallForm,
    mark: Mark,
    pipes: Pipes,
    /// Where the text is put.
    text: MemoryText,
    /// Where the shell is, if it was to stay there.
    directory: Option<Vec<u8>>,
    /// Whether the engine has heard of it.
    is_told: bool,
}

/// A call that the shell has begun.
pub(super) struct Begun {
    pub(super) mark: Mark,
    pub(super) pipes: Pipes,
    /// What the shell evaluates.
    pub(super) text: MemoryText,
    /// What it does before that, where this is its first call.
    pub(super) opening: Option<OwnedFd>,
    /// Text and pipes of a line that was skipped: the shell still opens them, and nobody reads
    /// them.
    pub(super) unused: Option<(MemoryText, Pipes)>,
    /// Where the shell was before.
    pub(super) directory: Option<Vec<u8>>,
    /// Whether the engine knows that it has begun.
    pub(super) is_told: bool,
}

/// The shell, and what is ready for its next call.
pub(super) struct PreparedShell {
    pub(super) shell: SessionShell,
    /// A spool that was opened for the first call.
    spool: Option<OpenedSpool>,
    ahead: Option<PreparedCall>,
    nonces: RandomState,
}

impl PreparedShell {
    pub(super) fn new(shell: SessionShell, spool: Option<OpenedSpool>) -> Self {
        Self {
            shell,
            spool,
            ahead: None,
            nonces: RandomState::new(),
        }
    }

    /// Prepares for a call like the last one, which is over, if it reads nothing, and calls `tell`
    /// to announce it. If that fails, the call itself finds out why.
    pub(super) fn prepare(
        &mut self,
        last: CallForm,
        runs: &Path,
        tell: impl FnOnce(CallForm, StartedMessage, &[BorrowedFd<'_>]) -> io::Result<()>,
    ) {
        let form = (!last.stdin).then(|| last.next());
        self.ahead = form.and_then(|form| self.write_ahead(form, runs).ok());
        if let Some(ahead) = &mut self.ahead {
            let (heads, fds) = report::spools(&ahead.pipes.pumps);
            let restrained = self.shell.restrained.as_ref();
            let started = StartedMessage {
                pid: self.shell.pid.as_raw_nonzero().get(),
                heads,
                limits: restrained.map(|held| held.in_force.clone()),
                directory: ahead.directory.clone(),
            };
            ahead.is_told = tell(ahead.form, started, &fds).is_ok();
        }
    }

    fn write_ahead(&self, form: CallForm, runs: &Path) -> io::Result<PreparedCall> {
        let pipes = Pipes::open(form, runs, None)?;
        let text = MemoryText::empty()?;
        let mark = self.mark(form);
        let fds = pipes.descriptors(&text, None);
        let line = driver::line(driver::own_pid(), fds, mark, form.directory);
        let but_its_end = line.strip_suffix('\n').unwrap_or(&line);
        let stays = form.directory == DirectoryAfter::Stays;
        let directory = stays.then(|| self.shell.directory_before(form.number));
        self.shell.say(but_its_end.as_bytes())?;
        Ok(PreparedCall {
            form,
            mark,
            pipes,
            text,
            directory: directory.flatten(),
            is_told: false,
        })
    }

    /// Has the shell begin a call.
    pub(super) fn begin(
        &mut self,
        form: CallForm,
        text: &[u8],
        stdin: Option<&OwnedFd>,
        runs: &Path,
    ) -> io::Result<Begun> {
        let text = [text, &[0]].concat();
        let mut line = String::new();
        let unused = match self.ahead.take() {
            Some(ahead) if ahead.form == form => {
                ahead.text.fill(&text)?;
                self.shell.say(b"\n")?;
                let directory = ahead.directory;
                return Ok(Begun {
                    mark: ahead.mark,
                    pipes: ahead.pipes,
                    text: ahead.text,
                    opening: None,
                    unused: None,
                    directory: directory.or_else(|| self.shell.directory_before(form.number)),
                    is_told: ahead.is_told,
                });
            }
            Some(other) => {
                other.text.fill(&[0])?;
                line.push('\n');
                Some((other.text, other.pipes))
            }
            None => None,
        };
        let directory = self.shell.directory_before(form.number);
        let pipes = Pipes::open(form, runs, self.spool.take())?;
        let text = MemoryText::new(&text)?;
        let mark = self.mark(form);
        let fds = pipes.descriptors(&text, stdin);
        let keeper = driver::own_pid();
        let opening = if let Some(opening) = self.shell.take_opening() {
            let (script, first_line) =
                driver::first_line(&opening, keeper, fds, mark, form.directory);
            let script = protocol::memory_file(&script)?;
            line += &first_line(script.as_raw_fd());
            Some(script)
        } else {
            line += &driver::line(keeper, fds, mark, form.directory);
            None
        };
        self.shell.say(line.as_bytes())?;
        Ok(Begun {
            mark,
            pipes,
            text,
            opening,
            unused,
            directory,
            is_told: false,
        })
    }

    fn mark(&self, form: CallForm) -> Mark {
        Mark {
            number: form.number,
            nonce: self.nonces.hash_one(form.number),
        }
    }
}
