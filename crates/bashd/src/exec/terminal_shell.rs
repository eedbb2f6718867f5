//! The shell of a terminal session: an interactive bash in a terminal of ours, which stays from
//! call to call.
//!
//! It reads its commands from a socket, and not from its terminal: what is typed there is input of
//! the command that runs, and never a command itself. After each command it reports by that socket
//! and marks the end of the output (`terminal_mark`). Whoever drops the shell closes its keeper's
//! socket, and the keeper ends everything that was started in the terminal.

use super::background::{self, SEEN_AFTER};
use super::connection::KeeperConnection;
use super::conversation::beginning;
use super::terminal_mark::{self, MarkSearch, ScriptSocket, ShellTracing, ToldReport};
use super::{Keepers, RunFailure, failure, keepers, micros, no_answer, start_message};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Exit;
use crate::ledger::outlasting::{OutlastingEnd, OutlastingRun};
use crate::plan::{ConfinementInForce, LimitsInForce, Plan};
use crate::screen::Size;
use bashd_keeper::keeper::job_messages::{AnnounceMessage, ConcealMessage};
use bashd_keeper::keeper::protocol::{
    EndMessage, ExitedMessage, FailedMessage, GrownMessage, QueryMessage, SpilledMessage,
    StartedMessage, TypedMessage,
};
use bashd_keeper::quote::quote;
use bashd_keeper::spool::SpoolReader;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use serde_bytes::ByteBuf;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What the shell does before its first command. It keeps no history, and nothing that it says to
/// its own person belongs to a command's output.
const SETUP: &[u8] = b"\\builtin set +o history +H; \\builtin unset -v HISTFILE MAILCHECK PROMPT_COMMAND; \\builtin export -n PS1 PS2\n";

/// A shell that stays has no limit of its own.
const NEVER: Duration = Duration::from_hours(24 * 365);

/// How long a keeper may take to start the shell, to end it, or to take what is typed.
const BOUND: Duration = Duration::from_secs(30);

/// How long a report and its mark are waited for, when the other of them is there.
const OTHER_WITHIN: Duration = Duration::from_secs(1);

/// How long messages of the keeper are read beyond the time of a call: a flood brings them without
/// end.
const READS_ON: Duration = Duration::from_millis(100);

/// A shell in its terminal.
pub(crate) struct TerminalShell {
    connection: KeeperConnection,
    script: ScriptSocket,
    pub(crate) spool: Arc<SpoolReader>,
    pub(crate) size: Size,
    pub(crate) limits: Option<LimitsInForce>,
    pub(crate) confinement: Option<ConfinementInForce>,
    /// Where the output begins that no reply has shown.
    pub(crate) shown: u64,
    /// The command that runs, if one does.
    pub(crate) command: Option<TerminalCommand>,
    /// What it shows of the next command.
    tracing: ShellTracing,
    /// How the shell itself ended, if it did.
    gone: Option<Box<ExitedMessage>>,
    last_used: Instant,
}

