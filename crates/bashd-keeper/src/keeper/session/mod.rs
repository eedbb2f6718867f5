//! A session: one shell that lives from call to call, and its keeper.
//!
//! `shell` starts it, `rendezvous` is where it opens its pipes, `driver` has the line that runs a
//! call and the frame that reports its end, `call` is one call, `ahead` prepares the next one. The
//! kernel decides which bytes belong to which call: every call has its own pipes, and what a call
//! left running keeps writing to *its* pipes, which this keeper keeps reading.
//!
//! A call ends by its report, by the shell's death, or by its deadline. The latter ends the shell
//! and everything born since the call began; what earlier calls left running stays. A call may also
//! become a job, and then takes the shell along: the engine opens another, and the shell ends with
//! the call. A session whose shell is gone is over: the engine is told why, opens another, and this
//! keeper stays for as long as anything of its tree lives.

mod ahead;
mod call;
mod driver;
mod rendezvous;
mod shell;

pub use driver::{DirectoryAfter, LOADER};
pub(super) use rendezvous::is_sessions_name;

use super::ending::{self, Reaped, RunScope};
use super::job_messages::{AnnounceMessage, BackgroundMessage, BackgroundedMessage};
use super::life::{Custody, KeeperRun, Phase};
use super::protocol::{
    self, CallForm, CallMessage, EndMessage, FailedMessage, GoneMessage, MessageFrame, OpenMessage,
    PreparedMessage, QueryMessage, ReleaseMessage,
};
use super::pump::Pump;
use super::serve::state_of;
use super::waiting::{Keeper, poll};
use crate::exit::EndedBy;
use crate::reset::Reset;
use crate::spool;
use ahead::PreparedShell;
use call::{Current, Whereabouts};
use rendezvous::Rendezvous;
use rustix::event::{PollFd, PollFlags};
use shell::SessionShell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// How long a shell may take to exit after the end of its script.
const CLOSING: Duration = Duration::from_secs(2);

/// How long to wait before preparing the shell's next call: on a single core, the process that
/// waits for the report goes first.
const BEFORE_PREPARING: Duration = Duration::from_micros(200);

/// How many large spools are held for an engine that still reads them.
const MOST_LINGERING: usize = 4;

/// Opens a session, and lives until nothing of it is left.
pub(super) fn live(mut keeper: Keeper, frame: MessageFrame) -> io::Result<()> {
    let message: OpenMessage = frame.body()?;
    let Some(storage) = &keeper.storage else {
        return keeper.fail("find the output directory in the message", None);
    };
    let Some(cwd) = frame.fds.first() else {
        return keeper.fail("find the working directory in the message", None);
    };
    let rendezvous = match Rendezvous::open(state_of(&storage.runs)) {
        Ok(rendezvous) => rendezvous,
        Err(error) => {
            let doing = "make a directory for a session's pipes";
            return keeper.fail(doing, error.raw_os_error());
        }
    };
    let shell = match SessionShell::open(&message, cwd, &storage.runs, rendezvous.path()) {
        Ok(shell) => shell,
        Err(failed) => return keeper.tell_failure(&failed),
    };
    drop(frame); // and with it a hold on the directory, which somebody may want to unmount
    let place = PreparedShell::new(shell, rendezvous, keeper.prepared.take());
    let session = KeeperSession {
        whereabouts: Whereabouts::default(),
        shell: place,
        life: Life::Ready,
        current: None,
        earlier: Vec::new(),
        last: 0,
        idle: Duration::from_micros(message.idle_us),
        idle_since: Instant::now(),
        has_survivors: false,
        tree_is_empty: false,
        to_prepare: None,
        tells_ahead: false,
    };
    session.live(&mut keeper)
}

/// Where the session's shell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// It runs a call, or waits for one.
    Ready,
    /// Its script was closed; it is killed if it has not ended by then.
    Closing(Instant),
    /// It is gone.
    Gone,
}

struct KeeperSession {
    shell: PreparedShell,
    life: Life,
    current: Option<Current>,
    /// Calls that were reported, and whose output still grows or is still being read.
    earlier: Vec<(u64, KeeperRun)>,
    /// The number of the last call.
    last: u64,
    /// Where the shell is between two calls, as far as that must be known.
    whereabouts: Whereabouts,
    /// How long the shell waits for a call; zero means forever.
    idle: Duration,
    idle_since: Instant,
    /// Whether a call left something running.
    has_survivors: bool,
    tree_is_empty: bool,
    /// What the next call will probably look like, and when to prepare for it.
    to_prepare: Option<(CallForm, Instant)>,
    /// Whether the engine should hear of it.
    tells_ahead: bool,
}

