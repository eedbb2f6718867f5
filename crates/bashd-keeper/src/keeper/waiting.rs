//! A keeper before its run: it waits for `start`, with a spool opened ahead.

use super::life::{KeeperRun, Terms};
use super::protocol::{
    self, Beginning, FailedMessage, HelloMessage, MessageFrame, OpenMessage, PrepareMessage,
    ReadyMessage, SoonMessage, StartMessage, StartedShellMessage,
};
use super::restraint::ViewAhead;
use super::serve::state_of;
use super::session;
use super::start::{self, LaunchedShell, OpenedSpool, StartSupplies};
use super::started_shell::StartedShell;
use crate::confinement::{Network, SharedConfinement};
use crate::os::signals::SignalFd;
use crate::spool::{SpoolWriter, Storage};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::PidfdFlags;
use std::io;
use std::mem;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a keeper that was forked at a busy moment waits before it does something ahead: the
/// call being served goes first, and in a burst of calls the next one may come sooner.
const BEFORE_STARTING: Duration = Duration::from_micros(600);

/// How long it holds that a view was found to be what would be built now, for the call that had
/// come before the look.
const LOOK_HOLDS: Duration = Duration::from_millis(20);

/// Under what circumstances a keeper was forked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// While a call was being served, or in order to serve one.
    Busy,
    /// When no short call needed the cores.
    Calm,
}

/// What can be done before a call comes.
enum WorkAhead {
    /// A shell is started, with these descriptors.
    Shell(Box<StartedShellMessage>, Vec<OwnedFd>),
    /// The view is built of the confinement that was told.
    View,
}

/// What a keeper starts out with.
pub(super) struct Keeper {
    /// The socket to its engine; closed once the custody does not need it.
    pub(super) link: Option<OwnedFd>,
    /// A pidfd of its engine.
    pub(super) engine: Option<OwnedFd>,
    /// Whether a job ends with its engine, too.
    pub(super) is_leased: bool,
    pub(super) signals: SignalFd,
    /// A pidfd of itself, for its engine; opened ahead, since that takes longer than most of a
    /// start.
    pub(super) own: Option<OwnedFd>,
    /// Where output is stored; unknown before `hello` to a keeper that was forked early.
    pub(super) storage: Option<Storage>,
    /// A spool opened ahead.
    pub(super) prepared: Option<OpenedSpool>,
    ahead: StartSupplies,
    /// How long it waits before it does something ahead.
    before_starting: Duration,
    /// What is to be done ahead, and when.
    to_do_ahead: Option<(WorkAhead, Instant)>,
    /// The confinement that its call will probably have.
    told: Option<SharedConfinement>,
    /// For which run, and when, its view was found to be what would be built then.
    looked: Option<(String, Instant)>,
    /// A shell that was started ahead.
    started_shell: Option<StartedShell>,
}

