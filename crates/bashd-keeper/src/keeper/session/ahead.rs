//! What the next call of a session needs, prepared while nobody waits for it.
//!
//! bash reads its script byte by byte, and for the line of a call that takes longer than a short
//! call itself. So the line of the next call is written, all but its end, when the last one is
//! over: when the call comes, the shell has read the line and waits for the newline. The line names
//! pipes that already exist, and a file into which the call's text is put. Until then the file is
//! empty: a line that is completed without a call reads no text, and ends the shell.
//!
//! The engine is told as well, and has the spool's descriptors before it sends the call, which then
//! begins without another message.
//!
//! A call unlike the last one cannot use the line. It runs the line with an empty text, into pipes
//! that nobody reads, and brings its own line.

use super::driver::{self, CallNames, DirectoryAfter, Mark};
use super::rendezvous::{Rendezvous, Slot, SlotItem, SlotText};
use super::shell::SessionShell;
use crate::keeper::protocol::{CallForm, StartedMessage};
use crate::keeper::pump::Pump;
use crate::keeper::start::OpenedSpool;
use crate::keeper::{report, start};
use rustix::rand::GetRandomFlags;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

/// A call's pipes and its text: what is held here, and the names by which the shell opens it.
pub(super) struct Pipes {
    pumps: Vec<Pump>,
    writers: Vec<OwnedFd>,
    report: OwnedFd,
    pub(super) text: SlotText,
    slot: Slot,
}

impl Pipes {
    fn open(
        rendezvous: &mut Rendezvous,
        form: CallForm,
        runs: &Path,
        spool: Option<OpenedSpool>,
    ) -> io::Result<Self> {
        let mut slot = rendezvous.slot();
        let (pumps, writers) =
            start::open_pumps(form.streams, form.quota, runs, spool, |stream| {
                slot.pipe(if stream == 0 {
                    SlotItem::Out
                } else {
                    SlotItem::Err
                })
            })?;
        Ok(Self {
            pumps,
            writers,
            report: slot.report()?,
            text: slot.text()?,
            slot,
        })
    }

    /// How the shell names them.
    fn names(&self, has_stdin: bool) -> CallNames {
        let has_err = self.writers.len() > 1;
        CallNames {
            slot: self.slot.number(),
            text: self.slot.name(SlotItem::Text),
            stdin: has_stdin.then(|| self.slot.name(SlotItem::Stdin)),
            out: self.slot.name(SlotItem::Out),
            err: has_err.then(|| self.slot.name(SlotItem::Err)),
            report: self.slot.name(SlotItem::Report),
        }
    }

    /// What is pumped, the report, and what is held until the call is over.
    pub(super) fn into_parts(self) -> (Vec<Pump>, OwnedFd, SlotText, HeldForShell) {
        let held = HeldForShell {
            writers: self.writers,
            _slot: self.slot,
        };
        (self.pumps, self.report, self.text, held)
    }
}

/// What only the shell needs of a call.
pub(super) struct HeldForShell {
    /// Ends of the pipes, which nobody may hold when the call is over.
    writers: Vec<OwnedFd>,
    /// The names, which may stay a little longer.
    _slot: Slot,
}

impl HeldForShell {
    /// Closes the ends of the pipes, so that these end with their last writer.
    pub(super) fn let_go(&mut self) {
        self.writers.clear();
    }
}

/// A call for which everything but its text is ready.
struct PreparedCall {
    form: CallForm,
    mark: Mark,
    pipes: Pipes,
    /// Where the shell is, if it was to stay there.
    directory: Option<Vec<u8>>,
    /// Whether the engine has heard of it.
    is_told: bool,
}

/// A call that the shell has begun.
pub(super) struct Begun {
    pub(super) mark: Mark,
    pub(super) pipes: Pipes,
    /// Text and pipes of a line that was skipped: the shell still opens them, and nobody reads
    /// them.
    pub(super) unused: Option<Pipes>,
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
    rendezvous: Rendezvous,
}

impl PreparedShell {
    pub(super) fn new(
        shell: SessionShell,
        rendezvous: Rendezvous,
        spool: Option<OpenedSpool>,
    ) -> Self {
        Self {
            shell,
            spool,
            ahead: None,
            rendezvous,
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
                limits: restrained.and_then(|held| held.in_force.clone()),
                confinement: restrained.and_then(|held| held.confinement()),
                directory: ahead.directory.clone(),
            };
            ahead.is_told = tell(ahead.form, started, &fds).is_ok();
        }
    }

    fn write_ahead(&mut self, form: CallForm, runs: &Path) -> io::Result<PreparedCall> {
        let pipes = Pipes::open(&mut self.rendezvous, form, runs, None)?;
        let mark = new_mark(form)?;
        let line = driver::line(&pipes.names(false), mark, form.directory);
        let but_its_end = line.strip_suffix('\n').unwrap_or(&line);
        let stays = form.directory == DirectoryAfter::Stays;
        let directory = stays.then(|| self.shell.directory_before(form.number));
        self.shell.say(but_its_end.as_bytes())?;
        Ok(PreparedCall {
            form,
            mark,
            pipes,
            directory: directory.flatten(),
            is_told: false,
        })
    }

    /// Has the shell begin a call.
    pub(super) fn begin(
        &mut self,
        form: CallForm,
        (run, text): (&str, &[u8]),
        stdin: Option<&OwnedFd>,
        runs: &Path,
    ) -> io::Result<Begun> {
        let text = [run.as_bytes(), &[0], text, &[0]].concat();
        let mut line = String::new();
        let unused = match self.ahead.take() {
            Some(ahead) if ahead.form == form => {
                ahead.pipes.text.fill(&text)?;
                self.shell.say(b"\n")?;
                let directory = ahead.directory;
                return Ok(Begun {
                    mark: ahead.mark,
                    pipes: ahead.pipes,
                    unused: None,
                    directory: directory.or_else(|| self.shell.directory_before(form.number)),
                    is_told: ahead.is_told,
                });
            }
            Some(other) => {
                other.pipes.text.fill(&[0, 0])?;
                line.push('\n');
                Some(other.pipes)
            }
            None => None,
        };
        let directory = self.shell.directory_before(form.number);
        let spool = self.spool.take();
        let mut pipes = Pipes::open(&mut self.rendezvous, form, runs, spool)?;
        pipes.text.fill(&text)?;
        if let Some(stdin) = stdin {
            pipes.slot.copied(SlotItem::Stdin, stdin)?;
        }
        let mark = new_mark(form)?;
        let names = pipes.names(stdin.is_some());
        if let Some(opening) = self.shell.take_opening(self.rendezvous.prefix()) {
            let script = pipes.slot.name(SlotItem::Opening);
            let (text, first_line) =
                driver::first_line(&opening, &script, &names, mark, form.directory);
            pipes.slot.filled(SlotItem::Opening, &text)?;
            line += &first_line;
        } else {
            line += &driver::line(&names, mark, form.directory);
        }
        self.shell.say(line.as_bytes())?;
        Ok(Begun {
            mark,
            pipes,
            unused,
            directory,
            is_told: false,
        })
    }
}

/// A mark that nobody can know before its call: the kernel is asked each time, since a fork repeats
/// whatever was drawn before it.
fn new_mark(form: CallForm) -> io::Result<Mark> {
    let mut nonce = [0; size_of::<u64>()];
    match rustix::rand::getrandom(&mut nonce, GetRandomFlags::empty())? {
        count if count == nonce.len() => Ok(Mark {
            number: form.number,
            nonce: u64::from_ne_bytes(nonce),
        }),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