impl KeeperSession {
    fn live(mut self, keeper: &mut Keeper) -> io::Result<()> {
        loop {
            let now = Instant::now();
            let ready = self.wait(keeper, self.next_moment(now))?;
            let now = Instant::now();
            if ready.signals {
                let arrived = keeper.signals.take();
                if arrived.child {
                    self.collect(keeper, now);
                }
                if arrived.end {
                    if let Some(current) = &mut self.current {
                        current.run.end(None, now);
                    }
                    self.close(now);
                }
            }
            self.pump(now);
            if let Some(current) = &mut self.current {
                if ready.report {
                    current.hear(&mut self.shell.shell, now);
                }
                current.look(&mut self.shell.shell, now);
                current.run.serve_clients(ready.job, now);
            }
            if ready.link || ready.engine {
                self.listen(keeper, ready.engine, now);
            }
            self.advance(keeper, now);
            self.prepare_if_due(keeper, now);
            // The process that waits for the report goes first here as well.
            if self.to_prepare.is_none() {
                self.forget_what_is_over(now);
            }
            if self.life == Life::Gone && self.current.is_none() && self.tree_is_empty {
                return self.leave(keeper);
            }
        }
    }

    fn next_moment(&self, now: Instant) -> Option<Instant> {
        let of_call = self.current.as_ref().and_then(|call| call.next_moment(now));
        let of_shell = match self.life {
            Life::Ready if self.current.is_none() && !self.idle.is_zero() => {
                self.idle_since.checked_add(self.idle)
            }
            Life::Closing(until) => Some(until),
            Life::Ready | Life::Gone => None,
        };
        let lingering = self.earlier.iter().filter(|(_, run)| !is_open(run));
        let of_spools = lingering.map(|(_, run)| run.linger_until).min();
        let preparing = self.to_prepare.as_ref().map(|(_, due)| *due);
        [of_call, of_shell, of_spools, preparing]
            .into_iter()
            .flatten()
            .min()
    }

    fn wait(&self, keeper: &Keeper, until: Option<Instant>) -> io::Result<SessionReadiness> {
        let unsent = self
            .current
            .as_ref()
            .is_some_and(|call| call.run.unsent.is_some());
        let mut fds = vec![PollFd::new(&keeper.signals, PollFlags::IN)];
        if let Some(link) = &keeper.link {
            let writable = if unsent {
                PollFlags::OUT
            } else {
                PollFlags::empty()
            };
            fds.push(PollFd::new(link, PollFlags::IN | writable));
        }
        let engine_at = fds.len();
        if let Some(engine) = &keeper.engine {
            fds.push(PollFd::new(engine, PollFlags::IN));
        }
        let report_at = fds.len();
        fds.extend(self.current.iter().filter_map(Current::report).map(watch));
        let pipes_at = fds.len();
        fds.extend(self.current.iter().flat_map(Current::pipes).map(watch));
        let earlier = self.earlier.iter().flat_map(|(_, run)| &run.pumps);
        fds.extend(earlier.filter_map(Pump::pipe).map(watch));
        let job_at = fds.len();
        let seen = self.current.iter();
        fds.extend(seen.flat_map(|call| call.run.job_descriptors()).map(watch));
        poll(&mut fds, until)?;
        let any = |from: usize, to: usize| {
            fds.get(from..to)
                .is_some_and(|fds| fds.iter().any(|fd| !fd.revents().is_empty()))
        };
        Ok(SessionReadiness {
            signals: any(0, 1),
            link: any(1, engine_at),
            engine: any(engine_at, report_at),
            report: any(report_at, pipes_at),
            job: any(job_at, fds.len()),
        })
    }

    /// Reaps dead children, and checks whether the shell is one of them.
    fn collect(&mut self, keeper: &mut Keeper, now: Instant) {
        if let Some(current) = &mut self.current {
            current.run.collect(now);
            let Some(exit) = current.run.shell_exit.take() else {
                return;
            };
            self.life = Life::Gone;
            if !current.may_run_elsewhere() {
                current.lost_its_shell(exit);
                current.run.pump();
                return;
            }
            // Nothing ran: the engine has another shell run it.
            let reset = current.reset_after(exit);
            self.current = None;
            Self::say_gone(keeper, reset);
        }
        let Reaped {
            exit,
            tree_is_empty,
        } = ending::reap(self.shell.shell.pid);
        self.tree_is_empty = tree_is_empty;
        if let Some(exit) = exit {
            self.life = Life::Gone;
            Self::say_gone(keeper, exit.into());
        }
        if self.life == Life::Gone && self.current.is_none() {
            self.shell.shell.end_namespace();
        }
    }

