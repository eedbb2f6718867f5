//! The shell of a terminal session: an interactive bash in a terminal of ours, which stays from
//! call to call.
//!
//! It reads its commands from a pipe, and not from its terminal: what is typed there is input of
//! the command that runs, and never a command itself. After each command it writes a mark to the
//! terminal, which no program can guess, with the command's status and where the shell is now. What
//! came before the mark belongs to that command. Whoever drops the shell closes its keeper's
//! socket, and the keeper ends everything that was started in the terminal.

use super::connection::KeeperConnection;
use super::conversation::beginning;
use super::{Keepers, RunFailure, failure, keepers, micros, no_answer, start_message};
use crate::error::{Error, ErrorKind, Result};
use crate::output::{Source, StreamPiece};
use crate::plan::{ConfinementInForce, LimitsInForce, Plan};
use crate::screen::Size;
use bashd_keeper::keeper::protocol::{
    EndMessage, ExitedMessage, FailedMessage, GrownMessage, QueryMessage, SpilledMessage,
    StartedMessage, TypedMessage,
};
use bashd_keeper::quote::quote;
use bashd_keeper::spool::SpoolReader;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use serde_bytes::ByteBuf;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::hash::BuildHasher;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What the shell does before its first command. It keeps no history, and nothing that it says to
/// its own person belongs to a command's output.
const SETUP: &[u8] = b"\\builtin set +o history +H; \\builtin unset -v HISTFILE MAILCHECK PROMPT_COMMAND; \\builtin export -n PS1 PS2\n";

/// How a mark begins: a terminal shows nothing of such a sequence.
const MARK: &str = "\u{1b}]bashd;";

/// How it ends, and what is between its parts.
const MARK_END: u8 = 0x07;
const MARK_SEPARATOR: u8 = 0x1f;

/// Bytes that are searched at once.
const STEP: u64 = 256 * 1024;

/// A shell that stays has no limit of its own.
const NEVER: Duration = Duration::from_hours(24 * 365);

/// How long a keeper may take to start the shell, or to end it.
const BOUND: Duration = Duration::from_secs(30);

/// Pause before a full pipe is tried again: the shell reads what it is sent.
const FULL_PAUSE: Duration = Duration::from_millis(1);

/// The table of terminal sessions, by owner and name.
#[derive(Default)]
pub(crate) struct TerminalShells(Mutex<HashMap<(String, String), TerminalSeat>>);

/// A session's place: its shell, if it has one, while no call uses it.
pub(crate) type TerminalSeat = Arc<tokio::sync::Mutex<Option<TerminalShell>>>;

impl TerminalShells {
    /// The place of this session. Shells that have been unused for too long end, and the longest
    /// unused one if there are too many.
    pub(crate) fn seat(
        &self,
        session: &(String, String),
        limits: super::SessionLimits,
    ) -> TerminalSeat {
        let mut seats = self.seats();
        seats.retain(|key, seat| key == session || !is_over(seat, limits.idle));
        if !seats.contains_key(session) && seats.len() >= limits.most {
            let idle = seats.iter().filter_map(|(key, seat)| {
                let shell = seat.try_lock().ok()?;
                let since = shell.as_ref().map(|shell| shell.last_used);
                let runs = shell.as_ref().is_some_and(|shell| shell.command.is_some());
                (!runs).then(|| (since, key.clone()))
            });
            if let Some((_, oldest)) = idle.min() {
                seats.remove(&oldest);
            }
        }
        Arc::clone(seats.entry(session.clone()).or_default())
    }