impl Keeper {
    /// A keeper on this socket.
    pub(super) fn new(link: OwnedFd, engine: Option<OwnedFd>, signals: SignalFd) -> Self {
        Self {
            link: Some(link),
            engine,
            is_leased: false,
            signals,
            own: rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).ok(),
            storage: None,
            prepared: None,
            ahead: StartSupplies::default(),
            before_starting: BEFORE_STARTING,
            to_do_ahead: None,
            told: None,
            looked: None,
            started_shell: None,
        }
    }

    /// A keeper on this socket, forked under these circumstances.
    pub(super) fn forked(mut self, moment: Moment) -> Self {
        self.before_starting = match moment {
            Moment::Busy => BEFORE_STARTING,
            Moment::Calm => Duration::ZERO,
        };
        self
    }

    /// A keeper of such an engine.
    pub(super) fn of(mut self, hello: &HelloMessage) -> Self {
        self.is_leased = hello.leased;
        self.prepare(hello.storage.clone())
    }

    /// Opens a spool ahead of the run, and whatever else it will need.
    pub(super) fn prepare(mut self, storage: Storage) -> Self {
        let quota = storage.quota;
        let opened = SpoolWriter::create(&storage.runs, quota).ok();
        self.prepared = opened.map(|spool| OpenedSpool {
            quota,
            spool,
            is_told: false,
        });
        self.storage = Some(storage);
        self.ahead = StartSupplies::open();
        self
    }

    /// Waits for `start`, then lives through the run.
    pub(super) fn live(mut self) -> io::Result<()> {
        if !self.is_spoken_to()? {
            start::rehearse();
            self.tell_ready();
        }
        loop {
            self.work_ahead_if_due();
            let Some(link) = &self.link else {
                return Ok(());
            };
            let mut fds = vec![
                PollFd::new(link, PollFlags::IN),
                PollFd::new(&self.signals, PollFlags::IN),
            ];
            if let Some(engine) = &self.engine {
                fds.push(PollFd::new(engine, PollFlags::IN));
            }
            poll(&mut fds, self.to_do_ahead.as_ref().map(|(_, due)| *due))?;
            // A `start` may still be in the socket of a call that nobody waits for.
            let call_is_over = fds
                .first()
                .is_some_and(|fd| fd.revents().contains(PollFlags::HUP));
            let signalled = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
            let engine_died = fds.get(2).is_some_and(|fd| !fd.revents().is_empty());
            if call_is_over || engine_died || signalled && self.signals.take().end {
                return Ok(());
            }
            match protocol::receive(link) {
                Ok(Some(frame)) if frame.is::<StartMessage>() => return self.run(frame),
                Ok(Some(frame)) if frame.is::<StartedShellMessage>() => {
                    let message: StartedShellMessage = frame.body()?;
                    let restraint = message.restraint.as_ref();
                    let told = restraint.and_then(|restraint| restraint.confinement.clone());
                    self.will_do(WorkAhead::Shell(Box::new(message), frame.fds), told);
                }
                Ok(Some(frame)) if frame.is::<PrepareMessage>() => {
                    let PrepareMessage { confinement } = frame.body()?;
                    self.will_do(WorkAhead::View, Some(confinement));
                }
                Ok(Some(frame)) if frame.is::<SoonMessage>() => {
                    let SoonMessage { id } = frame.body()?;
                    let now = Instant::now();
                    if let Some((_, due)) = &mut self.to_do_ahead {
                        *due = now;
                    }
                    self.looked = self.has_current_view().then_some((id, now));
                }
                Ok(Some(frame)) if frame.is::<OpenMessage>() => {
                    self.ahead = StartSupplies::default(); // a session has pipes of its own kind
                    return session::live(self, frame);
                }
                Ok(Some(frame)) if frame.is::<HelloMessage>() => {
                    let hello: HelloMessage = frame.body()?;
                    self = self.prepare(hello.storage);
                    if !self.is_spoken_to()? {
                        self.tell_ready();
                    }
                }
                Ok(Some(frame)) => protocol::refuse(link, &frame.name)?,
                Ok(None) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return self.fail("read from the engine", error.raw_os_error()),
            }
        }
    }

    /// Whether a call is already waiting: then there is no time to rehearse.
    fn is_spoken_to(&self) -> io::Result<bool> {
        let Some(link) = &self.link else {
            return Ok(true);
        };
        let mut fds = [PollFd::new(link, PollFlags::IN)];
        poll(&mut fds, Some(Instant::now()))?;
        Ok(fds.iter().any(|fd| !fd.revents().is_empty()))
    }

    /// Tells the engine now what would otherwise wake it just after a call has begun.
    fn tell_ready(&mut self) {
        if let (Some(opened), Some(link), Some(own)) = (&mut self.prepared, &self.link, &self.own)
            && !opened.is_told
        {
            let mut fds = opened.spool.descriptors();
            let ready = ReadyMessage {
                quota: opened.quota,
                has_head: fds.len() > 1,
            };
            fds.push(own.as_fd());
            opened.is_told = protocol::send(link, &ready, &fds).is_ok();
        }
    }

    pub(super) fn fail(&self, doing: &str, errno: Option<i32>) -> io::Result<()> {
        self.tell_failure(&FailedMessage {
            doing: doing.to_owned(),
            errno: errno.unwrap_or(libc::EBADMSG),
        })
    }

    /// Whether what waits here sees what a new shell would see. The process that waits is woken,
    /// too: the core that it will need sleeps.
    fn has_current_view(&self) -> bool {
        let Some(storage) = &self.storage else {
            return false;
        };
        if let Some(shell) = &self.started_shell {
            return shell.has_current_view();
        }
        let ahead = self.ahead.view.as_ref();
        ahead.is_some_and(|ahead| {
            ahead.view.wake();
            ahead.is_current(state_of(&storage.runs))
        })
    }

    fn will_do(&mut self, work: WorkAhead, told: Option<SharedConfinement>) {
        self.to_do_ahead = Some((work, Instant::now() + self.before_starting));
        self.told = told;
    }

    fn run(mut self, frame: MessageFrame) -> io::Result<()> {
        let mut message: StartMessage = frame.body()?;
        let started = Instant::now();
        if message.is_confined_as_told {
            let Some((restraint, told)) = message.restraint.as_mut().zip(self.told.take()) else {
                return self.fail("find the confinement in the messages", None);
            };
            restraint.confinement = Some(told);
        }
        let looked = self.looked.take();
        let is_looked_at =
            looked.is_some_and(|(id, when)| id == message.id && when.elapsed() < LOOK_HOLDS);
        let Some(storage) = self.storage.take() else {
            return self.fail("find the output directory in the message", None);
        };
        let shell = match self.start_shell((&message, is_looked_at), &frame, &storage) {
            Ok(shell) => shell,
            Err(failed) => return self.tell_failure(&failed),
        };
        let run = KeeperRun::new(shell, &Terms::from(&message), started, storage);
        let is_known = run.pumps.iter().all(|pump| pump.is_told);
        if message.beginning == Beginning::Told || !is_known {
            // An engine that is already gone shows on the socket, which ends the run properly.
            let _ = run.tell_started(&self);
        }
        drop(frame); // the shell has its directory and its input
        run.live(&mut self)
    }

    /// Starts a shell ahead of its call, or builds a view, if it is time. If that fails, the call
    /// itself finds out why.
    fn work_ahead_if_due(&mut self) {
        let due = self.to_do_ahead.take_if(|(_, due)| Instant::now() >= *due);
        let Some((work, _)) = due else { return };
        self.tell_ready();
        let Some(storage) = &self.storage else { return };
        match work {
            WorkAhead::View => {
                let state = state_of(&storage.runs);
                // A proxy is a process of its own: one for each call that has it is enough.
                let told = self.told.as_ref();
                let told = told.filter(|told| told.network != Network::Named);
                let view = told.and_then(|told| ViewAhead::build(told, state));
                // Looked at once more, as its call will.
                self.ahead.view = view.filter(|view| view.suits(&view.asked, state));
            }
            WorkAhead::Shell(message, fds) => {
                let prepared = self.prepared.take();
                self.started_shell =
                    StartedShell::launch(*message, &fds, &storage.runs, prepared).ok();
            }
        }
        start::rehearse();
    }

    /// The shell that was started ahead, if it suits the call; otherwise a new one.
    fn start_shell(
        &mut self,
        (message, is_looked_at): (&StartMessage, bool),
        frame: &MessageFrame,
        storage: &Storage,
    ) -> Result<LaunchedShell, FailedMessage> {
        let cwd = frame.fds.first();
        let started = self.started_shell.take();
        let started = started.and_then(|shell| shell.use_for(message, cwd, is_looked_at));
        if let Some(shell) = started {
            return Ok(shell);
        }
        let (prepared, mut ahead) = (self.prepared.take(), mem::take(&mut self.ahead));
        if let Some(view) = &mut ahead.view {
            view.is_looked_at = is_looked_at;
        }
        start::start(message, &frame.fds, &storage.runs, prepared, ahead)
    }

    pub(super) fn tell_failure(&self, failed: &FailedMessage) -> io::Result<()> {
        self.link
            .as_ref()
            .map_or(Ok(()), |link| protocol::send(link, failed, &[]))
    }
}

/// Waits for a descriptor or a moment.
pub(super) fn poll(fds: &mut [PollFd<'_>], until: Option<Instant>) -> io::Result<()> {
    let timeout = until.map(|moment| {
        let left = moment.saturating_duration_since(Instant::now());
        Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        }
    });
    match rustix::event::poll(fds, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