    /// Tells the engine that no more calls will run; what it has sent meanwhile is not read.
    fn say_gone(keeper: &mut Keeper, reset: Reset) {
        if let Some(link) = keeper.link.take() {
            let _ = protocol::send(&link, &GoneMessage { reset }, &[]);
        }
    }

    fn pump(&mut self, now: Instant) {
        if let Some(current) = &mut self.current
            && current.run.pump()
        {
            current.run.heard(now);
        }
        for (_, run) in &mut self.earlier {
            run.pump();
        }
    }

    /// Reads the engine's messages, or learns that it is gone.
    fn listen(&mut self, keeper: &mut Keeper, engine_died: bool, now: Instant) {
        let mut is_gone = engine_died;
        while let Some(link) = &keeper.link {
            match protocol::receive(link) {
                Ok(Some(frame)) => self.obey(keeper, &frame, now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(None) | Err(_) => {
                    is_gone = true;
                    break;
                }
            }
        }
        if is_gone {
            keeper.link = None;
            keeper.engine = None;
            if let Some(current) = &mut self.current {
                current.run.unsent = None;
                current.run.query = None;
                if current.run.custody == Custody::Background {
                    return; // it is a job, and the shell ends with it
                }
                current.run.end(Some(EndedBy::Cancel), now);
            }
            self.close(now);
        }
    }

    fn obey(&mut self, keeper: &mut Keeper, frame: &MessageFrame, now: Instant) {
        if frame.is::<CallMessage>() {
            self.begin(keeper, frame);
        } else if frame.is::<QueryMessage>() {
            if let Some(current) = &mut self.current {
                current.run.query = frame.body().ok();
            }
        } else if frame.is::<EndMessage>() {
            if let (Some(current), Ok(EndMessage { by })) = (&mut self.current, frame.body()) {
                current.run.end(Some(by), now);
            }
        } else if frame.is::<AnnounceMessage>() {
            if let Some(current) = &mut self.current {
                current.run.announce(frame);
            }
        } else if frame.is::<ReleaseMessage>() {
            // The call that was reported last, if something still writes to its pipes.
            let last = self.earlier.last_mut();
            if let (Some((number, run)), Ok(release)) = (last, frame.body())
                && *number == self.last
            {
                run.keep_log(&release);
            }
        } else if frame.is::<BackgroundMessage>() {
            self.go_to_background(keeper, frame);
        } else if let Some(link) = &keeper.link {
            let _ = protocol::refuse(link, &frame.name);
        }
    }

    /// Makes the call a job, which takes the shell along.
    fn go_to_background(&mut self, keeper: &Keeper, frame: &MessageFrame) {
        let Some(link) = &keeper.link else { return };
        if let Some(current) = &mut self.current {
            let directory = self.whereabouts.during(self.shell.shell.pid);
            current.run.go_to_background(link, frame, directory);
        } else {
            let answer = BackgroundedMessage {
                error: Some("the command has ended".to_owned()),
                directory: None,
            };
            let _ = protocol::send(link, &answer, &[]);
        }
    }

    fn begin(&mut self, keeper: &mut Keeper, frame: &MessageFrame) {
        if self.current.is_some() || self.life != Life::Ready {
            let _ = keeper.fail("run two calls of a session at once", Some(libc::EBUSY));
            return;
        }
        self.to_prepare = None;
        let scope = if self.has_survivors {
            RunScope::since_now(self.shell.shell.pid, self.shell.shell.restrained.as_deref())
        } else {
            RunScope::beside(self.shell.shell.restrained.as_deref())
        };
        match Current::begin(keeper, &mut self.shell, scope, frame) {
            Ok(current) => {
                self.whereabouts.begin(&current);
                if !current.is_told {
                    let _ = current.run.tell_started(keeper);
                }
                self.current = Some(current);
            }
            // The shell is about to end, and nothing ran: the engine learns this when the shell is
            // reaped.
            Err(FailedMessage { errno, .. }) if errno == libc::EPIPE => self.shell.shell.kill(),
            Err(failed) => {
                let _ = keeper.tell_failure(&failed);
            }
        }
    }

    /// Ends the shell by closing its script.
    fn close(&mut self, now: Instant) {
        if self.life == Life::Ready {
            self.shell.shell.close();
            self.life = Life::Closing(now + CLOSING);
        }
    }

    fn advance(&mut self, keeper: &mut Keeper, now: Instant) {
        if let Some(mut current) = self.current.take() {
            current.run.advance(keeper, now);
            if current.run.shell_exit.take().is_some() {
                self.life = Life::Gone; // collected in a round of KILL
            }
            current.run.tell_growth(keeper, now);
            let is_reported = current.run.phase == Phase::Reported && current.run.unsent.is_none();
            if is_reported && current.run.custody == Custody::Background {
                self.look_after_job(current, keeper, now);
            } else if is_reported {
                self.is_over(current, keeper, now);
            } else {
                self.current = Some(current);
            }
        }
        match self.life {
            Life::Ready
                if self.current.is_none()
                    && !self.idle.is_zero()
                    && now >= self.idle_since + self.idle =>
            {
                Self::say_gone(keeper, Reset::Idle);
                self.close(now);
            }
            Life::Closing(until) if now >= until => self.shell.shell.kill(),
            _ => {}
        }
    }

    /// The call that is a job has ended; what it left running is still the job.
    fn look_after_job(&mut self, mut current: Current, keeper: &mut Keeper, now: Instant) {
        self.close(now);
        if self.life == Life::Gone {
            current.run.scope.spared_shell = None;
        }
        if current.run.tree_is_empty {
            let _ = current.run.close_log();
            self.collect(keeper, now);
        } else {
            self.current = Some(current);
        }
    }

    /// A call was reported.
    fn is_over(&mut self, current: Current, keeper: &mut Keeper, now: Instant) {
        let (number, form, tells_ahead) = (current.number(), current.form, current.tells_ahead);
        let run = current.run;
        self.idle_since = now;
        self.has_survivors = !run.tree_is_empty || !run.scope.spared.is_empty();
        if run.reset.is_some() {
            self.close(now);
        }
        self.last = number;
        self.earlier.push((number, run));
        self.collect(keeper, now);
        self.to_prepare = Some((form, now + BEFORE_PREPARING));
        self.tells_ahead = tells_ahead;
    }

    /// Prepares for the next call, if it is time and none has come.
    fn prepare_if_due(&mut self, keeper: &Keeper, now: Instant) {
        let due = self.to_prepare.take_if(|(_, due)| now >= *due);
        if let (Some((form, _)), Life::Ready, Some(storage)) = (due, self.life, &keeper.storage) {
            let link = keeper.link.as_ref().filter(|_| self.tells_ahead);
            self.shell
                .prepare(form, &storage.runs, |form, started, spools| {
                    let link = link.ok_or(io::ErrorKind::BrokenPipe)?;
                    let own = keeper.own.as_ref().map(AsFd::as_fd);
                    let fds = [spools, own.as_slice()].concat();
                    protocol::send(link, &PreparedMessage { form, started }, &fds)
                });
        }
    }

    /// Drops calls whose output has ended and is no longer read.
    fn forget_what_is_over(&mut self, now: Instant) {
        let mut lingering = 0;
        let mut kept = Vec::new();
        for (number, mut run) in std::mem::take(&mut self.earlier).into_iter().rev() {
            let is_large = run.pumps.iter().any(|pump| pump.spool.ring().is_some());
            lingering += usize::from(is_large);
            let lingers = is_large && lingering <= MOST_LINGERING && now < run.linger_until;
            if is_open(&run) || lingers {
                kept.push((number, run));
            } else {
                let _ = run.close_log();
            }
        }
        kept.reverse();
        self.earlier = kept;
    }

    fn leave(mut self, keeper: &Keeper) -> io::Result<()> {
        for (_, run) in &mut self.earlier {
            run.close_log()?;
        }
        match &keeper.storage {
            Some(storage) => spool::sweep_if_due(&storage.runs, storage.retention),
            None => Ok(()),
        }
    }
}

/// Whether something may still write to a call's pipes.
fn is_open(run: &KeeperRun) -> bool {
    run.pumps.iter().any(|pump| pump.pipe().is_some())
}

fn watch(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

/// What `poll` found.
#[expect(
    clippy::struct_excessive_bools,
    reason = "one for each kind of descriptor that was waited for"
)]
struct SessionReadiness {
    signals: bool,
    link: bool,
    engine: bool,
    report: bool,
    job: bool,
}