    /// Ends the sessions of an owner that makes no more calls.
    pub(crate) fn end_of(&self, owner: &str) {
        self.seats().retain(|(whose, _), _| whose != owner);
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<(String, String), TerminalSeat>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nobody would miss a session: it has no shell, or has not used it for too long.
fn is_over(seat: &TerminalSeat, idle: Option<Duration>) -> bool {
    let Ok(shell) = seat.try_lock() else {
        return false;
    };
    match (&*shell, idle) {
        (None, _) => Arc::strong_count(seat) == 1,
        (Some(shell), Some(idle)) => shell.command.is_none() && shell.last_used.elapsed() > idle,
        (Some(_), None) => false,
    }
}

/// A shell in its terminal.
pub(crate) struct TerminalShell {
    connection: KeeperConnection,
    /// The writing end of the pipe that it reads its commands from.
    script: OwnedFd,
    pub(crate) spool: Arc<SpoolReader>,
    pub(crate) size: Size,
    pub(crate) limits: Option<LimitsInForce>,
    pub(crate) confinement: Option<ConfinementInForce>,
    /// Where the output begins that no reply has shown.
    pub(crate) shown: u64,
    /// The command that runs, if one does.
    pub(crate) command: Option<TerminalCommand>,
    last_used: Instant,
}

/// A command that runs in a terminal session.
pub(crate) struct TerminalCommand {
    pub(crate) begun: Instant,
    /// How its mark begins.
    mark: Vec<u8>,
    /// Up to where the mark was searched for.
    searched: u64,
}

/// What the shell says of a command that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TerminalReport {
    pub(crate) status: i32,
    /// The program `python`, if there is one.
    pub(crate) python: Option<String>,
    pub(crate) directory: PathBuf,
    /// Where its output ends, and where the next one's begins.
    pub(crate) end: u64,
    next: u64,
    /// How long it ran.
    pub(crate) ran_for: Duration,
}

/// How long a call waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalWait {
    /// Until the command has written nothing for this long,
    pub(crate) silence: Option<Duration>,
    /// or for so long altogether.
    pub(crate) longest: Option<Duration>,
}

/// Why a call stops waiting.
pub(crate) enum Halt {
    Ended(TerminalReport),
    /// The shell itself has ended.
    Gone(Box<ExitedMessage>),
    Silent,
    OverTime,
    Cancelled,
}

impl TerminalShell {
    /// Starts a shell as the plan has it: its program, environment, directory, limits and terminal.
    pub(crate) async fn open(
        plan: &Plan,
        keepers: &Keepers,
        size: Size,
    ) -> Result<Self, RunFailure> {
        let opened = tokio::time::timeout(BOUND, Self::opened(plan, keepers, size));
        opened.await.map_err(|_| RunFailure::from(no_answer()))?
    }

    async fn opened(plan: &Plan, keepers: &Keepers, size: Size) -> Result<Self, RunFailure> {
        let failed = |error| Error::io(ErrorKind::Spawn, "start the shell", error);
        for _ in 0..2 {
            let (read, script) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
                .map_err(|error| failed(error.into()))?;
            rustix::io::ioctl_fionbio(&script, true).map_err(|error| failed(error.into()))?;
            let mut message = start_message(plan, beginning(plan, None));
            message.script = Some(ByteBuf::from(becoming_the_shell(plan)));
            message.for_started_shell = None;
            message.timeout_us = micros(NEVER);
            (message.stdin, message.stdin_open) = (true, false);
            message.goes_to_background = false;
            let connection = keepers.take(plan).await?;
            let fds = [plan.cwd.fd.as_fd(), read.as_fd()];
            match connection.send(&message, &fds).await {
                Ok(()) => {}
                Err(error) if keepers::is_gone(&error) => continue,
                Err(error) => return Err(failed(error).into()),
            }
            keepers.refill(plan);
            if !keepers.is_born(&connection).await {
                continue;
            }
            drop(read);
            let mut shell = Self::started(connection, script, size).await?;
            shell.say(SETUP).await.map_err(failed)?;
            return Ok(shell);
        }
        Err(no_answer().into())
    }

    /// Waits until the keeper has started it.
    async fn started(connection: KeeperConnection, script: OwnedFd, size: Size) -> Result<Self> {
        let broken = |error| Error::io(ErrorKind::KeeperLost, "read from the keeper", error);
        loop {
            let frame = connection.receive().await.map_err(broken)?;
            let frame = frame.ok_or_else(no_answer)?;
            if frame.is::<FailedMessage>() {
                return Err(failure(&frame).map_err(broken)?);
            }
            if !frame.is::<StartedMessage>() {
                continue;
            }
            let started: StartedMessage = frame.body().map_err(broken)?;
            let mut fds = frame.fds.into_iter();
            let page = fds.next().ok_or_else(no_answer)?;
            let has_head = started.heads.first().copied().unwrap_or(false);
            let head = if has_head { fds.next() } else { None };
            return Ok(Self {
                connection,
                script,
                spool: Arc::new(SpoolReader::new_later(page, head)),
                size,
                limits: started.limits,
                confinement: started.confinement,
                shown: 0,
                command: None,
                last_used: Instant::now(),
            });
        }
    }