/// A command that runs in a terminal session.
pub(crate) struct TerminalCommand {
    pub(crate) begun: Instant,
    /// What is recorded of it if it outlasts its call.
    pub(crate) outlasting: OutlastingRun,
    nonce: String,
    /// Where its output begins.
    from: u64,
    search: MarkSearch,
    /// What the shell reported, and when we heard it.
    told: Option<(ToldReport, Instant)>,
    /// Where the mark is, and when we saw it.
    marked: Option<(Range<u64>, Instant)>,
    /// What makes it visible to others; nothing if it is.
    announcement: Option<AnnounceMessage>,
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
    /// and for so long altogether.
    pub(crate) longest: Duration,
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

/// What came first.
enum News {
    /// The command wrote something.
    Grown,
    /// Something else was heard, or there is a reason to look again.
    Other,
    Late,
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
            let flags = SocketFlags::CLOEXEC;
            let pair =
                rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None);
            let (read, script) = pair.map_err(|error| failed(error.into()))?;
            rustix::io::ioctl_fionbio(&script, true).map_err(|error| failed(error.into()))?;
            let script = ScriptSocket::new(script).map_err(failed)?;
            let mut message = start_message(plan, beginning(plan, None));
            message.script = Some(ByteBuf::from(becoming_the_shell(plan)));
            message.for_started_shell = None;
            // A bash whose stdin is a socket takes itself for one that rshd started, and would
            // read the user's rc.
            message.argv.insert(1, ByteBuf::from("--norc"));
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
            let shell = Self::started(connection, script, size).await?;
            shell.script.say(SETUP).await.map_err(failed)?;
            return Ok(shell);
        }
        Err(no_answer().into())
    }

    /// Waits until the keeper has started it.
    async fn started(
        connection: KeeperConnection,
        script: ScriptSocket,
        size: Size,
    ) -> Result<Self> {
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
                tracing: ShellTracing::default(),
                gone: None,
                last_used: Instant::now(),
            });
        }
    }

    /// Has the shell run the command of a plan.
    pub(crate) async fn begin(&mut self, plan: &Plan, outlasting: OutlastingRun) -> Result<()> {
        let nonce = terminal_mark::nonce();
        let text = plan.script.as_deref().unwrap_or_default();
        let lines = terminal_mark::lines(text, &nonce, self.tracing);
        self.command = Some(TerminalCommand {
            begun: Instant::now(),
            outlasting,
            from: self.shown,
            search: MarkSearch::new(&nonce, self.shown),
            nonce,
            told: None,
            marked: None,
            announcement: Some(background::announcement(plan)),
        });
        bounded("write to the shell", self.script.say(&lines)).await
    }

    /// Types at the terminal.
    pub(crate) async fn type_bytes(&self, bytes: Vec<u8>) -> Result<()> {
        let message = TypedMessage { bytes };
        let typed = self.connection.send(&message, &[]);
        bounded("write to the keeper", typed).await
    }

    /// Waits for the end of the command that runs.
    pub(crate) async fn wait(
        &mut self,
        terms: TerminalWait,
        cancel: &CancellationToken,
    ) -> Result<Halt> {
        let begun = Instant::now();
        let late = begun + terms.longest;
        let mut heard = begun;
        self.ask();
        loop {
            if let Some(report) = self.report()? {
                return Ok(self.ended(report));
            }
            if let Some(exited) = self.gone.take() {
                return Ok(Halt::Gone(exited));
            }
            let silent = terms.silence.map(|silence| heard + silence);
            let due = silent.map_or(late, |silent| silent.min(late));
            let is_over = Instant::now() >= due + READS_ON && self.settles_at().is_none();
            let news = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(Halt::Cancelled),
                news = self.news(Some(due)), if !is_over => news?,
                () = std::future::ready(()), if is_over => News::Late,
            };
            match news {
                News::Grown => heard = Instant::now(),
                News::Other => {}
                News::Late => {
                    self.last_used = Instant::now();
                    let is_late = self.last_used >= late;
                    return Ok(if is_late {
                        Halt::OverTime
                    } else {
                        Halt::Silent
                    });
                }
            }
        }
    }

    /// Follows the command that runs until it has ended. The call that asks for the end still gets
    /// it.
    pub(super) async fn follow(&mut self) {
        self.ask();
        while self.gone.is_none() {
            match self.report() {
                Ok(None) => {}
                Ok(Some(report)) => return self.note_end(&report),
                Err(_) => return,
            }
            if self.news(None).await.is_err() {
                return;
            }
        }
    }

    /// Waits for a word of the keeper or the shell, until the time of the call is over.
    async fn news(&mut self, due: Option<Instant>) -> Result<News> {
        let lost = |error| Error::io(ErrorKind::KeeperLost, "read from the keeper", error);
        // Once a report or its mark is there, the other is worth waiting for.
        let settles = self.settles_at();
        let wakes = settles.or(due);
        let seen = self.announces_at();
        let frame = tokio::select! {
            biased;
            frame = self.connection.receive() => frame.map_err(lost)?.ok_or_else(no_answer)?,
            () = self.script.heard() => return Ok(News::Other),
            () = at(seen) => {
                self.announce();
                return Ok(News::Other);
            }
            () = at(wakes) => {
                return Ok(if settles.is_some() { News::Other } else { News::Late });
            }
        };
        if frame.is::<GrownMessage>() {
            self.ask();
            return Ok(News::Grown);
        } else if frame.is::<SpilledMessage>() {
            if let Some(ring) = frame.fds.into_iter().next() {
                self.spool.set_ring(ring);
            }
        } else if frame.is::<ExitedMessage>() {
            let exited: ExitedMessage = frame.body().map_err(lost)?;
            self.note_exit(&exited);
            self.gone = Some(Box::new(exited));
        }
        Ok(News::Other)
    }

    /// What there is to know without waiting.
    pub(crate) async fn look(&mut self) -> Result<Halt> {
        let at_once = TerminalWait {
            silence: None,
            longest: Duration::ZERO,
        };
        self.wait(at_once, &CancellationToken::new()).await
    }

    /// Ends everything that runs in the terminal, and waits for that.
    pub(crate) async fn end(self) {
        let ended = async {
            let _ = self.connection.send(&EndMessage::CANCEL, &[]).await;
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

    /// When a call last used it.
    pub(super) fn last_used(&self) -> Instant {
        self.last_used
    }

    /// The connection to its keeper once more, for who wants to close it.
    pub(super) fn connection_again(&self) -> Option<OwnedFd> {
        self.connection.again().ok()
    }

    /// Its call returns, and the command goes on: others can see it from now on.
    pub(crate) fn outlasts(&mut self) {
        self.announce();
        if let Some(command) = &mut self.command {
            command.outlasting.outlasts();
        }
    }

    /// Has the keeper make the command visible to others.
    fn announce(&mut self) {
        let command = self.command.as_mut();
        if let Some(announcement) = command.and_then(|command| command.announcement.take()) {
            let _ = self.connection.send_now(&announcement);
        }
    }

    /// When it becomes visible, if it is not.
    fn announces_at(&self) -> Option<Instant> {
        let command = self.command.as_ref()?;
        let is_hidden = command.announcement.is_some();
        is_hidden.then(|| command.begun + SEEN_AFTER)
    }

    /// Until when the rest of what tells the end is waited for, if a part of it is there.
    fn settles_at(&self) -> Option<Instant> {
        let command = self.command.as_ref()?;
        let told = command.told.as_ref().map(|told| told.1);
        let marked = command.marked.as_ref().map(|marked| marked.1);
        told.or(marked).map(|since| since + OTHER_WITHIN)
    }

    fn ended(&mut self, mut report: TerminalReport) -> Halt {
        self.note_end(&report);
        let command = self.command.take();
        report.ran_for = command
            .map(|command| command.begun.elapsed())
            .unwrap_or_default();
        self.last_used = Instant::now();
        Halt::Ended(report)
    }

    /// The command has ended: others need not see it any more.
    fn note_end(&mut self, report: &TerminalReport) {
        let Some(command) = &mut self.command else {
            return;
        };
        if command.announcement.take().is_none() {
            let _ = self.connection.send_now(&ConcealMessage {});
        }
        command.outlasting.ended(OutlastingEnd {
            exit: Exit::Code(report.status),
            ended_by: None,
            output_bytes: report.end.saturating_sub(command.from),
        });
    }

    /// The shell has ended: nothing more comes of what tells the end of its command.
    fn note_exit(&mut self, exited: &ExitedMessage) {
        let (Some(command), Some(long_ago)) =
            (&mut self.command, Instant::now().checked_sub(OTHER_WITHIN))
        else {
            return;
        };
        if let Some((_, since)) = &mut command.told {
            *since = long_ago;
        } else if let Some((_, since)) = &mut command.marked {
            *since = long_ago;
        } else {
            command.outlasting.ended(OutlastingEnd {
                exit: exited.exit,
                ended_by: exited.ended_by,
                output_bytes: self.spool.readable_end().saturating_sub(command.from),
            });
        }
    }

    /// Asks to be told of more output. A keeper that does not read has an earlier question.
    fn ask(&self) {
        let out = self.spool.readable_end();
        let _ = self.connection.send_now(&QueryMessage { out, err: 0 });
    }

    /// How the command that runs ended, if it did.
    fn report(&mut self) -> Result<Option<TerminalReport>> {
        let Some(command) = &mut self.command else {
            return Ok(None);
        };
        let now = Instant::now();
        if command.told.is_none() {
            let told = self.script.report(&command.nonce);
            command.told = told.map(|told| (told, now));
        }
        if command.marked.is_none() {
            let found = command.search.find(&self.spool);
            let unread = |error| Error::io(ErrorKind::KeeperLost, "read the output", error);
            command.marked = found.map_err(unread)?.map(|mark| (mark, now));
        }
        let is_old = |since: &Instant| now.duration_since(*since) >= OTHER_WITHIN;
        let (told, mark) = match (&command.told, &command.marked) {
            (Some((told, _)), Some((mark, _))) => (told.clone(), mark.clone()),
            (Some((told, since)), None) if is_old(since) => {
                let end = self.spool.readable_end();
                (told.clone(), end..end)
            }
            (None, Some((mark, since))) if is_old(since) => (ToldReport::unknown(), mark.clone()),
            _ => return Ok(None),
        };
        self.tracing = told.tracing;
        Ok(Some(TerminalReport {
            status: told.status,
            python: told.python,
            directory: told.directory,
            end: mark.start,
            next: mark.end,
            ran_for: Duration::ZERO,
        }))
    }
}

/// Resolves at this time; never, if there is none.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// What somebody else has to read, who may stand still.
async fn bounded(doing: &str, step: impl Future<Output = io::Result<()>>) -> Result<()> {
    let late = || io::Error::from(io::ErrorKind::TimedOut);
    let done = tokio::time::timeout(BOUND, step).await;
    let done = done.unwrap_or_else(|_| Err(late()));
    done.map_err(|error| Error::io(ErrorKind::KeeperLost, doing, error))
}

impl TerminalReport {
    /// Where the next command's output begins.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }
}

/// The script with which the plan's shell becomes an interactive one.
fn becoming_the_shell(plan: &Plan) -> Vec<u8> {
    let mut script = b"PS1= PS2= PROMPT_COMMAND= exec -a bash ".to_vec();
    quote(&mut script, plan.shell.program.as_os_str().as_bytes());
    script.extend(b" --norc --noprofile --noediting -i");
    script
}
