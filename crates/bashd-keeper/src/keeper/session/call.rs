//! One call of a session, from its message to its report.

use super::ahead::{Begun, HeldForShell, Pipes, PreparedShell};
use super::driver::{self, DirectoryAfter, Mark, ShellReport};
use super::rendezvous::SlotText;
use super::shell::SessionShell;
use crate::exit::Exit;
use crate::keeper::ending::RunScope;
use crate::keeper::life::{Custody, KeeperRun, Phase, Terms};
use crate::keeper::protocol::{CallForm, CallMessage, FailedMessage, MessageFrame};
use crate::keeper::pump::Pump;
use crate::keeper::start::{LaunchedShell, failed, missing};
use crate::keeper::waiting::Keeper;
use crate::reset::Reset;
use rustix::process::Pid;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// When a call is first checked for a shell that went back to its script without a report.
const FIRST_LOOK: Duration = Duration::from_millis(5);

/// The longest time between two such looks.
const LAST_LOOK: Duration = Duration::from_millis(500);

impl From<&CallMessage> for Terms {
    fn from(message: &CallMessage) -> Self {
        Self {
            timeout_us: message.timeout_us,
            grace_us: message.grace_us,
            drain_silence_us: message.drain_silence_us,
            drain_total_us: message.drain_total_us,
            drain_finish_us: message.drain_finish_us,
            survivors: message.survivors,
            goes_to_background: false,
            records: message.records,
        }
    }
}

/// The call that runs now.
pub(super) struct Current {
    pub(super) run: KeeperRun,
    pub(super) form: CallForm,
    mark: Mark,
    text: SlotText,
    report: OwnedFd,
    heard: Vec<u8>,
    /// What the shell opens by name.
    held: HeldForShell,
    /// Likewise, for a line that was skipped.
    unused: Option<Pipes>,
    /// Whether the engine knows that it has begun.
    pub(super) is_told: bool,
    /// Whether the engine should hear of what is prepared after this call.
    pub(super) tells_ahead: bool,
    next_look: Instant,
    pause: Duration,
}

impl Current {
    /// Has the shell begin a call.
    pub(super) fn begin(
        keeper: &mut Keeper,
        place: &mut PreparedShell,
        scope: RunScope,
        frame: &MessageFrame,
    ) -> Result<Self, FailedMessage> {
        let message: CallMessage = frame.body().map_err(failed("decode the call"))?;
        let storage = keeper
            .storage
            .clone()
            .ok_or_else(|| missing("the output directory"))?;
        let form = message.form;
        let stdin = frame.fds.first().filter(|_| form.stdin);
        let begun = Instant::now();
        let Begun {
            mark,
            pipes,
            unused,
            directory,
            is_told,
        } = place
            .begin(form, (&message.run, &message.text), stdin, &storage.runs)
            .map_err(failed("write to the shell"))?;
        let (pumps, report, text, held) = pipes.into_parts();
        let shell = LaunchedShell {
            pid: place.shell.pid,
            pumps,
            terminal: None,
            input: None,
            restrained: place.shell.restrained.clone(),
        };
        let mut run = KeeperRun::new(shell, &Terms::from(&message), begun, storage);
        run.scope = scope;
        run.directory = directory;
        Ok(Self {
            run,
            form,
            mark,
            text,
            report,
            heard: Vec::new(),
            held,
            unused,
            is_told: is_told && !message.is_watched,
            tells_ahead: message.tells_ahead,
            next_look: begun + FIRST_LOOK,
            pause: FIRST_LOOK,
        })
    }

    /// Its number within the session.
    pub(super) fn number(&self) -> u64 {
        self.mark.number
    }