    /// Has the shell run a command.
    pub(crate) async fn begin(&mut self, text: &str) -> Result<()> {
        let random = RandomState::new();
        let nonce = format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1));
        let mut lines = br"\builtin eval ".to_vec();
        quote(&mut lines, text.as_bytes());
        // The last line is read even if the first was interrupted, and the empty one has the shell
        // forget an unfinished quote. What traces it is not shown.
        let report = format!(
            " </dev/tty\n\n{{ \\builtin printf '\\e]bashd;%s;%s\\x1f%s\\x1f%s\\a' {nonce} \"$?\" \"$(\\builtin command -v python)\" \"${{PWD-}}\" >/dev/tty; }} 2>/dev/null\n"
        );
        lines.extend(report.bytes());
        self.command = Some(TerminalCommand {
            begun: Instant::now(),
            mark: format!("{MARK}{nonce};").into_bytes(),
            searched: self.shown,
        });
        let said = self.say(&lines).await;
        said.map_err(|error| Error::io(ErrorKind::KeeperLost, "write to the shell", error))
    }

    /// Types at the terminal.
    pub(crate) async fn type_bytes(&self, bytes: Vec<u8>) -> Result<()> {
        let typed = self.connection.send(&TypedMessage { bytes }, &[]).await;
        typed.map_err(|error| Error::io(ErrorKind::KeeperLost, "write to the keeper", error))
    }

    /// Waits for the end of the command that runs.
    pub(crate) async fn wait(
        &mut self,
        terms: TerminalWait,
        cancel: &CancellationToken,
    ) -> Result<Halt> {
        let lost = |error| Error::io(ErrorKind::KeeperLost, "read from the keeper", error);
        let begun = Instant::now();
        let mut heard = begun;
        self.ask().await;
        loop {
            if let Some(report) = self.report().map_err(lost)? {
                return Ok(self.ended(report));
            }
            let silent = terms.silence.map(|silence| heard + silence);
            let late = terms.longest.map(|longest| begun + longest);
            let due = [silent, late].into_iter().flatten().min();
            let frame = tokio::select! {
                biased;
                frame = self.connection.receive() => frame.map_err(lost)?.ok_or_else(no_answer)?,
                () = cancel.cancelled() => return Ok(Halt::Cancelled),
                () = tokio::time::sleep_until(due.unwrap_or(begun)), if due.is_some() => {
                    self.last_used = Instant::now();
                    let is_late = late.is_some_and(|late| Instant::now() >= late);
                    return Ok(if is_late { Halt::OverTime } else { Halt::Silent });
                }
            };
            if frame.is::<GrownMessage>() {
                heard = Instant::now();
                self.ask().await;
            } else if frame.is::<SpilledMessage>() {
                if let Some(ring) = frame.fds.into_iter().next() {
                    self.spool.set_ring(ring);
                }
            } else if frame.is::<ExitedMessage>() {
                let exited: ExitedMessage = frame.body().map_err(lost)?;
                return Ok(match self.report().map_err(lost)? {
                    Some(report) => self.ended(report),
                    None => Halt::Gone(Box::new(exited)),
                });
            }
        }
    }

    /// What there is to know without waiting.
    pub(crate) async fn look(&mut self) -> Result<Halt> {
        let at_once = TerminalWait {
            silence: None,
            longest: Some(Duration::ZERO),
        };
        self.wait(at_once, &CancellationToken::new()).await
    }

    /// Ends everything that runs in the terminal, and waits for that.
    pub(crate) async fn end(self) {
        let _ = self.connection.send(&EndMessage::CANCEL, &[]).await;
        let ended = async {
            while let Ok(Some(frame)) = self.connection.receive().await {
                if frame.is::<ExitedMessage>() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(BOUND, ended).await;
    }

    /// What a command wrote up to here was shown.
    pub(crate) fn showed(&mut self, upto: u64) {
        self.shown = self.shown.max(upto);
    }

    fn ended(&mut self, mut report: TerminalReport) -> Halt {
        let command = self.command.take();
        report.ran_for = command
            .map(|command| command.begun.elapsed())
            .unwrap_or_default();
        self.last_used = Instant::now();
        Halt::Ended(report)
    }

    /// Asks to be told of more output.
    async fn ask(&self) {
        let out = self.spool.readable_end();
        let _ = self
            .connection
            .send(&QueryMessage { out, err: 0 }, &[])
            .await;
    }

    async fn say(&mut self, mut lines: &[u8]) -> io::Result<()> {
        while !lines.is_empty() {
            match rustix::io::write(&self.script, lines) {
                Ok(count) => lines = lines.get(count..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => tokio::time::sleep(FULL_PAUSE).await,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The mark of the command that runs, if it is there.
    fn report(&mut self) -> io::Result<Option<TerminalReport>> {
        let end = self.spool.readable_end();
        let Some(command) = &mut self.command else {
            return Ok(None);
        };
        // A mark may begin at the end of what is there.
        let held_back = command.mark.len() as u64 - 1;
        while command.searched < end {
            let from = command.searched;
            let upto = end.min(from + STEP);
            let bytes = read_all(&self.spool, from..upto)?;
            let Some(at) = memchr::memmem::find(&bytes, &command.mark) else {
                command.searched = from.max(upto.saturating_sub(held_back));
                if upto == end {
                    return Ok(None);
                }
                continue;
            };
            let begins = from + at as u64;
            let told = bytes.get(at + command.mark.len()..).unwrap_or_default();
            if let Some(length) = memchr::memchr(MARK_END, told) {
                let next = begins + (command.mark.len() + length + 1) as u64;
                let told = told.get(..length).unwrap_or_default();
                return Ok(Some(read_report(told, begins, next)));
            }
            if upto == end {
                command.searched = begins;
                return Ok(None);
            }
            // Read again from its beginning; none is longer than what is read at once.
            command.searched = begins.max(from + 1);
        }
        Ok(None)
    }
}

/// The bytes of a part of a stream; what is gone is zeros, so that offsets stay what they are.
fn read_all(spool: &SpoolReader, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for piece in spool.read(range)? {
        match piece {
            StreamPiece::Kept(kept) => bytes.extend(kept),
            StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => {
                bytes.resize(bytes.len() + count as usize, 0);
            }
        }
    }
    Ok(bytes)
}

impl TerminalReport {
    /// Where the next command's output begins.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }
}

/// What a mark says.
fn read_report(told: &[u8], end: u64, next: u64) -> TerminalReport {
    let mut parts = told.splitn(3, |byte| *byte == MARK_SEPARATOR);
    let mut part = || parts.next().unwrap_or_default().to_vec();
    let status = String::from_utf8(part()).ok();
    let python = String::from_utf8(part()).ok();
    TerminalReport {
        status: status.and_then(|status| status.parse().ok()).unwrap_or(-1),
        python: python.filter(|path| !path.is_empty()),
        directory: PathBuf::from(OsString::from_vec(part())),
        end,
        next,
        ran_for: Duration::ZERO,
    }
}

/// The script with which the plan's shell becomes an interactive one.
fn becoming_the_shell(plan: &Plan) -> Vec<u8> {
    let mut script = b"PS1= PS2= PROMPT_COMMAND= exec -a bash ".to_vec();
    quote(&mut script, plan.shell.program.as_os_str().as_bytes());
    script.extend(b" --norc --noprofile --noediting -i");
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_part_by_part() {
        let report = read_report(b"130\x1f/usr/bin/python\x1f/a b", 7, 9);
        assert_eq!(report.status, 130);
        assert_eq!(report.python.as_deref(), Some("/usr/bin/python"));
        assert_eq!(report.directory, PathBuf::from("/a b"));
        let report = read_report(b"0\x1f\x1f/", 0, 0);
        assert_eq!((report.status, report.python), (0, None));
    }
}