    /// The pipe on which the shell reports, while the report is awaited.
    pub(super) fn report(&self) -> Option<BorrowedFd<'_>> {
        self.is_waited_for().then(|| self.report.as_fd())
    }

    fn is_waited_for(&self) -> bool {
        self.run.phase == Phase::Running && self.run.exit.is_none()
    }

    /// When the shell should be checked.
    pub(super) fn next_moment(&self, now: Instant) -> Option<Instant> {
        let look = self.is_waited_for().then_some(self.next_look);
        [self.run.next_moment(now), look]
            .into_iter()
            .flatten()
            .min()
    }

    /// Reads what the shell reports about the call.
    pub(super) fn hear(&mut self, shell: &mut SessionShell, now: Instant) {
        if !self.is_waited_for() {
            return;
        }
        self.read();
        match driver::read_report(&self.heard, self.mark) {
            ShellReport::Unfinished => {}
            ShellReport::Status(status) => self.is_done(Exit::Code(status), shell),
            ShellReport::NotBegun => self.was_not_begun(shell),
            ShellReport::Broken => {
                // The command may still run, and wrote to a place that is not its own.
                self.run.exit = Some(Exit::Unknown);
                self.run.reset = Some(Reset::NoReport);
                self.run.end(None, now);
            }
        }
    }

    /// Checks, if it is time, whether the shell went back to its script without a report.
    pub(super) fn look(&mut self, shell: &mut SessionShell, now: Instant) {
        if !self.is_waited_for() || now < self.next_look {
            return;
        }
        if shell.waits_for_a_line() {
            // The report comes before the shell's return.
            self.hear(shell, now);
            if self.is_waited_for() && self.run.reset.is_none() {
                if self.text.was_begun() {
                    self.run.reset = Some(Reset::NoReport);
                    self.is_done(Exit::Unknown, shell);
                    shell.kill();
                } else {
                    self.was_not_begun(shell);
                }
            }
        }
        self.pause = (self.pause * 2).min(LAST_LOOK);
        self.next_look = now + self.pause;
    }

    /// The shell went past the call without beginning it: it could not open or read what the call
    /// needs. It is of no further use, and what it says about the call means nothing. Unless the
    /// text proves that nothing ran, the call has no status.
    fn was_not_begun(&mut self, shell: &mut SessionShell) {
        self.run.reset = Some(Reset::Unusable);
        if !self.may_run_elsewhere() {
            self.is_done(Exit::Unknown, shell);
        }
        shell.kill();
    }

    /// Whether the shell never began this call, so another shell may run it. Not for a shell's
    /// first call: whatever stopped it is likely to stop the next one too.
    pub(super) fn may_run_elsewhere(&self) -> bool {
        let is_free = self.run.phase == Phase::Running && self.run.custody != Custody::Background;
        is_free && self.mark.number > 1 && !self.text.was_begun()
    }

    /// Why the session ends with a shell that ended this way.
    pub(super) fn reset_after(&self, exit: Exit) -> Reset {
        // A shell that was ended with its call already has its reason.
        self.run.reset.unwrap_or(exit.into())
    }

    /// The shell is gone.
    pub(super) fn lost_its_shell(&mut self, exit: Exit) {
        self.run.reset = Some(self.reset_after(exit));
        if matches!(exit, Exit::Code(_)) && !self.text.was_begun() {
            self.run.exit = Some(Exit::Unknown); // the status is not the command's
        }
        self.let_go();
    }

    /// The command is over; the shell lives on.
    fn is_done(&mut self, exit: Exit, shell: &SessionShell) {
        self.run.exit = Some(exit);
        self.run.scope.spared_shell = Some(shell.pid);
        self.let_go();
        self.run.pump();
        self.run.tree_is_empty = shell.is_alone() || self.run.scope.is_empty();
    }

    /// Closes what only the shell needed, so that the pipes end with their last writer.
    fn let_go(&mut self) {
        self.held.let_go();
        self.unused = None;
    }

    fn read(&mut self) {
        let mut buffer = [0; 256];
        while let Ok(count @ 1..) = rustix::io::read(&self.report, &mut buffer) {
            self.heard.extend(buffer.get(..count).unwrap_or_default());
            if self.heard.len() > buffer.len() {
                return; // longer than any report
            }
        }
    }

    /// The pipes on which output comes.
    pub(super) fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.run.pumps.iter().filter_map(Pump::pipe)
    }
}

/// Where a session is between two calls, for the shell that replaces this one.
pub(super) struct Whereabouts {
    /// Where it was before the last call, if it returns there.
    before: Option<PathBuf>,
    /// What the last call does to it.
    directory: DirectoryAfter,
}

impl Default for Whereabouts {
    fn default() -> Self {
        Self {
            before: None,
            directory: DirectoryAfter::Stays,
        }
    }
}

impl Whereabouts {
    /// A call has begun.
    pub(super) fn begin(&mut self, call: &Current) {
        let directory = call.form.directory;
        match (self.directory, directory) {
            (_, DirectoryAfter::Stays) => self.before = None,
            (DirectoryAfter::Stays, DirectoryAfter::Returns) => {
                let before = call.run.directory.clone().map(OsString::from_vec);
                self.before = before.map(PathBuf::from);
            }
            // The shell may have been on its way back: then it is where it was before.
            (DirectoryAfter::Returns, DirectoryAfter::Returns) => {}
        }
        self.directory = directory;
    }

    /// Where the next shell should be, while a call runs.
    pub(super) fn during(&self, shell: Pid) -> Option<PathBuf> {
        match self.directory {
            DirectoryAfter::Stays => {
                std::fs::read_link(format!("/proc/{}/cwd", shell.as_raw_nonzero())).ok()
            }
            DirectoryAfter::Returns => self.before.clone(),
        }
    }
}
